/* common/lora.h - the option --lora: adapters of the model. */
#ifndef COMMON_LORA_H
#define COMMON_LORA_H
#include <infer/adapters.h>
#include <infer/job.h>
#include <infer/model.h>
#include "common/opt.h"

/* Row for the table of a program.  T: the type of its options, in: modes, 0: all; m: an opt_list */
/* clang-format off */
#define LORA_ROW(T, in, m) \
	{ OPT_LIST, 0, "lora", "FILE[=SCALE]", \
	  "apply a LoRA adapter: GGUF, or a PEFT directory; may be repeated", offsetof(T, m), \
	  .marks = OPT_RECORDED, .values = "@file", .modes = (in) }
/* clang-format on */

/* The adapters of a model. */
struct adapters {
	infer_adapters *set;        /* NULL: there are none */
	struct infer_adapter *list; /* [n] those of the set */
	size_t n;
	/* those that are applied to requests that choose none */
	struct infer_lora_use uses[INFER_LORA_USES];
	const char *names[INFER_LORA_USES];
	int32_t n_uses;
};

/* Split FILE=SCALE at its last =, if a number follows; otherwise the scale is 1.  *path: mem_free.
 * INFER_EINVAL  no file; the scale is not finite; INFER_ENOMEM */
int lora_split(char **path, float *scale, const char *text, infer_error *err);
/* Open the adapters of --lora.  applies 0: requests have none unless they choose some.  On failure
 * everything is closed.  Errors: those of lora_split, infer_lora_open and infer_adapters_add. */
int adapters_open(struct adapters *a, const struct opt_list *files, int applies,
                  const infer_model *m, infer_error *err);
void adapters_close(struct adapters *a);
/* Let a job that was filled by hand use the adapters that are applied; borrowed from a. */
void adapters_use(infer_job *j, const struct adapters *a);
#endif
