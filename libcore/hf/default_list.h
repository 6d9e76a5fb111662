/* hf/default_list.h - DEFAULTS(model_type, members): values that transformers' classes give to
 * members missing from config.json, as NAME=VALUE with spaces between.  Written by
 * scripts/mk-hf-defaults.py. */
DEFAULTS("llama",
	"hidden_size=4096 intermediate_size=11008 num_hidden_layers=32 num_attention_heads=32 hidden_act=silu "
	"max_position_embeddings=2048 rms_norm_eps=1e-06 rope_theta=10000.0")
DEFAULTS("mistral",
	"hidden_size=4096 intermediate_size=14336 num_hidden_layers=32 num_attention_heads=32 "
	"num_key_value_heads=8 hidden_act=silu max_position_embeddings=131072 rms_norm_eps=1e-06 "
	"sliding_window=4096 rope_theta=10000.0")
DEFAULTS("mixtral",
	"hidden_size=4096 intermediate_size=14336 num_hidden_layers=32 num_attention_heads=32 "
	"num_key_value_heads=8 hidden_act=silu max_position_embeddings=131072 rms_norm_eps=1e-05 "
	"num_experts_per_tok=2 num_local_experts=8 rope_theta=1000000.0")
DEFAULTS("ministral3",
	"hidden_size=4096 intermediate_size=14336 num_hidden_layers=34 num_attention_heads=32 "
	"num_key_value_heads=8 head_dim=128 hidden_act=silu max_position_embeddings=262144 rms_norm_eps=1e-05 "
	"rope_theta=10000.0")
DEFAULTS("mistral4",
	"hidden_size=4096 intermediate_size=12288 moe_intermediate_size=2048 num_hidden_layers=36 "
	"num_attention_heads=32 num_key_value_heads=32 n_shared_experts=1 n_routed_experts=128 "
	"routed_scaling_factor=1.0 kv_lora_rank=256 q_lora_rank=1024 qk_rope_head_dim=64 v_head_dim=128 "
	"qk_nope_head_dim=64 n_group=1 topk_group=1 num_experts_per_tok=4 first_k_dense_replace=0 "
	"norm_topk_prob=true hidden_act=silu max_position_embeddings=1048576 rms_norm_eps=1e-06 "
	"rope_interleave=true rope_theta=10000.0")
DEFAULTS("qwen2",
	"hidden_size=4096 intermediate_size=22016 num_hidden_layers=32 num_attention_heads=32 "
	"num_key_value_heads=32 hidden_act=silu max_position_embeddings=32768 rms_norm_eps=1e-06 "
	"use_sliding_window=false sliding_window=4096 rope_theta=10000.0")
DEFAULTS("qwen2_moe",
	"hidden_size=2048 intermediate_size=5632 num_hidden_layers=24 num_attention_heads=16 "
	"num_key_value_heads=16 hidden_act=silu max_position_embeddings=32768 rms_norm_eps=1e-06 "
	"use_sliding_window=false sliding_window=4096 decoder_sparse_step=1 moe_intermediate_size=1408 "
	"shared_expert_intermediate_size=5632 num_experts_per_tok=4 num_experts=60 norm_topk_prob=false "
	"rope_theta=10000.0")
DEFAULTS("qwen3",
	"hidden_size=4096 intermediate_size=22016 num_hidden_layers=32 num_attention_heads=32 "
	"num_key_value_heads=32 head_dim=128 hidden_act=silu max_position_embeddings=32768 rms_norm_eps=1e-06 "
	"use_sliding_window=false sliding_window=4096 rope_theta=10000.0")
DEFAULTS("qwen3_moe",
	"hidden_size=2048 intermediate_size=6144 num_hidden_layers=24 num_attention_heads=32 "
	"num_key_value_heads=4 hidden_act=silu max_position_embeddings=32768 rms_norm_eps=1e-06 "
	"use_sliding_window=false sliding_window=4096 decoder_sparse_step=1 moe_intermediate_size=768 "
	"num_experts_per_tok=8 num_experts=128 norm_topk_prob=false rope_theta=10000.0")
DEFAULTS("qwen3_next",
	"hidden_size=2048 intermediate_size=5632 num_hidden_layers=48 num_attention_heads=16 "
	"num_key_value_heads=2 hidden_act=silu max_position_embeddings=32768 rms_norm_eps=1e-06 head_dim=256 "
	"linear_conv_kernel_dim=4 linear_key_head_dim=128 linear_value_head_dim=128 linear_num_key_heads=16 "
	"linear_num_value_heads=32 decoder_sparse_step=1 moe_intermediate_size=512 "
	"shared_expert_intermediate_size=512 num_experts_per_tok=10 num_experts=512 norm_topk_prob=true "
	"rope_theta=10000.0 partial_rotary_factor=0.25")
