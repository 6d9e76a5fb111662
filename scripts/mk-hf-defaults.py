#!/usr/bin/env python3
"""Write libcore/hf/default_list.h: what transformers' classes mean by members that config.json leaves out.

  mk-hf-defaults.py     needs transformers

Only members that key_list.h reads are listed, and only those with a default that is a number, a flag or a string.
"""
import dataclasses
import json
import re
import textwrap
from pathlib import Path

from transformers import AutoConfig

ROOT = Path(__file__).resolve().parent.parent
TYPES = """llama mistral mixtral ministral3 mistral4 qwen2 qwen2_moe qwen3 qwen3_moe qwen3_next qwen3_5_text qwen3_5_moe_text gemma2
gemma3_text gemma3n_text gemma4_text phi3 deepseek_v2 deepseek_v3 glm4_moe_lite gpt_oss glm4 glm4_moe smollm3 granite granitemoe
granitemoeshared granitemoehybrid olmo2 olmo3 minimax_m2 llama4_text lfm2 lfm2_moe bert xlm-roberta roberta nomic_bert
modernbert""".split()
# harmless as keys, but other keys are computed from them
ALSO = {"partial_rotary_factor", "use_sliding_window", "enable_moe_block", "topk_method", "qk_rope_head_dim", "position_embedding_type",
        "block_ffn_dim_multiplier", "block_multiple_of", "attention_k_eq_v", "classifier_pooling", "layer_norm_eps", "hidden_activation", "hidden_act"}
# whose default depends on others, or says nothing of the text
NEVER = {"num_mtp_layers", "time_step_limit", "tie_word_embeddings"}
PARTIAL = {"glm4": 0.5, "glm4_moe": 0.5, "qwen3_next": 0.25, "qwen3_5_text": 0.25, "qwen3_5_moe_text": 0.25}


def names():
    out = set(ALSO)
    for m in re.finditer(r'^KEY\(\w+,\s*(?:NULL|"[^"]*"),\s*((?:"[^"]*"\s*)+),\s*(\w+)', (ROOT / "libcore/arch/key_list.h").read_text(), re.M):
        if m[2] != "HARMLESS":
            out |= {x.removeprefix("rope.") for x in "".join(re.findall(r'"([^"]*)"', m[1])).split("|")}
    return out - NEVER


def main():
    wanted, lines = names(), []
    for kind in TYPES:
        c = type(AutoConfig.for_model(kind))
        d = {f.name: f.default for f in dataclasses.fields(c) if f.name in wanted and isinstance(f.default, (int, float, str)) and f.default != "auto"}
        theta = getattr(c, "default_theta", None)
        if kind not in ("bert", "roberta", "xlm-roberta"):
            d["rope_theta"] = theta["global"] if isinstance(theta, dict) else theta
        if kind in PARTIAL:
            d["partial_rotary_factor"] = PARTIAL[kind]
        text = textwrap.wrap(" ".join("%s=%s" % (k, v if isinstance(v, str) else json.dumps(v)) for k, v in d.items()), 100)
        lines.append('DEFAULTS("%s",\n\t"%s")' % (kind, ' "\n\t"'.join(text)))
    (ROOT / "libcore/hf/default_list.h").write_text(
        "/* hf/default_list.h - DEFAULTS(model_type, members): values that transformers' classes give to\n"
        " * members missing from config.json, as NAME=VALUE with spaces between.  Written by\n * scripts/mk-hf-defaults.py. */\n" + "\n".join(lines) + "\n")


main()
