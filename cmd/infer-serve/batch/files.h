/* infer-serve/batch/files.h - OpenAI's files: their objects, and uploads while they arrive.
 *
 * A file belongs to the key that it came with; for other keys it is not there.  Files that came
 * without one belong to requests without one. */
#ifndef INFER_SERVE_BATCH_FILES_H
#define INFER_SERVE_BATCH_FILES_H
#include "infer-serve/batch/store.h"

#define FILES_PREFIX "file-"
struct MHD_Connection;
struct MHD_Response;
struct exchange;

/* Write what is said of the file `name` (NAME.json). */
int files_describe(struct store *s, const char *name, const char *owner, int64_t bytes,
                   const char *filename, const char *purpose, infer_error *err);
/* What is said of a file of this owner, as clients see it.
 * INFER_EIO  there is none, or it is another's */
int files_said(const struct store *s, const char *name, const char *owner, struct buf *to,
               infer_error *err);
/* 1: there is such a file, and it belongs to the key of x. */
int files_of(const struct exchange *x, const char *name);

/* The contents of x->file as an answer; NULL: no memory. */
struct MHD_Response *files_response(struct exchange *x);
/* Take limit, after, purpose, model and fail_on_no_slot from the path's end. */
void query_take(struct exchange *x, struct MHD_Connection *c);

/* The most bytes of the body of x. */
uint64_t upload_most(const struct exchange *x);
struct upload;
/* Begin one where the head of a request says that one follows, of `length` bytes, -1: unknown.  Why
 * it is refused, with its enum infer_fault_kind; NULL: it is not. */
const char *upload_refused(struct exchange *x, struct MHD_Connection *c, int64_t length, int *kind);
/* Take a piece of the body, which is a form.  Its part `file` is written to the disk as it arrives. */
int upload_put(struct upload *u, const char *at, size_t n); /* 1 */
void upload_free(struct upload **u);
#endif
