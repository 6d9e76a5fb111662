"""More configs of golden-hf-keys.py: with what hub configs leave out, in the words of older versions, and of classes for text and more."""
import json
from pathlib import Path

CONFIGS = Path(__file__).resolve().parent.parent / "tests" / "golden" / "hf" / "config"


def of(name, without=(), **more):
    c = json.loads((CONFIGS / (name + ".json")).read_text())
    c.update(more)
    return {k: v for k, v in c.items() if k not in without}


OUTER = {"Mistral3": "mistral3", "Llava": "llava", "Llama4": "llama4", "Gemma3n": "gemma3n", "Gemma4": "gemma4", "Qwen3_5": "qwen3_5", "Qwen3_5Moe": "qwen3_5_moe"}


def text(name, cls, outer=None, without=(), **more):
    """The config as the text of a model for pictures too."""
    inner = of(name, ("architectures", "transformers_version", "torch_dtype", "dtype", *without), **more)
    return {"architectures": [cls], "model_type": OUTER[cls.removesuffix("ForConditionalGeneration")], "text_config": inner, "torch_dtype": "bfloat16", **(outer or {})}


DEFAULTS = ("head_dim", "rms_norm_eps", "rope_theta", "rope_parameters", "rope_scaling", "max_position_embeddings", "hidden_act",
            "sliding_window", "use_sliding_window", "max_window_layers", "layer_types", "initializer_range", "attention_bias", "mlp_bias",
            "norm_topk_prob", "decoder_sparse_step", "routed_scaling_factor", "tie_word_embeddings",
            "query_pre_attn_scalar", "final_logit_softcapping", "attn_logit_softcapping", "hidden_activation", "no_rope_layers",
            "no_rope_layer_interval", "embedding_multiplier", "logits_scaling", "residual_multiplier", "attention_multiplier", "norm_eps",
            "layer_norm_eps", "classifier_pooling", "local_attention", "first_k_dense_replace", "attention_dropout", "use_cache",
            "rope_local_base_freq", "sliding_window_pattern", "use_qk_norm")
SPARSE = ("llama-gqa", "mistral-window", "mixtral", "qwen2", "qwen2moe-hub", "qwen3", "qwen3moe", "gemma2", "gemma3-hub", "granite", "granitemoe-hub",
          "olmo2-hub", "glm4-hub", "glm4moe-hub", "deepseek3-hub", "smollm3-hub", "minimaxm2-hub", "phi3-window-hub")

GEMMA3_OUTER = {"boi_token_index": 255999, "eoi_token_index": 256000, "eos_token_id": [1, 106], "image_token_index": 262144, "initializer_range": 0.02,
                "mm_tokens_per_image": 256, "vision_config": {"hidden_size": 1152, "model_type": "siglip_vision_model"}}
PIXTRAL = {"image_token_index": 10, "multimodal_projector_bias": False, "projector_hidden_act": "gelu", "spatial_merge_size": 2, "vision_feature_layer": -1,
           "vision_config": {"hidden_size": 64, "model_type": "pixtral"}}

