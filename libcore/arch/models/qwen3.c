/* Qwen 3: llama with norms of heads of Q and K, and RoPE by halves. Qwen Team 2025,
 * arXiv:2505.09388 */
#include "arch/arch.h"

extern const struct arch arch_llama;

const struct arch arch_qwen3 = {
	.gguf = "qwen3",
	.hf = { "Qwen3ForCausalLM", "Qwen3Model" },
	.like = &arch_llama,
	.tensors = { group_head_norms, group_rank },
	.rope = { ROPE_HALVES, ROPE_HALVES },
	.must = "head_dim",
};
