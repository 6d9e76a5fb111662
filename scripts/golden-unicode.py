#!/usr/bin/env python3
"""Write tests/golden/unicode/: what the packages tokenizers (Oniguruma) and unicodedata2 say of every code point of one Unicode version.

    scripts/golden-unicode.py

classes.txt   a line for each class of code points: its name, how many it has, and a digest of them
splits.txt    a line for each pre-tokenizer: digests of the pieces of the texts of tokenlib.around, for blocks of 4096 code points
normal.txt    a line for each normal form: digests of what tokenizers makes of every code point, and of normal_text of it
new.txt       a line for each of some code points that Unicode 14.0 lacks, and a pre-tokenizer: the lengths of the pieces of "I XX aX !",
              X being the code point

A digest is the first 8 digits of a SHA-256.  Of a class: over the code points, u32 little-endian.  Of splits: over the pieces' lengths
in bytes, u8.  Needs, besides the packages of tokenlib.py, unicodedata2 of VERSION."""
import hashlib
import json
import struct
import sys
from pathlib import Path

import unicodedata2 as u
from tokenizers import Regex, normalizers, pre_tokenizers

sys.path.insert(0, str(Path(__file__).parent))
import tokenlib as lib

VERSION = "16.0.0"
OUT = Path(__file__).parent.parent / "tests/golden/unicode"
POINTS = [cp for cp in range(0x110000) if not 0xD800 <= cp < 0xE000]
ASSIGNED = [cp for cp in POINTS if u.category(chr(cp)) not in ("Cn", "Co")]
# scripts of thousands of letters that are all alike
LARGE = ((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xAC00, 0xD7A3), (0x17000, 0x18CFF), (0x20000, 0x323AF))
CLASSES = {c: r"\p{%s}" % c for c in "Cc Cf Cn Co Ll Lm Lo Lt Lu Mc Me Mn Nd Nl No Pc Pd Pe Pf Pi Po Ps Sc Sk Sm So Zl Zp Zs".split()}
CLASSES.update(space=r"\s", han=r"\p{Han}")


def digest(data):
    return hashlib.sha256(data).hexdigest()[:8]


def members(expression):
    """The code points that an expression of Oniguruma matches."""
    p, out = pre_tokenizers.Split(Regex(expression), "removed"), []
    for i in range(0, len(POINTS), 4096):
        part = POINTS[i:i + 4096]
        left = {ord(c) for piece, _ in p.pre_tokenize_str("".join(map(chr, part))) for c in piece}
        out += [cp for cp in part if cp not in left]
    return out


def put_classes():
    lower, rows = normalizers.Lowercase(), []
    for name, expression in CLASSES.items():
        has = members(expression)
        if len(name) == 2 and has != [cp for cp in POINTS if u.category(chr(cp)) == name]:
            sys.exit("golden-unicode: tokenizers and unicodedata2 have other code points in " + name)
        rows.append((name, has))
    # U+0130 becomes two code points, of which unicode_to_lower gives the first
    rows.append(("lower", [x for cp in ASSIGNED if lower.normalize_str(chr(cp)) != chr(cp) for x in (cp, ord(lower.normalize_str(chr(cp))[0]))]))
    rows.append(("nfd", [x for cp in ASSIGNED if u.normalize("NFD", chr(cp)) != chr(cp) for x in [cp] + [ord(c) for c in u.normalize("NFD", chr(cp))]]))
    rows.append(("ccc", [x for cp in ASSIGNED if u.combining(chr(cp)) for x in (cp, u.combining(chr(cp)))]))
    (OUT / "classes.txt").write_text("".join("%s %d %s\n" % (name, len(v), digest(struct.pack("<%dI" % len(v), *v))) for name, v in rows))


def normal_text(cp):
    """A code point with marks that change places with it, and next to what it may compose with: test_normal.c has the same."""
    return "{0}\u1100{0}\u11a8e\u0301{0}\u0334\u0301{0}".format(chr(cp))


def put_normal():
    rows = []
    for name in ("NFC", "NFD", "NFKC", "NFKD"):
        form = getattr(normalizers, name)()
        rows.append([name] + [digest("".join(form.normalize_str(text(cp)) for cp in POINTS).encode()) for text in (chr, normal_text)])
    (OUT / "normal.txt").write_text("".join(" ".join(r) + "\n" for r in rows))


def tested():
    return [cp for cp in ASSIGNED if cp % 64 == 0 or not any(lo <= cp <= hi for lo, hi in LARGE)]


def put_splits():
    blocks = {}
    for cp in tested():
        blocks.setdefault(cp >> 12, []).append(lib.around(cp))
    lines = ["blocks " + " ".join("%x" % b for b in blocks)]
    for pre in lib.PRE:
        lines.append(pre + " " + " ".join(digest(bytes(n for pieces in lib.split(pre, texts) for n in pieces)) for texts in blocks.values()))
    (OUT / "splits.txt").write_text("\n".join(lines) + "\n")


def put_new():
    ranges = ((0x1FA70, 0x1FAFF), (0x1F6D5, 0x1F6DF), (0x1F774, 0x1F77F), (0x1C89, 0x1C8A), (0xA7CB, 0xA7DC), (0x10D40, 0x10D44),
              (0x10D69, 0x10D6E), (0x1E5D0, 0x1E5D2), (0x1E5F0, 0x1E5FF), (0x11BC0, 0x11BC2), (0x11BF0, 0x11BF9), (0x2FFC, 0x2FFF))
    points = [cp for lo, hi in ranges for cp in range(lo, hi + 1) if cp in ASSIGNED]
    texts = ["I %s%s a%s !" % (chr(cp), chr(cp), chr(cp)) for cp in points]
    lines = []
    for pre in ("deepseek-v3", "afmoe", "qwen35", "gpt-4o", "falcon"):
        lines += ["%s %x %s" % (pre, cp, " ".join(map(str, lens))) for cp, lens in zip(points, lib.split(pre, texts))]
    (OUT / "new.txt").write_text("\n".join(lines) + "\n")


def main():
    if u.unidata_version != VERSION:
        sys.exit("golden-unicode: unicodedata2 has Unicode %s, not %s" % (u.unidata_version, VERSION))
    OUT.mkdir(parents=True, exist_ok=True)
    put_classes()
    put_normal()
    put_splits()
    put_new()


main()
