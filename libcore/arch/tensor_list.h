/* arch/tensor_list.h - tensors in groups.  A row in models/ names the groups that it adds to those of its `like` row.
 *
 * GROUP(name) ... END_GROUP
 * TENSOR(slot, GGUF name, Hugging Face name, alternative name, ne[0], ne[1], ne[2], need, how): a struct arch_tensor (tensor.h)
 * GONE(slot): the architecture does not have the tensor, though its `like` row does */

/* the base row: all architectures inherit it */
GROUP(base)
TENSOR(TOKEN_EMBD,       "token_embd.weight",          "model.embed_tokens.weight",           NULL, EMBD, VOCAB, END,           MUST, NONE)
TENSOR(OUTPUT_NORM,      "output_norm.weight",         "model.norm.weight",                   NULL, EMBD, END, END,             MUST, GAIN)
TENSOR(OUTPUT,           "output.weight",              "lm_head.weight",                      NULL, EMBD, VOCAB, END,           MAY, NONE) /* if absent, token_embd */
TENSOR(OUTPUT_BIAS,      "output.bias",                NULL,                                  NULL, VOCAB, END, END,            MAY, NONE)
TENSOR(ROPE_FREQS,       "rope_freqs.weight",          NULL,                                  NULL, HALF_ROT, END, END,         MAY, NONE)
TENSOR(ROPE_LONG,        "rope_factors_long.weight",   NULL,                                  NULL, HALF_ROT, END, END,         MAY, NONE)
TENSOR(ROPE_SHORT,       "rope_factors_short.weight",  NULL,                                  NULL, HALF_ROT, END, END,         MAY, NONE)
TENSOR(ATTN_NORM,        "attn_norm.weight",           "input_layernorm.weight",              NULL, EMBD, END, END,             MUST, GAIN)
TENSOR(Q,                "attn_q.weight",              "self_attn.q_proj.weight",             NULL, EMBD, Q, END,               ATTENDS, PAIRS)
TENSOR(K,                "attn_k.weight",              "self_attn.k_proj.weight",             NULL, EMBD, KV_K, END,            ATTENDS, PAIRS)
TENSOR(V,                "attn_v.weight",              "self_attn.v_proj.weight",             NULL, EMBD, KV_V, END,            ATTENDS, NONE)
TENSOR(O,                "attn_output.weight",         "self_attn.o_proj.weight",             NULL, O, EMBD, END,               ATTENDS, NONE)
TENSOR(Q_BIAS,           "attn_q.bias",                "self_attn.q_proj.bias",               NULL, Q, END, END,                MAY, PAIRS)
TENSOR(K_BIAS,           "attn_k.bias",                "self_attn.k_proj.bias",               NULL, KV_K, END, END,             MAY, PAIRS)
TENSOR(V_BIAS,           "attn_v.bias",                "self_attn.v_proj.bias",               NULL, KV_V, END, END,             MAY, NONE)
TENSOR(O_BIAS,           "attn_output.bias",           "self_attn.o_proj.bias",               NULL, EMBD, END, END,             MAY, NONE)
TENSOR(UNUSED,           "attn_rot_embd.weight",       "self_attn.rotary_emb.inv_freq",       NULL, HALF_ROT, END, END,         MAY, NONE) /* old converters: computed from rope.freq_base */
TENSOR(FFN_NORM,         "ffn_norm.weight",            "post_attention_layernorm.weight",     NULL, EMBD, END, END,             MUST, GAIN)
TENSOR(GATE,             "ffn_gate.weight",            "mlp.gate_proj.weight",                NULL, EMBD, FF, END,              DENSE, NONE)
TENSOR(UP,               "ffn_up.weight",              "mlp.up_proj.weight",                  NULL, EMBD, FF, END,              DENSE, NONE)
TENSOR(DOWN,             "ffn_down.weight",            "mlp.down_proj.weight",                NULL, FF, EMBD, END,              DENSE, NONE)
TENSOR(GATE_BIAS,        "ffn_gate.bias",              "mlp.gate_proj.bias",                  NULL, FF, END, END,               MAY, NONE)
TENSOR(UP_BIAS,          "ffn_up.bias",                "mlp.up_proj.bias",                    NULL, FF, END, END,               MAY, NONE)
TENSOR(DOWN_BIAS,        "ffn_down.bias",              "mlp.down_proj.bias",                  NULL, EMBD, END, END,             MAY, NONE)
TENSOR(ROUTER,           "ffn_gate_inp.weight",        "block_sparse_moe.gate.weight",        "mlp.gate.weight", EMBD, EXPERTS, END, EXPERTS, NONE)
TENSOR(ROUTER_BIAS,      "ffn_gate_inp.bias",          NULL,                                  NULL, EXPERTS, END, END,          MAY, NONE)
TENSOR(SHARED_ROUTER,    "ffn_gate_inp_shexp.weight",  "mlp.shared_expert_gate.weight",       NULL, EMBD, ONE, END,             MAY, NONE)
TENSOR(GATE_SHARED,      "ffn_gate_shexp.weight",      "mlp.shared_expert.gate_proj.weight",  "mlp.shared_experts.gate_proj.weight", EMBD, SHARED_FF, END, SHARED, NONE)
TENSOR(UP_SHARED,        "ffn_up_shexp.weight",        "mlp.shared_expert.up_proj.weight",    "mlp.shared_experts.up_proj.weight", EMBD, SHARED_FF, END, SHARED, NONE)
TENSOR(DOWN_SHARED,      "ffn_down_shexp.weight",      "mlp.shared_expert.down_proj.weight",  "mlp.shared_experts.down_proj.weight", SHARED_FF, EMBD, END, SHARED, NONE)
TENSOR(GATE_EXPS,        "ffn_gate_exps.weight",       "block_sparse_moe.experts.%d.w1.weight", "mlp.experts.%d.gate_proj.weight", EMBD, EXPERT_FF, EXPERTS, EXPERTS, STACK)
TENSOR(UP_EXPS,          "ffn_up_exps.weight",         "block_sparse_moe.experts.%d.w3.weight", "mlp.experts.%d.up_proj.weight", EMBD, EXPERT_FF, EXPERTS, EXPERTS, STACK)
TENSOR(DOWN_EXPS,        "ffn_down_exps.weight",       "block_sparse_moe.experts.%d.w2.weight", "mlp.experts.%d.down_proj.weight", EXPERT_FF, EMBD, EXPERTS, EXPERTS, STACK)
END_GROUP

