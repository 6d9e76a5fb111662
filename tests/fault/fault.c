/* tests/fault/fault.c - a library to preload: one call of a chosen kind fails, in the whole
 * program, other people's code too.
 *
 *	FAULT=KIND:HOW:N     the Nth call of KIND fails by HOW; N+: every one from the Nth on
 *	FAULT_REPORT=FILE    struct fault_report, kept up to date while the program runs
 *	FAULT_FULL=FILE      while FILE exists, the disk of the directory FAULT_ROOT has room for as many
 *	                     bytes as FILE has, and then is full; not for standard output
 *	FAULT_LOG=FILE       what is written, synced, cut and renamed in the directory FAULT_ROOT,
 *	                     in order (powercut.c)
 *
 * KIND: a name of kinds[].  HOW: an errno of hows[], or "short": a read or write moves one byte,
 * where it would move more.
 * With none of these it passes everything on.  For glibc, whose own allocator has names that
 * stay free. */
#undef _FORTIFY_SOURCE /* its inline functions have the names that are defined here */
#include "fault.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define SHOWN __attribute__((visibility("default")))
/* the function that this one stands before, of the same type */
#define REAL(name) \
	static __typeof__(&name) real; \
	if (!real) \
	real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

enum { SHORT = -1, LOG_HEAD = 4200 };

static const char *const kinds[FAULT_KINDS] = {
	"malloc", "mmap", "munmap", "madvise", "thread",   "open",  "read", "write",
	"say",    "stat", "sync",   "rename",  "truncate", "close", "poll", "lock",
};
static const struct {
	const char *name;
	int number;
} hows[] = {
	{ "ENOMEM", ENOMEM }, { "EAGAIN", EAGAIN }, { "EMFILE", EMFILE }, { "EIO", EIO },
	{ "ENOSPC", ENOSPC }, { "EINTR", EINTR },   { "ENOLCK", ENOLCK }, { "short", SHORT },
};

static struct fault_report own, *report = &own;
static int kind = -1, how;
static uint64_t at, on; /* on: from `at` on */
static int log_fd = -1;
static const char *full; /* FAULT_FULL */
static pthread_mutex_t full_lock = PTHREAD_MUTEX_INITIALIZER;
static long long free_bytes = -1; /* under full_lock; -1: FILE was not there */
static dev_t root_device;         /* FAULT_ROOT */
static char root[256];

/* 0: the call goes through; else the errno that it fails with, or SHORT. */
static int fails(enum fault_kind k)
{
	uint64_t n = atomic_fetch_add(&report->calls[k], 1) + 1;

	if ((int)k != kind || !at || n < at || (n > at && !on))
		return 0;
	atomic_fetch_add(&report->failed, 1);
	return how;
}

__attribute__((constructor)) static void start(void)
{
	const char *spec = getenv("FAULT"), *path = getenv("FAULT_REPORT"),
		   *dir = getenv("FAULT_ROOT");
	const char *log = getenv("FAULT_LOG");
	char a[16], b[16];
	unsigned long long n;
	struct stat st;
	int fd, end = 0;

	if (path && (fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC)) >= 0) {
		void *p = (void *)syscall(SYS_mmap, NULL, sizeof own, PROT_READ | PROT_WRITE,
		                          MAP_SHARED, fd, 0);

		syscall(SYS_close, fd);
		if (p != MAP_FAILED)
			report = p;
	}
	full = getenv("FAULT_FULL");
	if ((log || full) && dir && !stat(dir, &st))
		root_device = st.st_dev;
	if (log && root_device) {
		snprintf(root, sizeof root, "%s", dir);
		log_fd = (int)syscall(SYS_openat, AT_FDCWD, log,
		                      O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	}
	if (spec && sscanf(spec, "%15[^:]:%15[^:]:%llu%n", a, b, &n, &end) == 3) {
		for (int k = 0; k < FAULT_KINDS; k++)
			if (!strcmp(a, kinds[k]))
				kind = k;
		for (size_t i = 0; i < sizeof hows / sizeof *hows; i++)
			if (!strcmp(b, hows[i].name))
				how = hows[i].number;
		on = spec[end] == '+';
		at = n;
	}
	if (spec && (kind < 0 || !how || !at))
		_exit(FAULT_EXIT); /* a test that is misspelt must not pass */
	memset(report->calls, 0, sizeof report->calls);
	report->failed = 0;
}

/* ---- memory */

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t),
	*__libc_memalign(size_t, size_t);

static int no_memory(enum fault_kind k)
{
	int e = fails(k);

	if (e)
		errno = e;
	return e;
}

SHOWN void *malloc(size_t n) { return no_memory(FAULT_MALLOC) ? NULL : __libc_malloc(n); }
SHOWN void *calloc(size_t n, size_t size)
{
	return no_memory(FAULT_MALLOC) ? NULL : __libc_calloc(n, size);
}
SHOWN void *realloc(void *p, size_t n)
{
	return no_memory(FAULT_MALLOC) ? NULL : __libc_realloc(p, n);
}
SHOWN void *aligned_alloc(size_t align, size_t n)
{
	return no_memory(FAULT_MALLOC) ? NULL : __libc_memalign(align, n);
}

