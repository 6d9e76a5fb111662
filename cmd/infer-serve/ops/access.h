/* infer-serve/ops/access.h - the access log: a JSON line for each request. */
#ifndef INFER_SERVE_OPS_ACCESS_H
#define INFER_SERVE_OPS_ACCESS_H
#include <pthread.h>
#include <stdint.h>
#include <infer/api.h>
#include "base/buf.h"

struct api_request;
struct server;

struct access {
	int is_on; /* 1: a log is written; immutable after access_open */
	int first; /* 1: no record was written yet; used by the HTTP thread only */
	pthread_mutex_t lock;
	/* guarded by lock */
	int fd;             /* descriptor; -1: no log */
	int failing, torn;  /* the last write failed; the file ends with a part of a line */
	uint64_t lost;      /* lines lost since writing began to fail */
	struct buf pending; /* lines that are not written yet */
};

/* Open the file of --access-log, if given. A new file can be read by its owner only. INFER_EIO */
int access_open(struct server *s, infer_error *err);
void access_close(struct server *s);
/* The HTTP fields of a record; borrowed. */
struct access_http {
	const char *remote, *method, *path;
	int status;
	uint64_t body_bytes;
	int64_t answer_bytes;
};
/* Append the record of a request that has ended.  Lines that cannot be written, because the disk is
 * full, are kept in memory up to a limit; a later call, or access_flush, writes them. */
void access_put(struct server *s, const struct api_request *r, const struct access_http *h);
void access_flush(struct server *s);
/* Open the file again by its name, after it may have been renamed. */
void access_reopen(struct server *s);
/* With --log-requests: write the request and its answer as JSON into r->note. */
void access_note(struct api_request *r, const struct infer_answer *a);
#endif
