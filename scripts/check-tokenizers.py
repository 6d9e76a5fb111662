#!/usr/bin/env python3
"""Compare our tokenizers with those of the packages sentencepiece and tokenizers on random strings, and split every code point with
every pre-tokenizer.  Not part of `make check`: needs the packages named in tokenlib.py, and unicodedata2.

    make build/release/tests/tools/tokenize && scripts/check-tokenizers.py [TOOL] [N | points [PRE...]]

TOOL: build/release/tests/tools/tokenize; N: strings for each tokenizer, 10000.  points: every code point only, through all
pre-tokenizers (minutes) or those named."""
import subprocess
import sys
import tempfile
from pathlib import Path

import unicodedata2 as u

sys.path.insert(0, str(Path(__file__).parent))
import tokenlib as lib

TOOL = sys.argv[1] if len(sys.argv) > 1 else "build/release/tests/tools/tokenize"
POINTS = sys.argv[2:3] == ["points"]
N = int(sys.argv[2]) if len(sys.argv) > 2 and not POINTS else 10000


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


def check_points(names):
    """Every assigned code point among others, and in runs with its neighbours, through the expressions of each pre-tokenizer."""
    points = [cp for cp in range(0x110000) if u.category(chr(cp)) not in ("Cn", "Cs") and (cp < 0xF0000 or cp % 256 == 0)]
    texts = [lib.around(cp) for cp in points]
    runs = ["".join(map(chr, points[i:i + 16])) for i in range(0, len(points), 8)]
    texts += [form % run for run in runs for form in ("%s", "a%s 1", " %s\n", "1%s!")]
    bad = 0
    for pre in names:
        theirs = lib.split(pre, texts)
        ours = [[int(x) for x in line.split()] for line in run(["-p", pre], texts)]
        bad += report("points " + pre, texts, ours, theirs)
    return bad


def main():
    bad = 0
    if POINTS:
        sys.exit(check_points(sys.argv[3:] or lib.PRE) != 0)
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
    bad += check_points(lib.PRE)
    sys.exit(bad != 0)


main()
