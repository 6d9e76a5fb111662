#!/usr/bin/env python3
"""Make tests/golden/hf/names.txt: which tensor of a Hugging Face checkpoint is which GGUF tensor, and by what transform.

  golden-hf.py CONVERTER          rewrite the file (needs torch, transformers, gguf, safetensors, numpy)
  golden-hf.py --add CONVERTER    leave what it has, and add the cases that the public converter writes; CONVERTER is its folder

For each class a tiny random model with every optional tensor that its config offers is written by transformers itself
(save_pretrained), and converted by scripts/golden-logits.py, whose conversion counts only because the float64 logits of
the converted tensors agree with the class's within 1e-9.  Names and transforms are then found by value alone: a GGUF
tensor is looked for in every tensor of the checkpoint under every transform, and has to be there exactly once.  gguf-py's
own table of names must say the same, and where transformers reads GGUF files of the architecture, what it makes of the
converted file must be the checkpoint again.

A line: architecture, class, HF tensor, GGUF tensor, transform, between tabs; layers 0 and 1.  HF tensor "-": made from
config.json.  Transform "-": the tensor is of no use (RoPE frequencies in old checkpoints; from gguf-py's table).
"""
import importlib.util
import os
import re
import sys
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
OUT = os.path.join(HERE, "..", "tests", "golden", "hf", "names.txt")
spec = importlib.util.spec_from_file_location("golden_logits", os.path.join(HERE, "golden-logits.py"))
logits = importlib.util.module_from_spec(spec)
spec.loader.exec_module(logits)

# cases of golden_logits_cases.py, one or more for each class
USED = ["llama-bias", "llama-llama3", "llama-longrope", "mistral-window", "mixtral", "granite", "qwen2", "qwen3", "qwen3moe",
        "gemma2", "gemma3", "phi3"]
# those whose file the public converter writes
HUB = ["gpt-oss-hub", "qwen2moe-hub", "smollm3-hub", "olmo2-hub", "olmo3-hub", "glm4-hub", "glm4moe-hub", "granitemoe-hub", "mistral3-hub", "granitehybrid-hub", "granitehybrid-dense-hub",
       "qwen3next-hub", "qwen35-hub", "qwen35moe-hub",
       "deepseek2-hub", "deepseek2-lite-hub", "deepseek3-hub", "deepseek3-bias-hub", "glm4moelite-hub", "glm4moelite-dense-hub", "mistral4-hub", "mistral4-grows-hub", "minimaxm2-hub", "gemma3n-hub", "gemma4-hub", "gemma4-small-hub", "gemma4-moe-hub", "lfm2-hub", "lfm2moe-hub",
       "llama4-hub"]
OPTIONS = ("attention_bias", "mlp_bias")


def with_options(case):
    """The case with every optional tensor of its class."""
    import transformers
    default = getattr(transformers, case["hf"] + "Config")()
    more = {k: True for k in OPTIONS if hasattr(default, k)}
    if not case["arch"].startswith("gemma"):        # Gemma has no other head than its embedding table
        more["tie_word_embeddings"] = False
    return dict(case, config=dict(case["config"], **more))


def checkpoint(model):
    """name -> array of the files that save_pretrained writes"""
    from safetensors.numpy import load_file
    with tempfile.TemporaryDirectory() as d:
        model.save_pretrained(d)
        return {k: v for f in os.listdir(d) if f.endswith(".safetensors") for k, v in load_file(os.path.join(d, f)).items()}


# --- names and transforms by value

def pairs(a, d):
    """Row i d/2 + m of each head of d becomes row 2m + i."""
    out = np.empty_like(a)
    for r in range(len(a)):
        head, i, m = r // d, r % d // (d // 2), r % (d // 2)
        out[head * d + 2 * m + i] = a[r]
    return out


def transforms(h, g, d):
    """Every transform that makes h into g."""
    tries = {"T_NONE": h, "T_PLUS1": h + 1.0}
    if len(h) % d == 0:
        tries["T_PAIRS"] = pairs(h, d)
    return [how for how, a in tries.items() if np.array_equal(a, g)]


def part(h, g):
    """Half of the rows of h's matrices that g is: the first or the second half as they are; every other one, which in weights of
    experts (not in vectors) is a column; or all rows, turned."""
    tries = []
    if h.ndim == 3:
        tries += [("T_NONE", h[:, :g.shape[1]]), ("T_NONE", h[:, -g.shape[1]:]), ("T_TURN", h.swapaxes(1, 2)),
                  *(("T_TURN", x) for x in np.split(h.swapaxes(1, 2), 2, axis=1) if h.shape[2] == 2 * g.shape[1]),
                  ("T_EVEN", h[:, :, ::2].swapaxes(1, 2)), ("T_ODD", h[:, :, 1::2].swapaxes(1, 2))]
    elif h.ndim == 2:
        tries += [("T_NONE", h[:len(g)]), ("T_NONE", h[-len(g):]), ("T_EVEN", h[:, ::2]), ("T_ODD", h[:, 1::2])]
    return [how for how, a in tries if np.array_equal(a, g)]