/* norms. head, some_head: of each head of Q and K, required or optional; row: of all heads together; post, post_glm: of
 * the outputs of attention and FFN; ffn: before the FFN, under other names */
GROUP(head_norms)
TENSOR(Q_NORM,           "attn_q_norm.weight",         "self_attn.q_norm.weight",             NULL, HEAD, END, END,             ATTENDS, GAIN)
TENSOR(K_NORM,           "attn_k_norm.weight",         "self_attn.k_norm.weight",             NULL, HEAD, END, END,             ATTENDS, GAIN)
END_GROUP
GROUP(some_head_norms)
TENSOR(Q_NORM,           "attn_q_norm.weight",         "self_attn.q_norm.weight",             NULL, HEAD, END, END,             MAY, GAIN)
TENSOR(K_NORM,           "attn_k_norm.weight",         "self_attn.k_norm.weight",             NULL, HEAD, END, END,             MAY, GAIN)
END_GROUP
GROUP(row_norms)
TENSOR(Q_NORM,           "attn_q_norm.weight",         "self_attn.q_norm.weight",             NULL, Q, END, END,                MUST, GAIN)
TENSOR(K_NORM,           "attn_k_norm.weight",         "self_attn.k_norm.weight",             NULL, KV_K, END, END,             MUST, GAIN)
END_GROUP
GROUP(post_norms)
TENSOR(ATTN_POST_NORM,   "post_attention_norm.weight", "post_attention_layernorm.weight",     NULL, EMBD, END, END,             MUST, GAIN)
TENSOR(FFN_POST_NORM,    "post_ffw_norm.weight",       "post_feedforward_layernorm.weight",   NULL, EMBD, END, END,             MUST, GAIN)
END_GROUP
GROUP(post_norms_glm)
TENSOR(ATTN_POST_NORM,   "post_attention_norm.weight", "post_self_attn_layernorm.weight",     NULL, EMBD, END, END,             MUST, GAIN)
TENSOR(FFN_POST_NORM,    "post_ffw_norm.weight",       "post_mlp_layernorm.weight",           NULL, EMBD, END, END,             MUST, GAIN)
END_GROUP
GROUP(no_pre_norms)
GONE(ATTN_NORM)
GONE(FFN_NORM)
END_GROUP
GROUP(pre_ffn_norm)
TENSOR(FFN_NORM,         "ffn_norm.weight",            "pre_feedforward_layernorm.weight",    NULL, EMBD, END, END,             MUST, GAIN)
END_GROUP
GROUP(ffn_norm_named_post) /* applied before the FFN, despite its name */
TENSOR(FFN_NORM,         "post_attention_norm.weight", "post_attention_layernorm.weight",     NULL, EMBD, END, END,             MUST, GAIN)
END_GROUP

/* several matrices in one tensor */
GROUP(fused_qkv)
TENSOR(Q,                "attn_qkv.weight",            "self_attn.qkv_proj.weight",           NULL, EMBD, Q, END,               MUST, NONE)
TENSOR(K,                "attn_qkv.weight",            "self_attn.qkv_proj.weight",           NULL, EMBD, KV_K, END,            MUST, NONE)
TENSOR(V,                "attn_qkv.weight",            "self_attn.qkv_proj.weight",           NULL, EMBD, KV_V, END,            MUST, NONE)
END_GROUP
GROUP(fused_ffn)
TENSOR(GATE,             "ffn_up.weight",              "mlp.gate_up_proj.weight",             NULL, EMBD, FF, END,              MUST, NONE)
TENSOR(UP,               "ffn_up.weight",              "mlp.gate_up_proj.weight",             NULL, EMBD, FF, END,              MUST, NONE)
END_GROUP

/* all experts of a layer in one Hugging Face tensor; pick_bias, some_pick_bias: the selection bias, required or
 * optional */
