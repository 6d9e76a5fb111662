/* LFM 2 with experts, behind some layers without.  Liquid AI 2025, arXiv:2511.23404 */
#include "arch/arch.h"
#include "base/err.h"

extern const struct arch arch_lfm2;

static int sigmoid(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	int32_t gating = 2;

	h->expert_gating = GATING_SIGMOID;
	return arch_key_i32(r, K_EXPERT_GATING, &gating, 2, 2, err);
}

const struct arch arch_lfm2moe = {
	.gguf = "lfm2moe",
	.hf = { "Lfm2MoeForCausalLM" },
	.like = &arch_lfm2,
	.tensors = { group_lfm2_experts },
	.must = "num_key_value_heads layer_types rope.rope_theta conv_L_cache num_dense_layers "
		"norm_topk_prob "
		"use_expert_bias",
	.read = { sigmoid, arch_read_short_conv, arch_read_dense },
};