def of_states(h, hub):
    """What h becomes in a file whose layers keep states, by transform."""
    if "mamba_d_conv" in hub:       # gains by groups are a matrix there
        return [("T_NONE", h), ("T_NONE", h.reshape(hub["mamba_n_groups"], -1)), ("T_NONE", h.reshape(-1, 1)), ("T_NEG_EXP", -np.exp(h).reshape(-1, 1))]
    nk, nv, dk, dv = (hub["linear_" + k] for k in ("num_key_heads", "num_value_heads", "key_head_dim", "value_head_dim"))
    r, qk, out = nv // nk, 2 * nk * dk, [("T_NEG_EXP", -np.exp(h)), ("T_PLUS1", h + 1.0)]

    def tiled(a, d, axis=0):
        at = np.arange(nv * d).reshape(nk, r, d).swapaxes(0, 1).reshape(-1)
        return np.take(a, at, axis)
    h = h.reshape(h.shape[0], -1) if h.ndim == 3 else h
    out += [("T_NONE", h)]                      # of a convolution, which has a dimension more there
    if len(h) == nk * 2 * (dk + r * dv):
        parts = np.split(h.reshape(nk, -1, h.shape[1]), np.cumsum([dk, dk, r * dv]), axis=1)
        q, k, v, z = (p.reshape(-1, h.shape[1]) for p in parts)
        out += [("T_BY_HEAD", np.concatenate([q, k, v])), ("T_BY_HEAD_Z", z)]
    if len(h) == nv:
        out += [("T_TILED", tiled(h, 1)), ("T_TILED_NEG_EXP", -np.exp(tiled(h, 1)))]
    if len(h) == nv * dv:
        out += [("T_TILED", tiled(h, dv))]
    if len(h) == qk + nv * dv:
        out += [("T_TILED_V", np.concatenate([h[:qk], tiled(h[qk:], dv)]))]
    if h.ndim == 2 and h.shape[1] == nv * dv:
        out += [("T_TILED_COLS", tiled(h, dv, 1))]
    return out


def match(state, tensors, d, made, hub=None):
    """[(HF name, GGUF name, transform)]; everything on both sides is used, once."""
    lines, used = [], []
    for name, g in tensors.items():
        found = [(h, name, how) for h, a in state.items() for how in transforms(a, g, d)]
        if not found and hub and ("linear_conv_kernel_dim" in hub or "mamba_d_conv" in hub):
            found = [(h, name, how) for h, a in state.items() for how, x in of_states(a, hub)
                     if x.shape == g.shape and np.abs(x - g).max() < 1e-6]
        if not found:
            found = [(h, name, how) for h, a in state.items() if a.ndim == g.ndim for how in part(a, g)]
        if not found and g.ndim == 3:
            found = [[(h, name, "T_STACK") for h, a in state.items() if np.array_equal(a, e)] for e in g]
            for i, f in enumerate(found):
                if len(f) != 1 or re.findall(r"\.(\d+)\.", f[0][0])[-1:] != [str(i)]:
                    raise SystemExit(f"{name}: expert {i} is {f}")
            found = [f[0] for f in found]
        elif not found and name in made:
            found = [("-", name, "-")]
        elif len(found) != 1:
            raise SystemExit(f"{name}: is {found}")
        lines += found
        used += [f[0] for f in found if f[0] != "-"]
    joined = {u for u in used if any(s in u for s in ("gate_up_proj", "input_linear", "in_proj_qkvz", "mamba.in_proj"))}      # two tensors of the other kind
    if sorted(u for u in used if u not in joined) + sorted(joined) != sorted(set(state) - joined) + sorted(joined):
        raise SystemExit(f"not used once: {sorted(set(state) ^ set(used)) or sorted(used)}")
    return lines


# --- what others say

def gguf_names(arch, n_layers):
    """gguf-py's table; experts have no number there."""
    import gguf
    ids = {v: k for k, v in gguf.MODEL_ARCH_NAMES.items()}
    table = gguf.get_tensor_name_map(ids[arch], n_layers)
    return lambda hf: table.get_name(re.sub(r"experts\.\d+\.", "experts.", hf), try_suffixes=(".weight", ".bias"))


def check_names(arch, config, lines):
    name_of = gguf_names(arch, config.num_hidden_layers)
    for hf, gguf_name, _ in lines:
        if hf != "-" and name_of(hf) != gguf_name:
            raise SystemExit(f"{arch}: {hf} is {gguf_name} here, {name_of(hf)} to gguf-py")


