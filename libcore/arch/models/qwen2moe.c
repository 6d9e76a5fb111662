/* Qwen 1.5 and 2 with experts: weights are not normalised; a shared expert is weighted by its own
 * router. Yang+ 2024, arXiv:2407.10671 */
#include "arch/arch.h"

extern const struct arch arch_qwen2;

static int own(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	return arch_key_i32(r, K_SHARED_EXPERT_FF, &h->n_shared_ff, 1, 1 << 24, err);
}

const struct arch arch_qwen2moe = {
	.gguf = "qwen2moe",
	.hf = { "Qwen2MoeForCausalLM" },
	.like = &arch_qwen2,
	.must = "num_key_value_heads shared_expert_intermediate_size",
	.read = { arch_read_norm_said, own },
};
