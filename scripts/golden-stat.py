#!/usr/bin/env python3
"""Write tests/golden/stat/cases.jsonl: quantiles by numpy, intervals of quantiles by scipy's binomial distribution, signed ranks and
rank sums by scipy's tests, shifts and their intervals by enumeration, Student's t by scipy.  Needs numpy and scipy.   golden-stat.py >tests/golden/stat/cases.jsonl"""
import itertools
import json
import numpy as np
from scipy import stats


def dist_signed(n):
    d = np.array([1.0])
    for r in range(1, n + 1):
        e = np.zeros(len(d) + r)
        e[: len(d)] += d / 2
        e[r:] += d / 2
        d = e
    return d


def dist_sums(na, nb):
    d = {(0, 0): np.array([1.0])}
    for i in range(na + 1):
        for j in range(nb + 1):
            if i + j == 0:
                continue
            e = np.zeros(na * nb + 1)
            if i:  # the largest of all is of a: above it no b
                x = d[i - 1, j]
                e[: len(x)] += x * i / (i + j)
            if j:  # it is of b: above i of a
                x = d[i, j - 1]
                e[i: i + len(x)][: len(e) - i] += (x * j / (i + j))[: len(e) - i]
            d[i, j] = e
    return d[na, nb]


def left_out(dist, mean, sd, tail):
    if dist is None:
        return max(0, int(np.floor(mean + 0.5 + sd * stats.norm.ppf(tail))))
    c = np.cumsum(dist)
    return int(np.sum(c <= tail))


def shift(pairs, k):
    v = np.sort(pairs)
    m = (v[(len(v) + 1) // 2 - 1] + v[len(v) // 2]) / 2
    return [m, v[k - 1] if k else None, v[len(v) - k] if k else None]


rng = np.random.default_rng(19)
rows = []
for n in (1, 2, 5, 20, 200):
    v = np.sort(rng.lognormal(3, 1, n))
    for q in (0, 0.25, 0.5, 0.95, 0.99):
        row = {"test": "quantile", "v": list(v), "q": q, "value": float(np.quantile(v, q))}
        if 0 < q < 1:
            # the least ranks whose tails hold at most 2.5 % each
            c = stats.binom.cdf(np.arange(n), n, q)
            lo, hi = int(np.sum(c <= 0.025)), next((k + 1 for k in range(n) if c[k] >= 0.975), None)
            row["interval"] = [float(v[lo - 1]), float(v[hi - 1])] if lo and hi else None
        rows.append(row)
for n, ties in itertools.product((1, 4, 6, 15, 50, 51, 300), (0, 1)):
    d = rng.normal(0.3, 1, n)
    if ties:
        d = np.round(d * 2) / 2
    if np.all(d == 0):
        d[0] = 0.5
    plain = len(np.unique(np.abs(d))) == n and np.all(d != 0) and n <= 50
    p = stats.wilcoxon(d, mode="exact" if plain else "approx", correction=False).pvalue
    walsh = [(d[i] + d[j]) / 2 for i in range(n) for j in range(i, n)]
    used = d[d != 0]
    _, t = np.unique(np.abs(used), return_counts=True)
    m = len(used)
    sd = np.sqrt((m * (m + 1) * (2 * m + 1) - np.sum(t**3 - t) / 2) / 24)
    k = left_out(dist_signed(n) if plain else None, n * (n + 1) / 4, sd, 0.025)
    rows.append({"test": "paired", "d": list(d), "p": float(p), "shift": shift(walsh, k)})
for (na, nb), ties in itertools.product(((1, 1), (3, 4), (5, 5), (20, 20), (20, 21), (60, 40)), (0, 1)):
    a, b = rng.normal(0, 1, na), rng.normal(0.7, 1.5, nb)
    if ties:
        a, b = np.round(a * 2) / 2, np.round(b * 2) / 2
        if len(np.unique(np.concatenate([a, b]))) < 2:
            continue
    tied = len(np.unique(np.concatenate([a, b]))) < na + nb
    plain = not tied and na <= 20 and nb <= 20
    p = stats.mannwhitneyu(a, b, method="exact" if plain else "asymptotic").pvalue
    _, t = np.unique(np.concatenate([a, b]), return_counts=True)
    n = na + nb
    sd = np.sqrt(na * nb / 12 * (n + 1 - np.sum(t**3 - t) / (n * (n - 1))))
    k = left_out(dist_sums(na, nb) if plain else None, na * nb / 2, sd, 0.025)
    rows.append({"test": "unpaired", "a": list(a), "b": list(b), "p": float(p), "shift": shift([y - x for x in a for y in b], k)})
for p in ([0.01, 0.04, 0.03, 0.005], [0.5], [0.02, 0.02, 0.9], [0.9, 0.8, 0.7]):
    order = np.argsort(p, kind="stable")
    adj = np.minimum(1, np.maximum.accumulate([p[i] * (len(p) - k) for k, i in enumerate(order)]))
    back = np.empty(len(p))
    back[order] = adj
    rows.append({"test": "holm", "v": p, "adjusted": list(back)})
for z in (-12, -6, -4.0001, -3.9999, -1.5, 0, 0.1, 2, 7):
    rows.append({"test": "normal", "z": z, "p": float(stats.norm.cdf(z))})
for df in (1, 2, 3, 4, 9, 30, 101, 1000):
    for t in (-0.01, 0.5, 2, 4.6, 12, 300):
        rows.append({"test": "student", "t": t, "df": df, "p": float(2 * stats.t.sf(abs(t), df))})
rng = np.random.default_rng(43)
for n in (2, 3, 5, 8, 40):
    d = rng.normal(0.3, 1, n)
    se, w = stats.sem(d), float(stats.t.ppf(0.975, n - 1))
    p = stats.ttest_1samp(d, 0).pvalue
    rows.append({"test": "paired t", "d": list(d), "p": float(p), "shift": [d.mean(), d.mean() - w * se, d.mean() + w * se]})
for na, nb in ((2, 2), (5, 5), (3, 9), (40, 25)):
    a, b = rng.normal(0, 1, na), rng.normal(0.7, 1.5, nb)
    va, vb = a.var(ddof=1) / na, b.var(ddof=1) / nb
    df = min(na, nb) - 1  # not Welch's, as scipy's test
    m, se = b.mean() - a.mean(), np.sqrt(va + vb)
    w = float(stats.t.ppf(0.975, df))
    rows.append({"test": "unpaired t", "a": list(a), "b": list(b), "p": float(2 * stats.t.sf(abs(m / se), df)),
                 "shift": [m, m - w * se, m + w * se]})
for row in rows:
    print(json.dumps({k: [float(x) if x is not None else None for x in v] if isinstance(v, list) else v for k, v in row.items()}))
