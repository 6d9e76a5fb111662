#!/usr/bin/env python3
"""Compare our tokenizers with those of the packages sentencepiece and tokenizers on random strings.  Not part of `make check`: needs the packages named in tokenlib.py.

    make build/release/tests/tools/tokenize && scripts/check-tokenizers.py [TOOL] [N]

TOOL: build/release/tests/tools/tokenize; N: strings for each tokenizer, 10000."""
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import tokenlib as lib

TOOL = sys.argv[1] if len(sys.argv) > 1 else "build/release/tests/tools/tokenize"
N = int(sys.argv[2]) if len(sys.argv) > 2 else 10000


def run(args, texts):
    p = subprocess.run([TOOL] + args, input=lib.records(texts), capture_output=True, check=False)
    if p.returncode:
        sys.exit("%s: %s" % (args, p.stderr.decode()))
    return p.stdout.decode().split("\n")[:-1]


def report(name, texts, ours, theirs):
    bad = [i for i in range(len(texts)) if ours[i] != theirs[i]]
    print("%-28s %6d strings, %d differ" % (name, len(texts), len(bad)))
    for i in bad[:4]:
        print("  %r\n    ours   %s\n    theirs %s" % (texts[i], ours[i], theirs[i]))
    return len(bad)


def main():
    bad = 0
    lines = lib.corpus(3000)
    tmp = Path(tempfile.mkdtemp())
    texts = lib.random_texts(N, 7)
    spms = {
        "spm bpe bytes": dict(model_type="bpe", vocab_size=1200, byte_fallback=True, normalization_rule_name="identity", remove_extra_whitespaces=False),
        "spm bpe nfkc": dict(model_type="bpe", vocab_size=900, normalization_rule_name="nmt_nfkc"),
        "spm bpe no prefix": dict(model_type="bpe", vocab_size=1200, byte_fallback=True, add_dummy_prefix=False, normalization_rule_name="identity",
                                  remove_extra_whitespaces=False, user_defined_symbols=["<ud>", "\n\n"]),
        "spm bpe across words": dict(model_type="bpe", vocab_size=1200, byte_fallback=True, split_by_whitespace=False,
                                     normalization_rule_name="identity", remove_extra_whitespaces=False),
        "unigram": dict(model_type="unigram", vocab_size=600, normalization_rule_name="nmt_nfkc"),
        "unigram nfkc_cf": dict(model_type="unigram", vocab_size=600, normalization_rule_name="nmt_nfkc_cf"),
        "unigram bytes": dict(model_type="unigram", vocab_size=900, byte_fallback=True, normalization_rule_name="identity",
                              remove_extra_whitespaces=False),
    }
    for name, options in spms.items():
        blob = lib.train_spm(lines, **options)
        lib.spm_gguf(tmp / "m.gguf", blob)
        ours = [[int(x) for x in l.split()] for l in run([str(tmp / "m.gguf")], texts)]
        bad += report(name, texts, ours, lib.spm_ids(blob, texts))
    for pre in ("gpt-2", "llama-bpe", "qwen2", "gpt-4o", "deepseek-v3", "starcoder", "falcon", "deepseek-coder"):
        t = lib.train_bpe(lines, 1500, pre, ignore_merges=pre == "llama-bpe", added=["<add>", "<added>", "  \n"])
        lib.bpe_gguf(tmp / "m.gguf", t, pre)
        more = [x.replace("e", "<added>", 1).replace("i", "<add>", 1) if i % 5 == 0 else x for i, x in enumerate(texts)]
        ours = [[int(x) for x in l.split()] for l in run(["-s", str(tmp / "m.gguf")], more)]
        bad += report("bpe " + pre, more, ours, lib.hf_ids(t, more))
    t = lib.train_raw_bpe(lines, 1500)
    lib.raw_bpe_gguf(tmp / "m.gguf", t)
    bad += report("bpe gemma4", texts, [[int(x) for x in l.split()] for l in run([str(tmp / "m.gguf")], texts)], lib.hf_ids(t, texts))
    for lower in (True, False):
        t = lib.train_wpm(lines, 1200, lower)
        lib.wpm_gguf(tmp / "m.gguf", t, lower)
        ours = [[int(x) for x in l.split()] for l in run([str(tmp / "m.gguf")], texts)]
        bad += report("wordpiece" + (" lower" if lower else ""), texts, ours, lib.hf_ids(t, texts))
    for pre in lib.PRE:
        theirs = lib.split(pre, texts)
        ours = [[int(x) for x in l.split()] for l in run(["-p", pre], texts)]
        bad += report("split " + pre, texts, ours, theirs)
    sys.exit(bad != 0)


main()
