/* arch/key_list.h - KEY(id, GGUF name, config.json name, rule, a, b): the keys of checkpoints, with their names in both
 * kinds of file, and how a key is treated in an architecture that does not read it.
 *
 * GGUF name          the part after "<architecture>."; NULL: GGUF files have no such key
 * config.json name   a member, or alternatives separated by | (the first one that is present is read); "rope.x": member x
 *                    of the RoPE parameters (keys_hf.c).  NULL: no class has it, or keys_hf.c computes it
 * rule               if the key was not read:
 *   READ             refused, like an unknown key
 *   NEUTRAL          accepted with value a or b, which mean "not used" (for a list: all values), else refused
 *   HARMLESS         accepted: it does not change the computation; the comment gives the reason
 *   SLIDING          accepted if the model has no window */
KEY(BLOCK_COUNT,         "block_count",                      "num_hidden_layers|n_layer", READ,     0, 0)
KEY(CONTEXT,             "context_length",                   "max_position_embeddings|n_positions", READ,     0, 0) /* BERT: without rows of padding or never trained (models/bert.c) */
KEY(EMBD,                "embedding_length",                 "hidden_size|n_embd",        READ,     0, 0)
KEY(FF,                  "feed_forward_length",              "block_ff_dim|intermediate_size_mlp|intermediate_size|n_inner", READ,     0, 0)
KEY(HEADS,               "attention.head_count",             "num_attention_heads|n_head", READ,     0, 0)
KEY(HEADS_KV,           "attention.head_count_kv",          "num_key_value_heads",       READ,     0, 0)
KEY(K_LENGTH,           "attention.key_length",             "head_dim",                  READ,     0, 0)
KEY(V_LENGTH,           "attention.value_length",           "head_dim",                  READ,     0, 0)
KEY(HEADS_KV_FULL,      NULL,                               "num_global_key_value_heads", NEUTRAL,  0, 0)
KEY(K_LENGTH_SWA,       "attention.key_length_swa",         "global_head_dim",           NEUTRAL,  0, 0) /* config.json: head_dim is of layers with a window, */
KEY(V_LENGTH_SWA,       "attention.value_length_swa",       "global_head_dim",           NEUTRAL,  0, 0) /* global_head_dim of the others (models/gemma4.c) */
KEY(BY_LAYER,           NULL,                               "per_layer_config",          NEUTRAL,  0, 0) /* newer files: these sizes for each layer */
KEY(RMS_EPS,            "attention.layer_norm_rms_epsilon", "rms_norm_eps|norm_eps",     READ,     0, 0)
KEY(ATTN_SCALE,         "attention.scale",                  "attention_multiplier",      READ,     0, 0)
KEY(ATTN_SCALAR,        NULL,                               "query_pre_attn_scalar",     READ,     0, 0) /* keys_hf.c computes ATTN_SCALE from it */
KEY(EXPERTS,            "expert_count",                     "num_local_experts|num_experts|n_routed_experts", READ, 0, 0)
KEY(EXPERTS_USED,       "expert_used_count",                "num_experts_per_tok|top_k_experts",       READ,     0, 0)
KEY(EXPERT_FF,          "expert_feed_forward_length",       "moe_intermediate_size",     READ,     0, 0)
KEY(EXPERT_GATING,      "expert_gating_func",               "scoring_func",              READ,     0, 0)
KEY(EXPERT_NORM,        "expert_weights_norm",              "norm_topk_prob",            READ,     0, 0)
KEY(EXPERT_SCALE,       "expert_weights_scale",             "routed_scaling_factor",     READ,     0, 0)
KEY(ROPE_DIM,           "rope.dimension_count",             NULL,                        READ,     0, 0) /* keys_hf.c computes it from partial_rotary_factor */
KEY(ROPE_BASE,           "rope.freq_base",                   "rope.rope_theta|rope.global_rope_theta|rope.rotary_emb_base", READ,     0, 0)
KEY(ROPE_LINEAR,        "rope.scale_linear",                NULL,                        READ,     0, 0)
KEY(ROPE_TYPE,          "rope.scaling.type",                "rope.rope_type|rope.type",  READ,     0, 0)
KEY(ROPE_FACTOR,        "rope.scaling.factor",              "rope.factor",               READ,     0, 0)
KEY(ROPE_CONTEXT,       "rope.scaling.original_context_length", "rope.original_max_position_embeddings", READ, 0, 0)
KEY(ROPE_ATTN,          "rope.scaling.attn_factor",         NULL,                        READ,     0, 0) /* attention_factor of longrope */
KEY(LOW_FACTOR,         NULL,                               "rope.low_freq_factor",      READ,     0, 0) /* of llama3 */
KEY(YARN_EXT,           "rope.scaling.yarn_ext_factor",     NULL,                        READ,     0, 0)
KEY(YARN_ATTN,          "rope.scaling.yarn_attn_factor",    NULL,                        READ,     0, 0) /* attention_factor of yarn */
KEY(YARN_FAST,          "rope.scaling.yarn_beta_fast",      "rope.beta_fast",            READ,     0, 0)
KEY(YARN_SLOW,          "rope.scaling.yarn_beta_slow",      "rope.beta_slow",            READ,     0, 0)
KEY(ROPE_BASE_SWA,       "rope.freq_base_swa",               "rope_local_base_freq|local_rope_theta", SLIDING,  0, 0)
KEY(ROPE_DIM_SWA,       "rope.dimension_count_swa",         NULL,                        SLIDING,  0, 0)
KEY(WINDOW,              "attention.sliding_window",         "sliding_window|local_attention", NEUTRAL,  0, 0)
KEY(WINDOW_PATTERN,      "attention.sliding_window_pattern", "layer_types|sliding_window_pattern|_sliding_window_pattern|global_attn_every_n_layers", SLIDING,  0, 0)
KEY(EMBD_SCALE,         "embedding_scale",                  "embedding_multiplier",      NEUTRAL,  0, 1)
KEY(RESIDUAL_SCALE,     "residual_scale",                   "residual_multiplier",       NEUTRAL,  0, 1)
KEY(LOGIT_SCALE,        "logit_scale",                      "logits_scaling",            NEUTRAL,  0, 1)
KEY(SHARED_EXPERTS,     "expert_shared_count",              "n_shared_experts",          NEUTRAL,  0, 0)
KEY(SHARED_EXPERT_FF,   "expert_shared_feed_forward_length", "shared_expert_intermediate_size|shared_intermediate_size", NEUTRAL, 0, 0)
KEY(LEADING_DENSE,      "leading_dense_block_count",        "first_k_dense_replace|num_dense_layers",     NEUTRAL,  0, 0)
KEY(NEXTN,              "nextn_predict_layers",             "num_nextn_predict_layers|mtp_num_hidden_layers|num_mtp_layers", NEUTRAL,  0, 0)
KEY(TEMPERATURE,        "attention.temperature_scale",      "rope.llama_4_scaling_beta|rope.attn_scale", NEUTRAL, 0, 0)
KEY(TEMPERATURE_LENGTH, "attention.temperature_length",     "floor_scale",               NEUTRAL,  0, 0)
KEY(TEMPERATURE_ON,     NULL,                               "attn_temperature_tuning",   NEUTRAL,  0, 0)
KEY(CHUNK,              NULL,                               "attention_chunk_size",      NEUTRAL,  0, 0) /* in GGUF files: WINDOW */
KEY(MOE_STEP,           "interleave_moe_layer_step",        "interleave_moe_layer_step", NEUTRAL,  0, 1)
KEY(MOE_LAYERS,         NULL,                               "moe_layers",                NEUTRAL, -1, -1) /* numbers of layers with experts */
KEY(YARN_LOG,           "rope.scaling.yarn_log_multiplier", "rope.mscale_all_dim",       NEUTRAL,  0, 0)
KEY(YARN_MSCALE,        NULL,                               "rope.mscale",               NEUTRAL,  0, 0)
KEY(YARN_ROUND,         NULL,                               "rope.truncate",             READ,     0, 0)
KEY(SWIGLU_LIMIT,       NULL,                               "swiglu_limit",              NEUTRAL,  0, 0)
KEY(SWIGLU_GAIN,        NULL,                               "swiglu_alpha",              NEUTRAL,  0, 0)
KEY(STILL_PERIOD,       NULL,                               "no_rope_layer_interval",    NEUTRAL,  0, 0)
KEY(ROTATES,            NULL,                               "no_rope_layers",            NEUTRAL,  2, 2) /* a list; 1: the layer rotates */
KEY(QK_NORM,            NULL,                               "use_qk_norm",               NEUTRAL,  0, 0)
KEY(ROTARY_DIM,         NULL,                               "rotary_dim",                NEUTRAL,  0, 0)
KEY(LAYER_KINDS,        NULL,                               "attn_type_list",            NEUTRAL,  1, 1)
KEY(RECURRENT,          "attention.recurrent_layers",       "layer_types",               NEUTRAL,  0, 0) /* keys_hf.c: a flag for each layer */
KEY(FULL_INTERVAL,      "full_attention_interval",          "full_attention_interval",   NEUTRAL,  0, 1)
KEY(SHORT_CONV,         "shortconv.l_cache",                "conv_L_cache",              NEUTRAL,  0, 0)
KEY(FF_ADJUST,          NULL,                               "block_auto_adjust_ff_dim",  NEUTRAL,  0, 0) /* read with FF, like the next two */
KEY(FF_TIMES,           NULL,                               "block_ffn_dim_multiplier",  HARMLESS, 0, 0)
KEY(FF_MULTIPLE,        NULL,                               "block_multiple_of",         HARMLESS, 0, 0)
KEY(STATE_CONV,         "ssm.conv_kernel",                  "linear_conv_kernel_dim|mamba_d_conv", NEUTRAL,  0, 0)
KEY(STATE_DK,           "ssm.state_size",                   "linear_key_head_dim|mamba_d_state", NEUTRAL,  0, 0)
KEY(STATE_O,            "ssm.inner_size",                   "linear_value_head_dim|mamba_d_head", NEUTRAL,  0, 0) /* keys_hf.c multiplies by the heads */
KEY(STATE_K_HEADS,      "ssm.group_count",                  "linear_num_key_heads|mamba_n_groups", NEUTRAL,  0, 0)
KEY(STATE_HEADS,        "ssm.time_step_rank",               "linear_num_value_heads|mamba_n_heads", NEUTRAL, 0, 0)
KEY(STEP_LIMIT,         NULL,                               "time_step_limit",           NEUTRAL, -1, -1) /* keys_hf_lists.c refuses a limit */
KEY(ATTN_GATE,          NULL,                               "attn_output_gate",          NEUTRAL,  0, 0)
KEY(SHARED_KV,          "attention.shared_kv_layers",       "num_kv_shared_layers",      NEUTRAL,  0, 0)
KEY(WIDE_BORROWERS,     NULL,                               "use_double_wide_mlp",       NEUTRAL,  0, 0)
KEY(LAYER_EMBD,         "embedding_length_per_layer_input", "hidden_size_per_layer_input", NEUTRAL, 0, 0)
KEY(STREAMS,            "altup.num_inputs",                 "altup_num_inputs",          NEUTRAL,  0, 1)
KEY(STREAM_ACTIVE,      "altup.active_idx",                 "altup_active_idx",          NEUTRAL,  0, 0)
KEY(STREAM_SCALE,       NULL,                               "altup_correct_scale",       NEUTRAL,  0, 0)
KEY(CUTS,               "activation_sparsity_scale",        "activation_sparsity_pattern", NEUTRAL, 0, 0) /* keys_hf.c: its normal quantile */
KEY(EXPERT_GROUPS,      "expert_group_count",               "n_group",                   NEUTRAL,  0, 1)
KEY(EXPERT_GROUPS_USED, "expert_group_used_count",          "topk_group",                NEUTRAL,  0, 1)
KEY(Q_LORA,             "attention.q_lora_rank",            "q_lora_rank",               NEUTRAL,  0, 0)
KEY(KV_LORA,            "attention.kv_lora_rank",           "kv_lora_rank",              NEUTRAL,  0, 0)
KEY(K_MLA,              "attention.key_length_mla",         "qk_nope_head_dim",          NEUTRAL,  0, 0) /* config.json: without the rotated columns */
KEY(V_MLA,              "attention.value_length_mla",       "v_head_dim",                NEUTRAL,  0, 0)
KEY(ATTN_CAP,           "attn_logit_softcapping",           "attn_logit_softcapping",    NEUTRAL,  0, 0)
KEY(LOGIT_CAP,          "final_logit_softcapping",          "final_logit_softcapping",   NEUTRAL,  0, 0)
KEY(CAUSAL,              "attention.causal",                 "causal|is_causal",          NEUTRAL,  1, 1)
KEY(BIDIRECTIONAL,      NULL,                               "use_bidirectional_attention", NEUTRAL, 0, 0)
KEY(DECODER,             NULL,                               "is_decoder",                HARMLESS, 0, 0) /* encoders read it; other models are decoders */
KEY(FIRST_POSITION,      NULL,                               "pad_token_id",              HARMLESS, 0, 0) /* RoBERTa: the row of position 0 is pad_token_id + 1 */
KEY(HEAD_POOLING,        "classifier.pooling_type",          "classifier_pooling",        HARMLESS, 0, 0) /* read only with a classification head */
KEY(LAYER_EPS,           "attention.layer_norm_epsilon",     "norm_eps|layer_norm_eps|layer_norm_epsilon", HARMLESS, 0, 0) /* read only with LayerNorm */