GROUP(fused_experts)
TENSOR(GATE_EXPS,        "ffn_gate_exps.weight",       "mlp.experts.gate_up_proj",            NULL, EMBD, EXPERT_FF, EXPERTS,   EXPERTS, NONE)
TENSOR(UP_EXPS,          "ffn_up_exps.weight",         "mlp.experts.gate_up_proj",            NULL, EMBD, EXPERT_FF, EXPERTS,   EXPERTS, NONE)
TENSOR(DOWN_EXPS,        "ffn_down_exps.weight",       "mlp.experts.down_proj",               NULL, EXPERT_FF, EMBD, EXPERTS,   EXPERTS, NONE)
END_GROUP
GROUP(joined_experts) /* gate and up in one tensor, in GGUF files too */
TENSOR(GATE_EXPS,        "ffn_gate_up_exps.weight",    "mlp.experts.gate_up_proj",            NULL, EMBD, EXPERT_FF, EXPERTS,   EXPERTS, NONE)
TENSOR(UP_EXPS,          "ffn_gate_up_exps.weight",    "mlp.experts.gate_up_proj",            NULL, EMBD, EXPERT_FF, EXPERTS,   EXPERTS, NONE)
TENSOR(DOWN_EXPS,        "ffn_down_exps.weight",       "mlp.experts.down_proj",               NULL, EXPERT_FF, EMBD, EXPERTS,   EXPERTS, NONE)
END_GROUP
GROUP(granite_experts)
TENSOR(ROUTER,           "ffn_gate_inp.weight",        "block_sparse_moe.router.layer.weight", NULL, EMBD, EXPERTS, END,        EXPERTS, NONE)
TENSOR(GATE_EXPS,        "ffn_gate_exps.weight",       "block_sparse_moe.input_linear.weight", NULL, EMBD, EXPERT_FF, EXPERTS,  EXPERTS, NONE)
TENSOR(UP_EXPS,          "ffn_up_exps.weight",         "block_sparse_moe.input_linear.weight", NULL, EMBD, EXPERT_FF, EXPERTS,  EXPERTS, NONE)
TENSOR(DOWN_EXPS,        "ffn_down_exps.weight",       "block_sparse_moe.output_linear.weight", NULL, EXPERT_FF, EMBD, EXPERTS, EXPERTS, NONE)
TENSOR(GATE_SHARED,      "ffn_gate_shexp.weight",      "shared_mlp.input_linear.weight",      NULL, EMBD, SHARED_FF, END,       SHARED, NONE)
TENSOR(UP_SHARED,        "ffn_up_shexp.weight",        "shared_mlp.input_linear.weight",      NULL, EMBD, SHARED_FF, END,       SHARED, NONE)
TENSOR(DOWN_SHARED,      "ffn_down_shexp.weight",      "shared_mlp.output_linear.weight",     NULL, SHARED_FF, EMBD, END,       SHARED, NONE)
END_GROUP
GROUP(gptoss_experts)
TENSOR(ROUTER,           "ffn_gate_inp.weight",        "mlp.router.weight",                   NULL, EMBD, EXPERTS, END,         MUST, NONE)
TENSOR(ROUTER_BIAS,      "ffn_gate_inp.bias",          "mlp.router.bias",                     NULL, EXPERTS, END, END,          MUST, NONE)
TENSOR(GATE_EXPS,        "ffn_gate_exps.weight",       "mlp.experts.gate_up_proj",            NULL, EMBD, EXPERT_FF, EXPERTS,   MUST, EVEN)
TENSOR(UP_EXPS,          "ffn_up_exps.weight",         "mlp.experts.gate_up_proj",            NULL, EMBD, EXPERT_FF, EXPERTS,   MUST, ODD)
TENSOR(DOWN_EXPS,        "ffn_down_exps.weight",       "mlp.experts.down_proj",               NULL, EXPERT_FF, EMBD, EXPERTS,   MUST, TURN)
TENSOR(GATE_EXPS_BIAS,   "ffn_gate_exps.bias",         "mlp.experts.gate_up_proj_bias",       NULL, EXPERT_FF, EXPERTS, END,    MUST, EVEN)
TENSOR(UP_EXPS_BIAS,     "ffn_up_exps.bias",           "mlp.experts.gate_up_proj_bias",       NULL, EXPERT_FF, EXPERTS, END,    MUST, ODD)
TENSOR(DOWN_EXPS_BIAS,   "ffn_down_exps.bias",         "mlp.experts.down_proj_bias",          NULL, EMBD, EXPERTS, END,         MUST, NONE)
END_GROUP
GROUP(llama4_experts) /* in some layers; the others are dense */
TENSOR(GATE,             "ffn_gate.weight",            "feed_forward.gate_proj.weight",       NULL, EMBD, FF, END,              DENSE, NONE)
TENSOR(UP,               "ffn_up.weight",              "feed_forward.up_proj.weight",         NULL, EMBD, FF, END,              DENSE, NONE)
TENSOR(DOWN,             "ffn_down.weight",            "feed_forward.down_proj.weight",       NULL, FF, EMBD, END,              DENSE, NONE)
TENSOR(ROUTER,           "ffn_gate_inp.weight",        "feed_forward.router.weight",          NULL, EMBD, EXPERTS, END,         EXPERTS, NONE)
TENSOR(GATE_EXPS,        "ffn_gate_exps.weight",       "feed_forward.experts.gate_up_proj",   NULL, EMBD, EXPERT_FF, EXPERTS,   EXPERTS, TURN)
TENSOR(UP_EXPS,          "ffn_up_exps.weight",         "feed_forward.experts.gate_up_proj",   NULL, EMBD, EXPERT_FF, EXPERTS,   EXPERTS, TURN)
TENSOR(DOWN_EXPS,        "ffn_down_exps.weight",       "feed_forward.experts.down_proj",      NULL, EXPERT_FF, EMBD, EXPERTS,   EXPERTS, TURN)
TENSOR(GATE_SHARED,      "ffn_gate_shexp.weight",      "feed_forward.shared_expert.gate_proj.weight", NULL, EMBD, SHARED_FF, END, SHARED, NONE)
TENSOR(UP_SHARED,        "ffn_up_shexp.weight",        "feed_forward.shared_expert.up_proj.weight",   NULL, EMBD, SHARED_FF, END, SHARED, NONE)
TENSOR(DOWN_SHARED,      "ffn_down_shexp.weight",      "feed_forward.shared_expert.down_proj.weight", NULL, SHARED_FF, EMBD, END, SHARED, NONE)
GONE(SHARED_ROUTER)
GONE(GATE_BIAS)
GONE(UP_BIAS)
GONE(DOWN_BIAS)
END_GROUP
GROUP(pick_bias)
TENSOR(ROUTER_SELECT_BIAS, "exp_probs_b.bias",           "mlp.gate.e_score_correction_bias",    "block_sparse_moe.e_score_correction_bias", EXPERTS, END, END, EXPERTS, NONE)
END_GROUP
GROUP(some_pick_bias)
TENSOR(ROUTER_SELECT_BIAS, "exp_probs_b.bias",           "mlp.gate.e_score_correction_bias",    NULL, EXPERTS, END, END,          MAY, NONE)
END_GROUP

