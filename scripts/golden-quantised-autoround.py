#!/usr/bin/env python3
"""Write the golden checkpoints tests/golden/quantised/{gptq,gptq-order,autoround,awq}.

Needs the packages torch, transformers, safetensors and auto-round (0.16), whose export makes all but gptq-order: that one and its
values are made by hand from the format's definition, because auto-round exports no act-order.  The other values are those of
auto-round's modules (auto_round_extension.torch, export_to_awq.utils) with scales in float32, of the identity matrix.  The columns of
gptq-order are in the order of their groups, as inferutils stores them."""
import glob
import json
import tempfile

import torch
from auto_round import AutoRound
from auto_round.export.export_to_awq.utils import dequantize_gemm
from auto_round_extension.torch import qlinear_torch, qlinear_torch_zp
from safetensors.torch import load_file
from transformers import Qwen3Config, Qwen3ForCausalLM

from golden_quantised import CONFIG, LINEARS, MATRICES, norms, weights, write_case


class NoTokenizer:
    def save_pretrained(self, *a, **k):
        pass


def export(fmt, **scheme):
    """Quantise the small model by rounding and export it.  Returns its tensors and its quantization_config."""
    model = Qwen3ForCausalLM(Qwen3Config(**{k: v for k, v in CONFIG.items() if k not in ("model_type", "torch_dtype")}))
    model.load_state_dict({m + ".weight": w for m, w in weights().items()} | norms())
    with tempfile.TemporaryDirectory() as out:
        AutoRound(model.to(torch.bfloat16), tokenizer=NoTokenizer(), iters=0, disable_opt_rtn=True, device_map="cpu",
                  **scheme).quantize_and_save(out, format=fmt)
        folder = glob.glob(out + "/*/")[0]
        with open(folder + "config.json") as f:
            return load_file(folder + "model.safetensors"), json.load(f)["quantization_config"]


def values(parts, module, bits, group, minus_one):
    _, rows, cols = MATRICES[module]
    if parts["qweight"].shape == (cols, rows // 8):
        return dequantize_gemm(parts["qweight"], parts["qzeros"], parts["scales"].float(), bits, group).T
    layer = (qlinear_torch_zp if minus_one else qlinear_torch).QuantLinear(bits, group, cols, rows, False)
    layer.qweight, layer.qzeros, layer.scales = parts["qweight"], parts["qzeros"], parts["scales"].float()
    return layer(torch.eye(cols)).T


def case(name, kind, fmt, minus_one=False, **scheme):
    tensors, config = export(fmt, **scheme)
    quantised = {k: t for k, t in tensors.items() if k.rpartition(".")[0] in LINEARS}
    expected = {}
    for m in LINEARS:
        parts = {k.rpartition(".")[2]: t for k, t in quantised.items() if k.rpartition(".")[0] == m}
        expected[m] = (kind, "f32", values(parts, m, scheme["bits"], scheme["group_size"], minus_one))
    write_case(name, quantised, expected, {"quantization_config": config})


def order_case(bits=4, group=32):
    """Inputs in groups by a random order, one for q, k and v, one for gate and up; symmetric."""
    g = torch.Generator().manual_seed(5)
    orders = {}
    quantised, expected = {}, {}
    for m in LINEARS:
        w = weights()[m].float()
        rows, cols = w.shape
        part = m.rpartition(".")[2]
        key = {"k_proj": "q_proj", "v_proj": "q_proj", "up_proj": "gate_proj"}.get(part, part)
        if key not in orders:
            orders[key] = torch.randperm(cols, generator=g) // group
        g_idx = orders[key].to(torch.int32)
        scales = torch.stack([w[:, g_idx == i].abs().amax(1) / 7 for i in range(cols // group)]).to(torch.float16)
        q = (torch.round(w.T / scales.float()[g_idx.long()]).clamp(-8, 7) + 8).to(torch.int64)
        shifts = torch.arange(0, 32, bits).reshape(1, -1, 1)
        packed = (q.reshape(cols * bits // 32, 32 // bits, rows) << shifts).sum(1)
        parts = {"qweight": torch.where(packed >= 2**31, packed - 2**32, packed).to(torch.int32),
                 "qzeros": torch.full((cols // group, rows * bits // 32), 0x77777777, dtype=torch.int32), "scales": scales, "g_idx": g_idx}
        quantised |= {f"{m}.{k}": t for k, t in parts.items()}
        w = (scales.float()[g_idx.long()] * (q - 8)).T
        expected[m] = ("Q4_0", "f32", w[:, torch.argsort(g_idx, stable=True)])
    config = {"quant_method": "gptq", "bits": bits, "group_size": group, "desc_act": True, "sym": True, "checkpoint_format": "gptq"}
    write_case("gptq-order", quantised, expected, {"quantization_config": config})


case("gptq", "Q4_F", "auto_gptq", True, bits=4, group_size=64, sym=False)
case("autoround", "Q4_F", "auto_round", False, bits=4, group_size=64, sym=False)
case("awq", "Q4_F", "auto_awq", bits=4, group_size=64, sym=False)
order_case()
