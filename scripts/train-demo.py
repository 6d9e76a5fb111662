#!/usr/bin/env python3
"""Train the built-in model and write it as GGUF.

  train-demo.py [--dir build/demo] [--from MODEL.gguf] [--steps 2400] [--tokens 4096] [--lr 3e-3] [--threads 1] [--device cpu|cuda]

Text: scripts/demo_text.py, scripts/demo_other.py and the NAME lines of man/*.1.  Needs torch, numpy, tokenizers and gguf (PyPI).  State
is saved every minute in DIR and training goes on from there when the script is started again.  --from: begin with the weights and the
vocabulary of an earlier built-in model instead of with noise.  At the end DIR/demo.gguf (Q8_0; the file that belongs in libcore/demo/)
and DIR/demo-f32.gguf (the master that measures quantisers) are written, with the perplexity on held-out seeds.  Where
build/release/infer-run is there, it says how many questions are answered as they should be: those that the text teaches, stories of
combinations that it does not have, and questions that it does not teach.  Three prompts are continued whose combination of hero, place
and object is searched for in all the training text and not found.

The model in libcore/demo is made of the one before it (git show 3e7e256:libcore/demo/demo.gguf, which was made in the same way of
74beab0's; --steps 2400 made that of noise, of stories and answers alone), in some 10 minutes of processor time on one core:
  train-demo.py --from OLD.gguf --steps 1200 --tokens 2048 --lr 1e-3"""
import argparse, hashlib, json, math, pathlib, random, subprocess, sys, time
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from tokenizers import Tokenizer, models, pre_tokenizers, decoders, trainers
sys.path.insert(0, str(pathlib.Path(__file__).parent))
import demo_text as text
from train_llama import Gguf, Model, Shape

V = 1024
SHAPE = Shape(vocab=V, embd=256, layers=4, heads=4, kv_heads=4, head_dim=64, ff=768, ctx=512)
IGNORED = -100
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
TEMPLATE = ("{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\\n' + m['content'] + '<|im_end|>' + '\\n' }}{% endfor %}"
            "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}")


# --- text -> ids -----------------------------------------------------------------------------------------------------------

def bpe(model):
    t = Tokenizer(model)
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.decoder = decoders.ByteLevel()
    return t


def load(path):
    """An earlier model: ((piece, id)s without the special ones, merges), and its tensors by name."""
    from gguf import GGUFReader, dequantize
    r = GGUFReader(path)
    strings = lambda k: [bytes(r.fields[k].parts[i]).decode() for i in r.fields[k].data]
    pieces = [(p, i) for i, p in enumerate(strings("tokenizer.ggml.tokens")) if p not in SPECIAL]
    return (pieces, strings("tokenizer.ggml.merges")), {t.name: torch.from_numpy(dequantize(t.data, t.tensor_type).copy()) for t in r.tensors}


def make_tokenizer(path, old=None):
    if not path.exists() and old:
        t = bpe(models.BPE(vocab=dict(old[0]), merges=[tuple(x.split(" ")) for x in old[1]]))
        t.add_special_tokens(SPECIAL)
        t.save(str(path))
    elif not path.exists():
        rng = random.Random(0)
        docs = ("".join(t for t, learnt in text.document(rng) if learnt) for _ in range(20000))
        t = bpe(models.BPE())
        strip = (d.replace("<|endoftext|>", "").replace("<|im_start|>", "").replace("<|im_end|>", "") for d in docs)
        t.train_from_iterator(strip, trainers.BpeTrainer(vocab_size=V - len(SPECIAL), show_progress=False,
                              initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet())))
        t.add_special_tokens(SPECIAL)
        t.save(str(path))
    t = Tokenizer.from_file(str(path))
    assert t.get_vocab_size() == V, t.get_vocab_size()
    return t


