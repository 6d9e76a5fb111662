/* Gemma 4: layers without a window have heads of another size and partial RoPE; V is normalised,
 * and is K if there is no W_V. Some models have experts in parallel with the dense FFN, per-layer
 * embeddings, or last layers that share K and V. Gemma Team 2026,
 * https://ai.google.dev/gemma/docs/core */
#include "arch/arch.h"

#include <math.h>

extern const struct arch arch_llama;

static int router(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	h->router_mul = h->n_expert ? 1 / sqrtf((float)h->n_embd) : 0;
	return arch_read_unscaled(h, r, err);
}

static const struct json *present(const struct json *v) { return json_is_null(v) ? NULL : v; }

/* Return a member of per_layer_config; keys_hf_lists.c checks that all layers have the same. */
static const struct json *by_layer(const struct arch_keys *k, const char *name)
{
	return present(json_get(json_first(arch_keys_plain(k, K_BY_LAYER)), name));
}

/* In config.json head_dim is that of windowed layers; GGUF files have another key for these. */
static int member(const struct arch_keys *k, enum arch_key key, const struct json **v,
                  struct json *room)
{
	const struct json *full = arch_keys_plain(k, K_K_LENGTH_SWA);

	(void)room;
	full = full ? full : by_layer(k, "head_dim");
	switch (key) {
	case K_K_LENGTH:
	case K_V_LENGTH:
		*v = full ? full : *v;
		return 1;
	case K_K_LENGTH_SWA:
	case K_V_LENGTH_SWA:
		*v = full ? arch_keys_plain(k, K_K_LENGTH) : NULL;
		return 1;
	case K_HEADS_KV_FULL:
		if (arch_keys_plain(k, K_BY_LAYER))
			*v = by_layer(k, "num_key_value_heads");
		else if (!json_is(arch_keys_plain(k, K_K_IS_V), JSON_TRUE))
			*v = NULL;
		return 1;
	case K_EXPERTS:
	case K_EXPERTS_USED:
	case K_EXPERT_FF:
		if (json_is(arch_keys_plain(k, K_HAS_EXPERTS), JSON_FALSE))
			*v = NULL;
		return 1;
	case K_BIDIRECTIONAL: /* only images are bidirectional */
		*v = json_equals(*v, "vision") ? NULL : *v;
		return 1;
	default:
		return key == K_ATTN_SCALE; /* absent; query_pre_attn_scalar is ignored */
	}
}

const struct arch arch_gemma4 = {
	.gguf = "gemma4",
	.hf = { "Gemma4ForCausalLM" },
	.like = &arch_llama,
	.rope = { ROPE_HALVES, ROPE_HALVES },
	.expect = arch_expect_gelu,
	.tensors = { group_pre_ffn_norm, group_post_norms, group_gemma4, group_beside_experts,
	             group_layer_inputs },
	.member = member,
	.must = "head_dim num_key_value_heads sliding_window layer_types rope.rope_theta "
		"hidden_size_per_layer_input",
	.read = { router, arch_read_most_slide, arch_read_own_base, arch_read_heads,
	          arch_read_shared_kv, arch_read_layer_embd },
};
