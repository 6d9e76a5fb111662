/* Gemma 2: a norm after each branch too, soft-capped scores and logits, a window in every other
 * layer. Gemma Team 2024, arXiv:2408.00118 */
#include "arch/arch.h"

#include <math.h>

extern const struct arch arch_llama;

/* Layers of the largest Gemma 2 and 3, whose attention scale is 1 / sqrt(n_embd / n_head) instead of
 * 1 / sqrt(dk). */
enum { LAYERS_27B = 46, LAYERS_27B_3 = 62 };

int arch_read_gemma(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	int largest = h->n_layers == LAYERS_27B || h->n_layers == LAYERS_27B_3;

	h->act = ACT_GELU;
	h->embd_scale = sqrtf((float)h->n_embd);
	if (h->attn_scale == 0 && largest)
		h->attn_scale = 1 / sqrtf((float)(h->n_embd / h->n_head));
	return arch_key_float(r, K_LOGIT_CAP, &h->logit_cap, 0, 1e6, err);
}

int arch_read_unscaled(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	h->attn_scale = h->attn_scale == 0 ? 1 : h->attn_scale;
	h->norm_v = 1;
	return arch_read_gemma(h, r, err);
}

static int caps(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	h->attn_cap = 50;
	h->logit_cap = 30;
	h->window = 4096;
	return arch_key_float(r, K_ATTN_CAP, &h->attn_cap, 0, 1e6, err);
}

const struct arch_expect arch_expect_gelu[] = { { "hidden_activation", "gelu_pytorch_tanh" },
	                                        { NULL, NULL } };

const struct arch arch_gemma2 = {
	.gguf = "gemma2",
	.hf = { "Gemma2ForCausalLM" },
	.like = &arch_llama,
	.tensors = { group_pre_ffn_norm, group_post_norms },
	.less_one = 1,
	.rope = { ROPE_HALVES, ROPE_HALVES },
	.must = "head_dim query_pre_attn_scalar sliding_window attn_logit_softcapping "
		"final_logit_softcapping",
	.expect = arch_expect_gelu,
	.read = { caps, arch_read_gemma, arch_read_half_slide },
};
