/* Gemma 3: as Gemma 2 without caps, with norms of heads of Q and K; 5 of 6 layers have a window and
 * a RoPE base of their own. Gemma Team 2025, arXiv:2503.19786 */
#include "arch/arch.h"

extern const struct arch arch_gemma2;

const struct arch arch_gemma3 = {
	.gguf = "gemma3",
	.hf = { "Gemma3ForCausalLM" },
	.like = &arch_gemma2,
	.tensors = { group_head_norms },
	.must = "head_dim query_pre_attn_scalar sliding_window rope.rope_theta",
	.read = { arch_read_gemma, arch_read_most_slide, arch_read_own_base },
};
