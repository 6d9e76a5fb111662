#!/usr/bin/env python3
"""Make tests/golden/eval/ again: quantised copies of a tiny model of tests/golden/logits, and what an evaluation of them comes to.

Needs numpy and gguf.  Logits are those of scripts/eval_gguf.py in float64, with activations rounded as the kernels round them; windows,
divergences and statistics are computed here from their definitions (libcore/include/infer/eval.h), not by the library.

cases.txt, read by tests/unit/quant/test_eval.c:
  case NAME MODEL REF BESIDE WINDOW N ID...     REF, BESIDE: - for none
  value FIELD X...                       a value and its error, or a value and the ends of its interval
  questions NAME MODEL N RIGHT RIGHT_NORM   NAME.jsonl holds the questions
"""
import json
import pathlib
import sys

import numpy as np
from gguf import GGMLQuantizationType as T
from gguf import quants

here = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(here))
import eval_gguf  # noqa: E402

golden = here.parent / "tests/golden"
OUT = golden / "eval"
REF = golden / "logits/llama-gqa.gguf"
EDGE = 5e-5
Z = 1.959963984540054


def copy(path, kind, bos):
    """The reference with its matrices in another type, where their rows are whole blocks."""
    from gguf import GGUFReader, GGUFWriter, GGUFValueType as V
    r = GGUFReader(str(REF))
    w = GGUFWriter(str(path), "llama")
    for k, f in r.fields.items():
        if k.startswith("GGUF.") or k == "general.architecture":
            continue
        v, sub = f.contents(), f.types[-1] if f.types[0] == V.ARRAY else None
        w.add_key_value(k, bos if k.endswith("add_bos_token") else v, f.types[0], sub)
    for t in r.tensors:
        a = np.array(t.data)
        if a.ndim == 2 and a.shape[-1] % 32 == 0 and t.name != "token_embd.weight":
            w.add_tensor(t.name, quants.quantize(a, T[kind]), raw_dtype=T[kind])
        else:
            w.add_tensor(t.name, a)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def model(path):
    keys, tensors = eval_gguf.load(str(path))
    return eval_gguf.Model(keys, tensors, kv="f32", act="kern"), keys


def draw(rng, window, n, models):
    """Windows of ids in which no activation lies so near to the edge between two roundings that float32 may take the other one."""
    ids = []
    while len(ids) < n // window * window:
        w = [int(t) for t in rng.integers(0, 79, window)]
        edge = 1.0
        for path in models:
            m, keys = model(path)
            m.logits([keys["tokenizer.ggml.bos_token_id"]] + w[1:] if keys["tokenizer.ggml.add_bos_token"] else w)
            edge = min(edge, m.edge)
        if edge > EDGE:
            ids += w
    return ids + [int(t) for t in rng.integers(0, 79, n % window)]


def spread(x):
    return x.mean(), x.std(ddof=1) / np.sqrt(len(x))


def quantile(x, q):
    s, n = np.sort(x), len(x)
    wide = Z * np.sqrt(n * q * (1 - q))
    lo, hi = np.floor(n * q - wide), np.ceil(n * q + wide)
    return np.quantile(x, q), s[int(np.clip(lo, 1, n)) - 1], s[int(np.clip(hi, 1, n)) - 1]


def share(same):
    """The shares p whose distance from the one seen is 1.96 of their own standard errors: roots of (s - p)^2 = z^2 p (1 - p) / n."""
    s, n = same.mean(), len(same)
    lo, hi = np.sort(np.roots([1 + Z * Z / n, -2 * s - Z * Z / n, s * s]).real)
    return s, max(lo, 0), min(hi, 1)


