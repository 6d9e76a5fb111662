/* infer-serve/http/upload.h - a form with a file, parsed while it arrives; the file is written to
 * --files-dir at once.  Confined to the thread that owns the request. */
#ifndef INFER_SERVE_HTTP_UPLOAD_H
#define INFER_SERVE_HTTP_UPLOAD_H
#include <stddef.h>
#include <stdint.h>
#include "infer-serve/http/form.h"
#include "infer-serve/ops/store.h"

struct MHD_Connection;
struct http_request;

enum { UPLOAD_FIELD = 512 };
enum upload_part { UPLOAD_OTHER, UPLOAD_PURPOSE, UPLOAD_FILE };
struct upload {
	struct store *store;
	struct form form;
	enum upload_part part;      /* the part that arrives */
	int fd;                     /* temporary file for the part "file"; -1: none */
	int files;                  /* number of parts named "file" */
	char temporary[STORE_NAME]; /* name of the file while it is written */
	int64_t bytes;              /* length of the file */
	char purpose[UPLOAD_FIELD], filename[UPLOAD_FIELD];
	int is_too_long; /* 1: a field has UPLOAD_FIELD bytes or more, or contains NUL */
	infer_error err; /* disk error; code 0: none */
};

/* Return the limit for the body of r, in bytes. */
uint64_t upload_most(const struct http_request *r);
/* Create r->upload if the head announces a form of `length` bytes (-1: unknown).  Returns why it is
 * refused, static, and sets *kind (enum infer_fault_kind); NULL: it is accepted. */
const char *upload_begin(struct http_request *r, struct MHD_Connection *c, int64_t length,
                         int *kind);
/* Parse the next bytes of the body. Errors are stored in *u. */
void upload_put(struct upload *u, const char *at, size_t n);
/* True if the body was a form, up to its last delimiter. */
int upload_is_whole(const struct upload *u);
/* Remove the temporary file, unless store_keep has renamed it, and free *u. */
void upload_free(struct upload **u);
#endif
