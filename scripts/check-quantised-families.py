#!/usr/bin/env python3
"""Quantised checkpoints of other families than those of tests/golden/quantised: experts apart, MLA, joined matrices, heads in
another order.

  check-quantised-families.py [--tools DIR]

DIR has infer-quant (build/release).  Needs torch, transformers, safetensors, gguf and numpy.  A small model with random weights
is quantised by the formats' definitions, and written twice: with its codes, and with their values as F32.  infer-quant --type F32
must make the same tensors of both.  One line a family and format; exit status 1 if one differs."""
import argparse
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import torch
from safetensors.torch import save_file

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import checkpoint  # noqa: E402

CONFIGS = os.path.join(HERE, "..", "tests", "golden", "hf", "config")
# changes that make rows of linear layers multiples of 64
FAMILIES = {
    "llama-gqa": {"hidden_size": 64, "intermediate_size": 128, "head_dim": 16},
    "phi3-hub": {"hidden_size": 64, "intermediate_size": 128, "num_attention_heads": 4, "num_key_value_heads": 2},
    "qwen3moe": {"hidden_size": 64, "intermediate_size": 128, "moe_intermediate_size": 64, "head_dim": 16},
    "mixtral": {"hidden_size": 64, "intermediate_size": 64, "head_dim": 16},
    "deepseek3-hub": {"hidden_size": 64, "intermediate_size": 128, "moe_intermediate_size": 64, "kv_lora_rank": 64, "q_lora_rank": 64,
                      "v_head_dim": 16, "qk_nope_head_dim": 16},
}
PLAIN = ("embed_tokens", "lm_head", "norm", "mlp.gate.weight", "gate.weight", "router")
E2M1 = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])


def spread(s, shape, high, wide):
    return s.repeat_interleave(high, 0)[:shape[0]].repeat_interleave(wide, 1)[:, :shape[1]]


def largest(w, high, wide):
    pad = torch.nn.functional.pad(w, (0, -w.shape[1] % wide, 0, -w.shape[0] % high))
    return pad.reshape(pad.shape[0] // high, high, pad.shape[1] // wide, wide).abs().amax(dim=(1, 3)) + 1e-6


def fp8(name, w):
    s = largest(w, 64, 64) / 448
    q = (w / spread(s, w.shape, 64, 64)).to(torch.float8_e4m3fn)
    return {name + ".weight": q, name + ".weight_scale_inv": s}, q.float() * spread(s, w.shape, 64, 64)


def int4(name, w):
    s = (largest(w, 1, 64) / 7).to(torch.bfloat16)
    full = spread(s.float(), w.shape, 1, 64)
    q = (w / full).round().clamp(-8, 7)
    u = (q + 8).to(torch.int32).reshape(w.shape[0], -1, 8)
    packed = sum(u[:, :, i].to(torch.int64) << 4 * i for i in range(8))
    packed = torch.from_numpy(packed.numpy().astype(np.uint32).view(np.int32))
    return {name + ".weight_packed": packed, name + ".weight_scale": s, name + ".weight_shape": torch.tensor(w.shape)}, q * full


def nvfp4(name, w):
    second = w.abs().amax() / (6 * 448) + 1e-9
    s = (largest(w, 1, 16) / 6 / second).to(torch.float8_e4m3fn)
    full = spread(s.float() * second, w.shape, 1, 16)
    codes = ((w / full).nan_to_num().unsqueeze(-1) - E2M1).abs().argmin(-1)
    packed = (codes[:, ::2] | codes[:, 1::2] << 4).to(torch.uint8)
    return {name + ".weight": packed, name + ".weight_scale": s, name + ".weight_scale_2": second}, E2M1[codes] * full


FORMATS = {
    "fp8": (fp8, {"quant_method": "fp8", "activation_scheme": "dynamic", "weight_block_size": [64, 64]}),
    "int4": (int4, {"quant_method": "compressed-tensors", "format": "pack-quantized", "quantization_status": "compressed", "ignore": [],
                    "config_groups": {"g": {"targets": ["Linear"], "weights": {
                        "num_bits": 4, "type": "int", "symmetric": True, "strategy": "group", "group_size": 64}}}}),
    "nvfp4": (nvfp4, {"quant_method": "modelopt", "quant_algo": "NVFP4"}),
}


def write(folder, config, tensors):
    os.makedirs(folder)
    with open(os.path.join(folder, "config.json"), "w") as f:
        json.dump(config, f)
    save_file({k: v.contiguous() for k, v in tensors.items()}, os.path.join(folder, "model.safetensors"), {"format": "pt"})


def tensors_of(tools, folder):
    import gguf
    p = subprocess.run([os.path.join(tools, "infer-quant"), "-q", "--type", "F32", folder, folder + ".gguf"], capture_output=True)
    if p.returncode:
        raise RuntimeError(p.stderr.decode(errors="replace").strip())
    return {t.name: (t.tensor_type.name, list(t.shape), np.array(t.data)) for t in gguf.GGUFReader(folder + ".gguf").tensors}


def check(tools, room, family, fmt):
    quantise, q = FORMATS[fmt]
    with open(os.path.join(CONFIGS, family + ".json")) as f:
        config = {**json.load(f), **FAMILIES[family]}
    _, model = checkpoint.from_hub(config)
    state = checkpoint.as_saved(checkpoint.fill(family, model, np.random.default_rng(3), False), config["model_type"])
    codes, values, n = {}, {}, 0
    for key, a in state.items():
        w = torch.from_numpy(np.asarray(a, dtype=np.float32).copy())
        if w.ndim != 2 or not key.endswith(".weight") or any(p in key for p in PLAIN) or w.shape[1] % 64:
            codes[key] = values[key] = w
            continue
        some, values[key] = quantise(key.removesuffix(".weight"), w)
        codes.update(some)
        n += 1
    write(os.path.join(room, "codes"), {**config, "quantization_config": q}, codes)
    write(os.path.join(room, "values"), config, values)
    have, want = tensors_of(tools, os.path.join(room, "codes")), tensors_of(tools, os.path.join(room, "values"))
    if sorted(have) != sorted(want):
        return n, f"tensors {sorted(set(have) ^ set(want))}"
    bad = [k for k in want if have[k][:2] != want[k][:2] or not np.array_equal(have[k][2], want[k][2])]
    return n, f"{bad} differ" if bad else ""


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--tools", default=os.path.join(HERE, "..", "build", "release"))
    o = a.parse_args()
    n_bad = 0
    for family in FAMILIES:
        for fmt in FORMATS:
            with tempfile.TemporaryDirectory() as room:
                try:
                    n, bad = check(o.tools, room, family, fmt)
                except RuntimeError as e:
                    n, bad = 0, str(e)
            n_bad += bool(bad)
            print(f"{'FAIL' if bad else 'ok':4} {family} {fmt}: {n} matrices {bad}", flush=True)
    return n_bad > 0


if __name__ == "__main__":
    sys.exit(main())
