/* common/sampling.h - sampling options, with the same names in all programs, and their results. */
#ifndef COMMON_SAMPLING_H
#define COMMON_SAMPLING_H
#include <stdint.h>
#include <infer/job.h>
#include "common/opt.h"

enum { SAMPLING_NUMBERS = 32 };
struct sampling_args {
	struct opt_number numbers[SAMPLING_NUMBERS]; /* indexed as by infer_sample_param */
	struct opt_list breakers, bias;
	const char *samplers;
	struct opt_bits seed;
};
/* The rows; at: the offset of struct sampling_args in the options of the program. */
opt_rows_fn sampling_rows;
#define SAMPLING_ROWS(T, m) \
	{ \
		OPT_ROWS, .rows = sampling_rows, .at = offsetof(T, m) \
	}

/* The result of the options; the lists of `o` are stored here. */
struct sampling {
	struct infer_sample_opts o;
	const struct infer_str *breaker_texts; /* of DRY, on or off */
	size_t n_breaker_texts;
	infer_breakers *breakers; /* NULL if DRY is off */
	struct arena mem;
};

/* What was given, else what the model's file recommends (general.sampling.*), else what is usual,
 * the rest off.  A seed that is not given is random.  On failure too *out is the caller's to
 * sampling_fini.
 * INFER_EINVAL   --samplers, --logit-bias: malformed, or not known
 * INFER_EFORMAT  a general.sampling key of another type or out of its range
 * INFER_EUNSUP   a stage in general.sampling.sequence that is not known, by name
 * INFER_EIO      the system gives no random seed
 * INFER_ENOMEM */
int sampling_take(struct sampling *out, const struct sampling_args *a, const infer_model *model,
                  infer_error *err);
void sampling_fini(struct sampling *s);

/* Parse token ids from options into *ids (from mem).  option: its name
 * INFER_EINVAL  not an id of this vocabulary */
int sampling_ids(int32_t **ids, const struct opt_list *words, const char *option,
                 const infer_model *model, struct arena *mem, infer_error *err);
#endif