SHOWN int posix_memalign(void **p, size_t align, size_t n)
{
	if (fails(FAULT_MALLOC))
		return ENOMEM;
	*p = __libc_memalign(align, n);
	return *p ? 0 : ENOMEM;
}

SHOWN void *mmap(void *p, size_t n, int prot, int flags, int fd, off_t from)
{
	REAL(mmap);
	return no_memory(FAULT_MMAP) ? MAP_FAILED : real(p, n, prot, flags, fd, from);
}

SHOWN void *mremap(void *p, size_t from, size_t to, int flags, ...)
{
	REAL(mremap);
	return no_memory(FAULT_MMAP) ? MAP_FAILED : real(p, from, to, flags);
}

SHOWN int munmap(void *p, size_t n)
{
	REAL(munmap);
	return no_memory(FAULT_MUNMAP) ? -1 : real(p, n);
}

SHOWN int madvise(void *p, size_t n, int advice)
{
	REAL(madvise);
	return no_memory(FAULT_MADVISE) ? -1 : real(p, n, advice);
}

SHOWN int pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*f)(void *), void *user)
{
	REAL(pthread_create);
	int e = fails(FAULT_THREAD);

	return e ? e : real(t, a, f, user);
}

/* ---- the log: a line "OP DEVICE INODE A B NAME", for W followed by B bytes */

static void note(char op, int fd, long long a, size_t n, const char *name, const void *data)
{
	char head[LOG_HEAD];
	struct stat st;

	if (fd >= 0 ? syscall(SYS_fstat, fd, &st)
	            : syscall(SYS_newfstatat, AT_FDCWD, name, &st, AT_SYMLINK_NOFOLLOW))
		return;
	if (st.st_dev != root_device || (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)))
		return;
	int len = snprintf(head, sizeof head, "%c %llu %lld %zu %s\n", op,
	                   (unsigned long long)st.st_ino, a, n,
	                   name                  ? name
	                   : S_ISDIR(st.st_mode) ? "/"
	                                         : "-");
	struct iovec v[2] = { { head, (size_t)len }, { (void *)(size_t)data, data ? n : 0 } };

	if (syscall(SYS_writev, log_fd, v, 2) != len + (ssize_t)(data ? n : 0))
		_exit(FAULT_EXIT);
}

/* Before: where the bytes will stand. */
static long long place(int fd)
{
	struct stat st;

	if (log_fd < 0 || syscall(SYS_fstat, fd, &st) || !S_ISREG(st.st_mode))
		return -1;
	return syscall(SYS_fcntl, fd, F_GETFL) & O_APPEND
	               ? (long long)st.st_size
	               : (long long)syscall(SYS_lseek, fd, 0, SEEK_CUR);
}

static void note_write(int fd, long long where, const void *at_, ssize_t n)
{
	if (log_fd >= 0 && where >= 0 && n > 0)
		note('W', fd, where, (size_t)n, NULL, at_);
}

/* ---- files */

static int open_any(const char *path, int flags, mode_t mode, __typeof__(&open) real)
{
	int e = fails(FAULT_OPEN), fd, was;

	if (e) {
		errno = e;
		return -1;
	}
	was = log_fd >= 0 && flags & O_CREAT ? (int)syscall(SYS_faccessat, AT_FDCWD, path, F_OK)
	                                     : 0;
	fd = real(path, flags, mode);
	if (was && fd >= 0)
		note('C', fd, 0, 0, path, NULL);
	if (log_fd >= 0 && fd >= 0 && flags & O_TRUNC)
		note('T', fd, 0, 0, NULL, NULL);
	return fd;
}

static mode_t mode_of(int flags, va_list ap)
{
	return flags & (O_CREAT | O_TMPFILE) ? va_arg(ap, mode_t) : 0;
}

#define OPENS(name) \
	SHOWN int name(const char *path, int flags, ...) \
	{ \
		REAL(name); \
		va_list ap; \
		va_start(ap, flags); \
		mode_t mode = mode_of(flags, ap); \
		va_end(ap); \
		return open_any(path, flags, mode, real); \
	}
OPENS(open)
OPENS(open64)
int __open_2(const char *path, int flags), __open64_2(const char *path, int flags);
SHOWN int __open_2(const char *path, int flags) { return open(path, flags); }
SHOWN int __open64_2(const char *path, int flags) { return open(path, flags); }

/* Nonzero: the call ends with -1.  A short one moves one byte. */
static int io_fails(enum fault_kind k, size_t *n)
{
	int e = fails(k);

	if (e == SHORT) {
		*n = *n > 1 ? 1 : *n;
		return 0;
	}
	if (e)
		errno = e;
	return e;
}

SHOWN ssize_t read(int fd, void *p, size_t n)
{
	REAL(read);
	return io_fails(FAULT_READ, &n) ? -1 : real(fd, p, n);
}

