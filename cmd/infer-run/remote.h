/* infer-run/remote.h - an HTTP/1.1 client for one request whose answer is read line by line. */
#ifndef INFER_RUN_REMOTE_H
#define INFER_RUN_REMOTE_H
#include <infer/status.h>
#include "base/buf.h"

struct remote {
	const char *where; /* address of the server, for messages */
	int fd, status;    /* status: HTTP status of the answer */
	struct buf in;     /* bytes received; those before `at` are consumed */
	size_t at;
	enum { REMOTE_UNTIL_CLOSE, REMOTE_LENGTH, REMOTE_CHUNKS } framing;
	uint64_t left; /* unread bytes of the body, or of the current chunk */
	int in_chunk;  /* 1: the end of the current chunk has not been read */
	int over;      /* 1: the whole body was read */
};

/* Connect to http://HOST[:PORT][/PATH] or unix:PATH, send a POST of JSON to `path`, and read the head of the
 * answer into r->status. The caller calls remote_close, on failure too.
 * INFER_EINVAL  the address is malformed; INFER_EUNSUP  https
 * INFER_ENET    there is no server, or it does not speak HTTP/1.1; INFER_ENOMEM */
int remote_post(struct remote *r, const char *where, const char *path, const struct buf *body,
                infer_error *err);
/* Read a line of the body into *line, without its end. *over: 1 if the body has no more lines.
 * INFER_ENET  the connection was closed before the end; INFER_ENOMEM */
int remote_line(struct remote *r, struct buf *line, int *over, infer_error *err);
void remote_close(struct remote *r);
#endif