DEFAULTS("qwen3_5_text",
	"hidden_size=4096 intermediate_size=12288 num_hidden_layers=32 num_attention_heads=16 "
	"num_key_value_heads=4 hidden_act=silu max_position_embeddings=32768 rms_norm_eps=1e-06 head_dim=256 "
	"linear_conv_kernel_dim=4 linear_key_head_dim=128 linear_value_head_dim=128 linear_num_key_heads=16 "
	"linear_num_value_heads=32 rope_theta=10000.0 partial_rotary_factor=0.25")
DEFAULTS("qwen3_5_moe_text",
	"hidden_size=2048 num_hidden_layers=40 num_attention_heads=16 num_key_value_heads=2 hidden_act=silu "
	"max_position_embeddings=32768 rms_norm_eps=1e-06 head_dim=256 linear_conv_kernel_dim=4 "
	"linear_key_head_dim=128 linear_value_head_dim=128 linear_num_key_heads=16 linear_num_value_heads=32 "
	"moe_intermediate_size=512 shared_expert_intermediate_size=512 num_experts_per_tok=8 num_experts=256 "
	"rope_theta=10000.0 partial_rotary_factor=0.25")
DEFAULTS("gemma2",
	"hidden_size=2304 intermediate_size=9216 num_hidden_layers=26 num_attention_heads=8 "
	"num_key_value_heads=4 head_dim=256 hidden_activation=gelu_pytorch_tanh max_position_embeddings=8192 "
	"rms_norm_eps=1e-06 query_pre_attn_scalar=256 sliding_window=4096 final_logit_softcapping=30.0 "
	"attn_logit_softcapping=50.0 rope_theta=10000.0")
DEFAULTS("gemma3_text",
	"hidden_size=2304 intermediate_size=9216 num_hidden_layers=26 num_attention_heads=8 "
	"num_key_value_heads=4 head_dim=256 hidden_activation=gelu_pytorch_tanh "
	"max_position_embeddings=131072 rms_norm_eps=1e-06 query_pre_attn_scalar=256 sliding_window=4096 "
	"use_bidirectional_attention=false rope_theta=1000000.0")
DEFAULTS("gemma3n_text",
	"hidden_size=2048 intermediate_size=16384 num_hidden_layers=35 num_attention_heads=8 "
	"num_key_value_heads=2 head_dim=256 hidden_activation=gelu_pytorch_tanh max_position_embeddings=32768 "
	"rms_norm_eps=1e-06 sliding_window=512 final_logit_softcapping=30.0 hidden_size_per_layer_input=256 "
	"altup_active_idx=0 altup_correct_scale=true altup_num_inputs=4 num_kv_shared_layers=15 "
	"rope_theta=1000000.0")
DEFAULTS("gemma4_text",
	"hidden_size=2304 intermediate_size=9216 num_hidden_layers=30 num_attention_heads=8 "
	"num_key_value_heads=4 head_dim=256 hidden_activation=gelu_pytorch_tanh "
	"max_position_embeddings=131072 rms_norm_eps=1e-06 sliding_window=512 hidden_size_per_layer_input=256 "
	"attention_k_eq_v=false num_kv_shared_layers=0 enable_moe_block=false use_double_wide_mlp=false "
	"rope_theta=10000.0")
DEFAULTS("phi3",
	"hidden_size=3072 intermediate_size=8192 num_hidden_layers=32 num_attention_heads=32 hidden_act=silu "
	"max_position_embeddings=4096 original_max_position_embeddings=4096 rms_norm_eps=1e-05 "
	"rope_theta=10000.0")
DEFAULTS("deepseek_v2",
	"hidden_size=4096 intermediate_size=11008 num_hidden_layers=32 num_attention_heads=32 hidden_act=silu "
	"max_position_embeddings=2048 rms_norm_eps=1e-06 first_k_dense_replace=0 kv_lora_rank=512 "
	"q_lora_rank=1536 n_routed_experts=64 n_shared_experts=2 qk_nope_head_dim=128 qk_rope_head_dim=64 "
	"routed_scaling_factor=1.0 topk_method=greedy norm_topk_prob=false v_head_dim=128 "
	"moe_intermediate_size=1407 rope_theta=10000.0")
