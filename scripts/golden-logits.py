#!/usr/bin/env python3
"""Make tests/golden/logits/: tiny random checkpoints as GGUF files, and the logits transformers gives for them in float64.

  golden-logits.py            rewrite the files (needs torch, transformers, gguf, numpy)
  golden-logits.py --mutants  print how far every mutant and fault is from the expected logits, as a markdown table
  --converter DIR             (or GGUF_CONVERTER) where convert_hf_to_gguf.py of llama.cpp lies, outside this project

Each case is a config of a transformers class.  Weights are drawn so that every feature acts, evaluated by the class
itself with all its float32 steps made float64, and converted: by the public converter where the case has a config.json
("hub"), else by the code below.  Then scripts/eval_gguf.py, which knows nothing of transformers, must agree on the
converted tensors within 1e-9.  Without --converter the files that it made are taken as they are; with it, the cases of
our own writer are converted by it too, and what it writes must come to the same logits.

cases.txt, read by tests/unit/arch/test_logits.c:
  case NAME FILE VOCAB CTX N ID...       NAME.f32 holds float32 [N][VOCAB]; open FILE with context CTX
  edit OP ARG...                         an edit of FILE that belongs to the case or mutant above
  mutant NAME RATIO                      the case's file so edited must miss the bound; RATIO as computed here
An edit changes bytes in place: key K V | fill T X | mul T X | copy T U | pairs T D | halves T D | swaprows T I J N |
swapcols T I J N  (T, U tensors; pairs: rows of each head of D from halves to pairs; halves: back).
"""
import argparse
import os
import shutil
import struct
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import checkpoint  # noqa: E402
import eval_gguf  # noqa: E402
import golden_logits_blocks as blocks  # noqa: E402
from gguf import GGMLQuantizationType  # noqa: E402
from golden_logits_cases import CASES  # noqa: E402

OUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "golden", "logits")
N_IDS = 64
TOLERANCE = 1e-4
FAR = 100
PERMUTED = ("llama", "granite", "granitemoe", "smollm3")


# --- GGUF writer

def string(s):
    b = s.encode()
    return struct.pack("<Q", len(b)) + b


def value(v):
    """type id and bytes of a metadata value"""
    if isinstance(v, bool):
        return 7, struct.pack("<?", v)
    if isinstance(v, int):
        return 4, struct.pack("<I", v)
    if isinstance(v, float):
        return 6, struct.pack("<f", v)
    if isinstance(v, str):
        return 8, string(v)
    kind = {bool: 7, int: 5, float: 6, str: 8}[type(v[0])]
    items = b"".join(struct.pack("<i", x) if kind == 5 else value(x)[1] for x in v)
    return 9, struct.pack("<IQ", kind, len(v)) + items


def write_gguf(path, keys, tensors, packed):
    """packed: name -> (type name, raw rows), for tensors that are not float32"""
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(keys))
    for k, v in keys.items():
        t, b = value(v)
        head += string(k) + struct.pack("<I", t) + b
    body = b""
    for name, a in tensors.items():
        head += string(name) + struct.pack("<I", a.ndim) + struct.pack(f"<{a.ndim}Q", *reversed(a.shape))
        kind, raw = packed.get(name, ("F32", a.astype("<f4")))
        head += struct.pack("<IQ", GGMLQuantizationType[kind], len(body))
        body += raw.tobytes()
        body += bytes(-len(body) % 32)
    with open(path, "wb") as f:
        f.write(head + bytes(-len(head) % 32) + body)


# --- drawing a checkpoint, and its logits

def build(name, case):
    import transformers
    cfg = dict(case["config"], num_hidden_layers=case["config"].get("num_hidden_layers", 2))
    cfg.setdefault("pad_token_id", None)
    config = getattr(transformers, case["hf"] + "Config")(**cfg)
    config._attn_implementation = "eager"
    config._experts_implementation = "eager"
    model = getattr(transformers, case.get("class", case["hf"] + "ForCausalLM"))(config).double().eval()
    rng = np.random.default_rng([*name.encode(), *case.get("seed", [])])
    state = checkpoint.fill(name, model, rng, case["arch"].startswith("gemma"))
    ids = [int(t) for t in rng.integers(0, config.vocab_size - 8, N_IDS)]
    return config, model, state, ids


