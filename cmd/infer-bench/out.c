#include "bench.h"
#include "base/err.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* The byte before `at`, or -1. */
static int byte_before(int fd, off_t at, char *c)
{
	ssize_t n;

	do
		n = pread(fd, c, 1, at - 1);
	while (n < 0 && errno == EINTR);
	return n == 1 ? 0 : -1;
}

/* Records are appended; a last line that is torn goes.  A file without a line end is cut only where
 * it begins as a record does: else it is somebody's text. */
static int cut_torn(int fd, const char *path, infer_error *err)
{
	struct stat st;
	char c = '\n', first = 0;

	if (fstat(fd, &st))
		return err_errno(err, errno, "%s", path);
	if (!S_ISREG(st.st_mode))
		return INFER_OK;
	off_t end = st.st_size;

	for (; end > 0; end--) {
		if (byte_before(fd, end, &c))
			return err_errno(err, errno, "%s", path);
		if (c == '\n')
			break;
		first = c;
	}
	if (!end && st.st_size && first != '{')
		return err_set(err, INFER_EFORMAT, "%s: line 1 is no record", path);
	return end < st.st_size && ftruncate(fd, end) ? err_errno(err, errno, "%s", path)
	                                              : INFER_OK;
}

int out_open(struct out *o, const struct bench_opts *b, infer_error *err)
{
	*o = (struct out){ .fd = -1 };
	if (b->json)
		TRY(infer_writer_open(&o->json, STDOUT_FILENO, err));
	if (!b->record)
		return INFER_OK;
	o->fd = open(b->record, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (o->fd < 0)
		return err_errno(err, errno, "%s", b->record);
	TRY(cut_torn(o->fd, b->record, err));
	return infer_writer_open(&o->file, o->fd, err);
}

int out_close(struct out *o, infer_error *err)
{
	int rc = o->file ? infer_writer_sync(o->file, err) : INFER_OK;

	infer_writer_free(o->json);
	infer_writer_free(o->file);
	if (o->fd >= 0 && close(o->fd))
		rc = err_errno(err, errno, "the records");
	return rc;
}
