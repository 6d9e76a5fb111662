/* MiniMax M2: Q and K normalised over all heads together, half of each head rotates; experts chosen
 * by sigmoid and a bias. MiniMax 2025, https://huggingface.co/MiniMaxAI/MiniMax-M2 */
#include "arch/arch.h"
#include "base/err.h"

extern const struct arch arch_llama;

/* Refuse earlier MiniMax models: attn_type_list must be 1, attention, in all layers. */
static int own(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	int32_t kind = 1, normed = 1;

	TRY(arch_key_i32(r, K_LAYER_KINDS, &kind, 1, 1, err));
	TRY(arch_key_i32(r, K_QK_NORM, &normed, 1, 1, err));
	return arch_key_rotating(r, K_ROTARY_DIM, h, err);
}

static const struct arch_expect expect[] = { { "hidden_act", "silu" },
	                                     { "qk_norm_type", "per_layer" },
	                                     { NULL, NULL } };

const struct arch arch_minimaxm2 = {
	.gguf = "minimax-m2",
	.hf = { "MiniMaxM2ForCausalLM" },
	.like = &arch_llama,
	.tensors = { group_row_norms, group_pick_bias },
	.rope = { ROPE_HALVES, ROPE_HALVES },
	.must = "head_dim num_key_value_heads num_local_experts rope.rope_theta",
	.expect = expect,
	.read = { arch_read_sigmoid, own },
};
