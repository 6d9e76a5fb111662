/* infer-bench/http.h - many HTTP requests at once from one thread, by libcurl, which is loaded when
 * it is asked for.  Confined. */
#ifndef INFER_BENCH_HTTP_H
#define INFER_BENCH_HTTP_H
#include <stdint.h>
#include <infer/status.h>
#include "base/buf.h"

struct http_server {
	const char *url; /* http(s)://HOST[:PORT][/PATH], or unix:PATH; a final /v1 is dropped */
	const char *key_file; /* of an API key; NULL: none is sent */
	double timeout_s;     /* of a request */
};
struct http;
/* INFER_EINVAL  no such address; INFER_EUNSUP  there is no libcurl; INFER_EIO, INFER_ENOMEM */
int http_open(struct http **out, const struct http_server *s, infer_error *err);
void http_close(struct http *h);

/* Bytes of a body, as they come. */
typedef void http_got_fn(void *user, const char *bytes, size_t n);
struct http_call {
	http_got_fn *got;
	void *user;
	void *easy; /* kept for the next call, with its connection */
	int64_t status;
	int ended;
	char why[128]; /* "": the whole answer came */
	struct http_call *next;
};
/* Begin a request: a POST of JSON, or a GET if body is NULL.  The body is borrowed until it has
 * ended. */
int http_start(struct http *h, struct http_call *c, const char *path, const char *body, size_t n,
               infer_error *err);
/* Send and receive until the clock shows until_ns, or something came.  Calls that ended are in
 * *ended, by next. */
int http_step(struct http *h, int64_t until_ns, struct http_call **ended, infer_error *err);
void http_call_fini(struct http *h, struct http_call *c);

/* One request and its whole answer.  INFER_ENET */
int http_ask(struct http *h, const char *path, const char *body, int64_t *status, struct buf *out,
             infer_error *err);
#endif
