/* common/client.h - many HTTP requests at once from one thread, by libcurl, which is loaded when
 * it is asked for.  Confined. */
#ifndef COMMON_CLIENT_H
#define COMMON_CLIENT_H
#include <stdint.h>
#include <infer/status.h>
#include "base/buf.h"

struct client_server {
	const char *url; /* http(s)://HOST[:PORT][/PATH], or unix:PATH; a final /v1 is dropped */
	const char *key_file; /* of an API key; NULL: none is sent */
	double timeout_s;     /* of a request */
	const char *option;   /* that the address comes from; NULL: --url */
};
struct client;
/* INFER_EINVAL  no such address; INFER_EUNSUP  there is no libcurl; INFER_EIO, INFER_ENOMEM */
int client_open(struct client **out, const struct client_server *s, infer_error *err);
void client_close(struct client *h);

/* Bytes of a body, as they come. */
typedef void client_got_fn(void *user, const char *bytes, size_t n);
struct client_call {
	client_got_fn *got;
	void *user;
	void *easy; /* kept for the next call, with its connection */
	int64_t status;
	int ended;
	char why[128]; /* "": the whole answer came */
	struct client_call *next;
};
/* Begin a request: a POST of JSON, or a GET if body is NULL.  The body is borrowed until it has
 * ended. */
int client_start(struct client *h, struct client_call *c, const char *path, const char *body,
                 size_t n, infer_error *err);
/* Send and receive until the clock shows until_ns, or something came.  Calls that ended are in
 * *ended, by next. */
int client_step(struct client *h, int64_t until_ns, struct client_call **ended, infer_error *err);
void client_call_fini(struct client *h, struct client_call *c);

/* One request and its whole answer.  INFER_ENET */
int client_ask(struct client *h, const char *path, const char *body, int64_t *status,
               struct buf *out, infer_error *err);
#endif
