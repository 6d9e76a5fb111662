/* tests/unit/left_out.h - end a cmocka test that this machine or build cannot run.
 *
 *	if (geteuid())
 *		left_out("needs root, to give files away");
 *
 * scripts/run-tests prints the reason. As with skip(), nothing must be left to be given back. */
#ifndef TESTS_LEFT_OUT_H
#define TESTS_LEFT_OUT_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>

#define left_out(needs) (printf("# left out: %s\n", needs), fflush(stdout), skip())
#endif
