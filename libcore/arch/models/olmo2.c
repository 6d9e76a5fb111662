/* OLMo 2 and 3: norms behind the branches and none before, queries and keys normed over all heads
 * together; OLMo 3 slides, and scales the rotation of the other layers alone.  OLMo Team 2025, arXiv:2501.00656 */
#include "arch/arch.h"

extern const struct arch arch_llama;

static const struct arch_tensor tensors[] = {
	{ W_ATTN_NORM },
	{ W_FFN_NORM },
	{ W_ATTN_POST_NORM,
	  "post_attention_norm.weight",
	  { "post_attention_layernorm.weight" },
	  { D_EMBD },
	  ARCH_MUST },
	{ W_FFN_POST_NORM,
	  "post_ffw_norm.weight",
	  { "post_feedforward_layernorm.weight" },
	  { D_EMBD },
	  ARCH_MUST },
	{ W_Q_NORM, "attn_q_norm.weight", { "self_attn.q_norm.weight" }, { D_Q }, ARCH_MUST },
	{ W_K_NORM, "attn_k_norm.weight", { "self_attn.k_norm.weight" }, { D_KV_K }, ARCH_MUST },
	{ W_END },
};

static int hparam(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	int rc = arch_key_slides(r, h, 4, err);

	h->n_ropes = h->window ? 2 : 1;
	h->rope[1] = (struct arch_rope){ .base = h->rope[0].base, .attn_factor = 1 };
	return rc || !h->window
	               ? rc
	               : arch_key_double(r, K_ROPE_BASE_SWA, &h->rope[1].base, 1, 1e12, err);
}

static const char *const must[] = { "rope.rope_theta", NULL };

const struct arch arch_olmo2 = { .gguf = "olmo2",
	                         .hf = { "Olmo2ForCausalLM", "Olmo3ForCausalLM" },
	                         .like = &arch_llama,
	                         .tensors = tensors,
	                         .rope = { ROPE_HALVES, ROPE_HALVES },
	                         .must = must,
	                         .hparam = hparam };
