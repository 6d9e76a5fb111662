#!/usr/bin/env python3
"""Make tests/golden/sample/chains.jsonl: what chains of sampler stages leave, in float64 numpy.

Each line: logits (exact float32 values), history, the options that are set, and expected: [id, probability] of every
candidate that can be drawn.  Only numpy is needed."""
import json, pathlib
import numpy as np

ORDER = ["penalties", "dry", "top_n_sigma", "top_k", "typ_p", "top_p", "min_p", "xtc", "temperature"]

def soft(l):
    e = np.exp(l - l.max())
    return e / e.sum()

def by_rank(ids, l):
    return np.lexsort((ids, -l))

def dry(l, h, o):
    m, base, allowed = o["dry_multiplier"], o.get("dry_base", 1.75), o.get("dry_allowed_length", 2)
    w = o.get("dry_window", -1)
    h = h[-w:] if w > 0 else h
    n, brk = len(h), o.get("dry_breakers", [])
    limit = n
    for end in range(n, 0, -1):                       # a breaker that ends at `end`: nothing reaches over it
        if any(end >= len(b) and h[end - len(b):end] == b for b in brk):
            limit = n - end
            break
    best = {}
    for end in range(1, n):                           # the run that ends before position `end`, followed by h[end]
        k = 0
        while k < end and k < limit and h[end - 1 - k] == h[n - 1 - k]:
            k += 1
        if k >= allowed:
            best[h[end]] = max(best.get(h[end], 0), k)
    for t, k in best.items():
        if [t] not in brk: l[t] -= m * base ** (k - allowed)
    return l

def chain(logits, history, o, xtc_acts):
    l = logits.astype(np.float64)
    for t, b in o.get("bias", []):
        l[t] += b
    ids = np.arange(len(l))
    keep = o.get("min_keep", 1)
    greedy = o.get("temp", 0) == 0
    for st in o.get("order", ORDER):
        if greedy and st not in ("penalties", "dry"):
            continue
        if st == "penalties":
            w = o.get("repeat_window", 64)
            h = history if w < 0 else history[-w:]
            c = np.bincount(h, minlength=len(logits))[ids] if len(h) else np.zeros(len(ids), int)
            r = o.get("repeat", 1)
            l = np.where(c > 0, np.where(l <= 0, l * r, l / r) - c * o.get("frequency", 0) - o.get("presence", 0), l)
        elif st == "dry" and o.get("dry_multiplier", 0) > 0:
            full = np.zeros(len(logits)); full[ids] = l; full = dry(full, history, o); l = full[ids]
        elif st == "top_n_sigma" and o.get("top_n_sigma", 0) > 0:
            m = l >= l.max() - o["top_n_sigma"] * l.std(); ids, l = ids[m], l[m]
        elif st == "top_k" and o.get("top_k", 0) > 0:
            r = by_rank(ids, l)[:max(o["top_k"], keep)]; ids, l = ids[r], l[r]
        elif st == "typ_p" and 0 < o.get("typical", 1) < 1:
            p = soft(l); d = np.abs(-np.log(p) - (-(p * np.log(p)).sum())); r = np.lexsort((ids, d)); c = np.cumsum(p[r])
            n = max(int(np.argmax(c > o["typical"])) + 1, keep); ids, l = ids[r[:n]], l[r[:n]]
        elif st == "top_p" and 0 < o.get("top_p", 1) < 1:
            r = by_rank(ids, l); c = np.cumsum(soft(l)[r]); n = max(int(np.argmax(c >= o["top_p"])) + 1, keep); ids, l = ids[r[:n]], l[r[:n]]
        elif st == "min_p" and o.get("min_p", 0) > 0:
            p = soft(l); m = p >= o["min_p"] * p.max()
            if m.sum() < keep: m = np.isin(np.arange(len(l)), by_rank(ids, l)[:keep])
            ids, l = ids[m], l[m]
        elif st == "xtc" and o.get("xtc_probability", 0) > 0 and xtc_acts:
            p = soft(l); r = by_rank(ids, l); above = int((p >= o["xtc_threshold"]).sum())
            if above >= 2 and len(l) - (above - 1) >= keep: ids, l = ids[r[above - 1:]], l[r[above - 1:]]
        elif st == "temperature":
            t = o["temp"]
            if o.get("dynatemp_range", 0) > 0 and len(l) > 1:
                p = soft(l); h = -(p[p > 0] * np.log(p[p > 0])).sum() / np.log(len(l)); lo = max(0.0, t - o["dynatemp_range"])
                t = lo + (t + o["dynatemp_range"] - lo) * h ** o.get("dynatemp_exp", 1)
            l = l / t
    if greedy:
        r = by_rank(ids, l)[:1]; ids, l = ids[r], l[r]
    return {int(i): float(p) for i, p in zip(ids, soft(l))}

