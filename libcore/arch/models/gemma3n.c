/* Gemma 3n: AltUp with four streams, LAuReL, per-layer embeddings, Gaussian top-k, and last layers
 * that share K and V. Gemma Team 2025, https://ai.google.dev/gemma/docs/gemma-3n */
#include "arch/arch.h"

extern const struct arch arch_llama;

static int slides(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	h->rope[1].base = 10000;
	h->logit_cap = 30;
	return arch_key_slides(r, h, 5, ARCH_FULL_LAST, err);
}

/* The attention scale is 1; query_pre_attn_scalar is ignored. */
static int member(const struct arch_keys *k, enum arch_key key, const struct json **v,
                  struct json *room)
{
	(void)k;
	(void)v;
	(void)room;
	return key == K_ATTN_SCALE;
}

const struct arch arch_gemma3n = {
	.gguf = "gemma3n",
	.hf = { "Gemma3nForCausalLM" },
	.like = &arch_llama,
	.rope = { ROPE_HALVES, ROPE_HALVES },
	.expect = arch_expect_gelu,
	.tensors = { group_pre_ffn_norm, group_post_norms, group_keeps, group_layer_inputs,
	             group_streams, group_side },
	.member = member,
	.must = "head_dim num_key_value_heads sliding_window layer_types rope.rope_theta"
		" num_kv_shared_layers hidden_size_per_layer_input altup_num_inputs"
		" activation_sparsity_pattern final_logit_softcapping",
	.read = { slides, arch_read_unscaled, arch_read_own_base, arch_read_shared_kv,
	          arch_read_layer_embd, arch_read_altup, arch_read_gauss_topk },
	.block = arch_altup_block,
};
