#!/usr/bin/env python3
"""Make tests/golden/demo.json, and demo-q8_0.json and demo-q4_0.json with a cache of that type, from libcore/demo/demo.gguf: ids by the
package tokenizers, log-probabilities, perplexity and greedy text by the float64 evaluation of scripts/eval_gguf.py, activations rounded as
libcore/kern/kern.h says."""
import json, pathlib, sys
import numpy as np
from gguf import GGUFReader
from tokenizers import Tokenizer, AddedToken, models, pre_tokenizers, decoders
top = pathlib.Path(__file__).parent.parent
sys.path.insert(0, str(top / "scripts"))
import eval_gguf

# Rounding is a step: log-probabilities move where float32 and float64 round to two sides of one.  For an activation they seldom move by as
# much as 1e-2; for a key or value in 4 or 8 bits they move by more.  The evaluation itself shows how far: each product is changed at random
# by SHAKE of its size, as float32 would change it, SHAKES times.  A movement is divided by the size of the log-probability if that is more
# than 1.  A prompt counts if
# - its log-probabilities move by at most MOVED,
# - its greedy tokens always lead the second likeliest by MARGIN, and are the same with a cache of any type, also when shaken,
# - a model whose heads read the keys or values of the next head moves a log-probability by ten times the tolerance of the tests.
# The tests take this tolerance from "within" of the file: twice the movement found here, and at least LEAST.
PROMPTS = ["Story about a fox, a lighthouse and a key:", "Question: What is inferutils? Answer:", "Once upon a time there was a small robot",
           "<|im_start|>user\nHow do I verify a model?<|im_end|>\n<|im_start|>assistant\n",
           "Story about an owl, a bakery and a violin: Near a bakery", "Question: What limits decode? Answer:",
           "Story about a king, a bridge and a drum:", "Story about a girl, a windmill and a map: Ada was a brave girl",
           "Story about a goat, a harbour and a ring:", "One night a great storm came to the castle.",
           "Story about a wizard, a cave and a lantern: Long ago", "Near a mill lived a clever mouse", "Long ago,",
           "Once upon a time there was", "Question: What is the KV cache? Answer:", "Question: Who are you? Answer:",
           "Question: What is top-k? Answer:", "Question: What is a token? Answer:", "Question: Are weights copied? Answer:",
           "Question: Where does the output go? Answer:", "Question: What is quantisation? Answer:",
           "Question: What is a grammar? Answer:", "Question: What is perplexity? Answer:", "Question: How do I chat? Answer:",
           "Question: What is a seed? Answer:", "Question: What limits prefill? Answer:", "Question: What is temperature? Answer:",
           "Question: What is GGUF? Answer:", "Question: What is top-p? Answer:", "Question: What does -n do? Answer:"]
MARGIN = 0.02
MOVED = {"f32": 1e-2, "q8_0": 3e-2, "q4_0": 1e-1}
LEAST = {"f32": 1e-2, "q8_0": 2e-2, "q4_0": 6e-2}
SHAKE, SHAKES = 3e-7, 12
GREEDY = 60

path = str(top / "libcore/demo/demo.gguf")
reader = GGUFReader(path)
strings = lambda k: [bytes(reader.fields[k].parts[i]).decode() for i in reader.fields[k].data]
pieces, merges = strings("tokenizer.ggml.tokens"), strings("tokenizer.ggml.merges")
tok = Tokenizer(models.BPE(vocab={p: i for i, p in enumerate(pieces)}, merges=[tuple(m.split(" ")) for m in merges]))
tok.pre_tokenizer, tok.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
# the library encodes plain text, so the turn prompt is given as text here too: no special tokens

keys, tensors = eval_gguf.load(path)
CODE_MAX = {"q8_0": 127, "q4_0": 8}      # the code of the largest value of a block


def fixed(x, largest):
    """x in fixed point: a multiple of largest / KERN_FIXED_MAX."""
    unit = np.where(largest > 0, largest, 1) / 32512
    return np.rint(x / unit) * unit


