/* arch/dims.c - dimensions of tensors, and which layers need them. */
#include "arch/arch.h"

/* Return a dimension of recurrent layers. */
static int64_t state_dim(const struct arch_hparam *h, enum arch_dim dim)
{
	int64_t o = (int64_t)h->state_heads * h->state_dv;

	return dim == D_STATE_QKV      ? 2 * (int64_t)h->state_k_heads * h->state_dk + o
	       : dim == D_STATE_O      ? o
	       : dim == D_STATE_V      ? h->state_dv
	       : dim == D_STATE_PAIRS  ? 2 * (int64_t)h->state_heads
	       : dim == D_STATE_GROUP  ? o / (h->state_k_heads ? h->state_k_heads : 1)
	       : dim == D_TAPS         ? h->conv_taps
	       : dim == D_STATE_GROUPS ? h->state_k_heads
	                               : h->state_heads;
}

/* Return a dimension from D_V_HEAD on. */
static int64_t last_dim(const struct arch_hparam *h, enum arch_dim dim)
{
	const int64_t of[] = { h->v_head,
		               (int64_t)h->n_head * (h->k_head - h->n_rot + h->v_head),
		               h->layer_embd,
		               (int64_t)h->layer_embd * h->n_layers,
		               h->ctx_train,
		               h->n_parts,
		               h->n_ranks,
		               h->n_dense_2,
		               h->n_dense_3,
		               h->altup_streams,
		               (int64_t)h->altup_streams * h->altup_streams,
		               h->altup_streams - 1,
		               h->laurel_rank };

	return of[dim - D_V_HEAD];
}

int64_t arch_dim_of(const struct arch_hparam *h, int layer, int dim)
{
	struct arch_heads head = arch_heads_of(h, layer);

	switch ((enum arch_dim)dim) {
	case D_END:
	case D_ONE:
		return 1;
	case D_VOCAB:
		return h->n_vocab;
	case D_EMBD:
		return h->n_embd;
	case D_HEAD:
		return head.dk;
	case D_Q:
		return (int64_t)h->n_head *
		       (h->kv_rank ? h->k_head : head.dk + (h->attn_gated ? head.dv : 0));
	case D_KV_K:
		return (int64_t)h->kv_heads[layer] * head.dk;
	case D_KV_V:
		return (int64_t)h->kv_heads[layer] * head.dv;
	case D_O:
		return (int64_t)h->n_head * (h->kv_rank ? h->v_head : head.dv);
	case D_FF:
		return h->ff[layer];
	case D_HEADS:
		return h->n_head;
	case D_SHARED_FF:
		return h->n_shared_ff;
	case D_STATE_QKV:
	case D_STATE_O:
	case D_STATE_V:
	case D_STATE_HEADS:
	case D_STATE_PAIRS:
	case D_STATE_GROUP:
	case D_STATE_GROUPS:
	case D_TAPS:
		return state_dim(h, (enum arch_dim)dim);
	case D_HALF_ROT:
		return h->n_rot / 2;
	case D_EXPERTS:
		return h->n_expert;
	case D_EXPERT_FF:
		return h->n_expert_ff;
	case D_Q_RANK:
		return h->q_rank;
	case D_NOPE:
		return h->k_head - h->n_rot;
	case D_V_HEAD:
	case D_KV_B:
	case D_LAYER_EMBD:
	case D_LAYERS_EMBD:
	case D_CONTEXT:
	case D_SEGMENTS:
	case D_RANKS:
	case D_DENSE_2:
	case D_DENSE_3:
	case D_ALTUP:
	case D_ALTUP_PAIRS:
	case D_ALTUP_OTHERS:
	case D_LAUREL:
		break;
	}
	return last_dim(h, (enum arch_dim)dim);
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
