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
	int is_on; /* there is a log; immutable once it is open */
	int first; /* the next record is the first; of the HTTP thread */
	pthread_mutex_t lock;
	/* under lock */
	int fd;             /* -1: no log */
	int failing, torn;  /* the last write failed; a part of a line was written */
	uint64_t lost;      /* lines, since it is failing */
	struct buf pending; /* lines to be written */
};

/* Open the file of --access-log.  A new one can be read by its owner only.
 * INFER_EIO */
int access_open(struct server *s, infer_error *err);
void access_close(struct server *s);
/* What the access log says of an HTTP request; borrowed. */
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
/* Open the file by its name again, after it was renamed. */
void access_reopen(struct server *s);
/* With --log-requests: keep for the record what was asked and answered. */
void access_note(struct api_request *r, const struct infer_answer *a);
#endif
