#!/usr/bin/env python3
"""Compare quantised checkpoints with transformers, which computes in float64 with the values of the library that quantised them.

  check-quantised.py [--tools DIR] [DIR...]     the directories of tests/golden/quantised, or those given
  check-quantised.py --big gptq OUT             write a checkpoint of the shape of Llama 7B with random weights to OUT, 3.9 GB

DIR of --tools has tests/tools/logits and infer-quant (build/release).  Needs torch, transformers, safetensors, gguf and numpy.
For each directory that golden_quantised.py writes (its sums.txt has the digests of the library's values):
  values     infer-quant --type F32 DIR OUT.gguf: the digest of each tensor is that of sums.txt
  logits     of this file, compared with those of transformers with the same values, in float64: float32's own error
  blocks     of the directory itself, whose activations are quantised: their largest difference, in the largest logit
  copy       infer-quant --copy DIR OUT.gguf: the bits of the logits of the directory
Of models with experts, values and copy alone.
One line a directory; exit status 1 if one differs.
"""
import argparse
import glob
import hashlib
import json
import os
import struct
import subprocess
import sys
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import checkpoint  # noqa: E402

GOLDEN = os.path.join(HERE, "..", "tests", "golden", "quantised")
BOUND = 1e-4        # of the largest logit, as in tests/unit/golden_logits.h
BLOCKS = 0.2        # what quantised activations may change; more is another model
N_IDS = 24
NAMES = {"attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
         "attn_output": "self_attn.o_proj", "attn_q_norm": "self_attn.q_norm", "attn_k_norm": "self_attn.k_norm",
         "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj",
         "attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm"}
WHOLE = {"token_embd": "model.embed_tokens", "output": "lm_head", "output_norm": "model.norm"}


def hf_name(name):
    """model.layers.0.mlp.up_proj.weight of blk.0.ffn_up.weight"""
    part, _, suffix = name.rpartition(".")
    if part in WHOLE:
        return f"{WHOLE[part]}.{suffix}"
    _, layer, part = part.split(".")
    return f"model.layers.{layer}.{NAMES[part]}.{suffix}"


def run(*args):
    p = subprocess.run(args, capture_output=True)
    if p.returncode:
        raise RuntimeError(p.stderr.decode(errors="replace").strip())
    return p.stdout


def ids_of(n_vocab):
    return [int(i) for i in np.random.default_rng(7).integers(0, n_vocab, N_IDS)]


def logits(tools, path, ids):
    return np.frombuffer(run(os.path.join(tools, "tests/tools/logits"), path, "64", *map(str, ids)), "<f4").reshape(N_IDS, -1)


def values_of(path):
    import gguf
    out = {}
    for t in gguf.GGUFReader(path).tensors:
        if t.tensor_type.name != ("I32" if t.name.endswith(".order") else "F32"):
            raise RuntimeError(f"{t.name} is {t.tensor_type.name}")
        out[t.name] = np.array(t.data)
    return out


def in_order(values):
    """The matrices as layers have them: act-order has moved their columns."""
    out = {}
    for name, a in values.items():
        order = values.get(name.removesuffix("weight") + "order")
        if not name.endswith(".order"):
            out[name] = a if order is None else a[:, np.argsort(order.reshape(-1))]
    return out


def check_sums(d, values):
    import torch
    bad = []
    with open(os.path.join(d, "sums.txt")) as f:
        for line in f:
            name, _, rounding, want = line.split()
            dtype = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}[rounding]
            have = torch.from_numpy(values[name]).to(dtype).float().numpy()
            if hashlib.sha256(have.tobytes()).hexdigest() != want:
                bad.append(f"{name} differs")
    return bad


def expect(config, values, ids):
    """Logits of transformers with these values, in float64: a process of its own, since torch changes."""
    import transformers
    torch = checkpoint.use_float64()
    config = {k: v for k, v in config.items() if not k.startswith("quantization")}
    _, model = checkpoint.from_hub(config)
    state = {hf_name(k): torch.from_numpy(v.astype(np.float64)) for k, v in in_order(values).items()}
    missing, unknown = model.load_state_dict(state, strict=False)
    if unknown or [m for m in missing if m != "lm_head.weight"]:
        raise RuntimeError(f"tensors {missing} missing, {unknown} unknown")
    model.tie_weights()
    assert transformers
    return checkpoint.expect(model, ids)