def batch(tok, seed, rows, length, seen=None):
    """rows x (length + 1) ids, and the same with IGNORED where they are not learnt; each row starts at the beginning of a document, and
    the next ones follow it.  seen: a list that takes the documents."""
    rng = random.Random(seed)
    out, goal = np.zeros((rows, length + 1), np.int64), np.full((rows, length + 1), IGNORED, np.int64)
    for r in range(rows):
        ids, learnt = [], []
        while len(ids) <= length:
            pieces = text.document(rng)
            for t, learn in pieces:
                new = tok.encode(t).ids
                ids += new
                learnt += new if learn else [IGNORED] * len(new)
            if seen is not None:
                seen.append("".join(t for t, _ in pieces))
        out[r], goal[r] = ids[:length + 1], learnt[:length + 1]
    return torch.from_numpy(out), torch.from_numpy(goal)


def step_batch(tok, step, a, seen=None):
    length = 256 if step < 0.85 * a.steps else 448
    return batch(tok, "train %d" % step, a.tokens // length, length, seen)


# --- GGUF ------------------------------------------------------------------------------------------------------------------

def gguf(path, m, tok, quantised):
    g = Gguf()
    g.string("general.architecture", "llama")
    g.string("general.name", "inferutils demo")
    g.string("general.version", "4")  # of the models that were built in: the header, whose hash records have, differs from the last one's
    g.string("general.description", "tells short stories about a hero, a place and an object, answers questions about inferutils, and says of anything else that it is a demo")
    g.string("general.license", "mit")
    g.u32("general.file_type", 7 if quantised else 0)
    g.u32("general.quantization_version", 2)
    g.shape(SHAPE)
    g.f32("general.sampling.temp", 0.6)
    g.f32("general.sampling.top_p", 0.9)
    pieces = g.vocabulary(tok, SPECIAL)
    eot, start, end = (pieces.index(x) for x in SPECIAL)
    g.u32("tokenizer.ggml.bos_token_id", eot)
    g.u32("tokenizer.ggml.eos_token_id", end)
    g.u32("tokenizer.ggml.eot_token_id", end)
    g.u32("tokenizer.ggml.padding_token_id", eot)
    g.flag("tokenizer.ggml.add_bos_token", False)
    g.string("tokenizer.chat_template", TEMPLATE)
    data = g.data(m, quantised)
    path.write_bytes(data)
    print(path.name, len(data), "bytes, sha256", hashlib.sha256(data).hexdigest())


# --- training --------------------------------------------------------------------------------------------------------------

def perplexity(m, tok, device):
    total = n = 0
    with torch.no_grad():
        for seed in range(8):
            ids, goal = (x.to(device) for x in batch(tok, "held out %d" % seed, 8, 256))
            total += F.cross_entropy(m(ids[:, :-1]).float().flatten(0, 1), goal[:, 1:].flatten(), ignore_index=IGNORED, reduction="sum").item()
            n += (goal[:, 1:] != IGNORED).sum().item()
    return math.exp(total / n)


def greedy(m, tok, prompt, n, device):
    ids = tok.encode(prompt).ids
    first = len(ids)
    with torch.no_grad():
        while len(ids) < first + n:
            t = int(m(torch.tensor([ids], device=device))[0, -1].argmax())
            if t in (tok.token_to_id("<|im_end|>"), tok.token_to_id("<|endoftext|>")):
                break
            ids.append(t)
    return tok.decode(ids[first:])


def quality(path, program):
    """Print how many questions infer-run answers as it should with this model: those that the text teaches, stories of combinations that
    it does not have, and those that nobody taught."""
    rng = random.Random("quality")
    cases = [("taught", q, lambda t, a=row[0]: t == a) for row in text.QA for q in row[1:]]
    for c in (text.combo(rng, True) for _ in range(50)):
        q = text.story_ask(rng, c)
        cases.append(("stories", q, lambda t, q=q, c=c: t.endswith((".", '"')) and all(" " + w in t for w in c if " " + w in q)))
    cases += [("not taught", q, lambda t: t == text.HONEST) for q in text.demo_other.UNSEEN]
    asked = "".join(json.dumps({"id": str(i), "prompt": c[1], "temperature": 0}) + "\n" for i, c in enumerate(cases))
    out = subprocess.run([program, "-q", "-m", path, "--batch", "-"], input=asked.encode(), stdout=subprocess.PIPE).stdout
    said = {r["id"]: r.get("text", "") for r in map(json.loads, out.splitlines())}
    for group in ("taught", "stories", "not taught"):
        rows = [(q, said[str(i)], right(said[str(i)])) for i, (g, q, right) in enumerate(cases) if g == group]
        print("%s: %d of %d" % (group, sum(r for _, _, r in rows), len(rows)))
        for q, t, right in rows:
            if not right:
                print("  %r -> %r" % (q, t))


def save(a, m, opt, step):
    torch.save({"m": m.state_dict(), "opt": opt.state_dict(), "step": step}, a.dir / "state.tmp")
    (a.dir / "state.tmp").replace(a.dir / "state.pt")


def train(a, m, tok, opt, step):
    warm, saved, start = 60, time.time(), time.time()
    for step in range(step, a.steps):
        ids, goal = (x.to(a.device) for x in step_batch(tok, step, a))
        for g in opt.param_groups:
            g["lr"] = a.lr * min(1.0, (step + 1) / warm, 0.02 + (a.steps - step) / (0.25 * a.steps))      # up, level, and down
        with torch.autocast(a.device, torch.bfloat16):
            logits = m(ids[:, :-1])
        loss = F.cross_entropy(logits.float().flatten(0, 1), goal[:, 1:].flatten(), ignore_index=IGNORED)
        opt.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(m.parameters(), 1.0)
        opt.step()
        if step % 20 == 0:
            print("step %d  %.0f s  loss %.4f" % (step, time.time() - start, loss.item()), flush=True)
        if time.time() - saved > 60:
            saved = time.time()
            save(a, m, opt, step + 1)
    save(a, m, opt, a.steps)


def unseen(tok, a, wanted):
    """Search every document of the training text for the combinations; returns how many there were."""
    seen = []
    for step in range(a.steps):
        step_batch(tok, step, a, seen)
    for c in wanted:
        for d in seen:
            for one in d.split("<|im_end|>"):      # a turn, or the whole document
                assert not all(" " + w in one for w in c), one
    return len(seen)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--dir", type=pathlib.Path, default=pathlib.Path("build/demo"))
    p.add_argument("--steps", type=int, default=2400)
    p.add_argument("--from", dest="old", type=pathlib.Path)
    p.add_argument("--tokens", type=int, default=4096, help="of one step")
    p.add_argument("--lr", type=float, default=3e-3)
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--device", default="cpu")
    a = p.parse_args()
    a.dir.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(a.threads)
    torch.manual_seed(0)
    vocabulary, weights = load(a.old) if a.old else (None, None)
    tok = make_tokenizer(a.dir / "tokenizer.json", vocabulary)
    m = Model(SHAPE)
    if weights:
        with torch.no_grad():
            for n, x in m.named():
                x.copy_(weights[n])
    m.to(a.device)
    opt = torch.optim.AdamW(m.parameters(), lr=1e-3, betas=(0.9, 0.98), weight_decay=0.05)
    step = 0
    if (a.dir / "state.pt").exists():
        state = torch.load(a.dir / "state.pt", map_location=a.device)
        m.load_state_dict(state["m"])
        opt.load_state_dict(state["opt"])
        step = state["step"]
    print("parameters", sum(x.numel() for x in m.parameters()), flush=True)
    train(a, m, tok, opt, step)
    gguf(a.dir / "demo-f32.gguf", m, tok, False)
    gguf(a.dir / "demo.gguf", m, tok, True)
    print("perplexity on held-out seeds: %.4f" % perplexity(m, tok, a.device))
    program = pathlib.Path(__file__).parent.parent / "build/release/infer-run"
    if program.exists():
        quality(a.dir / "demo.gguf", program)
    else:
        print("not measured how questions are answered:", program, "is not there")
    rng = random.Random("held out")
    wanted = [text.combo(rng, True) for _ in range(3)]
    print("documents searched:", unseen(tok, a, wanted))
    for c in wanted:
        print(text.story_prompt(rng, c) + greedy(m, tok, text.story_prompt(rng, c), 200, a.device))
    for q in ("What is inferutils?", "Which river is the longest?"):
        print("Question: %s Answer:" % q + greedy(m, tok, "Question: %s Answer:" % q, 60, a.device))


if __name__ == "__main__":
    main()