DEFAULTS("deepseek_v3",
	"hidden_size=7168 intermediate_size=18432 moe_intermediate_size=2048 num_hidden_layers=61 "
	"num_attention_heads=128 num_key_value_heads=128 n_shared_experts=1 n_routed_experts=256 "
	"routed_scaling_factor=2.5 kv_lora_rank=512 q_lora_rank=1536 qk_rope_head_dim=64 v_head_dim=128 "
	"qk_nope_head_dim=128 n_group=8 topk_group=4 num_experts_per_tok=8 first_k_dense_replace=3 "
	"norm_topk_prob=true hidden_act=silu max_position_embeddings=4096 rms_norm_eps=1e-06 "
	"rope_interleave=true rope_theta=10000.0")
DEFAULTS("glm4_moe_lite",
	"hidden_size=2048 intermediate_size=10240 moe_intermediate_size=1536 num_hidden_layers=47 "
	"num_attention_heads=20 num_key_value_heads=20 n_shared_experts=1 n_routed_experts=64 "
	"routed_scaling_factor=1.8 kv_lora_rank=512 q_lora_rank=768 qk_rope_head_dim=64 v_head_dim=256 "
	"qk_nope_head_dim=192 n_group=1 topk_group=1 num_experts_per_tok=4 norm_topk_prob=true "
	"hidden_act=silu max_position_embeddings=202752 rms_norm_eps=1e-05 rope_interleave=true "
	"rope_theta=10000.0")
DEFAULTS("gpt_oss",
	"num_hidden_layers=36 num_local_experts=128 hidden_size=2880 intermediate_size=2880 head_dim=64 "
	"num_attention_heads=64 num_key_value_heads=8 sliding_window=128 hidden_act=silu "
	"max_position_embeddings=131072 rms_norm_eps=1e-05 num_experts_per_tok=4 swiglu_alpha=1.702 "
	"swiglu_limit=7.0 rope_theta=150000.0")
DEFAULTS("glm4",
	"hidden_size=4096 intermediate_size=13696 num_hidden_layers=40 num_attention_heads=32 "
	"num_key_value_heads=2 head_dim=128 hidden_act=silu max_position_embeddings=131072 "
	"rms_norm_eps=1.5625e-07 rope_theta=10000.0 partial_rotary_factor=0.5")
DEFAULTS("glm4_moe",
	"hidden_size=4096 intermediate_size=10944 num_hidden_layers=46 num_attention_heads=96 "
	"num_key_value_heads=8 hidden_act=silu max_position_embeddings=131072 rms_norm_eps=1e-05 "
	"moe_intermediate_size=1408 num_experts_per_tok=8 n_shared_experts=1 n_routed_experts=128 "
	"routed_scaling_factor=1.0 n_group=1 topk_group=1 first_k_dense_replace=1 norm_topk_prob=true "
	"use_qk_norm=false rope_theta=10000.0 partial_rotary_factor=0.5")
DEFAULTS("smollm3",
	"hidden_size=2048 intermediate_size=11008 num_hidden_layers=36 num_attention_heads=16 "
	"num_key_value_heads=4 hidden_act=silu max_position_embeddings=32768 rms_norm_eps=1e-06 "
	"use_sliding_window=false no_rope_layer_interval=4 rope_theta=2000000.0")
DEFAULTS("granite",
	"hidden_size=4096 intermediate_size=11008 num_hidden_layers=32 num_attention_heads=32 hidden_act=silu "
	"max_position_embeddings=2048 rms_norm_eps=1e-06 embedding_multiplier=1.0 logits_scaling=1.0 "
	"residual_multiplier=1.0 attention_multiplier=1.0 rope_theta=10000.0")
DEFAULTS("granitemoe",
	"hidden_size=4096 intermediate_size=11008 num_hidden_layers=32 num_attention_heads=32 hidden_act=silu "
	"max_position_embeddings=2048 rms_norm_eps=1e-06 embedding_multiplier=1.0 logits_scaling=1.0 "
	"residual_multiplier=1.0 attention_multiplier=1.0 num_local_experts=8 num_experts_per_tok=2 "
	"rope_theta=10000.0")
DEFAULTS("granitemoeshared",
	"hidden_size=4096 intermediate_size=11008 num_hidden_layers=32 num_attention_heads=32 hidden_act=silu "
	"max_position_embeddings=2048 rms_norm_eps=1e-06 embedding_multiplier=1.0 logits_scaling=1.0 "
	"residual_multiplier=1.0 attention_multiplier=1.0 num_local_experts=8 num_experts_per_tok=2 "
	"shared_intermediate_size=0 rope_theta=10000.0")
