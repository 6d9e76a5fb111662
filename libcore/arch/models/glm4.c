/* GLM 4: a part of each head rotates, by pairs; a norm behind each branch too; gate and up in one tensor.  GLM Team 2024,
 * arXiv:2406.12793 */
#include "arch/arch.h"

extern const struct arch arch_llama;

static const struct arch_tensor tensors[] = {
	{ W_ATTN_POST_NORM,
	  "post_attention_norm.weight",
	  { "post_self_attn_layernorm.weight" },
	  { D_EMBD },
	  ARCH_MUST },
	{ W_FFN_POST_NORM,
	  "post_ffw_norm.weight",
	  { "post_mlp_layernorm.weight" },
	  { D_EMBD },
	  ARCH_MUST },
	{ W_GATE, "ffn_up.weight", { "mlp.gate_up_proj.weight" }, { D_EMBD, D_FF }, ARCH_MUST },
	{ W_UP, "ffn_up.weight", { "mlp.gate_up_proj.weight" }, { D_EMBD, D_FF }, ARCH_MUST },
	{ W_END },
};

/* Files of the variant with pictures have rows of halves, and say so by these sections alone. */
static int hparam(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	(void)h;
	return arch_key_none(r, K_SECTIONS, err);
}

static const char *const must[] = { "head_dim", "num_key_value_heads", "rope.partial_rotary_factor",
	                            NULL };

const struct arch arch_glm4 = { .gguf = "glm4",
	                        .hf = { "Glm4ForCausalLM" },
	                        .like = &arch_llama,
	                        .tensors = tensors,
	                        .rope = { ROPE_PAIRS, ROPE_PAIRS },
	                        .must = must,
	                        .hparam = hparam };
