/* arch/dims.c - dimensions of tensors, and which layers need them. */
#include "arch/arch.h"

int64_t arch_dim_of(const struct arch_hparam *h, int layer, int dim)
{
	struct arch_heads head = arch_heads_of(h, layer);

	switch ((enum arch_dim)dim) {
#define DIM(name, value) \
	case D_##name: \
		return value;
#include "arch/dim_list.h"
#undef DIM
	}
	return 0;
}

int arch_tensor_need(const infer_model *m, const struct arch_tensor *t, int layer)
{
	int experts = arch_has_experts(&m->h, layer);

	switch ((enum arch_need)t->need) {
	case ARCH_MUST:
		return 1;
	case ARCH_MAY:
		break;
	case ARCH_DENSE:
		return experts ? -1 : 1;
	case ARCH_EXPERTS:
		return experts ? 1 : -1;
	case ARCH_SHARED:
		return experts && m->h.n_shared_ff ? 1 : -1;
	case ARCH_ATTENDS:
		return m->h.recurrent[layer] ? -1 : 1;
	case ARCH_RECURRENT:
		return m->h.recurrent[layer] ? 1 : -1;
	case ARCH_Q_DIRECT:
		return m->h.q_rank ? -1 : 1;
	case ARCH_Q_LORA:
		return m->h.q_rank ? 1 : -1;
	case ARCH_OWN_KV:
		return arch_kv_layer(&m->h, layer) == layer;
	case ARCH_OWN_V:
		return m->h.windowed[layer] && arch_kv_layer(&m->h, layer) == layer;
	case ARCH_LAYER_EMBD:
		return m->h.layer_embd ? 1 : -1;
	case ARCH_NOT_FIRST:
		return layer > 0;
	}
	return 0;
}
