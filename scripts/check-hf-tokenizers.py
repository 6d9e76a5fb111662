#!/usr/bin/env python3
"""Compare ids and decoded texts with the package tokenizers for every tokenizer.json of hf_token_cases.py: random strings, 1 MB of source
code and 1 MB of text in 20 languages.  Not part of `make check`: needs the packages named in tokenlib.py.

    make build/release/tests/tools/tokenize && scripts/check-hf-tokenizers.py [TOOL] [N] [NAME...]

N: random strings for each, 10000.  NAME: only cases whose name contains it."""
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import hf_token_cases as hf
import tokenlib as lib

ARGS = sys.argv[1:]
TOOL = ARGS.pop(0) if ARGS and "/" in ARGS[0] else "build/release/tests/tools/tokenize"
N = int(ARGS.pop(0)) if ARGS and ARGS[0].isdigit() else 10000


def ours(folder, texts):
    p = subprocess.run([TOOL, "-j", "-s", "-d", str(folder)], input=lib.records(texts), capture_output=True, check=False)
    if p.returncode:
        return p.stderr.decode().strip() or "exit %d" % p.returncode
    out = []
    for line in p.stdout.decode().split("\n")[:-1]:
        ids, _, text = line.partition("|")
        out.append(([int(x) for x in ids.split()], bytes.fromhex(text)))
    return out


def plain(b):
    """Bytes that are no text become U+FFFD, one or several in a row."""
    s = b.decode("utf-8", "replace")
    while "\ufffd\ufffd" in s:
        s = s.replace("\ufffd\ufffd", "\ufffd")
    return s


def main():
    lines = lib.corpus(3000)
    texts = hf.texts(N, 7)
    big = [hf.source(1000000), hf.languages(1000000)]
    bad = count = 0
    for name, t in hf.cases(lines):
        if ARGS and not any(a in name for a in ARGS):
            continue
        count += 1
        with tempfile.TemporaryDirectory() as tmp:
            t.save(str(Path(tmp) / "tokenizer.json"))
            got = ours(tmp, texts + big)
        if isinstance(got, str):
            print("%-30s %s" % (name, got))
            bad += 1
            continue
        theirs = lib.hf_ids(t, texts + big)
        ids = [i for i, (g, w) in enumerate(zip(got, theirs)) if g[0] != w]
        # a prefix space after BOS is not ours to write; of an added token that is matched in normalised text, `tokenizers` decodes the normalised content; next to special tokens of
        # WordPiece it writes a space
        odd = {t.token_to_id(a.content) for a in hf.FLAGS if a.normalized} - {None}
        loose = (lambda s: s.replace(" ", "")) if "WordPiece" in repr(t.model) else (lambda s: s)
        back = [i for i, (g, w) in enumerate(zip(got, theirs))
                if i not in ids and not odd & set(w) and (not w or t.id_to_token(w[0]) != "<s>") and loose(plain(g[1])) != loose(plain(hf.decoded(t, w).encode()))]
        print("%-30s %d strings, %d differ; %d texts differ when decoded" % (name, len(got), len(ids), len(back)), flush=True)
        for i in ids[:3]:
            s = (texts + big)[i]
            k = next((k for k, (a, b) in enumerate(zip(got[i][0], theirs[i])) if a != b), -1)
            tok = lambda x: [t.id_to_token(j) for j in x[max(0, k - 3):k + 5]]
            print("  %r\n    ours   %s\n    theirs %s" % (s[:150], tok(got[i][0]), tok(theirs[i])))
        for i in back[:2]:
            print("  decoded %r\n    ours   %r\n    theirs %r" % ((texts + big)[i][:80], got[i][1].decode("utf-8", "replace")[:80], hf.decoded(t, theirs[i])[:80]))
        bad += len(ids) + len(back)
    print("%d tokenizers, %d differences" % (count, bad))
    sys.exit(bad != 0)


main()
