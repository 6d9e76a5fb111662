/* common/append.h - write records to standard output, to a file, or to both. */
#ifndef COMMON_APPEND_H
#define COMMON_APPEND_H
#include <infer/record.h>

/* Confined to one thread. */
struct append {
	/* writer for standard output; NULL: none. The caller writes records to it. */
	infer_records *out;
	/* writer for the file; NULL: none. The caller writes the same records to it. */
	infer_records *file;
	int fd;
};
/* Open the outputs. print: 1 to write to standard output. path: the file, or NULL; damaged lines at its
 * end, left by an interrupted run, are removed. The caller calls append_close, on failure too.
 * INFER_EFORMAT  line 1 of the file is not a record
 * INFER_EIO INFER_ENOMEM */
int append_open(struct append *a, int print, const char *path, infer_error *err);
/* Write the buffered records to both outputs and sync the file, so that a power cut damages at most the
 * last record. INFER_EIO */
int append_send(struct append *a, infer_error *err);
/* Sync and close the file and free the writers. INFER_EIO: a full disk */
int append_close(struct append *a, infer_error *err);
#endif
