/* OLMo 2 and 3: norms after the branches only, Q and K normalised over all heads together. OLMo 3
 * has windows, and RoPE scaling in the other layers only. OLMo Team 2025, arXiv:2501.00656 */
#include "arch/arch.h"

extern const struct arch arch_llama;

const struct arch arch_olmo2 = {
	.gguf = "olmo2",
	.hf = { "Olmo2ForCausalLM", "Olmo3ForCausalLM" },
	.like = &arch_llama,
	.tensors = { group_no_pre_norms, group_post_norms, group_row_norms },
	.rope = { ROPE_HALVES, ROPE_HALVES },
	.must = "rope.rope_theta",
	.read = { arch_read_three_slide, arch_read_own_base },
};
