/* quant/eval.h (private) - evaluation of one position, statistics, and rows of logits from
 * engines */
#ifndef QUANT_EVAL_H
#define QUANT_EVAL_H
#include <infer/eval.h>

/* ---- eval_point.c ---- */

struct eval_point {
	double nll, ref_nll;          /* -ln p(token) */
	double kl, dp;                /* kl: KL(ref || model); dp: p(token) of model - of ref */
	double beside_nll, beside_kl; /* values of the second model */
	int top1, top5;               /* 1: same most probable token as ref, same 5 most probable */
	int beside_top1;
};
/* Return ln p(token) for logits f32 [n_vocab]: log-softmax in double, summed in the order of
 * ids.  Any thread. */
double eval_logprob(const float *logits, int32_t n_vocab, int32_t token);
/* Fill *p for one position.  ref: logits of the reference; NULL: set nll only.  kl is infinite
 * if the model gives probability 0 to a token to which the reference does not.  Any thread. */
void eval_point(struct eval_point *p, const float *logits, const float *ref, int32_t n_vocab,
                int32_t token);

/* ---- eval_stat.c: n >= 1; sums in the order of the values ---- */

struct infer_eval_mean eval_mean(const double *x, size_t n);
/* Return the mean with its 95 % interval: +- 1.96 standard errors. */
struct infer_eval_range eval_around(const struct infer_eval_mean *m);
/* Return quantile q of ascending x with its interval (infer/eval.h). */
struct infer_eval_range eval_quantile(const double *x, size_t n, double q);
/* Return the share k / n with Wilson's interval: 1927, J. Am. Stat. Assoc. 22, 209. */
struct infer_eval_range eval_share(uint64_t k, uint64_t n);

/* ---- eval_rows.c ---- */

/* Logits of the scored positions of the only request of an engine. */
struct eval_rows {
	infer_engine *engine;
	const float **at;     /* [n] rows of logits of the last step, f32 [n_vocab] */
	int32_t n, used, cap; /* rows [used, n) are not consumed yet */
	int32_t next;         /* position of the next row to compute */
	uint64_t id;
	int ended;
};
/* Submit ids [n], scored from position `from` on, 1 <= from < n.  at: memory of the caller for
 * the rows of a step, n - from pointers.  Errors as infer_engine_submit. */
int eval_rows_begin(struct eval_rows *r, infer_engine *e, const int32_t *ids, int32_t n,
                    int32_t from, const float **at, infer_error *err);
/* Step the engine until it has computed rows, which replace those of the previous step.  Sets r->n
 * to 0 if there are no more. INFER_EINVAL: the engine has other requests; other errors as
 * infer_engine_step. */
int eval_rows_step(struct eval_rows *r, infer_error *err);
/* Cancel the request if it still runs, so that the engine is idle. */
void eval_rows_stop(struct eval_rows *r);
#endif
