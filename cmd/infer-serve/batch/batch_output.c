/* infer-serve/batch/batch_output.c - append answers of a batch to a file. */
#include "infer-serve/batch/batch_output.h"
#include "infer-serve/batch/batch_lines.h"
#include "base/err.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

void batch_output_init(struct batch_output *o)
{
	*o = (struct batch_output){ .fd = -1 };
	buf_init(&o->lines, MEM_BASE);
}

void batch_output_fini(struct batch_output *o)
{
	if (o->fd >= 0)
		close(o->fd);
	buf_fini(&o->lines);
	o->fd = -1;
}

int batch_output_open(struct batch_output *o, const struct store *s, const char *name,
                      infer_error *err)
{
	if (o->fd < 0)
		o->fd = store_append(s, name, err);
	return o->fd < 0 ? err->code : INFER_OK;
}

int batch_output_read(struct batch_output *o, struct seen *ids, int64_t *n, infer_error *err)
{
	TRY(batch_answered(ids, n, o->fd, err));
	o->synced = lseek(o->fd, 0, SEEK_END);
	return o->synced < 0 ? store_fault("the answers", err) : INFER_OK;
}

int batch_output_put(struct batch_output *o, const struct buf *line, infer_error *err)
{
	size_t was = o->lines.len;

	if (!line->bad)
		buf_put(&o->lines, line->at, line->len);
	if (!line->bad && !o->lines.bad)
		return INFER_OK;
	o->lines.len = was;
	o->lines.bad = 0;
	return err_set(err, INFER_ENOMEM, "out of memory for an answer");
}

int batch_output_write(struct batch_output *o, infer_error *err)
{
	while (o->written < o->lines.len) {
		ssize_t n = write(o->fd, o->lines.at + o->written, o->lines.len - o->written);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return store_fault("the answers", err);
		o->written += (size_t)n;
	}
	return INFER_OK;
}

void batch_output_cut(struct batch_output *o)
{
	while (o->written && o->lines.at[o->written - 1] != '\n')
		o->written--;
	o->lines.len = o->written;
	if (o->fd >= 0 && ftruncate(o->fd, (off_t)(o->synced + (int64_t)o->written)))
		o->written = 0; /* the disk failed, and the error was reported */
}

int batch_output_sync(struct batch_output *o, infer_error *err)
{
	TRY(batch_output_write(o, err));
	if (!o->written)
		return INFER_OK;
	if (fdatasync(o->fd)) {
		int rc = store_fault("the answers", err);

		/* it is unknown which bytes reached the disk: write all of them again */
		if (ftruncate(o->fd, (off_t)o->synced))
			return err_set(err, INFER_EIO, "cannot truncate a file: %s",
			               strerror(errno));
		o->written = 0;
		return rc;
	}
	o->synced += (int64_t)o->written;
	o->written = 0;
	buf_clear(&o->lines);
	return INFER_OK;
}
