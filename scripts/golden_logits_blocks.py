"""Weights in block formats for golden-logits.py, encoded or drawn with gguf-py alone."""
import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType as T, quants

# types gguf-py only decodes: where a block's f16 scale and minimum lie (-1: none)
SCALES = {"Q2_K": (80, 82), "Q3_K": (108, -1), "Q4_K": (0, 2), "Q5_K": (0, 2), "Q6_K": (208, -1), "IQ4_XS": (0, -1), "IQ4_NL": (0, -1),
          "IQ2_XXS": (0, -1), "IQ2_XS": (0, -1), "IQ2_S": (0, -1), "IQ3_XXS": (0, -1), "IQ3_S": (0, -1), "IQ1_S": (0, -1)}


def decode(raw, kind, shape):
    return quants.dequantize(raw, T[kind]).astype(np.float64).reshape(shape)


def put(blocks, at, v):
    if at >= 0:
        blocks[:, at:at + 2] = np.asarray(v, "<f2").reshape(-1, 1).view(np.uint8)


def draw(kind, shape, std, rng):
    """Random bits, with scales that give the values about this spread and a mean near 0; scales vary by block."""
    n, size = GGML_QUANT_SIZES[T[kind]]
    d, m = SCALES[kind]
    rows = int(np.prod(shape[:-1]))
    blocks = rng.integers(0, 256, (rows * shape[-1] // n, size), dtype=np.uint8)

    def scaled(a, b):
        put(blocks, d, np.broadcast_to(a, len(blocks)))
        put(blocks, m, np.broadcast_to(b, len(blocks)))
        return decode(blocks.reshape(rows, -1), kind, shape)

    mean = scaled(1.0, 0.0).mean()
    low = -mean / scaled(0.0, 1.0).mean() if m >= 0 else 0.0
    unit = scaled(1.0, low).std()
    each = std / unit * rng.uniform(0.6, 1.4, len(blocks))
    scaled(each, each * low)
    return blocks.reshape(rows, -1)


def pack(a, kind, std, rng):
    """Raw rows of a tensor in a type: a encoded where gguf-py can, else drawn anew."""
    if kind in SCALES:
        return draw(kind, a.shape, std, rng)
    f = a.astype(np.float32).reshape(-1, a.shape[-1])
    return f.astype("<f2").view(np.uint8) if kind == "F16" else quants.quantize(f, T[kind]).view(np.uint8)