/* attention: sinks; MLA, with W_K_B and W_V_B or both in one tensor (arch_split_kv_b) */
GROUP(sinks)
TENSOR(SINKS,            "attn_sinks.weight",          "self_attn.sinks",                     NULL, HEADS, END, END,            MUST, NONE)
END_GROUP
GROUP(latent)
TENSOR(Q,                "attn_q.weight",              "self_attn.q_proj.weight",             NULL, EMBD, Q, END,               Q_DIRECT, NONE)
TENSOR(Q_A,              "attn_q_a.weight",            "self_attn.q_a_proj.weight",           NULL, EMBD, Q_RANK, END,          Q_LORA, NONE)
TENSOR(Q_A_BIAS,         "attn_q_a.bias",              "self_attn.q_a_proj.bias",             NULL, Q_RANK, END, END,           MAY, NONE)
TENSOR(Q_A_NORM,         "attn_q_a_norm.weight",       "self_attn.q_a_layernorm.weight",      NULL, Q_RANK, END, END,           Q_LORA, NONE)
TENSOR(Q_B,              "attn_q_b.weight",            "self_attn.q_b_proj.weight",           NULL, Q_RANK, Q, END,             Q_LORA, NONE)
TENSOR(KV_A,             "attn_kv_a_mqa.weight",       "self_attn.kv_a_proj_with_mqa.weight", NULL, EMBD, KV_K, END,            MUST, NONE)
TENSOR(KV_A_BIAS,        "attn_kv_a_mqa.bias",         "self_attn.kv_a_proj_with_mqa.bias",   NULL, KV_K, END, END,             MAY, NONE)
TENSOR(KV_A_NORM,        "attn_kv_a_norm.weight",      "self_attn.kv_a_layernorm.weight",     NULL, KV_V, END, END,             MUST, NONE)
TENSOR(K_B,              "attn_k_b.weight",            NULL,                                  NULL, NOPE, KV_V, HEADS,          MAY, NONE)
TENSOR(V_B,              "attn_v_b.weight",            NULL,                                  NULL, KV_V, V_HEAD, HEADS,        MAY, NONE)
TENSOR(KV_B,             "attn_kv_b.weight",           "self_attn.kv_b_proj.weight",          NULL, KV_V, KV_B, END,            MAY, NONE)
GONE(K)
GONE(V)
GONE(Q_BIAS)
GONE(K_BIAS)
GONE(V_BIAS)
END_GROUP

/* gated delta rule: projections in two tensors, or one tensor each and heads of V in another order */
GROUP(delta)
TENSOR(STATE_QKV,        "attn_qkv.weight",            "linear_attn.in_proj_qkvz.weight",     NULL, EMBD, STATE_QKV, END,       RECURRENT, BY_HEAD)
TENSOR(STATE_GATE,       "attn_gate.weight",           "linear_attn.in_proj_qkvz.weight",     NULL, EMBD, STATE_O, END,         RECURRENT, BY_HEAD_Z)
TENSOR(STATE_BETA_DECAY, "ssm_ba.weight",              "linear_attn.in_proj_ba.weight",       NULL, EMBD, STATE_PAIRS, END,     RECURRENT, NONE)
TENSOR(STATE_CONV,       "ssm_conv1d.weight",          "linear_attn.conv1d.weight",           NULL, TAPS, STATE_QKV, END,       RECURRENT, NONE)
TENSOR(STATE_DECAY_BIAS, "ssm_dt.bias",                "linear_attn.dt_bias",                 NULL, STATE_HEADS, END, END,      RECURRENT, NONE)
TENSOR(STATE_DECAY_RATE, "ssm_a",                      "linear_attn.A_log",                   NULL, STATE_HEADS, END, END,      RECURRENT, NEG_EXP)
TENSOR(STATE_NORM,       "ssm_norm.weight",            "linear_attn.norm.weight",             NULL, STATE_V, END, END,          RECURRENT, NONE)
TENSOR(STATE_OUT,        "ssm_out.weight",             "linear_attn.out_proj.weight",         NULL, STATE_O, EMBD, END,         RECURRENT, NONE)
END_GROUP
GROUP(tiled_delta)
TENSOR(STATE_QKV,        "attn_qkv.weight",            "linear_attn.in_proj_qkv.weight",      NULL, EMBD, STATE_QKV, END,       RECURRENT, TILED_V)
TENSOR(STATE_GATE,       "attn_gate.weight",           "linear_attn.in_proj_z.weight",        NULL, EMBD, STATE_O, END,         RECURRENT, TILED)
TENSOR(STATE_BETA,       "ssm_beta.weight",            "linear_attn.in_proj_b.weight",        NULL, EMBD, STATE_HEADS, END,     RECURRENT, TILED)
TENSOR(STATE_DECAY,      "ssm_alpha.weight",           "linear_attn.in_proj_a.weight",        NULL, EMBD, STATE_HEADS, END,     RECURRENT, TILED)
TENSOR(STATE_CONV,       "ssm_conv1d.weight",          "linear_attn.conv1d.weight",           NULL, TAPS, STATE_QKV, END,       RECURRENT, TILED_V)
TENSOR(STATE_DECAY_BIAS, "ssm_dt.bias",                "linear_attn.dt_bias",                 NULL, STATE_HEADS, END, END,      RECURRENT, TILED)
TENSOR(STATE_DECAY_RATE, "ssm_a",                      "linear_attn.A_log",                   NULL, STATE_HEADS, END, END,      RECURRENT, TILED_NEG_EXP)
TENSOR(STATE_OUT,        "ssm_out.weight",             "linear_attn.out_proj.weight",         NULL, STATE_O, EMBD, END,         RECURRENT, TILED_COLS)
GONE(STATE_BETA_DECAY)
END_GROUP