MORE = {
    **{"sparse-" + name: of(name, [x for x in DEFAULTS if x != "head_dim" or "moe" not in name]) for name in SPARSE},
    "sparse-llama-heads": of("llama-bias", (*DEFAULTS, "num_key_value_heads")),
    # gemma-3-4b-it says no more than this
    "gemma3-4b-it": {"architectures": ["Gemma3ForConditionalGeneration"], "model_type": "gemma3", "torch_dtype": "bfloat16", **GEMMA3_OUTER, "text_config": {
        "hidden_size": 2560, "intermediate_size": 10240, "model_type": "gemma3_text", "num_hidden_layers": 34, "rope_scaling": {"factor": 8.0, "rope_type": "linear"},
        "sliding_window": 1024}},
    "gemma3-27b-it": {"architectures": ["Gemma3ForConditionalGeneration"], "model_type": "gemma3", "torch_dtype": "bfloat16", **GEMMA3_OUTER, "text_config": {
        "head_dim": 128, "hidden_size": 5376, "intermediate_size": 21504, "model_type": "gemma3_text", "num_attention_heads": 32, "num_hidden_layers": 62,
        "num_key_value_heads": 16, "query_pre_attn_scalar": 168, "rope_scaling": {"factor": 8.0, "rope_type": "linear"}, "sliding_window": 1024}},
    "mistral-small-3": text("mistral-window", "Mistral3ForConditionalGeneration", PIXTRAL, head_dim=16, sliding_window=None, rope_theta=1e9),
    "ministral3-vl": text("mistral3-hub", "Mistral3ForConditionalGeneration", PIXTRAL),
    "mistral4-vl": text("mistral4-hub", "Mistral3ForConditionalGeneration", PIXTRAL),
    "pixtral": text("mistral-window", "LlavaForConditionalGeneration", {"image_token_index": 10, "vision_config": {"model_type": "pixtral"}}, head_dim=16,
                    sliding_window=None),
    "llama4-vl": text("llama4-hub", "Llama4ForConditionalGeneration", {"boi_token_index": 1, "eoi_token_index": 2, "image_token_index": 3, "vision_config": {}}),
    "gemma3n-vl": text("gemma3n-hub", "Gemma3nForConditionalGeneration", {"audio_config": {}, "vision_config": {}, "image_token_id": 3}),
    "gemma4-vl": text("gemma4-hub", "Gemma4ForConditionalGeneration", {"audio_config": None, "vision_config": {}, "image_token_id": 3}),
    "qwen35-vl": text("qwen35-hub", "Qwen3_5ForConditionalGeneration", {"image_token_id": 3, "video_token_id": 4, "vision_config": {}}),
    "qwen35moe-vl": text("qwen35moe-hub", "Qwen3_5MoeForConditionalGeneration", {"image_token_id": 3, "video_token_id": 4, "vision_config": {}}),
    # layers that predict further tokens
    "glm4moe-next": of("glm4moe-hub", num_nextn_predict_layers=1),
    "deepseek3-next": of("deepseek3-hub", num_nextn_predict_layers=1),
    # what a llama config of 2023 has
    "llama-old": {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2,
                  "num_attention_heads": 4, "vocab_size": 72, "rms_norm_eps": 1e-6, "max_position_embeddings": 2048, "hidden_act": "silu", "torch_dtype": "float16",
                  "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0, "initializer_range": 0.02, "use_cache": True, "tie_word_embeddings": False,
                  "pretraining_tp": 1, "rope_scaling": None, "_name_or_path": "x", "transformers_version": "4.31.0.dev0", "max_sequence_length": 2048},
    "granitehybrid-attends": of("granitehybrid-hub", layer_types=["attention"] * 3),
    "lfm2-adjusted": of("lfm2-hub", block_auto_adjust_ff_dim=True, block_ffn_dim_multiplier=1.0, block_multiple_of=8),
    "phi3-plain": of("phi3-window-hub", sliding_window=None),
    "qwen3next-no-types": of("qwen3next-hub", ("layer_types",)),
    "smollm2-hub": of("llama-gqa", is_llama_config=True, rope_interleaved=False, **{"transformers.js_config": {"dtype": "q4"}}),
    "lfm2-1.2b": of("lfm2-hub", block_dim=24, conv_dim=24, conv_dim_out=24, num_heads=2, block_norm_eps=1e-5, block_use_swiglu=True, block_use_xavier_init=True,
                    conv_use_xavier_init=True, block_mlp_init_scale=1.0, block_out_init_scale=1.0, use_pos_enc=True, theta=500.0, full_attn_idxs=[1]),
    "lfm2-indices": of("lfm2-hub", ("layer_types",), full_attn_idxs=[1], tie_embedding=True),
    "granite4-hub": of("granitehybrid-hub", init_method="mup", normalization_function="rmsnorm"),
    "phi4-mini-hub": of("phi3-hub", full_attn_mod=1, interpolate_factor=1, lm_head_bias=False, auto_map={"AutoConfig": "configuration_phi3.Phi3Config"}),
    "minimaxm2-bf16": of("minimaxm2-hub", layernorm_full_attention_beta=1.0, layernorm_linear_attention_beta=1.0, layernorm_mlp_beta=1.0, postnorm=False,
                         use_mtp=True, num_mtp_modules=3, mtp_transformer_layers=1, shared_intermediate_size=0, shared_moe_mode="sigmoid"),
    "gptoss-hub": of("gpt-oss-hub", experts_per_token=2),
}
