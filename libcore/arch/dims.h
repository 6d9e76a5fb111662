/* arch/dims.h - names of tensor dimensions, computed from hyper-parameters.  Read through
 * arch.h. */
#ifndef ARCH_DIMS_H
#define ARCH_DIMS_H
#include <stdint.h>

struct arch_hparam;
enum arch_dim {
	D_END,
	D_VOCAB,
	D_EMBD,
	D_HEAD,
	D_Q, /* with output gates: twice as wide */
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
	D_STATE_V, /* one head */
	D_STATE_HEADS,
	D_STATE_PAIRS, /* 2 a head */
	D_STATE_GROUP, /* channels that share Q and K */
	D_STATE_GROUPS,
	D_TAPS,
	D_Q_RANK,
	D_NOPE, /* unrotated columns of a head */
	D_V_HEAD,
	D_KV_B,
	D_LAYER_EMBD,
	D_LAYERS_EMBD, /* all layers */
	D_CONTEXT,
	D_SEGMENTS, /* rows of the segment table */
	D_RANKS,
	D_DENSE_2,
	D_DENSE_3,
	D_ALTUP,
	D_ALTUP_PAIRS,
	D_ALTUP_OTHERS, /* streams after the first */
	D_LAUREL
};
/* Return a dimension of a tensor of the layer, or of a global tensor (layer 0). */
int64_t arch_dim_of(const struct arch_hparam *h, int layer, int dim);
#endif
