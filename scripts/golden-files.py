#!/usr/bin/env python3
"""Write tests/golden/files/NAME.txt: what the PyPI package gguf (0.19) reads in the GGUF files of ../shared.

    scripts/golden-files.py FILE.gguf...

    info VERSION KEYS TENSORS ALIGNMENT BYTES
    key KEY TYPE ELEMENT-TYPE COUNT SHA256          of the value's bytes as they lie in the file, without an array's head
    tensor NAME TYPE NE0 NE1 NE2 NE3 OFFSET BYTES SHA256"""
import hashlib, pathlib, sys
from gguf import GGUFReader, GGUFValueType

sha = lambda b: hashlib.sha256(b).hexdigest()
out = pathlib.Path("tests/golden/files")
out.mkdir(parents=True, exist_ok=True)
for path in map(pathlib.Path, sys.argv[1:]):
    r = GGUFReader(path)
    keys = [f for name, f in r.fields.items() if not name.startswith("GGUF.")]
    lines = [f"info {r.fields['GGUF.version'].contents()} {len(keys)} {len(r.tensors)} {r.alignment} {path.stat().st_size}"]
    for f in keys:
        array = f.types[0] == GGUFValueType.ARRAY
        value = b"".join(p.tobytes() for p in f.parts[5 if array else 3:])
        count = int(f.parts[4][0]) if array else 1
        lines.append(f"key {f.name} {int(f.types[0])} {int(f.parts[3][0]) if array else int(f.types[0])} {count} {sha(value)}")
    for t in r.tensors:
        ne = [int(x) for x in t.shape] + [1] * (4 - len(t.shape))
        lines.append(f"tensor {t.name} {t.tensor_type.name} {' '.join(map(str, ne))} {t.data_offset} {t.n_bytes} {sha(t.data.tobytes())}")
    (out / (path.stem + ".txt")).write_text("\n".join(lines) + "\n")
