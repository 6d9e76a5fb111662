/* tests/unit/base/test_replace.c - links, permissions and owners of files that are replaced */
#include "../left_out.h"
#include "../nth.h"

#include "base/err.h"
#include "base/replace.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[] = "/tmp/infer-replace-XXXXXX";

static int make_dir(void **state)
{
	(void)state;
	umask(022);
	return mkdtemp(dir) && !chdir(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof command, "rm -rf %s", dir);
	return chdir("/") || system(command);
}

static void put(const char *name, const char *text, mode_t mode)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static void check_text(const char *name, const char *want)
{
	char got[64] = "";
	int fd = open(name, O_RDONLY);

	assert_true(fd >= 0);
	assert_true(read(fd, got, sizeof got - 1) >= 0);
	close(fd);
	assert_string_equal(got, want);
}

static void check_target(const char *path, const char *want)
{
	char got[PATH_MAX];

	assert_int_equal(replace_target(got, path, NULL), INFER_OK);
	assert_string_equal(got, want);
}

static void test_target(void **state)
{
	char got[PATH_MAX], longest[PATH_MAX + 8];
	infer_error err;

	(void)state;
	assert_int_equal(mkdir("a", 0700) | mkdir("a/b", 0700), 0);
	put("a/file", "x", 0600);
	assert_int_equal(symlink("../file", "a/b/up"), 0);
	assert_int_equal(symlink("a/b/up", "two"), 0);
	assert_int_equal(symlink("/missing/file", "away"), 0);
	assert_int_equal(symlink("self", "self"), 0);
	check_target("plain", "plain");
	check_target("a/file", "a/file");
	check_target("a/b/up", "a/b/../file");
	check_target("two", "a/b/../file");
	check_target("./two", "./a/b/../file");
	check_target("away", "/missing/file");
	check_target("a", "a");
	assert_int_equal(replace_target(got, "self", &err), INFER_EIO);
	assert_string_equal(err.message, "self: Too many levels of symbolic links");
	memset(longest, 'x', sizeof longest);
	longest[PATH_MAX] = 0;
	assert_int_equal(replace_target(got, longest, &err), INFER_EIO);
	longest[PATH_MAX - 1] = 0;
	check_target(longest, longest);
}

static void test_create(void **state)
{
	infer_error err;
	struct stat st;
	int fd;

	(void)state;
	put("precious", "kept", 0600);
	assert_int_equal(symlink("precious", "soft"), 0);
	assert_int_equal(link("precious", "hard"), 0);
	assert_int_equal(symlink("nowhere", "dangling"), 0);
	for (int i = 0; i < 4; i++) {
		const char *name = (const char *const[]){ "new", "soft", "hard", "dangling" }[i];

		assert_int_equal(replace_create(&fd, name, 0640, &err), INFER_OK);
		assert_int_equal(write(fd, "mine", 4), 4);
		close(fd);
		check_text("precious", "kept");
		check_text(name, "mine");
		assert_int_equal(lstat(name, &st), 0);
		assert_true(S_ISREG(st.st_mode) && st.st_nlink == 1);
		assert_int_equal(st.st_mode & 07777, 0640);
	}
	assert_true(access("nowhere", F_OK));
	assert_int_equal(mkdir("folder", 0700), 0);
	assert_int_equal(replace_create(&fd, "folder", 0600, &err), INFER_EIO);
	assert_int_equal(fd, -1);
	assert_int_equal(replace_create(&fd, "missing/file", 0600, &err), INFER_EIO);
	assert_string_equal(err.message, "missing/file: No such file or directory");
}

static void check_mode(const char *name, mode_t mode)
{
	struct stat st;

	assert_int_equal(stat(name, &st), 0);
	assert_int_equal(st.st_mode & 07777, mode);
}

static void test_mode(void **state)
{
	int fd;

	(void)state;
	put("old", "", 0440);
	assert_int_equal(replace_mode("old", 0666), 0640);
	assert_int_equal(replace_mode("missing.old", 0666), 0666);
	assert_int_equal(replace_mode(".", 0644), 0644);
	put("fresh", "", 0600);
	fd = open("fresh", O_WRONLY);
	replace_keep(fd, "missing.old");
	check_mode("fresh", 0600);
	replace_keep(fd, "old");
	check_mode("fresh", 0440);
	assert_int_equal(chmod("old", 06755), 0);
	replace_keep(fd, "old");
	check_mode("fresh", 0755);
	close(fd);
}

/* As user 1234 of group 1234, or also of group 4321: the file `old` is of root and group 4321. */
static int keep_as_user(int is_member)
{
	gid_t group = 4321;
	int fd;

	if (setgroups((size_t)is_member, &group) || setgid(1234) || setuid(1234))
		return 1;
	fd = open(is_member ? "member" : "stranger", O_WRONLY | O_CREAT | O_EXCL, 0600);
	if (fd < 0)
		return 2;
	replace_keep(fd, "shared");
	return 0;
}

static void check_user(int is_member, gid_t group, mode_t mode)
{
	struct stat st;
	int status;
	pid_t p = fork();

	if (!p)
		_exit(keep_as_user(is_member));
	assert_int_equal(waitpid(p, &status, 0), p);
	assert_int_equal(status, 0);
	assert_int_equal(stat(is_member ? "member" : "stranger", &st), 0);
	assert_int_equal(st.st_uid, 1234);
	assert_int_equal(st.st_gid, group);
	assert_int_equal(st.st_mode & 07777, mode);
}

static void test_owner(void **state)
{
	struct stat st;
	int fd;

	(void)state;
	put("shared", "", 0640);
	if (geteuid() || chown("shared", 0, 4321))
		left_out("needs root, to give files away");
	assert_int_equal(chmod(".", 0777) | chmod("shared", 0674), 0);
	check_user(1, 4321, 0674);
	/* its own group gets no more than others have */
	check_user(0, 1234, 0644);
	assert_int_equal(chown("shared", 1234, 4321), 0);
	put("roots", "", 0600);
	fd = open("roots", O_WRONLY);
	replace_keep(fd, "shared");
	close(fd);
	assert_int_equal(stat("roots", &st), 0);
	assert_int_equal(st.st_uid, 1234);
	assert_int_equal(st.st_gid, 4321);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_target),
		cmocka_unit_test(test_create),
		cmocka_unit_test(test_mode),
		cmocka_unit_test(test_owner),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
