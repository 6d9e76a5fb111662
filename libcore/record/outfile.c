/* record/outfile.c - the file that a batch appends its records to: ours alone, on the disk, and
 * still there */
#include "record/record.h"
#include "base/err.h"
#include "base/os.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE = 1 << 16, TRIES = 100 };

static int lock(int fd, const char *path, infer_error *err)
{
	if (!flock(fd, LOCK_EX | LOCK_NB))
		return INFER_OK;
	return errno == EWOULDBLOCK
	               ? err_set(err, INFER_EIO, "%s: another process is writing it", path)
	               : err_errno(err, errno, "%s: cannot lock it", path);
}

/* *same 0: another file has come into its place between opening and locking. */
static int open_locked(int *fd, const char *path, int *same, infer_error *err)
{
	struct stat st, now;

	*fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
	if (*fd < 0 || fstat(*fd, &st))
		return err_errno(err, errno, "%s", path);
	if (!S_ISREG(st.st_mode))
		return err_set(err, INFER_EIO, "%s: not a regular file", path);
	TRY(lock(*fd, path, err));
	*same = !stat(path, &now) && now.st_dev == st.st_dev && now.st_ino == st.st_ino;
	return *same && !st.st_size ? os_dir_sync(path, err) : INFER_OK;
}

int outfile_open(int *fd, const char *path, infer_error *err)
{
	int same = 0;

	for (int i = 0; i < TRIES && !same; i++) {
		int rc = open_locked(fd, path, &same, err);

		if (!rc && same)
			return INFER_OK;
		if (*fd >= 0)
			close(*fd);
		*fd = -1;
		TRY(rc);
	}
	return err_set(err, INFER_EIO, "%s: others put new files into its place", path);
}

/* Bytes [from, to) of one file to the end of the other. */
static int copy(int to_fd, int fd, off_t from, off_t to, infer_error *err)
{
	char piece[PIECE];

	while (from < to) {
		size_t want = to - from < PIECE ? (size_t)(to - from) : PIECE;
		ssize_t n = pread(fd, piece, want, from), done = 0;

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return err_errno(err, n ? errno : EIO, "cannot read records again");
		from += n;
		while (done < n) {
			ssize_t w = write(to_fd, piece + done, (size_t)(n - done));

			if (w < 0 && errno != EINTR)
				return err_errno(err, errno, "cannot write records");
			done += w > 0 ? w : 0;
		}
	}
	return INFER_OK;
}

static int fill(int to, int fd, off_t end, const struct outfile_hole *holes, size_t n,
                infer_error *err)
{
	off_t at = 0;

	for (size_t i = 0; i < n; i++) {
		TRY(copy(to, fd, at, holes[i].from, err));
		at = holes[i].to;
	}
	return copy(to, fd, at, end, err);
}

int outfile_fill(int *fd, const char *path, off_t *end, const struct outfile_hole *holes, size_t n,
                 infer_error *err)
{
	char real[PATH_MAX], tmp[PATH_MAX + 32];
	struct stat st;
	int to, rc;

	if (fstat(*fd, &st) || !realpath(path, real))
		return err_errno(err, errno, "%s", path);
	/* the lock is ours: what has this name was left by a machine that stopped */
	snprintf(tmp, sizeof tmp, "%s.resume.tmp", real);
	unlink(tmp);
	to = open(tmp, O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC, st.st_mode & 0777);
	if (to < 0)
		return err_errno(err, errno, "%s", tmp);
	rc = lock(to, tmp, err);
	if (!rc)
		rc = fill(to, *fd, *end, holes, n, err);
	if (!rc && (fchmod(to, st.st_mode & 0777) || fsync(to) || rename(tmp, real)))
		rc = err_errno(err, errno, "%s: cannot write it without its damaged lines", path);
	if (rc) {
		unlink(tmp);
		close(to);
		return rc;
	}
	close(*fd);
	*fd = to;
	for (size_t i = 0; i < n; i++)
		*end -= holes[i].to - holes[i].from;
	return os_dir_sync(real, err);
}

int outfile_check(int fd, const char *path, off_t bytes, infer_error *err)
{
	struct stat st;

	if (fstat(fd, &st))
		return err_errno(err, errno, "%s", path);
	if (!st.st_nlink)
		return err_set(err, INFER_EIO, "%s: was removed while records were written to it",
		               path);
	if (st.st_size < bytes)
		return err_set(err, INFER_EIO,
		               "%s: was cut short while records were written to it: %lld bytes of "
		               "%lld are there",
		               path, (long long)st.st_size, (long long)bytes);
	return INFER_OK;
}
