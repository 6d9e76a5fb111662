/* tests/unit/base/test_seen.c - the set of strings: complete, or only the latest. */
#include "../nth.h"
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/seen.h"
#include "base/sha256.h"

static int case_all(void)
{
	struct seen s;
	char text[24];
	int rc = INFER_OK;

	seen_init(&s, MEM_BASE, 0);
	assert_false(seen_has(&s, "", 0));
	nth_ok(seen_add(&s, "", 0));
	assert_true(seen_has(&s, "", 0));
	for (int i = 0; i < 3000; i++) {
		snprintf(text, sizeof text, "id %d", i);
		assert_false(seen_has(&s, text, strlen(text)));
		nth_ok(seen_add(&s, text, strlen(text)));
		nth_fails(seen_add(&s, text, strlen(text)), INFER_EINVAL);
	}
	for (int i = 0; i < 3000; i++) {
		snprintf(text, sizeof text, "id %d", i);
		assert_true(seen_has(&s, text, strlen(text)));
	}
	assert_false(seen_has(&s, "id 3000", 7));
	assert_false(seen_has(&s, "id ", 3));
out:
	seen_fini(&s);
	return rc;
}

/* With a limit the latest are known, and at most twice as many. */
static int case_latest(void)
{
	struct seen s;
	int rc = INFER_OK, known = 0;

	seen_init(&s, MEM_BASE, 100);
	for (int i = 0; i < 1050; i++)
		nth_ok(seen_add(&s, &i, sizeof i));
	for (int i = 0; i < 1050; i++) {
		int has = seen_has(&s, &i, sizeof i);

		known += has;
		assert_true(has || i < 950);
	}
	assert_in_range(known, 100, 200);
	assert_true(s.young.cap <= 512 && s.old.cap <= 512);
out:
	seen_fini(&s);
	return rc;
}

/* In a virtual machine each question to the processor takes longer than the hash of an id: none is
 * asked for one.  Where the system can make the instruction a fault, it kills. */
static void test_asks_nothing(void **state)
{
	struct seen s;
	int how = 0;

	(void)state;
	seen_init(&s, MEM_BASE, 0);
	assert_int_equal(seen_add(&s, "a", 1), INFER_OK);
	pid_t child = fork();
	assert_true(child >= 0);
	if (!child) {
#if defined __x86_64__
		/* of arch_prctl(2) */
		enum { SET_CPUID = 0x1012 };
		signal(SIGSEGV, SIG_DFL);
		syscall(SYS_arch_prctl, SET_CPUID, 0);
#endif
		char hex[65];
		sha256_name(hex, "abc", 3);
		if (strncmp(hex, "ba7816bf", 8))
			_exit(1);
		_exit(!(seen_has(&s, "a", 1) && !seen_has(&s, "b", 1) &&
		        seen_add(&s, "a", 1) == INFER_EINVAL));
	}
	assert_int_equal(waitpid(child, &how, 0), child);
	assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
	seen_fini(&s);
}

/* Each set has a key of its own: nobody can write strings that fall into one place of it. */
static void test_keyed(void **state)
{
	struct seen a, b;

	(void)state;
	seen_init(&a, MEM_BASE, 0);
	seen_init(&b, MEM_BASE, 0);
	assert_int_equal(seen_add(&a, "id", 2), INFER_OK);
	assert_int_equal(seen_add(&b, "id", 2), INFER_OK);
	assert_int_equal(a.young.cap, b.young.cap);
	assert_memory_not_equal(a.young.at, b.young.at, 16 * a.young.cap);
	seen_fini(&a);
	seen_fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = { nth_case(case_all), nth_case(case_latest),
		                            cmocka_unit_test(test_asks_nothing),
		                            cmocka_unit_test(test_keyed) };
	return nth_group(tests);
}
