/* Gemma 2: a norm behind each branch too, capped scores and logits, every other layer slides. Gemma
 * Team 2024, arXiv:2408.00118 */
#include "arch/arch.h"

#include <math.h>

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
	{ W_ATTN_POST_NORM,
	  "post_attention_norm.weight",
	  { "post_attention_layernorm.weight" },
	  { D_EMBD },
	  ARCH_MUST,
	  T_PLUS1 },
	{ W_FFN_NORM,
	  "ffn_norm.weight",
	  { "pre_feedforward_layernorm.weight" },
	  { D_EMBD },
	  ARCH_MUST,
	  T_PLUS1 },
	{ W_FFN_POST_NORM,
	  "post_ffw_norm.weight",
	  { "post_feedforward_layernorm.weight" },
	  { D_EMBD },
	  ARCH_MUST,
	  T_PLUS1 },
	{ W_END },
};

/* The largest of the family divides by the width of a head that it does not have: embedding /
 * heads. */
enum { LAYERS_27B = 46 };

static int hparam(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	int rc;

	h->act = ACT_GELU;
	h->embd_scale = sqrtf((float)h->n_embd);
	if (h->attn_scale == 0 && h->n_layers == LAYERS_27B)
		h->attn_scale = 1 / sqrtf((float)(h->n_embd / h->n_head));
	h->attn_cap = 50;
	h->logit_cap = 30;
	h->window = 4096;
	rc = arch_key_float(r, K_ATTN_CAP, &h->attn_cap, 0, 1e6, err);
	if (!rc)
		rc = arch_key_float(r, K_LOGIT_CAP, &h->logit_cap, 0, 1e6, err);
	return rc ? rc : arch_key_slides(r, h, 2, err);
}

static const struct arch_expect expect[] = { { "hidden_activation", "gelu_pytorch_tanh" },
	                                     { NULL, NULL } };
static const char *const must[] = { "head_dim",
	                            "query_pre_attn_scalar",
	                            "sliding_window",
	                            "attn_logit_softcapping",
	                            "final_logit_softcapping",
	                            NULL };

const struct arch arch_gemma2 = { .gguf = "gemma2",
	                          .hf = { "Gemma2ForCausalLM" },
	                          .like = &arch_llama,
	                          .tensors = tensors,
	                          .rope = { ROPE_HALVES, ROPE_HALVES },
	                          .must = must,
	                          .expect = expect,
	                          .hparam = hparam };
