/* The base row: LLaMA and what keeps to it (Mistral, Mixtral, SmolLM, TinyLlama, Yi ...).
 * Touvron+ 2023, arXiv:2302.13971; Jiang+ 2024, arXiv:2401.04088 (experts) */
#include "arch/arch.h"

static const struct arch_tensor tensors[] = {
	{ W_TOKEN_EMBD,
	  "token_embd.weight",
	  { "model.embed_tokens.weight" },
	  { D_EMBD, D_VOCAB },
	  ARCH_MUST },
	{ W_OUTPUT_NORM, "output_norm.weight", { "model.norm.weight" }, { D_EMBD }, ARCH_MUST },
	{ W_OUTPUT,
	  "output.weight",
	  { "lm_head.weight" },
	  { D_EMBD, D_VOCAB },
	  ARCH_MAY }, /* else token_embd */
	{ W_OUTPUT_BIAS, "output.bias", { NULL }, { D_VOCAB }, ARCH_MAY },
	{ W_ROPE_FREQS, "rope_freqs.weight", { NULL }, { D_HALF_ROT }, ARCH_MAY },
	{ W_ROPE_LONG, "rope_factors_long.weight", { NULL }, { D_HALF_ROT }, ARCH_MAY },
	{ W_ROPE_SHORT, "rope_factors_short.weight", { NULL }, { D_HALF_ROT }, ARCH_MAY },
	{ W_ATTN_NORM, "attn_norm.weight", { "input_layernorm.weight" }, { D_EMBD }, ARCH_MUST },
	{ W_Q,
	  "attn_q.weight",
	  { "self_attn.q_proj.weight" },
	  { D_EMBD, D_Q },
	  ARCH_MUST,
	  T_PAIRS },
	{ W_K,
	  "attn_k.weight",
	  { "self_attn.k_proj.weight" },
	  { D_EMBD, D_KV_K },
	  ARCH_MUST,
	  T_PAIRS },
	{ W_V, "attn_v.weight", { "self_attn.v_proj.weight" }, { D_EMBD, D_KV_V }, ARCH_MUST },
	{ W_O, "attn_output.weight", { "self_attn.o_proj.weight" }, { D_O, D_EMBD }, ARCH_MUST },
	{ W_Q_BIAS, "attn_q.bias", { "self_attn.q_proj.bias" }, { D_Q }, ARCH_MAY, T_PAIRS },
	{ W_K_BIAS, "attn_k.bias", { "self_attn.k_proj.bias" }, { D_KV_K }, ARCH_MAY, T_PAIRS },
	{ W_V_BIAS, "attn_v.bias", { "self_attn.v_proj.bias" }, { D_KV_V }, ARCH_MAY },
	{ W_O_BIAS, "attn_output.bias", { "self_attn.o_proj.bias" }, { D_EMBD }, ARCH_MAY },
	/* old converters' copy of what rope.freq_base says; no engine reads it */
	{ W_UNUSED,
	  "attn_rot_embd.weight",
	  { "self_attn.rotary_emb.inv_freq" },
	  { D_HALF_ROT },
	  ARCH_MAY },
	{ W_FFN_NORM,
	  "ffn_norm.weight",
	  { "post_attention_layernorm.weight" },
	  { D_EMBD },
	  ARCH_MUST },
	{ W_GATE, "ffn_gate.weight", { "mlp.gate_proj.weight" }, { D_EMBD, D_FF }, ARCH_DENSE },
	{ W_UP, "ffn_up.weight", { "mlp.up_proj.weight" }, { D_EMBD, D_FF }, ARCH_DENSE },
	{ W_DOWN, "ffn_down.weight", { "mlp.down_proj.weight" }, { D_FF, D_EMBD }, ARCH_DENSE },
	{ W_GATE_BIAS, "ffn_gate.bias", { "mlp.gate_proj.bias" }, { D_FF }, ARCH_MAY },
	{ W_UP_BIAS, "ffn_up.bias", { "mlp.up_proj.bias" }, { D_FF }, ARCH_MAY },
	{ W_DOWN_BIAS, "ffn_down.bias", { "mlp.down_proj.bias" }, { D_EMBD }, ARCH_MAY },
	{ W_ROUTER,
	  "ffn_gate_inp.weight",
	  { "block_sparse_moe.gate.weight", "mlp.gate.weight" },
	  { D_EMBD, D_EXPERTS },
	  ARCH_EXPERTS },
	{ W_GATE_EXPS,
	  "ffn_gate_exps.weight",
	  { "block_sparse_moe.experts.%d.w1.weight", "mlp.experts.%d.gate_proj.weight" },
	  { D_EMBD, D_EXPERT_FF, D_EXPERTS },
	  ARCH_EXPERTS,
	  T_STACK },
	{ W_UP_EXPS,
	  "ffn_up_exps.weight",
	  { "block_sparse_moe.experts.%d.w3.weight", "mlp.experts.%d.up_proj.weight" },
	  { D_EMBD, D_EXPERT_FF, D_EXPERTS },
	  ARCH_EXPERTS,
	  T_STACK },
	{ W_DOWN_EXPS,
	  "ffn_down_exps.weight",
	  { "block_sparse_moe.experts.%d.w2.weight", "mlp.experts.%d.down_proj.weight" },
	  { D_EXPERT_FF, D_EMBD, D_EXPERTS },
	  ARCH_EXPERTS,
	  T_STACK },
	{ W_END },
};

/* Mistral 7B v0.1: every layer slides. */
static int hparam(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	return arch_key_slides(r, h, 0, err);
}

static const struct arch_expect expect[] = { { "hidden_act", "silu" }, { NULL, NULL } };

const struct arch arch_llama = {
	.gguf = "llama",
	.hf = { "LlamaForCausalLM", "MistralForCausalLM", "MixtralForCausalLM" },
	.tensors = tensors,
	.rope = { ROPE_PAIRS, ROPE_HALVES },
	.hparam = hparam,
	.expect = expect,
	.block = arch_block,
};
