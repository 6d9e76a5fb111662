#!/usr/bin/env python3
"""Make tests/golden/hf/types.txt: which tensors the public converter writes as F32 where the others are BF16; and
tests/golden/hf/f8.txt: the 256 values of the two types of 8 bits, as the bits of BF16 in hexadecimal, by torch.

  golden-hf-types.py CONVERTER    CONVERTER is the folder of convert_hf_to_gguf.py (needs torch, transformers, gguf, numpy)

A checkpoint of each tests/golden/hf/config/*.json and of each case of golden-encoders.py is drawn and converted with --outtype bf16.  A line: architecture, the name of
a tensor without its layer, F32 or BF16, between tabs.
"""
import glob
import importlib.util
import json
import os
import re
import sys
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import checkpoint  # noqa: E402

GOLDEN = os.path.join(HERE, "..", "tests", "golden", "hf")


def types_of(path):
    import gguf
    r = gguf.GGUFReader(path)
    arch = bytes(r.fields["general.architecture"].parts[-1]).decode()
    for t in r.tensors:
        yield arch, re.sub(r"^blk\.\d+\.", "", t.name), t.tensor_type.name


def encoders(d):
    """Folders of the cases of golden-encoders.py, but the one whose file depends on the name of its folder."""
    spec = importlib.util.spec_from_file_location("golden_encoders", os.path.join(HERE, "golden-encoders.py"))
    e = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(e)
    for name, case in e.CASES.items():
        if case.get("rank") == 2:
            continue
        model = e.model_of(case.get("config", case["hub"]))
        checkpoint.fill(name, model, np.random.default_rng(1), False)
        path = os.path.join(d, "encoder-" + name)
        checkpoint.save(path, case["hub"], e.saved(model))
        e.tokenizer(path, case["hub"]["vocab_size"])
        yield path


def write_f8():
    import torch
    with open(os.path.join(GOLDEN, "f8.txt"), "w") as f:
        for name, dtype in ("F8_E4M3", torch.float8_e4m3fn), ("F8_E5M2", torch.float8_e5m2):
            x = torch.arange(256, dtype=torch.uint8).view(dtype).bfloat16()
            f.write(" ".join([name, *(f"{v & 0xffff:04x}" for v in x.view(torch.int16).tolist())]) + "\n")


def main():
    converter = sys.argv[1]
    write_f8()
    lines = set()
    with tempfile.TemporaryDirectory() as d:
        paths = []
        for path in sorted(glob.glob(os.path.join(GOLDEN, "config", "*.json"))):
            with open(path) as f:
                config = json.load(f)
            name = os.path.basename(path)[:-5]
            config["vocab_size"] = min(config["vocab_size"], 128)
            _, model = checkpoint.from_hub(config)
            state = checkpoint.fill(name, model, np.random.default_rng(1), False)
            paths.append(os.path.join(d, name))
            checkpoint.save(paths[-1], config, state)
        paths += encoders(d)
        for path, why in checkpoint.convert(converter, paths, "bf16").items():
            if why:
                print(f"{os.path.basename(path)}: {why}")
            else:
                lines |= set(types_of(path + ".gguf"))
    with open(os.path.join(GOLDEN, "types.txt"), "w") as f:
        f.write("# made by scripts/golden-hf-types.py, which says what the lines mean\n")
        f.writelines("\t".join(l) + "\n" for l in sorted(lines))


if __name__ == "__main__":
    main()
