#!/usr/bin/env python3
"""Write the golden checkpoints of bitsandbytes, MLX and HQQ: tests/golden/quantised/{bnb-nf4,bnb-int8,mlx,hqq}.

Needs the packages torch, safetensors, bitsandbytes, mlx (with its CPU backend) and hqq.  The values are those of the
libraries: bitsandbytes.functional.dequantize_4bit, int8_vectorwise_dequant, mlx.core.dequantize, HQQLinear.dequantize."""
import json

import bitsandbytes.functional as bnb
import mlx.core as mx
import numpy as np
import torch
from hqq.core.quantize import BaseQuantizeConfig, HQQLinear

from golden_quantised import LAYER, LINEARS, MATRICES, weights, write_case


def bnb_nf4():
    tensors, expected = {}, {}
    for i, module in enumerate(LINEARS):
        w = weights()[module]
        nested = i % 2 == 1
        q, state = bnb.quantize_4bit(w, blocksize=64, quant_type="nf4", compress_statistics=nested)
        tensors[module + ".weight"] = q
        for key, value in state.as_dict(packed=True).items():
            tensors[f"{module}.weight.{key}"] = value
        expected[module] = ("NF4", "bf16", bnb.dequantize_4bit(q, state))
    config = {"quant_method": "bitsandbytes", "_load_in_4bit": True, "_load_in_8bit": False, "load_in_4bit": True,
              "load_in_8bit": False, "bnb_4bit_compute_dtype": "bfloat16", "bnb_4bit_quant_storage": "uint8",
              "bnb_4bit_quant_type": "nf4", "bnb_4bit_use_double_quant": True, "llm_int8_threshold": 6.0,
              "llm_int8_enable_fp32_cpu_offload": False, "llm_int8_has_fp16_weight": False, "llm_int8_skip_modules": None}
    write_case("bnb-nf4", tensors, expected, {"quantization_config": config})


def bnb_int8():
    tensors, expected = {}, {}
    for module in LINEARS:
        q, scb, _ = bnb.int8_vectorwise_quant(weights()[module].to(torch.float16))
        tensors.update({module + ".weight": q, module + ".SCB": scb, module + ".weight_format": torch.tensor(0, dtype=torch.uint8)})
        expected[module] = ("Q8_F", "bf16", bnb.int8_vectorwise_dequant(q, scb))
    config = {"quant_method": "bitsandbytes", "load_in_4bit": False, "load_in_8bit": True, "llm_int8_threshold": 6.0,
              "llm_int8_skip_modules": None}
    write_case("bnb-int8", tensors, expected, {"quantization_config": config})


def to_torch(a):
    dtype = {mx.uint32: np.uint32, mx.uint8: np.uint8}.get(a.dtype)
    if dtype:
        return torch.from_numpy(np.array(a).astype(dtype))
    return torch.from_numpy(np.array(a.astype(mx.float32))).to({mx.bfloat16: torch.bfloat16, mx.float16: torch.float16}[a.dtype])


def mlx():
    # module -> bits, group, mode, dtype of the scales, type; every other matrix has the first row
    rows = [(4, 64, "affine", mx.bfloat16, "Q4_F"), (8, 64, "affine", mx.bfloat16, "Q8_F"), (4, 32, "affine", mx.float16, "Q4_1"),
            (6, 64, "affine", mx.bfloat16, "Q8_F"), (3, 64, "affine", mx.float16, "Q4_1"), (4, 32, "mxfp4", mx.bfloat16, "MXFP4"),
            (4, 16, "nvfp4", mx.bfloat16, "NVFP4"), (2, 64, "affine", mx.bfloat16, "Q4_F"), (5, 64, "affine", mx.float16, "Q8_F")]
    tensors, expected, own = {}, {}, {}
    for module, (bits, group, mode, dtype, kind) in zip(MATRICES, rows):
        w = mx.array(weights()[module].to(torch.float32).numpy()).astype(dtype)
        if kind == "Q4_F":  # a scale that F16 does not hold
            w[0] = w[0] * 2.0**-20
        parts = mx.quantize(w, group_size=group, bits=bits, mode=mode)
        for name, part in zip(("weight", "scales", "biases"), parts):
            tensors[f"{module}.{name}"] = to_torch(part)
        if mode == "affine":
            exact = [p.astype(mx.float32) for p in parts[1:]]
            values = mx.dequantize(parts[0], *exact, group_size=group, bits=bits)
        else:
            values = mx.dequantize(*parts, group_size=group, bits=bits, mode=mode, dtype=mx.float32)
        expected[module] = (kind, "f32", torch.from_numpy(np.array(values)))
        own[module] = {"group_size": group, "bits": bits, "mode": mode}
    quantization = {"group_size": 64, "bits": 4, "mode": "affine", **{m: v for m, v in own.items() if m != LINEARS[0]}}
    write_case("mlx", tensors, expected, {"quantization": quantization, "quantization_config": quantization}, {"format": "mlx"})


def hqq():
    tensors, expected = {}, {}
    for module, bits in zip(LINEARS, (4, 8, 2, 4, 4, 8, 2)):
        linear = torch.nn.Linear(MATRICES[module][2], MATRICES[module][1], bias=False).to(torch.float16)
        linear.weight.data = weights()[module].to(torch.float16)
        layer = HQQLinear(linear, BaseQuantizeConfig(nbits=bits, group_size=64, axis=1), compute_dtype=torch.float16, device="cpu")
        for key, value in layer.state_dict().items():
            tensors[f"{module}.{key}"] = value
        # the formula in float64, rounded once: the library's own rounds to F16 twice
        codes = {4: lambda q: torch.cat([q >> 4, q & 15]), 8: lambda q: q, 2: lambda q: torch.cat([q >> 6, q >> 4 & 3, q >> 2 & 3, q & 3])}
        exact = (codes[bits](layer.W_q.data).double() - layer.meta["zero"].double()) * layer.meta["scale"].double()
        values = exact.reshape(*layer.meta["shape"]).float()
        library = layer.dequantize().float()
        assert (values - library).abs().max() <= 2**-10 * library.abs().max()
        expected[module] = ("Q8_F" if bits == 8 else "Q4_F", "f16", values)
    weight = {"nbits": 4, "channel_wise": True, "group_size": 64, "optimize": True, "round_zero": True, "axis": 1, "view_as_float": False}
    one = {"weight_quant_params": weight, "scale_quant_params": None, "zero_quant_params": None, "offload_meta": False}
    write_case("hqq", tensors, expected, {"quantization_config": {"quant_method": "hqq", "quant_config": one, "skip_modules": ["lm_head"]}})


if __name__ == "__main__":
    bnb_nf4()
    bnb_int8()
    mlx()
    hqq()
