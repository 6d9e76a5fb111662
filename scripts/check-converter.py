#!/usr/bin/env python3
"""Tiny checkpoints of every family, written by the public converter, against transformers in float64.

  check-converter.py --converter DIR --infer-run PROGRAM [--only NAME]... [--keep DIR]

DIR holds convert_hf_to_gguf.py of llama.cpp.  Needs torch, transformers, gguf, numpy, and what the converter needs; not part of
make check.  For each config of converter_cases.py: a checkpoint is drawn and evaluated, the converter writes the GGUF file, and
infer-run scores the same ids with an f32 cache; no log-probability may be off by more than 1e-4.  Prints a table; exit 1 where
a verdict is not the one that the case expects.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import checkpoint  # noqa: E402
from converter_cases import CASES  # noqa: E402

BOUND = 1e-4


def text_of(ids, n_vocab):
    tokens = checkpoint.tokenizer(n_vocab)["tokenizer.ggml.tokens"]
    return "".join(tokens[i] for i in ids)


def prepare(name, case, folder):
    """Save the checkpoint; the ids and the log-probabilities that transformers gives for them."""
    config, model = checkpoint.from_hub(case["config"])
    rng = np.random.default_rng([*name.encode()])
    state = checkpoint.fill(name, model, rng, case["config"]["model_type"].startswith("gemma"))
    n = min(case["config"]["vocab_size"] - 8, 64)       # letters that no merge joins
    ids = [int(t) for t in rng.integers(0, n, case["n"])]
    checkpoint.save(os.path.join(folder, name), case["config"], state)
    y = checkpoint.expect(model, ids)
    m = y.max(-1, keepdims=True)
    p = y - m - np.log(np.exp(y - m).sum(-1, keepdims=True))
    return ids, p[np.arange(len(ids) - 1), ids[1:]], float(y.std())


def ours(program, path, case, ids):
    """Log-probabilities, or the one line that refuses the file."""
    cmd = [program, "-m", path, "--score", "--json", "--raw", "--no-stdin", "--kv-type", "f32", "-t", "1"]
    if case.get("ctx"):
        cmd += ["-c", str(case["ctx"])]
    p = subprocess.run(cmd + ["-f", "-"], input=text_of(ids, case["config"]["vocab_size"]).encode(), capture_output=True)
    if p.returncode:
        return None, p.stderr.decode().strip()
    r = json.loads(p.stdout)
    if r["tokens"] != ids:
        raise SystemExit(f"{path}: other tokens than were meant")
    return np.array(r["logprobs"][1:]), None


def verdict(program, path, case, ids, want):
    got, why = ours(program, path, case, ids)
    if got is None:
        return "refused", why.split(".gguf: ")[-1]
    off = np.abs(got - want).max()
    return ("right" if off <= BOUND else "wrong"), f"{off:.2g}"


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--converter", default=os.environ.get("GGUF_CONVERTER"), help="folder of convert_hf_to_gguf.py (GGUF_CONVERTER)")
    a.add_argument("--infer-run", required=True)
    a.add_argument("--only", action="append")
    a.add_argument("--keep", help="leave checkpoints and files here")
    o = a.parse_args()
    if not o.converter:
        raise SystemExit("--converter: the folder of convert_hf_to_gguf.py is needed")
    checkpoint.use_float64()
    cases = {k: c for k, c in CASES.items() if not o.only or k in o.only}
    bad = 0
    with tempfile.TemporaryDirectory() as tmp:
        folder = os.path.abspath(o.keep or tmp)
        truth = {}
        for name, case in cases.items():
            try:
                truth[name] = prepare(name, case, folder)
            except (KeyError, ValueError) as e:
                raise SystemExit(f"{name}: transformers does not take the config: {e}")
        failed = checkpoint.convert(o.converter, [os.path.join(folder, name) for name in cases])
        print("| config | what it has | verdict | largest deviation, or why |\n|---|---|---|---|")
        for name, case in cases.items():
            ids, want, spread = truth[name]
            path = os.path.join(folder, name)
            if failed[path]:
                word, why = "not converted", failed[path]
            else:
                word, why = verdict(o.infer_run, path + ".gguf", case, ids, want)
            expected = case.get("verdict", "right")
            note = f" ({case['why']})" if "why" in case else ""
            if word != expected or spread < 1:
                bad += 1
                note += f" **expected {expected}; logits spread {spread:.2f}**"
            print(f"| {name} | {case['what']} | {word} | {why}{note} |", flush=True)
    if bad:
        raise SystemExit(f"{bad} of {len(cases)} are not as expected")


if __name__ == "__main__":
    main()
