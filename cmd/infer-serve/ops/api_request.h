/* infer-serve/ops/api_request.h - a request of the API, and the generation of its answer.
 *
 * An HTTP request (http/request.h) and a line of a batch (batch/line_run.h) each own one. Its owner reads
 * it and delivers the answer; ops/ finds the model and runs the job.
 *
 * A request belongs to one thread at a time: to a worker, to the loader, or to the thread that steps the
 * engines. Fields marked "lock" are guarded by the server's lock. */
#ifndef INFER_SERVE_OPS_API_REQUEST_H
#define INFER_SERVE_OPS_API_REQUEST_H
#include <stdint.h>
#include <infer/api.h>
#include <infer/job.h>
#include <infer/runner.h>
#include "base/buf.h"
#include "infer-serve/ops/fair.h"
#include "infer-serve/ops/keys.h"

struct api_request;
struct kept;
struct metrics;
struct served;
struct server;

/* The functions of the owner of a request, called while no lock is held. */
struct api_owner {
	/* Handle the request on a worker. Called again after its model was loaded (served_find). */
	void (*run)(struct api_request *r);
	/* Deliver the whole answer, JSON. text.at NULL: out of memory, answer with api_no_memory. */
	void (*answer)(struct api_request *r, int status, struct infer_str text);
	/* Deliver an error. */
	void (*fault)(struct api_request *r, const struct infer_fault *f);
	/* Deliver events of a stream; ended: no more follow. NULL if answers are never streamed. */
	void (*stream)(struct api_request *r, const struct buf *events, int ended);
	/* Release r: the thread that made the answer does not use it any more. */
	void (*done)(struct api_request *r);
};

/* Writes other events than those of the API format.  All functions append events to `to`. */
struct event_writer {
	/* Append the event of a token, or of the end of a sample. NULL: use the API format's event */
	int (*event)(struct event_writer *w, const struct infer_got *got, struct buf *to,
	             infer_error *err);
	/* Append the end of the whole answer. */
	int (*end)(struct event_writer *w, struct api_request *r, const struct infer_answer *a,
	           struct buf *to, infer_error *err);
	/* Append an error, after which nothing follows. */
	int (*fault)(struct event_writer *w, struct api_request *r, const struct infer_fault *f,
	             struct buf *to, infer_error *err);
	void (*free)(struct event_writer *w);
};

/* Whose API a path belongs to. */
enum api_style { STYLE_OPENAI, STYLE_ANTHROPIC, STYLE_OLLAMA };

/* Who sent a request. */
struct caller {
	char key[KEYS_NAME + 1];   /* name of the API key; empty: none, or an unknown one */
	char group[KEYS_NAME + 1]; /* name of the key's group; empty: no key */
	int is_operator;           /* 1: the key may see requests of other groups */
	struct fair_user *user;    /* user in server.users; guarded by the server's lock */
};

/* The header traceparent. */
struct trace {
	int is_given;
	int is_sampled;             /* 1: the trace is recorded */
	char id[33], parent_id[17]; /* ids of the trace and of the caller's span; hexadecimal */
};

/* The state of a request while its answer is generated, used by the thread that steps engines. */
struct generation {
	infer_job *job;                /* job that is not started yet; NULL: none */
	infer_task *task;              /* task that runs; NULL: none */
	struct fair_item turn;         /* entry in the queue of requests for the engine */
	struct api_request *next_over; /* list built by drop_over() */
	int64_t queued_ns, started_ns; /* when stepper_put got the job; when the engine got it */
	int64_t until_ns;              /* deadline of the answer; 0: none */
	_Atomic int is_late;           /* 1: ended because until_ns has passed */
	int streams;                   /* 1: the answer is a stream of events */
	int has_begun;                 /* 1: an event was delivered */
	struct infer_stream stream;
	struct event_writer *events; /* owned; NULL: events of the API format */
	struct kept *kept;           /* owned; NULL: the answer is not stored (ops/kept.h) */
	int64_t created;             /* seconds since 1970 */
	int64_t first_ns;            /* time of the first token; 0: none yet */
	/* time of the latest token of each sample; freed with mem_free */
	int64_t *token_ns;
	int64_t prompt_tokens, completion_tokens; /* sums over all samples; set at the end */
};

enum { API_ID = 128 };
struct api_request {
	struct server *server;
	const struct api_owner *owner;
	/* next in its queue, or in the list of running requests of its model */
	struct api_request *next;
	char name[24];       /* unique name; never chosen by the client */
	char id[API_ID + 1]; /* X-Request-Id; empty for a line of a batch */
	struct caller caller;
	struct trace trace;
	const infer_api *format; /* API format; NULL: the endpoint has none */
	enum api_style style;    /* whose API the path belongs to: the form of errors */
	int64_t began_ns;        /* when the head arrived, or the line was read */
	double timeout_s;        /* timeout in the head of the request; 0: none */
	struct buf body;
	struct generation gen;
	/* set by an endpoint that continues on the loader's thread: it answers r and calls api_done */
	void (*continues)(struct api_request *r);
	struct buf note; /* for the access log: JSON object */
	struct buf span; /* for the tracer: JSON array of attributes */

	/* the members below are guarded by the server's lock */
	struct served *model; /* its model, not unloaded before r ends; NULL: not known yet */
	int is_admitted;      /* 1: it counts against --max-queue */
	int is_gone;          /* 1: the client left, or the batch was cancelled */
	int retry_s;          /* for the header Retry-After; 0: 1 second */
};

/* Initialise r, which is zeroed, give it a name and count it as active. */
void api_request_init(struct api_request *r, struct server *s, const struct api_owner *owner);
/* Free what r holds, release its model and count it as ended.  Caller holds the lock. */
void api_request_fini(struct api_request *r);
/* Stop counting r as admitted. Caller holds the lock. */
void api_request_leave(struct api_request *r);
/* Return the metrics that count r: of its model, or of the server if it has none. Caller holds the
 * lock. */
struct metrics *api_metrics(struct api_request *r);

/* Call the function of r->owner. */
void api_fault(struct api_request *r, const struct infer_fault *f);
/* Deliver an error with this message. kind: enum infer_fault_kind; param: the field at fault, or NULL */
void api_refuse(struct api_request *r, int kind, const char *param, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
void api_done(struct api_request *r);
/* Append an error as JSON, in the error format of r's API. Sets to->bad if out of memory. */
void api_put_error(struct buf *to, const struct api_request *r, const struct infer_fault *f);
extern const char api_no_memory[]; /* JSON error: no memory for the answer */
#endif
