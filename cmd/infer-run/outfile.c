/* infer-run/outfile.c - the file of --resume, to which a batch appends records. */
#include "outfile.h"
#include "common/records.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/os.h"
#include "base/replace.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE = 1 << 16, TRIES = 100 };

static int lock_file(int fd, const char *path, infer_error *err)
{
	if (!flock(fd, LOCK_EX | LOCK_NB))
		return INFER_OK;
	return errno == EWOULDBLOCK
	               ? err_set(err, INFER_EIO, "%s: another process is writing it", path)
	               : err_errno(err, errno, "%s: cannot lock it", path);
}

/* Open and lock the file. *same: 0 if another file replaced path before the lock. */
static int open_locked(int *fd, const char *path, int *same, infer_error *err)
{
	struct stat st, now;

	*fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
	if (*fd < 0 || fstat(*fd, &st))
		return err_errno(err, errno, "%s", path);
	if (!S_ISREG(st.st_mode))
		return err_set(err, INFER_EIO, "%s: not a regular file", path);
	TRY(lock_file(*fd, path, err));
	*same = !stat(path, &now) && now.st_dev == st.st_dev && now.st_ino == st.st_ino;
	return *same && !st.st_size ? os_dir_sync(path, err) : INFER_OK;
}

/* Open and lock the file at path; tries again if it is replaced meanwhile. */
static int open_exclusive(int *fd, const char *path, infer_error *err)
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
	return err_set(err, INFER_EIO, "%s: another process keeps replacing it", path);
}

/* Append bytes [from, to) of fd to to_fd. */
static int copy_range(int to_fd, int fd, off_t from, off_t to, infer_error *err)
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

/* Append bytes [0, end) of fd to the file `to`, without the holes. */
static int copy_without_holes(int to, int fd, off_t end, const struct infer_hole *holes, size_t n,
                              infer_error *err)
{
	off_t at = 0;

	for (size_t i = 0; i < n; i++) {
		TRY(copy_range(to, fd, at, holes[i].from, err));
		at = holes[i].to;
	}
	return copy_range(to, fd, at, end, err);
}

/* Replace the file by one without the holes (ascending): write a new file and rename it. *fd becomes the new
 * file, *end its length. */
static int remove_holes(int *fd, const char *path, off_t *end, const struct infer_hole *holes,
                        size_t n, infer_error *err)
{
	char real[PATH_MAX], tmp[PATH_MAX + 32];
	int to, rc;

	if (!realpath(path, real))
		return err_errno(err, errno, "%s", path);
	/* this process has the lock, so an existing file of this name is left from a crash */
	snprintf(tmp, sizeof tmp, "%s.resume.tmp", real);
	unlink(tmp);
	to = open(tmp, O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC,
	          (mode_t)replace_mode(real, 0666));
	if (to < 0)
		return err_errno(err, errno, "%s", tmp);
	rc = lock_file(to, tmp, err);
	if (!rc)
		rc = copy_without_holes(to, *fd, *end, holes, n, err);
	if (!rc)
		replace_keep(to, real);
	if (!rc && (fsync(to) || rename(tmp, real)))
		rc = err_errno(err, errno, "%s: cannot remove its damaged lines", path);
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

/* Pass the whole file to the reader of records. */
static int read_records(infer_resume *r, int fd, const char *path, infer_error *err)
{
	char *piece = mem_alloc(MEM_BASE, PIECE, 1);
	int rc = piece ? INFER_OK
	               : err_set(err, INFER_ENOMEM, "%s: out of memory for a record", path);
	ssize_t n = 1;

	while (!rc && n) {
		n = read(fd, piece, PIECE);
		if (n > 0)
			rc = infer_resume_put(r, piece, (size_t)n, err);
		else if (n && errno != EINTR)
			rc = err_errno(err, errno, "%s", path);
	}
	mem_free(piece);
	return rc;
}

/* Remove an incomplete last line and damaged lines. */
static int remove_damage(struct outfile *f, const struct infer_resumed *got, infer_error *err)
{
	f->bytes = (off_t)got->whole;
	if (got->torn && ftruncate(f->fd, f->bytes))
		return err_errno(err, errno, "%s: cannot cut off the incomplete last line",
		                 f->path);
	return got->n_holes
	               ? remove_holes(&f->fd, f->path, &f->bytes, got->holes, got->n_holes, err)
	               : INFER_OK;
}

int outfile_open(struct outfile *f, const char *path, infer_records *w, infer_done_fn *done,
                 void *user, infer_error *err)
{
	struct infer_resumed got = { 0 };
	infer_resume *r = NULL;
	int rc;

	*f = (struct outfile){ .fd = -1, .path = path };
	rc = open_exclusive(&f->fd, path, err);
	if (!rc)
		rc = infer_resume_new(&r, path, done, user, err);
	if (!rc)
		rc = read_records(r, f->fd, path, err);
	if (!rc)
		rc = infer_resume_end(r, &got, err);
	if (!rc)
		rc = remove_damage(f, &got, err);
	infer_resume_free(r);
	if (rc)
		outfile_close(f);
	else if (got.records)
		infer_records_continue(w);
	return rc;
}

void outfile_close(struct outfile *f)
{
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
}

int outfile_add(struct outfile *f, infer_records *w, infer_error *err)
{
	size_t sent;
	int rc = records_send(w, f->fd, &sent, err);

	if (rc && sent)
		/* if this fails, the next run removes the partial record */
		(void)!ftruncate(f->fd, f->bytes);
	if (rc)
		return rc;
	f->bytes += (off_t)sent;
	f->dirty = 1;
	return INFER_OK;
}

/* Return INFER_EIO if the file was removed, or is shorter than what was written. */
static int check_intact(const struct outfile *f, infer_error *err)
{
	struct stat st;

	if (fstat(f->fd, &st))
		return err_errno(err, errno, "%s", f->path);
	if (!st.st_nlink)
		return err_set(err, INFER_EIO, "%s: was removed while records were written to it",
		               f->path);
	if (st.st_size < f->bytes)
		return err_set(err, INFER_EIO,
		               "%s: was cut short while records were written to it: %lld bytes of "
		               "%lld are there",
		               f->path, (long long)st.st_size, (long long)f->bytes);
	return INFER_OK;
}

int outfile_sync(struct outfile *f, infer_error *err)
{
	TRY(check_intact(f, err));
	if (!f->dirty)
		return INFER_OK;
	TRY(records_sync(f->fd, err));
	f->dirty = 0;
	return INFER_OK;
}
