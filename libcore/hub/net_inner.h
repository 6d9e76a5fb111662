/* hub/net_inner.h (private) - HTTP requests, many at a time on one thread, and URLs. */
#ifndef HUB_NET_INNER_H
#define HUB_NET_INNER_H
#include "base/buf.h"
#include "base/curl.h"
#include "hub/net.h"

/* Limits.  HEADER_BYTES: total of the headers of all answers to a request, redirects included. */
enum {
	HUB_HEADER_BYTES = 64 << 10,
	HUB_REDIRECTS = 10,
	HUB_URL_BYTES = 16 << 10,
	HUB_CONNECTIONS = 8,
	HUB_FAILURES = 5 /* attempts in a row without progress */
};

/* Scheme, host and port of a URL.  The token is sent only to the origin of the endpoint. */
struct hub_origin {
	int tls, port;
	char host[256]; /* lower case */
};
/* Parse the origin of a URL.
 * INFER_ENET: not http(s)://HOST[:PORT][/...], or it names a user or has characters that a URL
 * cannot have */
int hub_origin_of(struct hub_origin *o, const char *url, infer_error *err);
int hub_origin_same(const struct hub_origin *a, const struct hub_origin *b);
/* Append the absolute form of `to`, which may be relative to base. */
void hub_url_join(struct buf *out, const char *base, const char *to);

struct hub_net {
	const struct infer_hub_opts *o;
	struct curl curl;
	void *multi;
	char *endpoint; /* base URL of the hub, without a final slash */
	struct hub_origin origin;
	struct hub_net_limits limits;
	int64_t waited_ns; /* total pause that the hub has demanded */
	int said_wait;
	enum hub_why why;
	struct buf next;
	unsigned refused, changed; /* successive downloads that ended so: EXPIRED, CHANGED */
	struct hub_http *first;    /* list of the requests in flight */
};

/* Called with the headers of the last answer, before its body.  Return 0 to go on; otherwise the
 * transfer ends and `stopped` is set. */
typedef int hub_head_fn(void *user);
/* Called with a part of the body of an answer with status 200 or 206.  Returns as hub_head_fn. */
typedef int hub_body_fn(void *user, const char *bytes, size_t n);

struct hub_http {
	/* set by the caller */
	int is_head;    /* 1: HEAD; 0: GET */
	int stays;      /* do not follow a redirect to another origin */
	char range[64]; /* "FROM-TO"; "": the whole file */
	char if_range[136];
	hub_head_fn *head;
	hub_body_fn *body;
	void *user;
	/* set from the answer */
	int ended, stopped, status,
		result; /* result: libcurl's; 0: the whole answer was received */
	int too_large;  /* headers above the limit */
	char why[160];  /* reason why there is no answer */
	int64_t length; /* Content-Length; -1: none */
	int64_t linked_bytes;
	char etag[128], linked_etag[128], commit[64], error_code[64], retry_after[64];
	char content_range[96], ratelimit[96];
	struct buf url, location, link; /* url: of the last request, after redirects */
	/* private */
	struct hub_net *net;
	void *easy, *fields;
	size_t header_bytes;
	int redirects, active, is_final, is_long;
	int64_t heard_ns;
	struct hub_http *next;
};
/* Begin the request.  h: zeroed except the members of the caller.  INFER_ENET; INFER_ENOMEM */
int hub_http_start(struct hub_http *h, struct hub_net *n, const char *url, infer_error *err);
/* Send and receive for at most ms milliseconds.  Sets `ended` of requests that end. */
int hub_http_step(struct hub_net *n, int ms, infer_error *err);
/* End the request and free its memory. */
void hub_http_fini(struct hub_http *h);
/* Drop the answer but keep the connection: the request can be started again. */
void hub_http_stop(struct hub_http *h);

/* True if *cancel is set. */
int hub_net_canceled(const struct hub_net *n);
/* Sleep.  INFER_ECANCEL: *cancel was set */
int hub_net_sleep(struct hub_net *n, int64_t ns, infer_error *err);
/* Return in *ns the pause before attempt `failures` + 1 after this answer.  INFER_ENET: the hub's
 * pauses exceed limits.wait_ns */
int hub_net_pause(int64_t *ns, struct hub_net *n, const struct hub_http *h, unsigned failures,
                  infer_error *err);
/* True if another attempt may succeed: no answer, 408, 429, 5xx. */
int hub_net_may_retry(const struct hub_http *h);
/* Set err for an answer, or a missing one, and n->why.  Returns the code. */
int hub_net_refusal(struct hub_net *n, const struct hub_http *h, infer_error *err);
#endif
