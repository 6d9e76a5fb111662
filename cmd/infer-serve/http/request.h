/* infer-serve/http/request.h - an HTTP request and its answer.
 *
 * A request belongs to the HTTP thread while its body arrives, then to the thread that its API request
 * belongs to (ops/api_request.h). Fields marked "lock" are guarded by the server's lock. */
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
	const char *method; /* string of libmicrohttpd, valid as long as the request */
	char *path, *origin,
		*remote; /* the client's address. All three are freed with mem_free; origin NULL: none */
	int is_head; /* 1: the method is HEAD */
	/* arguments of the query; NULL or 0: not given */
	char *after, *before, *purpose, *model, *order; /* freed with mem_free */
	int64_t limit;
	int demands_slot; /* 1: the query has fail_on_no_slot=1 */
	int streams;      /* 1: the query has stream=true */
};

/* The connection that the request arrived on. Guarded by the server's lock, except `closes`. */
struct http_link {
	struct MHD_Connection *connection; /* NULL: libmicrohttpd is done with the request */
	int fd;                            /* socket; -1: none */
	int64_t deadline_ns;               /* deadline of the body; 0: none */
	int64_t heard_ns;                  /* when bytes of the body last arrived */
	int is_suspended;                  /* 1: libmicrohttpd waits for http_wake */
	int is_raw;                        /* 1: answered without libmicrohttpd (answer_raw) */
	int closes;                        /* 1: the connection ends after the answer */
};

struct http_request {
	struct api_request api;           /* first member, because pointers are cast */
	struct http_request *prev, *next; /* lock: list of all requests */
	struct http_head head;
	struct http_link link;
	const struct endpoint *endpoint; /* NULL: none for this path and method */
	const char *rest; /* the part of head.path that the star of the endpoint's path matches */
	uint64_t body_bytes;
	struct upload *upload; /* body of a form, instead of api.body */
	/* error found before the body arrived; kind 0: none; param is NULL */
	struct infer_fault early;
	const char *allow; /* methods of the path, for the header Allow */
	int is_page;       /* 1: the answer is a file of the web page */
	int file; /* descriptor whose contents are the answer, instead of `out`; -1: none */

	/* the members below are guarded by the server's lock */
	int refs; /* references of the HTTP thread and of the thread that makes the answer */
	enum stage stage;
	int is_ended;
	int status;
	const char *type;     /* value of Content-Type; static */
	struct buf out;       /* the answer, or events that were not sent yet */
	size_t out_sent;      /* bytes of `out` that were sent */
	int64_t answer_bytes; /* bytes of the answer that were sent */
};

/* Create a request; NULL: no memory. */
struct http_request *http_request_new(struct server *s);
/* Release one reference.  Caller holds the lock. */
void http_request_drop(struct http_request *r);
/* Call the endpoint of r on a worker.  Then give r->api.gen.job to stepper_put; if the endpoint left
 * it NULL, r is answered, and may be freed here. */
void http_run_endpoint(struct http_request *r);
/* Complete the answer, whose body is r->out. type: Content-Type, static. Caller holds no lock. */
void http_answer(struct http_request *r, int status, const char *type);
extern const char http_json[]; /* Content-Type of JSON */
#endif
