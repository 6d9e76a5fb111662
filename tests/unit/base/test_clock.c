/* tests/unit/base/test_clock.c - clocks go forward, and the start of the process is in the past. */
#include "../nth.h"
#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void test_monotonic(void **state)
{
	int64_t from = clock_now_ns(), last = from;

	(void)state;
	for (int i = 0; i < 10000; i++) {
		int64_t now = clock_now_ns();

		assert_true(now >= last);
		last = now;
	}
	nanosleep(&(struct timespec){ 0, 20000000 }, NULL);
	assert_true(clock_ms(from, clock_now_ns()) >= 20);
	assert_true(clock_ms(0, 1500000) == 1.5);
}

/* The kernel's count of a process's start moves in steps of 10 ms, on the same clock. */
static void test_exec(void **state)
{
	int64_t ours = clock_exec_ns(), before = clock_now_ns(), theirs = 0;
	int pipes[2], status;
	pid_t pid;

	(void)state;
	assert_true(ours > 0 && ours <= before);
	assert_true(before - ours < (int64_t)600 * 1000000000);
	assert_true(clock_exec_ns() - ours < 1000000 && ours - clock_exec_ns() < 1000000);
	nanosleep(&(struct timespec){ 0, 50000000 }, NULL);
	before = clock_now_ns();
	assert_int_equal(pipe(pipes), 0);
	pid = fork();
	if (!pid) {
		theirs = clock_exec_ns();
		_exit(write(pipes[1], &theirs, sizeof theirs) != sizeof theirs);
	}
	assert_int_equal(read(pipes[0], &theirs, sizeof theirs), sizeof theirs);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_true(theirs > before - 15000000 && theirs <= clock_now_ns());
	assert_true(theirs - ours > 35000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_monotonic),
		                            cmocka_unit_test(test_exec) };
	return nth_group(tests);
}
