#!/usr/bin/env python3
"""Compare directories that transformers saves with transformers itself and with the public converter.

  check-checkpoints.py [--tools DIR] CONVERTER [CASE...]

CONVERTER is the folder of convert_hf_to_gguf.py; DIR has tests/tools/logits and infer-quant (build/release).  Needs torch,
transformers, safetensors, gguf and numpy.  For each class that a tests/golden/hf/config/*.json has, a tiny model with every
optional tensor of its config is drawn and saved by save_pretrained, every second one in shards with an index, as F32 and as BF16:
  logits     of the directory, compared with those of transformers in float64, which reads the same directory
  digest     the same bits as the converter's file gives
  tensors    of infer-quant --copy DIR OUT.gguf: names, types, shapes and bytes of the converter's file
  keys       of the architecture in it: those of the converter's file
The directories of F32 have config.json as transformers 5 writes it, those of BF16 as it is in tests/golden, which is how the
hub has most.  Where the converter's own file misses the logits of transformers, because GGUF files of the class do not say all that
config.json says or because it does not know the names of transformers 5, what differs is listed as "(converter ...)" and counts
for nothing.  Of encoders (the cases of golden-encoders.py) tensors and keys alone are compared: what a file of the
converter gives is compared in tests/unit/engine/test_encoders.  One line a case; exit status 1 if one differs.
"""
import argparse
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import checkpoint  # noqa: E402

CONFIGS = os.path.join(HERE, "..", "tests", "golden", "hf", "config")
BOUND = 1e-4        # of the largest logit, as in tests/unit/golden_logits.h
N_IDS = 48
OPTIONS = ("attention_bias", "mlp_bias", "use_bias", "qkv_bias", "lm_head_bias")
ENCODERS = ("bert", "xlm-roberta", "xlm-rank", "nomic", "modern", "modern-silu", "modern-rank", "gemma")
NEVER = ("attn_rot_embd", "nextn")      # tensors that nothing reads


def ids_of(name, n_vocab):
    rng = np.random.default_rng([*("ids " + name).encode()])
    return [int(t) for t in rng.integers(0, n_vocab - 8, N_IDS)]


def n_vocab_of(d):
    with open(os.path.join(d, "config.json")) as f:
        c = json.load(f)
    return c.get("text_config", c)["vocab_size"]


# --- stages, each a process of its own: torch is as it was, or computes in float64

def save(room, names):
    """room/NAME-f32 and room/NAME-bf16, of one model each."""
    import torch
    import transformers
    for number, name in enumerate(names):
        with open(os.path.join(CONFIGS, name + ".json")) as f:
            config = json.load(f)
        for dtype in "f32", "bf16":
            d = os.path.join(room, f"{name}-{dtype}")
            os.makedirs(d)
            with open(os.path.join(d, "config.json"), "w") as f:
                json.dump(config, f)
            c = transformers.AutoConfig.from_pretrained(d)
            for k in OPTIONS:
                if hasattr(c, k) and config["model_type"].startswith(("llama", "qwen3", "qwen2_moe", "gpt_oss", "granite", "mistral")) and config["model_type"] != "llama4_text":
                    setattr(c, k, getattr(c, k) or name == "llama-bias")
            model = getattr(transformers, config["architectures"][0])(c).float().eval()
            trained = [(k, b) for k, b in model.named_buffers() if k.endswith(("e_score_correction_bias", "expert_bias", "layer_scalar"))]
            rng, gemma = np.random.default_rng([*name.encode()]), config["model_type"].split("_")[0] in ("gemma2", "gemma3")
            with torch.no_grad():
                for k, p in [*model.named_parameters(), *trained]:
                    p.copy_(torch.from_numpy(checkpoint.draw(k, tuple(p.shape), rng, gemma, config["model_type"] == "gpt_oss")).float())
            if dtype == "bf16":
                model = model.bfloat16()
            model.save_pretrained(d, max_shard_size="20KB" if number % 2 else "1GB")
            if dtype == "bf16":
                with open(os.path.join(d, "config.json"), "w") as f:
                    json.dump(config, f)
    print("saved")