/* effects that no architecture here has */
KEY(PARALLEL,            "use_parallel_residual",            "parallel_block",            NEUTRAL,  0, 0)
KEY(PRE_NORMS,           NULL,                               "prenorm",                   NEUTRAL,  0, 0)
KEY(SAME_NORM,           NULL,                               "parallel_block_tied_norm",  NEUTRAL,  0, 0)
KEY(BY_PAIRS,            NULL,                               "rotary_emb_interleaved",    NEUTRAL,  0, 0)
KEY(ROTATING_PART,       NULL,                               "rotary_emb_fraction",       NEUTRAL,  1, 1)
KEY(XPOS,                NULL,                               "rotary_emb_scale_base",     NEUTRAL,  0, 0)
KEY(NTK,                 NULL,                               "rotary_scaling_factor",     NEUTRAL,  0, 0)
KEY(RMS_NORMS,           NULL,                               "use_rms_norm",              NEUTRAL,  0, 0)
KEY(SCALE_BY_LAYER,      NULL,                               "scale_attn_by_inverse_layer_idx", NEUTRAL,  0, 0)
KEY(SCALED,              NULL,                               "scale_attn_weights",        NEUTRAL,  1, 1)
KEY(CROSS,               NULL,                               "add_cross_attention",       NEUTRAL,  0, 0)
KEY(TASKS,               NULL,                               "lora_adaptations",          NEUTRAL,  -1, -1)
KEY(CLAMP_KQV,          "attention.clamp_kqv",              "clip_qkv",                  NEUTRAL,  0, 0)
KEY(ALIBI,              "attention.max_alibi_bias",         NULL,                        NEUTRAL,  0, 0)
KEY(ROUTER_CAP,         "router_logit_softcapping",         NULL,                        NEUTRAL,  0, 0)
KEY(CHUNK_EXPERT_FF,    "expert_chunk_feed_forward_length", NULL,                        NEUTRAL,  0, 0)
KEY(EXPERT_GROUP_SCALE, "expert_group_scale",               NULL,                        NEUTRAL,  0, 1)
KEY(GROUP_EXPERTS,      "experts_per_group",                NULL,                        NEUTRAL,  0, 0)
KEY(MOE_EVERY,           "moe_every_n_layers",               "decoder_sparse_step|moe_every_n_layers", NEUTRAL,  0, 1)
KEY(MOE_FREQ,           NULL,                               "moe_layer_freq",            NEUTRAL,  0, 1)
KEY(MOE_LATENT,         "moe_latent_size",                  NULL,                        NEUTRAL,  0, 0)
KEY(INDEX_TOP_K,        "attention.indexer.top_k",          "index_topk",                NEUTRAL,  0, 0)
KEY(INTERLEAVE,         NULL,                               "rope_interleave",           NEUTRAL,  1, 1)
KEY(OUTPUT_SCALE,       "attention.output_scale",           NULL,                        NEUTRAL,  0, 1)
KEY(VALUE_SCALE,        "attention.value_scale",            NULL,                        NEUTRAL,  0, 1)
KEY(BUCKETS,            "attention.relative_buckets_count", NULL,                        NEUTRAL,  0, 0)
KEY(EMBD_OUT,           "embedding_length_out",             NULL,                        NEUTRAL,  0, 0)
KEY(ROPE_ALPHA,         "rope.scaling.alpha",               NULL,                        NEUTRAL,  0, 0)
KEY(SWIN_NORM,          "swin_norm",                        NULL,                        NEUTRAL,  0, 0)
KEY(DENSE_LAYERS,       NULL,                               "mlp_only_layers",           NEUTRAL, -1, -1) /* must be empty */
KEY(MROPE,              NULL,                               "use_mrope",                 NEUTRAL,  0, 0)
KEY(ROPE_BY_PAIRS,      NULL,                               "rope_interleaved",          NEUTRAL,  0, 0)
KEY(FULL_EVERY,         NULL,                               "full_attn_mod",             NEUTRAL,  1, 1)
KEY(INTERPOLATE,        NULL,                               "interpolate_factor",        NEUTRAL,  1, 1)
KEY(HEAD_BIAS,          NULL,                               "lm_head_bias",              NEUTRAL,  0, 0)
KEY(POST_NORM,          NULL,                               "postnorm",                  NEUTRAL,  0, 0)
KEY(BETA_FULL,          NULL,                               "layernorm_full_attention_beta", NEUTRAL, 1, 1)
KEY(BETA_LINEAR,        NULL,                               "layernorm_linear_attention_beta", NEUTRAL, 1, 1)
KEY(BETA_MLP,           NULL,                               "layernorm_mlp_beta",        NEUTRAL,  1, 1)
KEY(GATED_FF,           NULL,                               "block_use_swiglu",          NEUTRAL,  1, 1)
KEY(HAS_POSITIONS,      NULL,                               "use_pos_enc",               NEUTRAL,  1, 1)