SHOWN ssize_t pread(int fd, void *p, size_t n, off_t from)
{
	REAL(pread);
	return io_fails(FAULT_READ, &n) ? -1 : real(fd, p, n, from);
}

SHOWN ssize_t pread64(int fd, void *p, size_t n, off64_t from) { return pread(fd, p, n, from); }
ssize_t __read_chk(int fd, void *p, size_t n, size_t room),
	__pread_chk(int fd, void *p, size_t n, off_t from, size_t room);
SHOWN ssize_t __read_chk(int fd, void *p, size_t n, size_t room)
{
	return n > room ? (abort(), -1) : read(fd, p, n);
}
SHOWN ssize_t __pread_chk(int fd, void *p, size_t n, off_t from, size_t room)
{
	return n > room ? (abort(), -1) : pread(fd, p, n, from);
}

static enum fault_kind write_kind(int fd) { return fd == STDERR_FILENO ? FAULT_SAY : FAULT_WRITE; }

/* The size of FILE; -1: there is no such file.  It may not be opened: the program may have no right to. */
static long long size_of_full(void)
{
	struct stat st;

	return syscall(SYS_newfstatat, AT_FDCWD, full, &st, 0) ? -1 : (long long)st.st_size;
}

/* Nonzero: the disk is full.  A write of more than it has room for moves less. */
static int disk_fails(int fd, size_t *n)
{
	long long said;
	struct stat st;
	int bad;

	if (!full || fd <= STDERR_FILENO || syscall(SYS_fstat, fd, &st) || !S_ISREG(st.st_mode) ||
	    st.st_dev != root_device)
		return 0;
	pthread_mutex_lock(&full_lock);
	said = size_of_full();
	free_bytes = said < 0 || free_bytes < 0 ? said : free_bytes;
	if (free_bytes > 0 && (long long)*n > free_bytes)
		*n = (size_t)free_bytes;
	bad = !free_bytes && *n;
	if (free_bytes > 0)
		free_bytes -= (long long)*n;
	pthread_mutex_unlock(&full_lock);
	if (bad) {
		atomic_fetch_add(&report->failed, 1);
		errno = ENOSPC;
	}
	return bad;
}

SHOWN ssize_t write(int fd, const void *p, size_t n)
{
	REAL(write);
	if (io_fails(write_kind(fd), &n) || disk_fails(fd, &n))
		return -1;
	long long where = place(fd);
	ssize_t done = real(fd, p, n);

	note_write(fd, where, p, done);
	return done;
}

SHOWN ssize_t writev(int fd, const struct iovec *v, int n)
{
	REAL(writev);
	size_t first = n > 0 ? v->iov_len : 0, was = first;

	if (io_fails(write_kind(fd), &first))
		return -1;
	return first < was ? write(fd, v->iov_base, first) : real(fd, v, n);
}

SHOWN int fstat(int fd, struct stat *st)
{
	REAL(fstat);
	return no_memory(FAULT_STAT) ? -1 : real(fd, st);
}

SHOWN int fstat64(int fd, struct stat64 *st)
{
	REAL(fstat64);
	return no_memory(FAULT_STAT) ? -1 : real(fd, st);
}

static int synced(int fd, int rc)
{
	if (log_fd >= 0 && !rc)
		note('S', fd, 0, 0, NULL, NULL);
	return rc;
}

SHOWN int fsync(int fd)
{
	REAL(fsync);
	return no_memory(FAULT_SYNC) ? -1 : synced(fd, real(fd));
}

SHOWN int fdatasync(int fd)
{
	REAL(fdatasync);
	return no_memory(FAULT_SYNC) ? -1 : synced(fd, real(fd));
}

SHOWN int rename(const char *from, const char *to)
{
	REAL(rename);
	if (no_memory(FAULT_RENAME))
		return -1;
	int rc = real(from, to);

	if (log_fd >= 0 && !rc)
		note('R', -1, 0, 0, to, NULL);
	return rc;
}

static int cut(int fd, off_t n, int rc)
{
	if (log_fd >= 0 && !rc)
		note('T', fd, n, 0, NULL, NULL);
	return rc;
}

SHOWN int ftruncate(int fd, off_t n)
{
	REAL(ftruncate);
	return no_memory(FAULT_TRUNCATE) ? -1 : cut(fd, n, real(fd, n));
}

SHOWN int ftruncate64(int fd, off64_t n) { return ftruncate(fd, n); }

/* As Linux does it: the descriptor is gone, whatever close says. */
SHOWN int close(int fd)
{
	REAL(close);
	int e = fails(FAULT_CLOSE), rc = real(fd);

	if (!e)
		return rc;
	errno = e;
	return -1;
}

SHOWN int poll(struct pollfd *p, nfds_t n, int wait_ms)
{
	REAL(poll);
	return no_memory(FAULT_POLL) ? -1 : real(p, n, wait_ms);
}

SHOWN int flock(int fd, int how_)
{
	REAL(flock);
	return no_memory(FAULT_LOCK) ? -1 : real(fd, how_);
}
