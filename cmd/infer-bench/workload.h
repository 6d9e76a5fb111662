/* infer-bench/workload.h - what is asked of a server, made from a seed: lengths, times, prompts. */
#ifndef INFER_BENCH_WORKLOAD_H
#define INFER_BENCH_WORKLOAD_H
#include <stdint.h>
#include <infer/status.h>
#include "base/arena.h"
#include "base/buf.h"

enum dist_kind { DIST_FIXED, DIST_UNIFORM, DIST_NORMAL, DIST_LOGNORMAL, DIST_EXP };
/* Lengths in tokens.  FIXED: a.  UNIFORM: a to b.  NORMAL: mean, deviation.  LOGNORMAL: median, sigma.
 * EXP: mean. */
struct dist {
	enum dist_kind kind;
	double a, b;
};
/* "128", "64-512", "normal:200,40", "lognormal:100,1.1", "exp:100", "sharegpt", "alpaca".
 * output: 1: of answers, where a name means another distribution
 * INFER_EINVAL */
int dist_take(struct dist *d, const char *text, const char *option, int output, infer_error *err);
/* Value i of the stream of a seed, from 1 to most. */
int32_t dist_draw(const struct dist *d, uint64_t seed, uint64_t i, int32_t most);

/* A request, as it is planned. */
struct planned {
	int64_t at_ns;  /* from the start; open loops and traces only */
	int32_t tokens; /* of the prompt */
	int32_t max_tokens;
	const char *text;      /* of a trace; NULL: words */
	const int64_t *blocks; /* of a trace: equal numbers are equal beginnings; NULL: none */
	int32_t n_blocks;
};
struct workload {
	struct planned *at;
	int64_t n;
	uint64_t seed;
	int32_t shared; /* tokens that all prompts begin with */
	/* words for a number of tokens: measured at the server */
	double tokens_per_word, tokens_beside;
	struct arena mem;
};
struct workload_ask {
	const char *prompt, *output, *trace; /* NULL: the usual, none */
	double rate;                         /* requests per second; 0: closed loop */
	int64_t requests, shared, seed;
	int requests_given;
};
int workload_make(struct workload *w, const struct workload_ask *o, infer_error *err);
void workload_fini(struct workload *w);
/* The prompt of request i; -1 - k: of warming up, which shares the common beginning only. */
void workload_prompt(const struct workload *w, int64_t i, struct buf *to);
/* So many words of a stream. */
void workload_words(uint64_t seed, uint64_t stream, int32_t n, struct buf *to);
#endif
