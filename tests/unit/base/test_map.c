/* tests/unit/base/test_map.c - the hash table from byte strings to u32. */
#include "../nth.h"
#include "base/map.h"

#include <stdio.h>
#include <string.h>

static int case_grow(void)
{
	struct map m;
	char keys[300][8];
	int rc;

	nth_ok(map_init(&m, MEM_BASE, 0));
	for (uint32_t i = 0; i < 300; i++) {
		int n = snprintf(keys[i], sizeof keys[i], "k%u", i * 7);

		nth_ok(map_put(&m, keys[i], (size_t)n, i));
	}
	assert_int_equal(m.count, 300);
	for (uint32_t i = 0; i < 300; i++) {
		const uint32_t *v = map_get(&m, keys[i], strlen(keys[i]));

		assert_non_null(v);
		assert_int_equal(*v, i);
	}
	assert_null(map_get(&m, "k1", 2));
	assert_null(map_get(&m, "", 0));
	assert_int_equal(map_put(&m, keys[5], strlen(keys[5]), 99), INFER_EINVAL);
	assert_int_equal(*map_get(&m, keys[5], strlen(keys[5])), 5);
out:
	map_fini(&m);
	return rc;
}

/* Keys are bytes: NULs count, and length is part of the key. */
static int case_bytes(void)
{
	static const char zeros[16];
	struct map m;
	int rc;

	nth_ok(map_init(&m, MEM_BASE, 32));
	for (uint32_t i = 0; i <= sizeof zeros; i++)
		nth_ok(map_put(&m, i ? zeros : NULL, i, i));
	for (uint32_t i = 0; i <= sizeof zeros; i++)
		assert_int_equal(*map_get(&m, zeros, i), i);
	assert_int_equal(map_put(&m, NULL, 0, 1), INFER_EINVAL);
out:
	map_fini(&m);
	return rc;
}

/* A map that could not be made, or was given up, holds nothing. */
static int case_empty(void)
{
	struct map m;
	int rc;

	rc = map_init(&m, MEM_BASE, 100);
	assert_null(map_get(&m, "a", 1));
	map_fini(&m);
	assert_null(map_get(&m, "a", 1));
	return rc;
}

/* No growing up to what was expected: the table of a vocabulary is made once. */
static void test_expect(void **state)
{
	static char keys[5000][8];
	struct map m;
	uint64_t calls;

	(void)state;
	assert_int_equal(map_init(&m, MEM_BASE, 5000), 0);
	calls = mem_calls_all();
	for (uint32_t i = 0; i < 5000; i++)
		assert_int_equal(map_put(&m, keys[i], (size_t)snprintf(keys[i], 8, "%u", i), i), 0);
	assert_int_equal(mem_calls_all(), calls);
	map_fini(&m);
}

/* Each map has a key of its own, so nobody can write keys that fall into one place of it. */
static void test_keyed(void **state)
{
	static const char keys[] = "abcdefghijklmnop";
	struct map m[2];

	(void)state;
	for (int k = 0; k < 2; k++) {
		assert_int_equal(map_init(&m[k], MEM_BASE, sizeof keys), 0);
		for (uint32_t i = 0; i < sizeof keys; i++)
			assert_int_equal(map_put(&m[k], &keys[i], 1, i), 0);
	}
	assert_int_equal(m[0].mask, m[1].mask);
	int same = 1;
	for (uint32_t i = 0; i <= m[0].mask; i++)
		same &= m[0].at[i].key == m[1].at[i].key;
	assert_false(same);
	map_fini(&m[0]);
	map_fini(&m[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		nth_case(case_grow),           nth_case(case_bytes),         nth_case(case_empty),
		cmocka_unit_test(test_expect), cmocka_unit_test(test_keyed),
	};
	return nth_group(tests);
}
