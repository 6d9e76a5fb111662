#!/usr/bin/env python3
"""Make tests/golden/embed/: what transformers has behind the last norm (last_hidden_state), for tiny checkpoints.

  golden-embed.py     rewrite the files (needs torch, transformers, gguf, numpy)

The checkpoints are cases of golden_logits_cases.py, drawn anew as golden-logits.py draws them and evaluated in float64.
That they are those of the files in tests/golden/logits is seen from their logits, which must be the ones stored there.
NAME.f32 holds float32 [N][WIDTH], for the ids of the case NAME; tests/unit/engine/test_embed.c pools them in float64.
"""
import importlib.util
import os

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
OUT = os.path.join(HERE, "..", "tests", "golden", "embed")
spec = importlib.util.spec_from_file_location("golden_logits", os.path.join(HERE, "golden-logits.py"))
logits = importlib.util.module_from_spec(spec)
spec.loader.exec_module(logits)

# a plain family; biases and tied tables; a soft cap behind the product; a divided residual; experts
USED = ["llama-gqa", "qwen2-tied", "gemma2", "granite", "qwen3moe"]


def main():
    torch = logits.checkpoint.use_float64()
    os.makedirs(OUT, exist_ok=True)
    for name in USED:
        _, model, _, ids = logits.build(name, logits.CASES[name])
        with torch.no_grad():
            out = model(torch.tensor([ids]), output_hidden_states=True)
        stored = np.fromfile(os.path.join(logits.OUT, name + ".f32"), "<f4").reshape(len(ids), -1)
        if np.abs(out.logits[0].numpy() - stored).max() > 1e-5:
            raise SystemExit(f"{name}: these are other logits than tests/golden/logits has")
        with torch.no_grad():
            state = model.model(torch.tensor([ids])).last_hidden_state[0].numpy()
        state.astype("<f4").tofile(os.path.join(OUT, name + ".f32"))
        print(name, state.shape)


if __name__ == "__main__":
    main()
