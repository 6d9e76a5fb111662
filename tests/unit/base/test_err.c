/* tests/unit/base/test_err.c - errors, and the names of status.c. */
#include "../nth.h"
#include "base/err.h"
#include "base/utf8.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void test_set(void **state)
{
	infer_error e = { 0 };

	(void)state;
	assert_int_equal(
		err_set(&e, INFER_EFORMAT, "%s: type %u at byte %zu", "a.gguf", 99u, (size_t)24),
		INFER_EFORMAT);
	assert_int_equal(e.code, INFER_EFORMAT);
	assert_string_equal(e.message, "a.gguf: type 99 at byte 24");
	assert_int_equal(err_set(NULL, INFER_EIO, "%d", 1), INFER_EIO);
	err_set(&e, INFER_EIO, "outer: %s", e.message); /* the old message may be an argument */
	assert_string_equal(e.message, "outer: a.gguf: type 99 at byte 24");
}

static void test_errno(void **state)
{
	infer_error e = { 0 };

	(void)state;
	assert_int_equal(err_errno(&e, ENOENT, "%s", "x.gguf"), INFER_EIO);
	assert_string_equal(e.message, "x.gguf: No such file or directory");
	assert_int_equal(err_errno(&e, ENOMEM, "map"), INFER_ENOMEM);
	assert_int_equal(e.code, INFER_ENOMEM);
	assert_int_equal(err_errno(NULL, EACCES, "x"), INFER_EIO);
}

/* A message is UTF-8 without controls, whatever name came in, and is cut between characters. */
static void test_plain(void **state)
{
	infer_error e;
	char name[600];

	(void)state;
	err_set(&e, INFER_EIO, "%s", "a\nb\x1b[31m\xff\xe2\x82z\xc2\x85\xe2\x80\xa8ok \xc3\xa9");
	assert_string_equal(e.message, "a?b?[31m???z?????ok \xc3\xa9");
	for (int at = 240; at < 256; at++) {
		memset(name, 'n', sizeof name);
		memcpy(name + at, "\xf0\x9f\x98\x80\xf0\x9f\x98\x80", 8);
		name[at + 8] = 0;
		err_set(&e, INFER_EIO, "%s", name);
		assert_true(strlen(e.message) < sizeof e.message);
		assert_true(strlen(e.message) >= 248 || at < 244);
		assert_null(strchr(e.message, '?'));
		assert_int_equal(utf8_check(e.message, strlen(e.message)), strlen(e.message));
		assert_memory_equal(e.message, name, strlen(e.message));
		err_errno(&e, ENOENT, "%s", name);
		assert_int_equal(utf8_check(e.message, strlen(e.message)), strlen(e.message));
		assert_memory_equal(e.message, name,
		                    strlen(e.message) < (size_t)at ? strlen(e.message)
		                                                   : (size_t)at);
	}
}

static int fails_with(int code)
{
	TRY(code);
	return 77;
}

static void test_try_and_must(void **state)
{
	int status, pipes[2];
	char line[200] = "";
	pid_t pid;

	(void)state;
	assert_int_equal(fails_with(INFER_EIO), INFER_EIO);
	assert_int_equal(fails_with(0), 77);
	must(1 + 1 == 2);
	assert_int_equal(pipe(pipes), 0);
	pid = fork();
	if (!pid) {
		dup2(pipes[1], 2);
		must(pid == 1);
		_exit(0);
	}
	close(pipes[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(read(pipes[0], line, sizeof line - 1) > 0);
	close(pipes[0]);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	assert_non_null(strstr(line, "test_err.c:"));
	assert_non_null(strstr(line, "pid == 1"));
}

static void test_names(void **state)
{
	(void)state;
	assert_string_equal(infer_version(), INFER_VERSION);
	assert_string_equal(infer_status_name(INFER_OK), "INFER_OK");
	assert_string_equal(infer_status_name(INFER_EFORMAT), "INFER_EFORMAT");
	assert_string_equal(infer_status_name(INFER_ENAN), "INFER_ENAN");
	for (int i = -2; i < INFER_STATUS_COUNT + 2; i++) {
		assert_memory_equal(infer_status_name(i), "INFER_", 6);
		for (int j = 0; j < i && i < INFER_STATUS_COUNT; j++)
			assert_string_not_equal(infer_status_name(i), infer_status_name(j));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_set),   cmocka_unit_test(test_errno),
		cmocka_unit_test(test_plain), cmocka_unit_test(test_try_and_must),
		cmocka_unit_test(test_names),
	};
	return nth_group(tests);
}