/* no effect here, and why */
KEY(VOCAB,              "vocab_size",                       "vocab_size",                HARMLESS, 0, 0) /* rows of token_embd */
KEY(LAYOUT,             "tensor_data_layout",               NULL,                        HARMLESS, 0, 0) /* informational */
KEY(POOLING,            "pooling_type",                     NULL,                        HARMLESS, 0, 0) /* the caller chooses the pooling */
KEY(LABELS,             "classifier.output_labels",         NULL,                        HARMLESS, 0, 0) /* read if the model outputs scores */
KEY(HEAD_DIM,           "attention.head_dim",               NULL,                        HARMLESS, 0, 0) /* Ollama's; compared with K_LENGTH */
KEY(NORM_TOP_K,         "norm_top_k_prob",                  NULL,                        HARMLESS, 0, 0) /* Ollama's; compared with EXPERT_NORM */
KEY(UNIT_LENGTH,        "normalize_embeddings",             NULL,                        HARMLESS, 0, 0) /* Ollama's; an option of the caller */
KEY(PICTURE_LAYERS,     "deepstack_mapping",                NULL,                        HARMLESS, 0, 0) /* vision only */
KEY(PARTS,               NULL,                               "type_vocab_size",           HARMLESS, 0, 0) /* rows of the segment table */
KEY(POSITIONS,           NULL,                               "position_embedding_type",   HARMLESS, 0, 0) /* compared with arch.expect */
KEY(SEEN,                NULL,                               "max_trained_positions",     HARMLESS, 0, 0) /* read with CONTEXT */
KEY(DENSE_2_IN,         "dense_2_feat_in",                  NULL,                        HARMLESS, 0, 0) /* a size of tensors, like the next */
KEY(DENSE_2_OUT,        "dense_2_feat_out",                 NULL,                        HARMLESS, 0, 0)
KEY(DENSE_3_IN,         "dense_3_feat_in",                  NULL,                        HARMLESS, 0, 0)
KEY(DENSE_3_OUT,        "dense_3_feat_out",                 NULL,                        HARMLESS, 0, 0)
KEY(FINETUNED,          "rope.scaling.finetuned",           "rope.finetuned",            HARMLESS, 0, 0) /* informational; hybrids read it: true if the model has RoPE */
KEY(SECTIONS,           "rope.dimension_sections",          "rope.mrope_section|rope.mrope_interleaved", HARMLESS, 0, 0) /* text has one position in all sections */
KEY(ROTATING,           NULL,                               "qk_rope_head_dim",          HARMLESS, 0, 0) /* read with ROPE_DIM */
KEY(QK_HEAD,            NULL,                               "qk_head_dim",               HARMLESS, 0, 0) /* qk_nope_head_dim + qk_rope_head_dim */
KEY(TOP_K_METHOD,       NULL,                               "topk_method",               HARMLESS, 0, 0) /* read with EXPERT_GROUPS */
KEY(K_IS_V,             NULL,                               "attention_k_eq_v",          HARMLESS, 0, 0) /* read with HEADS_KV_FULL; a property of the tensors */
KEY(HAS_EXPERTS,        NULL,                               "enable_moe_block",          HARMLESS, 0, 0) /* read with EXPERTS */
KEY(SIDE,               NULL,                               "laurel_rank",               HARMLESS, 0, 0) /* a size of tensors */
KEY(LAYER_VOCAB,        NULL,                               "vocab_size_per_layer_input", HARMLESS, 0, 0) /* rows of the table */
KEY(MAMBA_WIDTH,        NULL,                               "mamba_expand",              HARMLESS, 0, 0) /* width of all heads */
KEY(MAMBA_CHUNK,        NULL,                               "mamba_chunk_size",          HARMLESS, 0, 0) /* batch size of other engines */
KEY(FFN_KINDS,          NULL,                               "mlp_layer_types",           HARMLESS, 0, 0) /* keys_hf_lists.c compares it with LEADING_DENSE */
KEY(PARTIAL_ROTARY,     NULL,                               "rope.partial_rotary_factor", HARMLESS, 0, 0) /* read with ROPE_DIM */
KEY(ATTENTION_FACTOR,   NULL,                               "rope.attention_factor",     HARMLESS, 0, 0) /* read with ROPE_ATTN, YARN_ATTN */
KEY(SCALED_CONTEXT,     NULL,                               "rope.max_position_embeddings", HARMLESS, 0, 0) /* repeats CONTEXT */
KEY(LONG_FACTOR,        NULL,                               "rope.long_factor",          HARMLESS, 0, 0) /* stored as tensors, like the next */
KEY(SHORT_FACTOR,       NULL,                               "rope.short_factor",         HARMLESS, 0, 0)
KEY(HIGH_FACTOR,        NULL,                               "rope.high_freq_factor",     HARMLESS, 0, 0)
KEY(ROPE_PARAMETERS,    NULL,                               "rope_parameters|rope_scaling", HARMLESS, 0, 0) /* their members are keys */
KEY(USE_WINDOW,         NULL,                               "use_sliding_window",        HARMLESS, 0, 0) /* read with WINDOW */
KEY(WINDOW_LAYERS,      NULL,                               "max_window_layers",         HARMLESS, 0, 0) /* layer_types is read instead */
KEY(BIASES,             NULL,                               "attention_bias|mlp_bias|qkv_bias|use_routing_bias|conv_bias|use_expert_bias|norm_bias|mamba_conv_bias|mamba_proj_bias|"
                                                            "classifier_bias|decoder_bias|qkv_proj_bias|mlp_fc1_bias|mlp_fc2_bias", HARMLESS, 0, 0) /* a property of the tensors */
