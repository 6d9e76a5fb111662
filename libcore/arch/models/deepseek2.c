/* DeepSeek 2 and 3, and what keeps to them (Kimi K2, GLM 4.7 Flash, Moonlight): latent attention; groups of experts, chosen by
 * softmax, or by sigmoid and a bias; some that every row takes, and dense layers at the front.
 * DeepSeek-AI 2024, arXiv:2405.04434; 2024, arXiv:2412.19437 */
#include "arch/arch.h"

extern const struct arch arch_llama;

static const struct arch_tensor tensors[] = {
	{ W_Q, "attn_q.weight", { "self_attn.q_proj.weight" }, { D_EMBD, D_Q }, ARCH_ONE_STEP },
	{ W_Q_A,
	  "attn_q_a.weight",
	  { "self_attn.q_a_proj.weight" },
	  { D_EMBD, D_Q_RANK },
	  ARCH_TWO_STEPS },
	{ W_Q_A_NORM,
	  "attn_q_a_norm.weight",
	  { "self_attn.q_a_layernorm.weight" },
	  { D_Q_RANK },
	  ARCH_TWO_STEPS },
	{ W_Q_B,
	  "attn_q_b.weight",
	  { "self_attn.q_b_proj.weight" },
	  { D_Q_RANK, D_Q },
	  ARCH_TWO_STEPS },
	{ W_KV_A,
	  "attn_kv_a_mqa.weight",
	  { "self_attn.kv_a_proj_with_mqa.weight" },
	  { D_EMBD, D_KV_K },
	  ARCH_MUST },
	{ W_KV_A_NORM,
	  "attn_kv_a_norm.weight",
	  { "self_attn.kv_a_layernorm.weight" },
	  { D_KV_V },
	  ARCH_MUST },
	/* one or the other, which arch_split_latent checks */
	{ W_K_B, "attn_k_b.weight", { NULL }, { D_NOPE, D_KV_V, D_HEADS }, ARCH_MAY },
	{ W_V_B, "attn_v_b.weight", { NULL }, { D_KV_V, D_V_HEAD, D_HEADS }, ARCH_MAY },
	{ W_KV_B,
	  "attn_kv_b.weight",
	  { "self_attn.kv_b_proj.weight" },
	  { D_KV_V, D_KV_B },
	  ARCH_MAY },
	{ W_ROUTER_PICK,
	  "exp_probs_b.bias",
	  { "mlp.gate.e_score_correction_bias" },
	  { D_EXPERTS },
	  ARCH_MAY },
	{ .slot = W_K },
	{ .slot = W_V },
	{ .slot = W_Q_BIAS },
	{ .slot = W_K_BIAS },
	{ .slot = W_V_BIAS },
	{ W_END },
};

/* Files say that weights are normalised, and not that they are not; those without a gating function
 * score by sigmoid where they say it. */
static int hparam(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	int32_t shared = 0, gating;
	int rc = arch_key_latent(r, h, err);

	h->expert_norm = 0;
	if (!rc)
		rc = arch_key_bool(r, K_EXPERT_NORM, &h->expert_norm, err);
	gating = 1 + h->expert_norm;
	if (!rc)
		rc = arch_key_i32(r, K_EXPERT_GATING, &gating, 1, 2, err);
	h->expert_gating = gating == 2 ? GATING_SIGMOID : GATING_SOFTMAX;
	if (!rc)
		rc = arch_key_groups(r, h, err);
	if (!rc)
		rc = arch_key_i32(r, K_SHARED_EXPERTS, &shared, 0, 64, err);
	h->n_shared_ff = shared * h->n_expert_ff;
	if (!rc)
		rc = arch_key_i32(r, K_LEADING_DENSE, &h->n_dense, 0, h->n_layers, err);
	return rc ? rc : arch_key_next(r, h, err);
}

static const char *const must[] = { "kv_lora_rank",
	                            "qk_nope_head_dim",
	                            "qk_rope_head_dim",
	                            "v_head_dim",
	                            "n_routed_experts",
	                            "n_shared_experts",
	                            "moe_intermediate_size",
	                            "norm_topk_prob",
	                            NULL };

const struct arch arch_deepseek2 = { .gguf = "deepseek2",
	                             .hf = { "DeepseekV2ForCausalLM", "DeepseekV3ForCausalLM",
	                                     "Glm4MoeLiteForCausalLM" },
	                             .like = &arch_llama,
	                             .tensors = tensors,
	                             .rope = { ROPE_PAIRS, ROPE_PAIRS },
	                             .must = must,
	                             .hparam = hparam };
