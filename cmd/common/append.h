/* common/append.h - records that are printed and appended to a file. */
#ifndef COMMON_APPEND_H
#define COMMON_APPEND_H
#include <infer/record.h>

/* Confined. */
struct append {
	infer_records *out, *file; /* NULL: not there; to be written to by the caller */
	int fd;
};
/* print: 1: to standard output too.  path: of the file, or NULL; what a stop has left at its end and
 * is no whole line goes.  On failure too *a is the caller's to append_close.
 * INFER_EFORMAT  the file has other text than records; INFER_EIO INFER_ENOMEM */
int append_open(struct append *a, int print, const char *path, infer_error *err);
/* What the writers hold goes out; the file is on the disk then, so that a power cut takes or
 * damages no more than the last record. */
int append_send(struct append *a, infer_error *err);
/* On failure too.  A full disk is an error. */
int append_close(struct append *a, infer_error *err);
#endif
