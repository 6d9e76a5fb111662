"""The configs of check-converter.py, each a config.json as the hub has them, shrunk.

config: of the checkpoint; n: ids evaluated; ctx: what infer-run is opened with; what: for the table; verdict: right (as
it is where left out), wrong, refused, or not converted; why: for what is not right.
"""

LONG = [1.0, 1.5, 2.25, 4.0, 7.5, 12.0, 24.0, 31.0]
SHORT = [1.0, 1.0, 1.125, 1.25, 1.5, 1.75, 2.0, 2.5]


def base(model_type, cls, **more):
    c = dict(architectures=[cls], model_type=model_type, hidden_size=32, intermediate_size=40, num_hidden_layers=2,
             num_attention_heads=4, num_key_value_heads=2, vocab_size=72, rms_norm_eps=1e-5, max_position_embeddings=256,
             hidden_act="silu", torch_dtype="float32", bos_token_id=70, eos_token_id=71, tie_word_embeddings=False, use_cache=True)
    c.update(more)
    return {k: v for k, v in c.items() if v is not Ellipsis}


def case(what, config, n=96, **more):
    return {"what": what, "config": config, "n": n, **more}


def llama(**more):
    return base("llama", "LlamaForCausalLM", **{"rope_theta": 10000.0, "rope_scaling": None, "attention_bias": False, **more})


def mistral(**more):
    return base("mistral", "MistralForCausalLM", **{"rope_theta": 1e6, "sliding_window": None, **more})


def mixtral(**more):
    return base("mixtral", "MixtralForCausalLM", **{"rope_theta": 1e6, "sliding_window": None, "num_local_experts": 4, "num_experts_per_tok": 2, **more})


def qwen2(**more):
    return base("qwen2", "Qwen2ForCausalLM", **{"rope_theta": 1e6, "use_sliding_window": False, "sliding_window": 131072,
                                                "max_window_layers": 28, "rms_norm_eps": 1e-6, **more})


def qwen3(**more):
    return base("qwen3", "Qwen3ForCausalLM", **{"rope_theta": 1e6, "use_sliding_window": False, "sliding_window": None, "max_window_layers": 36,
                                                "head_dim": 12, "attention_bias": False, "rope_scaling": None, "rms_norm_eps": 1e-6, **more})


def qwen3moe(**more):
    return base("qwen3_moe", "Qwen3MoeForCausalLM", **{
        "rope_theta": 1e6, "head_dim": 12, "num_experts": 6, "num_experts_per_tok": 2, "moe_intermediate_size": 16, "norm_topk_prob": True,
        "decoder_sparse_step": 1, "mlp_only_layers": [], "use_sliding_window": False, "sliding_window": None, "rms_norm_eps": 1e-6, **more})


def gemma2(**more):
    return base("gemma2", "Gemma2ForCausalLM", **{
        "head_dim": 12, "query_pre_attn_scalar": 12, "attn_logit_softcapping": 5.0, "final_logit_softcapping": 6.0, "sliding_window": 20,
        "hidden_activation": "gelu_pytorch_tanh", "hidden_act": "gelu_pytorch_tanh", "rope_theta": 10000.0, "rms_norm_eps": 1e-6,
        "tie_word_embeddings": True, "num_hidden_layers": 4, **more})


def gemma3(**more):
    return base("gemma3_text", "Gemma3ForCausalLM", **{
        "head_dim": 12, "query_pre_attn_scalar": 12, "attn_logit_softcapping": None, "final_logit_softcapping": None, "sliding_window": 20,
        "sliding_window_pattern": 6, "hidden_activation": "gelu_pytorch_tanh", "hidden_act": Ellipsis, "rope_theta": 1e6, "rope_local_base_freq": 10000.0,
        "rope_scaling": None, "rms_norm_eps": 1e-6, "tie_word_embeddings": True, "num_hidden_layers": 7, **more})


def phi3(**more):
    return base("phi3", "Phi3ForCausalLM", **{
        "num_attention_heads": 2, "num_key_value_heads": 2, "rope_theta": 10000.0, "rope_scaling": None, "sliding_window": None, "pad_token_id": None,
        "original_max_position_embeddings": 256, "attention_bias": False, "resid_pdrop": 0.0, **more})


def granite(**more):
    return base("granite", "GraniteForCausalLM", **{
        "rope_theta": 5e6, "embedding_multiplier": 12.0, "residual_multiplier": 0.22, "attention_multiplier": 0.125, "logits_scaling": 0.5,
        "tie_word_embeddings": True, "attention_bias": False, "mlp_bias": False, "pad_token_id": None, **more})


def longrope(n, kind="longrope", **more):
    return {"type": kind, "long_factor": LONG[:n], "short_factor": SHORT[:n], **more}


