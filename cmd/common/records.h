/* common/records.h - write whole records to a descriptor. */
#ifndef COMMON_RECORDS_H
#define COMMON_RECORDS_H
#include <stddef.h>
#include <infer/record.h>

/* Write all that w holds, in one write(2) if the descriptor accepts it, and clear w.  Waits if the
 * descriptor does not block.
 * sent   NULL, or out: the bytes written, even on failure
 * INFER_EIO  the descriptor refused them */
int records_send(infer_records *w, int fd, size_t *sent, infer_error *err);
/* Return rc if it is an error, else records_send: records_put(infer_write_...(w), w, fd, err). */
int records_put(int rc, infer_records *w, int fd, infer_error *err);
/* Sync to the disk (fdatasync(2)), if there is one.  INFER_EIO */
int records_sync(int fd, infer_error *err);
#endif
