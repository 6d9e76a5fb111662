#!/usr/bin/env python3
"""Write tests/golden/encode.txt, encode-flat.txt and encode-plain.txt: the errors of ggml's quantisers (github.com/ggml-org/llama.cpp, MIT; library libggml-base) on the
tensor that tests/unit/type/test_encode.c makes too.

    scripts/golden-encode.py LIBGGML [FOLDER]

A line is TYPE, the sum of squared errors, and the weighted sum, where the quantiser was given the weights as its importance matrix.
Types with a codebook are given ones for the first: some of them are refused without.

A line of encode-flat.txt is TYPE and the weighted sum where the importances of columns differ by less than a quarter
(tests/unit/quant/test_importance.c).

A line of encode-plain.txt is TYPE and a digest (FNV-1a) of the bytes of the rounding without a search, for the types that have one."""
import ctypes, pathlib, sys
import numpy as np

TYPES = ["Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS",
         "IQ2_S", "IQ3_XXS", "IQ3_S", "IQ4_NL", "IQ4_XS", "TQ1_0", "TQ2_0", "MXFP4", "NVFP4", "Q1_0", "Q2_0"]
CODEBOOKS = {"IQ1_S": 19, "IQ1_M": 29, "IQ2_XXS": 16, "IQ2_XS": 17, "IQ2_S": 22, "IQ3_XXS": 256, "IQ3_S": 512}  # what ggml calls them
N = 2048


def splitmix(first):
    z = np.arange(first, first + N, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ z >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ z >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return z ^ z >> np.uint64(31)


z = splitmix(1)
x = ((sum((z >> np.uint64(s) & np.uint64(65535)).astype(np.int64) for s in (0, 16, 32, 48)) - 131070) * 2.0**-18).astype(np.float32)
w = (1 + (splitmix(1000000) >> np.uint64(60))).astype(np.float32)
flat = (1 + (splitmix(2000000) >> np.uint64(60)).astype(float) / 64).astype(np.float32)

lib = ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL)
out = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else "tests/golden")
lines = ["# scripts/golden-encode.py: TYPE, ggml's error, its weighted error"]
flats = ["# scripts/golden-encode.py: TYPE, ggml's weighted error"]
for name in TYPES:
    low = name.lower().replace("_k", "_K")
    quantise, decode = getattr(lib, "quantize_" + low), getattr(lib, "dequantize_row_" + low)
    quantise.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p]
    decode.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64]
    errors = []
    if name in CODEBOOKS:
        getattr(lib, "iq3xs_init_impl" if name.startswith("IQ3") else "iq2xs_init_impl")(CODEBOOKS[name])
    for weights in (np.ones(N, np.float32) if name in CODEBOOKS else None, w, flat):
        q, y = np.zeros(N * 4, np.uint8), np.zeros(N, np.float32)
        quantise(x.ctypes.data, q.ctypes.data, 1, N, weights.ctypes.data if weights is not None else None)
        decode(q.ctypes.data, y.ctypes.data, N)
        errors.append(float(np.sum((x.astype(float) - y) ** 2 * (1 if weights is None else weights))))
    lines.append("%s %.9g %.9g" % (name, *errors[:2]))
    flats.append("%s %.9g" % (name, errors[2]))
(out / "encode.txt").write_text("\n".join(lines) + "\n")
(out / "encode-flat.txt").write_text("\n".join(flats) + "\n")

PLAIN = {"Q4_0": 18 / 32, "Q4_1": 20 / 32, "Q5_0": 22 / 32, "Q5_1": 24 / 32, "Q8_0": 34 / 32, "TQ1_0": 54 / 256, "TQ2_0": 66 / 256,
         "MXFP4": 17 / 32, "NVFP4": 36 / 64, "Q1_0": 18 / 128, "Q2_0": 18 / 64}
lines = ["# scripts/golden-encode.py: TYPE, the digest of ggml's bytes without a search"]
for name, size in PLAIN.items():
    q = np.zeros(int(N * size), np.uint8)
    getattr(lib, "quantize_row_%s_ref" % name.lower())(ctypes.c_void_p(x.ctypes.data), ctypes.c_void_p(q.ctypes.data), ctypes.c_int64(N))
    digest = 0xCBF29CE484222325
    for byte in q.tobytes():
        digest = (digest ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    lines.append("%s %016x" % (name, digest))
(out / "encode-plain.txt").write_text("\n".join(lines) + "\n")