def expected(logits, history, o):
    x = o.get("xtc_probability", 0)
    a, b = chain(logits, history, o, True), chain(logits, history, o, False)
    e = {i: x * a.get(i, 0) + (1 - x) * b.get(i, 0) for i in sorted(set(a) | set(b))} if x else b
    return [[i, p] for i, p in e.items() if p > 0]

CASES = [dict(temp=1.0), dict(temp=0.5), dict(temp=2.0), dict(), dict(temp=0.8, top_k=40, top_p=0.95, min_p=0.05), dict(temp=1.0, top_k=1),
    dict(temp=1.0, top_k=5), dict(temp=1.0, top_p=0.5), dict(temp=1.0, top_p=0.9), dict(temp=1.0, min_p=0.1), dict(temp=1.0, min_p=0.5),
    dict(temp=1.0, typical=0.5), dict(temp=1.0, typical=0.9), dict(temp=1.0, top_n_sigma=1.0), dict(temp=1.0, top_n_sigma=2.0),
    dict(temp=1.0, xtc_probability=1.0, xtc_threshold=0.1), dict(temp=1.0, xtc_probability=0.5, xtc_threshold=0.05),
    dict(temp=1.0, repeat=1.3), dict(temp=1.0, repeat=1.3, repeat_window=4), dict(temp=1.0, repeat=1.2, repeat_window=-1), dict(temp=1.0, presence=1.5),
    dict(temp=1.0, frequency=0.5), dict(temp=1.0, repeat=1.1, presence=0.3, frequency=0.2), dict(temp=1.0, presence=-1.0), dict(repeat=4.0),
    dict(temp=1.0, dry_multiplier=0.8), dict(temp=1.0, dry_multiplier=2.0, dry_base=1.2, dry_allowed_length=1), dict(temp=1.0, dry_multiplier=1.0, dry_allowed_length=3),
    dict(temp=1.0, dry_multiplier=1.0, dry_breakers=[[3]]), dict(temp=1.0, dry_multiplier=1.0, dry_breakers=[[7, 3]]), dict(temp=1.0, dry_multiplier=1.0, dry_window=6),
    dict(dry_multiplier=50.0), dict(temp=1.0, dynatemp_range=0.5), dict(temp=0.7, dynatemp_range=0.9, dynatemp_exp=2.0), dict(temp=1.0, bias=[[2, 3.0], [5, -4.0]]),
    dict(bias=[[9, 100.0]]), dict(temp=1.0, top_k=20, top_p=0.8, order=["top_p", "top_k", "temperature"]), dict(temp=3.0, top_p=0.7, order=["temperature", "top_p"]),
    dict(temp=1.0, min_p=0.9, min_keep=3), dict(temp=1.0, top_p=0.1, min_keep=4), dict(temp=1.0, typical=0.1, min_keep=3),
    dict(temp=0.9, top_k=30, typical=0.95, top_p=0.9, min_p=0.02, repeat=1.1, top_n_sigma=3.0)]

rng = np.random.default_rng(20)
out = pathlib.Path(__file__).parent.parent / "tests/golden/sample/chains.jsonl"
with open(out, "w") as f:
    for i, o in enumerate(CASES):
        n = [12, 40, 100][i % 3]
        logits = np.round(rng.standard_normal(n) * 2.5, 3).astype(np.float32)
        h = [1, 2, 3, 4, 9, 7, 3, 1, 2, 3, 4, 8, 1, 2, 3, 4][: 6 + i % 11] + [1, 2]
        row = {"logits": [float(x) for x in logits], "history": h, "options": o, "expected": expected(logits, h, o)}
        f.write(json.dumps(row) + "\n")
print(len(CASES), "cases,", out.stat().st_size, "bytes")
