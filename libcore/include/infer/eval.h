/* infer/eval.h - how well a model predicts.   floor: quant
 *
 * Perplexity on a text, the distance from a reference, questions with choices.
 *
 * Confined: the engines belong to the call, and must have no other requests.  Everything is
 * computed from the logits in double, in an order that depends neither on threads nor on steps.
 *
 * A text is cut into windows of W tokens, one behind the other; tokens that fill no window are left
 * out.  If the model adds BOS, it takes the place of the first token of each window.  The first
 * half of a window is context only: the tokens from W / 2 + 1 on are scored, W - 1 - W / 2 of them.
 * These are the windows of the perplexity tools that GGUF models are usually measured with. */
#ifndef INFER_EVAL_H
#define INFER_EVAL_H
#include <stddef.h>
#include <stdint.h>
#include <infer/status.h>
#include <infer/engine.h>
#include <infer/model.h>
#include <infer/watch.h>
#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/* A mean and its standard error, under which tokens count as independent. */
struct infer_eval_mean {
	double value, se;
};
/* A value and its interval of 95 %. */
struct infer_eval_range {
	double value, lo, hi;
};

struct infer_eval_side {
	const infer_model *model;
	infer_engine *engine; /* of this model */
};

struct infer_eval_text {
	uint64_t tokens, windows, scored;
	int32_t window;
	struct infer_eval_mean nll;        /* -ln p of a scored token, nats */
	struct infer_eval_mean perplexity; /* e^nll; the error is that of nll times the value */
	int has_ref;                       /* 1: what follows was measured */
	struct infer_eval_mean ref_nll, ref_perplexity;
	struct infer_eval_mean ratio; /* of the perplexities, model / reference, in pairs */
	/* KL(reference || model) of a position, nats.  Mean: +- 1.96 standard errors.  Quantiles:
	 * linear between the order statistics; intervals are the order statistics at the ranks
	 * n q -+ 1.96 sqrt(n q (1 - q)), rounded outwards */
	struct infer_eval_mean kl;
	struct infer_eval_range kl_mean, kl_median, kl_p90, kl_p99;
	double kl_max;
	/* change of the probability of the right token, model - reference */
	struct infer_eval_mean dp, dp_rms;
	struct infer_eval_range dp_p1, dp_median, dp_p99;
	/* share of positions with the same most likely token, and with the same set of the five
	 * most likely; equal logits by id; intervals by Wilson 1927 */
	struct infer_eval_range top1, top5;
	int has_beside; /* 1: so was what follows, of the other model */
	struct infer_eval_mean beside_nll, beside_perplexity;
	struct infer_eval_range beside_kl, beside_top1; /* as kl_mean and top1 */
	/* the model less the other, position by position: mean +- 1.96 standard errors.  What moves
	 * both alike is not in it, so it is narrower than the two intervals. */
	struct infer_eval_range nll_difference, kl_difference;
};
struct infer_eval_opts {
	const int32_t *ids; /* the text */
	size_t n_ids;
	int32_t window;           /* at least 4, at most the context of the engines; 0: 512 */
	struct infer_watch watch; /* is told of the tokens of windows that are done */
	/* another model to compare with the same reference, or NULL; only with a reference */
	const struct infer_eval_side *beside;
};

/* Measure a text in one pass: all engines compute the same window, a few rows at a time.
 * ref: NULL: none.  Memory: 72 bytes for each scored token; logits stay with the engines.
 * INFER_EINVAL  a text shorter than two windows; the vocabularies differ, naming how; another model
 *               without a reference
 * INFER_ENOMEM  memory, or a window longer than a context
 * INFER_ENAN    a logit is not finite, or the model excludes what the reference allows */
int infer_eval_text(struct infer_eval_text *out, const struct infer_eval_side *model,
                    const struct infer_eval_side *ref, const struct infer_eval_opts *o,
                    infer_error *err);

struct infer_eval_choices {
	uint64_t questions, right, right_norm;
	/* share of questions whose answer has the greatest log-likelihood; and the greatest for
	 * each byte of the choice.  Equal ones: the first counts.  Intervals by Wilson 1927 */
	struct infer_eval_range accuracy, accuracy_norm;
};
/* Answer questions: JSON lines {"prompt": text, "choices": [text, ...], "answer": index from 0}.
 * The log-likelihood of a choice is that of prompt and choice encoded together, under the tokens
 * that the prompt has in common with all of them.  name: of the text, for messages
 * INFER_EFORMAT  names the line: no such object, an answer without a choice, an empty choice
 * INFER_EUNSUP   the model has no vocabulary
 * INFER_ENOMEM   a question does not fit the context; names the line
 * INFER_ENAN */
int infer_eval_choices(struct infer_eval_choices *out, const struct infer_eval_side *model,
                       const char *text, size_t bytes, const char *name,
                       const struct infer_watch *watch, infer_error *err);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
