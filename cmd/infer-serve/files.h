/* infer-serve/files.h - OpenAI's files: their objects, and uploads while they arrive. */
#ifndef INFER_SERVE_FILES_H
#define INFER_SERVE_FILES_H
#include "infer-serve/store.h"

#define FILES_PREFIX "file-"
struct MHD_Connection;
struct MHD_Response;
struct exchange;

/* Write what is said of the file `name` (NAME.json). */
int files_describe(struct store *s, const char *name, int64_t bytes, const char *filename,
                   const char *purpose, infer_error *err);
int files_said(const struct store *s, const char *name, struct buf *to, infer_error *err);
/* 1: the contents of such a file are there. */
int files_has(const struct store *s, const char *name);

/* The contents of x->file as an answer; NULL: no memory. */
struct MHD_Response *files_response(struct exchange *x);
/* Take limit, after and purpose from the path's end. */
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
