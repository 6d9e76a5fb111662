#include "bench.h"
#include "base/err.h"
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int out_open(struct out *o, const struct bench_opts *b, infer_error *err)
{
	*o = (struct out){ .fd = -1 };
	if (b->json)
		TRY(infer_writer_open(&o->json, STDOUT_FILENO, err));
	if (!b->record)
		return INFER_OK;
	o->fd = open(b->record, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (o->fd < 0)
		return err_errno(err, errno, "%s", b->record);
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
