"""The cases of golden-logits.py: configs of transformers classes, the keys a converter writes for them, and mutants.

Each case: hub (a config.json; the public converter writes the file), or hf (class prefix), arch (GGUF), config, keys (GGUF keys beyond the common ones; None takes a common one
away), old (another case, whose file is written as it was at first), tensors (made from the config), runs (name tail, context, ids), mutants (edits), faults (of eval_gguf.py),
adds (keys of the file that the converter has none for), derived (edits of the file with truth from eval_gguf.py), own (why the public converter cannot write this case).
"""
import math

import numpy as np


def scaling(kind, factor, orig, **more):
    return {"rope.scaling.type": kind, "rope.scaling.factor": factor, "rope.scaling.original_context_length": orig, **more}


def each(n_layer, *ops):
    """The edits for every layer: %d is its number."""
    return [op.replace("%d", str(il)) for il in range(n_layer) for op in ops]


LLAMA3 = {"rope_type": "llama3", "rope_theta": 10000.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 32}


def llama3_freqs(config):
    """Divisor of each frequency (formats.md 3.3)."""
    r, d = LLAMA3, config.head_dim
    out = []
    for m in range(d // 2):
        wave = 2 * math.pi * r["rope_theta"] ** (2 * m / d)
        lo, hi, orig = r["low_freq_factor"], r["high_freq_factor"], r["original_max_position_embeddings"]
        s = (orig / wave - lo) / (hi - lo)
        out.append(1.0 if wave < orig / hi else r["factor"] if wave > orig / lo else 1 / ((1 - s) / r["factor"] + s))
    return {"rope_freqs.weight": np.array(out)}


LONG = [1.0, 1.5, 2.25, 4.0, 7.5, 12.0, 24.0, 31.0]
SHORT = [1.0, 1.0, 1.125, 1.25, 1.5, 1.75, 2.0, 2.5]


def long_factors(n):
    return lambda config: {"rope_factors_long.weight": np.array(LONG[:n]), "rope_factors_short.weight": np.array(SHORT[:n])}


def longrope(n, **more):
    return {"rope_type": "longrope", "rope_theta": 10000.0, "long_factor": LONG[:n], "short_factor": SHORT[:n],
            "original_max_position_embeddings": 32, **more}


BIASES = {f"no-{b}-bias": each(2, f"fill blk.%d.{t}.bias 0") for b, t in (
    ("q", "attn_q"), ("k", "attn_k"), ("v", "attn_v"), ("o", "attn_output"), ("gate", "ffn_gate"), ("up", "ffn_up"), ("down", "ffn_down"))}
QKV_BIASES = {k: v for k, v in BIASES.items() if k[3] in "qkv"}
PLAIN = {"rope_type": "default", "rope_theta": 10000.0}
YARN_M = 0.1 * math.log(4.0) + 1

QK_OTHER = "halves blk.%d.attn_q.weight {0}", "halves blk.%d.attn_k.weight {0}"
QK_PAIRS = "pairs blk.%d.attn_q.weight {0}", "pairs blk.%d.attn_k.weight {0}"


def pairs_mixed(n_layer, how, d):
    return each(n_layer, *(op.format(d) for op in how))


def hub(model_type, cls, **more):
    c = dict(architectures=[cls], model_type=model_type, hidden_size=24, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2,
             num_key_value_heads=1, vocab_size=72, rms_norm_eps=1e-5, max_position_embeddings=128, hidden_act="silu", torch_dtype="float32",
             bos_token_id=70, eos_token_id=71, tie_word_embeddings=False)
    c.update(more)
    return c


def phi3_hub(**more):
    return hub("phi3", "Phi3ForCausalLM", **{"hidden_size": 32, "num_key_value_heads": 2, "rope_theta": 10000.0, "pad_token_id": None, **more})


def llama4(**more):
    return hub("llama4_text", "Llama4ForCausalLM", **{
        **dict(num_hidden_layers=4, hidden_size=16, intermediate_size=12, intermediate_size_mlp=24, head_dim=8, rope_theta=500.0, num_local_experts=5,
               num_experts_per_tok=2, interleave_moe_layer_step=2, moe_layers=[1, 3], use_qk_norm=True, attention_chunk_size=8192, floor_scale=8192,
               attn_scale=0.1, attn_temperature_tuning=True, no_rope_layers=[1, 1, 1, 0], no_rope_layer_interval=4, pad_token_id=None,
               layer_types=["chunked_attention"] * 3 + ["full_attention"], rope_scaling=None), **more})


STATES = dict(head_dim=16, layer_types=["linear_attention", "full_attention"], full_attention_interval=2, linear_num_key_heads=2,
              linear_num_value_heads=4, linear_key_head_dim=8, linear_value_head_dim=20, linear_conv_kernel_dim=4, pad_token_id=None,
              rope_parameters={"rope_type": "default", "rope_theta": 500.0, "partial_rotary_factor": 0.25})
STATES35 = dict(STATES, attn_output_gate=True, mamba_ssm_dtype="float32", rope_parameters=dict(
    STATES["rope_parameters"], mrope_section=[1, 1, 0], mrope_interleaved=True))
MAMBA = dict(layer_types=["mamba", "attention", "mamba"], num_hidden_layers=3, mamba_n_heads=6, mamba_d_head=8, mamba_expand=2, mamba_d_state=12,
             mamba_chunk_size=16, mamba_proj_bias=False, embedding_multiplier=3.0, residual_multiplier=0.3125, attention_multiplier=0.21875,
             logits_scaling=0.3125, attention_bias=False, tie_word_embeddings=True, pad_token_id=None, rope_theta=500.0,
             time_step_limit=[0.0, {"__float__": "Infinity"}])
MAMBA_FAULTS = ["no-decay", "no-conv", "state-anew", "conv-anew", "no-state-gate", "no-skip", "step-linear", "norm-first", "bc-swapped"]
STATE_FAULTS = ["no-decay", "no-delta", "no-beta", "no-unit", "no-conv", "state-anew", "conv-anew", "heads-other", "no-attn-gate",
                "no-state-gate", "rope-full", "rope-other", "no-qk-norm"]


def latent(model_type, cls, **more):
    """Latent attention; a dense layer, then experts."""
    return hub(model_type, cls, **{**dict(
        num_hidden_layers=3, hidden_size=16, num_attention_heads=4, num_key_value_heads=4, kv_lora_rank=16, q_lora_rank=12, qk_nope_head_dim=8,
        qk_rope_head_dim=8, v_head_dim=6, rope_theta=10000.0, n_routed_experts=8, num_experts_per_tok=2, n_shared_experts=2, moe_intermediate_size=12,
        first_k_dense_replace=1, moe_layer_freq=1, routed_scaling_factor=1.5, attention_bias=False, pad_token_id=None, num_nextn_predict_layers=0), **more})


def latent_yarn(m):
    return {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32, "beta_fast": 2.0, "beta_slow": 0.5, "mscale": m, "mscale_all_dim": m}


def mistral4(grows, **more):
    return latent("mistral4", "Mistral4ForCausalLM", **{**dict(
        n_group=4, topk_group=2, num_experts_per_tok=3, norm_topk_prob=True, num_hidden_layers=2, rope_interleave=True, rope_parameters={
            "rope_type": "yarn", "type": "yarn", "rope_theta": 10000.0, "factor": 4.0, "original_max_position_embeddings": 16, "max_position_embeddings": 128,
            "beta_fast": 2.0, "beta_slow": 0.5, "mscale": 1.0, "mscale_all_dim": 1.0, "llama_4_scaling_beta": grows, "partial_rotary_factor": 0.5}), **more})


def gemma4(**more):
    """Layers that see all have larger heads than those that slide."""
    return hub("gemma4_text", "Gemma4ForCausalLM", **{**dict(
        num_attention_heads=4, num_key_value_heads=2, head_dim=8, global_head_dim=16, num_global_key_value_heads=None, attention_k_eq_v=False,
        layer_types=["sliding_attention", "full_attention"] * 2, num_hidden_layers=4, hidden_size=16, sliding_window=9, final_logit_softcapping=20.0,
        hidden_activation="gelu_pytorch_tanh", tie_word_embeddings=True, pad_token_id=0, num_kv_shared_layers=0, hidden_size_per_layer_input=0,
        vocab_size_per_layer_input=72, use_double_wide_mlp=False, enable_moe_block=False, attention_bias=False, use_bidirectional_attention="vision",
        rope_parameters={"full_attention": {"rope_type": "proportional", "rope_theta": 500.0, "partial_rotary_factor": 0.25},
                         "sliding_attention": {"rope_type": "default", "rope_theta": 50.0}}), **more})


def gemma3n(**more):
    """Streams; gates that let the most through; the last layers read what others keep."""
    return hub("gemma3n_text", "Gemma3nForCausalLM", **{**dict(
        num_attention_heads=2, num_key_value_heads=1, head_dim=8, hidden_size=16, intermediate_size=[16, 24, 16, 16, 16, 16], num_hidden_layers=6, sliding_window=9,
        layer_types=["sliding_attention", "full_attention"] * 3, final_logit_softcapping=20.0, hidden_activation="gelu_pytorch_tanh", tie_word_embeddings=True,
        pad_token_id=0, num_kv_shared_layers=2, hidden_size_per_layer_input=4, vocab_size_per_layer_input=72, altup_active_idx=0, altup_num_inputs=4,
        altup_coef_clip=120.0, altup_correct_scale=True, laurel_rank=6, activation_sparsity_pattern=[0.75, 0.25, 0.0, 0.0, 0.0, 0.0], attention_bias=False,
        rope_parameters={"full_attention": {"rope_type": "default", "rope_theta": 500.0},
                         "sliding_attention": {"rope_type": "default", "rope_theta": 50.0}}), **more})


CASES = {
    # grouped queries, untied, defaults for head sizes
    "llama-gqa": {
        "hf": "Llama", "arch": "llama",
        "keys": {"rope.dimension_count": None, "attention.key_length": None, "attention.value_length": None},
        "config": dict(vocab_size=80, hidden_size=32, intermediate_size=56, num_attention_heads=4, num_key_value_heads=2,
                       rms_norm_eps=1e-5, max_position_embeddings=256, rope_parameters=PLAIN),
        "mutants": {
            "halves": pairs_mixed(2, QK_OTHER, 8),
            "kv-mod": each(2, "swaprows blk.%d.attn_q.weight 8 16 8", "swapcols blk.%d.attn_output.weight 8 16 8"),
            "freq-base": ["key llama.rope.freq_base 500000"],
            "tied": ["copy output.weight token_embd.weight"],
            "gate-is-up": ["copy blk.0.ffn_gate.weight blk.0.ffn_up.weight"],
            "norms-same": ["copy blk.0.attn_norm.weight blk.0.ffn_norm.weight"],
            "no-output-norm-weight": ["fill output_norm.weight 1"],
        },
        "faults": ["rope-other", "kv-mod"],
    },
    # one kv head, heads * size is not the width, tied, an eps that acts, three layers
    "llama-mqa": {
        "hf": "Llama", "arch": "llama",
        "config": dict(vocab_size=72, hidden_size=24, intermediate_size=40, num_attention_heads=3, num_key_value_heads=1, head_dim=16,
                       num_hidden_layers=3, rms_norm_eps=0.03, max_position_embeddings=64, tie_word_embeddings=True, rope_parameters=PLAIN),
        "mutants": {
            "eps-10": ["key llama.attention.layer_norm_rms_epsilon 0.3"],
            "scale-width": each(3, "mul blk.%d.attn_q.weight 1.41421356"),
            "not-tied": ["swaprows token_embd.weight 70 71 1"],
            "halves": pairs_mixed(3, QK_OTHER, 16),
        },
        "faults": ["rope-other"],
    },
    # as many kv heads, given by default; every bias
    "llama-bias": {
        "hf": "Llama", "arch": "llama", "keys": {"attention.head_count_kv": None},
        "config": dict(vocab_size=72, hidden_size=40, intermediate_size=48, num_attention_heads=4, num_key_value_heads=4, rms_norm_eps=1e-6,
                       max_position_embeddings=64, attention_bias=True, mlp_bias=True, rope_parameters=dict(PLAIN, rope_theta=5000.0)),
        "mutants": dict(BIASES, **{"q-bias-halves": each(2, "halves blk.%d.attn_q.bias 10"), "k-bias-halves": each(2, "halves blk.%d.attn_k.bias 10")}),
    },
    "llama-linear": {
        "hf": "Llama", "arch": "llama", "keys": {"rope.scaling.type": "linear", "rope.scaling.factor": 4.0, "rope.scaling.attn_factor": 1.0},
        "derived": {"-attn": ["key llama.rope.scaling.attn_factor 1.5"]}, "mutants-attn": {"not-read": ["key llama.rope.scaling.attn_factor 1"]},
        "config": dict(vocab_size=72, hidden_size=32, intermediate_size=40, num_attention_heads=2, num_key_value_heads=2, rms_norm_eps=1e-5,
                       max_position_embeddings=128, tie_word_embeddings=True, rope_parameters=dict(PLAIN, rope_type="linear", factor=4.0)),
        "mutants": {"no-factor": ["key llama.rope.scaling.factor 1"], "factor-inverted": ["key llama.rope.scaling.factor 0.25"]},
    },
    # attention_factor and betas by default
    "llama-yarn": {
        "hf": "Llama", "arch": "llama", "keys": scaling("yarn", 4.0, 32),
        "config": dict(vocab_size=72, hidden_size=32, intermediate_size=40, num_attention_heads=2, num_key_value_heads=1, rms_norm_eps=1e-5,
                       max_position_embeddings=128, rope_parameters=dict(PLAIN, rope_type="yarn", factor=4.0, original_max_position_embeddings=32)),
        "mutants": {
            "none": ["key llama.rope.scaling.factor 1"],
            "no-mscale": each(2, f"mul blk.%d.attn_q.weight {YARN_M ** -2}"),
            "factor": ["key llama.rope.scaling.factor 8"],
            "original": ["key llama.rope.scaling.original_context_length 128"],
        },
        "faults": ["no-mscale", "no-ramp", "no-round"],
    },
    "llama-llama3": {
        "hf": "Llama", "arch": "llama", "tensors": llama3_freqs,
        "config": dict(vocab_size=72, hidden_size=32, intermediate_size=40, num_attention_heads=2, num_key_value_heads=2, rms_norm_eps=1e-5,
                       max_position_embeddings=256, tie_word_embeddings=True, rope_parameters=LLAMA3),
        "mutants": {"no-freqs": ["fill rope_freqs.weight 1"], "freqs-8": ["fill rope_freqs.weight 8"]},
    },
    # the factors follow the context the model is opened with
    "llama-longrope": {
        "hf": "Llama", "arch": "llama", "tensors": long_factors(8), "own": "it writes the type and no factors",
        "keys": {"rope.scaling.type": "longrope", "rope.scaling.original_context_length": 32,
                 "rope.scaling.attn_factor": math.sqrt(1 + math.log(256 / 32) / math.log(32))},
        "config": dict(vocab_size=72, hidden_size=32, intermediate_size=40, num_attention_heads=2, num_key_value_heads=2, rms_norm_eps=1e-5,
                       max_position_embeddings=256, tie_word_embeddings=True, rope_parameters=longrope(8)),
        "runs": [("", 64, 64), ("-short", 32, 32)],
        "mutants": {"short": ["copy rope_factors_long.weight rope_factors_short.weight"], "no-mscale": ["key llama.rope.scaling.attn_factor 1"]},
        "mutants-short": {"long": ["copy rope_factors_short.weight rope_factors_long.weight"]},
    },
    # Mistral 7B v0.1: every layer sees the last W positions
    "mistral-window": {
        "hf": "Mistral", "arch": "llama", "keys": {"attention.sliding_window": 11}, "own": "it writes no window",
        "config": dict(vocab_size=72, hidden_size=32, intermediate_size=40, num_attention_heads=4, num_key_value_heads=2, rms_norm_eps=1e-5,
                       max_position_embeddings=128, sliding_window=11, tie_word_embeddings=True, rope_parameters=PLAIN),
        "mutants": {"window-12": ["key llama.attention.sliding_window 12"], "window-10": ["key llama.attention.sliding_window 10"],
                    "no-window": ["key llama.attention.sliding_window 4096"]},
    },
    "granite": {
        "hf": "Granite", "arch": "granite",
        "keys": {"embedding_scale": 3.0, "residual_scale": 0.3125, "attention.scale": 0.109375, "logit_scale": 0.625},
        "config": dict(vocab_size=72, hidden_size=32, intermediate_size=40, num_attention_heads=4, num_key_value_heads=2, rms_norm_eps=1e-5,
                       max_position_embeddings=128, tie_word_embeddings=True, embedding_multiplier=3.0, residual_multiplier=0.3125,
                       attention_multiplier=0.109375, logits_scaling=0.625, rope_parameters=PLAIN),
        "mutants": {
            "no-embedding-scale": ["key granite.embedding_scale 1"], "no-residual-scale": ["key granite.residual_scale 1"],
            "no-attention-scale": ["key granite.attention.scale 0.35355339"], "no-logit-scale": ["key granite.logit_scale 1"],
            "logit-scale-times": ["key granite.logit_scale 1.6"], "halves": pairs_mixed(2, QK_OTHER, 8),
        },
    },
    "qwen2": {
        "hf": "Qwen2", "arch": "qwen2",
        "config": dict(vocab_size=80, hidden_size=32, intermediate_size=56, num_attention_heads=4, num_key_value_heads=2, rms_norm_eps=1e-6,
                       max_position_embeddings=128, rope_parameters=dict(PLAIN, rope_theta=1000000.0)),
        "mutants": dict(QKV_BIASES, **{
            "pairs": pairs_mixed(2, QK_PAIRS, 8) + each(2, "pairs blk.%d.attn_q.bias 8", "pairs blk.%d.attn_k.bias 8"),
            "q-bias-pairs": each(2, "pairs blk.%d.attn_q.bias 8"), "freq-base": ["key qwen2.rope.freq_base 10000"],
            "tied": ["copy output.weight token_embd.weight"]}),
        "faults": ["rope-other", "kv-mod"],
    },
    # tied, as many kv heads, an eps that acts
    "qwen2-tied": {
        "hf": "Qwen2", "arch": "qwen2",
        "config": dict(vocab_size=72, hidden_size=30, intermediate_size=44, num_attention_heads=3, num_key_value_heads=3, rms_norm_eps=0.02,
                       max_position_embeddings=64, tie_word_embeddings=True, rope_parameters=PLAIN),
        "mutants": {"eps-10": ["key qwen2.attention.layer_norm_rms_epsilon 0.2"], "not-tied": ["swaprows token_embd.weight 70 71 1"]},
    },
    # norms of queries and keys, heads * size is not the width; their eps acts too
    "qwen3": {
        "hf": "Qwen3", "arch": "qwen3",
        "config": dict(vocab_size=80, hidden_size=32, intermediate_size=56, num_attention_heads=4, num_key_value_heads=2, head_dim=12,
                       rms_norm_eps=1e-2, max_position_embeddings=128, rope_parameters=dict(PLAIN, rope_theta=1000000.0)),
        "mutants": {
            "no-q-norm-weight": each(2, "fill blk.%d.attn_q_norm.weight 1"), "no-k-norm-weight": each(2, "fill blk.%d.attn_k_norm.weight 1"),
            "norms-swapped": each(2, "copy blk.%d.attn_q_norm.weight blk.%d.attn_k_norm.weight"),
            "eps-10": ["key qwen3.attention.layer_norm_rms_epsilon 0.1"],
            "pairs": pairs_mixed(2, QK_PAIRS, 12) + each(2, "pairs blk.%d.attn_q_norm.weight 12", "pairs blk.%d.attn_k_norm.weight 12"),
        },
        "faults": ["no-qk-norm", "qk-norm-after-rope", "rope-other", "kv-mod"],
    },
    # betas and an attention_factor of its own: the file holds its ratio to 0.1 ln(factor) + 1
    "qwen3-yarn": {
        "hf": "Qwen3", "arch": "qwen3",
        "keys": scaling("yarn", 4.0, 32, **{"rope.scaling.yarn_beta_fast": 1.0, "rope.scaling.yarn_beta_slow": 0.125,
                                            "rope.scaling.attn_factor": 1.375 / YARN_M}),
        "config": dict(vocab_size=72, hidden_size=32, intermediate_size=40, num_attention_heads=2, num_key_value_heads=1, head_dim=24,
                       rms_norm_eps=1e-6, max_position_embeddings=128, tie_word_embeddings=True,
                       rope_parameters=dict(PLAIN, rope_theta=500.0, rope_type="yarn", factor=4.0, original_max_position_embeddings=32, beta_fast=1.0,
                                            beta_slow=0.125, attention_factor=1.375)),
        "mutants": {
            "none": ["key qwen3.rope.scaling.factor 1"], "attn-factor": ["key qwen3.rope.scaling.attn_factor 1"],
            "beta-fast": ["key qwen3.rope.scaling.yarn_beta_fast 32"], "beta-slow": ["key qwen3.rope.scaling.yarn_beta_slow 1"],
        },
        "faults": ["no-round", "no-ramp"],
    },
    # experts: softmax, the best two renormalised; equal logits go to the lower index
    "qwen3moe": {
        "hf": "Qwen3Moe", "arch": "qwen3moe", "keys": {"expert_count": 6, "expert_used_count": 2, "expert_feed_forward_length": 16},
        "config": dict(vocab_size=72, hidden_size=24, intermediate_size=48, num_attention_heads=4, num_key_value_heads=2, head_dim=8,
                       num_experts=6, num_experts_per_tok=2, moe_intermediate_size=16, norm_topk_prob=True, rms_norm_eps=1e-6,
                       max_position_embeddings=128, tie_word_embeddings=True, rope_parameters=PLAIN),
        "derived": {"-ties": ["fill blk.0.ffn_gate_inp.weight 0"]},
        "mutants": {"one-expert": ["key qwen3moe.expert_used_count 1"], "three-experts": ["key qwen3moe.expert_used_count 3"],
                    "experts-swapped": ["swaprows blk.0.ffn_gate_inp.weight 0 1 1"],
                    "gate-is-up": ["copy blk.1.ffn_gate_exps.weight blk.1.ffn_up_exps.weight"]},
        "mutants-ties": {"experts-swapped": ["swaprows blk.0.ffn_gate_exps.weight 0 32 16"]},
        "faults": ["no-renorm", "no-qk-norm"], "faults-ties": ["tie-high"],
    },
    # Mixtral is a llama with experts
    "mixtral": {
        "hf": "Mixtral", "arch": "llama", "keys": {"expert_count": 4, "expert_used_count": 2},
        "config": dict(vocab_size=72, hidden_size=24, intermediate_size=20, num_attention_heads=3, num_key_value_heads=1,
                       num_local_experts=4, num_experts_per_tok=2, rms_norm_eps=1e-5, sliding_window=None,
                       max_position_embeddings=128, tie_word_embeddings=True, rope_parameters=PLAIN),
        "mutants": {"one-expert": ["key llama.expert_used_count 1"], "experts-swapped": ["swaprows blk.1.ffn_gate_inp.weight 2 3 1"],
                    "halves": pairs_mixed(2, QK_OTHER, 8)},
        "faults": ["no-renorm"],
    },
    # norms 1 + w, four a layer; windows with a base of their own, scaling on the full layers only
    "gemma3": {
        "hf": "Gemma3Text", "class": "Gemma3ForCausalLM", "arch": "gemma3", "own": "it writes neither this pattern nor the scale",
        "keys": {"attention.sliding_window": 9, "attention.sliding_window_pattern": [True, True, False], "attention.scale": 20 ** -0.5,
                 "rope.freq_base": 1000000.0, "rope.scaling.type": "linear", "rope.scaling.factor": 8.0},
        "config": dict(vocab_size=72, hidden_size=24, intermediate_size=40, num_attention_heads=4, num_key_value_heads=2, head_dim=8,
                       num_hidden_layers=3, layer_types=["sliding_attention", "sliding_attention", "full_attention"], sliding_window=9,
                       query_pre_attn_scalar=20, rms_norm_eps=1e-6, max_position_embeddings=128,
                       rope_parameters={"sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
                                        "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1000000.0}}),
        "mutants": {
            "window-10": ["key gemma3.attention.sliding_window 10"], "no-scale": ["key gemma3.attention.scale 0.35355339"],
            "no-factor": ["key gemma3.rope.scaling.factor 1"], "freq-base": ["key gemma3.rope.freq_base 10000"],
            "no-post-norm-weight": each(3, "fill blk.%d.post_attention_norm.weight 1"),
            "no-post-ffw-norm-weight": each(3, "fill blk.%d.post_ffw_norm.weight 1"),
            "no-q-norm-weight": each(3, "fill blk.%d.attn_q_norm.weight 1"), "not-tied": ["swaprows token_embd.weight 70 71 1"],
        },
        "faults": ["no-window", "window-all", "silu", "no-embed-scale", "no-post-norm", "swa-base", "swa-scaled", "no-qk-norm"],
    },
    # softcaps; every other layer has the window
    "gemma2": {
        "hf": "Gemma2", "arch": "gemma2", "own": "it does not write the scale",
        "keys": {"attention.sliding_window": 7, "attn_logit_softcapping": 3.0, "final_logit_softcapping": 6.0, "attention.scale": 0.25},
        "config": dict(vocab_size=72, hidden_size=24, intermediate_size=40, num_attention_heads=3, num_key_value_heads=1, head_dim=12,
                       sliding_window=7, query_pre_attn_scalar=16, attn_logit_softcapping=3.0, final_logit_softcapping=6.0, rms_norm_eps=1e-6,
                       max_position_embeddings=128, rope_parameters=PLAIN),
        "mutants": {"window-8": ["key gemma2.attention.sliding_window 8"], "attn-cap": ["key gemma2.attn_logit_softcapping 50"],
                    "final-cap": ["key gemma2.final_logit_softcapping 30"], "scale": ["key gemma2.attention.scale 0.28867513"]},
        "faults": ["no-window", "window-all", "no-softcap", "no-post-norm", "silu"],
    },
    # fused rows, a part of each head rotates, longrope
    "phi3": {
        "hf": "Phi3", "arch": "phi3", "tensors": long_factors(6),
        "keys": {"rope.dimension_count": 12, "rope.scaling.type": "longrope", "rope.scaling.original_context_length": 32,
                 "rope.scaling.attn_factor": math.sqrt(1 + math.log(128 / 32) / math.log(32))},
        "config": dict(vocab_size=72, hidden_size=32, intermediate_size=40, num_attention_heads=2, num_key_value_heads=1, rms_norm_eps=1e-5,
                       max_position_embeddings=128, sliding_window=None, original_max_position_embeddings=32,
                       rope_parameters=longrope(6, partial_rotary_factor=0.75)),
        "runs": [("", 64, 64), ("-short", 32, 32)],
        "mutants": {"short": ["copy rope_factors_long.weight rope_factors_short.weight"], "no-mscale": ["key phi3.rope.scaling.attn_factor 1"],
                    "rows-swapped": ["swaprows blk.0.ffn_up.weight 0 40 40"]},
        "mutants-short": {"long": ["copy rope_factors_short.weight rope_factors_long.weight"]},
        "faults": ["rope-other"],
    },
    # what the public converter writes: longrope without its type, three quarters of a head rotate, tied
    "phi3-hub": {
        "hub": phi3_hub(rope_scaling={"type": "longrope", "long_factor": LONG[:6], "short_factor": SHORT[:6]}, num_key_value_heads=1,
                        original_max_position_embeddings=32, partial_rotary_factor=0.75, tie_word_embeddings=True, sliding_window=262144),
        "runs": [("", 64, 64), ("-short", 32, 32)],
        "mutants": {"short": ["copy rope_factors_long.weight rope_factors_short.weight"], "no-mscale": ["key phi3.rope.scaling.attn_factor 1"],
                    "no-factors": ["fill rope_factors_long.weight 1"]},
        "mutants-short": {"long": ["copy rope_factors_short.weight rope_factors_long.weight"], "no-mscale": ["key phi3.rope.scaling.attn_factor 1"]},
        "faults": ["rope-other"],
    },
    # no scaling, but original_context_length all the same; every layer has the window
    "phi3-window-hub": {
        "hub": phi3_hub(rope_scaling=None, original_max_position_embeddings=128, sliding_window=13),
        "mutants": {"window-14": ["key phi3.attention.sliding_window 14"], "no-window": ["key phi3.attention.sliding_window 4096"]},
    },
    # attention_factor is the whole factor of YaRN
    "qwen3-yarn-hub": {
        "hub": hub("qwen3", "Qwen3ForCausalLM", head_dim=16, rope_theta=500.0, tie_word_embeddings=True, attention_bias=False, rope_scaling={
            "rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32, "attention_factor": 1.1386294361119891, "beta_fast": 1.0,
            "beta_slow": 0.125}),
        "mutants": {"attn-factor": ["key qwen3.rope.scaling.yarn_attn_factor 1"], "none": ["key qwen3.rope.scaling.factor 1"],
                    "default-too": [f"key qwen3.rope.scaling.yarn_attn_factor {YARN_M ** 2}"], "beta-slow": ["key qwen3.rope.scaling.yarn_beta_slow 1"]},
        "faults": ["no-round", "no-ramp", "no-mscale"],
    },
    # Llama 3.2: divisors of each frequency, which the converter computes in float32
    "llama3-hub": {
        "hub": hub("llama", "LlamaForCausalLM", rope_theta=500.0, head_dim=16, tie_word_embeddings=True, rope_scaling={
            "rope_type": "llama3", "factor": 32.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 32}),
        "bound": 1e-4,
        "mutants": {"no-freqs": ["fill rope_freqs.weight 1"], "freqs-32": ["fill rope_freqs.weight 32"]},
    },
    # Gemma 3 4B: linear scaling on the layers without a window
    "gemma3-hub": {
        "hub": hub("gemma3_text", "Gemma3ForCausalLM", head_dim=8, query_pre_attn_scalar=8, sliding_window=9, sliding_window_pattern=6,
                   hidden_activation="gelu_pytorch_tanh", rope_theta=1000000.0, rope_local_base_freq=20000.0, tie_word_embeddings=True, num_hidden_layers=6,
                   hidden_size=16, intermediate_size=24, rope_scaling={"factor": 8.0, "rope_type": "linear"}),
        "mutants": {"window-10": ["key gemma3.attention.sliding_window 10"], "no-factor": ["key gemma3.rope.scaling.factor 1"],
                    "freq-base-swa": ["key gemma3.rope.freq_base_swa 500"], "freq-base": ["key gemma3.rope.freq_base 10000"]},
        "faults": ["swa-scaled", "swa-base", "window-all", "no-window"],
    },
    # sinks, experts with biases under a clamp, windows on every other layer, YaRN without rounded bounds
    "gpt-oss-hub": {
        "hub": hub("gpt_oss", "GptOssForCausalLM", head_dim=16, rope_theta=500.0, sliding_window=9, layer_types=["sliding_attention", "full_attention"],
                   num_local_experts=5, num_experts_per_tok=2, intermediate_size=20, attention_bias=True, swiglu_limit=7.0, rope_scaling={
                       "rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32, "beta_fast": 2.0, "beta_slow": 0.5, "truncate": False}),
        "mutants": {
            "sinks-0": each(2, "fill blk.%d.attn_sinks.weight 0"), "window-10": ["key gpt-oss.attention.sliding_window 10"],
            "no-router-bias": each(2, "fill blk.%d.ffn_gate_inp.bias 0"), "no-gate-bias": each(2, "fill blk.%d.ffn_gate_exps.bias 0"),
            "no-up-bias": each(2, "fill blk.%d.ffn_up_exps.bias 0"), "no-down-bias": each(2, "fill blk.%d.ffn_down_exps.bias 0"),
            "gate-is-up": ["copy blk.1.ffn_gate_exps.weight blk.1.ffn_up_exps.weight"], "one-expert": ["key gpt-oss.expert_used_count 1"],
            "beta-fast": ["key gpt-oss.rope.scaling.yarn_beta_fast 32"],
        },
        "faults": ["no-sinks", "no-clamp", "ramp-rounded", "no-window", "window-all", "no-renorm", "no-mscale"],
    },
    # an expert for every row, weighted by a router of its own; weights of the chosen as they are
    "qwen2moe-hub": {
        "hub": hub("qwen2_moe", "Qwen2MoeForCausalLM", rope_theta=10000.0, num_experts=5, num_experts_per_tok=2, moe_intermediate_size=12, qkv_bias=True,
                   shared_expert_intermediate_size=20, norm_topk_prob=False, decoder_sparse_step=1, mlp_only_layers=[], use_sliding_window=False),
        "mutants": {"one-expert": ["key qwen2moe.expert_used_count 1"], "no-shared-down": each(2, "fill blk.%d.ffn_down_shexp.weight 0"),
                    "half-shared": each(2, "fill blk.%d.ffn_gate_inp_shexp.weight 0"), "no-q-bias": each(2, "fill blk.%d.attn_q.bias 0")},
        "faults": ["no-shared", "no-shared-gate", "rope-other"],
    },
    # layers that do not rotate
    "smollm3-hub": {
        "hub": hub("smollm3", "SmolLM3ForCausalLM", num_hidden_layers=4, hidden_size=16, intermediate_size=24, rope_theta=10000.0, tie_word_embeddings=True,
                   pad_token_id=None, no_rope_layer_interval=4, no_rope_layers=[1, 1, 1, 0], use_sliding_window=False, sliding_window=None),
        "mutants": {"halves": pairs_mixed(3, QK_OTHER, 8), "freq-base": ["key smollm3.rope.freq_base 500000"]},
        "faults": ["all-rope", "rope-other"],
    },
    # norms behind the branches alone, queries and keys normed over all heads
    "olmo2-hub": {
        "hub": hub("olmo2", "Olmo2ForCausalLM", rope_theta=10000.0, attention_bias=False, pad_token_id=None),
        "mutants": {"no-q-norm-weight": each(2, "fill blk.%d.attn_q_norm.weight 1"), "no-post-norm-weight": each(2, "fill blk.%d.post_attention_norm.weight 1"),
                    "no-post-ffw-norm-weight": each(2, "fill blk.%d.post_ffw_norm.weight 1")},
        "faults": ["no-qk-norm", "norm-head", "no-post-norm", "rope-other"],
    },
    # OLMo 3: windows on three of four layers, whose rotation is not scaled
    "olmo3-hub": {
        "hub": hub("olmo3", "Olmo3ForCausalLM", num_hidden_layers=4, hidden_size=16, intermediate_size=24, rope_theta=500000.0, sliding_window=9, attention_bias=False,
                   pad_token_id=None, layer_types=["sliding_attention"] * 3 + ["full_attention"], rope_scaling={
                       "rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32, "beta_fast": 2.0, "beta_slow": 0.5,
                       "attention_factor": 1.1386294361119891}),
        "mutants": {"window-10": ["key olmo2.attention.sliding_window 10"], "no-factor": ["key olmo2.rope.scaling.factor 1"]},
        "faults": ["swa-scaled", "no-window", "window-all", "norm-head"],
    },
    # half of each head rotates, by pairs; a norm behind each branch too; fused gate and up
    "glm4-hub": {
        "hub": hub("glm4", "Glm4ForCausalLM", rope_theta=10000.0, head_dim=12, partial_rotary_factor=0.5, attention_bias=True, pad_token_id=None),
        "mutants": {"no-post-norm-weight": each(2, "fill blk.%d.post_attention_norm.weight 1"), "no-k-bias": each(2, "fill blk.%d.attn_k.bias 0"),
                    "no-post-ffw-norm-weight": each(2, "fill blk.%d.post_ffw_norm.weight 1"), "rows-swapped": ["swaprows blk.0.ffn_up.weight 0 32 32"]},
        "faults": ["rope-other", "rope-full", "no-post-norm"],
    },
    # a dense layer first; experts chosen by sigmoid and a bias, weights renormalised and scaled; one for every row
    "glm4moe-hub": {
        "hub": hub("glm4_moe", "Glm4MoeForCausalLM", num_hidden_layers=3, hidden_size=16, rope_theta=10000.0, head_dim=12, partial_rotary_factor=0.5,
                   attention_bias=True, use_qk_norm=True, n_routed_experts=5, num_experts_per_tok=2, n_shared_experts=2, moe_intermediate_size=12,
                   first_k_dense_replace=1, n_group=1, topk_group=1, norm_topk_prob=True, routed_scaling_factor=1.5, num_nextn_predict_layers=0),
        "mutants": {"one-expert": ["key glm4moe.expert_used_count 1"], "scale-1": ["key glm4moe.expert_weights_scale 1"],
                    "no-norm": ["key glm4moe.expert_weights_norm false"], "no-bias": each(3, "fill blk.%d.exp_probs_b.bias 0")[1:],
                    "no-k-norm-weight": each(3, "fill blk.%d.attn_k_norm.weight 1"), "no-shared-down": ["fill blk.1.ffn_down_shexp.weight 0"]},
        "derived": {"-next": ["key glm4moe.nextn_predict_layers 1"]},       # as if the last layer predicted further tokens
        "mutants-next": {"scale-1": ["key glm4moe.expert_weights_scale 1"], "no-shared-down": ["fill blk.1.ffn_down_shexp.weight 0"]},
        "faults": ["no-pick-bias", "pick-weights", "softmax-gate", "no-shared", "rope-full", "rope-other", "no-renorm"],
    },
    "granitemoe-hub": {
        "hub": hub("granitemoeshared", "GraniteMoeSharedForCausalLM", rope_theta=10000.0, num_local_experts=5, num_experts_per_tok=2, shared_intermediate_size=20,
                   embedding_multiplier=3.0, residual_multiplier=0.3125, attention_multiplier=0.21875, logits_scaling=0.625, attention_bias=False,
                   tie_word_embeddings=True, pad_token_id=None, intermediate_size=12),
        "mutants": {"one-expert": ["key granitemoe.expert_used_count 1"], "no-residual-scale": ["key granitemoe.residual_scale 1"],
                    "no-shared-down": each(2, "fill blk.%d.ffn_down_shexp.weight 0"), "gate-is-up": ["copy blk.1.ffn_gate_exps.weight blk.1.ffn_up_exps.weight"]},
        "faults": ["no-shared", "no-renorm", "rope-other"],
    },
    # Mamba 2 between layers that attend and do not rotate; experts, and one for every row
    "granitehybrid-hub": {
        "hub": hub("granitemoehybrid", "GraniteMoeHybridForCausalLM", **MAMBA, mamba_n_groups=2, mamba_d_conv=4, mamba_conv_bias=True, num_local_experts=5,
                   num_experts_per_tok=2, intermediate_size=12, shared_intermediate_size=20, position_embedding_type="nope"),
        "mutants": {"one-expert": ["key granitehybrid.expert_used_count 1"], "no-skip": ["fill blk.0.ssm_d 0"], "no-shift": ["fill blk.0.ssm_dt.bias 0"],
                    "no-conv-bias": ["fill blk.2.ssm_conv1d.bias 0"], "no-state-norm": ["fill blk.0.ssm_norm.weight 1"],
                    "no-shared-down": each(3, "fill blk.%d.ffn_down_shexp.weight 0"), "rotates": ["key granitehybrid.rope.scaling.finetuned true"],
                    "groups-swapped": ["swaprows blk.0.ssm_norm.weight 0 1 1"], "no-residual-scale": ["key granitehybrid.residual_scale 1"]},
        "faults": MAMBA_FAULTS + ["heads-other", "norm-all", "no-conv-bias", "all-rope", "no-shared", "no-renorm"],
    },
    # the same dense, in one group; its layers rotate, which the converter has no key for
    "granitehybrid-dense-hub": {
        "hub": hub("granitemoehybrid", "GraniteMoeHybridForCausalLM", **MAMBA, mamba_n_groups=1, mamba_d_conv=2, mamba_conv_bias=False, num_local_experts=0,
                   num_experts_per_tok=0, intermediate_size=32, shared_intermediate_size=32, position_embedding_type="rope"),
        "adds": {"granitehybrid.rope.scaling.finetuned": True, "granitehybrid.context_length": 128},
        "mutants": {"no-skip": ["fill blk.0.ssm_d 0"], "base": ["key granitehybrid.rope.freq_base 50"], "still": ["key granitehybrid.rope.scaling.finetuned false"],
                    "no-logit-scale": ["key granitehybrid.logit_scale 1"]},
        "faults": MAMBA_FAULTS + ["rope-other"],
    },
    # queries grow with the position; YaRN's factor of cos and sin is 1
    "mistral3-hub": {
        "hub": hub("ministral3", "Ministral3ForCausalLM", head_dim=16, sliding_window=None, pad_token_id=None, rope_parameters={
            "rope_type": "yarn", "rope_theta": 500.0, "factor": 4.0, "original_max_position_embeddings": 16, "beta_fast": 2.0, "beta_slow": 0.5,
            "mscale": 1.0, "mscale_all_dim": 1.0, "llama_4_scaling_beta": 0.5}),
        "mutants": {"no-temper": ["key mistral3.attention.temperature_scale 0"], "mscale": ["key mistral3.rope.scaling.yarn_log_multiplier 0"],
                    "beta-slow": ["key mistral3.rope.scaling.yarn_beta_slow 1"]},
        "faults": ["no-temper", "no-ramp", "rope-other"],
    },
    # states behind a convolution; attention with a gate; experts
    "qwen3next-hub": {
        "hub": hub("qwen3_next", "Qwen3NextForCausalLM", **STATES, num_experts=5, num_experts_per_tok=2, moe_intermediate_size=12,
                   shared_expert_intermediate_size=20, norm_topk_prob=True, decoder_sparse_step=1, mlp_only_layers=[]),
        "mutants": {"one-expert": ["key qwen3next.expert_used_count 1"], "no-shared-down": each(2, "fill blk.%d.ffn_down_shexp.weight 0"),
                    "no-shift": ["fill blk.0.ssm_dt.bias 0"], "rope-dim": ["key qwen3next.rope.dimension_count 8"]},
        "faults": STATE_FAULTS + ["no-shared-gate"],
    },
    # the same as tensors of its own, heads of v in another order; without experts, and with
    "qwen35-hub": {
        "hub": hub("qwen3_5_text", "Qwen3_5ForCausalLM", **STATES35),
        "mutants": {"no-shift": ["fill blk.0.ssm_dt.bias 0"], "no-state-norm": ["fill blk.0.ssm_norm.weight 1"],
                    "beta-is-decay": ["copy blk.0.ssm_beta.weight blk.0.ssm_alpha.weight"]},
        "faults": STATE_FAULTS,
    },
    "qwen35moe-hub": {
        "hub": hub("qwen3_5_moe_text", "Qwen3_5MoeForCausalLM", **STATES35, num_experts=5, num_experts_per_tok=2, moe_intermediate_size=12,
                   shared_expert_intermediate_size=20),
        "mutants": {"one-expert": ["key qwen35moe.expert_used_count 1"], "gate-is-up": ["copy blk.1.ffn_gate_exps.weight blk.1.ffn_up_exps.weight"]},
        "faults": STATE_FAULTS + ["no-shared-gate"],
    },
    # DeepSeek 2: queries in two steps, the best experts of the best groups by softmax, weights as they are; YaRN on the scores
    "deepseek2-hub": {
        "hub": latent("deepseek_v2", "DeepseekV2ForCausalLM", scoring_func="softmax", topk_method="group_limited_greedy", n_group=4, topk_group=2,
                      num_experts_per_tok=3, norm_topk_prob=False, rope_scaling=latent_yarn(0.707)),
        "mutants": {"one-expert": ["key deepseek2.expert_used_count 1"], "groups-3": ["key deepseek2.expert_group_used_count 3"],
                    "scale-1": ["key deepseek2.expert_weights_scale 1"], "no-q-a-norm-weight": each(3, "fill blk.%d.attn_q_a_norm.weight 1"),
                    "no-kv-a-norm-weight": each(3, "fill blk.%d.attn_kv_a_norm.weight 1"), "no-growth": ["key deepseek2.rope.scaling.yarn_log_multiplier 0"],
                    "no-shared-down": ["fill blk.1.ffn_down_shexp.weight 0"], "beta-slow": ["key deepseek2.rope.scaling.yarn_beta_slow 1"]},
        "faults": ["rope-other", "no-groups", "group-sum", "no-shared", "no-score-growth", "no-latent-norm", "no-ramp"],
    },
    # DeepSeek 2 Lite: queries in one step, no groups
    "deepseek2-lite-hub": {
        "hub": latent("deepseek_v2", "DeepseekV2ForCausalLM", q_lora_rank=None, scoring_func="softmax", topk_method="greedy", n_group=1, topk_group=1,
                      norm_topk_prob=False, routed_scaling_factor=1.0, rope_scaling=latent_yarn(0.707)),
        "mutants": {"one-expert": ["key deepseek2.expert_used_count 1"], "no-growth": ["key deepseek2.rope.scaling.yarn_log_multiplier 0"],
                    "freq-base": ["key deepseek2.rope.freq_base 500000"]},
        "faults": ["rope-other", "no-latent-norm", "no-ramp"],
    },
    # the same as older files have it: keys and values out of one tensor, sizes of the heads and not of the cache
    "deepseek2-old": {
        "old": "deepseek2-lite-hub",
        "mutants": {"freq-base": ["key deepseek2.rope.freq_base 500000"], "heads-swapped": ["swaprows blk.0.attn_kv_b.weight 0 14 14"]},
        "faults": ["rope-other", "no-latent-norm"],
    },
    # DeepSeek 3, Kimi K2: sigmoid and a bias, groups by their two best
    "deepseek3-hub": {
        "hub": latent("deepseek_v3", "DeepseekV3ForCausalLM", scoring_func="sigmoid", topk_method="noaux_tc", n_group=4, topk_group=2, norm_topk_prob=True,
                      routed_scaling_factor=2.5, rope_scaling=latent_yarn(1.0)),
        "mutants": {"groups-3": ["key deepseek2.expert_group_used_count 3"], "no-norm": ["key deepseek2.expert_weights_norm false"],
                    "softmax": ["key deepseek2.expert_gating_func 1"], "no-bias": each(3, "fill blk.%d.exp_probs_b.bias 0")[1:],
                    "no-growth": ["key deepseek2.rope.scaling.yarn_log_multiplier 0"], "scale-1": ["key deepseek2.expert_weights_scale 1"]},
        "faults": ["no-pick-bias", "pick-weights", "softmax-gate", "no-groups", "group-one", "no-score-growth", "rope-other", "no-renorm", "no-shared"],
    },
    # biases of what the latents are made by, and of the output; every layer has experts
    "deepseek3-bias-hub": {
        "hub": latent("deepseek_v3", "DeepseekV3ForCausalLM", num_hidden_layers=2, attention_bias=True, first_k_dense_replace=0, n_routed_experts=4, n_shared_experts=1,
                      scoring_func="sigmoid", topk_method="noaux_tc", n_group=1, topk_group=1, norm_topk_prob=True, routed_scaling_factor=2.5, rope_scaling=None),
        "mutants": {"no-q-a-bias": each(2, "fill blk.%d.attn_q_a.bias 0"), "no-kv-a-bias": each(2, "fill blk.%d.attn_kv_a_mqa.bias 0"),
                    "no-o-bias": each(2, "fill blk.%d.attn_output.bias 0"), "bias-turned": each(2, "swaprows blk.%d.attn_kv_a_mqa.bias 16 20 4"),
                    "one-expert": ["key deepseek2.expert_used_count 1"]},
        "faults": ["no-pick-bias", "rope-other", "no-latent-norm"],
    },
    # GLM 4.7 Flash: no scaling, and no key for the sigmoid
    "glm4moelite-hub": {
        "hub": latent("glm4_moe_lite", "Glm4MoeLiteForCausalLM", topk_method="noaux_tc", n_group=1, topk_group=1, norm_topk_prob=True, routed_scaling_factor=1.8,
                      rope_scaling=None, partial_rotary_factor=1.0),
        "mutants": {"one-expert": ["key deepseek2.expert_used_count 1"], "no-bias": each(3, "fill blk.%d.exp_probs_b.bias 0")[1:],
                    "freq-base": ["key deepseek2.rope.freq_base 500000"]},
        "faults": ["no-pick-bias", "pick-weights", "softmax-gate", "rope-other", "no-latent-norm"],
    },
    # several dense layers in front; biases too
    "glm4moelite-dense-hub": {
        "hub": latent("glm4_moe_lite", "Glm4MoeLiteForCausalLM", topk_method="noaux_tc", n_group=1, topk_group=1, norm_topk_prob=True, routed_scaling_factor=1.8,
                      rope_scaling=None, partial_rotary_factor=1.0, num_hidden_layers=3, first_k_dense_replace=2, mlp_layer_types=["dense", "dense", "sparse"], n_routed_experts=4, n_shared_experts=1, attention_bias=True),
        "mutants": {"one-expert": ["key deepseek2.expert_used_count 1"], "gate-is-up": ["copy blk.1.ffn_gate.weight blk.1.ffn_up.weight"],
                    "no-second": ["fill blk.1.ffn_down.weight 0"], "no-kv-a-bias": each(3, "fill blk.%d.attn_kv_a_mqa.bias 0")},
        "faults": ["no-pick-bias", "rope-other", "no-shared"],
    },
    # and none
    "glm4moelite-none-hub": {
        "hub": latent("glm4_moe_lite", "Glm4MoeLiteForCausalLM", topk_method="noaux_tc", n_group=1, topk_group=1, norm_topk_prob=True, routed_scaling_factor=1.8,
                      rope_scaling=None, partial_rotary_factor=1.0, num_hidden_layers=2, first_k_dense_replace=0, mlp_layer_types=["sparse", "sparse"], n_routed_experts=4, n_shared_experts=1),
        "mutants": {"one-expert": ["key deepseek2.expert_used_count 1"], "no-shared-down": ["fill blk.0.ffn_down_shexp.weight 0"]},
        "faults": ["no-pick-bias", "softmax-gate", "no-shared"],
    },
    # Mistral 4: the best experts of the best groups by softmax, a group by its two best; the converter has no key for the growth of
    # queries, which the second file has
    "mistral4-hub": {
        "hub": mistral4(0.0), "mutants": {
            "one-expert": ["key mistral4.expert_used_count 1"], "groups-3": ["key mistral4.expert_group_used_count 3"],
            "no-norm": ["key mistral4.expert_weights_norm false"], "scale-1": ["key mistral4.expert_weights_scale 1"],
            "no-growth": ["key mistral4.rope.scaling.yarn_log_multiplier 0"], "no-shared-down": ["fill blk.1.ffn_down_shexp.weight 0"],
            "gate-is-up": ["swaprows blk.1.ffn_gate_up_exps.weight 0 12 12"], "factor": ["key mistral4.rope.scaling.factor 8"]},
        "faults": ["rope-other", "no-groups", "group-one", "no-shared", "no-score-growth", "no-latent-norm", "no-ramp", "no-renorm"],
    },
    "mistral4-grows-hub": {
        "hub": mistral4(0.5, n_group=1, topk_group=1),
        "adds": {"mistral4.attention.temperature_scale": 0.5, "mistral4.attention.temperature_length": 16},
        "mutants": {"no-temper": ["key mistral4.attention.temperature_scale 0"], "length": ["key mistral4.attention.temperature_length 17"],
                    "one-expert": ["key mistral4.expert_used_count 1"]},
        "faults": ["no-temper", "rope-other", "no-latent-norm", "no-renorm"],
    },
    # GLM 4.5 has a key for groups
    "glm4moe-groups-hub": {
        "hub": hub("glm4_moe", "Glm4MoeForCausalLM", num_hidden_layers=2, hidden_size=16, rope_theta=10000.0, head_dim=12, partial_rotary_factor=0.5,
                   attention_bias=False, use_qk_norm=False, n_routed_experts=8, num_experts_per_tok=2, n_shared_experts=1, moe_intermediate_size=12,
                   first_k_dense_replace=0, n_group=4, topk_group=2, norm_topk_prob=True, routed_scaling_factor=1.5, num_nextn_predict_layers=0),
        "mutants": {"groups-3": ["key glm4moe.expert_group_used_count 3"], "one-expert": ["key glm4moe.expert_used_count 1"]},
        "faults": ["no-groups", "group-one"],
    },
    # two dense layers in front
    "glm4moe-dense-hub": {
        "hub": hub("glm4_moe", "Glm4MoeForCausalLM", num_hidden_layers=3, hidden_size=16, rope_theta=10000.0, head_dim=12, partial_rotary_factor=0.5,
                   attention_bias=True, use_qk_norm=True, n_routed_experts=4, num_experts_per_tok=2, n_shared_experts=1, moe_intermediate_size=12,
                   first_k_dense_replace=2, n_group=1, topk_group=1, norm_topk_prob=True, routed_scaling_factor=1.5, num_nextn_predict_layers=0),
        "mutants": {"one-expert": ["key glm4moe.expert_used_count 1"], "gate-is-up": ["copy blk.1.ffn_gate.weight blk.1.ffn_up.weight"],
                    "no-second": ["fill blk.1.ffn_down.weight 0"]},
        "faults": ["no-pick-bias", "no-shared"],
    },
    # experts by sigmoid and a bias beside norms over all heads; rotary_dim instead of a part
    "minimaxm2-hub": {
        "hub": hub("minimax_m2", "MiniMaxM2ForCausalLM", head_dim=16, rotary_dim=8, rope_theta=500.0, num_local_experts=5, num_experts_per_tok=2,
                   intermediate_size=12, scoring_func="sigmoid", use_qk_norm=True, qk_norm_type="per_layer", attn_type_list=[1, 1], use_routing_bias=True),
        "mutants": {"one-expert": ["key minimax-m2.expert_used_count 1"], "no-bias": each(2, "fill blk.%d.exp_probs_b.bias 0"),
                    "rope-dim": ["key minimax-m2.rope.dimension_count 16"], "softmax": ["key minimax-m2.expert_gating_func 1"],
                    "no-k-norm-weight": each(2, "fill blk.%d.attn_k_norm.weight 1")},
        "faults": ["no-qk-norm", "norm-head", "no-pick-bias", "pick-weights", "softmax-gate", "no-renorm", "rope-full", "rope-other"],
    },
    # Gemma 4: keys that are values too in layers that see all, with fewer heads than where layers slide
    "gemma4-hub": {
        "hub": gemma4(num_global_key_value_heads=1, attention_k_eq_v=True, num_hidden_layers=2, layer_types=["sliding_attention", "full_attention"]),
        "mutants": {"window-8": ["key gemma4.attention.sliding_window 8"], "window-10": ["key gemma4.attention.sliding_window 10"],
                    "base": ["key gemma4.rope.freq_base 50"], "base-swa": ["key gemma4.rope.freq_base_swa 500"], "no-cap": ["key gemma4.final_logit_softcapping 0"],
                    "all-freqs": ["fill rope_freqs.weight 1"], "no-scale": ["fill blk.0.layer_output_scale.weight 1"],
                    "no-post-ffn": ["fill blk.1.post_ffw_norm.weight 1"], "norms-same": ["copy blk.0.attn_norm.weight blk.0.ffn_norm.weight"]},
        "faults": ["no-v-norm", "v-normed-k", "no-layer-scale", "no-qk-norm", "rope-other", "no-post-norm", "silu", "no-embed-scale", "kv-mod", "swa-base",
                   "no-softcap"],
    },
    # the small ones: an embedding for each layer; the last layers read what others keep, and are wider
    "gemma4-small-hub": {
        "hub": gemma4(num_hidden_layers=6, layer_types=["sliding_attention", "full_attention"] * 3, num_kv_shared_layers=2, use_double_wide_mlp=True, hidden_size_per_layer_input=4, num_key_value_heads=1),
        "mutants": {"no-proj-norm": ["fill per_layer_proj_norm.weight 1"], "no-input-norm": each(6, "fill blk.%d.post_norm.weight 1"),
                    "no-table": ["fill per_layer_token_embd.weight 0"], "window-8": ["key gemma4.attention.sliding_window 8"]},
        "faults": ["borrow-first", "no-inputs", "inputs-next", "no-input-proj", "no-layer-scale", "no-v-norm", "no-qk-norm", "rope-other"],
    },
    # experts beside the dense part; sizes as newer writers give them
    "gemma4-moe-hub": {
        "hub": gemma4(global_head_dim=None, per_layer_config={"1": {"head_dim": 16, "num_key_value_heads": 1}}, attention_k_eq_v=True, enable_moe_block=True, num_experts=5, top_k_experts=2, moe_intermediate_size=12,
                      num_hidden_layers=2, layer_types=["sliding_attention", "full_attention"]),
        "mutants": {"one-expert": ["key gemma4.expert_used_count 1"], "no-factor": each(2, "fill blk.%d.ffn_down_exps.scale 1"),
                    "no-router-norm-weight": each(2, "fill blk.%d.ffn_gate_inp.scale 1"), "no-mlp-post": ["fill blk.0.post_ffw_norm_1.weight 1"],
                    "no-moe-post": ["fill blk.0.post_ffw_norm_2.weight 1"], "no-moe-norm": ["fill blk.1.pre_ffw_norm_2.weight 1"]},
        "faults": ["no-dense", "no-experts", "router-of-dense", "no-router-scale", "no-expert-scale", "v-normed-k", "silu"],
    },
    # Gemma 3n: streams of rows
    "gemma3n-hub": {
        "hub": gemma3n(),
        "mutants": {"window-8": ["key gemma3n.attention.sliding_window 8"], "base": ["key gemma3n.rope.freq_base 50"], "base-swa": ["key gemma3n.rope.freq_base_swa 500"],
                    "no-cap": ["key gemma3n.final_logit_softcapping 0"], "no-input-norm": each(6, "fill blk.%d.post_norm.weight 1"),
                    "streams-other": ["swaprows altup_proj.weight 0 16 16"], "merge-other": ["swaprows altup_unembd_proj.weight 0 16 16"],
                    "no-router-norm-weight": each(6, "fill blk.%d.altup_router_norm.weight 1"), "predict-other": ["swaprows blk.1.altup_predict_coef.weight 4 8 4"],
                    "correct-other": ["swaprows blk.2.altup_correct_coef.weight 0 1 1"], "correct-scale": ["fill blk.3.altup_correct_scale.weight 1"],
                    "no-side-norm-weight": ["fill blk.0.laurel_post_norm.weight 1"], "post-same": ["copy blk.0.post_attention_norm.weight blk.0.post_ffw_norm.weight"]},
        "faults": ["no-streams", "predict-turned", "no-predict", "no-correct-scale", "correct-plain", "inputs-all", "no-level", "no-side", "no-cut", "cut-less-one",
                   "borrow-first", "no-inputs", "inputs-next", "no-input-proj", "no-v-norm", "no-qk-norm", "rope-other", "silu", "no-embed-scale", "swa-base"],
    },
    # LFM 2: gated short convolutions between layers that attend
    "lfm2-hub": {
        "hub": hub("lfm2", "Lfm2ForCausalLM", num_hidden_layers=3, layer_types=["conv", "full_attention", "conv"], conv_L_cache=3, conv_bias=False, norm_eps=1e-5,
                   block_ff_dim=40, block_auto_adjust_ff_dim=True, block_ffn_dim_multiplier=1.2, block_multiple_of=8, rope_theta=500.0, tie_word_embeddings=True),
        "mutants": {"no-q-norm-weight": ["fill blk.1.attn_q_norm.weight 1"], "base": ["key lfm2.rope.freq_base 50"], "no-out": ["fill blk.2.shortconv.out_proj.weight 0"],
                    "b-is-c": ["swaprows blk.0.shortconv.in_proj.weight 0 24 24"], "no-output-norm-weight": ["fill token_embd_norm.weight 1"]},
        "faults": ["no-conv", "conv-anew", "conv-silu", "no-conv-b", "no-conv-c", "no-qk-norm", "rope-other"],
    },
    "lfm2moe-hub": {
        "hub": hub("lfm2_moe", "Lfm2MoeForCausalLM", num_hidden_layers=3, layer_types=["conv", "full_attention", "conv"], conv_L_cache=4, conv_bias=False, norm_eps=1e-5,
                   num_dense_layers=1, num_experts=5, num_experts_per_tok=2, moe_intermediate_size=12, use_expert_bias=True, norm_topk_prob=True,
                   rope_theta=500.0, tie_word_embeddings=True),
        "bound": 2e-5,      # transformers divides the weights by their sum and a millionth
        "mutants": {"one-expert": ["key lfm2moe.expert_used_count 1"], "no-bias": ["fill blk.1.exp_probs_b.bias 0"]},
        "faults": ["no-conv", "conv-anew", "conv-silu", "no-conv-b", "no-conv-c", "no-pick-bias", "pick-weights", "softmax-gate", "no-renorm"],
    },
    # norms behind the rotation, a layer that does not rotate, dense layers between those with experts, which take the input by weight
    "llama4-hub": {
        "hub": llama4(),
        "mutants": {"one-expert": ["key llama4.expert_used_count 1"], "halves": pairs_mixed(4, QK_OTHER, 8), "freq-base": ["key llama4.rope.freq_base 10000"],
                    "no-shared-down": each(4, "fill blk.%d.ffn_down_shexp.weight 0")[1::2], "gate-is-up": ["copy blk.1.ffn_gate_exps.weight blk.1.ffn_up_exps.weight"]},
        "faults": ["no-qk-norm", "all-rope", "rope-other", "weights-outside", "softmax-gate", "no-shared"],
    },
    # the same with chunks and growth that act within the test's positions; the converter has no keys for them, this file has
    "llama4-chunks-hub": {
        "hub": llama4(attention_chunk_size=16, floor_scale=5, attn_scale=0.5),
        "adds": {"llama4.attention.sliding_window": 16, "llama4.attention.temperature_length": 5, "llama4.attention.temperature_scale": 0.5},
        "mutants": {"chunk-17": ["key llama4.attention.sliding_window 17"], "no-growth": ["key llama4.attention.temperature_scale 0"],
                    "length": ["key llama4.attention.temperature_length 6"]},
        "faults": ["slides", "no-window", "window-all", "temper-all", "temper-late", "no-temper"],
    },
    # quantised weights: the types with an integer product, by their blocks
    "llama-blocks-32": {
        "hf": "Llama", "arch": "llama", "draws": 60, "n": 8, "edge": 3e-4,
        "types": {"token_embd": "Q8_0", "output": "Q8_0", "attn_q": "Q4_0", "attn_k": "Q4_1", "attn_v": "Q5_0", "attn_output": "Q5_1",
                  "ffn_gate": "IQ4_NL", "ffn_up": "Q8_0", "ffn_down": "MXFP4"},
        "config": dict(vocab_size=72, hidden_size=64, intermediate_size=96, num_attention_heads=4, num_key_value_heads=2, rms_norm_eps=1e-5,
                       num_hidden_layers=1, max_position_embeddings=64, rope_parameters=PLAIN),
        "mutants": {"no-norm-weight": ["fill blk.0.attn_norm.weight 1"]},
    },
    "llama-blocks-256": {
        "hf": "Llama", "arch": "llama", "draws": 60, "n": 4, "edge": 2e-4,
        "types": {"token_embd": "Q6_K", "output": "Q6_K", "attn_q": "Q4_K", "attn_k": "Q5_K", "attn_v": "Q6_K", "attn_output": "Q3_K",
                  "ffn_gate": "Q2_K", "ffn_up": "IQ4_XS", "ffn_down": "Q4_K"},
        "config": dict(vocab_size=72, hidden_size=256, intermediate_size=256, num_attention_heads=4, num_key_value_heads=1, rms_norm_eps=1e-5,
                       num_hidden_layers=1, max_position_embeddings=64, rope_parameters=PLAIN),
        "mutants": {"no-norm-weight": ["fill blk.0.attn_norm.weight 1"]},
    },
    "llama-grids": {
        "hf": "Llama", "arch": "llama", "draws": 60, "n": 4, "edge": 2e-4,
        "types": {"token_embd": "BF16", "output": "TQ1_0", "attn_q": "IQ2_XXS", "attn_k": "IQ3_S", "attn_v": "IQ2_XS", "attn_output": "IQ1_S",
                  "ffn_gate": "TQ2_0", "ffn_up": "IQ3_XXS", "ffn_down": "IQ2_S"},
        "config": dict(vocab_size=72, hidden_size=256, intermediate_size=256, num_attention_heads=4, num_key_value_heads=1, rms_norm_eps=1e-5,
                       num_hidden_layers=1, max_position_embeddings=64, rope_parameters=PLAIN),
        "mutants": {"no-norm-weight": ["fill blk.0.attn_norm.weight 1"]},
    },
}
