/* infer-bench/workload.h - the requests to a server, from a seed or a trace: times, lengths, prompts. */
#ifndef INFER_BENCH_WORKLOAD_H
#define INFER_BENCH_WORKLOAD_H
#include <stdint.h>
#include <infer/status.h>
#include "base/arena.h"
#include "base/buf.h"

enum dist_kind { DIST_FIXED, DIST_UNIFORM, DIST_NORMAL, DIST_LOGNORMAL, DIST_EXP };
/* A distribution of lengths in tokens. a, b: DIST_FIXED the length; DIST_UNIFORM minimum, maximum; DIST_NORMAL
 * mean, standard deviation; DIST_LOGNORMAL median, sigma; DIST_EXP mean. */
struct dist {
	enum dist_kind kind;
	double a, b;
};
/* Parse a distribution: "128", "64-512", "normal:200,40", "lognormal:100,1.1", "exp:100", "sharegpt",
 * "alpaca". option: name of the option, for messages; output: 1 for lengths of answers; "sharegpt" and
 * "alpaca" have other ones for prompts
 * INFER_EINVAL  the text is malformed */
int dist_take(struct dist *d, const char *text, const char *option, int output, infer_error *err);
/* Return length i of the random stream of a seed, between 1 and most. */
int32_t dist_draw(const struct dist *d, uint64_t seed, uint64_t i, int32_t most);

/* A request of a workload. */
struct planned {
	int64_t at_ns;  /* time from the start; open loops and traces only */
	int32_t tokens; /* length of the prompt */
	int32_t max_tokens;
	const char *text; /* prompt of a trace; NULL: random words */
	const int64_t
		*blocks; /* hash ids of a trace; equal leading ids: a shared prefix; NULL: none */
	int32_t n_blocks;
};
struct workload {
	struct planned *at;
	int64_t n;
	uint64_t seed;
	int32_t shared; /* length of the prefix that all prompts share, tokens */
	/* Tokens of a prompt = tokens_per_word * words + tokens_beside; measured on the server. */
	double tokens_per_word, tokens_beside;
	struct arena mem;
};
struct workload_ask {
	const char *prompt, *output, *trace; /* values of options; NULL: not given */
	const char *output_option;           /* the option that gave `output`, for messages */
	double rate;                         /* requests per second; 0: closed loop */
	int64_t requests, shared, seed;
	int requests_given;
};
/* Make a workload. The caller calls workload_fini, on failure too.
 * INFER_EINVAL  a malformed distribution; INFER_EFORMAT  a malformed trace; INFER_EIO INFER_ENOMEM */
int workload_make(struct workload *w, const struct workload_ask *o, infer_error *err);
void workload_fini(struct workload *w);
/* Append the prompt of request i. i = -1 - k: warm-up request k, which shares only the common prefix. */
void workload_prompt(const struct workload *w, int64_t i, struct buf *to);
/* Append n words of a random stream. */
void workload_words(uint64_t seed, uint64_t stream, int32_t n, struct buf *to);
#endif
