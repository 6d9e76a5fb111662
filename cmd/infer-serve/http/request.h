/* infer-serve/http/request.h - an HTTP request and its answer.
 *
 * While the body arrives a request belongs to the HTTP thread; then to whom its API request belongs
 * (ops/api_request.h).  Fields marked "lock" are guarded by the server's lock. */
#ifndef INFER_SERVE_HTTP_REQUEST_H
#define INFER_SERVE_HTTP_REQUEST_H
#include "infer-serve/http/route.h"
#include "infer-serve/ops/server.h"

struct MHD_Connection;
struct upload;

enum stage {
	STAGE_BODY,   /* the body arrives */
	STAGE_WORK,   /* the answer is being made */
	STAGE_ANSWER, /* the whole answer is in `out` */
	STAGE_STREAM, /* events are added to `out` until is_ended */
};

/* The head of the request. */
struct http_head {
	const char *method; /* libmicrohttpd's, valid as long as the request */
	char *path, *origin,
		*remote; /* mem_free; origin NULL: none.  remote: the client's address */
	int is_head;     /* the method is HEAD */
	/* arguments of the query; NULL, 0: not given */
	char *after, *purpose, *model; /* mem_free */
	int64_t limit;
	int demands_slot; /* fail_on_no_slot=1 */
};

/* The connection that the request arrived on.  lock, except closes. */
struct http_link {
	struct MHD_Connection *connection; /* NULL: libmicrohttpd is done with the request */
	int fd;                            /* -1: none */
	int64_t deadline_ns;               /* for the body; 0: none */
	int64_t heard_ns;                  /* when bytes of the body arrived */
	int is_suspended;                  /* until there is something to send */
	int is_raw;                        /* answered without libmicrohttpd (answer_raw) */
	int closes;                        /* the connection ends after the answer */
};

struct http_request {
	struct api_request api;           /* first: it is cast */
	struct http_request *prev, *next; /* lock: of all */
	struct http_head head;
	struct http_link link;
	const struct endpoint *endpoint; /* NULL: none for this path and method */
	const char *rest; /* in head.path: what the star of the endpoint's path stands for */
	uint64_t body_bytes;
	struct upload *upload;    /* of a form, instead of api.body */
	struct infer_fault early; /* known before the body has arrived; kind 0: none; param NULL */
	const char *allow;        /* methods of the path, for Allow */
	int is_page;              /* the answer is a file of the page */
	int file; /* descriptor whose contents are the answer, instead of `out`; -1: none */

	/* lock */
	int refs; /* the HTTP thread, and the thread that makes the answer */
	enum stage stage;
	int is_ended;
	int status;
	const char *type;     /* Content-Type; static */
	struct buf out;       /* the answer, or events that were not sent yet */
	size_t out_sent;      /* bytes of `out` */
	int64_t answer_bytes; /* sent, of the whole answer */
};

/* NULL: no memory */
struct http_request *http_request_new(struct server *s);
/* Release one reference.  Caller holds the lock. */
void http_request_drop(struct http_request *r);
/* Call the endpoint of r on a worker.  Then give r->api.gen.job to stepper_put; if the endpoint left
 * it NULL, r is answered, and may be freed here. */
void http_run_endpoint(struct http_request *r);
/* Answer with what is in r->out.  type: Content-Type, static.  Under no lock. */
void http_answer(struct http_request *r, int status, const char *type);
extern const char http_json[]; /* Content-Type */
#endif
