/* GLM 4.5 to 4.7: experts chosen by sigmoid and a bias, a shared expert, leading dense layers; half
 * of each head rotates. GLM Team 2025, arXiv:2508.06471 */
#include "arch/arch.h"

extern const struct arch arch_llama;

static int own(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	int normed;

	(void)h;

	return arch_key_bool(r, K_QK_NORM, &normed, err); /* a property of the tensors */
}

const struct arch arch_glm4moe = {
	.gguf = "glm4moe",
	.hf = { "Glm4MoeForCausalLM" },
	.like = &arch_llama,
	.tensors = { group_ffn_norm_named_post, group_some_head_norms, group_pick_bias },
	.rope = { ROPE_HALVES, ROPE_HALVES },
	.must = "head_dim num_key_value_heads rope.partial_rotary_factor n_routed_experts "
		"n_shared_experts"
		" first_k_dense_replace norm_topk_prob",
	.read = { own, arch_read_sigmoid, arch_read_shared, arch_read_dense, arch_read_groups,
	          arch_read_next },
};
