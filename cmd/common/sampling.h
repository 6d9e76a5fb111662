/* common/sampling.h - sampling options, spelled alike in all programs, and what they become. */
#ifndef COMMON_SAMPLING_H
#define COMMON_SAMPLING_H
#include <math.h>
#include <stdint.h>
#include <infer/request.h>
#include "common/opt.h"

/* NAN and INT64_MIN: not given. */
struct sampling_args {
	double temp, dynatemp_range, dynatemp_exp, top_p, min_p, typical, top_n_sigma, xtc_probability, xtc_threshold,
		repeat, presence, frequency, dry_multiplier, dry_base, mirostat_tau, mirostat_eta;
	int64_t top_k, repeat_last_n, dry_allowed_length, dry_last_n, mirostat;
	struct opt_list breakers, bias;
	const char *samplers;
	struct opt_bits seed;
};
#define SAMPLING_ARGS { NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, \
	INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN }
#define SAMPLING_ROWS(T, m) \
	{ OPT_NUM, 0, "temp", "X", "temperature; 0 takes the likeliest token (0.8)", offsetof(T, m.temp), 0, 100 }, \
	{ OPT_NUM, 0, "dynatemp-range", "X", "temperature by entropy, up to X below and above; 0: off (0)", offsetof(T, m.dynatemp_range), 0, 100 }, \
	{ OPT_NUM, 0, "dynatemp-exp", "X", "how that temperature follows the entropy (1)", offsetof(T, m.dynatemp_exp), 0, 100, .marks = OPT_ABOVE_LO }, \
	{ OPT_INT, 0, "top-k", "N", "keep the N likeliest tokens; 0: all (40)", offsetof(T, m.top_k), 0, INT32_MAX }, \
	{ OPT_NUM, 0, "top-p", "X", "keep the least set of mass X; 1: all (0.95)", offsetof(T, m.top_p), 0, 1, .marks = OPT_ABOVE_LO }, \
	{ OPT_NUM, 0, "min-p", "X", "keep tokens at least X times as likely as the likeliest (0.05)", offsetof(T, m.min_p), 0, 1 }, \
	{ OPT_NUM, 0, "typical", "X", "keep the locally typical set of mass X; 1: off (1)", offsetof(T, m.typical), 0, 1, .marks = OPT_ABOVE_LO }, \
	{ OPT_NUM, 0, "top-n-sigma", "X", "keep logits within X deviations of the greatest; 0: off (0)", offsetof(T, m.top_n_sigma), 0, 1000 }, \
	{ OPT_NUM, 0, "xtc-probability", "X", "chance to drop all likely tokens but the last; 0: off (0)", offsetof(T, m.xtc_probability), 0, 1 }, \
	{ OPT_NUM, 0, "xtc-threshold", "X", "tokens likely in that sense; above 0.5: off (0.1)", offsetof(T, m.xtc_threshold), 0, 1 }, \
	{ OPT_NUM, 0, "repeat-penalty", "X", "divide the logits of tokens that were there by X; 1: off (1)", offsetof(T, m.repeat), 0, 100, .marks = OPT_ABOVE_LO }, \
	{ OPT_INT, 0, "repeat-last-n", "N", "how far back penalties look; 0: off, -1: all (64)", offsetof(T, m.repeat_last_n), -1, INT32_MAX }, \
	{ OPT_NUM, 0, "presence-penalty", "X", "subtract X from their logits once; 0: off (0)", offsetof(T, m.presence), -2, 2 }, \
	{ OPT_NUM, 0, "frequency-penalty", "X", "subtract X for each time; 0: off (0)", offsetof(T, m.frequency), -2, 2 }, \
	{ OPT_NUM, 0, "dry-multiplier", "X", "penalty on extending a repeated run; 0: off (0)", offsetof(T, m.dry_multiplier), 0, 100 }, \
	{ OPT_NUM, 0, "dry-base", "X", "its growth with the length of the run (1.75)", offsetof(T, m.dry_base), 1, 100 }, \
	{ OPT_INT, 0, "dry-allowed-length", "N", "longest run that costs nothing more (2)", offsetof(T, m.dry_allowed_length), 1, INT32_MAX }, \
	{ OPT_INT, 0, "dry-penalty-last-n", "N", "how far back it looks; 0: off, -1: all (-1)", offsetof(T, m.dry_last_n), -1, INT32_MAX }, \
	{ OPT_LIST, 0, "dry-sequence-breaker", "STR", "text that no run reaches over; none: no text (newline : \" *)", offsetof(T, m.breakers) }, \
	{ OPT_INT, 0, "mirostat", "N", "steer the surprise, version 1 or 2, in place of all that cuts; 0: off (0)", offsetof(T, m.mirostat), 0, 2 }, \
	{ OPT_NUM, 0, "mirostat-tau", "X", "the surprise aimed at, in bits (5)", offsetof(T, m.mirostat_tau), 0, 100, .marks = OPT_ABOVE_LO }, \
	{ OPT_NUM, 0, "mirostat-eta", "X", "how fast it is steered (0.1)", offsetof(T, m.mirostat_eta), 0, 100, .marks = OPT_ABOVE_LO }, \
	{ OPT_STR, 0, "samplers", "LIST", "the stages and their order, separated by commas or semicolons", offsetof(T, m.samplers) }, \
	{ OPT_LIST, 0, "logit-bias", "ID=B", "add B to the logit of token ID; -inf: never; may be given more than once", offsetof(T, m.bias) }, \
	{ OPT_BITS, 0, "seed", "N", "begin the random numbers at N (random, and reported)", offsetof(T, m.seed) }

/* What the options became; the lists of `o` lie here. */
struct sampling {
	struct infer_sample_opts o;
	const struct infer_str *breaker_texts; size_t n_breaker_texts;    /* of DRY, on or off */
	infer_breakers *breakers;                /* NULL while DRY is off */
	struct arena mem;
};

/* What was given, else what the model's file recommends (general.sampling.*), else temperature 0.8, top-k 40, top-p 0.95
 * and min-p 0.05, the rest off.  A seed that is not given is random.  On failure too *out is the caller's to
 * sampling_fini.
 * INFER_EINVAL   --samplers, --logit-bias: malformed, or not known
 * INFER_EFORMAT  a general.sampling key of another type or out of its range
 * INFER_EUNSUP   a stage in general.sampling.sequence that is not known, by name
 * INFER_EIO      the system gives no random seed
 * INFER_ENOMEM */
int  sampling_take(struct sampling *out, const struct sampling_args *a, const infer_model *model, infer_error *err);
void sampling_fini(struct sampling *s);

/* Ids of tokens, as options give them, into *ids (of mem).   option: its name
 * INFER_EINVAL  no id of this vocabulary */
int  sampling_ids(int32_t **ids, const struct opt_list *words, const char *option, const infer_model *model,
                  struct arena *mem, infer_error *err);
#endif
