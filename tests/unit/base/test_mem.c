/* tests/unit/base/test_mem.c - counted allocations, and the one that fails. */
#include "../nth.h"
#include "base/mem.h"

#include <pthread.h>
#include <string.h>

static void test_sizes(void **state)
{
	uint64_t live = mem_live();
	unsigned char *p, *q;

	(void)state;
	p = mem_alloc(MEM_TEXT, 0, 8);
	q = mem_alloc(MEM_TEXT, 8, 0);
	assert_true(p && q && p != q);
	assert_int_equal(mem_live(), live + 2);
	mem_free(p);
	mem_free(q);
	mem_free(NULL);
	assert_int_equal(mem_live(), live);
	for (size_t n = 1; n < 300; n += 7) {
		p = mem_zalloc(MEM_TEXT, n, 3);
		assert_int_equal((uintptr_t)p % 16, 0);
		for (size_t i = 0; i < 3 * n; i++)
			assert_int_equal(p[i], 0);
		memset(p, 1, 3 * n);
		mem_free(p);
	}
	for (size_t align = 1; align <= 4096; align *= 2) {
		p = mem_aligned(MEM_TEXT, align, 100);
		assert_int_equal((uintptr_t)p % (align < 16 ? 16 : align), 0);
		memset(p, 1, 100);
		mem_free(p);
	}
	p = (unsigned char *)mem_strndup(MEM_TEXT, "abc", 2);
	assert_string_equal(p, "ab");
	mem_free(p);
	assert_int_equal(mem_live(), live);
}

static void test_overflow(void **state)
{
	uint64_t live = mem_live();
	char *p = mem_alloc(MEM_BASE, 3, 1);

	(void)state;
	memcpy(p, "ab", 3);
	assert_null(mem_alloc(MEM_BASE, SIZE_MAX, 2));
	assert_null(mem_alloc(MEM_BASE, SIZE_MAX / 4 + 2, 4));
	assert_null(mem_zalloc(MEM_BASE, SIZE_MAX / 2 + 2, 2));
	assert_null(mem_alloc(MEM_BASE, SIZE_MAX, 1));
	assert_null(mem_zalloc(MEM_BASE, (size_t)PTRDIFF_MAX + 1, 1));
	assert_null(mem_realloc(MEM_BASE, p, SIZE_MAX / 2, 3));
	assert_null(mem_aligned(MEM_BASE, 64, SIZE_MAX - 8));
	assert_null(mem_strndup(MEM_BASE, "", SIZE_MAX));
	assert_string_equal(p, "ab"); /* untouched */
	assert_int_equal(mem_live(), live + 1);
	mem_free(p);
}

static void test_counts(void **state)
{
	uint64_t kv = mem_calls(MEM_KV), hub = mem_calls(MEM_PLAN), all = mem_calls_all();
	void *p = mem_alloc(MEM_KV, 1, 1);

	(void)state;
	p = mem_realloc(MEM_KV, p, 100, 10);
	assert_null(mem_alloc(MEM_KV, SIZE_MAX, SIZE_MAX)); /* failed calls count too */
	mem_free(p);
	mem_free(mem_aligned(MEM_PLAN, 64, 64));
	mem_free(mem_realloc(MEM_PLAN, NULL, 1, 1));
	assert_int_equal(mem_calls(MEM_KV), kv + 3);
	assert_int_equal(mem_calls(MEM_PLAN), hub + 2);
	assert_int_equal(mem_calls_all(), all + 5);
}

static void test_fail_at(void **state)
{
	uint64_t live = mem_live();
	void *p[5];

	(void)state;
	mem_fail_at(3);
	p[0] = mem_alloc(MEM_BASE, 1, 1);
	p[1] = mem_zalloc(MEM_BASE, 1, 1);
	assert_null(mem_strndup(MEM_BASE, "x", 1));
	p[2] = mem_aligned(MEM_BASE, 64, 1);
	assert_true(p[0] && p[1] && p[2]);
	mem_fail_at(1);
	assert_null(mem_realloc(MEM_BASE, p[0], 50, 1));
	p[0] = mem_realloc(MEM_BASE, p[0], 50, 1);
	assert_non_null(p[0]);
	mem_fail_at(2);
	mem_fail_at(0);
	p[3] = mem_alloc(MEM_BASE, 1, 1);
	p[4] = mem_alloc(MEM_BASE, 1, 1);
	assert_true(p[3] && p[4]);
	for (int i = 0; i < 5; i++)
		mem_free(p[i]);
	assert_int_equal(mem_live(), live);
}

static void *hundred(void *failed)
{
	for (int i = 0; i < 100; i++) {
		void *p = mem_alloc(MEM_PLAN, 1, 16);

		*(int *)failed += !p;
		mem_free(p);
	}
	return NULL;
}

/* From many threads: no call is lost, and exactly one fails. */
static void test_threads(void **state)
{
	uint64_t calls = mem_calls(MEM_PLAN), live = mem_live();
	pthread_t t[8];
	int failed[8] = { 0 }, sum = 0;

	(void)state;
	mem_fail_at(500);
	for (int i = 0; i < 8; i++)
		assert_int_equal(pthread_create(&t[i], NULL, hundred, &failed[i]), 0);
	for (int i = 0; i < 8; i++) {
		pthread_join(t[i], NULL);
		sum += failed[i];
	}
	mem_fail_at(0);
	assert_int_equal(sum, 1);
	assert_int_equal(mem_calls(MEM_PLAN), calls + 800);
	assert_int_equal(mem_live(), live);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes),   cmocka_unit_test(test_overflow),
		cmocka_unit_test(test_counts),  cmocka_unit_test(test_fail_at),
		cmocka_unit_test(test_threads),
	};
	return nth_group(tests);
}
