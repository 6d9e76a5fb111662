#!/usr/bin/env python3
"""Write tests/golden/bf16/products.txt: products with activations rounded to bf16, computed with exact fractions from the description of
the arithmetic in libcore/kern/tmpl/bf16.h.  Needs nothing but Python.

    scripts/golden-bf16.py [DIR]

TYPE m n k          of the weights; then words in hex:
w ...               [n][k] of 16 bits
x ...               [m][k] f32
y ...               [m][n] f32"""
import pathlib, random, struct, sys
from fractions import Fraction as F

INF, NAN = float("inf"), float("nan")
LEAST, MOST = F(1, 2**126), F(2**128)


def bits(x):
    return struct.unpack("<I", struct.pack("<f", x))[0]


def number(u):
    return struct.unpack("<f", struct.pack("<I", u))[0]


def finite(x):
    return x - x == 0


def negative(x):
    return bits(x) >> 31


def zero(minus):
    return -0.0 if minus else 0.0


def flush(x):
    return zero(negative(x)) if finite(x) and abs(F(x)) < LEAST else x


def to_bf16(x):
    """To the nearest, ties to even; subnormal numbers are zeros."""
    if x != x:
        return NAN
    u = bits(x)
    return flush(number((u + 0x7FFF + (u >> 16 & 1)) >> 16 << 16 & 0xFFFFFFFF))


def rounded(r):
    """A fraction other than 0 in 24 bits, to the nearest, ties to even, as if exponents had no end; then, below 2^-126, zero."""
    e = abs(r).numerator.bit_length() - r.denominator.bit_length()
    e -= abs(r) < F(2) ** e
    v = round(r / F(2) ** (e - 23)) * F(2) ** (e - 23)
    if abs(v) >= MOST:
        return -INF if r < 0 else INF
    return zero(r < 0) if abs(v) < LEAST else float(v)


def fma(a, b, c):
    if not (finite(a) and finite(b) and finite(c)):
        return a * b + c
    r = F(a) * F(b) + F(c)
    if r:
        return rounded(r)
    minus = negative(a) ^ negative(b)
    return zero(minus and negative(c))  # of unequal signs: +0


def add(a, b):
    return fma(a, 1.0, b)


def product(w, x):
    y = 0.0
    w = w + [0.0] * (-len(w) % 32)
    x = x + [0.0] * (-len(x) % 32)
    for at in range(0, len(w), 32):
        chains = [0.0, 0.0]
        for i in range(at, at + 32):
            chains[i % 2] = fma(w[i], x[i], chains[i % 2])
        y = add(y, add(*chains))
    return y


def f16(u):
    return struct.unpack("<e", struct.pack("<H", u))[0]


def case(out, kind, m, n, k, weight, act):
    """weight, act: draw 16 bits, 32 bits"""
    w = [[weight() for _ in range(k)] for _ in range(n)]
    x = [[act() for _ in range(k)] for _ in range(m)]
    wf = [[to_bf16(f16(u) if kind == "F16" else number(u << 16)) for u in row] for row in w]
    xf = [[to_bf16(number(u)) for u in row] for row in x]
    out.append(f"{kind} {m} {n} {k}")
    out.append("w " + " ".join(f"{u:x}" for row in w for u in row))
    out.append("x " + " ".join(f"{u:x}" for row in x for u in row))
    out.append("y " + " ".join(f"{bits(product(a, b)):x}" for b in xf for a in wf))


def main():
    out, r = [], random.Random(1)
    half = lambda: struct.unpack("<H", struct.pack("<e", r.gauss(0, 0.05)))[0]
    tiny = lambda: r.getrandbits(16) & 0x83FF  # subnormal in f16
    brain = lambda: bits(r.gauss(0, 0.05)) >> 16
    act = lambda: bits(r.gauss(0, 1))
    tie = lambda: bits(r.gauss(0, 1)) & 0xFFFF0000 | 0x8000
    near = lambda e: (r.getrandbits(1) << 31 | (127 + e + r.getrandbits(3)) << 23 | r.getrandbits(23))
    case(out, "F16", 2, 3, 32, half, act)
    case(out, "BF16", 3, 2, 75, brain, act)
    case(out, "F16", 2, 2, 96, half, tie)
    case(out, "F16", 1, 2, 33, tiny, act)
    case(out, "BF16", 1, 1, 1, brain, act)
    case(out, "BF16", 2, 17, 5, brain, act)
    for w, x in (-68, -68), (-66, -68), (-127, -3), (-4, -127), (-127, -127):  # sums about 2^-126; subnormal operands
        case(out, "BF16", 3, 3, 40, lambda: near(w) >> 16, lambda: near(x))
    case(out, "BF16", 2, 2, 3, lambda: near(59) >> 16, lambda: near(60))  # about 2^128
    case(out, "BF16", 1, 1, 3, lambda: 0x3F80, lambda: 0x7F7FFFFF)  # rounds to infinity
    case(out, "BF16", 1, 2, 3, lambda: r.choice((0x7F80, 0)), lambda: 0x3F800000)
    case(out, "BF16", 1, 1, 2, lambda: 0, lambda: 0x7F800000)  # 0 times infinity
    case(out, "BF16", 1, 1, 2, lambda: 0x3F80, lambda: 0x7FC00000)
    to = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent / "tests/golden/bf16")
    to.mkdir(parents=True, exist_ok=True)
    (to / "products.txt").write_text("\n".join(out) + "\n")


main()
