/* infer-serve/ops/server.h - the state that all threads of the server share.
 *
 * Threads: one reads and writes connections (http/http.c), two workers read requests (ops/work.c),
 * one loads models (ops/loading.c), one steps their engines (ops/stepper.c), one runs batches
 * (batch/batches.c), and the first waits for signals and checks deadlines (serve.c).
 *
 * `lock` is held for copying and for lists, never while something is computed or parsed, or written
 * to a socket that could block.
 *
 * Rooms: ops/ includes no other room; http/ and batch/ include ops/; endpoints/ includes all three;
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
	STOP_WORK, /* workers, loader and batches end */
	STOP_ALL,  /* the thread that steps engines, too */
};
/* Owned by serve(), which initialises it before the threads start and frees it after they end.
 * Members above `lock` are constant in between, except as noted. */
struct server {
	const struct serve_opts *o;
	const struct opt *rows; /* of the command line */
	infer_writer *writer;   /* used by the engine's thread only */
	struct buf scratch;     /* used by the engine's thread only */
	int64_t started;        /* seconds since 1970 */
	struct sip_key secret;  /* of names and salts */
	struct access access;   /* log; has a lock of its own */
	int otlp_fd;            /* a pipe; -1: no spans */
	pid_t otlp_pid;
	struct store store;      /* of --files-dir; shared */
	struct batches *batches; /* of batch/; its lists are guarded by lock */
	struct http *http;       /* of http/; set by http_open; NULL before, and after http_close */

	pthread_mutex_t lock;
	/* guarded by lock */
	/* Mark requests whose clients left.  Any thread that holds lock.  now_ns: clock_now_ns.
	 * Returns the time of the next call on that clock; INT64_MAX: not needed.  NULL: there are
	 * no clients yet. */
	int64_t (*find_gone)(struct server *s, int64_t now_ns);
	struct http_request *http_requests; /* list of http/ */
	struct keys keys;
	struct fair_user *users; /* one for each key ever used; never removed */
	struct served *models;   /* in the order of the configuration; the first is the default */
	uint64_t memory;         /* bytes that models may take; without --config: no limit */
	struct buf folders;     /* readable folders of the configuration: texts that end with NUL */
	struct work_queue load; /* requests whose model is not loaded */
	pthread_cond_t changed; /* the state of a model changed */
	int64_t ended_ns;       /* when the latest request ended, or the start */
	struct metrics metrics; /* of requests that name no model */
	int64_t n_active;       /* requests and lines of batches that are not freed yet */
	int64_t n_admitted;     /* of them those that count against --max-queue */
	uint64_t n_named, spans_dropped;
	struct work_queue work;                 /* requests for a worker */
	struct api_request *inbox, *inbox_last; /* of the engine's thread, by next */
	pthread_cond_t engine_wake;
	int steps;            /* 1: the engine's thread runs */
	int cut;              /* requests that run end now, with an error */
	enum stop stop;       /* threads end */
	int closing;          /* connections end */
	_Atomic int draining; /* 1: no new requests are accepted; any thread, without lock */
};
#endif
