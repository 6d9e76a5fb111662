/* Phi 3 and 4: Q, K, V in one tensor, gate and up in another; RoPE by halves, longrope. Abdin+
 * 2024, arXiv:2404.14219 */
#include "arch/arch.h"

extern const struct arch arch_llama;

const struct arch arch_phi3 = {
	.gguf = "phi3",
	.hf = { "Phi3ForCausalLM" },
	.like = &arch_llama,
	.tensors = { group_fused_qkv, group_fused_ffn },
	.rope = { ROPE_HALVES, ROPE_HALVES },
	.read = { arch_read_all_slide },
};