# --- conversion

LAYER = {
    "input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output", "self_attn.qkv_proj": "attn_qkv", "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm",
    "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down", "mlp.gate_up_proj": "ffn_up",
    "mlp.gate": "ffn_gate_inp", "block_sparse_moe.gate": "ffn_gate_inp", "mlp.shared_expert_gate": "ffn_gate_inp_shexp",
    "mlp.shared_expert.gate_proj": "ffn_gate_shexp", "mlp.shared_expert.up_proj": "ffn_up_shexp", "mlp.shared_expert.down_proj": "ffn_down_shexp",
    "pre_feedforward_layernorm": "ffn_norm", "post_feedforward_layernorm": "post_ffw_norm",
}


def to_pairs(a, d):
    """Rows of each head of d from halves (m, m + d/2) to pairs (2m, 2m + 1)."""
    return a.reshape(-1, 2, d // 2, *a.shape[1:]).swapaxes(1, 2).reshape(a.shape)


def to_halves(a, d):
    return a.reshape(-1, d // 2, 2, *a.shape[1:]).swapaxes(1, 2).reshape(a.shape)


def convert_tensors(case, config, state):
    arch, out = case["arch"], {}
    sandwich = arch.startswith("gemma") or arch == "olmo2"
    head = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    for k, a in state.items():
        if arch.startswith("gemma") and "norm" in k:
            a = a + 1.0
        k = k.removeprefix("model.").replace("block_sparse_moe.experts", "mlp.experts")
        if not k.startswith("layers."):
            base, tail = k.rsplit(".", 1)
            out[{"embed_tokens": "token_embd", "norm": "output_norm", "lm_head": "output"}[base] + "." + tail] = a
            continue
        _, il, rest = k.split(".", 2)
        p = f"blk.{il}."
        if rest == "mlp.experts.gate_up_proj":
            out[p + "ffn_gate_exps.weight"], out[p + "ffn_up_exps.weight"] = np.split(a, 2, axis=1)
            continue
        if rest == "mlp.experts.down_proj":
            out[p + "ffn_down_exps.weight"] = a
            continue
        base, tail = rest.rsplit(".", 1)
        if base == "post_attention_layernorm":
            to = "post_attention_norm" if sandwich else "ffn_norm"
        else:
            to = LAYER[base]
        if arch in PERMUTED and to in ("attn_q", "attn_k"):
            a = to_pairs(a, head)
        if to == "ffn_gate_inp_shexp":
            a = a.reshape(-1)
        out[f"{p}{to}.{tail}"] = a
    out.update(case.get("tensors", lambda c: {})(config))
    order = sorted(out, key=lambda n: (n.startswith("output"), n.startswith("blk."), n))
    return {n: out[n] for n in order}


def convert_keys(name, case, config):
    arch = case["arch"]
    heads = config.num_attention_heads
    head = getattr(config, "head_dim", None) or config.hidden_size // heads
    k = {
        "context_length": config.max_position_embeddings, "embedding_length": config.hidden_size, "block_count": config.num_hidden_layers,
        "feed_forward_length": config.intermediate_size, "attention.head_count": heads, "attention.head_count_kv": config.num_key_value_heads,
        "attention.layer_norm_rms_epsilon": float(config.rms_norm_eps), "attention.key_length": head, "attention.value_length": head,
        "rope.dimension_count": head, "vocab_size": config.vocab_size,
    }
    if "rope_theta" in (config.rope_parameters or {}):
        k["rope.freq_base"] = float(config.rope_parameters["rope_theta"])
    k.update(case.get("keys", {}))
    out = {"general.architecture": arch, "general.type": "model", "general.name": name, "general.file_type": 0}
    out.update({f"{arch}.{a}": b for a, b in k.items() if b is not None})
    out.update(checkpoint.tokenizer(config.vocab_size))
    return out


# --- edits

def edit(keys, tensors, op):
    """Apply one edit of the list in the head comment; tensors are replaced, not changed."""
    what, t, *args = op.split()
    if what == "key":
        old = keys[t]
        keys[t] = type(old)(args[0] == "true" if isinstance(old, bool) else args[0])
        if isinstance(old, str) and len(old) != len(args[0]):
            raise SystemExit(f"edit {op}: not the length of {old}")
        return
    a = tensors[t]
    if what in ("fill", "mul"):
        b = a * np.float32(args[0]) if what == "mul" else np.full_like(a, float(args[0]))
    elif what == "copy":
        b = tensors[args[0]]
        if b.shape != a.shape:
            raise SystemExit(f"edit {op}: shapes differ")
    elif what in ("pairs", "halves"):
        b = {"pairs": to_pairs, "halves": to_halves}[what](a, int(args[0]))
    elif what in ("swaprows", "swapcols"):
        i, j, n = map(int, args)
        b = a.reshape(-1, a.shape[-1] if a.ndim > 1 else 1)     # elements of a vector are rows; experts follow each other
        at = np.arange(b.shape[what == "swapcols"])
        at[i:i + n], at[j:j + n] = np.arange(j, j + n), np.arange(i, i + n)
        b = (b[at] if what == "swaprows" else b[:, at]).reshape(a.shape)
    else:
        raise SystemExit(f"no such edit: {op}")
    tensors[t] = b.astype(np.float32).astype(np.float64)


def edited(keys, tensors, ops):
    keys, tensors = dict(keys), dict(tensors)
    for op in ops:
        edit(keys, tensors, op)
    return keys, tensors


def model_of(keys, tensors, ctx, packed=(), **how):
    kinds = {name: kind for name, (kind, _) in dict(packed).items()}
    return eval_gguf.Model(keys, {k: (v[None] if v.ndim == 1 else v, kinds.get(k, "F32")) for k, v in tensors.items()}, ctx, **how)


def evaluate(keys, tensors, ids, ctx, faults=()):
    return model_of(keys, tensors, ctx, faults=faults).logits(ids)


def ratio(y, want):
    """Largest deviation over the bound."""
    return np.abs(y - want).max() / (TOLERANCE * max(1.0, np.abs(want).max()))


# --- all of it

def pack(case, tensors, rng):
    """Tensors in the types that the case names by the tensors' last parts."""
    out, packed = dict(tensors), {}
    for name, a in tensors.items():
        kind = case["types"].get(name.removesuffix(".weight").rsplit(".", 1)[-1])
        if kind and a.ndim > 1:
            raw = blocks.pack(a, kind, a.std(), rng)
            packed[name] = (kind, raw)
            out[name] = raw.view("<f2").astype(np.float64).reshape(a.shape) if kind == "F16" else blocks.decode(raw, kind, a.shape)
    return out, packed


def make_packed(name, case):
    """A case with quantised weights: the truth is eval_gguf.py's, its activations rounded as the kernels do.  Of many
    draws the one is kept where no activation lies near the edge between two roundings, so that no float32 error of an
    engine turns one over."""
    best = None
    for seed in range(case["draws"]):
        config, _, state, ids = build(name, dict(case, seed=[seed]))
        keys = convert_keys(name, case, config)
        tensors, packed = pack(case, convert_tensors(case, config, state), np.random.default_rng([*name.encode(), seed]))
        ids = ids[:case["n"]]
        m = model_of(keys, tensors, 64, packed, act="kern")
        want = m.logits(ids)
        if best is None or m.edge > best[0]:
            best = m.edge, keys, tensors, packed, [(name, 64, ids, want, [])]
    if best[0] < case["edge"]:
        raise SystemExit(f"{name}: no draw keeps {case['edge']} from the edges, best {best[0]:.3g}")
    return best[1:]


def by_converter(name, config, state, converter, to=None):
    """Keys and tensors of the file that the public converter writes; the file itself to `to`."""
    with tempfile.TemporaryDirectory() as d:
        path = os.path.join(d, name)
        checkpoint.save(path, config, state)
        why = checkpoint.convert(converter, [path])[path]
        if why:
            raise SystemExit(f"{name}: {why}")
        if to:
            shutil.copyfile(path + ".gguf", to)
        return read_gguf(path + ".gguf")


def read_gguf(path):
    keys, tensors = eval_gguf.load(path)
    return keys, {k: a for k, (a, _) in tensors.items()}


def make_hub(name, case, converter, write):
    """A case whose file is the converter's; one that is there already serves where there is no converter."""
    _, model = checkpoint.from_hub(case["hub"])
    rng = np.random.default_rng([*name.encode()])
    state = checkpoint.fill(name, model, rng, case["hub"]["model_type"].split("_")[0] in ("gemma2", "gemma3"))
    ids = [int(t) for t in rng.integers(0, case["hub"]["vocab_size"] - 8, N_IDS)]
    path = os.path.join(OUT, name + ".gguf")
    keys, tensors = by_converter(name, case["hub"], state, converter, write and path) if converter else read_gguf(path)
    if "adds" in case:
        keys = {**{k: v for k, v in keys.items() if not k.startswith("GGUF.")}, **case["adds"]}
        if write and converter:
            write_gguf(path, keys, {k: a[0] if a.ndim == 2 and len(a) == 1 else a for k, a in tensors.items()}, {})
    return model, ids, keys, tensors


def joined(tensors):
    """Keys and values out of latents in one tensor, as checkpoints and older files have it."""
    out = {}
    for k, a in tensors.items():
        if k.endswith(".attn_k_b.weight"):
            both = np.concatenate([a.swapaxes(1, 2), tensors[k.replace("_k_b", "_v_b")]], axis=1)
            out[k.replace("_k_b", "_kv_b")] = both.reshape(-1, a.shape[1])
        elif not k.endswith(".attn_v_b.weight"):
            out[k] = a
    return out


def make_old(name, case):
    """The file of another case as converters wrote latent attention at first."""
    base = CASES[case["old"]]
    model, ids, keys, tensors = make_hub(case["old"], base, None, False)
    arch, hub = keys["general.architecture"], base["hub"]
    keys = {k: v for k, v in keys.items() if not k.startswith("GGUF.") and not k.endswith("_length_mla")}
    keys[f"{arch}.attention.head_count_kv"] = hub["num_attention_heads"]
    keys[f"{arch}.attention.key_length"] = hub["qk_nope_head_dim"] + hub["qk_rope_head_dim"]
    keys[f"{arch}.attention.value_length"] = hub["v_head_dim"]
    out = {k: a[0] if a.ndim == 2 and len(a) == 1 else a for k, a in joined(tensors).items()}
    want = checkpoint.expect(model, ids)
    gap = np.abs(evaluate(keys, out, ids, 64) - want).max()
    if not gap < 1e-5:
        raise SystemExit(f"{name}: transformers and eval_gguf.py differ by {gap:.3g}")
    return keys, out, {}, [(name, 64, ids, want, [])]


def check_own(name, case, config, model, state, ids, converter):
    """What the converter writes for a case of our own writer comes to the same."""
    hub = dict(config.to_dict(), architectures=[type(model).__name__])
    keys, tensors = by_converter(name, hub, state, converter)
    for _, ctx, n in case.get("runs", [("", 64, N_IDS)]):
        gap = np.abs(evaluate(keys, tensors, ids[:n], ctx) - checkpoint.expect(model, ids[:n])).max()
        if not gap < 1e-5:      # its llama3 divisors are computed in float32
            raise SystemExit(f"{name}: transformers and the converter's file differ by {gap:.3g}")


def make(name, case, converter, write):
    """The case's keys, tensors, packed tensors, and its runs: name, context, ids, expected logits, edits."""
    if "types" in case:
        return make_packed(name, case)
    if "old" in case:
        return make_old(name, case)
    bound = 1e-9
    if "hub" in case:
        model, ids, keys, tensors = make_hub(name, case, converter, write)
        bound = case.get("bound", 1e-5)         # keys are float32 in the file
    else:
        config, model, state, ids = build(name, case)
        keys, tensors = convert_keys(name, case, config), convert_tensors(case, config, state)
        if converter and "own" not in case:
            check_own(name, case, config, model, state, ids, converter)
    runs = []
    for tail, ctx, n in case.get("runs", [("", 64, N_IDS)]):
        want = checkpoint.expect(model, ids[:n])
        gap = np.abs(evaluate(keys, tensors, ids[:n], ctx) - want).max()
        if not gap < bound:
            raise SystemExit(f"{name}{tail}: transformers and eval_gguf.py differ by {gap:.3g}")
        if want.std() < 1:
            raise SystemExit(f"{name}{tail}: logits have a spread of {want.std():.3g}")
        runs.append((name + tail, ctx, ids[:n], want, []))
    for tail, ops in case.get("derived", {}).items():
        runs.append((name + tail, 64, ids, evaluate(*edited(keys, tensors, ops), ids, 64), ops))
    return keys, tensors, {}, runs


def measure(case, keys, tensors, packed, runs):
    """Each mutant as (run name, mutant, edits or what the fault is, ratio, least ratio)."""
    found = []
    act = "kern" if packed else "f64"
    for run, ctx, ids, want, ops in runs:
        tail = run[len(runs[0][0]):]
        for m, medits in case.get("mutants" + tail, {}).items():
            k, t = edited(keys, tensors, ops + medits)
            found.append((run, m, medits, ratio(model_of(k, t, ctx, packed, act=act).logits(ids), want), FAR))
        for f in case.get("faults" + tail, []):
            k, t = edited(keys, tensors, ops)
            found.append((run, f, eval_gguf.FAULTS[f], ratio(evaluate(k, t, ids, ctx, [f]), want), FAR))
        if packed:
            found.append((run, "unrounded", "activations are not rounded", ratio(evaluate(keys, tensors, ids, ctx), want), 10))
    return found


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--mutants", action="store_true")
    a.add_argument("--only", help="work on this case alone, write nothing")
    a.add_argument("--add", nargs="+", default=[], metavar="CASE", help="write the files of these cases alone, and their lines")
    a.add_argument("--converter", default=os.environ.get("GGUF_CONVERTER"))
    o = a.parse_args()
    write = not (o.mutants or o.only)
    kept = []
    if o.add:
        for line in open(os.path.join(OUT, "cases.txt")).read().splitlines()[1:]:
            if line.startswith("case "):
                keep = line.split()[2].removesuffix(".gguf") not in o.add
            kept += [line] if keep else []
    checkpoint.use_float64()
    index, table, weak = [], [], []
    for name, case in CASES.items():
        if (o.only and name != o.only) or (o.add and name not in o.add):
            continue
        keys, tensors, packed, runs = make(name, case, o.converter, write)
        found = measure(case, keys, tensors, packed, runs)
        weak += [f"{f[0]} {f[1]} {f[3]:.3g}" for f in found if not f[3] >= f[4]]
        for run, ctx, ids, want, ops in runs:
            index.append(" ".join(["case", run, name + ".gguf", str(want.shape[1]), str(ctx), str(len(ids)), *map(str, ids)]))
            index += [f"edit {op}" for op in ops]
            for r, m, how, x, _ in found:
                table += [(r, m, "; ".join(how) if isinstance(how, list) else how, x)] if r == run else []
                if r == run and isinstance(how, list):
                    index.append(f"mutant {m} {x:.0f}")
                    index += [f"edit {op}" for op in how]
            if write:
                want.astype("<f4").tofile(os.path.join(OUT, run + ".f32"))
        if write and "hub" not in case:
            write_gguf(os.path.join(OUT, name + ".gguf"), keys, tensors, packed)
    if not write:
        print("| case | mutant | how | largest deviation / bound |\n|---|---|---|---|")
        print("\n".join(f"| {r} | {m} | {h} | {x:.0f} |" for r, m, h, x in table))
    else:
        with open(os.path.join(OUT, "cases.txt"), "w") as f:
            f.write("# made by scripts/golden-logits.py, which says what the lines mean\n" + "\n".join(kept + index) + "\n")
    if weak:
        raise SystemExit("mutants that miss the bound by too little:\n" + "\n".join(weak))


if __name__ == "__main__":
    main()