def expect(room, names):
    """NAME-DTYPE.npy beside each directory: float64 logits of what transformers reads there."""
    import torch
    import transformers
    read = {}
    for name in names:
        for dtype in "f32", "bf16":
            d = os.path.join(room, f"{name}-{dtype}")
            with open(os.path.join(d, "config.json")) as f:
                cls = getattr(transformers, json.load(f)["architectures"][0])
            model = cls.from_pretrained(d, dtype=torch.float32)
            read[d] = cls, model.config, name, {k: v.double() for k, v in model.state_dict().items()}
    torch = checkpoint.use_float64()
    for d, (cls, config, name, state) in read.items():
        config._attn_implementation = config._experts_implementation = "eager"
        config.dtype = torch.float64
        model = cls(config).double().eval()
        model.load_state_dict(state)
        np.save(d + ".npy", checkpoint.expect(model, ids_of(name, n_vocab_of(d))))


def convert(converter, room, names):
    """NAME-DTYPE.gguf of each directory; the reasons of those without."""
    why = {}
    for dtype in "f32", "bf16":
        dirs = [os.path.join(room, f"{n}-{dtype}") for n in names]
        for d in dirs:
            n = n_vocab_of(d)
            with open(os.path.join(d, "tokenizer.json"), "w") as f:     # of which the converter counts the ids
                json.dump({"model": {"vocab": {str(i): i for i in range(n)}}, "added_tokens": []}, f)
        why.update(checkpoint.convert(converter, dirs, dtype))
        for d in dirs:
            os.unlink(os.path.join(d, "tokenizer.json"))
    return {os.path.basename(d): w for d, w in why.items() if w}


def encoders(room, names):
    """room/NAME of the cases of golden-encoders.py, as save_pretrained writes them."""
    import importlib.util
    spec = importlib.util.spec_from_file_location("golden_encoders", os.path.join(HERE, "golden-encoders.py"))
    e = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(e)
    for name, case in e.CASES.items():
        if name not in names:
            continue
        path = os.path.join(room, name)
        model = e.model_of(case.get("config", case["hub"]))
        checkpoint.fill(name, model, np.random.default_rng([*name.encode()]), case["hub"]["model_type"].startswith("gemma"))
        checkpoint.save(path, case["hub"], e.saved(model))
        e.tokenizer(path, case["hub"]["vocab_size"])
        if not case.get("rank"):
            width, extra = model.config.hidden_size, {}
            for i, w in enumerate(case.get("dense", ())):
                extra[f"dense_{i + 2}"], width = checkpoint.draw("dense", (w, width), np.random.default_rng(i), False), w
            e.pooling(path, case.get("dense"), extra)


def check_encoder(tools, room, name, failed):
    d = os.path.join(room, name)
    if name in failed:
        return [f"the converter: {failed[name]}"]
    os.unlink(os.path.join(d, "tokenizer.json"))
    keys, tensors = read(d + ".gguf")
    p = subprocess.run([os.path.join(tools, "infer-quant"), "--copy", d, d + "-copy.gguf"], capture_output=True, text=True)
    if p.returncode:
        return [f"--copy: {p.stderr.strip()}"]
    copied = read(d + "-copy.gguf")
    return compare_tensors(tensors, copied[1]) + compare_keys(keys, copied[0])


# --- comparisons

def logits(tools, path, name, n_vocab):
    p = subprocess.run([os.path.join(tools, "tests/tools/logits"), path, "64", *map(str, ids_of(name, n_vocab))], capture_output=True)
    if p.returncode:
        return None, p.stderr.decode(errors="replace").strip()
    return np.frombuffer(p.stdout, "<f4").reshape(N_IDS, -1), None


def read(path):
    import gguf
    r = gguf.GGUFReader(path)
    tensors = {t.name: t for t in r.tensors}
    keys = {k: (f.types[0].name, f.contents()) for k, f in r.fields.items() if not k.startswith("GGUF.")}
    return keys, tensors


def compare_tensors(want, have):
    out = []
    for name in sorted(set(want) | set(have)):
        if any(s in name for s in NEVER):
            continue
        a, b = want.get(name), have.get(name)
        if a is None or b is None:
            out.append(f"{name} {'only here' if a is None else 'missing'}")
        elif a.tensor_type != b.tensor_type or list(a.shape) != list(b.shape):
            out.append(f"{name} {b.tensor_type.name}{list(b.shape)}, not {a.tensor_type.name}{list(a.shape)}")
        elif a.data.tobytes() != b.data.tobytes():
            if name.endswith("ssm_a") and np.abs(a.data / b.data - 1).max() < 2.0 ** -22:     # exp of float32 in torch
                out.append(f"({name}: the last bit of {int((a.data != b.data).sum())} of {a.data.size})")
            else:
                out.append(f"{name} differs")
    return out


