/* arch/hparam.h - the parameters of a model.  Read through arch.h. */
#ifndef ARCH_HPARAM_H
#define ARCH_HPARAM_H
#include <stdint.h>

enum arch_rope_mode { ROPE_NONE, ROPE_PAIRS, ROPE_HALVES };
/* llama3: divisors in rope_freqs */
enum arch_scaling { SCALING_NONE, SCALING_LINEAR, SCALING_YARN, SCALING_LONGROPE };
/* as ROUTE has it */
enum arch_gating { GATING_SOFTMAX, GATING_SIGMOID };
/* as MOE has it */
enum arch_act { ACT_SILU, ACT_GELU, ACT_SWIGLU, ACT_GELU_ERF };

enum { ARCH_MAX_LAYERS = 1024, ARCH_MAX_EXPERTS = 1024 };
/* what one frequency table is made from */
struct arch_rope {
	double base;
	int scaling; /* enum arch_scaling */
	double factor, ext_factor, beta_fast, beta_slow;
	double attn_factor;      /* cos and sin are multiplied by this, and by what follows */
	double yarn_attn_factor; /* 0: from factor */
	int exact;               /* YaRN: the bounds of its ramp are not rounded */
	int has_attn_factor;     /* longrope: in the file; else from the contexts */
	int64_t orig_ctx;
	int has_divisors; /* llama3 in config.json: W_ROPE_FREQS has to be there */
};
/* sizes of a head, and what of it rotates */
struct arch_heads {
	int32_t dk, dv, n_rot;
};
/* checked and bounded: products of any two stay below 2^62 */
struct arch_hparam {
	int32_t n_vocab, n_layers, n_embd, n_head, n_head_kv, dk, dv, n_ff, n_rot, ctx_train;
	int32_t n_expert, n_expert_used, n_expert_ff, expert_gating, expert_norm; /* 0: dense */
	int32_t n_shared_ff;                     /* of the experts that every row takes; 0: none */
	int32_t n_next;                          /* layers of the file behind the n_layers */
	int32_t n_dense;                         /* layers at the front without experts */
	int32_t groups, groups_used, group_best; /* of experts, as ROUTE has them; 0: none */
	/* latent attention: dk, dv and the one KV head are of the cache, whose rows are a latent and
	 * what rotates; these are of the heads.  kv_rank 0: none; q_rank 0: queries in one step */
	int32_t kv_rank, q_rank, k_head, v_head;
	float latent_eps;        /* of the norms between the steps */
	float act_limit;         /* of ACT_SWIGLU */
	float eps, expert_scale; /* scales: 0 is 1 */
	float embd_scale, residual_scale, logit_scale, attn_scale;
	float attn_cap, logit_cap; /* 0: none */
	int32_t act;               /* enum arch_act */
	int32_t window;            /* positions a row of a sliding layer sees; 0: none does */
	int chunked; /* a row sees the chunk of window positions that it is in, not those behind it */
	uint8_t windowed[ARCH_MAX_LAYERS]; /* 1: the layer slides */
	struct arch_heads slides;          /* of layers that slide; dk, dv, n_rot of the others */
	int32_t kv_heads[ARCH_MAX_LAYERS]; /* n_head_kv is the most of them; 0: recurrent */
	int32_t ff[ARCH_MAX_LAYERS];       /* n_ff is the most of them */
	int32_t borrows;                   /* layers at the end without K and V: arch_keeper */
	int32_t layer_embd; /* floats of a token's own embedding for each layer; 0: there is none */
	int32_t streams; /* of rows, of which a layer computes the first; 0: there are no others */
	int32_t n_side;  /* width of the branch beside attention; 0: there is none */
	/* in standard deviations above the mean: where a gate of the FFN begins to let through */
	float cut[ARCH_MAX_LAYERS];
	uint8_t cuts[ARCH_MAX_LAYERS];      /* 1: gates of the layer are cut there */
	int norm_v;                         /* heads of v are normed, without a weight */
	float router_mul;                   /* factor of the router's weights; 0 means 1 */
	uint8_t still[ARCH_MAX_LAYERS];     /* 1: the layer rotates nothing */
	uint8_t recurrent[ARCH_MAX_LAYERS]; /* 1: the layer keeps a state, no K and V */
	int32_t state;                      /* floats of it; 0: no layer does */
	/* of recurrent layers: heads of q and k, of v, their sizes, rows that a convolution sees */
	int32_t state_k_heads, state_heads, state_dk, state_dv, taps;
	int state_tiled; /* in GGUF files the k head of head h is h mod state_k_heads */
	int gated;       /* rows of W_Q are a head and its gate in turns */
	/* queries grow by temper ln(1 + floor((position + temper_from) / temper_length)); 0: not */
	float temper;
	int32_t temper_length, temper_from;
	int temper_still;   /* in layers alone that rotate nothing */
	int late_norm;      /* heads of q and k that rotate are normed behind that, without gains */
	int weights_inside; /* of experts: they multiply the input */
	int32_t experts_step;     /* of so many layers the last has experts; 0: each has */
	struct arch_rope rope[2]; /* [1]: of windowed layers, where n_ropes is 2 */
	int32_t n_ropes;
	int both_ways; /* rows see all rows of their text, of sliding layers half a window each way */
	int centred;   /* norms subtract the mean */
	int head_gelu;          /* GELU, not tanh, after W_HEAD */
	int head_mean;          /* the head scores the mean of all rows, not the first row */
	int32_t first_position; /* the row of W_POSITION in the file for position 0 */
	/* rows of W_PART, of W_RANK, W_DENSE_2, W_DENSE_3; 0: there is none */
	int32_t n_parts, n_ranks, n_dense_2, n_dense_3;
};

static inline int arch_has_experts(const struct arch_hparam *h, int layer)
{
	return h->n_expert && layer >= h->n_dense &&
	       (!h->experts_step || (layer + 1) % h->experts_step == 0);
}
static inline struct arch_heads arch_heads_of(const struct arch_hparam *h, int layer)
{
	return h->windowed[layer] ? h->slides : (struct arch_heads){ h->dk, h->dv, h->n_rot };
}
/* The layer whose K and V a layer reads: itself, or the last of its kind that keeps them; -1: there is none. */
static inline int arch_keeper(const struct arch_hparam *h, int layer)
{
	int i = h->n_layers - h->borrows;

	if (layer < i)
		return layer;
	while (--i >= 0 && h->windowed[i] != h->windowed[layer])
		;
	return i;
}
#endif
