#!/usr/bin/env python3
"""Make tests/golden/routes/routes.txt: which experts a router picks and with what weights, in float64 with numpy.

Each case is one line of numbers:
  NAME experts used gating(0 softmax, 1 sigmoid) renormalise(0 1) scale has_bias  bias...  logits...  ids...  weights...
The best `used` experts by score (softmax of the logits, or sigmoid) plus bias, equal ones to the lower id; weights are
the scores without the bias, made to add to 1 where asked, times scale.  Logits and biases are float32 numbers, and no two
of the best sums that differ lie within 1e-5, so float32 arithmetic picks the same; ties are exact in any arithmetic.
"""
import os

import numpy as np

OUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "golden", "routes", "routes.txt")


def route(logits, used, gating, renorm, scale, bias):
    e = np.exp(logits - logits.max())
    score = 1 / (1 + np.exp(-logits)) if gating else e / e.sum()
    by = score + bias
    ids = np.argsort(-by, kind="stable")[:used]
    w = score[ids]
    return ids, (w / w.sum() if renorm else w) * scale, by


def clear(by, used):
    gap = np.diff(np.sort(by)[-used - 1:])
    return not ((gap > 0) & (gap < 1e-5)).any()


def ties(kind, n, rng):
    """Logits with equal values: all, two blocks, the last pair, the edge of the choice, zeros of both signs."""
    if kind == "all":
        return np.full(n, 0.75)
    if kind == "blocks":
        return np.repeat([0.5, 1.5], [n // 2, n - n // 2])
    if kind == "pair":
        a = np.arange(n) * (8 / n) - 4
        a[-2] = a[-1]
        return a
    if kind == "zeros":
        a = np.zeros(n)
        a[::2] = -0.0
        return a
    return np.round(rng.standard_normal(n) * 2) / 2


def main():
    rng = np.random.default_rng(20)
    lines = []
    for name, n, used in (("small", 4, 2), ("one", 8, 1), ("all", 6, 6), ("odd", 37, 5), ("wide", 64, 8)):
        for gating in (0, 1):
            for renorm in (0, 1):
                for tie in ("none", "all", "blocks", "pair", "zeros", "steps"):
                    for biased in (0, 1) if gating else (0,):
                        scale = (1.0, 2.5)[renorm]
                        bias = np.round(rng.standard_normal(n) * biased * 8) / 32
                        while True:
                            a = (rng.standard_normal(n) if tie == "none" else ties(tie, n, rng)).astype(np.float32).astype(np.float64)
                            ids, w, by = route(a, used, gating, renorm, scale, bias)
                            if clear(by, used):
                                break
                            bias = np.round(rng.standard_normal(n) * 8) / 32 if biased else bias
                        fields = [name + "-" + tie, n, used, gating, renorm, scale, biased, *(bias if biased else [])]
                        lines.append(" ".join([str(f) for f in fields[:7]] + [f"{x:.9g}" for x in fields[7:]] +
                                              [f"{x:.9g}" for x in a] + [str(i) for i in ids] + [f"{x:.9g}" for x in w]))
    with open(OUT, "w") as f:
        f.write("# made by scripts/golden-routes.py, which says what the lines mean\n" + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
