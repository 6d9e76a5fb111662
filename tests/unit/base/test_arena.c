/* tests/unit/base/test_arena.c - many small allocations, freed together. */
#include "../nth.h"
#include "base/arena.h"

#include <string.h>

static int case_fill(void)
{
	unsigned char *p[400];
	struct arena a;
	int rc = INFER_OK;

	arena_init(&a, MEM_TEXT);
	for (int round = 0; round < 3; round++) {
		for (size_t i = 0; i < 400; i++) {
			size_t n = i * 37 % 1000;

			p[i] = arena_alloc(&a, n, 3);
			nth_need(p[i]);
			assert_int_equal((uintptr_t)p[i] % 16, 0);
			for (size_t k = 0; k < 3 * n; k++)
				assert_int_equal(p[i][k], 0);
			memset(p[i], (int)i, 3 * n);
		}
		for (size_t i = 0; i < 400; i++) /* nobody wrote over another */
			for (size_t k = 0; k < 3 * (i * 37 % 1000); k++)
				assert_int_equal(p[i][k], (unsigned char)i);
		assert_int_equal(a.bad, 0);
		arena_reset(&a);
	}
	assert_non_null(a.first); /* the newest block is kept */
out:
	assert_int_equal(a.bad, rc == INFER_ENOMEM);
	arena_fini(&a);
	assert_null(a.first);
	return rc;
}

/* One failure is remembered until the reset, though later calls might succeed. */
static int case_sticky(void)
{
	struct arena a;
	char *s;
	int rc = INFER_OK;

	arena_init(&a, MEM_TEXT);
	s = arena_strndup(&a, "hello", 4);
	if (s)
		assert_string_equal(s, "hell");
	nth_need(s);
	assert_null(arena_alloc(&a, SIZE_MAX, 2));
	assert_int_equal(a.bad, 1);
	assert_null(arena_alloc(&a, 1, 1));
	assert_null(arena_strndup(&a, "", 0));
	arena_reset(&a);
	nth_need((s = arena_strndup(&a, NULL, 0)));
	assert_string_equal(s, "");
	assert_null(arena_strndup(&a, "", SIZE_MAX));
	assert_int_equal(a.bad, 1);
	arena_reset(&a);
	assert_null(arena_alloc(&a, SIZE_MAX - 8, 1)); /* rounding it up would wrap */
out:
	arena_fini(&a);
	return rc;
}

/* After a reset the same work asks for no more memory: the kept block has grown to fit. */
static void test_reuse(void **state)
{
	struct arena a;
	uint64_t calls;

	(void)state;
	arena_init(&a, MEM_TEXT);
	arena_reset(&a); /* an empty one */
	for (int i = 0; i < 1000; i++)
		arena_alloc(&a, 1, 100);
	arena_reset(&a);
	arena_alloc(&a, 1, 100);
	calls = mem_calls_all();
	for (int i = 0; i < 300; i++)
		arena_alloc(&a, 1, 100);
	assert_int_equal(mem_calls_all(), calls);
	assert_int_equal(a.bad, 0);
	arena_fini(&a);
}

/* Memory of another arena stays valid, and is freed with the one that adopts it. */
static int case_adopt(void)
{
	struct arena a, b;
	char *x, *y, *z;
	int rc = INFER_OK;

	for (int begun = 0; begun < 2; begun++) {
		arena_init(&a, MEM_TEXT);
		arena_init(&b, MEM_TEXT);
		nth_need((x = begun ? arena_strndup(&a, "first", 5) : ""));
		nth_need(arena_alloc(&b, 1, 1 << 16));
		nth_need((y = arena_strndup(&b, "other", 5)));
		arena_adopt(&a, &b);
		arena_fini(&b);
		nth_need((z = arena_strndup(&a, "third", 5)));
		assert_string_equal(x, begun ? "first" : "");
		assert_string_equal(y, "other");
		assert_string_equal(z, "third");
		arena_adopt(&a, &b); /* of nothing */
		arena_fini(&a);
	}
	return rc;
out:
	arena_fini(&a);
	arena_fini(&b);
	return rc;
}

int main(void)
{
	const struct CMUnitTest tests[] = { nth_case(case_fill), nth_case(case_sticky),
		                            nth_case(case_adopt), cmocka_unit_test(test_reuse) };
	return nth_group(tests);
}
