/* Gemma 3: as Gemma 2 without caps, with heads of q and k normed; five layers slide, with a RoPE
 * base of their own, to one that does not.  Gemma Team 2025, arXiv:2503.19786 */
#include "arch/arch.h"

#include <math.h>

extern const struct arch arch_gemma2;

static const struct arch_tensor tensors[] = {
	{ W_Q_NORM,
	  "attn_q_norm.weight",
	  { "self_attn.q_norm.weight" },
	  { D_HEAD },
	  ARCH_MUST,
	  T_PLUS1 },
	{ W_K_NORM,
	  "attn_k_norm.weight",
	  { "self_attn.k_norm.weight" },
	  { D_HEAD },
	  ARCH_MUST,
	  T_PLUS1 },
	{ W_END },
};

/* The largest of the family divides by the width of a head that it does not have: embedding /
 * heads. */
enum { LAYERS_27B = 62 };

static int hparam(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	int rc;

	h->act = ACT_GELU;
	h->embd_scale = sqrtf((float)h->n_embd);
	if (h->attn_scale == 0 && h->n_layers == LAYERS_27B)
		h->attn_scale = 1 / sqrtf((float)(h->n_embd / h->n_head));
	rc = arch_key_float(r, K_LOGIT_CAP, &h->logit_cap, 0, 1e6, err);
	if (!rc)
		rc = arch_key_slides(r, h, 6, err);
	if (rc || !h->window)
		return rc;
	h->rope[1] = (struct arch_rope){ .base = 10000, .attn_factor = 1 };
	h->n_ropes = 2;
	return arch_key_double(r, K_ROPE_BASE_SWA, &h->rope[1].base, 1, 1e12, err);
}

static const char *const must[] = { "head_dim", "query_pre_attn_scalar", "sliding_window",
	                            "rope.rope_theta", NULL };

const struct arch arch_gemma3 = { .gguf = "gemma3",
	                          .hf = { "Gemma3ForCausalLM" },
	                          .like = &arch_gemma2,
	                          .tensors = tensors,
	                          .must = must,
	                          .hparam = hparam };