def check(tools, room, d):
    with open(os.path.join(d, "config.json")) as f:
        config = json.load(f)
    ids, whole, copy = ids_of(config["vocab_size"]), os.path.join(room, "f32.gguf"), os.path.join(room, "copy.gguf")
    run(os.path.join(tools, "infer-quant"), "-q", "--type", "F32", d, whole)
    run(os.path.join(tools, "infer-quant"), "-q", "--copy", d, copy)
    values = values_of(whole)
    bad = check_sums(d, values) if os.path.exists(os.path.join(d, "sums.txt")) else []
    own = logits(tools, d, ids)
    if logits(tools, copy, ids).tobytes() != own.tobytes():
        bad.append("the copy has other bits")
    if any("_exps" in name for name in values):
        return bad, "values and copy"
    np.savez(os.path.join(room, "values.npz"), **values)
    run(sys.executable, os.path.abspath(__file__), "--expect", d, room)
    want = np.load(os.path.join(room, "want.npy"))
    size = max(1.0, np.abs(want).max())
    ratio = np.abs(logits(tools, whole, ids) - want).max() / size / BOUND
    blocks = np.abs(own - want).max() / size
    if not ratio <= 1:
        bad.append(f"logits: {ratio:.3g} times the bound")
    if not blocks <= BLOCKS:
        bad.append(f"logits of the blocks: {blocks:.3g} off")
    return bad, f"{ratio:.3g} of the bound, blocks {blocks:.2g}"


# --- a large one

def big_gptq(out):
    width, ff, layers, vocab, group = 4096, 11008, 32, 32000, 128
    rng, rows, at, head = np.random.default_rng(1), [], 0, {}

    def add(name, dtype, shape, make):
        rows.append(make)
        head[name] = (dtype, shape)

    def linear(name, n_in, n_out):
        add(name + ".qweight", "I32", (n_in // 8, n_out), lambda s: rng.integers(0, 2**32, size=s, dtype=np.uint32))
        add(name + ".qzeros", "I32", (n_in // group, n_out // 8), lambda s: np.full(s, 0x77777777, np.uint32))
        add(name + ".scales", "F16", (n_in // group, n_out), lambda s: (rng.random(s, np.float32) * 0.004 + 0.002).astype(np.float16))
        add(name + ".g_idx", "I32", (n_in,), lambda s: (np.arange(*s) // group).astype(np.int32))

    def plain(name, shape):
        add(name, "F16", shape, lambda s: (rng.standard_normal(s, np.float32) * 0.02).astype(np.float16) if len(s) > 1 else np.ones(s, np.float16))

    plain("model.embed_tokens.weight", (vocab, width))
    for i in range(layers):
        for name in ("q", "k", "v", "o"):
            linear(f"model.layers.{i}.self_attn.{name}_proj", width, width)
        linear(f"model.layers.{i}.mlp.gate_proj", width, ff)
        linear(f"model.layers.{i}.mlp.up_proj", width, ff)
        linear(f"model.layers.{i}.mlp.down_proj", ff, width)
        plain(f"model.layers.{i}.input_layernorm.weight", (width,))
        plain(f"model.layers.{i}.post_attention_layernorm.weight", (width,))
    plain("model.norm.weight", (width,))
    plain("lm_head.weight", (vocab, width))
    table = {}
    for name, (dtype, shape) in head.items():
        n = int(np.prod(shape)) * (4 if dtype == "I32" else 2)
        table[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [at, at + n]}
        at += n
    text = json.dumps(table).encode()
    text += b" " * (-len(text) % 8)
    os.makedirs(out, exist_ok=True)
    with open(os.path.join(out, "model.safetensors"), "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        for make, (_, shape) in zip(rows, head.values()):
            f.write(make(shape).tobytes())
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": width, "intermediate_size": ff,
              "num_hidden_layers": layers, "num_attention_heads": 32, "num_key_value_heads": 32, "vocab_size": vocab,
              "max_position_embeddings": 2048, "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "hidden_act": "silu",
              "tie_word_embeddings": False, "torch_dtype": "float16", "bos_token_id": 0, "eos_token_id": 1,
              "quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": group, "desc_act": False, "sym": True}}
    with open(os.path.join(out, "config.json"), "w") as f:
        json.dump(config, f, indent=1)


def main():
    if len(sys.argv) == 4 and sys.argv[1] == "--expect":
        with open(os.path.join(sys.argv[2], "config.json")) as f:
            config = json.load(f)
        values = dict(np.load(os.path.join(sys.argv[3], "values.npz")))
        np.save(os.path.join(sys.argv[3], "want.npy"), expect(config, values, ids_of(config["vocab_size"])))
        return 0
    if len(sys.argv) == 4 and sys.argv[1:3] == ["--big", "gptq"]:
        big_gptq(sys.argv[3])
        return 0
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--tools", default=os.path.join(HERE, "..", "build", "release"))
    a.add_argument("dir", nargs="*")
    o = a.parse_args()
    n_bad, dirs = 0, o.dir or sorted(glob.glob(os.path.join(GOLDEN, "*/")))
    for d in dirs:
        d = d.rstrip("/")
        with tempfile.TemporaryDirectory() as room:
            try:
                bad, said = check(o.tools, room, d)
            except (RuntimeError, KeyError) as e:
                bad, said = [str(e)], ""
        n_bad += bool(bad)
        print(f"{'FAIL' if bad else 'ok':4} {os.path.basename(d)} {said}{': ' if bad else ''}{'; '.join(bad)}", flush=True)
    print(f"{n_bad} of {len(dirs)} differ")
    return n_bad > 0


if __name__ == "__main__":
    sys.exit(main())
