/* arch/tensor.h - the tensors that a block asks for: their slots, shapes and the change that makes
 * a Hugging Face tensor the GGUF one.  Read through arch.h. */
#ifndef ARCH_TENSOR_H
#define ARCH_TENSOR_H
#include <stdint.h>
#include "arch/dims.h"

/* the convention for names and rows in a checkpoint: the columns of struct arch_tensor */
enum arch_naming { ARCH_GGUF, ARCH_HF };
/* model-wide, then per layer */
enum arch_slot {
	W_END,
	W_TOKEN_EMBD,
	W_OUTPUT_NORM,
	W_OUTPUT,
	W_OUTPUT_BIAS,
	W_ROPE_FREQS,
	W_ROPE_LONG,
	W_ROPE_SHORT,
	W_LAYER_EMBD, /* an embedding of each token for each layer */
	W_LAYER_EMBD_PROJ,
	W_LAYER_EMBD_NORM,
	W_ALTUP_SPLIT, /* projections from the first stream to the others, and back */
	W_ALTUP_MERGE,
	W_POSITION, /* of encoders: rows by position, by part of the text; the norm of what goes in */
	W_SEGMENT,
	W_EMBD_NORM,
	W_EMBD_NORM_BIAS,
	W_HEAD, /* what scores a text: a layer and its activation, and the scores */
	W_HEAD_BIAS,
	W_HEAD_NORM,
	W_RANK,
	W_RANK_BIAS,
	W_DENSE_2, /* projections of a state to an embedding, one after the other */
	W_DENSE_3,
	W_UNUSED_IDS,
	W_GLOBALS,
	W_ATTN_NORM = W_GLOBALS,
	W_Q,
	W_K,
	W_V,
	W_O,
	W_Q_BIAS,
	W_K_BIAS,
	W_V_BIAS,
	W_O_BIAS,
	W_Q_NORM,
	W_K_NORM,
	W_SINKS,
	W_Q_A, /* latent attention: queries in two steps, keys and values out of one latent */
	W_Q_A_NORM,
	W_Q_B,
	W_KV_A,
	W_KV_A_BIAS,
	W_Q_A_BIAS,
	W_KV_A_NORM,
	W_K_B,
	W_V_B,
	W_KV_B, /* both, as older files have it; bind.c makes W_K_B and W_V_B of it */
	W_ATTN_POST_NORM,
	W_ATTN_POST_NORM_BIAS,
	W_FFN_NORM,
	W_GATE,
	W_UP,
	W_DOWN,
	W_GATE_BIAS,
	W_UP_BIAS,
	W_DOWN_BIAS,
	W_FFN_POST_NORM,
	W_MLP_POST_NORM, /* where experts stand beside the dense part: its norm, then theirs */
	W_MOE_NORM,
	W_MOE_POST_NORM,
	W_ROUTER_NORM, /* the router's own, of the row */
	W_EXPERT_SCALE,
	W_INPUT_GATE, /* the layer's part of W_LAYER_EMBD */
	W_INPUT_PROJ,
	W_INPUT_NORM,
	W_LAYER_SCALE,
	W_ALTUP_ROUTER, /* of streams: the router, the prediction and the correction */
	W_ALTUP_NORM,
	W_ALTUP_PREDICT,
	W_ALTUP_CORRECT,
	W_ALTUP_CORRECT_SCALE,
	W_LAUREL_IN, /* the branch beside attention */
	W_LAUREL_OUT,
	W_LAUREL_NORM,
	W_FFN_POST_NORM_BIAS,
	W_ROUTER,
	W_ROUTER_BIAS,
	W_ROUTER_SELECT_BIAS, /* added to the scores for the choice alone */
	W_GATE_EXPS,
	W_UP_EXPS,
	W_DOWN_EXPS,
	W_GATE_EXPS_BIAS,
	W_UP_EXPS_BIAS,
	W_DOWN_EXPS_BIAS,
	W_SHARED_ROUTER,
	W_GATE_SHARED,
	W_UP_SHARED,
	W_DOWN_SHARED,
	W_STATE_GATE, /* of recurrent layers */
	W_STATE_QKV,
	W_STATE_BETA_DECAY, /* rows of W_STATE_BETA and W_STATE_DECAY, by k head */
	W_STATE_BETA,
	W_STATE_DECAY,
	W_STATE_CONV,
	W_STATE_CONV_BIAS,
	W_STATE_SKIP, /* factor of v that is added to the output of the state */
	W_STATE_DECAY_BIAS,
	W_STATE_DECAY_RATE,
	W_STATE_NORM,
	W_STATE_OUT,
	W_CONV_B, /* of layers that convolve: x is multiplied by B before, by C behind */
	W_CONV_C,
	W_CONV_X,
	W_SHORT_CONV,
	W_UNUSED, /* known, and of no use to us: tensor_list.h says why */
	W_SLOTS
};
/* When a tensor has to be there, else it is refused: in layers without, with experts, or with those that every
 * row takes; that attend, that are recurrent; queries in one step, in two; in layers that keep K and V, of no use
 * in others (ARCH_OWN_V: where it slides, else V may be K); with embeddings for each layer; in all but the first */
enum arch_need {
	ARCH_MUST,
	ARCH_MAY,
	ARCH_DENSE,
	ARCH_EXPERTS,
	ARCH_SHARED,
	ARCH_ATTENDS,
	ARCH_RECURRENT,
	ARCH_Q_DIRECT,
	ARCH_Q_LORA,
	ARCH_OWN_KV,
	ARCH_OWN_V,
	ARCH_LAYER_EMBD,
	ARCH_NOT_FIRST
};
/* What makes the Hugging Face tensor the GGUF one, by rows of each matrix or elements of a vector. */
enum arch_transform {
	T_NONE,
	T_PLUS1, /* x to x + 1 */
	T_GAIN,  /* T_PLUS1 where arch.less_one says so, else T_NONE; see arch_transform_of */
	T_PAIRS, /* row i d/2 + m of a head of d becomes row 2m + i; see arch_transform_of */
	T_ROWS,  /* without the first arch_hparam.first_position rows */
	T_STACK, /* one tensor for each expert, which stand behind each other */
	T_EVEN, /* rows 0, 2, 4 ... of each matrix, T_ODD the others; in a checkpoint the matrices of */
	T_ODD, /* experts are transposed, and so they are with T_TURN, which takes all rows */
	T_TURN,
	T_NEG_EXP, /* x to -e^x */
	/* rows of each k head's q, k, v and z: all q, then all k, then all v; T_BY_HEAD_Z: all z */
	T_BY_HEAD,
	T_BY_HEAD_Z,
	/* heads of v beside those of their k head: those of one k head as many apart as there are k heads.
	 * Behind q and k in T_TILED_V; of columns in T_TILED_COLS; of -e^x in T_TILED_NEG_EXP */
	T_TILED,
	T_TILED_V,
	T_TILED_COLS,
	T_TILED_NEG_EXP
};
/* A row without names takes the slot away: the architecture has none, though the row it is like has.
 * Rows of one name are parts of one tensor, its rows in the order of the slots. */
struct arch_tensor {
	int slot;
	const char *gguf; /* whole name, or what follows "blk.N." */
	/* whole name, or what follows arch.layers and the number; %d: the expert.  [1]: another spelling.
	 * NULL: made from config.json, or by no class */
	const char *hf[2];
	uint8_t shape[3]; /* enum arch_dim, ne[0] first */
	uint8_t need;     /* enum arch_need */
	enum arch_transform how;
};
#endif
