#!/usr/bin/env python3
"""Write tests/golden/blocks: what the blocks of every element type decode to, from the PyPI package gguf (0.19) or, for types that it
does not decode, from the format's formula in numpy.

    scripts/golden-blocks.py [DIR]

TYPE.bin   u32 blocks, their bytes, their elements as f32
sums.txt   "TYPE blocks sha256" of the f32 elements of many more blocks, which a test makes again: bytes of splitmix64(1), (2), ...
           Every float field that would be infinite or NaN has the top bit of its exponent cleared, in both."""
import hashlib, pathlib, sys
import numpy as np
from gguf import GGMLQuantizationType as T, quants

FIELDS = {  # type: elements, bytes, {offset of a float field: its kind}
    "F32": (1, 4, {0: "f4"}), "F16": (1, 2, {0: "f2"}), "BF16": (1, 2, {0: "bf"}), "F64": (1, 8, {0: "f8"}),
    "I8": (1, 1, {}), "I16": (1, 2, {}), "I32": (1, 4, {}), "I64": (1, 8, {}),
    "Q4_0": (32, 18, {0: "f2"}), "Q4_1": (32, 20, {0: "f2", 2: "f2"}), "Q5_0": (32, 22, {0: "f2"}), "Q5_1": (32, 24, {0: "f2", 2: "f2"}),
    "Q8_0": (32, 34, {0: "f2"}), "Q8_1": (32, 36, {0: "f2", 2: "f2"}), "Q8_K": (256, 292, {0: "f4"}),
    "Q2_K": (256, 84, {80: "f2", 82: "f2"}), "Q3_K": (256, 110, {108: "f2"}), "Q4_K": (256, 144, {0: "f2", 2: "f2"}),
    "Q5_K": (256, 176, {0: "f2", 2: "f2"}), "Q6_K": (256, 210, {208: "f2"}),
    "IQ2_XXS": (256, 66, {0: "f2"}), "IQ2_XS": (256, 74, {0: "f2"}), "IQ2_S": (256, 82, {0: "f2"}), "IQ3_XXS": (256, 98, {0: "f2"}),
    "IQ3_S": (256, 110, {0: "f2"}), "IQ1_S": (256, 50, {0: "f2"}), "IQ1_M": (256, 56, {48: "iq1_m"}),
    "IQ4_NL": (32, 18, {0: "f2"}), "IQ4_XS": (256, 136, {0: "f2"}), "TQ1_0": (256, 54, {52: "f2"}), "TQ2_0": (256, 66, {64: "f2"}),
    "MXFP4": (32, 17, {}), "NVFP4": (64, 36, {}), "Q1_0": (128, 18, {0: "f2"}), "Q2_0": (64, 18, {0: "f2"}),
    "Q4_F": (64, 40, {0: "f4", 4: "f4"}), "Q8_F": (64, 72, {0: "f4", 4: "f4"}), "NVFP4_F": (64, 40, {0: "f4 < 2**113"}),
    "F8_E4M3": (64, 68, {0: "f4 < 2**113"} | {4 + i: "e4m3" for i in range(64)}), "NF4": (64, 36, {0: "f4"})}
LAST = {"f2": (1, 0x7C, 0xFF), "f4": (3, 0x7F, 0x80), "bf": (1, 0x7F, 0x80), "f8": (7, 0x7F, 0xF0), "f4 < 2**113": (3, 0x78, 0),
        "e4m3": (0, 0x7F, 0)}  # of the last two bytes: place, exponent bits of the last, of the one before


