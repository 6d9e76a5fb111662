/* infer/eval.h - measure the quality of a model.   floor: quant
 *
 * Perplexity on a text, divergence from a reference model, multiple-choice questions.
 *
 * INFER_EINVAL: an engine has other requests.  Functions also fail with the codes of the engine.
 * Everything is computed from the logits in double, in an order that depends neither on threads nor
 * on steps.
 *
 * A text is cut into consecutive windows of W tokens; tokens after the last whole window are
 * ignored.  If the model adds BOS, it replaces the first token of each window.  The first half of a
 * window is context only: the tokens from W / 2 + 1 on are scored, W - 1 - W / 2 of them.
 * llama-perplexity uses the same windows. */
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

/* A mean and its standard error, treating tokens as independent. */
struct infer_eval_mean {
	double value, se;
};
/* A value and its 95 % interval. */
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
	struct infer_eval_mean perplexity; /* e^nll; its se: that of nll times the value */
	int has_ref;                       /* 1: the fields down to top5 are filled */
	struct infer_eval_mean ref_nll, ref_perplexity;
	struct infer_eval_mean ratio; /* perplexity of the model / of the reference, paired */
	/* KL(reference || model) per position, nats.  Mean: +- 1.96 standard errors.  Quantiles:
	 * linear interpolation; intervals are the order statistics at the ranks n q -+ 1.96 sqrt(n
	 * q (1 - q)), rounded outwards */
	struct infer_eval_mean kl;
	struct infer_eval_range kl_mean, kl_median, kl_p90, kl_p99;
	double kl_max;
	/* change of the probability of the correct token, model - reference; root mean square */
	struct infer_eval_mean dp, dp_rms;
	struct infer_eval_range dp_p1, dp_median, dp_p99;
	/* fraction of positions with the same most likely token; with the same five most likely;
	 * ties by id; intervals by Wilson 1927 */
	struct infer_eval_range top1, top5;
	int has_beside; /* 1: the fields below are filled, for the other model of the options */
	struct infer_eval_mean beside_nll, beside_perplexity;
	struct infer_eval_range beside_kl, beside_top1; /* as kl_mean and top1 */
	/* the model minus the other model, per position: mean +- 1.96 standard errors.  Variation
	 * common to both cancels, so these intervals are narrower than the separate ones. */
	struct infer_eval_range nll_difference, kl_difference;
};
struct infer_eval_opts {
	const int32_t *ids; /* the text */
	size_t n_ids;
	int32_t window;           /* at least 4, at most the context of the engines; 0: 512 */
	struct infer_watch watch; /* receives tokens of finished windows */
	/* another model, compared with the same reference, or NULL; needs a reference */
	const struct infer_eval_side *beside;
};

/* Measure a text in one pass: all engines compute the same window, a few rows at a time.  ref:
 * NULL: none.
 * Memory: 72 bytes for each scored token; logits stay in the engines.
 * INFER_EINVAL: the text is shorter than two windows; the vocabularies differ (the message says
 *               how); another model needs a reference.
 * INFER_ENOMEM: memory, or a window longer than a context.
 * INFER_ENAN: a logit is not finite, or the model gives probability 0 to a token of the reference.
 */
int infer_eval_text(struct infer_eval_text *out, const struct infer_eval_side *model,
                    const struct infer_eval_side *ref, const struct infer_eval_opts *o,
                    infer_error *err);

struct infer_eval_choices {
	uint64_t questions, right, right_norm;
	/* fraction of questions whose correct choice has the greatest log-likelihood; norm: the
	 * greatest per byte of the choice.  Ties: the first counts.  Intervals by Wilson 1927 */
	struct infer_eval_range accuracy, accuracy_norm;
};
/* Answer multiple-choice questions: JSON lines {"prompt": text, "choices": [text, ...], "answer":
 * index from 0}.  Prompt and choice are encoded together.  The log-likelihood of a choice is that
 * of all tokens after the longest prefix that the ids of the prompt share with all choices.  name:
 * of the text, for messages.  watch: receives bytes; may be NULL.
 * INFER_EFORMAT: names the line: not such an object, "answer" is not an index, or an empty choice.
 * INFER_EUNSUP: the model has no vocabulary.
 * INFER_ENOMEM: a question does not fit the context; names the line.
 * INFER_ENAN: a logit is not finite. */
int infer_eval_choices(struct infer_eval_choices *out, const struct infer_eval_side *model,
                       const char *text, size_t bytes, const char *name,
                       const struct infer_watch *watch, infer_error *err);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
