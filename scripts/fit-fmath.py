#!/usr/bin/env python3
# Print libcore/base/fmath_consts.h: polynomials of least squared relative error at Chebyshev's nodes, rounded one
# coefficient at a time, lowest first, the rest fitted again to what the rounding left.  Needs mpmath.
from mpmath import mp, mpf, exp, log, sin, cos, tanh, ncdf, pi, sqrt, lu_solve, matrix, floor, ldexp, frexp

mp.prec = 400


def rounded(x, bits):
    m, e = frexp(x)
    return ldexp(floor(ldexp(m, bits) + mpf(1) / 2), e - bits)


def fit(f, w, deg, a, b, bits):
    """Rounded coefficients, lowest first, and the largest weighted error with them."""
    n = 40 * (deg + 1)
    xs = [(a + b) / 2 - (b - a) / 2 * cos(pi * (k + mpf(1) / 2) / n) for k in range(n)]
    left = [w(x) * f(x) for x in xs]
    out = []
    for d in range(deg + 1):
        cols = [[w(x) * x**j for x in xs] for j in range(d, deg + 1)]
        A = matrix([[sum(p * q for p, q in zip(u, v)) for v in cols] for u in cols])
        y = matrix([sum(p * q for p, q in zip(u, left)) for u in cols])
        out.append(rounded(lu_solve(A, y)[0], bits))
        left = [v - out[-1] * p for v, p in zip(left, cols[0])]
    return out, max(abs(v) for v in left)


def hexed(x, suffix):
    """Exact, for values of up to 53 bits."""
    m, e = float(x).hex().split("p")
    return m.rstrip("0").rstrip(".") + "p" + e + suffix


def put(name, x, suffix="f"):
    print("#define %-15s %s" % (name, hexed(x, suffix)))


def put_all(name, cs, first, suffix, error, step=1):
    print("/* relative error of the polynomial: 2^%.1f */" % float(log(error) / log(2)))
    for k, c in enumerate(cs):
        put("%s%d" % (name, first + step * k), c, suffix)


tiny = mpf(2)**-120
half = log(mpf(2)) / 2 * (1 + mpf(2)**-12)
ln2 = log(mpf(2))
logf_lo, logf_hi = sqrt(mpf(1) / 2) - 1, sqrt(mpf(2)) - 1
smax = (logf_hi / (2 + logf_hi))**2 * (1 + mpf(2)**-30)
q = (pi / 4)**2 * (1 + mpf(2)**-20)


def pos(x):  # away from 0/0
    return x if abs(x) > tiny else tiny


def f_exp(x):
    x = pos(x)
    return (exp(x) - 1 - x) / x**2


def w_exp(x):
    return pos(x)**2 / exp(x)


def f_log(x):
    x = pos(x)
    return (log(1 + x) - x + x * x / 2) / x**3


def w_log(x):
    x = pos(x)
    return x**3 / log(1 + x)


def f_atanh(z):
    z = pos(z)
    s = sqrt(z)
    return (log((1 + s) / (1 - s)) - 2 * s - 2 * s**3 / 3) / s**5


def w_atanh(z):
    return pos(z)**2 / 2


def f_tanh(z):
    x = sqrt(pos(z))
    return (tanh(x) - x) / x**3


# P(N > x) of the normal distribution times e^(x^2 / 2), by s = 1 / (1 + x / 4)
def f_tail(s):
    x = 4 * (1 / s - 1)
    return ncdf(-x) * exp(x * x / 2) / s


def f_sin(z):
    x = sqrt(pos(z))
    return (sin(x) - x) / x**3


def f_cos(z):
    z = pos(z)
    return (cos(sqrt(z)) - 1 + z / 2) / z**2


