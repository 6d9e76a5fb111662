/* infer-quant/merge_lora.h - the adapters of --merge-lora. */
#ifndef INFER_QUANT_MERGE_LORA_H
#define INFER_QUANT_MERGE_LORA_H
#include <infer/lora.h>
#include <infer/model.h>
#include "quant.h"

struct merge_lora {
	infer_model *model; /* opened from the input; NULL: nothing is merged */
	struct infer_lora_use uses[INFER_LORA_USES];
	int32_t n;
};

/* Refuse options that do not go with --merge-lora, and an output that is an adapter.  out may be NULL.
 * INFER_EINVAL INFER_ENOMEM */
int merge_lora_check(const struct quant_opts *o, const char *out, infer_error *err);
/* Open the adapters.  recipe: what the recipe of --recipe says, which must not measure the model.
 * Does nothing without --merge-lora.  The caller calls merge_lora_close, on failure too.
 * Errors: those of infer_model_open_file and infer_lora_open. */
int merge_lora_open(struct merge_lora *m, const struct quant_opts *o, const infer_file *file,
                    const struct infer_recipe_info *recipe, infer_error *err);
void merge_lora_close(struct merge_lora *m);
#endif
