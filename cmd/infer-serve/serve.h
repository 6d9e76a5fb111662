/* infer-serve/serve.h - what the files of infer-serve share.
 *
 * Threads.  One reads and writes connections (http.c), two workers read requests (work.c), one
 * loads models (loading.c), one steps their engines (stepper.c), and the first waits for signals and
 * checks deadlines (serve.c).
 *
 * An exchange is a request and its answer.  While its body arrives it belongs to the HTTP thread,
 * then to a worker, then, if it generates, to the engine's thread; `lock` guards the fields that
 * several of them use.  It is held for copying and for lists, never while anything is computed,
 * parsed, or written to a socket that could block. */
#ifndef INFER_SERVE_SERVE_H
#define INFER_SERVE_SERVE_H
#include <pthread.h>
#include <stdint.h>
#include <infer/api.h>
#include <infer/job.h>
#include <infer/runner.h>
#include "base/buf.h"
#include "base/sip.h"
#include "infer-serve/ops/access.h"
#include "infer-serve/batch/batches.h"
#include "infer-serve/ops/fair.h"
#include "infer-serve/ops/keys.h"
#include "infer-serve/ops/metrics.h"
#include "infer-serve/ops/options.h"
#include "infer-serve/http/origin.h"
#include "infer-serve/http/route.h"
#include "infer-serve/ops/served.h"
#include "infer-serve/batch/store.h"

struct MHD_Connection;
struct handoff;
struct http;

enum stage {
	STAGE_BODY,   /* the body arrives */
	STAGE_WORK,   /* the answer is being made */
	STAGE_ANSWER, /* the whole answer is in `out` */
	STAGE_STREAM, /* events are added to `out` until `ended` */
};
enum { EXCHANGE_ID = 128 };
struct exchange {
	struct server *server;
	struct exchange *prev, *next; /* under lock: of all */
	const struct endpoint *endpoint;
	const char *rest; /* of the path, where the endpoint's ends with a star; in `path` */
	char id[EXCHANGE_ID + 1];     /* X-Request-Id */
	char name[24];                /* of the job: never the client's */
	char *path, *origin, *remote; /* mem_free; origin NULL: none was sent */
	char key[KEYS_NAME + 1];      /* name of its API key; empty: none, or one that is unknown */
	char owner[KEYS_NAME + 1];    /* name of the group of that key; empty: no key */
	int is_operator;              /* that key may read what concerns other groups */
	const char *method;
	int head, anthropic;         /* HEAD; errors have Anthropic's form */
	int has_trace, demands_slot; /* ?fail_on_no_slot=1 */
	double timeout_s;            /* of the head; 0: none */
	char trace[33], parent[17];  /* the ids of the trace and the span that came in */
	int sampled;                 /* and whether that trace is recorded */
	struct buf body;
	uint64_t body_bytes;
	struct upload *upload;                 /* of a form, in the place of the body */
	struct query {                         /* NULL, 0: not given */
		char *after, *purpose, *model; /* mem_free */
		int64_t limit;
	} query;
	const infer_api *form; /* of a line of a batch */
	int file;              /* its contents are sent instead of `out`; -1: none */
	int is_line, is_page;  /* is_line: of a batch, without a connection; `path` is its id */
	int64_t began_ns;
	struct infer_fault early; /* known from the head alone; param NULL */
	const char *allow;        /* of a 405 */
	int closes;               /* its connection ends after the answer */

	/* under lock */
	struct MHD_Connection *connection; /* NULL: the HTTP side is done with it */
	int fd;
	int64_t deadline_ns; /* for the body; 0: none */
	int64_t heard_ns;    /* when bytes of it arrived */
	enum stage stage;
	struct fair_user *user; /* whose key it has */
	struct served *model;   /* that it is for; NULL: none, or not known yet */
	int suspended, gone, ended, admitted, retry_s;
	int is_raw; /* answered without libmicrohttpd */
	int refs;   /* the HTTP side, and the thread that makes the answer */
	int status;
	const char *type;
	int64_t sent;    /* bytes, of all */
	size_t out_sent; /* of `out` */
	struct buf out;  /* an answer, or events that were not sent */

