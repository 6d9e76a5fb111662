/* Qwen 2 and 2.5: llama with biases on q, k, v and rotation by halves.  Yang+ 2024,
 * arXiv:2407.10671 */
#include "arch/arch.h"

extern const struct arch arch_llama;

static const struct arch_tensor tensors[] = {
	{ W_Q_BIAS, "attn_q.bias", { "self_attn.q_proj.bias" }, { D_Q }, ARCH_MUST },
	{ W_K_BIAS, "attn_k.bias", { "self_attn.k_proj.bias" }, { D_KV_K }, ARCH_MUST },
	{ W_V_BIAS, "attn_v.bias", { "self_attn.v_proj.bias" }, { D_KV_V }, ARCH_MUST },
	{ W_END },
};

const struct arch arch_qwen2 = {
	.gguf = "qwen2",
	.hf = { "Qwen2ForCausalLM" },
	.like = &arch_llama,
	.tensors = tensors,
	.rope = { ROPE_HALVES, ROPE_HALVES },
};
