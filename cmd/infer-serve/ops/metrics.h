/* infer-serve/ops/metrics.h - counters and histograms, and their text for Prometheus.  Guarded by
 * the server's lock. */
#ifndef INFER_SERVE_OPS_METRICS_H
#define INFER_SERVE_OPS_METRICS_H
#include <stdint.h>
#include <infer/engine.h>
#include <infer/job.h>
#include "base/buf.h"

/* Histograms, of seconds unless the comment says tokens or samples. */
enum metrics_histogram {
	METRICS_E2E,        /* from the request's head to the end of its answer */
	METRICS_TTFT,       /* from the request's head to the first token */
	METRICS_INTER,      /* from one token of a sample to the next */
	METRICS_QUEUE,      /* from the request's head until the engine begins with the prompt */
	METRICS_PREFILL,    /* computing the prompt */
	METRICS_DECODE,     /* from the first token to the last */
	METRICS_PROMPT,     /* tokens of the prompt */
	METRICS_GENERATION, /* tokens of the answer */
	METRICS_INFERENCE,  /* prefill and decode together */
	METRICS_STEP,       /* tokens of a step of the engine */
	METRICS_CONSTRAINT, /* computing the allowed tokens of a constrained sample */
	METRICS_N,          /* samples that a request asks for */
	METRICS_MAX,        /* max_tokens of a request */
	METRICS_HISTOGRAMS
};
enum { METRICS_BOUNDS = 16, METRICS_ENDPOINTS = 192, METRICS_STATUSES = 16, METRICS_FINISHES = 4 };
struct histogram {
	/* bucket[i]: values above bound i - 1 up to bound i */
	uint64_t count, bucket[METRICS_BOUNDS];
	double sum;
};
struct metrics {
	struct histogram h[METRICS_HISTOGRAMS];
	/* HTTP requests of each endpoint by status; the last row: no such endpoint */
	uint64_t requests[METRICS_ENDPOINTS][METRICS_STATUSES];
	uint64_t prompt_tokens, cached_tokens, generation_tokens;
	uint64_t finished[METRICS_FINISHES]; /* ended samples, by enum infer_finish */
};
/* The sums of the counters of all engines that a model has had. */
struct metrics_engine {
	uint64_t steps, preemptions, swaps, recomputes, swap_out_bytes, swap_in_bytes;
};
/* The present state of a model. */
struct metrics_now {
	const struct metrics *of;
	const char *model;
	int64_t running, waiting;
	/* fractions of the cache, 0 ... 1: used by sequences; cached prefixes only */
	double kv_used, kv_idle;
	struct metrics_engine engines;
	uint64_t swap_bytes, bytes;
	int loaded;
};
struct metrics_process {
	uint64_t resident_bytes, spans_dropped;
	int64_t started;                /* start of the process, seconds since 1970 */
	const char *(*endpoint)(int i); /* returns the label of endpoint i */
};

/* Add a value to a histogram. */
void metrics_observe(struct metrics *m, enum metrics_histogram h, double value);
/* Count an HTTP request.  endpoint: index in the table; -1: none */
void metrics_request(struct metrics *m, int endpoint, int status);
/* Record the numbers of samples and tokens that a job asks for. */
void metrics_job(struct metrics *m, const infer_job *j);
/* Count a sample that has ended. first: 1 for one sample per prompt, so that prompts are counted once. */
void metrics_sample(struct metrics *m, const struct infer_usage *u, int finish, int first);
/* Add the counters of an engine. */
void metrics_engine_add(struct metrics_engine *m, const struct infer_engine_stats *s);
/* Append the text of all metrics.  now: n models, then one entry for requests that name no model */
void metrics_put(struct buf *to, const struct metrics_now *now, int n,
                 const struct metrics_process *p);
#endif
