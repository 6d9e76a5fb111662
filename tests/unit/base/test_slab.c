/* tests/unit/base/test_slab.c */
#include "../nth.h"
#include "base/slab.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int case_slots(void)
{
	enum { N = 50 };
	unsigned char taken[N] = { 0 };
	struct slab s;
	int rc;

	nth_ok(slab_init(&s, MEM_KV, N, 24));
	for (int round = 0; round < 3; round++) {
		for (uint32_t i = 0; i < N; i++) {
			uint32_t k = slab_get(&s);

			assert_true(k < N && !taken[k]);
			taken[k] = 1;
			for (int b = 0; b < 24; b++)
				assert_int_equal(((unsigned char *)slab_at(&s, k))[b], 0);
			memset(slab_at(&s, k), 0xee, 24);
		}
		assert_int_equal(s.used, N);
		assert_int_equal(slab_get(&s), SLAB_NONE);
		for (uint32_t i = 0; i < N; i++) { /* in another order */
			slab_put(&s, i * 7 % N);
			taken[i * 7 % N] = 0;
		}
		assert_int_equal(s.used, 0);
	}
out:
	slab_fini(&s);
	assert_null(s.at);
	return rc;
}

static int case_none(void)
{
	struct slab s;
	int rc;

	nth_ok(slab_init(&s, MEM_KV, 0, 8));
	assert_int_equal(slab_get(&s), SLAB_NONE);
out:
	slab_fini(&s);
	assert_int_equal(slab_get(&s), SLAB_NONE);
	return rc;
}

static void test_too_large(void **state)
{
	struct slab s;

	(void)state;
	assert_int_equal(slab_init(&s, MEM_KV, UINT32_MAX - 1, SIZE_MAX / 4), INFER_ENOMEM);
	assert_null(s.at);
	assert_null(s.next);
}

/* Our own mistakes stop the program: a slot given back twice, or never taken. */
static void test_put_twice(void **state)
{
	struct slab s;
	int status;

	(void)state;
	assert_int_equal(slab_init(&s, MEM_KV, 4, 8), 0);
	slab_get(&s);
	for (uint32_t bad = 0; bad < 3; bad++) {
		pid_t pid = fork();

		if (!pid) {
			close(2);
			if (bad == 0)
				slab_put(&s, 0);
			slab_put(&s, bad == 2 ? 4 : bad);
			_exit(0);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status));
	}
	slab_fini(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		nth_case(case_slots),
		nth_case(case_none),
		cmocka_unit_test(test_too_large),
		cmocka_unit_test(test_put_twice),
	};
	return nth_group(tests);
}