print("""/* base/fmath_consts.h - constants of base/fmath.c, for those who repeat its float functions on vectors.
 * Made by scripts/fit-fmath.py. */
#ifndef BASE_FMATH_CONSTS_H
#define BASE_FMATH_CONSTS_H

/* e^x = 2^n (1 + r + r^2 (C2 + C3 r + ...)), x = n ln2 + r; LN2_HI has 16 bits, so n LN2_HI is exact.
 * Adding MAGIC rounds to an integer, which is then in the low bits. */
#define FM_MAGICF       0x1.8p23f""")
put("FM_LOG2EF", rounded(1 / ln2, 24))
hi = rounded(ln2, 16)
put("FM_LN2_HIF", hi)
put("FM_LN2_LOF", rounded(ln2 - hi, 24))
print("#define FM_EXPF_MIN     -104.0f\n#define FM_EXPF_MAX     89.0f")
c, e = fit(f_exp, w_exp, 4, -half, half, 24)
put_all("FM_EXPF_C", c, 2, "f", e)
print("\n/* e^x of x <= 0 as attention weighs with it: one term less; LN2 in one number; MAGIC leaves n + 127 */")
print("#define FM_EXPW_MAGICF  0x1.8000fep23f\n#define FM_EXPW_MIN     -87.0f")
put("FM_EXPW_LN2F", rounded(ln2, 24))
c, e = fit(f_exp, w_exp, 3, -half, half, 24)
put_all("FM_EXPW_C", c, 2, "f", e)
print("\n/* log(1 + f) = f - f^2/2 + f^3 (C3 + C4 f + ...), sqrt(1/2) <= 1 + f < sqrt(2); SPLIT: bits of sqrt(1/2) */")
print("#define FM_LOGF_SPLIT   0x3f3504f3u")
c, e = fit(f_log, w_log, 8, logf_lo, logf_hi, 24)
put_all("FM_LOGF_C", c, 3, "f", e)
print("\n/* tanh x = x + x^3 (C3 + C5 x^2 + ...) below SMALL */\n#define FM_TANHF_SMALL  0.625f")
c, e = fit(f_tanh, lambda z: pos(z)**mpf(1.5) / tanh(sqrt(pos(z))), 4, mpf(0), mpf(0.625)**2, 24)
put_all("FM_TANHF_C", c, 3, "f", e, 2)
print("\n/* P(N > x) = e^(-x^2 / 2) s (C0 + C1 s + ...) of the normal distribution, s = 1 / (1 + x / 4), 0 <= x <= MAX */\n#define FM_TAILF_MAX    14.0f")
c, e = fit(f_tail, lambda s: 1 / f_tail(s), 8, 1 / mpf(4.5), mpf(1), 24)
put_all("FM_TAILF_C", c, 0, "f", e)
print("\n/* double: as above; LN2_HI has 42 bits */\n#define FM_MAGIC        0x1.8p52")
put("FM_LOG2E", rounded(1 / ln2, 53), "")
hi = rounded(ln2, 42)
put("FM_LN2_HI", hi, "")
put("FM_LN2_LO", rounded(ln2 - hi, 53), "")
c, e = fit(f_exp, w_exp, 9, -half, half, 53)
put_all("FM_EXP_C", c, 2, "", e)
print("\n/* log((1 + s) / (1 - s)) = 2 s + s^3 (2/3 + C5 s^2 + C7 s^4 + ...); SPLIT: bits of sqrt(1/2) */")
print("#define FM_LOG_SPLIT    0x3fe6a09e667f3bcdu")
put("FM_LOG_C3_HI", rounded(mpf(2) / 3, 53), "")
put("FM_LOG_C3_LO", rounded(mpf(2) / 3 - rounded(mpf(2) / 3, 53), 53), "")
c, e = fit(f_atanh, w_atanh, 8, mpf(0), smax, 53)
put_all("FM_LOG_C", c, 5, "", e, 2)
print("\n/* pi/2 in three parts of 53 bits; sin r = r + r^3 (S3 + S5 r^2 + ...), cos r = 1 - r^2/2 + r^4 (C4 + C6 r^2 + ...) */")
put("FM_2_PI", rounded(2 / pi, 53), "")
left = pi / 2
for k in range(3):
    part = rounded(left, 53)
    put("FM_PIO2_%d" % (k + 1), part, "")
    left -= part
c, e = fit(f_sin, lambda z: pos(z)**mpf(1.5) / sin(sqrt(pos(z))), 5, mpf(0), q, 53)
put_all("FM_SIN_S", c, 3, "", e, 2)
c, e = fit(f_cos, lambda z: pos(z)**2 / cos(sqrt(pos(z))), 5, mpf(0), q, 53)
put_all("FM_COS_C", c, 4, "", e, 2)
print("#endif")
