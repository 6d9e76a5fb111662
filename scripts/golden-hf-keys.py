#!/usr/bin/env python3
"""Make tests/golden/hf/keys.jsonl: the GGUF keys that the public converter writes for a config.json.

  golden-hf-keys.py CONVERTER     rewrite the file (needs transformers, gguf, torch)

CONVERTER is the folder of convert_hf_to_gguf.py of llama.cpp, which is no part of this project.  A line for each case:
{"name", "config", "keys": [[key, type, value] ...], "factors": {tensor: values}}.  "config" is left out if the config is tests/golden/hf/config/NAME.json or
tests/golden/encoders/NAME.json.  Only keys of the architecture are kept; those of the vocabulary, general.* and tensors are
compared elsewhere.  tests/unit/hf/test_keys reads the file.  No weights are needed: the converter's classes see no tensors.
"""
import json
import logging
import math
import os
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
GOLDEN = HERE.parent / "tests" / "golden"
sys.path.insert(0, str(HERE))
from converter_cases import CASES  # noqa: E402
from hf_key_cases import MORE  # noqa: E402


def all_cases():
    """name, config, whether the golden file has to hold the config"""
    for folder in (GOLDEN / "hf" / "config", GOLDEN / "encoders"):
        for path in sorted(folder.glob("*.json")):
            yield path.stem, json.loads(path.read_text()), False
    for name, case in CASES.items():
        yield "case-" + name, case["config"], True
    for name, config in MORE.items():
        yield name, config, True


def prepare(converter):
    """The converter's classes, without tensors and vocabulary; returns a function from a folder to keys."""
    sys.path.insert(0, converter)
    import convert_hf_to_gguf as program
    import gguf
    from conversion import base
    logging.disable(logging.CRITICAL)
    base.ModelBase.index_tensors = lambda self, *args, **kwargs: {}
    base.ModelBase.get_tensors = lambda self: iter(())

    def keys_of(folder):
        path = Path(folder)
        hparams = base.ModelBase.load_hparams(path, False)
        name = base.get_model_architecture(hparams, base.ModelType.TEXT)
        name = {"Mistral4ForCausalLM": "Ministral3ForCausalLM"}.get(name, name)
        cls = program.get_model_class(name)
        if name.startswith("Qwen3"): # whose classes expect tensors of layers that predict further tokens
            cls.no_mtp = True
        more = {"sentence_transformers_dense_modules": True} if (path / "2_Dense").exists() else {}
        m = cls(path, gguf.LlamaFileType.ALL_F32, path / "out.gguf", **more)
        m = getattr(m, "impl", m)
        m.set_gguf_parameters()
        factors = {k: v.tolist() for k, v in m.generate_extra_tensors() if k.startswith("rope_")}
        return m.gguf_writer.arch, m.gguf_writer.kv_data[0], factors

    return keys_of


def plain(v):
    """JSON has no infinite numbers."""
    if isinstance(v, float) and not math.isfinite(v):
        return str(v)
    return v.item() if hasattr(v, "item") else [plain(x) for x in v] if isinstance(v, (list, tuple)) else v


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    keys_of = prepare(sys.argv[1])
    lines = []
    for name, config, own in all_cases():
        with tempfile.TemporaryDirectory() as d:
            for file, text in config.get("files", {}).items():
                os.makedirs(os.path.dirname(os.path.join(d, file)) or d, exist_ok=True)
                Path(d, file).write_text(json.dumps(text))
            Path(d, "tokenizer.json").write_text(json.dumps({"model": {"type": "WordPiece", "vocab": {}}}))
            Path(d, "config.json").write_text(json.dumps({k: v for k, v in config.items() if k != "files"}))
            try:
                arch, found, factors = keys_of(d)
            except Exception as e:
                print("%s: %s: %s" % (name, type(e).__name__, e), file=sys.stderr)
                if isinstance(e, (KeyError, ValueError, AssertionError)):
                    continue
                raise
        keys = []
        for k, v in found.items():
            if k == "general.architecture" or k.startswith(arch + "."):
                kind = "arr:" + v.sub_type.name.lower() if v.sub_type is not None else v.type.name.lower()
                if kind.startswith("array"):
                    first = v.value[0]
                    kind = "arr:" + ("bool" if isinstance(first, bool) else "int32" if isinstance(first, int) else "float32" if isinstance(first, float) else "string")
                keys.append([k, kind, plain(v.value)])
        line = {"name": name, "keys": keys}
        if factors:
            line["factors"] = factors
        if own:
            line["config"] = config
        lines.append(json.dumps(line, separators=(",", ":")))
    (GOLDEN / "hf" / "keys.jsonl").write_text("\n".join(lines) + "\n")
    print("golden-hf-keys: %d cases" % len(lines))


if __name__ == "__main__":
    main()
