#!/usr/bin/env python3
"""Make tests/golden/imatrix/ again: the importances of two tiny models of tests/golden/logits, one with experts, over a few windows.

Needs numpy and gguf.  What is multiplied with each matrix is taken from scripts/eval_gguf.py, in float64.

NAME.txt, read by tests/unit/quant/test_imatrix.c:
  case FILE WINDOW N ID...
  sums TENSOR MATRIX COUNT X...          a sum of squares for each column
"""
import pathlib
import sys

import numpy as np

here = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(here))
import eval_gguf  # noqa: E402

golden = here.parent / "tests/golden"


class Watched(eval_gguf.Model):
    """Behind the attention of the last layer only rows that predict a token of the window are computed: not the last one."""

    def ffn(self, h, il):
        if il != self.n_layer - 1:
            return super().ffn(h, il)
        y, seen = super().ffn(h[:-1], il), dict(self.seen)
        y = np.concatenate([y, super().ffn(h[-1:], il)])
        self.seen = seen
        return y

    def mm(self, x, name, expert=None):
        rows = x.reshape(-1, x.shape[-1])
        if name == f"blk.{self.n_layer - 1}.attn_output":
            rows = rows[:-1]
        self.see((name + ".weight", expert or 0), rows)
        return super().mm(x, name, expert)

    def see(self, key, rows):
        s, n = self.seen.get(key, (0, 0))
        self.seen[key] = (s + (rows * rows).sum(0), n + len(rows))


def measured(kind):
    """Models that have read two windows, and the tokens."""
    rng = np.random.default_rng(5)
    for name in ("llama-gqa", "qwen3moe", "phi3"):
        path = golden / f"logits/{name}.gguf"
        keys, tensors = eval_gguf.load(str(path))
        m = kind(keys, tensors, kv="f32")
        m.seen = {}
        n_vocab = len(tensors["token_embd.weight"][0])
        ids = [int(t) for t in rng.integers(0, n_vocab - 1, 70)]
        for at in (0, 32):
            m.logits(ids[at:at + 32])
        yield path, m, ids


def main():
    out = golden / "imatrix"
    out.mkdir(exist_ok=True)
    for path, m, ids in measured(Watched):
        name = path.stem
        lines = ["# made by scripts/golden-imatrix.py, which says what the lines mean",
                 f"case {path.name} 32 {len(ids)} " + " ".join(map(str, ids))]
        for (tensor, e), (s, n) in sorted(m.seen.items()):
            if tensor.startswith("blk."):
                lines.append(f"sums {tensor} {e} {n} " + " ".join(f"{x:.12g}" for x in s))
        (out / f"{name}.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
