/* infer-run/remote.h - one request over HTTP/1.1 to a server, whose answer is read as it comes. */
#ifndef INFER_RUN_REMOTE_H
#define INFER_RUN_REMOTE_H
#include <infer/status.h>
#include "base/buf.h"

struct remote {
	const char *where; /* for messages */
	int fd, status;
	struct buf in; /* bytes that came, from `at` on not yet read */
	size_t at;
	enum { REMOTE_UNTIL_CLOSE, REMOTE_LENGTH, REMOTE_CHUNKS } framing;
	uint64_t left; /* of the body, or of the chunk */
	int in_chunk, over;
};

/* Connect to http://HOST[:PORT][/PATH] or unix:PATH, send a POST of JSON to `path`, and read the head
 * of the answer: r->status.  On failure too *r is the caller's to remote_close.
 * INFER_EINVAL  no such address; INFER_EUNSUP  https
 * INFER_ENET    nobody is there, or what answers does not speak HTTP/1.1; INFER_ENOMEM */
int remote_post(struct remote *r, const char *where, const char *path, const struct buf *body,
                infer_error *err);
/* A line of the body into *line, without its end; *over: there is none any more.
 * INFER_ENET  the connection broke off */
int remote_line(struct remote *r, struct buf *line, int *over, infer_error *err);
void remote_close(struct remote *r);
#endif
