/* arch/dims.h - the dimensions of tensors by what they depend on.  Read through arch.h. */
#ifndef ARCH_DIMS_H
#define ARCH_DIMS_H
#include <stdint.h>

struct arch_hparam;
enum arch_dim {
	D_END,
	D_VOCAB,
	D_EMBD,
	D_HEAD,
	D_Q, /* where heads are gated, with a gate behind each */
	D_KV_K,
	D_KV_V,
	D_O,
	D_FF,
	D_HALF_ROT,
	D_HEADS,
	D_ONE,
	D_EXPERTS,
	D_EXPERT_FF,
	D_SHARED_FF,
	D_STATE_QKV,
	D_STATE_O,
	D_STATE_V, /* of one head */
	D_STATE_HEADS,
	D_STATE_PAIRS, /* two for each head */
	D_STATE_GROUP, /* of channels that share q and k */
	D_STATE_GROUPS,
	D_TAPS,
	D_Q_RANK,
	D_NOPE, /* of a head, what does not rotate */
	D_V_HEAD,
	D_KV_B,
	D_LAYER_EMBD,
	D_LAYERS_EMBD, /* of all layers */
	D_CONTEXT,
	D_SEGMENTS, /* of a text that have rows of their own */
	D_RANKS,
	D_DENSE_2,
	D_DENSE_3,
	D_ALTUP,
	D_ALTUP_PAIRS,
	D_ALTUP_OTHERS, /* but the first */
	D_LAUREL
};
/* layer: 0 for what belongs to none */
int64_t arch_dim_of(const struct arch_hparam *h, int layer, int dim);
#endif
