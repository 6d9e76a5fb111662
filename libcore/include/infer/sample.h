/* infer/sample.h - turn one row of logits into one token.   floor: sample
 *
 * A sampler is a chain of stages that remove or reweight candidates, followed by one draw.  It
 * belongs to one sequence.  Confined.  The same seed, logits and history give the same tokens on
 * every machine, because libm is not used. */
#ifndef INFER_SAMPLE_H
#define INFER_SAMPLE_H
#include <stddef.h>
#include <stdint.h>
#include <infer/status.h>
#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

typedef struct infer_sampler infer_sampler;

/* Stages, in the default order. */
enum infer_stage {
	INFER_STAGE_END,
	INFER_STAGE_PENALTIES,
	INFER_STAGE_DRY,
	INFER_STAGE_TOP_N_SIGMA,
	INFER_STAGE_TOP_K,
	INFER_STAGE_TYPICAL,
	INFER_STAGE_TOP_P,
	INFER_STAGE_MIN_P,
	INFER_STAGE_XTC,
	INFER_STAGE_TEMP,
	INFER_STAGE_COUNT
};
/* Return the name: "penalties" "dry" "top_n_sigma" "top_k" "typ_p" "top_p" "min_p" "xtc"
 * "temperature"; NULL for other values.  Static.  Any thread. */
const char *infer_stage_name(int stage);
/* Return the stage of a name: those above, with - or _, or "temp" "typical" "typical_p";
 * INFER_STAGE_END if there is none.  Any thread. */
int infer_stage_named(const char *name, size_t n);

/* bias: added to the token's logit before all stages; -inf: never drawn */
struct infer_logit_bias {
	int32_t token;
	float bias;
};

/* First the numbers, then the other options.  A 0 not set by infer_sample_set means the
 * default of that number, which turns its stage off.  {0} is greedy decoding.  Ranges and
 * defaults: the table of infer/param.h. */
struct infer_sample_opts {
	float temp; /* softmax temperature; 0: take the largest logit, ties to the lower id */
	float dynatemp_range; /* temperature from temp - range to temp + range, by entropy */
	float dynatemp_exp;
	int32_t top_k; /* keep the k most likely; 0, -1: all  Fan+ 2018, arXiv:1805.04833 */
	float top_p; /* keep the least set of mass >= p; 1: all   Holtzman+ 2019, arXiv:1904.09751 */
	float min_p;   /* keep p_i >= min_p * max_j p_j          Nguyen+ 2024, arXiv:2407.01082 */
	float typical; /* keep the locally typical mass; 1: all  Meister+ 2022, arXiv:2202.00666 */
	float top_n_sigma; /* keep l_i >= max l - n * sigma      Tang+ 2024, arXiv:2411.07641 */
	float xtc_probability, xtc_threshold; /* off unless the threshold is in (0, 0.5] */
	float repeat; /* penalty on tokens of the window; 1: off   Keskar+ 2019, arXiv:1909.05858 */
	int32_t repeat_window;     /* last tokens that the penalties cover; 0: off, -1: all */
	float presence, frequency; /* subtracted once, and per occurrence in the window */
	float dry_multiplier, dry_base;
	int32_t dry_allowed_length, dry_window; /* window 0: off, -1: all */
	/* 0, 1 or 2; replaces every stage except penalties and temperature   Basu+ 2020,
	 * arXiv:2007.14966 */
	int32_t mirostat;
	float mirostat_tau, mirostat_eta;
	int32_t min_keep; /* stages that remove candidates keep at least this many */

	int32_t n_bias;
	const struct infer_logit_bias *bias; /* [n_bias], borrowed while the sampler lives */
	uint64_t given;                      /* bit i: number i was set by infer_sample_set */
	/* [n_dry_breakers] token sequences that end a DRY match, of n_dry_breaker[i] ids each;
	 * borrowed */
	const int32_t *const *dry_breakers;
	const int32_t *n_dry_breaker;
	int32_t n_dry_breakers;
	/* [n_banned] token sequences that are never completed: the last of the n_banned_ids[i] ids
	 * is not drawn directly after the others; borrowed.  They are found in the history from
	 * index banned_from on (the end of the prompt). */
	const int32_t *const *banned;
	const int32_t *n_banned_ids;
	int32_t n_banned;
	size_t banned_from;
	/* enum infer_stage, ended by INFER_STAGE_END; all zero: the default order */
	uint8_t order[INFER_STAGE_COUNT];
	/* any value; the draw at position i uses the generator's value at (seed, i) */
	uint64_t seed;
};

/* Create a sampler for rows of n_vocab logits.  o: copied, but its pointers are borrowed.  All
 * memory that a draw needs is allocated here.
 * INFER_EINVAL: a field is out of its range; names it.
 * INFER_ENOMEM */
int infer_sampler_new(infer_sampler **out, const struct infer_sample_opts *o, int32_t n_vocab,
                      infer_error *err);

/* Draw one token for position `position` of the sequence and append it to the history.  O(n_vocab);
 * allocates nothing up to the length of infer_sampler_reserve.
 * logits: f32 [n_vocab], nats, not normalised.  NaN is never chosen.
 * allowed: bits [(n_vocab + 63) / 64], token t is bit t % 64 of word t / 64: tokens that may be
 *          drawn.  NULL: all.
 * token: out, 0 <= *token < n_vocab.
 * INFER_EEMPTY: no candidate is left (every logit is -inf, biased away or not allowed).
 * INFER_ENAN: every logit is NaN, or one is +inf; the message names which.
 * INFER_ENOMEM: only beyond the length of infer_sampler_reserve.  On failure the history is
 * unchanged and *token is -1. */
int infer_sampler_draw(infer_sampler *s, const float *logits, const uint64_t *allowed,
                       uint64_t position, int32_t *token, infer_error *err);

/* A candidate that passed all stages, and its probability among them. */
struct infer_candidate {
	int32_t token;
	float p;
};
/* Write the n most likely candidates of the last draw to to[n], greatest p first, and return how
 * many were written; *drawn: the probability of the drawn token.  Before a draw, both are 0. */
int32_t infer_sampler_candidates(infer_sampler *s, struct infer_candidate *to, int32_t n,
                                 float *drawn);

/* Append n tokens that were not drawn here (a prompt, a draft) to the history.  INFER_EINVAL: an id
 * outside the vocabulary.  INFER_ENOMEM: only past the length of infer_sampler_reserve. */
int infer_sampler_feed(infer_sampler *s, const int32_t *tokens, size_t n, infer_error *err);
/* Reserve memory for a history of n tokens: up to that length, feed and draw allocate nothing.
 * INFER_ENOMEM */
int infer_sampler_reserve(infer_sampler *s, size_t n, infer_error *err);

/* Remove the last n tokens, drawn or fed, from the history; all if n exceeds its length. */
void infer_sampler_rollback(infer_sampler *s, size_t n);
void infer_sampler_free(infer_sampler *s); /* NULL is fine */

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