KEY(TIED,               NULL,                               "tie_word_embeddings|tie_embedding", HARMLESS, 0, 0) /* a property of the tensors */
KEY(ACTIVATION,          "hidden_activation",                "hidden_act|hidden_activation|activation_function", HARMLESS, 0, 0) /* read, or compared with arch.expect */
KEY(CLASS,              NULL,                               "architectures|model_type",  HARMLESS, 0, 0) /* selects the architecture */
KEY(STORED,             NULL,                               "torch_dtype|dtype|quantization_config|quantization|compression_config", HARMLESS, 0, 0) /* storage of tensors; hf/quant.c reads it */
KEY(TOKENS,             NULL,                               "bos_token_id|eos_token_id|cls_token_id|sep_token_id", HARMLESS, 0, 0) /* tokens; read from the tokenizer */
KEY(REPEATED,           NULL,                               "experts_per_token|initial_context_length|sliding_window_size|block_dim|conv_dim|conv_dim_out|num_heads|block_norm_eps|theta|"
                                                            "full_attn_idxs", HARMLESS, 0, 0) /* keys_hf_lists.c compares it with layer_types */
KEY(DENSE_WIDTH,        NULL,                               "mlp_intermediate_size",     HARMLESS, 0, 0) /* MiniMax M2 has no dense layers; a size of tensors */
KEY(MORE_TOKENS,        NULL,                               "use_mtp|num_mtp_modules|mtp_transformer_layers|shared_moe_mode", HARMLESS, 0, 0) /* about MTP layers, which are not loaded, and shared experts, whose number is another member */
KEY(WRITER,             NULL,                               "transformers_version|_name_or_path|_commit_hash|auto_map|custom_pipelines|tokenizer_class|_attn_implementation|"
                                                            "attn_implementation|_attn_implementation_autoset|_attn_implementation_internal|_experts_implementation|"
                                                            "unsloth_fixed|unsloth_version|unsloth_optimized|transformers.js_config|is_llama_config|for_llm_compressor|"
                                                            "max_sequence_length|model_max_length", HARMLESS, 0, 0)
