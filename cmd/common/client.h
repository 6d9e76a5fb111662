/* common/client.h - an HTTP client: many requests in parallel from one thread.
 *
 * Uses libcurl, which client_open loads. Confined to one thread. */
#ifndef COMMON_CLIENT_H
#define COMMON_CLIENT_H
#include <stdint.h>
#include <infer/status.h>
#include "base/buf.h"

struct client_server {
	const char *url; /* http(s)://HOST[:PORT][/PATH], or unix:PATH; a final /v1 is dropped */
	const char *key_file; /* line 1 is the API key; NULL: no key is sent */
	double timeout_s;     /* limit for one request, seconds */
	const char *option;   /* name of the option for the URL, for messages; NULL: --url */
};
struct client;
/* Prepare requests to a server; no connection is made yet. The caller calls client_close, on failure too.
 * INFER_EINVAL  the URL is malformed; INFER_EUNSUP  there is no libcurl
 * INFER_EFORMAT  key_file has no key; INFER_EIO, INFER_ENOMEM */
int client_open(struct client **out, const struct client_server *s, infer_error *err);
void client_close(struct client *h);

/* Receives the bytes of an answer, in pieces. */
typedef void client_got_fn(void *user, const char *bytes, size_t n);
struct client_call {
	client_got_fn *got;
	void *user;     /* passed to `got` */
	void *easy;     /* libcurl's handle; reused for the next request, with its connection */
	int64_t status; /* HTTP status; 0: no answer */
	int ended;      /* 1: the answer is complete, or the request has failed */
	char why[128];  /* why the request failed; "": the answer is complete */
	struct client_call *next;
};
/* Begin a request: a POST of JSON, or a GET if body is NULL. The body is borrowed until c->ended.
 * INFER_EINVAL  libcurl refuses the request; INFER_ENOMEM */
int client_start(struct client *h, struct client_call *c, const char *path, const char *body,
                 size_t n, infer_error *err);
/* Send and receive until a call ends, data arrives, or clock_now_ns() reaches until_ns. *ended: the
 * list of calls that have ended, linked by `next`. INFER_ENET: libcurl failed */
int client_step(struct client *h, int64_t until_ns, struct client_call **ended, infer_error *err);
/* Return how many times client_step has waited for data. Bytes received with the same number were all there at the
 * time of the first. */
uint64_t client_waits(const struct client *h);
/* Cancel the call if it has not ended, and free its handle. */
void client_call_fini(struct client *h, struct client_call *c);

/* Send one request and wait for its answer: *status, and the body in `out`, with a final NUL.
 * INFER_ENET  no complete answer; INFER_ENOMEM */
int client_ask(struct client *h, const char *path, const char *body, int64_t *status,
               struct buf *out, infer_error *err);
#endif
