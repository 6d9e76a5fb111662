/* The base row: LLaMA and what keeps to it (Mistral, Mixtral, SmolLM, TinyLlama, Yi ...).
 * Touvron+ 2023, arXiv:2302.13971; Jiang+ 2024, arXiv:2401.04088 (experts) */
#include "arch/arch.h"

static const struct arch_tensor tensors[] = {
	{ W_TOKEN_EMBD, "token_embd.weight", { D_EMBD, D_VOCAB }, ARCH_MUST },
	{ W_OUTPUT_NORM, "output_norm.weight", { D_EMBD }, ARCH_MUST },
	{ W_OUTPUT, "output.weight", { D_EMBD, D_VOCAB }, ARCH_MAY }, /* else token_embd */
	{ W_OUTPUT_BIAS, "output.bias", { D_VOCAB }, ARCH_MAY },
	{ W_ROPE_FREQS, "rope_freqs.weight", { D_HALF_ROT }, ARCH_MAY },
	{ W_ROPE_LONG, "rope_factors_long.weight", { D_HALF_ROT }, ARCH_MAY },
	{ W_ROPE_SHORT, "rope_factors_short.weight", { D_HALF_ROT }, ARCH_MAY },
	{ W_ATTN_NORM, "attn_norm.weight", { D_EMBD }, ARCH_MUST },
	{ W_Q, "attn_q.weight", { D_EMBD, D_Q }, ARCH_MUST },
	{ W_K, "attn_k.weight", { D_EMBD, D_KV_K }, ARCH_MUST },
	{ W_V, "attn_v.weight", { D_EMBD, D_KV_V }, ARCH_MUST },
	{ W_O, "attn_output.weight", { D_O, D_EMBD }, ARCH_MUST },
	{ W_Q_BIAS, "attn_q.bias", { D_Q }, ARCH_MAY },
	{ W_K_BIAS, "attn_k.bias", { D_KV_K }, ARCH_MAY },
	{ W_V_BIAS, "attn_v.bias", { D_KV_V }, ARCH_MAY },
	{ W_O_BIAS, "attn_output.bias", { D_EMBD }, ARCH_MAY },
	{ W_UNUSED, "attn_rot_embd.weight", { D_HALF_ROT }, ARCH_MAY },
	{ W_FFN_NORM, "ffn_norm.weight", { D_EMBD }, ARCH_MUST },
	{ W_GATE, "ffn_gate.weight", { D_EMBD, D_FF }, ARCH_DENSE },
	{ W_UP, "ffn_up.weight", { D_EMBD, D_FF }, ARCH_DENSE },
	{ W_DOWN, "ffn_down.weight", { D_FF, D_EMBD }, ARCH_DENSE },
	{ W_GATE_BIAS, "ffn_gate.bias", { D_FF }, ARCH_MAY },
	{ W_UP_BIAS, "ffn_up.bias", { D_FF }, ARCH_MAY },
	{ W_DOWN_BIAS, "ffn_down.bias", { D_EMBD }, ARCH_MAY },
	{ W_ROUTER, "ffn_gate_inp.weight", { D_EMBD, D_EXPERTS }, ARCH_EXPERTS },
	{ W_GATE_EXPS, "ffn_gate_exps.weight", { D_EMBD, D_EXPERT_FF, D_EXPERTS }, ARCH_EXPERTS },
	{ W_UP_EXPS, "ffn_up_exps.weight", { D_EMBD, D_EXPERT_FF, D_EXPERTS }, ARCH_EXPERTS },
	{ W_DOWN_EXPS, "ffn_down_exps.weight", { D_EXPERT_FF, D_EMBD, D_EXPERTS }, ARCH_EXPERTS },
	{ W_END },
};

/* Mistral 7B v0.1: every layer slides. */
static int hparam(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	return arch_key_slides(r, h, 0, err);
}

const struct arch arch_llama = {
	.gguf = "llama",
	.tensors = tensors,
	.rope = ROPE_PAIRS,
	.hparam = hparam,
	.block = arch_block,
};
