/* LFM 2 with experts after leading dense layers. Liquid AI 2025, arXiv:2511.23404 */
#include "arch/arch.h"

extern const struct arch arch_lfm2;

const struct arch arch_lfm2moe = {
	.gguf = "lfm2moe",
	.hf = { "Lfm2MoeForCausalLM" },
	.like = &arch_lfm2,
	.tensors = { group_lfm2_experts },
	.must = "num_key_value_heads layer_types rope.rope_theta conv_L_cache num_dense_layers "
		"norm_topk_prob "
		"use_expert_bias",
	.read = { arch_read_sigmoid, arch_read_short_conv, arch_read_dense },
};
