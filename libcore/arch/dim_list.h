/* arch/dim_list.h - DIM(name, value): the dimensions of tensors.  In a value, h is the arch_hparam, `layer` the layer
 * (0 for a global tensor) and `head` its arch_heads. */
DIM(END, 1)
DIM(VOCAB, h->n_vocab)
DIM(EMBD, h->n_embd)
DIM(HEAD, head.dk)
DIM(Q, (int64_t)h->n_head * (h->kv_rank ? h->k_head : head.dk + (h->attn_gated ? head.dv : 0))) /* with output gates */
DIM(KV_K, (int64_t)h->kv_heads[layer] * head.dk)
DIM(KV_V, (int64_t)h->kv_heads[layer] * head.dv)
DIM(O, (int64_t)h->n_head * (h->kv_rank ? h->v_head : head.dv))
DIM(FF, h->ff[layer])
DIM(HALF_ROT, h->n_rot / 2)
DIM(HEADS, h->n_head)
DIM(ONE, 1)
DIM(EXPERTS, h->n_expert)
DIM(EXPERT_FF, h->n_expert_ff)
DIM(SHARED_FF, h->n_shared_ff)
DIM(STATE_QKV, (int64_t)2 * h->state_k_heads * h->state_dk + (int64_t)h->state_heads * h->state_dv)
DIM(STATE_O, (int64_t)h->state_heads * h->state_dv)
DIM(STATE_V, h->state_dv) /* of one head */
DIM(STATE_HEADS, h->state_heads)
DIM(STATE_PAIRS, 2 * (int64_t)h->state_heads)
DIM(STATE_GROUP, (int64_t)h->state_heads * h->state_dv / (h->state_k_heads ? h->state_k_heads : 1)) /* columns of V that share a head of Q and K */
DIM(STATE_GROUPS, h->state_k_heads)
DIM(TAPS, h->conv_taps)
DIM(Q_RANK, h->q_rank)
DIM(NOPE, h->k_head - h->n_rot) /* unrotated columns of a head */
DIM(V_HEAD, h->v_head)
DIM(KV_B, (int64_t)h->n_head * (h->k_head - h->n_rot + h->v_head))
DIM(LAYER_EMBD, h->layer_embd)
DIM(LAYERS_EMBD, (int64_t)h->layer_embd * h->n_layers)
DIM(CONTEXT, h->ctx_train)
DIM(SEGMENTS, h->n_parts) /* rows of the segment table */
DIM(RANKS, h->n_ranks)
DIM(DENSE_2, h->n_dense_2)
DIM(DENSE_3, h->n_dense_3)
DIM(ALTUP, h->altup_streams)
DIM(ALTUP_PAIRS, (int64_t)h->altup_streams * h->altup_streams)
DIM(ALTUP_OTHERS, h->altup_streams - 1) /* streams after the first */
DIM(LAUREL, h->laurel_rank)
