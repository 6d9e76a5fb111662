/* GLM 4.5 to 4.7: experts chosen by sigmoid and a bias, one that every row takes, dense layers at the front; half of each head
 * rotates.  GLM Team 2025, arXiv:2508.06471 */
#include "arch/arch.h"

extern const struct arch arch_llama;

static const struct arch_tensor tensors[] = {
	{ W_FFN_NORM,
	  "post_attention_norm.weight",
	  { "post_attention_layernorm.weight" },
	  { D_EMBD },
	  ARCH_MUST },
	{ W_Q_NORM, "attn_q_norm.weight", { "self_attn.q_norm.weight" }, { D_HEAD }, ARCH_MAY },
	{ W_K_NORM, "attn_k_norm.weight", { "self_attn.k_norm.weight" }, { D_HEAD }, ARCH_MAY },
	{ W_ROUTER_PICK,
	  "exp_probs_b.bias",
	  { "mlp.gate.e_score_correction_bias" },
	  { D_EXPERTS },
	  ARCH_EXPERTS },
	{ W_END },
};

static int hparam(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	int32_t shared = 0;
	int normed, rc = arch_key_i32(r, K_SHARED_EXPERTS, &shared, 0, 64, err);

	h->expert_gating = GATING_SIGMOID;
	h->n_shared_ff = shared * h->n_expert_ff;
	if (!rc)
		rc = arch_key_i32(r, K_LEADING_DENSE, &h->n_dense, 0, h->n_layers, err);
	if (!rc)
		rc = arch_key_groups(r, h, err);
	if (!rc)
		rc = arch_key_bool(r, K_QK_NORM, &normed, err); /* tensors that are there or not */
	return rc ? rc : arch_key_next(r, h, err);
}

static const char *const must[] = { "head_dim",
	                            "num_key_value_heads",
	                            "rope.partial_rotary_factor",
	                            "n_routed_experts",
	                            "n_shared_experts",
	                            "first_k_dense_replace",
	                            "norm_topk_prob",
	                            NULL };

const struct arch arch_glm4moe = { .gguf = "glm4moe",
	                           .hf = { "Glm4MoeForCausalLM" },
	                           .like = &arch_llama,
	                           .tensors = tensors,
	                           .rope = { ROPE_HALVES, ROPE_HALVES },
	                           .must = must,
	                           .hparam = hparam };
