#include "bench.h"
#include "base/err.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* Records are appended; a last line that is torn goes. */
static int cut_torn(int fd, const char *path, infer_error *err)
{
	struct stat st;
	char c;

	if (fstat(fd, &st))
		return err_errno(err, errno, "%s", path);
	if (!S_ISREG(st.st_mode))
		return INFER_OK;
	off_t end = st.st_size;

	while (end > 0 && pread(fd, &c, 1, end - 1) == 1 && c != '\n')
		end--;
	return end < st.st_size && ftruncate(fd, end) ? err_errno(err, errno, "%s", path) : INFER_OK;
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
	int rc = INFER_OK;

	infer_writer_free(o->json);
	infer_writer_free(o->file);
	if (o->fd >= 0 && close(o->fd))
		rc = err_errno(err, errno, "the records");
	return rc;
}