class Model(eval_gguf.Model):
    """An evaluation that can be shaken, or wrong: its heads read the keys or values of the next."""
    rng = wrong = None

    def mm(self, x, name, expert=None):
        y = super().mm(x, name, expert)
        if self.rng is None:
            return y
        return y + SHAKE * np.sqrt((y * y).mean(-1, keepdims=True)) * self.rng.standard_normal(y.shape)

    def attend(self, q, k, v, il, by):
        k, v = (np.roll(x, 1, 1) if self.wrong == name else x for name, x in (("k", k), ("v", v)))
        if self.k_type in CODE_MAX:
            q = fixed(q, np.abs(q).max(-1, keepdims=True))
        return super().attend(q, k, v, il, by)

    def weighted(self, s, v):
        """With the weights of a quantised cache in fixed point, times the scales of blocks of v, as struct kern_attn says."""
        if self.v_type not in CODE_MAX:
            return super().weighted(s, v)
        w, out = np.exp(s - s.max(-1, keepdims=True)), []
        for block in np.split(v, v.shape[1] // 32, 1):
            d = np.abs(block).max(-1) / CODE_MAX[self.v_type]
            largest = np.where(w > 0, d, 0).max(-1, keepdims=True)
            out.append(fixed(w * d, largest) @ (block / np.where(d > 0, d, 1)[:, None]))
        return np.concatenate(out, 1) / w.sum(-1, keepdims=True)


MODELS = {kv: Model(keys, tensors, 0, kv, "kern", []) for kv in MOVED}


def numbers(model, ids):
    """What a model says of a prompt."""
    y = eval_gguf.log_softmax(model.logits(ids))
    p = [float(y[i, ids[i + 1]]) for i in range(len(ids) - 1)]
    best = np.lexsort((np.arange(y.shape[1]), -y[-1]))[:5]
    return {"logprob_of_each_next_prompt_token": [round(x, 8) for x in p], "perplexity": round(float(np.exp(-np.mean(p))), 6),
            "top5_after_prompt": [[int(i), round(float(y[-1, i]), 8)] for i in best]}


def said(model, ids):
    """All log-probabilities that numbers() gives."""
    y = eval_gguf.log_softmax(model.logits(ids))
    return np.array([y[i, ids[i + 1]] for i in range(len(ids) - 1)] + sorted(y[-1])[-5:])


def apart(have, want):
    return float(np.max(np.abs(have - want) / np.maximum(1, np.abs(want))))


def moves(model, ids, most):
    """How far a shake moves a log-probability; none is tried after one that moved it by more than most."""
    first, far, model.rng = said(model, ids), 0.0, np.random.default_rng(len(ids))
    for _ in range(SHAKES):
        if far <= most:
            far = max(far, apart(said(model, ids), first))
    model.rng = None
    return far


def mistaken(model, ids):
    """How far heads that read each other's values or keys move one, whichever moves it less."""
    first, far = said(model, ids), []
    for model.wrong in "kv":
        far.append(apart(said(model, ids), first))
    model.wrong = None
    return min(far)


def greedily(model, ids):
    """Greedy tokens, and the least lead of one over the second likeliest; they end where it is below MARGIN."""
    out, margin = list(ids), 9.0
    while len(out) < len(ids) + GREEDY and margin >= MARGIN:
        last = model.logits(out)[-1]
        two = np.sort(last)[-2:]
        margin = min(margin, float(two[1] - two[0]))
        out.append(int(last.argmax()))
    return out, margin


def agrees(model, ids, greedy):
    """True if the model's greedy tokens are those, shaken too."""
    try:
        for model.rng in None, np.random.default_rng(0), np.random.default_rng(1):
            if model.logits(greedy)[len(ids) - 1 : -1].argmax(-1).tolist() != greedy[len(ids):]:
                return False
        return True
    finally:
        model.rng = None


def case(prompt):
    """What the files say of a prompt, by the type of the cache; None if it does not count."""
    ids = tok.encode(prompt).ids
    far, within = {}, {}
    for kv, model in MODELS.items():
        far[kv] = moves(model, ids, MOVED[kv])
        if far[kv] > MOVED[kv]:
            return print(repr(prompt), kv, "moves by %.4f" % far[kv], flush=True)
    for kv, least in LEAST.items():
        within[kv] = round(max(least, 2 * far[kv]), 4)
        wrong = mistaken(MODELS[kv], ids)
        if wrong < 10 * within[kv]:
            return print(repr(prompt), kv, "wrong moves by %.3f, right within %.3f" % (wrong, within[kv]), flush=True)
    greedy, margin = greedily(MODELS["f32"], ids)
    if margin < MARGIN:
        return print(repr(prompt), "margin %.4f" % margin, flush=True)
    if not all(agrees(m, ids, greedy) for m in MODELS.values()):
        return print(repr(prompt), "is said otherwise with another cache", flush=True)
    print(repr(prompt), "counts:", far, within, flush=True)
    new = greedy[len(ids):]
    text = tok.decode([t for t in new if not pieces[t].startswith("<|")], skip_special_tokens=False)
    return {kv: {"prompt": prompt, "tokens": ids, "within": within[kv], **numbers(model, ids),
                 "greedy_tokens": new, "greedy_text": text} for kv, model in MODELS.items()}


cases = []
for prompt in PROMPTS:
    c = case(prompt) if len(cases) < 5 else None
    cases += [c] if c else []
assert len(cases) == 5
for kv in MODELS:
    what = "float64 evaluation of the built-in model, activations rounded (logprobs, natural log)"
    name, more = ("demo.json", "") if kv == "f32" else (f"demo-{kv}.json", ", K and V rounded to " + kv)
    with open(top / "tests/golden" / name, "w", encoding="utf-8") as f:
        json.dump({"what": what + more, "cases": [c[kv] for c in cases]}, f, indent=1)