def rows(m, ids, window, bos):
    """Log-probabilities of the scored tokens: [tokens][vocabulary], and the tokens."""
    y, want = [], []
    for at in range(0, len(ids) - window + 1, window):
        w = list(ids[at:at + window])
        if bos is not None:
            w[0] = bos
        lp = eval_gguf.log_softmax(m.logits(w))
        for i in range(window // 2 + 1, window):
            y.append(lp[i - 1])
            want.append(w[i])
    return np.array(y), np.array(want)


def around(x):
    m, se = spread(x)
    return m, m - Z * se, m + Z * se


def case(out, name, path, ref, ids, window, beside=None):
    m, keys = model(path)
    bos = keys["tokenizer.ggml.bos_token_id"] if keys["tokenizer.ggml.add_bos_token"] else None
    p, want = rows(m, ids, window, bos)
    i = np.arange(len(want))
    nll = -p[i, want]
    got = {"nll": spread(nll), "perplexity": (np.exp(nll.mean()), np.exp(nll.mean()) * spread(nll)[1])}
    if ref:
        q, _ = rows(model(ref)[0], ids, window, bos)
        rnll = -q[i, want]
        kl = (np.exp(q) * (q - p)).sum(-1)
        dp = np.exp(-nll) - np.exp(-rnll)
        d = spread(nll - rnll)
        got |= {"ref_nll": spread(rnll), "ref_perplexity": (np.exp(rnll.mean()), np.exp(rnll.mean()) * spread(rnll)[1]),
                "ratio": (np.exp(d[0]), np.exp(d[0]) * d[1]), "kl": spread(kl),
                "kl_mean": around(kl),
                "kl_median": quantile(kl, .5), "kl_p90": quantile(kl, .9), "kl_p99": quantile(kl, .99), "kl_max": (kl.max(),),
                "dp": spread(dp), "dp_rms": (np.sqrt((dp * dp).mean()), spread(dp * dp)[1] / (2 * np.sqrt((dp * dp).mean()))),
                "dp_p1": quantile(dp, .01), "dp_median": quantile(dp, .5), "dp_p99": quantile(dp, .99),
                "top1": share(p.argmax(-1) == q.argmax(-1)),
                "top5": share(np.array([set(a[:5]) == set(b[:5]) for a, b in zip((-p).argsort(-1), (-q).argsort(-1))]))}
    if beside:
        b, _ = rows(model(beside)[0], ids, window, bos)
        bnll, bkl = -b[i, want], (np.exp(q) * (q - b)).sum(-1)
        got |= {"beside_nll": spread(bnll), "beside_perplexity": (np.exp(bnll.mean()), np.exp(bnll.mean()) * spread(bnll)[1]),
                "beside_kl": around(bkl), "beside_top1": share(b.argmax(-1) == q.argmax(-1)), "nll_difference": around(nll - bnll),
                "kl_difference": around(kl - bkl)}
    out.append(f"case {name} {path.name} {ref.name if ref else '-'} {beside.name if beside else '-'} {window} {len(ids)} " + " ".join(map(str, ids)))
    out.extend(f"value {k} " + " ".join(f"{x:.17g}" for x in v) for k, v in got.items())


def questions(out, name, path, rng):
    """The characters of the vocabulary are one token each, so ids are the text."""
    m, keys = model(path)
    tokens = keys["tokenizer.ggml.tokens"]
    plain = [i for i, t in enumerate(tokens) if len(t) == 1 and t.isalnum() and t not in "ab"]
    right = right_norm = 0
    lines = []
    for n in range(12):
        prompt = [int(t) for t in rng.choice(plain, 9)]
        choices = [[int(t) for t in rng.choice(plain, 1 + (n + k) % 4)] for k in range(2 + n % 4)]
        score = []
        for c in choices:
            lp = eval_gguf.log_softmax(m.logits(prompt + c))
            score.append(sum(lp[len(prompt) + i - 1, t] for i, t in enumerate(c)))
        norm = [s / len(c) for s, c in zip(score, choices)]
        for v in (score, norm):
            s = sorted(v)
            assert s[-1] - s[-2] > 1e-3
        answer = int((np.argmax(score), np.argmax(norm), 0)[n % 3])
        right += int(np.argmax(score)) == answer
        right_norm += int(np.argmax(norm)) == answer
        text = ["".join(tokens[i] for i in c) for c in [prompt] + choices]
        lines.append(json.dumps({"prompt": text[0], "choices": text[1:], "answer": answer}))
    (OUT / f"{name}.jsonl").write_text("\n".join(lines) + "\n")
    out.append(f"questions {name} {path.name} {len(lines)} {right} {right_norm}")


def main():
    OUT.mkdir(exist_ok=True)
    rng = np.random.default_rng(3)
    q8, q4 = OUT / "q8_0.gguf", OUT / "q4_0.gguf"
    copy(q8, "Q8_0", True)
    copy(q4, "Q4_0", False)
    out = ["# made by scripts/golden-eval.py, which says what the lines mean"]
    ids = draw(rng, 40, 207, [q8])
    case(out, "alone", q8, None, ids, 40)
    case(out, "q8_0", q8, REF, ids, 40)
    case(out, "q4_0", q4, REF, draw(rng, 33, 198, [q4]), 33)
    case(out, "both", q4, q8, draw(rng, 40, 161, [q4, q8]), 40)
    questions(out, "questions", q4, rng)
    case(out, "beside", q4, REF, draw(rng, 37, 187, [q4, q8]), 37, q8)
    (OUT / "cases.txt").write_text("\n".join(out) + "\n")


main()
