#!/usr/bin/env python3
"""Make tests/golden/kv/rounding.bin again: 96 blocks of 32 float32, then the same as Q8_0 and as Q4_0 by gguf-py.

Rows of normal numbers of several sizes, and blocks where rounding is all that counts: ties, equal magnitudes of both signs,
zeros, one large number among small ones.
"""
import pathlib

import numpy as np
from gguf import GGMLQuantizationType as T
from gguf import quants

rng = np.random.default_rng(7)
x = rng.standard_normal((96, 32)).astype(np.float32)
x *= np.float32(2.0) ** rng.integers(-12, 12, (96, 1)).astype(np.float32)
x[60:70] = rng.integers(-127, 128, (10, 32))          # Q8_0: halves, where d is 1/2 ... 4
x[60:70, 5] = 254, -254, 127, 63.5, -508, 1016, 254, -127, 127, 508
x[70:80] = rng.integers(-16, 17, (10, 32)) / 2        # Q4_0: ties
x[70:80, 9], x[70:80, 20] = -8, 8                     # equal magnitudes: the first counts
x[75:80, 9], x[75:80, 20] = 8, -8
x[80:84] = 0
x[82, 3], x[83, 31] = -0.0, 1e-3
x[84:90, 11] *= 1000
x = x.astype(np.float32)
out = pathlib.Path(__file__).parent.parent / "tests/golden/kv/rounding.bin"
out.parent.mkdir(exist_ok=True)
out.write_bytes(x.tobytes() + quants.quantize(x, T.Q8_0).tobytes() + quants.quantize(x, T.Q4_0).tobytes())
