/* Gemma 3: as Gemma 2 without caps, with heads of q and k normed; five layers slide, with a RoPE
 * base of their own, to one that does not.  Gemma Team 2025, arXiv:2503.19786 */
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
