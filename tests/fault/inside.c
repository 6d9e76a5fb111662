/* tests/fault/inside.c - a library to preload: on SIGUSR2 the process tries what it may not do any
 * more, and what it may, and writes a line for each to standard error: "inside: unlink: EPERM".
 * Paths are relative to INSIDE, a folder that the test prepares: own/ and outside/ each have a file
 * `file`, and `target` is a file that stays. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

static char own[4096], outside[4096], target[4096];
static int fd = -1;

static long try_remove_own(void) { return unlink(own); }
static long try_remove(void) { return unlink(outside); }
static long try_remove_target(void) { return unlinkat(AT_FDCWD, target, 0); }
static long try_chmod(void) { return chmod(target, 0777); }
static long try_fchmod(void) { return fchmod(fd, 0777); }
static long try_fchmodat(void) { return fchmodat(AT_FDCWD, target, 0777, 0); }
static long try_fchmodat2(void) { return syscall(452, AT_FDCWD, target, 0777, 0); }
static long try_chown(void) { return chown(target, getuid(), getgid()); }
static long try_lchown(void) { return lchown(target, getuid(), getgid()); }
static long try_fchown(void) { return fchown(fd, getuid(), getgid()); }
static long try_fchownat(void) { return fchownat(AT_FDCWD, target, getuid(), getgid(), 0); }
static long try_setxattr(void) { return setxattr(target, "user.x", "x", 1, 0); }
static long try_fsetxattr(void) { return fsetxattr(fd, "user.x", "x", 1, 0); }
static long try_write(void) { return open(target, O_WRONLY); }
static long try_socket(void) { return socket(AF_INET, SOCK_STREAM, 0); }

static const struct
try {
	const char *name;
	long (*call)(void);
}
tries[] = {
	{ "own", try_remove_own },       { "remove", try_remove },
	{ "target", try_remove_target }, { "chmod", try_chmod },
	{ "fchmod", try_fchmod },        { "fchmodat", try_fchmodat },
	{ "fchmodat2", try_fchmodat2 },  { "chown", try_chown },
	{ "lchown", try_lchown },        { "fchown", try_fchown },
	{ "fchownat", try_fchownat },    { "setxattr", try_setxattr },
	{ "fsetxattr", try_fsetxattr },  { "write", try_write },
	{ "socket", try_socket },
};

static void on_signal(int sig)
{
	char line[128];
	int kept = errno;

	(void)sig;
	for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
		errno = 0;
		long rc = tries[i].call();
		int n = snprintf(line, sizeof line, "inside: %s: %s\n", tries[i].name,
		                 rc >= 0           ? "done"
		                 : errno == EPERM  ? "EPERM"
		                 : errno == EACCES ? "EACCES"
		                                   : "another error");

		(void)!write(STDERR_FILENO, line, (size_t)n);
	}
	errno = kept;
}

static __attribute__((constructor)) void prepare(void)
{
	const char *dir = getenv("INSIDE");
	struct sigaction a = { .sa_handler = on_signal, .sa_flags = SA_RESTART };

	if (!dir)
		return;
	snprintf(own, sizeof own, "%s/own/file", dir);
	snprintf(outside, sizeof outside, "%s/outside/file", dir);
	snprintf(target, sizeof target, "%s/target", dir);
	fd = open(target, O_RDONLY | O_CLOEXEC);
	sigaction(SIGUSR2, &a, NULL);
}
