#!/usr/bin/env python3
"""Write the golden checkpoints tests/golden/quantised/{ct-int4,ct-order,ct-int8,ct-mixed,fp8-block,fp8-tensor,fbgemm-fp8,
modelopt,gpt-oss}.

Needs the packages torch, transformers, safetensors and compressed-tensors (0.20), and numpy.  Values are those of the
decompressors of compressed-tensors, of Fp8Dequantize and of convert_moe_packed_tensors of transformers.  By hand from the
formats' definitions: act-order (weight_g_idx), which compressed-tensors no longer has, fbgemm_fp8, and ModelOpt."""
import hashlib
import json
import os

import torch
from compressed_tensors.compressors import BaseCompressor
from compressed_tensors.compressors.pack_quantized.helpers import pack_to_int32
from compressed_tensors.quantization import QuantizationScheme
from safetensors.torch import save_file
from transformers.integrations.finegrained_fp8 import Fp8Dequantize
from transformers.integrations.mxfp4 import convert_moe_packed_tensors

from golden_quantised import CONFIG, LINEARS, MATRICES, weights, write_case

Q, K, V, O, GATE, UP, DOWN = LINEARS
F8 = torch.float8_e4m3fn
E2M1 = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])
DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}


def blocks(w, high, wide):
    """The largest magnitude of each block."""
    rows, cols = w.shape
    pad = torch.nn.functional.pad(w.float(), (0, -cols % wide, 0, -rows % high))
    return pad.reshape(-(-rows // high), high, -(-cols // wide), wide).abs().amax(dim=(1, 3))


def spread(s, rows, cols, high, wide):
    return s.repeat_interleave(high, 0)[:rows].repeat_interleave(wide, 1)[:, :cols]


def choose_scale(w, a, dtype, divide):
    """Scales of a weight under arguments a, as an observer finds them."""
    rows, cols = w.shape
    strategy, group = a["strategy"], a.get("group_size")
    if strategy == "tensor":
        s = w.float().abs().amax().reshape(1)
    elif strategy == "channel":
        s = w.float().abs().amax(1, keepdim=True)
    elif strategy == "block":
        s = blocks(w, *a["block_structure"])
    else:
        s = blocks(w, 1, group)
    return (s / divide).to(dtype)


def compress(module, fmt, rounding, kind, power=False, **a):
    """Compress a weight with the library.  Returns its tensors, its scheme and its expected values."""
    w = weights()[module]
    a = {"symmetric": True, "dynamic": False, **a}
    scheme = QuantizationScheme(targets=[module], format=fmt, weights=a)
    compressor = BaseCompressor.get_value_from_registry(fmt)
    divide = {("int", 4): 7.5, ("int", 8): 127.5, ("float", 8): 448, ("float", 4): 6}[a["type"], a["num_bits"]]
    scale = choose_scale(w, a, torch.float32, divide)
    state = {"weight": w.to(DTYPES[rounding])}
    if fmt.startswith("nvfp4"):
        glob = (448 * 6 / w.float().abs().amax()).reshape(1)
        scale = (scale * glob).to(F8).float()
        state["weight_global_scale"] = glob
    elif fmt.startswith("mx") or power:
        scale = torch.exp2(torch.ceil(torch.log2(scale)))
    else:
        scale = scale.to(DTYPES[rounding])
    state["weight_scale"] = scale if fmt.startswith(("mx", "nv")) else scale.to(DTYPES[rounding])
    if not a["symmetric"]:
        g = torch.Generator().manual_seed(5)
        low, high = (-8, 8) if a["num_bits"] == 4 else (-128, 128)
        state["weight_zero_point"] = torch.randint(low, high, scale.shape, generator=g).to(torch.int8)
    out = compressor.compress(state, scheme)
    if fmt == "pack-quantized":
        out["weight_shape"] = torch.tensor(w.shape)
    values = compressor.decompress(out, scheme)["weight"].float()
    if fmt.startswith("nvfp4"):  # 1 / global_scale is rounded once more here: within a unit of float32
        factor = 1 / out["weight_global_scale"]
        codes = E2M1[torch.stack([out["weight_packed"] & 15, out["weight_packed"] >> 4], -1).reshape(w.shape).long()]
        exact = codes * spread(out["weight_scale"].float() * factor, *w.shape, 1, 16)
        assert (exact.bfloat16().float() - values).abs().max() <= values.abs().max() * 2**-8
        assert (exact.bfloat16().float() != values).sum() <= 2
        values = exact
    if kind == "MXFP4":  # its decoder has one zero
        values = values + 0.0
    tensors = {f"{module}.{k}": v for k, v in out.items() if v is not None}
    return tensors, scheme, (kind, rounding, values)


def ct_case(name, rows, extra=None, fmt="mixed-precision", **config):
    tensors, expected, groups = {}, {}, {}
    for i, row in enumerate(rows):
        module = row.pop("module")
        inputs, target = row.pop("inputs", None), row.pop("target", module)
        some, scheme, expected[module] = compress(module, **row)
        tensors.update(some)
        one = scheme.model_dump(mode="json", exclude_none=True)
        groups[f"group_{i}"] = {**one, "targets": [target], "input_activations": inputs, "output_activations": None}
        if fmt != "mixed-precision":
            groups[f"group_{i}"].pop("format")
    tensors.update(extra or {})
    q = {"quant_method": "compressed-tensors", "format": fmt, "config_groups": groups, "ignore": ["lm_head"],
         "kv_cache_scheme": None, "quantization_status": "compressed", "global_compression_ratio": None,
         "sparsity_config": {}, "transform_config": {}, "version": "0.20.0", **config}
    write_case(name, tensors, expected, {"quantization_config": q})


def ct_int4():
    pack = {"fmt": "pack-quantized", "type": "int"}
    four, eight = {**pack, "num_bits": 4}, {**pack, "num_bits": 8}
    asym = {"symmetric": False, "strategy": "group"}
    ct_case("ct-int4", [
        {"module": Q, **four, "rounding": "f16", "kind": "Q4_0", "strategy": "group", "group_size": 32},
        {"module": K, **four, "rounding": "f32", "kind": "Q4_F", "strategy": "channel", "target": "re:.*k_proj$"},
        {"module": V, **four, "rounding": "bf16", "kind": "Q4_F", **asym, "group_size": 64, "target": "re:model.*v_proj"},
        {"module": O, **four, "rounding": "f16", "kind": "Q4_1", "power": True, **asym, "group_size": 32},
        {"module": GATE, **four, "rounding": "f32", "kind": "Q8_F", **asym, "group_size": 64},
        {"module": UP, **eight, "rounding": "f16", "kind": "Q8_0", "strategy": "tensor"},
        {"module": DOWN, **eight, "rounding": "bf16", "kind": "Q8_F", **asym, "group_size": 64, "target": "Linear"},
    ], fmt="pack-quantized")


def ct_order():
    """weight[:, c] = scale[:, g_idx[c]] * (code - zero): columns in the order of the layer, groups by weight_g_idx."""
    tensors, expected = {}, {}
    rows, cols = MATRICES[DOWN][1:]
    g = torch.Generator().manual_seed(7)
    codes = torch.randint(-8, 8, (rows, cols), generator=g).to(torch.int8)
    scale = (torch.rand(rows, 2, generator=g) * 0.01).to(torch.bfloat16)
    zero = torch.randint(-8, 8, (rows, 2), generator=g).to(torch.int8)
    idx = torch.arange(cols)[torch.randperm(cols, generator=g)] // 64
    values = ((codes.float() - zero[:, idx].float()) * scale[:, idx].float())[:, torch.argsort(idx, stable=True)]
    expected[DOWN] = ("Q4_F", "f32", values)
    tensors = {f"{DOWN}.weight_packed": pack_to_int32(codes, 4), f"{DOWN}.weight_scale": scale,
               f"{DOWN}.weight_zero_point": pack_to_int32(zero, 4, packed_dim=0), f"{DOWN}.weight_g_idx": idx.int(),
               f"{DOWN}.weight_shape": torch.tensor([rows, cols])}
    w = {"num_bits": 4, "type": "int", "symmetric": False, "strategy": "group", "group_size": 64, "actorder": "group",
         "dynamic": False, "block_structure": None, "observer": "minmax", "observer_kwargs": {}}
    q = {"quant_method": "compressed-tensors", "format": "pack-quantized", "quantization_status": "compressed",
         "config_groups": {"group_0": {"targets": ["Linear"], "weights": w}}, "ignore": []}
    write_case("ct-order", tensors, expected, {"quantization_config": q})


def ct_int8():
    acts = {"num_bits": 8, "type": "int", "symmetric": True, "strategy": "token", "dynamic": True, "observer": None}
    row = {"fmt": "int-quantized", "type": "int", "num_bits": 8, "inputs": acts}
    ct_case("ct-int8", [
        {"module": Q, **row, "rounding": "f32", "kind": "Q8_F", "strategy": "channel"},
        {"module": K, **row, "rounding": "bf16", "kind": "Q8_0", "strategy": "channel"},
        {"module": V, **row, "rounding": "f16", "kind": "Q8_0", "strategy": "tensor"},
        {"module": O, **row, "rounding": "f16", "kind": "Q8_F", "symmetric": False, "strategy": "channel"},
        {"module": DOWN, **row, "rounding": "bf16", "kind": "Q8_F", "symmetric": False, "strategy": "group", "group_size": 64},
        {"module": GATE, **row, "rounding": "f16", "kind": "Q8_0", "strategy": "group", "group_size": 32},
    ], fmt="int-quantized")


def ct_mixed():
    f8 = {"fmt": "float-quantized", "type": "float", "num_bits": 8}
    static = {"num_bits": 8, "type": "float", "symmetric": True, "strategy": "tensor", "dynamic": False}
    extra = {f"{Q}.input_scale": torch.tensor([0.5]), "model.layers.0.self_attn.k_scale": torch.tensor([0.25]),
             "model.layers.0.self_attn.v_scale": torch.tensor([0.25])}
    ct_case("ct-mixed", [
        {"module": Q, **f8, "rounding": "f32", "kind": "F8_E4M3", "strategy": "tensor", "inputs": static},
        {"module": K, **f8, "rounding": "bf16", "kind": "F8_E4M3", "strategy": "channel"},
        {"module": GATE, **f8, "rounding": "f32", "kind": "F8_E4M3", "strategy": "block", "block_structure": [96, 128]},
        {"module": V, "fmt": "nvfp4-pack-quantized", "type": "float", "num_bits": 4, "strategy": "tensor_group", "group_size": 16,
         "rounding": "f32", "kind": "NVFP4_F"},
        {"module": O, "fmt": "mxfp4-pack-quantized", "type": "float", "num_bits": 4, "strategy": "group", "group_size": 32,
         "rounding": "f32", "kind": "MXFP4", "scale_dtype": torch.uint8},
        {"module": UP, "fmt": "mxfp8-quantized", "type": "float", "num_bits": 8, "strategy": "group", "group_size": 32,
         "rounding": "f32", "kind": "BF16", "scale_dtype": torch.uint8},
        {"module": DOWN, "fmt": "naive-quantized", "type": "float", "num_bits": 8, "strategy": "group", "group_size": 64,
         "rounding": "f32", "kind": "F8_E4M3"},
    ], extra, kv_cache_scheme={"num_bits": 8, "type": "float", "strategy": "tensor", "symmetric": True, "dynamic": False})


def block_fp8(module, high, wide, dtype=torch.float32):
    w = weights()[module]
    s = (blocks(w, high, wide) / 448).to(dtype)
    return (w.float() / spread(s.float(), *w.shape, high, wide)).to(F8), s


def fp8_block():
    tensors, expected = {}, {}
    for i, module in enumerate(LINEARS):
        high, wide = 64, 64
        if i == 1:
            continue  # a module that is not converted
        q, s = block_fp8(module, min(high, MATRICES[module][1]), wide)
        if i == 3:  # powers of two as their exponents
            s = torch.exp2(torch.ceil(torch.log2(s)))
            q = (weights()[module].float() / spread(s, *q.shape, high, wide)).to(F8)
            s = s.to(torch.float8_e8m0fnu)
        values = Fp8Dequantize(None)._dequantize_one(q, s.float() if i == 3 else s, output_dtype=torch.float32)
        tensors.update({module + ".weight": q, module + ".weight_scale_inv": s})
        expected[module] = ("F8_E4M3", "f32", values)
    q = {"quant_method": "fp8", "activation_scheme": "dynamic", "fmt": "e4m3", "weight_block_size": [64, 64],
         "modules_to_not_convert": ["lm_head", K]}
    write_case("fp8-block", tensors, expected, {"quantization_config": q})


def fp8_tensor():
    tensors, expected = {}, {}
    for i, module in enumerate(LINEARS):
        w = weights()[module].float()
        s = (w.abs().amax() / 448).to(torch.bfloat16)
        q = (w / s.float()).to(F8)
        tensors.update({module + ".weight": q, module + (".weight_scale" if i % 2 else ".weight_scale_inv"): s,
                        module + ".activation_scale": torch.tensor(0.1)})
        expected[module] = ("F8_E4M3", "f32", Fp8Dequantize(None)._dequantize_one(q, s, output_dtype=torch.float32))
    q = {"quant_method": "fp8", "activation_scheme": "static", "weight_block_size": None, "dequantize": False,
         "modules_to_not_convert": ["lm_head"]}
    write_case("fp8-tensor", tensors, expected, {"quantization_config": q})


def fbgemm_fp8():
    tensors, expected = {}, {}
    for module in LINEARS[4:]:
        w = weights()[module].float()
        s = w.abs().amax(1, keepdim=True) / 448
        q = (w / s).to(F8)
        tensors.update({module + ".weight": q, module + ".weight_scale": s, module + ".input_scale_ub": torch.tensor([1200.0])})
        expected[module] = ("F8_E4M3", "f32", q.float() * s)
    q = {"quant_method": "fbgemm_fp8", "activation_scale_ub": 1200.0, "modules_to_not_convert": LINEARS[:4] + ["lm_head"]}
    write_case("fbgemm-fp8", tensors, expected, {"quantization_config": q})


def nvfp4(w):
    """ModelOpt: value = E2M1 x (weight_scale x weight_scale_2)."""
    second = w.abs().amax() / (6 * 448)
    s = (blocks(w, 1, 16) / 6 / second).to(F8)
    full = spread(s.float() * second, *w.shape, 1, 16)
    codes = ((w / full).unsqueeze(-1) - E2M1).abs().argmin(-1)
    return (codes[:, ::2] | codes[:, 1::2] << 4).to(torch.uint8), s, second, E2M1[codes] * full


def modelopt():
    tensors, expected, layers = {}, {}, {}
    for i, module in enumerate(LINEARS):
        w = weights()[module].float()
        tensors[module + ".input_scale"] = torch.tensor(0.01)
        if i % 2:
            q, s, second, values = nvfp4(w)
            tensors.update({module + ".weight": q, module + ".weight_scale": s, module + ".weight_scale_2": second})
            expected[module] = ("NVFP4_F", "f32", values)
            layers[module] = {"quant_algo": "NVFP4", "group_size": 16}
            continue
        s = [w.abs().amax() / 448, w.abs().amax(1) / 448, blocks(w, 128, 128).reshape(-1, 1, 1, 1) / 448, w.abs().amax() / 448][i // 2]
        full = spread(s.reshape(-1, 1), *w.shape, 1 if i == 2 else 128, 128)
        q = (w / full).to(F8)
        tensors.update({module + ".weight": q, module + ".weight_scale": s})
        expected[module] = ("F8_E4M3", "f32", q.float() * full)
        layers[module] = {"quant_algo": ["FP8", "FP8_PER_CHANNEL_PER_TOKEN", "FP8_PB_WO", "FP8"][i // 2]}
    tensors["model.layers.0.self_attn.k_proj.k_scale"] = torch.tensor(1.0)
    write_case("modelopt", tensors, expected, {})
    quantization = {"quant_algo": "MIXED_PRECISION", "kv_cache_quant_algo": "FP8", "exclude_modules": ["lm_head"], "quantized_layers": layers}
    with open("tests/golden/quantised/modelopt/hf_quant_config.json", "w") as f:
        json.dump({"producer": {"name": "modelopt", "version": "0.33.0"}, "quantization": quantization}, f, indent=1)
        f.write("\n")


def gpt_oss():
    """Experts of one layer: gate and up are the even and odd rows of gate_up_proj."""
    experts, hidden, inner = 2, 32, 32
    config = {"architectures": ["GptOssForCausalLM"], "model_type": "gpt_oss", "hidden_size": hidden, "intermediate_size": inner,
              "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 16, "vocab_size": 32,
              "max_position_embeddings": 64, "rms_norm_eps": 1e-5, "rope_theta": 150000.0, "hidden_act": "silu",
              "tie_word_embeddings": False, "torch_dtype": "bfloat16", "bos_token_id": 1, "eos_token_id": 2,
              "num_local_experts": experts, "num_experts_per_tok": 1, "sliding_window": 32, "attention_bias": True,
              "layer_types": ["sliding_attention"], "swiglu_limit": 7.0, "initial_context_length": 4096,
              "rope_scaling": {"beta_fast": 32.0, "beta_slow": 1.0, "factor": 32.0, "original_max_position_embeddings": 4096,
                               "rope_type": "yarn", "truncate": False},
              "quantization_config": {"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn", "lm_head"]}}
    g = torch.Generator().manual_seed(11)
    random = lambda *shape: (torch.randn(*shape, generator=g) * 0.05).to(torch.bfloat16)
    layer, mlp = "model.layers.0.", "model.layers.0.mlp."
    tensors = {"model.embed_tokens.weight": random(32, hidden), "lm_head.weight": random(32, hidden), "model.norm.weight": random(hidden),
               layer + "input_layernorm.weight": random(hidden), layer + "post_attention_layernorm.weight": random(hidden),
               layer + "self_attn.sinks": random(2), mlp + "router.weight": random(experts, hidden), mlp + "router.bias": random(experts),
               mlp + "experts.gate_up_proj_bias": random(experts, 2 * inner), mlp + "experts.down_proj_bias": random(experts, hidden)}
    for name, rows, cols in (("q", 32, hidden), ("k", 16, hidden), ("v", 16, hidden), ("o", hidden, 32)):
        tensors[f"{layer}self_attn.{name}_proj.weight"] = random(rows, cols)
        tensors[f"{layer}self_attn.{name}_proj.bias"] = random(rows)
    values = {}
    for name, rows, cols in (("gate_up_proj", 2 * inner, hidden), ("down_proj", hidden, inner)):
        b = torch.randint(0, 256, (experts, rows, cols // 32, 16), generator=g, dtype=torch.uint8)
        s = torch.randint(110, 125, (experts, rows, cols // 32), generator=g, dtype=torch.uint8)
        tensors[f"{mlp}experts.{name}_blocks"], tensors[f"{mlp}experts.{name}_scales"] = b, s
        values[name] = convert_moe_packed_tensors(b, s, dtype=torch.float32).transpose(1, 2)
    folder = "tests/golden/quantised/gpt-oss"
    os.makedirs(folder, exist_ok=True)
    save_file({k: v.contiguous() for k, v in tensors.items()}, folder + "/model.safetensors", {"format": "pt"})
    with open(folder + "/config.json", "w") as f:
        json.dump(config, f, indent=1)
        f.write("\n")
    with open(folder + "/sums.txt", "w") as f:
        for name, v in (("gate", values["gate_up_proj"][:, ::2]), ("up", values["gate_up_proj"][:, 1::2]), ("down", values["down_proj"])):
            # the decoders of MXFP4 have one zero
            v = v.contiguous() + 0.0
            f.write(f"blk.0.ffn_{name}_exps.weight MXFP4 f32 {hashlib.sha256(v.numpy().tobytes()).hexdigest()}\n")


if __name__ == "__main__":
    assert CONFIG["hidden_size"] == 64
    ct_int4()
    ct_order()
    ct_int8()
    ct_mixed()
    fp8_block()
    fp8_tensor()
    fbgemm_fp8()
    modelopt()
    gpt_oss()
