/* quant/eval.h (private) - inside the evaluation: one position, statistics, and rows of logits from
 * engines */
#ifndef QUANT_EVAL_H
#define QUANT_EVAL_H
#include <infer/eval.h>

/* ---- eval_point.c ---- */

struct eval_point {
	double nll, ref_nll; /* -ln p(token) */
	double kl, dp;
	double beside_nll, beside_kl;
	int top1, top5; /* the same in both */
	int beside_top1;
};
/* ln p(token) by logits f32 [n_vocab]: log-softmax in double, sums in the order of ids.  Any
 * thread. */
double eval_logprob(const float *logits, int32_t n_vocab, int32_t token);
/* ref: NULL: nll only.  kl is infinite if the model gives a token nothing that the reference gives
 * something.  Any thread. */
void eval_point(struct eval_point *p, const float *logits, const float *ref, int32_t n_vocab,
                int32_t token);

/* ---- eval_stat.c: n >= 1; sums in the order of the values ---- */

struct infer_eval_mean eval_mean(const double *x, size_t n);
/* +- 1.96 standard errors */
struct infer_eval_range eval_around(const struct infer_eval_mean *m);
/* x: ascending; see infer/eval.h */
struct infer_eval_range eval_quantile(const double *x, size_t n, double q);
/* Wilson's interval of a share: 1927, J. Am. Stat. Assoc. 22, 209. */
struct infer_eval_range eval_share(uint64_t k, uint64_t n);

/* ---- eval_rows.c ---- */

/* The scored positions of a request that runs alone on its engine. */
struct eval_rows {
	infer_engine *engine;
	const float *
		*at; /* [n] rows of the last step, f32 [n_vocab]; those from `used` on are due */
	int32_t n, used, cap;
	int32_t next; /* index in the prompt of the row after the last */
	uint64_t id;
	int ended;
};
/* Submit ids [n] with scores from `from` on, 1 <= from < n.  at: [cap], memory of the caller that
 * holds the rows of a step: n - from is enough. */
int eval_rows_begin(struct eval_rows *r, infer_engine *e, const int32_t *ids, int32_t n,
                    int32_t from, const float **at, infer_error *err);
/* Step until there is a row; rows of the step before are gone.  How many are due: n - used, 0 after
 * the last. */
int eval_rows_step(struct eval_rows *r, infer_error *err);
/* After a failure: cancel what runs, so that the engine is free.  Also for one that has ended. */
void eval_rows_stop(struct eval_rows *r);
#endif
