#!/usr/bin/env python3
"""Tiny random checkpoints: drawn, evaluated by transformers in float64, saved as the hub has them, and turned into GGUF
by the public converter (convert_hf_to_gguf.py of llama.cpp, which is no part of this project).

  checkpoint.py [--outtype TYPE] CONVERTER DIR...    convert each DIR to DIR.gguf, of f32 or TYPE; CONVERTER is the folder of
                                                     convert_hf_to_gguf.py

Only the vocabulary is not the converter's: tokenizer() below is written in its place, because a tiny checkpoint has none.
One line a DIR: "ok DIR", or "no DIR why".
"""
import json
import logging
import os
import struct
import subprocess
import sys

import numpy as np


# classes that the converter knows by the name of another, whose model_type says the rest
BESIDE = {"Mistral4ForCausalLM": "Ministral3ForCausalLM"}


def tokenizer(n_vocab):
    """A byte-level vocabulary just large enough that a program opens the file; the tests feed ids."""
    tokens = [chr(33 + i) if i < 94 else chr(0xA1 + i - 94) for i in range(n_vocab - 2)] + ["ab", "<eos>"]
    return {
        "tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "gpt-2", "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": [1] * (n_vocab - 1) + [3], "tokenizer.ggml.merges": ["a b"],
        "tokenizer.ggml.eos_token_id": n_vocab - 1, "tokenizer.ggml.bos_token_id": n_vocab - 1,
        "tokenizer.ggml.add_bos_token": False,
    }


def use_float64():
    """Let every float32 step of transformers (norms, softmax, rotation) be float64."""
    import torch
    import transformers  # noqa: F401  (its modules must be there before the names change)
    import transformers.masking_utils  # noqa: F401
    torch.set_default_dtype(torch.float64)
    torch.float32 = torch.float = torch.float64
    torch.Tensor.float = torch.Tensor.double
    return torch


def draw(name, shape, rng, gemma, turned=False):
    """Random values whose effect can be seen, each a float32 number.  turned: experts of [in][out], which are clamped."""
    if (name.endswith("norm.weight") or "layernorm" in name.lower()) and not name.endswith("bias"):
        a = (0.0 if gemma else 1.0) + 0.3 * rng.standard_normal(shape)
    elif name.endswith(("layer_scalar", "router.scale", "per_expert_scale", "correct_output_scale")):
        a = 1.0 + 0.3 * rng.standard_normal(shape)
    elif name.endswith("A_log"):        # states that last
        a = -2.0 + 0.5 * rng.standard_normal(shape)
    elif name.endswith("bias"):
        a = 0.5 * rng.standard_normal(shape)
    elif "embed_tokens" in name or "_embeddings." in name:
        a = (0.4 if gemma else 1.0) * rng.standard_normal(shape)
    else:
        gain = 5.0 if "experts.gate_up_proj" in name and turned else 1.6 if any(s in name for s in ("q_proj", "k_proj", "qkv_proj", "mlp.gate.weight", "block_sparse_moe.gate.weight", "router.weight")) else 1.2
        a = gain / np.sqrt(shape[-1]) * rng.standard_normal(shape)
    return a.astype(np.float32).astype(np.float64)


def fill(name, model, rng, gemma):
    """Draw every parameter of a model in float64; name -> value."""
    import torch
    state = {}
    turned = model.config.model_type == "gpt_oss"
    trained = [(k, b) for k, b in model.named_buffers() if k.endswith(("e_score_correction_bias", "expert_bias", "layer_scalar"))]
    for k, p in [*model.named_parameters(), *trained]:
        state[k] = draw(k, tuple(p.shape), rng, gemma, turned)
        with torch.no_grad():
            p.copy_(torch.from_numpy(state[k]))
    for k, b in model.named_buffers():
        if b.dtype.is_floating_point and b.dtype != torch.float64:
            raise SystemExit(f"{name}: buffer {k} is {b.dtype}")
    return state


def expect(model, ids):
    import torch
    with torch.no_grad():
        y = model(input_ids=torch.tensor([ids]), use_cache=False).logits[0]
    if y.dtype != torch.float64:
        raise SystemExit(f"logits came as {y.dtype}")
    return y.numpy()


def from_hub(config):
    """The model that transformers makes of a config.json as the hub has it."""
    import tempfile

    import transformers
    with tempfile.TemporaryDirectory() as d:
        with open(os.path.join(d, "config.json"), "w") as f:
            json.dump(config, f)
        c = transformers.AutoConfig.from_pretrained(d)
    c._attn_implementation = c._experts_implementation = "eager"
    if config["architectures"][0] in BESIDE:        # and that AutoModelForCausalLM does not know
        return c, getattr(transformers, config["architectures"][0])(c).double().eval()
    return c, transformers.AutoModelForCausalLM.from_config(c).double().eval()


