/* common/sampling.h - sampling options, the same in all programs. */
#ifndef COMMON_SAMPLING_H
#define COMMON_SAMPLING_H
#include <stdint.h>
#include <infer/job.h>
#include "common/opt.h"

enum { SAMPLING_NUMBERS = 32 };
struct sampling_args {
	struct opt_number numbers[SAMPLING_NUMBERS]; /* same index as infer_sample_param */
	struct opt_list breakers, bias;
	const char *samplers;
	struct opt_bits seed;
};
/* Rows for the table of a program: SAMPLING_ROWS(type of its options, member). */
opt_rows_fn sampling_rows;
#define SAMPLING_ROWS(T, m) \
	{ \
		OPT_ROWS, .rows = sampling_rows, .at = offsetof(T, m) \
	}

/* The parameters that the options result in. `o` borrows from the other members. */
struct sampling {
	struct infer_sample_opts o;
	const struct infer_str *breaker_texts; /* sequence breakers of DRY, even if it is off */
	size_t n_breaker_texts;
	infer_breakers *breakers; /* NULL if DRY is off */
	struct arena mem;
};

/* Set each parameter from its option, else from the model file (general.sampling.*), else to its
 * default. A seed that is not given is random. The caller calls sampling_fini, on failure too.
 * INFER_EINVAL   --samplers or --logit-bias is malformed, or names an unknown stage or token
 * INFER_EFORMAT  a general.sampling key has another type, or is out of range
 * INFER_EUNSUP   general.sampling.sequence names an unknown stage
 * INFER_EIO      the system has no random numbers; INFER_ENOMEM */
int sampling_take(struct sampling *out, const struct sampling_args *a, const infer_model *model,
                  infer_error *err);
void sampling_fini(struct sampling *s);

/* Parse token ids into *ids [words->n], allocated in mem. option: its name, for messages.
 * INFER_EINVAL  a word is not a token id of the model; INFER_ENOMEM */
int sampling_ids(int32_t **ids, const struct opt_list *words, const char *option,
                 const infer_model *model, struct arena *mem, infer_error *err);
#endif
