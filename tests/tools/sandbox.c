/* sandbox [--read] [--thread]: enter it, and try what must not work any more, and what must: a line
 * for each, "open: EPERM" or "read: done".  --read: files may still be read.  --thread: the tries
 * are made by a thread that ran before.  --serve: what a server enters; --paths: only /usr/share may
 * be read, and only the current folder written. sandbox --without COMMAND [ARG]...: run it on a kernel that
 * knows no filters of system calls. */
#include "base/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int fd_of_file;
static void *page;

static void *idle(void *arg) { return arg; }

static long try_open(void) { return open("/etc/passwd", O_RDONLY); }
static long try_share(void) { return open("/usr/share", O_RDONLY | O_DIRECTORY); }
static long try_write(void) { return open("sandbox.new", O_WRONLY | O_CREAT, 0600); }
static long try_append(void) { return open("/etc/passwd", O_RDONLY | O_APPEND); }
static long try_unnamed(void) { return open(".", O_TMPFILE | O_RDWR, 0600); }
static long try_openat2(void)
{
	return syscall(437, AT_FDCWD, "/etc/passwd", (uint64_t[3]){ O_RDONLY }, 24);
}
static long try_unlink(void) { return unlink("sandbox.new"); }
static long try_mkdir(void) { return mkdirat(AT_FDCWD, "sandbox.dir", 0700); }
static long try_socket(void) { return socket(AF_INET, SOCK_STREAM, 0); }
static long try_unix(void) { return socket(AF_UNIX, SOCK_STREAM, 0); }
static long try_exec(void) { return execl("/bin/true", "true", (char *)NULL); }
static long try_fork(void)
{
	pid_t p = fork();

	if (!p)
		_exit(0);
	return p;
}
static long try_thread(void)
{
	pthread_t t;
	int rc = pthread_create(&t, NULL, idle, NULL);

	errno = rc;
	return rc ? -1 : 0;
}
static long try_trace(void) { return ptrace(PTRACE_TRACEME, 0, NULL, NULL); }
static long try_kill(void) { return kill(getppid(), 0); }
static long try_tgkill(void) { return syscall(SYS_tgkill, getpid() + 1, getpid() + 1, 0); }
static long try_executable(void) { return mprotect(page, 4096, PROT_READ | PROT_EXEC); }
static long try_map_executable(void)
{
	return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
	                       MAP_FAILED
	               ? -1
	               : 0;
}
static long try_type(void) { return ioctl(0, TIOCSTI, "x"); }
static long try_limit(void) { return syscall(SYS_prlimit64, 0, 0, (uint64_t[2]){ 1, 1 }, NULL); }
static long try_uring(void) { return syscall(425, 1, NULL); }

static long try_read(void)
{
	char c;

	return pread(fd_of_file, &c, 1, 0);
}
static long try_map(void)
{
	return mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
	                       MAP_FAILED
	               ? -1
	               : 0;
}
static long try_raise(void) { return raise(0); }

static const struct
try {
	const char *name;
	long (*call)(void);
}
tries[] = {
	{ "open", try_open },
	{ "share", try_share },
	{ "write", try_write },
	{ "append", try_append },
	{ "unnamed", try_unnamed },
	{ "openat2", try_openat2 },
	{ "unlink", try_unlink },
	{ "mkdir", try_mkdir },
	{ "socket", try_socket },
	{ "unix", try_unix },
	{ "exec", try_exec },
	{ "fork", try_fork },
	{ "thread", try_thread },
	{ "trace", try_trace },
	{ "kill", try_kill },
	{ "tgkill", try_tgkill },
	{ "executable", try_executable },
	{ "map-executable", try_map_executable },
	{ "type", try_type },
	{ "limit", try_limit },
	{ "uring", try_uring },
	{ "read", try_read },
	{ "map", try_map },
	{ "raise", try_raise },
};

static void *try_all(void *arg)
{
	pthread_barrier_t *b = arg;

	if (b) {
		pthread_barrier_wait(b); /* it runs */
		pthread_barrier_wait(b); /* the sandbox is there */
	}
	for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
		errno = 0;
		long rc = tries[i].call();
		printf("%s: %s\n", tries[i].name,
		       rc >= 0          ? "done"
		       : errno == EPERM ? "EPERM"
		                        : strerror(errno));
	}
	return NULL;
}

static int without(char **command)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_seccomp, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &(struct sock_fprog){ 4, f })) {
		perror("seccomp");
		return 1;
	}
	execvp(*command, command);
	perror(*command);
	return 1;
}

int main(int argc, char **argv)
{
	static const char *const read[] = { "/usr/share", "missing" }, *const written[] = { "." };
	unsigned flags = 0;
	int threaded = 0, serve = 0, paths = 0;
	infer_error err;
	pthread_barrier_t b;
	pthread_t t;

	if (argc > 2 && !strcmp(argv[1], "--without"))
		return without(argv + 2);
	for (int i = 1; i < argc; i++) {
		flags |= !strcmp(argv[i], "--read") ? SANDBOX_READ : 0u;
		flags |= !strcmp(argv[i], "--threads") ? SANDBOX_THREADS : 0u;
		threaded |= !strcmp(argv[i], "--thread");
		serve |= !strcmp(argv[i], "--serve");
		paths |= !strcmp(argv[i], "--paths");
	}
	fd_of_file = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (fd_of_file < 0 || page == MAP_FAILED || pthread_barrier_init(&b, NULL, 2) ||
	    (threaded && pthread_create(&t, NULL, try_all, &b))) {
		perror("sandbox");
		return 1;
	}
	if (threaded)
		pthread_barrier_wait(&b);
	if (paths   ? sandbox_paths(read, 2, written, 1, NULL, 0, &err)
	    : serve ? sandbox_serve(&err)
	            : sandbox_enter(flags, &err)) {
		fprintf(stderr, "%s\n", err.message);
		_exit(3);
	}
	if (threaded) {
		pthread_barrier_wait(&b);
		pthread_join(t, NULL);
	} else {
		try_all(NULL);
	}
	return 0;
}