def as_saved(state, model_type):
    """transformers joins experts when it loads; checkpoints hold them one by one, or joined under other names."""
    out, mixtral = {}, model_type in ("mixtral", "minimax_m2")
    if model_type.startswith(("gpt_oss", "qwen3_5", "gemma3n", "gemma4", "llama4", "mistral4")):
        return state
    if model_type.startswith("granitemoe"):
        for new, old in (("experts.gate_up_proj", "input_linear.weight"), ("experts.down_proj", "output_linear.weight"),
                         ("router.weight", "router.layer.weight")):
            state = {k.replace("block_sparse_moe." + new, "block_sparse_moe." + old): a for k, a in state.items()}
        return state
    first, third, second = ("w1", "w3", "w2") if mixtral or model_type == "lfm2_moe" else ("gate_proj", "up_proj", "down_proj")
    for k, a in state.items():
        if mixtral:
            k = k.replace(".mlp.", ".block_sparse_moe.")
        if k.endswith("experts.gate_up_proj"):
            for e, (gate, up) in enumerate(np.split(x, 2) for x in a):
                base = k.removesuffix("gate_up_proj") + str(e)
                out[f"{base}.{first}.weight"], out[f"{base}.{third}.weight"] = gate, up
        elif k.endswith("experts.down_proj"):
            for e, x in enumerate(a):
                out[f"{k.removesuffix('down_proj')}{e}.{second}.weight"] = x
        else:
            out[k] = a
    return out


def save(path, config, state):
    """A folder as the hub has it: config.json, model.safetensors; tokenizer.json, of which the converter counts the ids."""
    os.makedirs(path, exist_ok=True)
    n = config["vocab_size"]
    for name, what in ("config.json", config), ("tokenizer.json", {"model": {"vocab": {str(i): i for i in range(n)}}, "added_tokens": []}):
        with open(os.path.join(path, name), "w") as f:
            json.dump(what, f)
    head, body = {}, b""
    for k, a in as_saved(state, config["model_type"]).items():
        raw = a.astype("<f4").tobytes()
        head[k] = {"dtype": "F32", "shape": list(a.shape), "data_offsets": [len(body), len(body) + len(raw)]}
        body += raw
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    with open(os.path.join(path, "model.safetensors"), "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + body)


def convert(converter, paths, outtype="f32"):
    """DIR -> None, or why the converter failed, for each of paths; in a process whose torch is as it was."""
    p = subprocess.run([sys.executable, os.path.abspath(__file__), "--outtype", outtype, converter, *paths], stdout=subprocess.PIPE, text=True)
    said = {line.split(" ", 2)[1]: line.split(" ", 2)[2:] for line in p.stdout.splitlines() if line[:3] in ("ok ", "no ")}
    return {d: (said[d][0] if said[d] else None) if d in said else "the converter ended" for d in paths}


def main():
    args = sys.argv[1:]
    outtype = args.pop(0) and args.pop(0) if args[0] == "--outtype" else "f32"
    converter, *paths = args
    sys.path.insert(0, converter)
    import convert_hf_to_gguf as program
    logging.disable(logging.WARNING)
    find = program.get_model_class

    def set_vocab(self):
        w, v = self.gguf_writer, tokenizer(self.hparams["vocab_size"])
        w.add_tokenizer_model(v["tokenizer.ggml.model"])
        w.add_tokenizer_pre(v["tokenizer.ggml.pre"])
        w.add_token_list(v["tokenizer.ggml.tokens"])
        w.add_token_types(v["tokenizer.ggml.token_type"])
        w.add_token_merges(v["tokenizer.ggml.merges"])
        w.add_eos_token_id(v["tokenizer.ggml.eos_token_id"])
        w.add_bos_token_id(v["tokenizer.ggml.bos_token_id"])
        w.add_add_bos_token(v["tokenizer.ggml.add_bos_token"])

    def find_patched(name, *args, **kwargs):
        c = find(BESIDE.get(name, name), *args, **kwargs)
        for one in (c, *(v for v in vars(c).values() if isinstance(v, type))):      # some hand their work to a class inside
            one.set_vocab = set_vocab
        return c

    program.get_model_class = find_patched
    for d in paths:
        sys.argv = ["convert_hf_to_gguf.py", "--outtype", outtype, "--outfile", d + ".gguf", d]
        sys.argv += ["--sentence-transformers-dense-modules"] if os.path.exists(os.path.join(d, "2_Dense")) else []
        with open(os.path.join(d, "config.json")) as f:         # whose classes expect layers that predict further tokens
            sys.argv += ["--no-mtp"] if json.load(f)["model_type"].startswith(("qwen3_next", "qwen3_5")) else []
        try:
            program.main()
            print("ok", d, flush=True)
        except (Exception, SystemExit) as e:
            print("no", d, f"{type(e).__name__}: {e}".replace("\n", " "), flush=True)


if __name__ == "__main__":
    main()