def check_reader(arch, keys, tensors, model):
    """transformers reads the converted file into the tensors of the model; False where it cannot."""
    import torch
    from transformers.modeling_gguf_pytorch_utils import load_gguf_checkpoint
    keys = {f"{arch}.attention.head_count_kv": model.config.num_key_value_heads, **keys}     # it has no default there
    with tempfile.TemporaryDirectory() as d:
        path = os.path.join(d, "x.gguf")
        logits.write_gguf(path, keys, tensors, {})
        try:
            got = load_gguf_checkpoint(path, return_tensors=True, model_to_load=model, torch_dtype=torch.float64)["tensors"]
        except (NotImplementedError, ValueError) as e:
            print(f"{model.config.model_type}: {str(e)[:90]}")
            return False
    want = {k: p.detach() for k, p in model.named_parameters()}     # without the second name of a tied one
    if sorted(got) != sorted(want):
        raise SystemExit(f"{arch}: transformers reads other tensors: {sorted(set(got) ^ set(want))}")
    for k, t in want.items():
        a, b = np.asarray(got[k], np.float64), t.numpy()
        if a.shape != b.shape or np.abs(a - b).max() > 1e-6:
            raise SystemExit(f"{arch}: transformers reads other values of {k}")
    return True


# --- all of it

def layer(name):
    m = re.match(r"(?:model\.layers|blk)\.(\d+)\.", name)
    return int(m[1]) if m else 0


def lines_of(name, case):
    config, model, state, ids = logits.build(name, case)
    keys, tensors = logits.convert_keys(name, case, config), logits.convert_tensors(case, config, state)
    ctx = case.get("runs", [("", 64, 64)])[0][1]
    gap = np.abs(logits.evaluate(keys, tensors, ids, ctx) - logits.expect(model, ids)).max()
    if not gap < 1e-9:
        raise SystemExit(f"{name}: logits of the converted tensors are off by {gap:.3g}")
    head = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    lines = match(checkpoint(model), tensors, head, case.get("tensors", lambda c: {})(config))
    check_names(case["arch"], config, lines)
    again = check_reader(case["arch"], keys, tensors, model)
    cls = case.get("class", case["hf"] + "ForCausalLM")
    print(f"{name}: {len(lines)} tensors of {cls}, logits within {gap:.2g}, {'' if again else 'not '}read back by transformers")
    return [(case["arch"], cls, *l) for l in lines if layer(l[1]) < 2]


def lines_of_hub(name, hub, converter):
    """The file is the converter's, whose logits golden-logits.py compares; a vector of one row has one dimension there."""
    _, model = logits.checkpoint.from_hub(hub)
    state = logits.checkpoint.fill(name, model, np.random.default_rng([*name.encode()]), False)
    keys, tensors = logits.by_converter(name, hub, state, converter)
    tensors = logits.joined(tensors)
    saved = {k: a.reshape(-1) if a.ndim == 2 and len(a) == 1 else a for k, a in logits.checkpoint.as_saved(state, hub["model_type"]).items()}
    saved = {k: a[:, 0] if a.ndim == 3 and a.shape[1] == 1 and "linear_conv_kernel_dim" not in hub else a for k, a in saved.items()}    # taps
    tensors = {k: a[0] if a.ndim == 2 and len(a) == 1 else a for k, a in tensors.items()}
    lines = match(saved, tensors, hub.get("head_dim") or hub["hidden_size"] // hub["num_attention_heads"], {"rope_freqs.weight"}, hub)
    print(f"{name}: {len(lines)} tensors of {hub['architectures'][0]}")
    return [(keys["general.architecture"], hub["architectures"][0], *l) for l in lines if layer(l[1]) < 2]


def main():
    lines = []
    if len(sys.argv) > 2 and sys.argv[1] == "--add":      # what the file has, and the cases of HUB
        lines = [tuple(l.split("\t")) for l in open(OUT).read().splitlines()[1:]]
        used = []
    else:
        used = USED
    for name in used:
        lines += lines_of(name, with_options(logits.CASES[name]))
    for name in HUB:
        lines += lines_of_hub(name, logits.CASES[name]["hub"], sys.argv[-1])
    without = {k: v for k, v in logits.CASES["granitemoe-hub"]["hub"].items() if k != "shared_intermediate_size"}
    lines += lines_of_hub("granitemoe", dict(without, architectures=["GraniteMoeForCausalLM"], model_type="granitemoe"), sys.argv[-1])
    if not used:
        return write(lines)
    unused = gguf_names("llama", 2)
    for il in range(2):
        hf = f"model.layers.{il}.self_attn.rotary_emb.inv_freq"
        lines.append(("llama", "LlamaForCausalLM", hf, unused(hf) + ".weight", "-"))
    write(lines)


def write(lines):
    with open(OUT, "w") as f:
        f.write("# made by scripts/golden-hf.py, which says what the lines mean\n")
        f.writelines("\t".join(l) + "\n" for l in dict.fromkeys(lines))


if __name__ == "__main__":
    main()
