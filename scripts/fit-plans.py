#!/usr/bin/env python3
"""Print the constants of libcore/plan/efficiency.c that suit the rows of tests/golden/plans/pairs.tsv marked `fit` best.

  fit-plans.py        for each maker: fraction of the bandwidth, microseconds a layer, and the error of each row

The rows marked `held` are not read.  Packages: none.
"""
import math, re

MODELS = {  # layers, embd, heads, kv heads, head, ff, vocab, tied: as in tests/unit/plan/test_pairs.c
    "llama-2-7b": (32, 4096, 32, 32, 128, 11008, 32000, 0), "llama-2-70b": (80, 8192, 64, 8, 128, 28672, 32000, 0),
    "llama-3-8b": (32, 4096, 32, 8, 128, 14336, 128256, 0), "llama-3-70b": (80, 8192, 64, 8, 128, 28672, 128256, 0),
    "llama-3.2-1b": (16, 2048, 32, 8, 64, 8192, 128256, 1), "llama-3.2-3b": (28, 3072, 24, 8, 128, 8192, 128256, 1),
    "qwen3-4b": (36, 2560, 32, 8, 128, 9728, 151936, 1), "qwen3-8b": (36, 4096, 32, 8, 128, 12288, 151936, 0),
    "qwen3-14b": (40, 5120, 40, 8, 128, 17408, 151936, 0), "qwen2.5-14b": (48, 5120, 40, 8, 128, 13824, 152064, 0)}
BITS = {"F16": 16, "BF16": 16, "Q8_0": 8.5, "Q4_0": 4.5, "Q4_K_M": 4.5}
OUTPUT = {"Q4_K_M": 6.5625, "Q4_0": 6.5625}  # Q6_K


def step_bytes(model, kind, ctx):
    layers, embd, heads, kv, head, ff, vocab, _ = MODELS[model]
    layer = embd * head * (2 * heads + 2 * kv) + 3 * embd * ff
    more = layers * embd * ff / 2 * (6.5625 - 4.5) if kind == "Q4_K_M" else 0  # half of the down projections in Q6_K
    return (layers * layer * BITS[kind] + more + vocab * embd * OUTPUT.get(kind, BITS[kind])) / 8 + 4.0 * layers * kv * head * ctx


def bandwidths():
    """GB/s and name of every machine of the library."""
    out, key, name = {}, None, ""
    for line in open("libcore/probe/parts.yaml"):
        if m := re.match(r"([a-z][^:]*):$", line):
            key = m[1]
        elif m := re.match(r"  name: (.*)", line):
            name = m[1]
        elif m := re.match(r"\s+memory_gb_s: \[([\d.]+)", line):
            out[key] = float(m[1]), name
    return out


def main():
    rates, rows = bandwidths(), {}
    for line in open("tests/golden/plans/pairs.tsv"):
        if not line.startswith("fit\t"):
            continue
        _, machine, model, kind, place, ctx, rate, *_ = line.split("\t")
        if rate == "-" or place == "part":
            continue
        gb_s, name = rates[machine.split("*")[0]]
        maker = "host" if place == "host" else next(x for x in ("NVIDIA", "Apple", "AMD", "Intel") if x in name)
        rows.setdefault(maker, []).append((line.split("\t")[1:4], step_bytes(model, kind, int(ctx)) / gb_s * 1e-9, MODELS[model][0], float(rate)))
    for maker, some in rows.items():
        tries = ((d / 100, us) for d in range(30, 101) for us in ((0,) if maker == "host" else range(0, 401, 4)))
        predict = lambda t, best: 1 / (t[1] / best[0] + t[2] * best[1] * 1e-6)
        best = min(tries, key=lambda b: sum(math.log(predict(r, b) / r[3]) ** 2 for r in some))
        print(f"{maker}: decode {best[0]:.2f}, layer_us {best[1]}")
        for r in some:
            print(f"    {' '.join(r[0]):40} {r[3]:8.2f} published, {predict(r, best):8.2f}: {100 * predict(r, best) / r[3] - 100:+.0f} %")


main()
