/* infer-serve/ops/metrics.h - counters and histograms, and their text for Prometheus.  Guarded by the
 * server's lock. */
#ifndef INFER_SERVE_OPS_METRICS_H
#define INFER_SERVE_OPS_METRICS_H
#include <stdint.h>
#include <infer/engine.h>
#include <infer/job.h>
#include "base/buf.h"

/* In seconds, but those of tokens. */
enum metrics_histogram {
	METRICS_E2E,     /* from the request's head to the end of its answer */
	METRICS_TTFT,    /* to its first token */
	METRICS_INTER,   /* from one token of a sample to the next */
	METRICS_QUEUE,   /* until the engine begins with the prompt */
	METRICS_PREFILL, /* reading the prompt */
	METRICS_DECODE,  /* from the first token to the last */
	METRICS_PROMPT,  /* tokens */
	METRICS_GENERATION,
	METRICS_INFERENCE,  /* prefill and decode */
	METRICS_STEP,       /* tokens of a step of the engine */
	METRICS_CONSTRAINT, /* of a sample that has one: what may come next */
	METRICS_N,          /* samples that a request asks for */
	METRICS_MAX,        /* tokens that it allows */
	METRICS_HISTOGRAMS
};
enum { METRICS_BOUNDS = 16, METRICS_ENDPOINTS = 64, METRICS_STATUSES = 16, METRICS_FINISHES = 4 };
struct histogram {
	uint64_t count, bucket[METRICS_BOUNDS]; /* not cumulative */
	double sum;
};
struct metrics {
	struct histogram h[METRICS_HISTOGRAMS];
	/* of each endpoint; the last row: requests for no endpoint */
	uint64_t requests[METRICS_ENDPOINTS][METRICS_STATUSES];
	uint64_t prompt_tokens, cached_tokens, generation_tokens;
	uint64_t finished[METRICS_FINISHES]; /* by enum infer_finish */
};
/* The counters of all engines that a model has had. */
struct metrics_engine {
	uint64_t steps, preemptions, swaps, recomputes, swap_out_bytes, swap_in_bytes;
};
/* What is so now of a model. */
struct metrics_now {
	const struct metrics *of;
	const char *model;
	int64_t running, waiting;
	double kv_used, kv_idle; /* 0 ... 1: of sequences; prefixes for later */
	struct metrics_engine engines;
	uint64_t swap_bytes, bytes;
	int loaded;
};
struct metrics_process {
	uint64_t resident_bytes, spans_dropped;
	int64_t started;                /* seconds since 1970 */
	const char *(*endpoint)(int i); /* the label of an endpoint */
};

void metrics_observe(struct metrics *m, enum metrics_histogram h, double value);
void metrics_request(struct metrics *m, int endpoint, int status);
/* A sample that ended; first: of its request, whose prompt counts once. */
void metrics_job(struct metrics *m, const infer_job *j); /* once for a request */
void metrics_sample(struct metrics *m, const struct infer_usage *u, int finish, int first);
void metrics_engine_add(struct metrics_engine *m, const struct infer_engine_stats *s);
/* now: of n models, and behind them one for requests that were for none of them */
void metrics_put(struct buf *to, const struct metrics_now *now, int n,
                 const struct metrics_process *p);
#endif
