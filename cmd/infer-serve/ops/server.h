/* infer-serve/ops/server.h - the state that all threads of the server share.
 *
 * Threads: one reads and writes connections (http/http.c), two workers read requests (ops/work.c), one
 * loads models (ops/loading.c), one steps their engines (ops/stepper.c, "the engine's thread"), one runs
 * batches (batch/batches.c), and the first waits for signals and checks deadlines (serve.c).
 *
 * `lock` is held for copying and for lists, never while something is computed or parsed, or written to a
 * socket that could block.
 *
 * Layers: ops/ includes no other folder; http/ and batch/ include ops/; endpoints/ includes all three;
 * main.c and serve.c include everything (scripts/check-layers). */
#ifndef INFER_SERVE_OPS_SERVER_H
#define INFER_SERVE_OPS_SERVER_H
#include <pthread.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/buf.h"
#include "base/sip.h"
#include "infer-serve/ops/access.h"
#include "infer-serve/ops/api_request.h"
#include "infer-serve/ops/kept.h"
#include "infer-serve/ops/keys.h"
#include "infer-serve/ops/metrics.h"
#include "infer-serve/ops/options.h"
#include "infer-serve/ops/served.h"
#include "infer-serve/ops/store.h"
#include "infer-serve/ops/work.h"

struct batches;
struct http;
struct http_request;

enum stop {
	STOP_NONE,
	STOP_WORK, /* workers, loader and batches thread end */
	STOP_ALL,  /* the engine's thread ends, too */
};
/* Owned by serve(), which initialises it before the threads start and frees it after they end.
 * Members above `lock` are constant in between, except as noted. */
struct server {
	const struct serve_opts *o;
	const struct opt *rows; /* options of the command line */
	infer_writer *writer;   /* used by the engine's thread only */
	struct buf scratch;     /* used by the engine's thread only */
	int64_t started;        /* start of the server, seconds since 1970 */
	struct sip_key secret;  /* key for names of requests and for cache salts */
	struct access access;   /* access log; has its own lock */
	int otlp_fd;            /* pipe to the process that sends spans; -1: none */
	pid_t otlp_pid;
	struct store store;      /* directory of --files-dir; any thread, without lock */
	struct batches *batches; /* state of batch/; its lists are guarded by lock */
	struct http *http;       /* state of http/; NULL before http_open and after http_close */

	pthread_mutex_t lock;
	/* the members below are guarded by lock */
	/* Mark requests whose clients left. now_ns: clock_now_ns(). Returns the time of the next call;
	 * INT64_MAX: none needed. Any thread that holds lock. NULL before http_open. */
	int64_t (*find_gone)(struct server *s, int64_t now_ns);
	struct http_request *http_requests; /* list of all HTTP requests; used by http/ */
	struct keys keys;
	struct fair_user *users; /* one for each key ever used; never removed */
	struct served *models;   /* in the order of the configuration; the first is the default */
	struct kept_index kept;  /* responses in the store */
	uint64_t memory;         /* limit for all models, bytes; not used without --config */
	struct buf folders;     /* readable folders of the configuration: texts that end with NUL */
	struct work_queue load; /* requests whose model is not loaded */
	pthread_cond_t changed; /* signalled when the state of a model has changed */
	int64_t ended_ns;       /* when the latest request ended, or the start */
	struct metrics metrics; /* counts requests that name no model */
	int64_t n_active;       /* requests and lines of batches that are not freed yet */
	int64_t n_admitted;     /* those of n_active that count against --max-queue */
	uint64_t n_named, spans_dropped;
	struct work_queue work; /* requests for a worker */
	/* new jobs for the engine's thread, linked by next */
	struct api_request *inbox, *inbox_last;
	pthread_cond_t engine_wake;
	int steps;            /* 1: the engine's thread runs */
	int cut;              /* 1: running requests end now, with an error */
	enum stop stop;       /* the threads that must end */
	int closing;          /* 1: all connections end */
	_Atomic int draining; /* 1: no new requests are accepted; any thread, without lock */
};
#endif