/* Mamba 2: all projections in one tensor */
GROUP(ssd)
TENSOR(STATE_GATE,       "ssm_in.weight",              "mamba.in_proj.weight",                NULL, EMBD, STATE_O, END,         RECURRENT, NONE)
TENSOR(STATE_QKV,        "ssm_in.weight",              "mamba.in_proj.weight",                NULL, EMBD, STATE_QKV, END,       RECURRENT, NONE)
TENSOR(STATE_DECAY,      "ssm_in.weight",              "mamba.in_proj.weight",                NULL, EMBD, STATE_HEADS, END,     RECURRENT, NONE)
TENSOR(STATE_CONV,       "ssm_conv1d.weight",          "mamba.conv1d.weight",                 NULL, TAPS, STATE_QKV, END,       RECURRENT, NONE)
TENSOR(STATE_CONV_BIAS,  "ssm_conv1d.bias",            "mamba.conv1d.bias",                   NULL, STATE_QKV, END, END,        MAY, NONE)
TENSOR(STATE_SKIP,       "ssm_d",                      "mamba.D",                             NULL, ONE, STATE_HEADS, END,      RECURRENT, NONE)
TENSOR(STATE_DECAY_BIAS, "ssm_dt.bias",                "mamba.dt_bias",                       NULL, STATE_HEADS, END, END,      RECURRENT, NONE)
TENSOR(STATE_DECAY_RATE, "ssm_a",                      "mamba.A_log",                         NULL, ONE, STATE_HEADS, END,      RECURRENT, NEG_EXP)
TENSOR(STATE_NORM,       "ssm_norm.weight",            "mamba.norm.weight",                   NULL, STATE_GROUP, STATE_GROUPS, END, RECURRENT, NONE)
TENSOR(STATE_OUT,        "ssm_out.weight",             "mamba.out_proj.weight",               NULL, STATE_O, EMBD, END,         RECURRENT, NONE)
END_GROUP

/* the shared expert is the whole FFN in models without experts */
GROUP(shared_mlp)
TENSOR(GATE,             "ffn_gate.weight",            "shared_mlp.input_linear.weight",      NULL, EMBD, FF, END,              DENSE, NONE)
TENSOR(UP,               "ffn_up.weight",              "shared_mlp.input_linear.weight",      NULL, EMBD, FF, END,              DENSE, NONE)
TENSOR(DOWN,             "ffn_down.weight",            "shared_mlp.output_linear.weight",     NULL, FF, EMBD, END,              DENSE, NONE)
END_GROUP

/* Gemma 4: tensors of all models; experts in parallel with a dense FFN; per-layer embeddings */
GROUP(gemma4)
TENSOR(K,                "attn_k.weight",              "self_attn.k_proj.weight",             NULL, EMBD, KV_K, END,             OWN_KV, NONE)
TENSOR(V,                "attn_v.weight",              "self_attn.v_proj.weight",             NULL, EMBD, KV_V, END,             OWN_V, NONE)
TENSOR(Q_NORM,           "attn_q_norm.weight",         "self_attn.q_norm.weight",             NULL, HEAD, END, END,              MUST, NONE)
TENSOR(K_NORM,           "attn_k_norm.weight",         "self_attn.k_norm.weight",             NULL, HEAD, END, END,              OWN_KV, NONE)
TENSOR(GATE,             "ffn_gate.weight",            "mlp.gate_proj.weight",                NULL, EMBD, FF, END,               MUST, NONE)
TENSOR(UP,               "ffn_up.weight",              "mlp.up_proj.weight",                  NULL, EMBD, FF, END,               MUST, NONE)
TENSOR(DOWN,             "ffn_down.weight",            "mlp.down_proj.weight",                NULL, FF, EMBD, END,               MUST, NONE)
TENSOR(LAYER_SCALE,      "layer_output_scale.weight",  "layer_scalar",                        NULL, ONE, END, END,               MAY, NONE)
END_GROUP
GROUP(beside_experts)
TENSOR(MLP_POST_NORM,    "post_ffw_norm_1.weight",     "post_feedforward_layernorm_1.weight", NULL, EMBD, END, END,              EXPERTS, NONE)
TENSOR(MOE_NORM,         "pre_ffw_norm_2.weight",      "pre_feedforward_layernorm_2.weight",  NULL, EMBD, END, END,              EXPERTS, NONE)
TENSOR(MOE_POST_NORM,    "post_ffw_norm_2.weight",     "post_feedforward_layernorm_2.weight", NULL, EMBD, END, END,              EXPERTS, NONE)
TENSOR(ROUTER,           "ffn_gate_inp.weight",        "router.proj.weight",                  NULL, EMBD, EXPERTS, END,          EXPERTS, NONE)
TENSOR(ROUTER_NORM,      "ffn_gate_inp.scale",         "router.scale",                        NULL, EMBD, END, END,              EXPERTS, NONE)
TENSOR(EXPERT_SCALE,     "ffn_down_exps.scale",        "router.per_expert_scale",             NULL, EXPERTS, END, END,           EXPERTS, NONE)
TENSOR(GATE_EXPS,        "ffn_gate_up_exps.weight",    "experts.gate_up_proj",                NULL, EMBD, EXPERT_FF, EXPERTS,    EXPERTS, NONE)
TENSOR(UP_EXPS,          "ffn_gate_up_exps.weight",    "experts.gate_up_proj",                NULL, EMBD, EXPERT_FF, EXPERTS,    EXPERTS, NONE)
TENSOR(DOWN_EXPS,        "ffn_down_exps.weight",       "experts.down_proj",                   NULL, EXPERT_FF, EMBD, EXPERTS,    EXPERTS, NONE)
END_GROUP
GROUP(layer_inputs)
TENSOR(LAYER_EMBD,       "per_layer_token_embd.weight","model.embed_tokens_per_layer.weight", NULL, LAYERS_EMBD, VOCAB, END,     LAYER_EMBD, NONE)
TENSOR(LAYER_EMBD_PROJ,  "per_layer_model_proj.weight","model.per_layer_model_projection.weight",NULL, EMBD, LAYERS_EMBD, END,      LAYER_EMBD, NONE)
TENSOR(LAYER_EMBD_NORM,  "per_layer_proj_norm.weight", "model.per_layer_projection_norm.weight",NULL, LAYER_EMBD, END, END,        LAYER_EMBD, NONE)
TENSOR(INPUT_GATE,       "inp_gate.weight",            "per_layer_input_gate.weight",         NULL, EMBD, LAYER_EMBD, END,       LAYER_EMBD, NONE)
TENSOR(INPUT_PROJ,       "proj.weight",                "per_layer_projection.weight",         NULL, LAYER_EMBD, EMBD, END,       LAYER_EMBD, NONE)
TENSOR(INPUT_NORM,       "post_norm.weight",           "post_per_layer_input_norm.weight",    NULL, EMBD, END, END,              LAYER_EMBD, NONE)
END_GROUP