	/* of the engine's thread, and read when the exchange is over */
	struct exchange *next_job; /* of the inbox, under lock; then of those that run */
	struct exchange *next_gone;
	struct fair_item turn;
	int64_t put_ns, started_ns; /* handed to the engine's thread, and to the engine */
	int64_t until_ns;           /* it is given up then; 0: never */
	_Atomic int late;           /* it was */
	infer_job *job;
	infer_task *task;
	int streams, begun; /* begun: an event went out */
	struct infer_stream stream;
	int64_t created;             /* seconds since 1970 */
	int64_t first_ns, *token_ns; /* of the first token; of the last one of each sample */
	int64_t prompt_tokens, completion_tokens;
	struct handoff *handoff; /* of infer-run, or NULL (handoff.h) */
	struct buf note;         /* of the access log: what was asked and answered */
	struct buf span;         /* the same for --otlp: an array of attributes */
};

struct work_queue {
	pthread_cond_t some;
	struct exchange *first, *last; /* by next_job */
};

enum stop { STOP_NONE, STOP_WORK, STOP_ALL };
struct server {
	const struct serve_opts *o;
	const struct opt *rows; /* of the command line */
	infer_writer *writer;   /* of the engine's thread */
	struct buf scratch;     /* of the engine's thread */
	int64_t started;        /* seconds since 1970 */
	struct sip_key secret;  /* of names and salts */
	struct http *http;
	struct buf cert, key; /* of HTTPS, in PEM; empty: HTTP */
	struct access access; /* log */
	int otlp_fd;          /* a pipe, -1: no spans */
	pid_t otlp_pid;

	pthread_mutex_t lock;
	struct origin origin;
	struct keys keys;
	struct store store; /* of --files-dir */
	struct batches batches;
	struct fair_user *users; /* added to, never removed: there is one for each key ever used */
	struct served *models;   /* in the order of the configuration; the first is the usual one */
	uint64_t memory;         /* that models may take; without --config, whatever there is */
	struct buf folders;      /* texts, each with its end: others that the configuration names */
	struct work_queue load;  /* requests whose model is not loaded */
	pthread_cond_t changed;  /* a model left */
	int64_t ended_ns;        /* when the last exchange ended, or the start */
	struct metrics metrics;  /* of requests that name no model */
	struct exchange *exchanges;
	int64_t n_exchanges, n_admitted; /* admitted: to workers and the engine */
	uint64_t n_named, spans_dropped;
	struct work_queue work;
	struct exchange *inbox, *inbox_last; /* of the engine's thread, by next_job */
	pthread_cond_t engine_wake;
	int steps;            /* the engine's thread runs */
	int cut;              /* those that run end now */
	enum stop stop;       /* threads end */
	int closing;          /* connections end */
	_Atomic int draining; /* no new requests */
};

/* serve.c */
int serve(const struct serve_opts *o, const struct opt *rows);

/* work.c: the threads that call endpoints */
enum { WORKERS = 2 };
void *work_thread(void *server);
/* Under lock.  work_take waits for the next; NULL: the server ends. */
void work_put(struct server *s, struct exchange *x);
void work_add(struct work_queue *q, struct exchange *x);
struct exchange *work_take(struct server *s, struct work_queue *q);

/* stepper.c: the thread that steps the engine.  stepper_put: x->job is to be run; takes the worker's
 * reference.  Under no lock. */
void *stepper_thread(void *server);
void stepper_put(struct server *s, struct exchange *x);

/* exchange.c */
struct exchange *exchange_new(struct server *s); /* NULL: no memory */
void exchange_drop(struct exchange *x);          /* under lock: one reference */
/* under lock: what it counts in */
struct metrics *exchange_metrics(struct exchange *x);
/* The thread that made the answer is done with it.  Under no lock. */
void exchange_done(struct exchange *x);
/* The answer is in x->out: hand it to the HTTP side.  exchange_fault writes it.  Under no lock. */
void exchange_answer(struct exchange *x, int status, const char *type);
void exchange_fault(struct exchange *x, const struct infer_fault *f);
void exchange_refuse(struct exchange *x, int kind, const char *param, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* Write the error of a fault to `out`. */
void exchange_error(struct buf *out, const struct exchange *x, const struct infer_fault *f);
/* Add events to a stream, the first of which begins it; ended: no more follow.  Under no lock. */
void exchange_stream(struct exchange *x, const struct buf *events, int ended);
/* ep_generate.c: read the body in the wire form of the endpoint; the caller's to infer_job_free.
 * NULL: it was answered why not, and x is done. */
infer_job *exchange_job(struct exchange *x);
extern const char exchange_json[];

/* slots.c: under lock.  A sample begins, or has a token; all of x ended. */
void slots_take(const struct exchange *x, int32_t index, int32_t tokens);
void slots_leave(const struct exchange *x);

/* chatml.c: a template where the model has none, and none was given */
int chatml_open(infer_chat **chat, const infer_tokenizer *t, infer_error *err);
#endif
