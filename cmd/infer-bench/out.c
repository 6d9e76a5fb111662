/* infer-bench/out.c - where records are written. */
#include "bench.h"
#include "common/records.h"
#include "base/err.h"
#include "base/os.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SECTOR = 512, LOST_MOST = 1 << 16 };

/* Byte `at`, or -1. */
static int byte_at(int fd, off_t at, char *c)
{
	ssize_t n;

	do
		n = pread(fd, c, 1, at);
	while (n < 0 && errno == EINTR);
	return n == 1 ? 0 : -1;
}

/* Where the last of `end` bytes' lines begins; *damaged: it has no newline, or zeros, which a
 * power cut leaves of what was not on the disk yet. */
static int last_line(int fd, off_t end, off_t *from, int *damaged)
{
	char c = '\n';

	if (byte_at(fd, end - 1, &c))
		return -1;
	*damaged = c != '\n';
	for (*from = end - 1; *from > 0; --*from) {
		if (byte_at(fd, *from - 1, &c))
			return -1;
		if (c == '\n')
			return 0;
		*damaged |= !c;
	}
	return 0;
}

/* A file that begins like a record, or like a record that lost its first sector. */
static int is_ours(int fd, off_t size)
{
	char first[SECTOR];
	ssize_t n = pread(fd, first, sizeof first, 0);

	for (ssize_t i = 0; i < n; i++)
		if (first[i])
			return !i && first[i] == '{';
	return n > 0 && size <= LOST_MOST;
}

/* Records are appended; what a stop has left at the end and is no whole line goes.  In somebody
 * else's text nothing is cut. */
static int cut_torn(int fd, const char *path, infer_error *err)
{
	struct stat st;
	off_t end, from;
	int damaged = 1;

	if (fstat(fd, &st))
		return err_errno(err, errno, "%s", path);
	if (!S_ISREG(st.st_mode))
		return INFER_OK;
	if (!st.st_size)
		return os_dir_sync(path, err);
	for (end = st.st_size; end > 0; end = from) {
		if (last_line(fd, end, &from, &damaged))
			return err_errno(err, errno, "%s", path);
		if (!damaged)
			break;
	}
	if (end < st.st_size && !is_ours(fd, st.st_size))
		return err_set(err, INFER_EFORMAT, "%s: line 1 is no record", path);
	return end < st.st_size && ftruncate(fd, end) ? err_errno(err, errno, "%s", path)
	                                              : INFER_OK;
}

int out_open(struct out *o, const struct bench_opts *b, infer_error *err)
{
	*o = (struct out){ .fd = -1 };
	if (b->json)
		TRY(infer_writer_new(&o->json, err));
	if (!b->record)
		return INFER_OK;
	o->fd = open(b->record, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (o->fd < 0)
		return err_errno(err, errno, "%s", b->record);
	TRY(cut_torn(o->fd, b->record, err));
	return infer_writer_new(&o->file, err);
}

int out_send(struct out *o, infer_error *err)
{
	if (o->file) {
		TRY(records_send(o->file, o->fd, NULL, err));
		TRY(records_sync(o->fd, err));
	}
	return o->json ? records_send(o->json, STDOUT_FILENO, NULL, err) : INFER_OK;
}

int out_close(struct out *o, infer_error *err)
{
	int rc = o->file ? records_sync(o->fd, err) : INFER_OK;

	infer_writer_free(o->json);
	infer_writer_free(o->file);
	if (o->fd >= 0 && close(o->fd))
		rc = err_errno(err, errno, "the records");
	return rc;
}
