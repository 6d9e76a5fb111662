/* GLM 4: partial RoPE by pairs, a norm after each branch too, gate and up in one tensor. GLM Team
 * 2024, arXiv:2406.12793 */
#include "arch/arch.h"

extern const struct arch arch_llama;

const struct arch arch_glm4 = {
	.gguf = "glm4",
	.hf = { "Glm4ForCausalLM" },
	.like = &arch_llama,
	.tensors = { group_post_norms_glm, group_fused_ffn },
	.rope = { ROPE_PAIRS, ROPE_PAIRS },
	.must = "head_dim num_key_value_heads rope.partial_rotary_factor",
	.read = { arch_read_no_sections },
};
