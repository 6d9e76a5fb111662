"""What the scripts of quantised golden checkpoints share: a small model, its directory, and the sums of its values.

A case is a directory tests/golden/quantised/NAME with config.json, model.safetensors and sums.txt: for each quantised
matrix a line "GGUF-NAME TYPE ROUNDING SHA256".  SHA256 is that of the library's values as little-endian F32, rows in
GGUF's order, rounded to the dtype that the library computes in: f32, bf16 or f16."""
import hashlib
import json
import os

import torch
from safetensors.torch import save_file

CONFIG = {
    "architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "hidden_size": 64, "intermediate_size": 128,
    "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 32, "vocab_size": 32,
    "max_position_embeddings": 64, "rms_norm_eps": 1e-6, "rope_theta": 10000.0, "hidden_act": "silu",
    "tie_word_embeddings": False, "torch_dtype": "bfloat16", "bos_token_id": 1, "eos_token_id": 2,
}
LAYER = "model.layers.0."
# name in the checkpoint -> (name in GGUF, rows, columns)
MATRICES = {
    LAYER + "self_attn.q_proj": ("blk.0.attn_q.weight", 64, 64),
    LAYER + "self_attn.k_proj": ("blk.0.attn_k.weight", 32, 64),
    LAYER + "self_attn.v_proj": ("blk.0.attn_v.weight", 32, 64),
    LAYER + "self_attn.o_proj": ("blk.0.attn_output.weight", 64, 64),
    LAYER + "mlp.gate_proj": ("blk.0.ffn_gate.weight", 128, 64),
    LAYER + "mlp.up_proj": ("blk.0.ffn_up.weight", 128, 64),
    LAYER + "mlp.down_proj": ("blk.0.ffn_down.weight", 64, 128),
    "model.embed_tokens": ("token_embd.weight", 32, 64),
    "lm_head": ("output.weight", 32, 64),
}
LINEARS = [m for m in MATRICES if m.startswith(LAYER)]


def weights(seed=1):
    """Random matrices in BF16, MODULE -> [rows, cols]."""
    g = torch.Generator().manual_seed(seed)
    return {m: (torch.randn(rows, cols, generator=g) * 0.05).to(torch.bfloat16) for m, (_, rows, cols) in MATRICES.items()}


def norms():
    g = torch.Generator().manual_seed(2)
    sizes = {"model.norm": 64, LAYER + "input_layernorm": 64, LAYER + "post_attention_layernorm": 64,
             LAYER + "self_attn.q_norm": 32, LAYER + "self_attn.k_norm": 32}
    return {name + ".weight": (1 + torch.randn(n, generator=g) * 0.1).to(torch.bfloat16) for name, n in sizes.items()}


def rounded(values, rounding):
    dtype = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}[rounding]
    return values.to(dtype).to(torch.float32)


def write_case(name, quantised, expected, config, metadata=None, root="tests/golden/quantised"):
    """quantised: tensors of the quantised modules; expected: MODULE -> (type, rounding, values [rows, cols]).
    The other matrices are BF16."""
    folder = os.path.join(root, name)
    os.makedirs(folder, exist_ok=True)
    tensors = dict(norms())
    for module, w in weights().items():
        if module not in expected:
            tensors[module + ".weight"] = w
    tensors.update(quantised)
    save_file({k: v.contiguous() for k, v in tensors.items()}, os.path.join(folder, "model.safetensors"), metadata or {"format": "pt"})
    with open(os.path.join(folder, "config.json"), "w") as f:
        json.dump({**CONFIG, **config}, f, indent=1)
        f.write("\n")
    with open(os.path.join(folder, "sums.txt"), "w") as f:
        for module, (kind, rounding, values) in sorted(expected.items()):
            values = rounded(values.to(torch.float32), rounding).contiguous()
            f.write(f"{MATRICES[module][0]} {kind} {rounding} {hashlib.sha256(values.numpy().tobytes()).hexdigest()}\n")
