/* Granite 3 with experts, and with one that every row takes.  IBM 2024,
 * https://github.com/ibm-granite/granite-3.0-language-models */
#include "arch/arch.h"

extern const struct arch arch_granite;

static int shared(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	return arch_key_i32(r, K_SHARED_EXPERT_FF, &h->n_shared_ff, 0, 1 << 24, err);
}

const struct arch arch_granitemoe = {
	.gguf = "granitemoe",
	.hf = { "GraniteMoeForCausalLM", "GraniteMoeSharedForCausalLM" },
	.like = &arch_granite,
	.tensors = { group_granite_experts },
	.read = { arch_read_scales, shared },
};
