/* sample/sample.h (private) - candidates, and the stages that filter them.  stage_list.h has one
 * const row per stage.
 *
 * The order of candidates is total: greater logit first, ties by the lower id; so the candidates
 * that a stage keeps never depend on how they were sorted.  Sums are in double, in this order, or
 * by id if the candidates are not sorted yet. */
#ifndef SAMPLE_SAMPLE_H
#define SAMPLE_SAMPLE_H
#include <infer/sample.h>

struct cand {
	int32_t id;
	float logit;
	float p;
};
struct cands {
	struct cand *at;
	int32_t n;
	int sorted; /* 1: in the order above */
	int soft;   /* 1: p is the softmax of the logits */
};

/* The history of one sequence. */
struct sampler_history {
	int32_t *ids;
	size_t n, cap;      /* ids are kept only if DRY, penalties or banned sequences need them */
	double *mu;         /* [cap] mirostat's state before each token; NULL: it is off */
	int32_t *z;         /* scratch of DRY, [cap] */
	int32_t *count_dry; /* scratch of DRY, [n_vocab], zero between draws */
	uint8_t *breaks;    /* [n_vocab] 1: the token is a DRY breaker by itself */
	int long_breakers;  /* 1: some breaker has several tokens */
	int32_t *count; /* [n_vocab] occurrences inside the penalties' window; NULL: they are off */
	int keep;       /* HISTORY_ bits of the arrays in use: ids, z, mu */
};

enum { HISTORY_IDS = 1, HISTORY_Z = 2, HISTORY_MU = 4 };

struct infer_sampler {
	struct infer_sample_opts o; /* after infer_sample_resolve */
	int32_t n_vocab;
	struct cands c; /* storage for n_vocab candidates */
	float *biased;  /* [n_vocab] scratch of a draw; NULL: neither bias nor banned sequences */
	struct sampler_history h;
	uint64_t position; /* position of the current draw */
	float drawn_p;     /* probability of the last drawn token */
	double mu;         /* mirostat: surprise limit, bits */
};

struct stage {
	const char *name;
	/* true if the options enable the stage */
	int (*on)(const struct infer_sample_opts *o);
	void (*apply)(struct infer_sampler *s, struct cands *c);
};
/* Check the banned sequences of options.  INFER_EINVAL: one is empty, or an id is unknown. */
int banned_check(const struct infer_sample_opts *o, int32_t n_vocab, infer_error *err);
/* Set the logit of each token that would complete a banned sequence to -inf. */
void banned_apply(const struct infer_sampler *s, float *logits);

const struct stage *stage_get(int stage); /* by enum infer_stage; NULL: none */

/* Sort the n best candidates to the front; the others follow in any order. n >= c->n sorts all. */
void cands_sort(struct cands *c, int32_t n);
/* Collect the n best of the allowed (NULL: all) logits above -inf, sorted. */
void cands_take(struct cands *c, const float *logits, const uint64_t *allowed, int32_t n_vocab,
                int32_t n);
/* Return the first allowed token >= i, or n_vocab. */
int32_t cands_next(const uint64_t *allowed, int32_t i, int32_t n_vocab);
void cands_soft(struct cands *c);            /* p = softmax; does not change the order */
double cands_entropy(const struct cands *c); /* of p, nats */

/* The stages' arithmetic, with explicit parameters for tests. */
void stage_top_k(struct cands *c, int32_t k);
void stage_top_p(struct cands *c, float p, int32_t min_keep);
void stage_min_p(struct cands *c, float p, int32_t min_keep);
void stage_typical(struct cands *c, float p, int32_t min_keep);
void stage_top_n_sigma(struct cands *c, float n);
void stage_xtc(struct cands *c, float threshold, int32_t min_keep);
void stage_temp(struct cands *c, float temp, float range, float exponent);
/* mirostat_cut: drop candidates; mirostat_update: update mu after a draw with probability p */
void mirostat_cut(struct infer_sampler *s, struct cands *c);
void mirostat_update(struct infer_sampler *s, float p);
#endif
