/* Qwen 3 Next: three of four layers are a gated delta rule, the others attend and gate what they attend to; experts, and
 * one that every row takes.  Qwen Team 2025; Yang+ 2024, arXiv:2412.06464 (the rule); Qiu+ 2025, arXiv:2505.06708 (the
 * gate) */
#include "arch/arch.h"

extern const struct arch arch_llama;

static const struct arch_tensor tensors[] = {
	{ W_OUTPUT_NORM,
	  "output_norm.weight",
	  { "model.norm.weight" },
	  { D_EMBD },
	  ARCH_MUST,
	  T_PLUS1 },
	{ W_ATTN_NORM,
	  "attn_norm.weight",
	  { "input_layernorm.weight" },
	  { D_EMBD },
	  ARCH_MUST,
	  T_PLUS1 },
	{ W_FFN_NORM,
	  "post_attention_norm.weight",
	  { "post_attention_layernorm.weight" },
	  { D_EMBD },
	  ARCH_MUST,
	  T_PLUS1 },
	{ W_Q,
	  "attn_q.weight",
	  { "self_attn.q_proj.weight" },
	  { D_EMBD, D_Q_GATED },
	  ARCH_ATTENDS },
	{ W_K, "attn_k.weight", { "self_attn.k_proj.weight" }, { D_EMBD, D_KV_K }, ARCH_ATTENDS },
	{ W_V, "attn_v.weight", { "self_attn.v_proj.weight" }, { D_EMBD, D_KV_V }, ARCH_ATTENDS },
	{ W_O, "attn_output.weight", { "self_attn.o_proj.weight" }, { D_O, D_EMBD }, ARCH_ATTENDS },
	{ W_Q_NORM,
	  "attn_q_norm.weight",
	  { "self_attn.q_norm.weight" },
	  { D_HEAD },
	  ARCH_ATTENDS,
	  T_PLUS1 },
	{ W_K_NORM,
	  "attn_k_norm.weight",
	  { "self_attn.k_norm.weight" },
	  { D_HEAD },
	  ARCH_ATTENDS,
	  T_PLUS1 },
	{ W_STATE_QKV,
	  "attn_qkv.weight",
	  { "linear_attn.in_proj_qkvz.weight" },
	  { D_EMBD, D_STATE_QKV },
	  ARCH_RECURRENT,
	  T_BY_HEAD },
	{ W_STATE_GATE,
	  "attn_gate.weight",
	  { "linear_attn.in_proj_qkvz.weight" },
	  { D_EMBD, D_STATE_O },
	  ARCH_RECURRENT,
	  T_BY_HEAD_Z },
	{ W_STATE_BETA_DECAY,
	  "ssm_ba.weight",
	  { "linear_attn.in_proj_ba.weight" },
	  { D_EMBD, D_STATE_PAIRS },
	  ARCH_RECURRENT },
	{ W_STATE_CONV,
	  "ssm_conv1d.weight",
	  { "linear_attn.conv1d.weight" },
	  { D_TAPS, D_STATE_QKV },
	  ARCH_RECURRENT },
	{ W_STATE_DECAY_BIAS,
	  "ssm_dt.bias",
	  { "linear_attn.dt_bias" },
	  { D_STATE_HEADS },
	  ARCH_RECURRENT },
	{ W_STATE_DECAY_RATE,
	  "ssm_a",
	  { "linear_attn.A_log" },
	  { D_STATE_HEADS },
	  ARCH_RECURRENT,
	  T_NEG_EXP },
	{ W_STATE_NORM,
	  "ssm_norm.weight",
	  { "linear_attn.norm.weight" },
	  { D_STATE_V },
	  ARCH_RECURRENT },
	{ W_STATE_OUT,
	  "ssm_out.weight",
	  { "linear_attn.out_proj.weight" },
	  { D_STATE_O, D_EMBD },
	  ARCH_RECURRENT },
	{ W_END },
};

static int hparam(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	int32_t gate = 1;
	int rc = arch_key_next(r, h, err);

	h->gated = 1;
	if (!rc)
		rc = arch_key_i32(r, K_ATTN_GATE, &gate, 1, 1, err);
	if (!rc && h->n_expert)
		rc = arch_key_i32(r, K_SHARED_EXPERT_FF, &h->n_shared_ff, 1, 1 << 24, err);
	return rc ? rc : arch_key_states(r, h, err);
}

static const char *const must[] = { "head_dim", "num_key_value_heads", "rope.partial_rotary_factor",
	                            NULL };

const struct arch arch_qwen3next = { .gguf = "qwen3next",
	                             .hf = { "Qwen3NextForCausalLM" },
	                             .like = &arch_llama,
	                             .tensors = tensors,
	                             .rope = { ROPE_HALVES, ROPE_HALVES },
	                             .must = must,
	                             .hparam = hparam };
