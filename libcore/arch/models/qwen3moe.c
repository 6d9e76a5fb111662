/* Qwen 3 with experts: weights are normalised. Qwen Team 2025, arXiv:2505.09388 */
#include "arch/arch.h"

extern const struct arch arch_qwen3;

const struct arch arch_qwen3moe = {
	.gguf = "qwen3moe",
	.hf = { "Qwen3MoeForCausalLM" },
	.like = &arch_qwen3,
	.must = "head_dim norm_topk_prob",
};
