#!/usr/bin/env python3
"""Compare directories of models for text and more, saved by transformers, with what the public converter makes of them.

  check-hf-wrappers.py [--tools DIR] CONVERTER [CASE...]

CONVERTER is the folder of convert_hf_to_gguf.py; DIR has infer-quant (build/release).  Needs torch, transformers, gguf and numpy.
For each case a tiny model of the whole class is drawn, its text as in tests/golden/hf/config, and saved by save_pretrained.  Then
infer-quant --copy DIR OUT.gguf must have the tensors of the converter's file, byte for byte, and its keys of the architecture.
Prints a line for each case; exit status 1 if one differs.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import checkpoint  # noqa: E402

CONFIGS = os.path.join(HERE, "..", "tests", "golden", "hf", "config")
VISION = dict(hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2, image_size=28, patch_size=14)
PIXTRAL = dict(VISION, model_type="pixtral", head_dim=8)
QWEN = dict(depth=1, hidden_size=16, intermediate_size=16, num_heads=2, out_hidden_size=24)
PLAIN = dict(head_dim=16, sliding_window=None)      # of Mistral

# class, without ForConditionalGeneration; the text's golden config and changes of it; members of the whole
CASES = {
    "gemma3": ("Gemma3", "gemma3-hub", {}, dict(vision_config=VISION, mm_tokens_per_image=4)),
    "gemma3n": ("Gemma3n", "gemma3n-hub", {}, dict(vision_config=dict(hidden_size=16, vocab_size=8, vocab_offset=60), audio_config=dict(
        hidden_size=16, vocab_size=4, vocab_offset=68, conf_num_hidden_layers=1, conf_num_attention_heads=2))),
    "gemma4": ("Gemma4", "gemma4-small-hub", {}, dict(audio_config=None, vision_config={k: v for k, v in VISION.items() if k[0] in "hin" and k != "image_size"})),
    "llama4": ("Llama4", "llama4-hub", {}, dict(vision_config=dict(VISION, vision_output_dim=16, projector_input_dim=16, projector_output_dim=16,
                                                                   intermediate_size=64))),
    "llava": ("Llava", "mistral-window", PLAIN, dict(vision_config=PIXTRAL)),
    "mistral3": ("Mistral3", "mistral-window", PLAIN, dict(vision_config=PIXTRAL)),
    "ministral3": ("Mistral3", "mistral3-hub", {}, dict(vision_config=PIXTRAL)),
    "mistral4": ("Mistral3", "mistral4-hub", {}, dict(vision_config=PIXTRAL)),
    "qwen35": ("Qwen3_5", "qwen35-hub", {}, dict(vision_config=QWEN)),
    "qwen35moe": ("Qwen3_5Moe", "qwen35moe-hub", {}, dict(vision_config=QWEN)),
}


def save(path, case):
    """Save a model of random weights; why it cannot be made, or None."""
    import transformers
    name, text, changes, more = case
    with open(os.path.join(CONFIGS, text + ".json")) as f:
        inner = {k: v for k, v in json.load(f).items() if k not in ("architectures", "torch_dtype", "dtype")}
    cls = name + "ForConditionalGeneration"
    try:
        config = getattr(transformers, name + "Config")(text_config={**inner, **changes}, **more)
        config.architectures = [cls]
        getattr(transformers, cls)(config).eval().save_pretrained(path)
    except ImportError as e:
        return str(e).strip().split("\n")[0]
    return None


def read(path):
    import gguf
    r = gguf.GGUFReader(path)
    keys = {k: ([t.name for t in f.types], f.contents()) for k, f in r.fields.items()}
    arch = keys["general.architecture"][1]
    return {k: v for k, v in keys.items() if k.startswith(arch + ".") or k == "general.architecture"}, {t.name: t for t in r.tensors}


def same(a, b):
    return a.tensor_type == b.tensor_type and list(a.shape) == list(b.shape) and np.array_equal(np.array(a.data), np.array(b.data))


def compare(tools, path):
    """What differs, as text; the converter's file is path.gguf."""
    p = subprocess.run([os.path.join(tools, "infer-quant"), "--copy", path, path + ".copy.gguf"], capture_output=True, text=True)
    if p.returncode:
        return p.stderr.strip()
    (keys, tensors), (our_keys, our_tensors) = read(path + ".gguf"), read(path + ".copy.gguf")
    out = [k for k in sorted(set(keys) | set(our_keys)) if keys.get(k) != our_keys.get(k)]
    out += [t for t in sorted(set(tensors) | set(our_tensors)) if t not in tensors or t not in our_tensors or not same(tensors[t], our_tensors[t])]
    return " ".join(out)


def convert(converter, path):
    """The converter reads tokenizer.json for the number of ids; nothing else does."""
    with open(os.path.join(path, "config.json")) as f:
        n = json.load(f)["text_config"]["vocab_size"]
    name = os.path.join(path, "tokenizer.json")
    with open(name, "w") as f:
        json.dump({"model": {"vocab": {str(i): i for i in range(n)}}, "added_tokens": []}, f)
    why = checkpoint.convert(converter, [path])[path]
    os.unlink(name)
    return why


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--tools", default=os.path.join(HERE, "..", "build", "release"))
    a.add_argument("converter")
    a.add_argument("cases", nargs="*")
    o = a.parse_args()
    bad = 0
    with tempfile.TemporaryDirectory() as room:
        for name in o.cases or CASES:
            path = os.path.join(room, name)
            why = save(path, CASES[name])
            if why:
                print("%-12s skipped: %s" % (name, why))
                continue
            why = convert(o.converter, path) or compare(o.tools, path)
            bad += bool(why)
            print("%-12s %s" % (name, why or "same"), flush=True)
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
