/* DeepSeek 2 and 3, and what keeps to them (Kimi K2, GLM 4.7 Flash, Moonlight): latent attention; groups of experts, chosen by
 * softmax, or by sigmoid and a bias; some that every row takes, and dense layers at the front.
 * DeepSeek-AI 2024, arXiv:2405.04434; 2024, arXiv:2412.19437 */
#include "arch/arch.h"
#include "base/err.h"

extern const struct arch arch_llama;

/* Files say that weights are normalised, and not that they are not; those without a gating function
 * score by sigmoid where they say it. */
static int gating(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	int32_t number;

	TRY(arch_read_norm_said(h, r, err));
	number = 1 + h->expert_norm;
	TRY(arch_key_i32(r, K_EXPERT_GATING, &number, 1, 2, err));
	h->expert_gating = number == 2 ? GATING_SIGMOID : GATING_SOFTMAX;
	return INFER_OK;
}

const struct arch arch_deepseek2 = {
	.gguf = "deepseek2",
	.hf = { "DeepseekV2ForCausalLM", "DeepseekV3ForCausalLM", "Glm4MoeLiteForCausalLM" },
	.like = &arch_llama,
	.tensors = { group_latent, group_some_pick_bias },
	.rope = { ROPE_PAIRS, ROPE_PAIRS },
	.must = "kv_lora_rank qk_nope_head_dim qk_rope_head_dim v_head_dim n_routed_experts"
		" n_shared_experts moe_intermediate_size norm_topk_prob",
	.read = { arch_read_latent, gating, arch_read_groups, arch_read_shared, arch_read_dense,
	          arch_read_next, arch_read_temper },
};
