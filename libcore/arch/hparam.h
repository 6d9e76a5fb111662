/* arch/hparam.h - hyper-parameters of a model.  Read through arch.h. */
#ifndef ARCH_HPARAM_H
#define ARCH_HPARAM_H
#include <stdint.h>

/* RoPE pairing: columns 2i and 2i + 1 of a head, or i and i + n_rot / 2 */
enum arch_rope_mode { ROPE_NONE, ROPE_PAIRS, ROPE_HALVES };
/* llama3 scaling has no value here: its divisors are the tensor rope_freqs */
enum arch_scaling { SCALING_NONE, SCALING_LINEAR, SCALING_YARN, SCALING_LONGROPE };
enum arch_gating { GATING_SOFTMAX, GATING_SIGMOID }; /* values of route.sigmoid (graph) */
enum arch_act {
	ACT_SILU,
	ACT_GELU,
	ACT_SWIGLU,
	ACT_GELU_ERF
}; /* the first three equal enum graph_act */

enum { ARCH_MAX_LAYERS = 1024, ARCH_MAX_EXPERTS = 1024 };
/* how one RoPE frequency table is computed */
struct arch_rope {
	double base;
	int scaling; /* enum arch_scaling */
	double factor, ext_factor, beta_fast, beta_slow;
	double attn_factor;      /* cos and sin are multiplied by attn_factor * yarn_attn_factor */
	double yarn_attn_factor; /* 0: computed from factor */
	int exact;               /* 1: the bounds of YaRN's ramp are not rounded */
	int has_attn_factor; /* longrope: 1: read from the file; 0: computed from the contexts */
	int64_t orig_ctx;
	int has_divisors; /* 1: W_ROPE_FREQS is required (llama3 in config.json) */
};
/* columns of a head: dk of Q and K, dv of V; n_rot of the dk rotate */
struct arch_heads {
	int32_t dk, dv, n_rot;
};
/* All values are checked and bounded: products of any two stay below 2^62. */
struct arch_hparam {
	int32_t n_vocab, n_layers, n_embd, n_head, n_head_kv, dk, dv, n_ff, n_rot, ctx_train;
	int32_t n_expert, n_expert_used, n_expert_ff, expert_gating, expert_norm; /* 0: dense */
	int32_t n_shared_ff; /* FFN width of the shared expert; 0: none */
	int32_t n_next;      /* MTP layers in the file after n_layers layers; not used */
	int32_t n_dense;     /* leading layers without experts */
	int32_t groups, groups_used, group_best; /* expert groups, as in ROUTE; groups 0: none */
	/* MLA: dk, dv and the one KV head describe a row of the cache: the compressed KV, then the
	 * rotated columns. k_head and v_head are the columns of a head of K and V. kv_rank 0: no
	 * MLA; q_rank 0: Q without LoRA */
	int32_t kv_rank, q_rank, k_head, v_head;
	float mla_norm_eps;      /* eps of the norms of compressed Q and KV */
	float act_limit;         /* limit of ACT_SWIGLU (MOE) */
	float eps, expert_scale; /* expert_scale and the scales below: 0 means 1 */
	float embd_scale, residual_scale, logit_scale, attn_scale;
	float attn_cap, logit_cap; /* soft caps; 0: none */
	int32_t act;               /* enum arch_act */
	int32_t window;            /* sliding window, positions; 0: no layer has one */
	int chunked;               /* 1: the window is the row's chunk, not the last positions */
	uint8_t windowed[ARCH_MAX_LAYERS]; /* 1: the layer has a sliding window */
	struct arch_heads swa_heads;       /* of windowed layers; dk, dv and n_rot: of the others */
	int32_t kv_heads[ARCH_MAX_LAYERS]; /* 0: a recurrent layer; n_head_kv: the largest */
	int32_t ff[ARCH_MAX_LAYERS];       /* FFN width; n_ff: the largest */
	int32_t shared_kv;  /* number of last layers that read K and V of others: arch_kv_layer */
	int32_t layer_embd; /* width of per-layer token embeddings; 0: none */
	int32_t altup_streams; /* AltUp: streams of a layer, which computes the first; 0: no AltUp */
	int32_t laurel_rank;   /* LAuReL: width of the branch in parallel with attention; 0: none */
	float gauss_topk[ARCH_MAX_LAYERS];       /* mul of GAUSS_TOPK on the FFN gate */
	uint8_t has_gauss_topk[ARCH_MAX_LAYERS]; /* 1: the layer has GAUSS_TOPK */
	int norm_v;                              /* 1: RMSNorm of heads of V, without a gain */
	float router_mul;                        /* factor of the router's logits; 0 means 1 */
	uint8_t no_rope[ARCH_MAX_LAYERS];        /* 1: the layer does not rotate Q and K */
	uint8_t recurrent[ARCH_MAX_LAYERS];      /* 1: the layer has a state instead of K and V */
	int32_t state; /* floats of a recurrent layer; 0: no such layers */
	/* recurrent layers: heads of Q and K, heads of V, their columns, taps of the conv1d */
	int32_t state_k_heads, state_heads, state_dk, state_dv, conv_taps;
	int state_tiled; /* 1: GGUF files store head h so that it uses k head h % state_k_heads */
	int attn_gated;  /* 1: each head of W_Q is followed by its output gate */
	/* beta, length and from of ATTN_TEMP; attn_temp 0: no attention temperature */
	float attn_temp;
	int32_t attn_temp_length, attn_temp_from;
	int attn_temp_no_rope;    /* 1: ATTN_TEMP only in layers with no_rope */
	int qk_norm_after_rope;   /* 1: RMSNorm of rotated heads of Q and K, without gains */
	int weight_before_ffn;    /* 1: router weights multiply the inputs of experts */
	int32_t experts_step;     /* n: every n-th layer has experts; 0: all have */
	struct arch_rope rope[2]; /* [1]: for windowed layers, if n_ropes is 2 */
	int32_t n_ropes;
	int bidirectional; /* 1: an encoder; rows attend to later rows, too; windows are centred */
	int centred;       /* 1: LayerNorm, 0: RMSNorm */
	int head_gelu;     /* activation after W_HEAD: 1: GELU, 0: tanh */
	int head_mean;     /* W_HEAD reads 1: the mean of all rows, 0: the first row */
	int32_t first_position; /* row of W_POSITION in the file for position 0 */
	/* rows of W_SEGMENT, W_RANK, W_DENSE_2, W_DENSE_3; 0: the model has no such tensor */
	int32_t n_parts, n_ranks, n_dense_2, n_dense_3;
};

/* True if the layer has experts instead of a dense FFN. */
static inline int arch_has_experts(const struct arch_hparam *h, int layer)
{
	return h->n_expert && layer >= h->n_dense &&
	       (!h->experts_step || (layer + 1) % h->experts_step == 0);
}
/* Return the sizes of a head of the layer. */
static inline struct arch_heads arch_heads_of(const struct arch_hparam *h, int layer)
{
	return h->windowed[layer] ? h->swa_heads : (struct arch_heads){ h->dk, h->dv, h->n_rot };
}
/* Return the layer whose K and V this layer reads: itself, or the last layer with K and V of its
 * own and the same kind of window.  -1: there is none. */
static inline int arch_kv_layer(const struct arch_hparam *h, int layer)
{
	int i = h->n_layers - h->shared_kv;

	if (layer < i)
		return layer;
	while (--i >= 0 && h->windowed[i] != h->windowed[layer])
		;
	return i;
}
#endif
