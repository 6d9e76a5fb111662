#!/usr/bin/env python3
"""Write tests/golden/keys/converter.txt: the keys that the public converter may write for each architecture of ours.

    scripts/golden-keys.py DIR

DIR contains the source of llama.cpp: conversion/*.py and gguf-py.  A line: the architecture, and its keys without the prefix.  They
are read from the syntax tree, so a key that only some checkpoints get is there too.  tests/unit/arch/test_keys_all wants each of
them to be known.  Run it again for a newer converter."""
import ast
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
OUT = ROOT / "tests/golden/keys/converter.txt"
# of draft models, which have architectures of their own
DRAFT = {"target_layers", "target_hidden_size", "norm_before_residual", "norm_before_fc"}
KEY = r"Keys\.[A-Za-z_.]+[A-Z_]+"


def constants(path):
    """"Keys.X.Y" -> its text, and MODEL_ARCH's members -> names of architectures."""
    keys, names = {}, {}

    def walk(node, prefix):
        for n in node.body:
            if isinstance(n, ast.ClassDef):
                walk(n, prefix + "." + n.name)
            elif isinstance(n, ast.Assign) and isinstance(n.value, ast.Constant):
                keys[prefix + "." + n.targets[0].id] = n.value.value

    for n in ast.parse(path.read_text()).body:
        if isinstance(n, ast.ClassDef) and n.name == "Keys":
            walk(n, "Keys")
        target = n.targets[0] if isinstance(n, ast.Assign) else getattr(n, "target", None)
        if isinstance(target, ast.Name) and target.id == "MODEL_ARCH_NAMES":
            names = {k.attr: v.value for k, v in zip(n.value.keys, n.value.values)}
    return keys, names


def writers(path, keys):
    """Methods add_... of GGUFWriter -> the keys that each writes."""
    for c in ast.parse(path.read_text()).body:
        if isinstance(c, ast.ClassDef) and c.name == "GGUFWriter":
            return {f.name: [keys[k] for k in re.findall(KEY, ast.unparse(f)) if k in keys] for f in c.body if isinstance(f, ast.FunctionDef)}
    sys.exit("golden-keys: no GGUFWriter in %s" % path)


def read_classes(folder):
    """Class -> its bases, the name of its architecture or None, and the source of its methods but those of vocabularies."""
    out = {}
    for path in sorted(folder.glob("*.py")):
        for c in ast.walk(ast.parse(path.read_text())):
            if not isinstance(c, ast.ClassDef):
                continue
            arch, source = None, ""
            for n in c.body:
                targets = [n.target] if isinstance(n, ast.AnnAssign) else getattr(n, "targets", [])
                if any(isinstance(t, ast.Name) and t.id == "model_arch" for t in targets) and n.value is not None:
                    found = re.search(r"MODEL_ARCH\.(\w+)", ast.unparse(n))
                    arch = found and found.group(1)
                if isinstance(n, ast.FunctionDef) and n.name != "set_vocab":
                    source += ast.unparse(n) + "\n"
            out[c.name] = ([ast.unparse(b).split(".")[-1] for b in c.bases], arch, source)
    return out


def ancestors(classes, name):
    out = [name]
    for base in classes[name][0]:
        if base in classes:
            out += [x for x in ancestors(classes, base) if x not in out]
    return out


def ours():
    return {re.search(r'\.gguf = "([^"]+)"', p.read_text()).group(1) for p in (ROOT / "libcore/arch/models").glob("*.c")}


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    keys, names = constants(Path(sys.argv[1]) / "gguf-py/gguf/constants.py")
    adds = writers(Path(sys.argv[1]) / "gguf-py/gguf/gguf_writer.py", keys)
    classes, got = read_classes(Path(sys.argv[1]) / "conversion"), {name: set() for name in ours()}
    for name in classes:
        line = ancestors(classes, name)
        source = "".join(classes[x][2] for x in line)
        archs = [next((classes[x][1] for x in line if classes[x][1]), None)]
        archs += re.findall(r"MODEL_ARCH\.(\w+)", " ".join(re.findall(r"self\.model_arch = .*", source)))
        written = [k for a in re.findall(r"gguf_writer\.(add_\w+)", source) for k in adds.get(a, [])]
        written += [keys[k] for k in re.findall(KEY, source) if k in keys]
        for arch in {names.get(a) for a in archs} & set(got):
            got[arch] |= {k[7:] for k in written if k.startswith("{arch}.")}
    lines = []
    for arch in sorted(got):
        if not got[arch]:
            sys.exit("golden-keys: no class of the converter is for %s" % arch)
        plain = {k.replace("{dense}", "dense_%d" % n) for k in got[arch] for n in (2, 3)}
        lines.append(arch + " " + " ".join(sorted(plain - DRAFT)))
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text("\n".join(lines) + "\n")


main()