KEY(KEPT,               NULL,                               "mamba_ssm_dtype|mtp_use_dedicated_embeddings", HARMLESS, 0, 0) /* states are f32 */
KEY(TRAINING,           NULL,                               "initializer_range|attention_dropout|resid_pdrop|embd_pdrop|"
                                                            "router_aux_loss_coef|router_jitter_noise|pretraining_tp|"
                                                            "aux_loss_alpha|seq_aux|ep_size|altup_coef_clip|altup_lr_multiplier|hidden_dropout_prob|attention_probs_dropout_prob|"
                                                            "classifier_dropout|embedding_dropout|mlp_dropout|attn_pdrop|initializer_cutoff_factor|"
                                                            "sparse_prediction|sparse_pred_ignore_index|summary_first_dropout|gradient_checkpointing|hidden_dropout|"
                                                            "init_method|block_mlp_init_scale|block_out_init_scale|block_use_xavier_init|conv_use_xavier_init|"
                                                            "loss_type|finetuning_task|use_bfloat16|tf_legacy_loss", HARMLESS, 0, 0)
KEY(CALLER,             NULL,                               "use_cache|output_router_logits|output_attentions|output_hidden_states|"
                                                            "return_dict|chunk_size_feed_forward|is_encoder_decoder|id2label|label2id|"
                                                            "problem_type|cache_implementation|dense_seq_output|fused_bias_fc|"
                                                            "fused_dropout_add_ln|use_flash_attn|use_xentropy|deterministic_flash_attn|"
                                                            "reference_compile|repad_logits_with_grad|pad_vocab_size_multiple|output_past|torchscript|use_return_dict|"
                                                            "tie_encoder_decoder|cross_attention_hidden_size|decoder_start_token_id|prefix|num_labels|"
                                                            "reorder_and_upcast_attn|summary_type|summary_use_proj|summary_activation|summary_proj_to_labels|"
                                                            "task_specific_params", HARMLESS, 0, 0) /* options of transformers */
KEY(SAMPLING,           NULL,                               "max_length|min_length|do_sample|early_stopping|num_beams|num_beam_groups|diversity_penalty|temperature|top_k|top_p|"
                                                            "typical_p|repetition_penalty|length_penalty|no_repeat_ngram_size|encoder_no_repeat_ngram_size|"
                                                            "num_return_sequences|output_scores|return_dict_in_generate|remove_invalid_values", HARMLESS, 0, 0) /* written by older versions; generation_config.json is used instead */