DEFAULTS("granitemoehybrid",
	"hidden_size=4096 intermediate_size=11008 num_hidden_layers=32 num_attention_heads=32 hidden_act=silu "
	"max_position_embeddings=2048 rms_norm_eps=1e-06 embedding_multiplier=1.0 logits_scaling=1.0 "
	"residual_multiplier=1.0 attention_multiplier=1.0 num_local_experts=8 num_experts_per_tok=2 "
	"shared_intermediate_size=1024 mamba_n_heads=128 mamba_n_groups=1 mamba_d_state=256 mamba_d_conv=4 "
	"rope_theta=10000.0")
DEFAULTS("olmo2",
	"hidden_size=4096 intermediate_size=11008 num_hidden_layers=32 num_attention_heads=32 hidden_act=silu "
	"max_position_embeddings=2048 rms_norm_eps=1e-05 rope_theta=10000.0")
DEFAULTS("olmo3",
	"hidden_size=4096 intermediate_size=11008 num_hidden_layers=32 num_attention_heads=32 hidden_act=silu "
	"max_position_embeddings=2048 rms_norm_eps=1e-05 sliding_window=4096 rope_theta=500000.0")
DEFAULTS("minimax_m2",
	"hidden_size=3072 intermediate_size=1536 num_hidden_layers=62 num_attention_heads=48 "
	"num_key_value_heads=8 head_dim=128 hidden_act=silu max_position_embeddings=196608 rms_norm_eps=1e-06 "
	"num_experts_per_tok=8 num_local_experts=256 rope_theta=5000000.0")
DEFAULTS("llama4_text",
	"hidden_size=5120 intermediate_size=8192 intermediate_size_mlp=16384 num_hidden_layers=48 "
	"num_attention_heads=40 num_key_value_heads=8 head_dim=128 hidden_act=silu "
	"max_position_embeddings=131072 rms_norm_eps=1e-05 num_experts_per_tok=1 num_local_experts=16 "
	"interleave_moe_layer_step=1 use_qk_norm=true no_rope_layer_interval=4 attention_chunk_size=8192 "
	"attn_temperature_tuning=true floor_scale=8192 attn_scale=0.1 rope_theta=500000.0")
DEFAULTS("lfm2",
	"hidden_size=2560 intermediate_size=12288 num_hidden_layers=32 num_attention_heads=32 "
	"num_key_value_heads=8 max_position_embeddings=128000 norm_eps=1e-05 conv_L_cache=3 "
	"block_multiple_of=256 block_ffn_dim_multiplier=1.0 block_auto_adjust_ff_dim=true "
	"rope_theta=1000000.0")
DEFAULTS("lfm2_moe",
	"hidden_size=2048 intermediate_size=7168 moe_intermediate_size=1792 num_hidden_layers=32 "
	"max_position_embeddings=128000 norm_eps=1e-05 num_attention_heads=32 num_key_value_heads=8 "
	"conv_L_cache=3 num_dense_layers=2 num_experts_per_tok=4 num_experts=32 routed_scaling_factor=1.0 "
	"norm_topk_prob=true rope_theta=1000000.0")
DEFAULTS("bert",
	"hidden_size=768 num_hidden_layers=12 num_attention_heads=12 intermediate_size=3072 hidden_act=gelu "
	"max_position_embeddings=512 layer_norm_eps=1e-12 add_cross_attention=false")
DEFAULTS("xlm-roberta",
	"hidden_size=768 num_hidden_layers=12 num_attention_heads=12 intermediate_size=3072 hidden_act=gelu "
	"max_position_embeddings=512 layer_norm_eps=1e-12 add_cross_attention=false")
DEFAULTS("roberta",
	"hidden_size=768 num_hidden_layers=12 num_attention_heads=12 intermediate_size=3072 hidden_act=gelu "
	"max_position_embeddings=512 layer_norm_eps=1e-12 add_cross_attention=false")
DEFAULTS("nomic_bert",
	"hidden_size=768 num_hidden_layers=12 num_attention_heads=12 intermediate_size=3072 hidden_act=silu "
	"max_position_embeddings=2048 layer_norm_eps=1e-12 rope_theta=1000.0")
DEFAULTS("modernbert",
	"hidden_size=768 intermediate_size=1152 num_hidden_layers=22 num_attention_heads=12 "
	"hidden_activation=gelu max_position_embeddings=8192 norm_eps=1e-05 local_attention=128 "
	"classifier_pooling=cls rope_theta=160000.0")
