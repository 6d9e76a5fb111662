#!/usr/bin/env python3
"""Which literals are numbers within bounds: tests/golden/number/cases.jsonl, by Python's decimal and fractions.

    scripts/golden-number.py

The first row has the literals.  Each other row is a specification: kind (0 any number, 1 integer, 2 digits only), the keywords
of JSON Schema with their values as they are written, and bits: one for each literal, four a hexadecimal digit, the first one in
the highest bit.  A literal counts where its exact value satisfies everything, and libcore/automata/number.h promises its
spelling."""
import json
import pathlib
import random
import re
from fractions import Fraction

OUT = pathlib.Path(__file__).parent.parent / "tests/golden/number/cases.jsonl"
NUMBER = re.compile(r"(-?)(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?\Z")


def value(text):
    return Fraction(text)


def spelled(kind, spec, text):
    """Whether number.h promises to know the value in this spelling."""
    sign, whole, point, e = NUMBER.match(text).groups()
    if kind == 2 and (point or e):
        return False
    if kind == 1:
        if point and point.strip(".0"):
            return False
        if e and e[1] == "-" and whole != "0":
            return False
    if not e:
        return True
    for key, bound in spec.items():
        b = value(bound)
        if key == "multipleOf" or (b > 0 and not sign) or (b < 0 and sign):
            return False
    return True


def wanted(kind, spec, text):
    if not NUMBER.match(text) or not spelled(kind, spec, text):
        return False
    v = value(text)
    test = {"minimum": lambda b: v >= b, "maximum": lambda b: v <= b, "exclusiveMinimum": lambda b: v > b,
            "exclusiveMaximum": lambda b: v < b, "multipleOf": lambda b: (v / b).denominator == 1}
    return (not kind or v.denominator == 1) and all(test[k](value(b)) for k, b in spec.items())


def literals(r):
    out = dict.fromkeys([str(i) for i in range(-40, 131)] + ["-0", "0.0", "-0.0", "0.00", "-0.00", "00", "01", "-01", "1.", ".5", "+1", "--1", "-", "",
                        "1e", "1e+", "e1", "1.e1", "1e1.0", "0x1", "1 ", " 1", "1_0", "NaN", "Infinity", "1.2.3", "1,5", "0e0", "0E5", "-0e-7", "0.0e-1",
                        "0.00E+2", "-0.0e12", "1e0", "1E0", "1e2", "1.0e2", "1.00E+2", "1.5e1", "10e-1", "1e-1", "12e-3", "-1e2", "-1.0e2", "-1e-2",
                        "-5e0", "1e999", "0.1e1", "-0.1e1", "123456789012345678901234567890", "-123456789012345678901234567890", "0.1e-5", "5E-324"])
    for whole in ["0", "1", "2", "9", "10", "99", "100", "-0", "-1", "-2", "-9", "-10", "-99"]:
        for point in ["0", "00", "000", "1", "10", "100", "5", "50", "01", "001", "005", "010", "25", "250", "49", "499", "51", "501", "9", "99", "999", "125", "33"]:
            out[whole + "." + point] = None
    for _ in range(1000):
        whole = str(r.randrange(10 ** r.randrange(1, 7)))
        out[r.choice(["", "", "-"]) + whole + r.choice(["", "", ".0", ".%d" % r.randrange(10 ** r.randrange(1, 5)), ".0%d" % r.randrange(100)])] = None
    for m in [7, 25, 64, 1000, 2500, 1024, 86400, 65536]:
        for k in range(-3, 4):
            out[str(m * k)] = out[str(m * k + 1)] = out["%d.0" % (m * k)] = None
    return list(out)


def specs(r):
    for kind in range(3):
        yield kind, {}
    bounds = ["0", "-0", "0.0", "1", "-1", "10", "100", "99", "-99", "9.5", "0.5", "-0.5", "0.01", "-0.01", "1.25", "2.50", "123.456", "-1000", "1e2", "1E-1",
              "-2.5e1", "1.5e+3", "10.00", "65535", "0.005", "123456789012345678901234567890", "1e25", "-0e3", "0.000000000001"]
    for b in bounds:
        for key in ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"]:
            yield r.choice([0, 0, 1]), {key: b}
    for m in ["1", "2", "3", "5", "7", "10", "25", "64", "100", "1000", "2500", "1024", "864e2", "0.5", "0.01", "0.25", "1.5", "2.5", "0.125", "0.3", "1e-3",
              "12.5", "1.0", "10.0", "0.0001", "1e3", "360", "97"]:
        yield r.choice([0, 1, 2]), {"multipleOf": m}
        lo = r.choice(["0", "-50", "1", "0.5", "-2.5"])
        yield r.choice([0, 1, 2]), {"multipleOf": m, r.choice(["minimum", "exclusiveMinimum"]): lo, r.choice(["maximum", "exclusiveMaximum"]): r.choice(["100", "9.99", "5000"])}
    for _ in range(40):
        lo, hi = sorted(r.sample(bounds, 2), key=value)
        yield r.choice([0, 1, 2]), {r.choice(["minimum", "exclusiveMinimum"]): lo, r.choice(["maximum", "exclusiveMaximum"]): hi}


def main():
    r = random.Random(11)
    words = literals(r)
    OUT.parent.mkdir(parents=True, exist_ok=True)
    with OUT.open("w") as f:
        f.write(json.dumps({"words": words}) + "\n")
        for kind, spec in specs(r):
            bits = "".join(str(int(wanted(kind, spec, w))) for w in words)
            f.write(json.dumps({"kind": kind} | spec | {"bits": "%0*x" % ((len(bits) + 3) // 4, int(bits + "0" * (-len(bits) % 4), 2))}) + "\n")


main()