def compare_keys(want, have):
    arch = want["general.architecture"][1]
    out = []
    for k in sorted(set(want) | set(have)):
        if k != "general.architecture" and not k.startswith(arch + "."):
            continue
        if want.get(k) != have.get(k):
            out.append(f"{k} {have.get(k, ('', 'missing'))[1]}, not {want.get(k, ('', 'missing'))[1]}")
    return out


def check(tools, room, name, dtype, failed):
    d = os.path.join(room, f"{name}-{dtype}")
    n_vocab, want = n_vocab_of(d), np.load(d + ".npy")
    y, why = logits(tools, d, name, n_vocab)
    if why:
        return [f"logits: {why}"], 0
    bad, size = [], max(1.0, np.abs(want).max())
    ratio = np.abs(y - want).max() / size / BOUND
    if not ratio <= 1:
        bad.append(f"logits: {ratio:.3g} times the bound")
    if os.path.basename(d) in failed:
        return bad + [f"the converter: {failed[os.path.basename(d)]}"], ratio
    keys, tensors = read(d + ".gguf")
    out = d + "-copy.gguf"
    p = subprocess.run([os.path.join(tools, "infer-quant"), "--copy", d, out], capture_output=True, text=True)
    if p.returncode:
        return bad + [f"--copy: {p.stderr.strip()}"], ratio
    copied = read(out)
    differ = compare_tensors(tensors, copied[1])
    same, why = logits(tools, d + ".gguf", name, n_vocab)
    if why:
        differ.append(f"the converter's file: {why}")
    elif same.tobytes() != y.tobytes():
        differ.append(("digest" if not any("last bit" in x for x in differ) else "(digest") + f": up to {np.abs(same - y).max():.2g}")
    differ += compare_keys(keys, copied[0])
    if why or not np.abs(same - want).max() / size <= BOUND:
        differ = [f"(converter: {x})" for x in differ]
    return bad + differ, ratio


def main():
    stages = {"--save": save, "--expect": expect, "--encoders": encoders}
    if len(sys.argv) > 1 and sys.argv[1] in stages:
        return stages[sys.argv[1]](sys.argv[2], sys.argv[3:])
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--tools", default=os.path.join(HERE, "..", "build", "release"))
    a.add_argument("converter")
    a.add_argument("case", nargs="*")
    o = a.parse_args()
    names = o.case or sorted(os.path.basename(p)[:-5] for p in glob.glob(os.path.join(CONFIGS, "*.json")))
    names = [n for n in names if n != "deepseek2-old"]      # a file of older converters
    more = [n for n in ENCODERS if not o.case or n in names]
    names = [n for n in names if n not in ENCODERS]
    n_bad = 0
    with tempfile.TemporaryDirectory() as room:
        for stage, of in ("--save", names), ("--expect", names), ("--encoders", more):
            subprocess.run([sys.executable, os.path.abspath(__file__), stage, room, *of], check=True, stderr=subprocess.DEVNULL if not o.case else None)
        failed = convert(o.converter, room, names)
        failed.update({os.path.basename(d): w for d, w in checkpoint.convert(o.converter, [os.path.join(room, n) for n in more]).items() if w})
        for name in more:
            bad = check_encoder(o.tools, room, name, failed)
            n_bad += bool(bad)
            print(f"{'FAIL' if bad else 'ok':4} {name} f32{': ' if bad else ''}{'; '.join(bad)}", flush=True)
        for name in names:
            for dtype in "f32", "bf16":
                bad, ratio = check(o.tools, room, name, dtype, failed)
                shards = len(glob.glob(os.path.join(room, f"{name}-{dtype}", "*.safetensors")))
                real = [b for b in bad if not b.startswith("(")]
                n_bad += bool(real)
                print(f"{'FAIL' if real else 'ok':4} {name} {dtype} {shards} files, {ratio:.3g} of the bound{': ' if bad else ''}{'; '.join(bad)}", flush=True)
    print(f"{n_bad} of {2 * len(names) + len(more)} differ")
    return n_bad > 0


if __name__ == "__main__":
    sys.exit(main())