/* Gemma 3n: K, V and norms of heads; AltUp; LAuReL */
GROUP(keeps)
TENSOR(K,                "attn_k.weight",              "self_attn.k_proj.weight",             NULL, EMBD, KV_K, END,             OWN_KV, NONE)
TENSOR(V,                "attn_v.weight",              "self_attn.v_proj.weight",             NULL, EMBD, KV_V, END,             OWN_KV, NONE)
TENSOR(Q_NORM,           "attn_q_norm.weight",         "self_attn.q_norm.weight",             NULL, HEAD, END, END,              MUST, NONE)
TENSOR(K_NORM,           "attn_k_norm.weight",         "self_attn.k_norm.weight",             NULL, HEAD, END, END,              OWN_KV, NONE)
END_GROUP
GROUP(streams)
TENSOR(ALTUP_SPLIT,      "altup_proj.weight",          "model.altup_projections.%d.weight",   NULL, EMBD, EMBD, ALTUP_OTHERS,    MUST, STACK)
TENSOR(ALTUP_MERGE,      "altup_unembd_proj.weight",   "model.altup_unembed_projections.%d.weight", NULL, EMBD, EMBD, ALTUP_OTHERS, MUST, STACK)
TENSOR(ALTUP_ROUTER,     "altup_router.weight",        "altup.modality_router.weight",        NULL, EMBD, ALTUP, END,          MUST, NONE)
TENSOR(ALTUP_NORM,       "altup_router_norm.weight",   "altup.router_norm.weight",            NULL, EMBD, END, END,              MUST, NONE)
TENSOR(ALTUP_PREDICT,    "altup_predict_coef.weight",  "altup.prediction_coefs.weight",       NULL, ALTUP, ALTUP_PAIRS, END,  MUST, NONE)
TENSOR(ALTUP_CORRECT,    "altup_correct_coef.weight",  "altup.correction_coefs.weight",       NULL, ALTUP, ALTUP, END,       MUST, NONE)
TENSOR(ALTUP_CORRECT_SCALE, "altup_correct_scale.weight", "altup.correct_output_scale",          NULL, EMBD, END, END,              MUST, NONE)
END_GROUP
GROUP(side)
TENSOR(LAUREL_IN,        "laurel_l.weight",            "laurel.linear_left.weight",           NULL, EMBD, LAUREL, END,             MUST, NONE)
TENSOR(LAUREL_OUT,       "laurel_r.weight",            "laurel.linear_right.weight",          NULL, LAUREL, EMBD, END,             MUST, NONE)
TENSOR(LAUREL_NORM,      "laurel_post_norm.weight",    "laurel.post_laurel_norm.weight",      NULL, EMBD, END, END,              MUST, NONE)
END_GROUP

/* LFM 2: all layers and dense FFNs; experts */
GROUP(lfm2)
TENSOR(OUTPUT_NORM,      "token_embd_norm.weight",     "model.embedding_norm.weight",         NULL, EMBD, END, END,              MUST, GAIN)
TENSOR(ATTN_NORM,        "attn_norm.weight",           "operator_norm.weight",                NULL, EMBD, END, END,              MUST, GAIN)
TENSOR(FFN_NORM,         "ffn_norm.weight",            "ffn_norm.weight",                     NULL, EMBD, END, END,              MUST, GAIN)
TENSOR(O,                "attn_output.weight",         "self_attn.out_proj.weight",           NULL, O, EMBD, END,                ATTENDS, NONE)
TENSOR(Q_NORM,           "attn_q_norm.weight",         "self_attn.q_layernorm.weight",        NULL, HEAD, END, END,              ATTENDS, GAIN)
TENSOR(K_NORM,           "attn_k_norm.weight",         "self_attn.k_layernorm.weight",        NULL, HEAD, END, END,              ATTENDS, GAIN)
TENSOR(CONV_B,           "shortconv.in_proj.weight",   "conv.in_proj.weight",                 NULL, EMBD, EMBD, END,             RECURRENT, NONE)
TENSOR(CONV_C,           "shortconv.in_proj.weight",   "conv.in_proj.weight",                 NULL, EMBD, EMBD, END,             RECURRENT, NONE)
TENSOR(CONV_X,           "shortconv.in_proj.weight",   "conv.in_proj.weight",                 NULL, EMBD, EMBD, END,             RECURRENT, NONE)
TENSOR(SHORT_CONV,       "shortconv.conv.weight",      "conv.conv.weight",                    NULL, TAPS, EMBD, END,             RECURRENT, NONE)
TENSOR(STATE_OUT,        "shortconv.out_proj.weight",  "conv.out_proj.weight",                NULL, EMBD, EMBD, END,             RECURRENT, NONE)
TENSOR(GATE,             "ffn_gate.weight",            "feed_forward.w1.weight",              NULL, EMBD, FF, END,               DENSE, NONE)
TENSOR(UP,               "ffn_up.weight",              "feed_forward.w3.weight",              NULL, EMBD, FF, END,               DENSE, NONE)
TENSOR(DOWN,             "ffn_down.weight",            "feed_forward.w2.weight",              NULL, FF, EMBD, END,               DENSE, NONE)
END_GROUP
GROUP(lfm2_experts)
TENSOR(ROUTER,           "ffn_gate_inp.weight",        "feed_forward.gate.weight",            NULL, EMBD, EXPERTS, END,          EXPERTS, NONE)
TENSOR(ROUTER_SELECT_BIAS, "exp_probs_b.bias",           "feed_forward.expert_bias",            NULL, EXPERTS, END, END,           MAY, NONE)
TENSOR(GATE_EXPS,        "ffn_gate_exps.weight",       "feed_forward.experts.%d.w1.weight",   NULL, EMBD, EXPERT_FF, EXPERTS,    EXPERTS, STACK)
TENSOR(UP_EXPS,          "ffn_up_exps.weight",         "feed_forward.experts.%d.w3.weight",   NULL, EMBD, EXPERT_FF, EXPERTS,    EXPERTS, STACK)
TENSOR(DOWN_EXPS,        "ffn_down_exps.weight",       "feed_forward.experts.%d.w2.weight",   NULL, EXPERT_FF, EMBD, EXPERTS,    EXPERTS, STACK)
END_GROUP

