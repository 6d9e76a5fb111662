/* common/records.h - write whole records to a descriptor. */
#ifndef COMMON_RECORDS_H
#define COMMON_RECORDS_H
#include <stddef.h>
#include <infer/record.h>

/* Write the records in w, with one write(2) if the descriptor accepts that, and clear w. Waits if the
 * descriptor is non-blocking.
 * sent   out (may be NULL): bytes written, also on failure
 * INFER_EIO  write(2) failed */
int records_send(infer_records *w, int fd, size_t *sent, infer_error *err);
/* Return rc if it is an error, otherwise call records_send(w). Use it as records_put(infer_write_...(w),
 * w, fd, err). */
int records_put(int rc, infer_records *w, int fd, infer_error *err);
/* Sync the file to disk (fdatasync(2)); do nothing if fd cannot be synced. INFER_EIO */
int records_sync(int fd, infer_error *err);
#endif
