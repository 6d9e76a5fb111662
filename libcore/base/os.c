/* base/os.c - mapped files, memory and usage of the process. */
#include "base/os.h"
#include "base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static int64_t mtime_ns(const struct stat *st)
{
	return (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
}

/* Read cap bytes of fd at offset `from`.  *n: bytes read, fewer only at the end of the file. */
static int read_some(int fd, const char *path, size_t from, unsigned char *to, size_t cap,
                     size_t *n, infer_error *err)
{
	for (*n = 0; *n < cap;) {
		ssize_t k = pread(fd, to + *n, cap - *n, (off_t)(from + *n));

		if (k < 0 && errno != EINTR)
			return err_errno(err, errno, "%s", path);
		if (!k)
			break;
		*n += k < 0 ? 0 : (size_t)k;
	}
	return INFER_OK;
}

int os_look(struct os_stat *out, const char *path, void *head, size_t cap, size_t *n,
            infer_error *err)
{
	int fd, rc = INFER_OK;
	struct stat st;

	*n = 0;
	*out = (struct os_stat){ 0 };
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); /* a FIFO must not block */
	if (fd < 0)
		return err_errno(err, errno, "%s", path);
	if (fstat(fd, &st)) {
		rc = err_errno(err, errno, "%s", path);
	} else if (S_ISREG(st.st_mode)) {
		*out = (struct os_stat){ OS_REGULAR, (uint64_t)st.st_size };
		rc = read_some(fd, path, 0, head, cap, n, err);
	} else if (S_ISDIR(st.st_mode)) {
		out->kind = OS_DIRECTORY;
	} else {
		rc = err_set(err, INFER_EIO, "%s: not a regular file", path);
	}
	close(fd);
	return rc;
}

int os_file_map(struct os_file *f, const char *path, infer_error *err)
{
	int fd, rc = INFER_OK;
	struct stat st;
	void *at;

	*f = (struct os_file){ 0 };
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); /* a FIFO must not block */
	if (fd < 0)
		return err_errno(err, errno, "%s", path);
	if (fstat(fd, &st)) {
		rc = err_errno(err, errno, "%s", path);
	} else if (!S_ISREG(st.st_mode)) {
		rc = err_set(err, INFER_EIO, "%s: not a regular file", path);
	} else if ((uint64_t)st.st_size > PTRDIFF_MAX) {
		rc = err_set(err, INFER_ENOMEM, "%s: larger than the address space", path);
	} else if (st.st_size) {
		at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (at == MAP_FAILED)
			rc = err_errno(err, errno, "%s: cannot map %lld bytes", path,
			               (long long)st.st_size);
		else
			f->at = at;
	}
	if (!rc) {
		/* With this advice a page fault reads 2 MiB of the file and as much ahead, instead
		 * of the disk's readahead (as little as 128 KiB): weights are read in long runs.  A
		 * kernel without huge pages refuses it, which is harmless. */
		if (f->at)
			(void)madvise((void *)f->at, (size_t)st.st_size, MADV_HUGEPAGE);
		f->bytes = (size_t)st.st_size;
		f->device = st.st_dev;
		f->inode = st.st_ino;
		f->mtime_ns = mtime_ns(&st);
		f->above = fd + 1;
	} else {
		close(fd);
	}
	return rc;
}

int os_dir_sync(const char *path, infer_error *err)
{
	char real[PATH_MAX], *slash;
	int fd, rc = INFER_OK;

	if (!realpath(path, real))
		return err_errno(err, errno, "%s", path);
	slash = strrchr(real, '/');
	slash[slash == real] = 0;
	fd = open(real, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return errno == EACCES || errno == EPERM ? INFER_OK
		                                         : err_errno(err, errno, "%s", real);
	if (fsync(fd) && errno != EINVAL && errno != EROFS)
		rc = err_errno(err, errno, "%s", real);
	close(fd);
	return rc;
}

int os_file_changed(const struct os_file *f)
{
	struct stat st;

	if (!f->above || fstat(f->above - 1, &st))
		return 0;
	return (uint64_t)st.st_size != f->bytes || mtime_ns(&st) != f->mtime_ns;
}

void os_file_unmap(struct os_file *f)
{
	if (f->at)
		munmap((void *)f->at, f->bytes);
	if (f->above)
		close(f->above - 1);
	*f = (struct os_file){ 0 };
}

void os_file_hold(struct os_file *f)
{
	if (f->at)
		munmap((void *)f->at, f->bytes);
	f->at = NULL;
}

int os_file_read(const struct os_file *f, const char *path, size_t from, void *to, size_t n,
                 size_t *got, infer_error *err)
{
	*got = 0;
	if (!f->above)
		return err_set(err, INFER_EIO, "%s: not open", path);
	return read_some(f->above - 1, path, from, to, n, got, err);
}

void os_file_want(const struct os_file *f, size_t from, size_t bytes)
{
	size_t page = os_page();

	if (!f->at || from >= f->bytes)
		return;
	if (bytes > f->bytes - from)
		bytes = f->bytes - from;
	bytes += from % page;
	from -= from % page;
	madvise((void *)(f->at + from), bytes, MADV_WILLNEED);
}

void os_sparse(const void *at, size_t bytes)
{
	/* only whole pages: bytes before and after them are read in long runs */
	size_t page = os_page(), from = ((uintptr_t)at + page - 1) / page * page,
	       to = ((uintptr_t)at + bytes) / page * page;

	if (to > from)
		(void)madvise((void *)from, to - from, MADV_NOHUGEPAGE);
}

enum os_brought os_populate(const void *at, size_t bytes)
{
	enum { POPULATE_READ = 22 }; /* MADV_POPULATE_READ of Linux 5.14 */
	size_t before = (uintptr_t)at % os_page();
	void *from = (void *)((uintptr_t)at - before);
	struct rusage old, now;

	getrusage(RUSAGE_THREAD, &old);
	if (!madvise(from, bytes + before, POPULATE_READ)) {
		getrusage(RUSAGE_THREAD, &now);
		return now.ru_majflt > old.ru_majflt ? OS_READ : OS_THERE;
	}
	/* an older kernel: start reading; page faults wait for it */
	return errno == EINVAL && !madvise(from, bytes + before, MADV_WILLNEED) ? OS_READ
	                                                                        : OS_FAILED;
}

static int refuse_room(size_t bytes, infer_error *err)
{
	struct os_limits l;

	os_limits(&l);
	if (bytes > l.address_bytes)
		return err_set(err, INFER_ENOMEM,
		               "cannot reserve %zu bytes of address space: the limit (RLIMIT_AS, "
		               "ulimit -v) leaves %llu",
		               bytes, (unsigned long long)l.address_bytes);
	return err_set(err, INFER_ENOMEM,
	               "cannot reserve %zu bytes of address space: the kernel refuses "
	               "(vm.overcommit_memory, or too many mappings)",
	               bytes);
}

int os_reserve(void **at, size_t bytes, infer_error *err)
{
	void *p;

	*at = NULL;
	if (!bytes)
		return err_set(err, INFER_EINVAL, "a reservation of 0 bytes");
	p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
	         -1, 0);
	if (p == MAP_FAILED)
		return refuse_room(bytes, err);
	*at = p;
	return INFER_OK;
}