def llama3(factor, orig):
    return {"rope_type": "llama3", "factor": factor, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": orig}


LOST = "the converter does not write it, so no reader of the file can know"

CASES = {
    # llama
    "llama-1": case("no num_key_value_heads, no rope_theta", llama(num_key_value_heads=Ellipsis, rope_theta=Ellipsis, rms_norm_eps=1e-6)),
    "llama-2-70b": case("GQA 8:1", llama(num_attention_heads=8, num_key_value_heads=1, pretraining_tp=1)),
    "codellama": case("base 1e6", llama(rope_theta=1e6)),
    "yi": case("base 5e6, MQA", llama(rope_theta=5e6, num_key_value_heads=1)),
    "smollm2": case("9 heads, 3 kv, tied", llama(hidden_size=72, num_attention_heads=9, num_key_value_heads=3, tie_word_embeddings=True, rope_theta=1e5)),
    "llama-3.1": case("llama3 scaling 8", llama(rope_theta=5e5, rope_scaling=llama3(8.0, 32), mlp_bias=False)),
    "llama-3.2": case("llama3 scaling 32, head_dim over d/h, tied", llama(rope_theta=5e5, rope_scaling=llama3(32.0, 32), head_dim=16, tie_word_embeddings=True)),
    "llama-biases": case("attention_bias and mlp_bias", llama(attention_bias=True, mlp_bias=True)),
    "longchat": case("linear 4, as old configs say it", llama(rope_scaling={"type": "linear", "factor": 4.0})),
    "dynamic-ntk": case("dynamic 2, within the context", llama(rope_scaling={"type": "dynamic", "factor": 2.0})),
    "yarn-llama-2": case("yarn 16, finetuned", llama(rope_scaling={"type": "yarn", "factor": 16.0, "original_max_position_embeddings": 64, "finetuned": True},
                                                     max_position_embeddings=1024)),
    "llama-yarn-keys": case("yarn 4, attention_factor, betas", llama(rope_scaling={
        "rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64, "attention_factor": 1.3, "beta_fast": 16.0, "beta_slow": 2.0})),
    "llama-yarn-one": case("yarn 4, attention_factor 1", llama(rope_scaling={
        "rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64, "attention_factor": 1.0})),
    "llama-yarn-mscale": case("yarn 4, mscale and mscale_all_dim", llama(rope_scaling={
        "rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64, "mscale": 1.0, "mscale_all_dim": 1.0}), verdict="wrong", why=LOST),
    "llama-yarn-old-key": case("yarn 4, attn_factor 1 as YaRN's first code has it", llama(rope_scaling={
        "rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64, "attn_factor": 1.0}),
        verdict="wrong", why="the converter writes it as if it were attention_factor, which transformers does not"),
    "llama-yarn-not-rounded": case("yarn 4, truncate false", llama(rope_theta=500.0, rope_scaling={
        "rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64, "truncate": False}), verdict="wrong", why=LOST),
    "llama-3.1-new": case("llama3 scaling in rope_parameters", llama(rope_theta=Ellipsis, rope_scaling=Ellipsis, rope_parameters={
        "rope_theta": 5e5, **llama3(8.0, 64)})),
    "llama-longrope": case("longrope, llama class", llama(rope_scaling=longrope(4, original_max_position_embeddings=32), original_max_position_embeddings=32),
                           verdict="refused", why="the converter writes the type and no factors"),
    # mistral, mixtral
    "mistral-v0.3": case("window null, base 1e6", mistral()),
    "mistral-v0.1": case("window 4096, longer than the text", mistral(rope_theta=10000.0, sliding_window=4096)),
    "mistral-v0.1-long": case("window 24 in a text of 96", mistral(rope_theta=10000.0, sliding_window=24), verdict="wrong", why=LOST),
    "mistral-nemo": case("head_dim below d/h", mistral(hidden_size=80, head_dim=16)),
    "mixtral-8x7b": case("4 experts, 2 used", mixtral()),
    "mixtral-8x22b": case("8 experts, GQA 6:1", mixtral(hidden_size=48, num_attention_heads=6, num_key_value_heads=1, num_local_experts=8, max_position_embeddings=512)),
    # qwen
    "qwen2.5-0.5b": case("7 heads, 1 kv, tied", qwen2(hidden_size=56, num_attention_heads=7, num_key_value_heads=1, tie_word_embeddings=True)),
    "qwen2.5-7b": case("untied, window not used", qwen2(use_mrope=False)),
    "qwen2.5-yarn": case("yarn 4", qwen2(rope_scaling={"factor": 4.0, "original_max_position_embeddings": 64, "type": "yarn"})),
    "qwen2-window": case("use_sliding_window from layer 1", qwen2(use_sliding_window=True, sliding_window=24, max_window_layers=1), verdict="wrong", why=LOST),
    "qwen3-0.6b": case("head_dim over d/h, tied", qwen3(tie_word_embeddings=True, head_dim=16)),
    "qwen3-32b": case("untied, GQA 4:1", qwen3(num_key_value_heads=1, head_dim=8)),
    "qwen3-biases": case("attention_bias", qwen3(attention_bias=True)),
    "qwen3-yarn": case("yarn 4, attention_factor as the default is", qwen3(rope_scaling={
        "rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64, "attention_factor": 1.1386294361119891})),
    "qwen3-linear": case("linear 2", qwen3(rope_scaling={"rope_type": "linear", "factor": 2.0})),
    "qwen3-30b-a3b": case("6 experts, 2 used, normed", qwen3moe()),
    "qwen3moe-tied-yarn": case("yarn, tied, 3 used", qwen3moe(tie_word_embeddings=True, num_experts_per_tok=3, rope_scaling={
        "rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64})),
    "qwen3moe-not-normed": case("norm_topk_prob false", qwen3moe(norm_topk_prob=False), verdict="wrong", why=LOST),
    "qwen3moe-dense-layer": case("mlp_only_layers", qwen3moe(mlp_only_layers=[0]), verdict="not converted"),
    # gemma
    "gemma-2-2b": case("windows, caps", gemma2()),
    "gemma-2-9b": case("caps 50 and 30, MHA", gemma2(attn_logit_softcapping=50.0, final_logit_softcapping=30.0, num_key_value_heads=4)),
    "gemma-2-27b": case("46 layers: scale by d/h", gemma2(num_hidden_layers=46, hidden_size=24, intermediate_size=16, head_dim=8, query_pre_attn_scalar=6)),
    "gemma-3-1b": case("windows, two bases, MQA", gemma3(num_key_value_heads=1)),
    "gemma-3-4b": case("linear 8 on the layers without window", gemma3(rope_scaling={"factor": 8.0, "rope_type": "linear"})),
    "gemma-3-27b": case("62 layers: scale by d/h", gemma3(num_hidden_layers=62, hidden_size=24, intermediate_size=16, head_dim=8, query_pre_attn_scalar=6)),
    "gemma-3-new": case("layer_types and rope_parameters, as newer configs say it", gemma3(
        sliding_window_pattern=Ellipsis, rope_theta=Ellipsis, rope_local_base_freq=Ellipsis, rope_scaling=Ellipsis,
        layer_types=["sliding_attention"] * 5 + ["full_attention", "sliding_attention"],
        rope_parameters={"full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1e6},
                         "sliding_attention": {"rope_type": "default", "rope_theta": 20000.0}})),
    "gemma3-yarn": case("yarn, final cap, no window used", gemma3(
        sliding_window=4096, final_logit_softcapping=6.0, num_hidden_layers=3, sliding_window_pattern=1,
        rope_scaling={"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64})),
    # phi
    "phi-3-mini-4k": case("window of every layer", phi3(sliding_window=31)),
    "phi-3-mini-128k": case("longrope, beyond the first context", phi3(rope_scaling=longrope(8), original_max_position_embeddings=64)),
    "phi-3-mini-128k-short": case("longrope, within the first context", phi3(rope_scaling=longrope(8), original_max_position_embeddings=64), n=64, ctx=64),
    "phi-3-su": case("su, the old name", phi3(rope_scaling=longrope(8, "su", original_max_position_embeddings=64), original_max_position_embeddings=64)),
    "phi-4": case("no scaling, GQA, base 250000", phi3(num_attention_heads=4, num_key_value_heads=1, rope_theta=250000.0)),
    "phi-4-mini": case("longrope, 3/4 of a head rotates, tied", phi3(
        rope_scaling=longrope(6), original_max_position_embeddings=64, partial_rotary_factor=0.75, num_key_value_heads=1, tie_word_embeddings=True, sliding_window=262144)),
    "phi-4-mini-short": case("the same within the first context", phi3(
        rope_scaling=longrope(6), original_max_position_embeddings=64, partial_rotary_factor=0.75, num_key_value_heads=1, tie_word_embeddings=True), n=64, ctx=64),
    # granite
    "granite-3.1-2b": case("multipliers, tied", granite()),
    "granite-3.0-8b": case("multipliers, untied, biases", granite(tie_word_embeddings=False, attention_bias=True, mlp_bias=True, rope_theta=10000.0)),
    "granite-linear": case("linear 4", granite(rope_scaling={"type": "linear", "factor": 4.0})),
}
