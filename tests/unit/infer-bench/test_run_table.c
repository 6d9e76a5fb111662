/* tests/unit/infer-bench/test_run_table.c - the note on parts of a limit that are above 1. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "infer-bench/bench.h"
#include "common/say.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Show rows with these parts in a process of its own.  Returns how often its standard error has the note. */
static int count_notes(const double *parts, int n)
{
	char text[4096];
	int ends[2], status, found = 0;
	size_t used = 0;
	ssize_t got;

	assert_int_equal(pipe(ends), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		int rc = 0;

		dup2(ends[1], STDOUT_FILENO);
		dup2(ends[1], STDERR_FILENO);
		say_init("infer-bench", 0);
		for (int i = 0; i < n; i++) {
			struct infer_bench b = { .tokens = 32, .batch = 1, .limit_tok_s = 100 };

			b.tok_s.median = 100 * parts[i];
			b.fraction.median = parts[i];
			rc |= run_show(&b, !i, 0, NULL);
		}
		_exit(rc);
	}
	close(ends[1]);
	while ((got = read(ends[0], text + used, sizeof text - 1 - used)) > 0)
		used += (size_t)got;
	text[used] = 0;
	close(ends[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	for (const char *p = text; (p = strstr(p, "infer-bench: a part above 1 is faster")); p++)
		found++;
	return found;
}

static void test_note(void **state)
{
	(void)state;
	assert_int_equal(count_notes((const double[]){ 0.2, 1, 1.04 }, 3), 0);
	assert_int_equal(count_notes((const double[]){ 0.2, 2.237 }, 2), 1);
	assert_int_equal(count_notes((const double[]){ 2.237, 1.5, 3 }, 3), 1); /* once is enough */
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_note) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