int os_reserve_again(void **at, size_t from, size_t to, infer_error *err)
{
	void *p;

	if (!to)
		return err_set(err, INFER_EINVAL, "a reservation of 0 bytes");
	p = mremap(*at, from, to, MREMAP_MAYMOVE);
	if (p == MAP_FAILED)
		return refuse_room(to, err);
	*at = p;
	return INFER_OK;
}

int os_file_memory(void **at, size_t bytes, infer_error *err)
{
	int fd = memfd_create("inferutils", MFD_CLOEXEC), rc = INFER_OK;
	void *p = MAP_FAILED;

	*at = NULL;
	if (fd < 0)
		return err_errno(err, errno, "cannot make a file in memory");
	if (!ftruncate(fd, (off_t)bytes))
		p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED) {
		rc = err_errno(err, errno, "cannot map %zu bytes of a file in memory", bytes);
	} else {
		madvise(p, bytes, MADV_NOHUGEPAGE);
		*at = p;
	}
	close(fd);
	return rc;
}

/* Map the file from its beginning to every `period` bytes of the range.  Returns 0 if the system refuses. */
static int map_repeats(char *at, size_t period, size_t bytes, int fd)
{
	for (size_t done = 0; done < bytes; done += period) {
		size_t part = bytes - done < period ? bytes - done : period;

		if (mmap(at + done, part, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) ==
		    MAP_FAILED)
			return 0;
	}
	madvise(at, bytes, MADV_NOHUGEPAGE);
	return 1;
}

int os_repeated(void **at, size_t period, size_t bytes, infer_error *err)
{
	int fd = memfd_create("inferutils", MFD_CLOEXEC), rc = INFER_OK;
	char *p = MAP_FAILED;

	*at = NULL;
	if (fd < 0)
		return err_errno(err, errno, "cannot make a file in memory");
	if (pwrite(fd, "", 1, (off_t)period - 1) == 1) /* the sandbox forbids ftruncate */
		p = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
		         0);
	if (p != MAP_FAILED && map_repeats(p, period, bytes, fd)) {
		*at = p;
	} else {
		rc = err_errno(err, errno, "cannot map %zu bytes of a file in memory", bytes);
		if (p != MAP_FAILED)
			os_release(p, bytes);
	}
	close(fd);
	return rc;
}

/* Unmapping the middle of a mapping needs kernel memory and one more mapping.  If that fails,
 * keep the addresses and give up only the memory. */
void os_release(void *at, size_t bytes)
{
	if (!at || !munmap(at, bytes))
		return;
	must(errno == ENOMEM);
	(void)madvise(at, bytes, MADV_DONTNEED);
}

void os_forget(void *at, size_t bytes)
{
	if (bytes && madvise(at, bytes, MADV_DONTNEED))
		memset(at, 0, bytes);
}

size_t os_page(void) { return (size_t)sysconf(_SC_PAGESIZE); }

void os_usage(struct os_usage *u)
{
	struct rusage r;

	*u = (struct os_usage){ 0 };
	if (getrusage(RUSAGE_SELF, &r))
		return;
	u->preempted = (uint64_t)r.ru_nivcsw;
	u->minor_faults = (uint64_t)r.ru_minflt;
	u->major_faults = (uint64_t)r.ru_majflt;
	u->peak_rss_bytes = (uint64_t)r.ru_maxrss * 1024;
	u->user_ms = (double)r.ru_utime.tv_sec * 1e3 + (double)r.ru_utime.tv_usec * 1e-3;
	u->system_ms = (double)r.ru_stime.tv_sec * 1e3 + (double)r.ru_stime.tv_usec * 1e-3;
}
