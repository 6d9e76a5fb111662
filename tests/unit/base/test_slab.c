/* tests/unit/base/test_slab.c - blocks keep their bytes, are aligned and zeroed, and are used again. */
#include "../nth.h"
#include "base/slab.h"

#include <string.h>

enum { BLOCKS = 64 };

static size_t size_of(size_t i) { return i * i * 7; }

static int use(struct slab *s)
{
	char *block[BLOCKS] = { 0 };
	int rc = INFER_OK;

	for (size_t i = 0; i < BLOCKS; i++) {
		block[i] = slab_zalloc(s, size_of(i), 1);
		nth_need(block[i]);
		assert_int_equal((uintptr_t)block[i] % 16, 0);
		for (size_t k = 0; k < size_of(i); k++)
			assert_int_equal(block[i][k], 0);
		memset(block[i], (int)i, size_of(i));
	}
	for (size_t i = 0; i < BLOCKS; i++) {
		char *more = slab_realloc(s, block[i], size_of(i) + 100, 1);

		nth_need(more);
		block[i] = more;
		for (size_t k = 0; k < size_of(i); k++)
			assert_int_equal(more[k], (char)i);
	}
out:
	for (size_t i = 0; i < BLOCKS; i++)
		slab_free(s, block[i]);
	return rc;
}

static int case_slab(void)
{
	const uint64_t before = mem_calls(MEM_BASE);
	uint64_t calls;
	struct slab s;
	char *one;
	int rc = INFER_OK;

	nth_need(!slab_init(&s, MEM_BASE, 1000));
	nth_ok(use(&s));
	calls = mem_calls(MEM_BASE);
	assert_true(calls - before < 12); /* pieces that double, not a call for each block */
	nth_ok(use(&s));
	assert_int_equal(mem_calls(MEM_BASE), calls); /* freed blocks are used again */
	one = slab_alloc(&s, 100, 1);
	slab_free(&s, one);
	assert_ptr_equal(slab_alloc(&s, 100, 1), one);
	assert_null(slab_alloc(&s, SIZE_MAX / 2, 3));
out:
	slab_fini(&s);
	return rc;
}

static int case_heap(void)
{
	struct slab s;
	int rc;

	slab_init_heap(&s, MEM_BASE);
	nth_ok(use(&s));
out:
	slab_fini(&s);
	return rc;
}

static int case_buf(void)
{
	struct slab s;
	struct slab_buf b = { .slab = &s };
	int rc = INFER_OK;

	nth_need(!slab_init(&s, MEM_BASE, 16));
	for (int i = 0; i < 1000; i++)
		slab_buf_putc(&b, (char)i);
	nth_need(!b.bad);
	assert_int_equal(b.len, 1000);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(b.at[i], (char)i);
	slab_buf_fini(&b);
	assert_int_equal(b.len, 0);
out:
	slab_fini(&s);
	return rc;
}

int main(void)
{
	const struct CMUnitTest tests[] = { nth_case(case_slab), nth_case(case_heap),
		                            nth_case(case_buf) };

	return nth_group(tests);
}