def splitmix(first, n):
    """Outputs first ... first + n - 1 (from 1) of splitmix64 seeded with 0, as bytes."""
    z = (np.arange(first, first + n, dtype=np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ z >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ z >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return (z ^ z >> np.uint64(31)).astype("<u8").view(np.uint8)


def blocks(name, n, first):
    _, size, fields = FIELDS[name]
    a = splitmix(first, (n * size + 7) // 8)[:n * size].reshape(n, size).copy()
    for at, kind in fields.items():
        if kind == "iq1_m":  # the scale's exponent: bits 4 ... 6 of the high byte of sc[3], and bits 4 ... 7 of that of sc[2], but for its upper two
            all_ones = (a[:, at + 7] & 0x70 == 0x70) & (a[:, at + 5] & 0xC0 == 0xC0)
            a[all_ones, at + 7] &= 0xBF
        else:
            last, hi, lo = LAST[kind]
            lo = 0 if kind == "f2" else lo
            all_ones = (a[:, at + last] & hi == hi) & (a[:, at + last - 1] & lo == lo)
            a[all_ones, at + last] &= 0xBF
    return a


def own(name, a):
    """The types that the package does not decode."""
    n = len(a)
    if name[0] in "IF" and name[1:].isdigit():
        return np.ascontiguousarray(a).view({"I8": "i1", "I16": "<i2", "I32": "<i4", "I64": "<i8", "F64": "<f8"}[name]).astype(np.float32)
    d = np.ascontiguousarray(a[:, :2]).view("<f2").astype(np.float32)
    if name == "Q8_1":
        return d * a[:, 4:].view(np.int8).astype(np.float32)
    if name == "Q8_K":
        return np.ascontiguousarray(a[:, :4]).view("<f4") * np.ascontiguousarray(a[:, 4:260]).view(np.int8).astype(np.float32)
    if name == "Q1_0":
        return d * (2 * np.unpackbits(a[:, 2:], axis=1, bitorder="little").astype(np.float32) - 1)
    if name == "Q2_0":
        return d * ((a[:, 2:, None] >> np.array([0, 2, 4, 6], np.uint8) & 3).reshape(n, 64).astype(np.float32) - 1)
    if name in ("Q4_F", "Q8_F"):
        d, m = (np.ascontiguousarray(a[:, at:at + 4]).view("<f4") for at in (0, 4))
        q = np.ascontiguousarray(a[:, 8:]).view(np.int8) if name == "Q8_F" else np.concatenate([a[:, 8:] & 15, a[:, 8:] >> 4], 1).astype(np.int8) - 8
        return d * q.astype(np.float32) + m
    if name == "F8_E4M3":
        e, m = (a[:, 4:] >> 3 & 15).astype(np.int32), (a[:, 4:] & 7).astype(np.float32)
        v = np.where(e > 0, np.ldexp(1 + m / 8, e - 7), np.ldexp(m / 8, -6)).astype(np.float32)
        return np.ascontiguousarray(a[:, :4]).view("<f4") * np.where(a[:, 4:] >> 7, -v, v)
    if name == "NF4":  # bitsandbytes, functional.py: get_4bit_type
        table = np.array([-1, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635, -0.18477343022823334,
                          -0.09105003625154495, 0, 0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224,
                          0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1], np.float32)
        return np.ascontiguousarray(a[:, :4]).view("<f4") * table[np.concatenate([a[:, 4:] & 15, a[:, 4:] >> 4], 1)]
    if name == "NVFP4_F":
        e, m = (a[:, 4:8] >> 3 & 15).astype(np.int32), (a[:, 4:8] & 7).astype(np.float32)
        s = np.where(e > 0, np.ldexp(1 + m / 8, e - 7), np.ldexp(m / 8, -6)).astype(np.float32)
        s = np.where(a[:, 4:8] & 127 == 127, np.float32(0), s)  # the only NaN of E4M3
        q = a[:, 8:].reshape(n, 4, 8)
        e2m1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6], np.float32)
        d = np.ascontiguousarray(a[:, :4]).view("<f4") * (s * np.float32(0.5))  # halves and doubles: exact but for the least numbers
        return (d[:, :, None] * (2 * e2m1[np.concatenate([q & 15, q >> 4], 2)])).reshape(n, 64)
    raise KeyError(name)


def decode(name, a):
    try:
        if name in ("F64", "Q8_1", "Q8_K") or name[0] == "I" and name[1:].isdigit():
            return own(name, a)
        return quants.dequantize(a, T[name])
    except (KeyError, NotImplementedError):
        return own(name, a)


out = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "tests/golden/blocks")
out.mkdir(parents=True, exist_ok=True)
sums = []
for i, (name, (elems, size, _)) in enumerate(FIELDS.items()):
    n = 2 if elems == 256 else 96 // elems if elems < 96 else 2
    a = blocks(name, n, 1 + 100000 * i)
    with np.errstate(over="ignore"):
        f = np.ascontiguousarray(decode(name, a), "<f4")
        assert f.size == n * elems
        (out / f"{name.lower()}.bin").write_bytes(np.uint32(n).tobytes() + a.tobytes() + f.tobytes())
        n = 4096
        f = np.ascontiguousarray(decode(name, blocks(name, n, 1)), "<f4")
        assert f.size == n * elems and not np.isnan(f).any()
    sums.append(f"{name.lower()} {n} {hashlib.sha256(f.tobytes()).hexdigest()}\n")
(out / "sums.txt").write_text("".join(sums))
