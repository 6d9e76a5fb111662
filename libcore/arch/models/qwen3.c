/* Qwen 3: llama with each head of q and k normed, and rotation by halves.  Qwen Team 2025,
 * arXiv:2505.09388 */
#include "arch/arch.h"

extern const struct arch arch_llama;

static const struct arch_tensor tensors[] = {
	{ W_Q_NORM, "attn_q_norm.weight", { "self_attn.q_norm.weight" }, { D_HEAD }, ARCH_MUST },
	{ W_K_NORM, "attn_k_norm.weight", { "self_attn.k_norm.weight" }, { D_HEAD }, ARCH_MUST },
	{ W_END },
};

static const char *const must[] = { "head_dim", NULL };

const struct arch arch_qwen3 = {
	.gguf = "qwen3",
	.hf = { "Qwen3ForCausalLM" },
	.like = &arch_llama,
	.tensors = tensors,
	.must = must,
	.rope = { ROPE_HALVES, ROPE_HALVES },
};
