#!/usr/bin/env python3
"""Make tests/golden/gptq/ again: Hessians of tiny models of tests/golden/logits, and a small matrix rounded by GPTQ, all in float64.

Needs numpy and gguf.  Read by tests/unit/quant/test_gptq.c.

NAME.txt, a model:
  case FILE WINDOW N ID...
  hessian TENSOR MATRIX ROWS SUM X...    the sum of the upper triangle, and elements (i, (5 i + 3) mod k), i = 0 ... 5
round.txt, ROWS rows of COLUMNS columns as Q1_0, whose scale is a mean and needs no search:
  row D CODES D CODES ...                for each block of 128 the bits of the f16 d, and the codes in hex, lowest first
"""
import importlib
import pathlib
import sys

import numpy as np

here = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(here))
imatrix = importlib.import_module("golden-imatrix")

OUT = here.parent / "tests/golden/gptq"
HEAD = "# made by scripts/golden-gptq.py, which says what the lines mean"
ROWS, COLUMNS, TEXT, BLOCK, DAMPING = 4, 512, 96, 128, 0.01


class Summed(imatrix.Watched):
    def see(self, key, rows):
        h, n = self.seen.get(key, (0, 0))
        self.seen[key] = (h + rows.T @ rows, n + len(rows))


def noise(first, n):
    """The numbers that the test makes too: about normal, and exact in float32."""
    z = np.arange(first, first + n, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ z >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ z >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return (sum((z >> np.uint64(s) & np.uint64(65535)).astype(np.int64) for s in (0, 16, 32, 48)) - 131070) * 2.0**-16


def gptq(w, x):
    """Algorithm 1 of Frantar and others, 2022, with the scale of a block taken where it begins; every step on its own."""
    h = x.T @ x
    importance = np.diag(h) / len(x)
    h += np.eye(len(h)) * DAMPING * np.diag(h).mean()
    u = np.linalg.cholesky(np.linalg.inv(h)).T
    rows, least = [], np.inf
    for r in w.copy():
        blocks = []
        for j in range(len(r)):
            if j % BLOCK == 0:
                at = slice(j, j + BLOCK)
                weight = importance[at]
                d = float(np.float16((weight * abs(r[at])).sum() / weight.sum()))
                blocks.append([d, 0])
            least = min(least, abs(r[j]))
            q = r[j] >= 0
            blocks[-1][1] |= int(q) << j % BLOCK
            r[j:] -= (r[j] - (d if q else -d)) / u[j, j] * u[j, j:]
        rows.append(blocks)
    assert least > 2e-5, "a weight so near to 0 that floats may give it the other sign: take another seed"
    return rows


def main():
    OUT.mkdir(exist_ok=True)
    for path, m, ids in imatrix.measured(Summed):
        lines = [HEAD, f"case {path.name} 32 {len(ids)} " + " ".join(map(str, ids))]
        for (tensor, e), (h, n) in sorted(m.seen.items()):
            if tensor.startswith("blk."):
                some = [np.triu(h).sum()] + [h[i, (5 * i + 3) % len(h)] for i in range(6)]
                lines.append(f"hessian {tensor} {e} {n} " + " ".join(f"{v:.9g}" for v in some))
        (OUT / f"{path.stem}.txt").write_text("\n".join(lines) + "\n")
    x = noise(1, TEXT * COLUMNS).reshape(TEXT, COLUMNS)
    x[:, 1:] += x[:, :-1]  # neighbours go together
    lines = [HEAD]
    for row in gptq(noise(1000000, ROWS * COLUMNS).reshape(ROWS, COLUMNS), x):
        lines.append("row " + " ".join(f"{np.float16(d).view(np.uint16)} {codes:032x}" for d, codes in row))
    (OUT / "round.txt").write_text("\n".join(lines) + "\n")


main()