/* classification head; dense layers from hidden state to embedding */
GROUP(rank)
TENSOR(RANK,             "cls.output.weight",        NULL, NULL, EMBD, RANKS, END,              MAY, NONE)
END_GROUP
GROUP(dense)
TENSOR(DENSE_2,          "dense_2.weight",           NULL, NULL, EMBD, DENSE_2, END,            MAY, NONE)
TENSOR(DENSE_3,          "dense_3.weight",           NULL, NULL, DENSE_2, DENSE_3, END,         MAY, NONE)
GONE(OUTPUT)
GONE(OUTPUT_BIAS)
END_GROUP

/* encoders: no logits and no RoPE scaling; then the tensors of each family */
GROUP(encoder)
GONE(OUTPUT)
GONE(OUTPUT_BIAS)
GONE(ROPE_FREQS)
GONE(ROPE_LONG)
GONE(ROPE_SHORT)
GONE(UNUSED)
END_GROUP
GROUP(bert)
TENSOR(TOKEN_EMBD,       "token_embd.weight",        "embeddings.word_embeddings.weight",          NULL, EMBD, VOCAB, END,         MUST, NONE)
TENSOR(POSITION,         "position_embd.weight",     "embeddings.position_embeddings.weight",      NULL, EMBD, CONTEXT, END,       MUST, ROWS)
TENSOR(SEGMENT,          "token_types.weight",       "embeddings.token_type_embeddings.weight",    NULL, EMBD, SEGMENTS, END,         MAY, NONE)
TENSOR(EMBD_NORM,        "token_embd_norm.weight",   "embeddings.LayerNorm.weight",                NULL, EMBD, END, END,           MUST, NONE)
TENSOR(EMBD_NORM_BIAS,   "token_embd_norm.bias",     "embeddings.LayerNorm.bias",                  NULL, EMBD, END, END,           MUST, NONE)
TENSOR(UNUSED_IDS,       "position_ids",             "embeddings.position_ids",                    NULL, CONTEXT, END, END,        MAY, NONE) /* 0, 1, 2 ... in old checkpoints */
TENSOR(HEAD,             "cls.weight",               "classifier.dense.weight",                    "pooler.dense.weight", EMBD, EMBD, END,          MAY, NONE)
TENSOR(HEAD_BIAS,        "cls.bias",                 "classifier.dense.bias",                      "pooler.dense.bias", EMBD, END, END,           MAY, NONE)
TENSOR(RANK,             "cls.output.weight",        "classifier.out_proj.weight",                 "classifier.weight", EMBD, RANKS, END,         MAY, NONE)
TENSOR(RANK_BIAS,        "cls.output.bias",          "classifier.out_proj.bias",                   "classifier.bias", RANKS, END, END,          MAY, NONE)
TENSOR(Q,                "attn_q.weight",            "attention.self.query.weight",                NULL, EMBD, Q, END,             MUST, NONE)
TENSOR(Q_BIAS,           "attn_q.bias",              "attention.self.query.bias",                  NULL, Q, END, END,              MAY, NONE)
TENSOR(K,                "attn_k.weight",            "attention.self.key.weight",                  NULL, EMBD, KV_K, END,          MUST, NONE)
TENSOR(K_BIAS,           "attn_k.bias",              "attention.self.key.bias",                    NULL, KV_K, END, END,           MAY, NONE)
TENSOR(V,                "attn_v.weight",            "attention.self.value.weight",                NULL, EMBD, KV_V, END,          MUST, NONE)
TENSOR(V_BIAS,           "attn_v.bias",              "attention.self.value.bias",                  NULL, KV_V, END, END,           MAY, NONE)
TENSOR(O,                "attn_output.weight",       "attention.output.dense.weight",              NULL, O, EMBD, END,             MUST, NONE)
TENSOR(O_BIAS,           "attn_output.bias",         "attention.output.dense.bias",                NULL, EMBD, END, END,           MAY, NONE)
TENSOR(UP,               "ffn_up.weight",            "intermediate.dense.weight",                  NULL, EMBD, FF, END,            MUST, NONE)
TENSOR(UP_BIAS,          "ffn_up.bias",              "intermediate.dense.bias",                    NULL, FF, END, END,             MAY, NONE)
TENSOR(DOWN,             "ffn_down.weight",          "output.dense.weight",                        NULL, FF, EMBD, END,            MUST, NONE)
TENSOR(DOWN_BIAS,        "ffn_down.bias",            "output.dense.bias",                          NULL, EMBD, END, END,           MAY, NONE)
TENSOR(ATTN_POST_NORM,   "attn_output_norm.weight",  "attention.output.LayerNorm.weight",          NULL, EMBD, END, END,           MUST, NONE)
TENSOR(ATTN_POST_NORM_BIAS, "attn_output_norm.bias",    "attention.output.LayerNorm.bias",            NULL, EMBD, END, END,           MUST, NONE)
TENSOR(FFN_POST_NORM,    "layer_output_norm.weight", "output.LayerNorm.weight",                    NULL, EMBD, END, END,           MUST, NONE)
TENSOR(FFN_POST_NORM_BIAS, "layer_output_norm.bias",   "output.LayerNorm.bias",                      NULL, EMBD, END, END,           MUST, NONE)
GONE(OUTPUT_NORM)
GONE(GATE)
GONE(GATE_BIAS)
END_GROUP
GROUP(nomic_bert) /* RoPE, a gated FFN, biases on norms only */
TENSOR(EMBD_NORM,        "token_embd_norm.weight",   "emb_ln.weight",                              NULL, EMBD, END, END,           MUST, NONE)
TENSOR(EMBD_NORM_BIAS,   "token_embd_norm.bias",     "emb_ln.bias",                                NULL, EMBD, END, END,           MUST, NONE)
TENSOR(Q,                "attn_qkv.weight",          "attn.Wqkv.weight",                           NULL, EMBD, Q, END,             MUST, NONE)
TENSOR(K,                "attn_qkv.weight",          "attn.Wqkv.weight",                           NULL, EMBD, KV_K, END,          MUST, NONE)
TENSOR(V,                "attn_qkv.weight",          "attn.Wqkv.weight",                           NULL, EMBD, KV_V, END,          MUST, NONE)
TENSOR(O,                "attn_output.weight",       "attn.out_proj.weight",                       NULL, O, EMBD, END,             MUST, NONE)
TENSOR(GATE,             "ffn_gate.weight",          "mlp.fc12.weight",                            NULL, EMBD, FF, END,            MUST, NONE)
TENSOR(UP,               "ffn_up.weight",            "mlp.fc11.weight",                            NULL, EMBD, FF, END,            MUST, NONE)
TENSOR(DOWN,             "ffn_down.weight",          "mlp.fc2.weight",                             NULL, FF, EMBD, END,            MUST, NONE)
TENSOR(ATTN_POST_NORM,   "attn_output_norm.weight",  "norm1.weight",                               NULL, EMBD, END, END,           MUST, NONE)
TENSOR(ATTN_POST_NORM_BIAS, "attn_output_norm.bias",    "norm1.bias",                                 NULL, EMBD, END, END,           MUST, NONE)
TENSOR(FFN_POST_NORM,    "layer_output_norm.weight", "norm2.weight",                               NULL, EMBD, END, END,           MUST, NONE)
TENSOR(FFN_POST_NORM_BIAS, "layer_output_norm.bias",   "norm2.bias",                                 NULL, EMBD, END, END,           MUST, NONE)
GONE(POSITION)
GONE(UNUSED_IDS)
GONE(HEAD)
GONE(HEAD_BIAS)
GONE(RANK)
GONE(RANK_BIAS)
GONE(Q_BIAS)
GONE(K_BIAS)
GONE(V_BIAS)
GONE(O_BIAS)
GONE(UP_BIAS)
GONE(DOWN_BIAS)
END_GROUP
GROUP(modern_bert)
TENSOR(TOKEN_EMBD,       "token_embd.weight",        "embeddings.tok_embeddings.weight",           NULL, EMBD, VOCAB, END,         MUST, NONE)
TENSOR(EMBD_NORM,        "token_embd_norm.weight",   "embeddings.norm.weight",                     NULL, EMBD, END, END,           MUST, NONE)
TENSOR(OUTPUT_NORM,      "output_norm.weight",       "final_norm.weight",                          NULL, EMBD, END, END,           MUST, NONE)
TENSOR(HEAD,             "cls.weight",               "head.dense.weight",                          NULL, EMBD, EMBD, END,          MAY, NONE)
TENSOR(HEAD_NORM,        "cls.norm.weight",          "head.norm.weight",                           NULL, EMBD, END, END,           MAY, NONE)
TENSOR(RANK,             "cls.output.weight",        "classifier.weight",                          NULL, EMBD, RANKS, END,         MAY, NONE)
TENSOR(RANK_BIAS,        "cls.output.bias",          "classifier.bias",                            NULL, RANKS, END, END,          MAY, NONE)
TENSOR(ATTN_NORM,        "attn_norm.weight",         "attn_norm.weight",                           NULL, EMBD, END, END,           NOT_FIRST, NONE)
TENSOR(Q,                "attn_qkv.weight",          "attn.Wqkv.weight",                           NULL, EMBD, Q, END,             MUST, NONE)
TENSOR(K,                "attn_qkv.weight",          "attn.Wqkv.weight",                           NULL, EMBD, KV_K, END,          MUST, NONE)
TENSOR(V,                "attn_qkv.weight",          "attn.Wqkv.weight",                           NULL, EMBD, KV_V, END,          MUST, NONE)
TENSOR(O,                "attn_output.weight",       "attn.Wo.weight",                             NULL, O, EMBD, END,             MUST, NONE)
TENSOR(FFN_NORM,         "ffn_norm.weight",          "mlp_norm.weight",                            NULL, EMBD, END, END,           MUST, NONE)
TENSOR(GATE,             "ffn_up.weight",            "mlp.Wi.weight",                              NULL, EMBD, FF, END,            MUST, NONE)
TENSOR(UP,               "ffn_up.weight",            "mlp.Wi.weight",                              NULL, EMBD, FF, END,            MUST, NONE)
TENSOR(DOWN,             "ffn_down.weight",          "mlp.Wo.weight",                              NULL, FF, EMBD, END,            MUST, NONE)
GONE(Q_BIAS)
GONE(K_BIAS)
GONE(V_BIAS)
GONE(O_BIAS)
GONE(GATE_BIAS)
GONE(UP_BIAS)
GONE(DOWN_BIAS)
END_GROUP
