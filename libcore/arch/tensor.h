/* arch/tensor.h - tensors of a model: slots, shapes, and how a Hugging Face tensor is transformed
 * into the GGUF tensor.  Read through arch.h. */
#ifndef ARCH_TENSOR_H
#define ARCH_TENSOR_H
#include <stdint.h>
#include "arch/dims.h"

/* the convention of a file's tensor names and row orders */
enum arch_naming { ARCH_GGUF, ARCH_HF };
/* roles of tensors: global ones, then those of a layer */
enum arch_slot {
	W_END,
	W_TOKEN_EMBD,
	W_OUTPUT_NORM,
	W_OUTPUT,
	W_OUTPUT_BIAS,
	W_ROPE_FREQS,
	W_ROPE_LONG,
	W_ROPE_SHORT,
	W_LAYER_EMBD, /* per-layer embeddings: table, projection of the input, norm of that */
	W_LAYER_EMBD_PROJ,
	W_LAYER_EMBD_NORM,
	W_ALTUP_SPLIT, /* AltUp: projections from the input to the other streams, and back */
	W_ALTUP_MERGE,
	W_POSITION, /* encoders: tables by position and by segment; norm of the sum */
	W_SEGMENT,
	W_EMBD_NORM,
	W_EMBD_NORM_BIAS,
	W_HEAD, /* classification head: dense layer, norm, scores */
	W_HEAD_BIAS,
	W_HEAD_NORM,
	W_RANK,
	W_RANK_BIAS,
	W_DENSE_2, /* projections from hidden state to embedding, applied in order */
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
	W_Q_A, /* MLA: LoRA of Q, the compressed KV, its projections to K and V */
	W_Q_A_NORM,
	W_Q_B,
	W_KV_A,
	W_KV_A_BIAS,
	W_Q_A_BIAS,
	W_KV_A_NORM,
	W_K_B,
	W_V_B,
	W_KV_B, /* W_K_B and W_V_B in one (older files): arch_split_kv_b */
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
	W_MLP_POST_NORM, /* experts in parallel with a dense FFN: norm after the FFN */
	W_MOE_NORM,      /* before and after the experts */
	W_MOE_POST_NORM,
	W_ROUTER_NORM, /* norm of the router's input */
	W_EXPERT_SCALE,
	W_INPUT_GATE, /* how a layer adds its per-layer embedding */
	W_INPUT_PROJ,
	W_INPUT_NORM,
	W_LAYER_SCALE,
	W_ALTUP_ROUTER, /* AltUp: router, its norm, prediction and correction */
	W_ALTUP_NORM,
	W_ALTUP_PREDICT,
	W_ALTUP_CORRECT,
	W_ALTUP_CORRECT_SCALE,
	W_LAUREL_IN, /* LAuReL: low-rank branch in parallel with attention */
	W_LAUREL_OUT,
	W_LAUREL_NORM,
	W_FFN_POST_NORM_BIAS,
	W_ROUTER,
	W_ROUTER_BIAS,
	W_ROUTER_SELECT_BIAS, /* added to the scores to choose experts, but not to their weights */
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
	W_STATE_GATE, /* recurrent layers */
	W_STATE_QKV,
	W_STATE_BETA_DECAY, /* W_STATE_BETA and W_STATE_DECAY in one tensor, by k head */
	W_STATE_BETA,
	W_STATE_DECAY,
	W_STATE_CONV,
	W_STATE_CONV_BIAS,
	W_STATE_SKIP, /* y += skip * v */
	W_STATE_DECAY_BIAS,
	W_STATE_DECAY_RATE,
	W_STATE_NORM,
	W_STATE_OUT,
	W_CONV_B, /* short convolution: C * conv1d(B * X) */
	W_CONV_C,
	W_CONV_X,
	W_SHORT_CONV,
	W_UNUSED, /* known but not used: see tensor_list.h */
	W_SLOTS
};
/* which layers require a tensor */
enum arch_need {
	ARCH_MUST,       /* always */
	ARCH_MAY,        /* never required, always allowed */
	ARCH_DENSE,      /* without experts */
	ARCH_EXPERTS,    /* with experts */
	ARCH_SHARED,     /* with a shared expert */
	ARCH_ATTENDS,    /* attention layers */
	ARCH_RECURRENT,  /* recurrent layers */
	ARCH_Q_DIRECT,   /* MLA without LoRA of Q */
	ARCH_Q_LORA,     /* MLA with LoRA of Q */
	ARCH_OWN_KV,     /* layers that do not read K and V of another layer */
	ARCH_OWN_V,      /* as OWN_KV, but optional in layers without a window */
	ARCH_LAYER_EMBD, /* models with per-layer embeddings */
	ARCH_NOT_FIRST   /* all layers but the first */
};
/* How a Hugging Face tensor is transformed into the GGUF tensor: rows of each matrix, or elements
 * of a vector. */
enum arch_transform {
	T_NONE,
	T_PLUS1, /* x + 1 */
	T_GAIN,  /* T_PLUS1 if arch.less_one, else T_NONE: arch_transform_of */
	T_PAIRS, /* row i * d/2 + m of a head of d rows becomes row 2m + i: arch_transform_of */
	T_ROWS,  /* drop the first arch_hparam.first_position rows */
	T_STACK, /* concatenate the tensors of all experts */
	/* transpose each expert, then take T_EVEN: rows 0, 2, 4 ...; T_ODD: rows 1, 3, 5 ...;
	 * T_TURN: all rows */
	T_EVEN,
	T_ODD,
	T_TURN,
	T_NEG_EXP, /* -e^x */
	/* split rows stored as q, k, v, z of each k head. T_BY_HEAD: all q, then all k, then all v;
	 * T_BY_HEAD_Z: all z */
	T_BY_HEAD,
	T_BY_HEAD_Z,
	/* Reorder heads of V from grouped by k head (all heads of k head 0 first) to tiled (one
	 * head of each k head in turn): T_TILED_V: of the rows after Q and K; T_TILED_COLS: of
	 * columns; T_TILED_NEG_EXP: also -e^x */
	T_TILED,
	T_TILED_V,
	T_TILED_COLS,
	T_TILED_NEG_EXP
};
/* A tensor of an architecture. gguf NULL: the architecture does not have it, though its `like` row
 * does.  Rows of one name are parts of one tensor, in the order of their slots. */
struct arch_tensor {
	int slot;
	const char *gguf; /* global: the whole name; of a layer: the part after "blk.N." */
	/* the same in Hugging Face checkpoints; %d: number of the expert. [1]: an alternative name.
	 * NULL: none; the tensor is made from config.json, or no checkpoint has it */
	const char *hf[2];
	uint8_t shape[3]; /* enum arch_dim, ne[0] first */
	uint8_t need;     /* enum arch_need */
	enum arch_transform how;
};
#endif
