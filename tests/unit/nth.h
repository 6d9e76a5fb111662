/* tests/unit/nth.h - cmocka cases that run again with every Nth allocation failing.
 *
 *	#include "../nth.h"
 *
 *	static int case_put(void)
 *	{
 *		struct map m = { 0 };
 *		int rc;
 *
 *		nth_ok(map_init(&m, MEM_BASE, 0));         // leaves by `out` where memory failed
 *		nth_ok(map_put(&m, "a", 1, 7));
 *		assert_int_equal(*map_get(&m, "a", 1), 7);
 *		assert_int_equal(map_put(&m, "a", 1, 8), INFER_EINVAL);   // allocates nothing
 *	out:
 *		map_fini(&m);
 *		return rc;
 *	}
 *
 *	int main(void)
 *	{
 *		const struct CMUnitTest tests[] = { nth_case(case_put),
 *		                                    cmocka_unit_test(test_without_memory) };
 *		return nth_group(tests);
 *	}
 *
 * A case gives back all it took, however it ends, and returns INFER_OK, or INFER_ENOMEM where an
 * allocation failed.
 * It runs once as it is, where it must return INFER_OK; then for N = 1, 2 ... 200 with its Nth
 * allocation failing (once), until a run makes fewer than N.  After each run mem_live() must be
 * what it was.  A run that met its failure may still return INFER_OK, where the code under test can
 * do without.  So a case whose call may fail says nth_ok(), and a wanted failure of a call that
 * allocates says nth_fails(call, INFER_EFORMAT).  For other signs of failure (NULL, a buf's bad):
 * nth_need(p != NULL).
 *
 * Under a sanitizer malloc returns NULL for a size that cannot be, as it does without;
 * NTH_SANITIZED is 1 there, for what it does not bear (limits on address space). */
#ifndef TESTS_NTH_H
#define TESTS_NTH_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>

#include "base/mem.h"
#include <infer/status.h>

enum { NTH_MOST = 200 };

#ifdef __has_feature
#define NTH_SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#elif defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define NTH_SANITIZED 1
#else
#define NTH_SANITIZED 0
#endif
const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "allocator_may_return_null=1"; }
const char *__tsan_default_options(void);
const char *__tsan_default_options(void) { return "allocator_may_return_null=1"; }

struct nth {
	int (*run)(void);
};

/* For a case with `int rc` and a label `out`. */
#define nth_ok(call) \
	do { \
		rc = (call); \
		if (rc == INFER_ENOMEM) \
			goto out; \
		assert_int_equal(rc, INFER_OK); \
	} while (0)
#define nth_fails(call, want) \
	do { \
		rc = (call); \
		if (rc == INFER_ENOMEM && (want) != INFER_ENOMEM) \
			goto out; \
		assert_int_equal(rc, want); \
		rc = INFER_OK; \
	} while (0)
#define nth_need(x) \
	do { \
		rc = (x) ? INFER_OK : INFER_ENOMEM; \
		if (rc) \
			goto out; \
	} while (0)

#define nth_case(f) \
	{ \
#f, nth_run, NULL, NULL, &(struct nth) { f } \
	}
#define nth_group(tests) cmocka_run_group_tests(tests, NULL, NULL)

/* One run; n: which allocation fails, 0 for none.  Returns whether it made as many as n. */
static int nth_once(const struct nth *t, uint64_t n)
{
	uint64_t live = mem_live(), calls = mem_calls_all();
	int rc, met;

	mem_fail_at(n);
	rc = t->run();
	mem_fail_at(0);
	met = n && mem_calls_all() - calls >= n;
	if (met ? rc != INFER_OK && rc != INFER_ENOMEM : rc != INFER_OK)
		fail_msg("returns %s with allocation %llu failing", infer_status_name(rc),
		         (unsigned long long)n);
	if (mem_live() != live)
		fail_msg("%lld blocks left with allocation %llu failing",
		         (long long)(mem_live() - live), (unsigned long long)n);
	return met;
}

__attribute__((unused)) static void nth_run(void **state)
{
	mem_fail_at(0); /* an earlier case may have ended in its middle */
	nth_once(*state, 0);
	for (uint64_t n = 1; n <= NTH_MOST && nth_once(*state, n); n++)
		;
}
#endif
