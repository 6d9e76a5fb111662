/* Gemma 4: layers that see all have heads of another size than those that slide, and rotate a part of them; V is normed,
 * and K serves as V where there is none.  Some have experts beside the dense part, an embedding of each token for each layer,
 * or layers at the end that read the K and V of others.  Gemma Team 2026, https://ai.google.dev/gemma/docs/core */
#include "arch/arch.h"

#include <math.h>

extern const struct arch arch_llama;

static int router(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	h->router_mul = h->n_expert ? 1 / sqrtf((float)h->n_embd) : 0;
	return arch_read_unscaled(h, r, err);
}

const struct arch arch_gemma4 = {
	.gguf = "gemma4",
	.hf = { "Gemma4ForCausalLM" },
	.like = &arch_llama,
	.rope = { ROPE_HALVES, ROPE_HALVES },
	.expect = arch_expect_gelu,
	.tensors = { group_pre_ffn_norm, group_post_norms, group_gemma4, group_beside_experts,
	             group_layer_inputs },
	.must = "head_dim num_key_value_heads sliding_window layer_types rope.rope_theta "
		"hidden_size_per_layer_input",
	.read = { router, arch_read_most_slide, arch_read_own_base, arch_read_heads,
	          arch_read_borrows, arch_read_layer_embd },
};
