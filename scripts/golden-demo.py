#!/usr/bin/env python3
"""Make tests/golden/demo.json, and demo-q8_0.json and demo-q4_0.json with a cache of that type, from libcore/demo/demo.gguf: ids by the package tokenizers, log-probabilities, perplexity and
greedy text by the float64 evaluation of scripts/eval_gguf.py, activations rounded as libcore/kern/kern.h says."""
import json, pathlib, sys
import numpy as np
from gguf import GGUFReader
from tokenizers import Tokenizer, AddedToken, models, pre_tokenizers, decoders
top = pathlib.Path(__file__).parent.parent
sys.path.insert(0, str(top / "scripts"))
import eval_gguf

# Rounding an activation is a step: where float32 and float64 fall on two sides of one, log-probabilities move, seldom by as much as 1e-2.
# So of these only the first five count whose greedy tokens never stand closer than MARGIN to the second likeliest, and are the same with
# a cache of any type.
PROMPTS = ["Story about a fox, a lighthouse and a key:", "Question: What is inferutils? Answer:", "Once upon a time there was a small robot",
           "<|im_start|>user\nHow do I verify a model?<|im_end|>\n<|im_start|>assistant\n", "Story about an owl, a bakery and a violin: Near a bakery",
           "Question: What limits decode? Answer:", "Story about a king, a bridge and a drum:", "Story about a girl, a windmill and a map: Ada was a brave girl",
           "Question: What is the KV cache? Answer:", "Story about a goat, a harbour and a ring:", "One night a great storm came to the castle.",
           "Story about a wizard, a cave and a lantern: Long ago", "Question: Who are you? Answer:", "Near a mill lived a clever mouse", "Question: What is top-k? Answer:", "Question: What is a token? Answer:", "Question: Are weights copied? Answer:", "Question: Where does the output go? Answer:"]
MARGIN = 0.02
GREEDY = 60

path = str(top / "libcore/demo/demo.gguf")
reader = GGUFReader(path)
strings = lambda k: [bytes(reader.fields[k].parts[i]).decode() for i in reader.fields[k].data]
pieces, merges = strings("tokenizer.ggml.tokens"), strings("tokenizer.ggml.merges")
tok = Tokenizer(models.BPE(vocab={p: i for i, p in enumerate(pieces)}, merges=[tuple(m.split(" ")) for m in merges]))
tok.pre_tokenizer, tok.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
# the library encodes plain text, so the turn prompt is given as text here too: no special tokens

keys, tensors = eval_gguf.load(path)
model, *others = (eval_gguf.Model(keys, tensors, 0, kv, "kern", []) for kv in ("f32", "q8_0", "q4_0"))


def numbers(model, ids):
    """What a model says of a prompt."""
    y = eval_gguf.log_softmax(model.logits(ids))
    p = [float(y[i, ids[i + 1]]) for i in range(len(ids) - 1)]
    best = np.lexsort((np.arange(y.shape[1]), -y[-1]))[:5]
    return {"logprob_of_each_next_prompt_token": [round(x, 8) for x in p], "perplexity": round(float(np.exp(-np.mean(p))), 6),
            "top5_after_prompt": [[int(i), round(float(y[-1, i]), 8)] for i in best]}


cases = []
for prompt in PROMPTS:
    if len(cases) == 5:
        break
    ids = tok.encode(prompt).ids
    greedy, margin = list(ids), 9.0
    while len(greedy) < len(ids) + GREEDY:
        last = model.logits(greedy)[-1]
        two = np.sort(last)[-2:]
        margin = min(margin, float(two[1] - two[0]))
        if margin < MARGIN:
            break
        greedy.append(int(last.argmax()))
    print(repr(prompt), "margin %.4f" % margin, flush=True)
    new = greedy[len(ids):]
    if margin < MARGIN or not all(m.logits(greedy)[len(ids) - 1 : -1].argmax(-1).tolist() == new for m in others):
        continue
    cases.append({"prompt": prompt, "tokens": ids, **numbers(model, ids), "greedy_tokens": new,
                  "greedy_text": tok.decode([t for t in new if not pieces[t].startswith("<|")], skip_special_tokens=False)})
assert len(cases) == 5
what = "float64 evaluation of the built-in model, activations rounded (logprobs, natural log)"
json.dump({"what": what, "cases": cases}, open(top / "tests/golden/demo.json", "w"), indent=1)
for kv, model in zip(("q8_0", "q4_0"), others):
    for c in cases:
        c.update(numbers(model, c["tokens"]))
    json.dump({"what": what + ", K and V rounded to " + kv, "cases": cases}, open(top / f"tests/golden/demo-{kv}.json", "w"), indent=1)
