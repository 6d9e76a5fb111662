/* arch/arch.h - architectures as data: keys, tensors, and the block that joins them.  One const row per architecture in
 * arch_list.h; a row says only what differs from the row it is `like`. */
#ifndef ARCH_ARCH_H
#define ARCH_ARCH_H
#include <stddef.h>
#include <stdint.h>
#include <infer/model.h>
#include "backend/backend.h"
#include "base/arena.h"
#include "graph/graph.h"

enum arch_slot {   /* model-wide, then per layer */
	W_END, W_TOKEN_EMBD, W_OUTPUT_NORM, W_OUTPUT, W_ROPE_FREQS, W_ROPE_LONG, W_ROPE_SHORT, W_GLOBALS,
	W_ATTN_NORM = W_GLOBALS, W_Q, W_K, W_V, W_O, W_Q_BIAS, W_K_BIAS, W_V_BIAS, W_O_BIAS, W_Q_NORM, W_K_NORM, W_ATTN_POST_NORM,
	W_FFN_NORM, W_GATE, W_UP, W_DOWN, W_GATE_BIAS, W_UP_BIAS, W_DOWN_BIAS, W_FFN_POST_NORM,
	W_ROUTER, W_GATE_EXPS, W_UP_EXPS, W_DOWN_EXPS, W_SLOTS
};
enum arch_dim { D_END, D_VOCAB, D_EMBD, D_HEAD, D_V_HEAD, D_Q, D_KV_K, D_KV_V, D_O, D_FF, D_HALF_ROT, D_EXPERTS, D_EXPERT_FF };
enum arch_need { ARCH_MUST, ARCH_MAY };
/* closed; what makes the HF tensor the GGUF one; T_ROWS: from a to b */
enum arch_transform { T_NONE, T_PLUS1, T_PAIRS, T_NEG_EXP, T_ROWS, T_EVEN_ROWS, T_ODD_ROWS, T_STACK };
struct arch_tensor {
	int     slot;
	const char *gguf;           /* "blk.%d.attn_q.weight" without the suffix ".weight" or with ".bias" written out */
	const char *hf[2];          /* hf[1]: another spelling */
	uint8_t shape[4];           /* enum arch_dim, ne[0] first */
	uint8_t need;               /* enum arch_need */
	enum arch_transform how; int16_t a, b;
};
enum rope_mode { ROPE_NONE, ROPE_PAIRS, ROPE_HALVES };

enum { ARCH_MAX_LAYERS = 1024, ARCH_MAX_EXPERTS = 1024 };
struct arch_rope {              /* what one frequency table is made from */
	double base, factor;        /* factor 0: none */
	int    kind;                /* enum arch_scaling */
	double attn_factor, beta_fast, beta_slow, ext_factor;   /* YaRN, longrope */
	int64_t orig_ctx;
};
enum arch_scaling { SCALING_NONE, SCALING_LINEAR, SCALING_YARN, SCALING_LONGROPE };   /* llama3: divisors in rope_freqs */
struct arch_hparam {            /* checked and bounded; one value per model, arrays per layer where a file may say so */
	int32_t n_vocab, n_layers, n_embd, n_head, n_head_kv, dk, dv, n_ff, n_rot, ctx_train;
	int32_t n_expert, n_expert_used, n_expert_ff, expert_gating, expert_norm;
	float   eps, expert_scale;
	float   embd_scale, residual_scale, logit_scale, attn_scale, attn_cap, logit_cap;   /* 0: 1, or off */
	int32_t window;             /* of sliding-window layers; 0: none */
	uint8_t windowed[ARCH_MAX_LAYERS];       /* 1: layer slides */
	struct arch_rope rope[2];   /* [1]: of windowed layers, where they differ */
	int     n_ropes;
	enum rope_mode rope_mode;
};

struct arch_model;              /* = infer_model */
struct arch {
	const char *gguf;           /* general.architecture */
	const char *hf[3];          /* config.json: architectures[0] */
	const struct arch *like;
	const struct arch_tensor *tensors;      /* the base row's: all of them */
	const struct arch_tensor *add;          /* on top of like's; closed by W_END */
	enum rope_mode rope_gguf, rope_hf;
	int  (*hparam)(struct arch_hparam *h, const infer_file *f, const char *arch, infer_error *err);   /* more keys; NULL: none */
	int  (*block)(struct graph *g, const struct infer_model *m, int layer, int32_t *x);               /* NULL: arch_block */
};

/* The parts of an open model that the floors above read. */
struct infer_model {
	const struct arch *arch;
	infer_file *file;
	infer_tokenizer *tok;
	struct arch_hparam h;
	struct weight *weights; int n_weights;
	int32_t global[W_GLOBALS];              /* slot -> index of a weight, -1: not there */
	int32_t (*layer)[W_SLOTS];              /* [n_layers][slot] */
	struct graph graph;
	struct backend_rope ropes[2]; int n_ropes;
	uint64_t private_bytes;
	struct arena arena;
};

const struct arch *arch_find(struct infer_str gguf_name);
int arch_hparam_read(struct arch_hparam *h, const struct arch *a, const infer_file *f, infer_error *err);
int arch_bind(struct infer_model *m, infer_error *err);          /* names -> slots, shapes checked */
int arch_rope_init(struct infer_model *m, int32_t ctx, infer_error *err);
int arch_graph_build(struct infer_model *m, infer_error *err);
/* blocks: each takes node x and returns the node behind it, -1 on failure (graph bad) */
int32_t arch_attention(struct graph *g, const struct infer_model *m, int layer, int32_t x);
int32_t arch_mlp(struct graph *g, const struct infer_model *m, int layer, int32_t x);
int32_t arch_moe(struct graph *g, const struct infer_model *m, int layer, int32_t x);
#endif
