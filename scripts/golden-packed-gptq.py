#!/usr/bin/env python3
"""Write tests/golden/packed: small matrices of GPTQ and AWQ, and what their values are.

    scripts/golden-packed-gptq.py [DIR]

gptq.safetensors  the stored tensors, random words, of one module per case
gptq.jsonl        a case a line: its module, the quantisation config, the type that holds it, [out, in], and the sha256 of its values
                  as f32 rows of outputs, 0 for -0

Values are those of auto-round (auto_round_extension.torch.qlinear_torch and qlinear_torch_zp, export_to_awq.utils) with scales in
float32, of the identity matrix.  Cases "by": "hand" are computed here from the format's definition in numpy: AutoAWQ's gemv, whose own
code needs a GPU, and the zero point 16."""
import hashlib, json, pathlib, sys
import numpy as np, torch
from safetensors.torch import save_file
from auto_round.export.export_to_awq.utils import dequantize_gemm
from auto_round_extension.torch import qlinear_torch, qlinear_torch_zp

rng = np.random.default_rng(45)
tensors, cases = {}, []


def words(*shape):
    return torch.from_numpy(rng.integers(-2**31, 2**31, shape, dtype=np.int64).astype(np.int32))


def scales(groups, out, dtype=torch.float16):
    return torch.from_numpy((rng.standard_normal((groups, out)) * 0.01).astype(np.float32)).to(dtype)


def packed(z, bits):  # along the last axis, lowest bits first
    z = np.asarray(z, np.int64).reshape(*z.shape[:-1], -1, 32 // bits)
    w = (z << (np.arange(32 // bits) * bits)).sum(-1)
    return torch.from_numpy(w.astype(np.uint32).view(np.int32).copy())


def unpacked(w, bits):
    w = w.numpy().view(np.uint32)[..., None].astype(np.int64)
    return (w >> (np.arange(32 // bits) * bits) & (2**bits - 1)).reshape(*w.shape[:-2], -1)


def add(name, config, type, parts, values, by="auto-round"):
    for key, t in parts.items():
        tensors[f"{name}.{key}"] = t.contiguous()
    values = np.ascontiguousarray(np.asarray(values, np.float32)) + np.float32(0)
    cases.append({"module": name, "config": config, "type": type, "shape": list(values.shape), "by": by,
                  "sha256": hashlib.sha256(values.tobytes()).hexdigest()})


def gptq(name, bits, group, n_in, out, type, zp=True, middle=False, order=False, dtype=torch.float16, **more):
    g = n_in if group < 0 else group
    groups = -(-n_in // g)
    half = 2**(bits - 1)
    z = np.full((groups, out), half - zp) if middle else rng.integers(0, 2**bits - zp, (groups, out))
    parts = {"qweight": words(n_in * bits // 32, out), "qzeros": packed(z, bits), "scales": scales(groups, out, dtype)}
    if dtype == torch.bfloat16:
        parts["scales"][0, 3] = 1e-7  # which F16 does not have
    layer = (qlinear_torch_zp if zp else qlinear_torch).QuantLinear(bits, group, n_in, out, False)
    layer.qweight, layer.qzeros, layer.scales = parts["qweight"], parts["qzeros"], parts["scales"].float()
    if order:
        parts["g_idx"] = layer.g_idx = torch.from_numpy(rng.permutation(np.arange(n_in) // g).astype(np.int32))
    config = {"quant_method": "gptq", "bits": bits, "group_size": group, "sym": middle, "desc_act": order,
              "checkpoint_format": "gptq" if zp else "gptq_v2"} | more
    add(name, config, type, parts, layer(torch.eye(n_in)).numpy().T)


def awq(name, group, n_in, out, type, middle=False):
    z = packed(np.full((n_in // group, out), 8), 4) if middle else words(n_in // group, out // 8)
    parts = {"qweight": words(n_in, out // 8), "qzeros": z, "scales": scales(n_in // group, out)}
    config = {"quant_method": "awq", "bits": 4, "group_size": group, "zero_point": not middle, "version": "gemm"}
    add(name, config, type, parts, dequantize_gemm(parts["qweight"], z, parts["scales"].float(), 4, group).numpy().T)


def gemv(name, group, n_in, out):
    groups, many = n_in // group, {128: 1, 64: 2, 32: 4}[min(group, 128)]
    width = -(-(-(-groups // 8)) // many) * many
    parts = {"qweight": words(out, n_in // 8), "qzeros": words(out, width), "scales": scales(out, 8 * width)}
    z = unpacked(parts["qzeros"], 4)[:, :groups].repeat(group, 1)
    s = parts["scales"].float().numpy()[:, :groups].repeat(group, 1)
    config = {"quant_method": "awq", "w_bit": 4, "q_group_size": group, "zero_point": True, "version": "gemv"}
    add(name, config, "Q4_F", parts, (unpacked(parts["qweight"], 4) - z).astype(np.float32) * s, "hand")


gptq("sym4", 4, 64, 128, 32, "Q4_0", middle=True)
gptq("sym4.small", 4, 32, 96, 32, "Q4_0", middle=True)
gptq("sym4.bf16", 4, 64, 128, 32, "Q4_F", middle=True, dtype=torch.bfloat16)
gptq("asym4", 4, 64, 192, 32, "Q4_F")
gptq("asym4.v2", 4, 128, 128, 32, "Q4_F", zp=False)
gptq("whole4", 4, -1, 128, 64, "Q4_F")
gptq("sym8", 8, 32, 64, 32, "Q8_0", middle=True)
gptq("asym8", 8, 64, 128, 32, "Q8_F")
gptq("sym2", 2, 64, 128, 32, "Q4_0", middle=True)
gptq("asym2", 2, 64, 128, 32, "Q4_F")
gptq("order4", 4, 32, 128, 32, "Q4_0", middle=True, order=True)
gptq("order4.asym", 4, 64, 192, 32, "Q4_F", zp=False, order=True)
gptq("order8", 8, 64, 128, 32, "Q8_F", order=True)
gptq("round4", 4, 64, 128, 32, "Q4_F", quant_method="auto-round", packing_format="auto_round:auto_gptq", data_type="int")
awq("awq", 64, 128, 48, "Q4_F")
awq("awq.sym", 32, 96, 48, "Q4_0", middle=True)
gemv("gemv", 128, 256, 20)
gemv("gemv.64", 64, 128, 20)

z = rng.integers(0, 16, (2, 32))
z[0, ::3] = 15
parts = {"qweight": words(16, 32), "qzeros": packed(z, 4), "scales": scales(2, 32)}
q = unpacked(torch.from_numpy(parts["qweight"].numpy().T.copy()), 4)
add("zero16", {"quant_method": "gptq", "bits": 4, "group_size": 64, "sym": False, "desc_act": False}, "Q4_F", parts,
    (q - (z + 1).T.repeat(64, 1)).astype(np.float32) * parts["scales"].float().numpy().T.repeat(64, 1), "hand")

to = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "tests/golden/packed")
to.mkdir(parents=True, exist_ok=True)
save_file(tensors, to / "gptq.safetensors")
(to / "gptq.jsonl").write_text("".join(json.dumps(c) + "\n" for c in cases))
