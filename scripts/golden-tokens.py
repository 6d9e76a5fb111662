#!/usr/bin/env python3
"""Write tests/golden/tokens/: tiny vocabularies trained here on made-up text, and the ids that the packages sentencepiece
and tokenizers give for some texts.

    scripts/golden-tokens.py

NAME.gguf      a vocabulary and nothing else
NAME.json      ids of each text of texts.json; "flags": 1 where special tokens' text is parsed
texts.json     the texts
splits.json    for each pre-tokenizer the byte lengths of each text's pieces"""
import json
import random
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import tokenlib as lib

OUT = Path(__file__).parent.parent / "tests/golden/tokens"
EXTRA = ["I'll say 'tis don't WE'LL she'd I'VE", "x = 1234567.89; y=0x1F // 12,345", "def f(a):\n    return a  + 1\n\n\n# end\n", "e<added>f<add>g<|end|>h<ud>\n\n",
         "a" * 150, "HelloWORLDsABCdef'S", " leading and trailing  ", "ﬁﬀ ½ Ⅳ İı ß ſ", "한국어 我们 にほんご ไทย", "\u00a0\u3000\u2003x\u2028y\u0085z", "123456789012 12 1,234",
         "👩‍🚀🇩🇪😀", "é e\u0301 e\u0308\u0323", "<sentinel:12>IMGIMGABZ", "\t\tif (x) {\r\n\t}\r\n", "((a|b))...!!??--__++==", "<s></s><unk>[CLS][MASK]", "﷽ ‏x"]


def put(name, what):
    (OUT / name).write_text(json.dumps(what, ensure_ascii=True, separators=(",", ":")).replace("],[", "],\n[") + "\n")


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    lines = lib.corpus(2000, seed=3)
    texts = EXTRA + lib.random_texts(90, 11)
    put("texts.json", texts)
    rules = tempfile.NamedTemporaryFile("w", suffix=".tsv")
    rules.write("FB01\t66 69\nBD\t31 2044 32\n41\t61\nA0\t20\n3000\t20\n9\t20\nA\t20\nD\t20\nD A\t20\nAD\t\n65 301\tE9\n")
    rules.flush()
    identity = dict(normalization_rule_name="identity", remove_extra_whitespaces=False)
    for name, options in {
            "spm": dict(model_type="bpe", vocab_size=900, byte_fallback=True, **identity),
            "spm-rules": dict(model_type="bpe", vocab_size=500, normalization_rule_tsv=rules.name),
            "spm-user": dict(model_type="bpe", vocab_size=800, byte_fallback=True, add_dummy_prefix=False, split_by_whitespace=False,
                             user_defined_symbols=["<ud>", "\n\n"], **identity),
            "unigram": dict(model_type="unigram", vocab_size=500, normalization_rule_tsv=rules.name),
            "unigram-bytes": dict(model_type="unigram", vocab_size=800, byte_fallback=True, **identity)}.items():
        blob = lib.train_spm(lines, **options)
        lib.spm_gguf(OUT / (name + ".gguf"), blob)
        put(name + ".json", {"flags": 0, "ids": lib.spm_ids(blob, texts)})
    for name, pre in (("bpe-gpt2", "gpt-2"), ("bpe-llama", "llama-bpe"), ("bpe-deepseek", "deepseek-v3")):
        t = lib.train_bpe(lines, 800, pre, ignore_merges=pre == "llama-bpe", added=["<add>", "<added>", "  \n"])
        lib.bpe_gguf(OUT / (name + ".gguf"), t, pre)
        put(name + ".json", {"flags": 1, "ids": lib.hf_ids(t, texts)})
    t = lib.train_raw_bpe(lines, 900)
    lib.raw_bpe_gguf(OUT / "bpe-raw.gguf", t)
    put("bpe-raw.json", {"flags": 1, "ids": lib.hf_ids(t, texts)})
    for name, lower in (("wpm", True), ("wpm-cased", False)):
        t = lib.train_wpm(lines, 800, lower)
        lib.wpm_gguf(OUT / (name + ".gguf"), t, lower)
        put(name + ".json", {"flags": 1, "ids": lib.hf_ids(t, texts)})
    put("splits.json", {pre: lib.split(pre, texts) for pre in lib.PRE})


main()
