/* common/records.h - records to a descriptor, whole. */
#ifndef COMMON_RECORDS_H
#define COMMON_RECORDS_H
#include <stddef.h>
#include <infer/form.h>

/* Write all that w holds, one write(2) where the descriptor takes it at once, and clear w.  One
 * that does not block is waited for.
 * sent   NULL, or out: the bytes that went, on failure too
 * INFER_EIO  the descriptor refused it */
int records_send(infer_writer *w, int fd, size_t *sent, infer_error *err);
/* rc, and where that is INFER_OK the rest of records_send: records_put(infer_write_...(w), w, fd,
 * err). */
int records_put(int rc, infer_writer *w, int fd, infer_error *err);
/* To the disk (fdatasync(2)), where there is one.  INFER_EIO */
int records_sync(int fd, infer_error *err);
#endif
