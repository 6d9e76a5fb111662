/* tests/unit/shared.h - tests that need files of ../shared, which not everyone has.
 *
 *	static void test_all_vectors(void **state)
 *	{
 *		char path[SHARED_PATH];
 *
 *		shared_need("data/tokenizers/vectors.jsonl", 34, path);   // 34 cases
 *		... open path ...
 *	}
 *
 * Where the file is not there the test is skipped: a line on standard output says so, and one at the end
 * of the file that the environment names by LEFT_OUT counts the cases.  With NEED_SHARED=1 it fails
 * instead.
 * Call it from the cmocka test itself, before anything that must be given back: it leaves by
 * skip().  A case of nth.h calls shared_find() and a case of its own, without memory, does the
 * counting. */
#ifndef TESTS_SHARED_H
#define TESTS_SHARED_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SHARED_PATH = 4096 };

/* Where rel lies, looking for shared/ beside the current directory and beside those above it; 0:
 * nowhere. */
__attribute__((unused)) static int shared_find(const char *rel, char path[SHARED_PATH])
{
	char up[64] = "";

	for (int i = 0; i < 6; i++) {
		strcat(up, "../");
		snprintf(path, SHARED_PATH, "%sshared/%s", up, rel);
		if (access(path, R_OK) == 0)
			return 1;
	}
	path[0] = 0;
	return 0;
}

__attribute__((unused)) static void shared_need(const char *rel, int cases, char path[SHARED_PATH])
{
	const char *need = getenv("NEED_SHARED"), *to = getenv("LEFT_OUT");
	FILE *f;

	if (shared_find(rel, path))
		return;
	if (need && !strcmp(need, "1"))
		fail_msg("../shared/%s is not there, and NEED_SHARED=1", rel);
	printf("# left out: needs ../shared/%s, real models and data that are not part of the "
	       "sources\n",
	       rel);
	fflush(stdout);
	f = to ? fopen(to, "a") : NULL;
	if (f) {
		fprintf(f, "left out: %d cases (no ../shared/%s)\n", cases, rel);
		fclose(f);
	}
	skip();
}
#endif
