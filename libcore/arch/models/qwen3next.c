/* Qwen 3 Next: three of four layers are Gated DeltaNet, the others have gated attention; experts,
 * and a shared one. Qwen Team 2025; Yang+ 2024, arXiv:2412.06464 (the delta rule); Qiu+ 2025,
 * arXiv:2505.06708 (the gate) */
#include "arch/arch.h"

extern const struct arch arch_llama;

const struct arch arch_qwen3next = {
	.gguf = "qwen3next",
	.hf = { "Qwen3NextForCausalLM" },
	.like = &arch_llama,
	.tensors = { group_ffn_norm_named_post, group_head_norms, group_delta },
	.less_one = 1,
	.rope = { ROPE_HALVES, ROPE_HALVES },
	.must = "head_dim num_key_value_heads rope.partial_rotary_factor",
	.read = { arch_read_next, arch_read_gate, arch_read_shared_ff, arch_read_states },
};
