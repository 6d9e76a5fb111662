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

The model in libcore/demo is made of the one before it (git show c1a196a:libcore/demo/demo.gguf, which was made in the same way of
74beab0's; --steps 2400 made that of noise, of stories and answers alone), in some 10 minutes of processor time on one core:
  train-demo.py --from OLD.gguf --steps 1200 --tokens 2048 --lr 1e-3"""
import argparse, hashlib, json, math, pathlib, random, struct, subprocess, sys, time
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from tokenizers import Tokenizer, models, pre_tokenizers, decoders, trainers
sys.path.insert(0, str(pathlib.Path(__file__).parent))
import demo_text as text

V, E, L, H, D, FF, CTX, EPS, BASE = 1024, 256, 4, 4, 64, 768, 512, 1e-5, 10000.0
IGNORED = -100
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
TEMPLATE = ("{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\\n' + m['content'] + '<|im_end|>' + '\\n' }}{% endfor %}"
            "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}")


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.an, self.fn = nn.Parameter(torch.ones(E)), nn.Parameter(torch.ones(E))
        self.q, self.k, self.v, self.o = (nn.Linear(E, E, bias=False) for _ in range(4))
        self.gate, self.up, self.down = nn.Linear(E, FF, bias=False), nn.Linear(E, FF, bias=False), nn.Linear(FF, E, bias=False)


def norm(x, g):
    x = x.float()
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + EPS) * g


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(V, E)
        self.blocks = nn.ModuleList(Block() for _ in range(L))
        self.on = nn.Parameter(torch.ones(E))
        nn.init.normal_(self.emb.weight, std=0.02)
        for b in self.blocks:
            for m in (b.q, b.k, b.v, b.gate, b.up):
                nn.init.normal_(m.weight, std=0.03)
            for m in (b.o, b.down):
                nn.init.normal_(m.weight, std=0.03 / math.sqrt(2 * L))
        t = torch.arange(CTX)[:, None] * BASE ** (-torch.arange(0, D, 2) / D)[None]
        self.register_buffer("cos", t.cos(), persistent=False)
        self.register_buffer("sin", t.sin(), persistent=False)

    def rope(self, x):          # pairs (2i, 2i + 1), as GGUF's llama has them
        n = x.shape[-2]
        a, b = x[..., 0::2], x[..., 1::2]
        c, s = self.cos[:n], self.sin[:n]
        return torch.stack((a * c - b * s, a * s + b * c), -1).flatten(-2)

    def forward(self, ids):
        x = self.emb(ids)
        B, N = ids.shape
        for b in self.blocks:
            h = norm(x, b.an)
            q, k, v = (w(h).view(B, N, H, D).transpose(1, 2) for w in (b.q, b.k, b.v))
            o = F.scaled_dot_product_attention(self.rope(q).to(v.dtype), self.rope(k).to(v.dtype), v, is_causal=True)
            x = x + b.o(o.transpose(1, 2).reshape(B, N, E))
            h = norm(x, b.fn)
            x = x + b.down(F.silu(b.gate(h)) * b.up(h))
        return F.linear(norm(x, self.on), self.emb.weight)


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

def q8_0(x):
    x = x.reshape(-1, 32).astype(np.float32)
    d = np.abs(x).max(1) / np.float32(127)
    d16 = d.astype(np.float16)
    q = np.rint(x * np.where(d > 0, 1 / np.where(d > 0, d, 1), 0)[:, None]).astype(np.int8)
    return np.concatenate([d16.view(np.uint8).reshape(-1, 2), q.view(np.uint8)], 1).tobytes()


def gguf(path, tensors, tok, quantised):
    s = lambda b: struct.pack("<Q", len(b)) + b
    kvs = []

    def kv(key, t, payload):
        kvs.append(s(key.encode()) + struct.pack("<I", t) + payload)
    string = lambda k, v: kv(k, 8, s(v.encode()))
    u32 = lambda k, v: kv(k, 4, struct.pack("<I", v))
    f32 = lambda k, v: kv(k, 6, struct.pack("<f", v))
    flag = lambda k, v: kv(k, 7, struct.pack("<?", v))
    strings = lambda k, v: kv(k, 9, struct.pack("<IQ", 8, len(v)) + b"".join(s(x.encode()) for x in v))
    string("general.architecture", "llama")
    string("general.name", "inferutils demo")
    string("general.version", "3")  # of the models that were built in: the header, whose hash records have, differs from the last one's
    string("general.description", "tells short stories about a hero, a place and an object, answers questions about inferutils, and says of anything else that it is a demo")
    string("general.license", "mit")
    u32("general.file_type", 7 if quantised else 0)
    u32("general.quantization_version", 2)
    for k, v in (("vocab_size", V), ("block_count", L), ("context_length", CTX), ("embedding_length", E), ("feed_forward_length", FF),
                 ("attention.head_count", H), ("attention.head_count_kv", H), ("attention.key_length", D), ("attention.value_length", D), ("rope.dimension_count", D)):
        u32("llama." + k, v)
    f32("llama.rope.freq_base", BASE)
    f32("llama.attention.layer_norm_rms_epsilon", EPS)
    f32("general.sampling.temp", 0.6)
    f32("general.sampling.top_p", 0.9)
    j = json.loads(tok.to_str())
    pieces = {**j["model"]["vocab"], **{x["content"]: x["id"] for x in j["added_tokens"]}}
    pieces = [p for p, _ in sorted(pieces.items(), key=lambda x: x[1])]
    string("tokenizer.ggml.model", "gpt2")
    string("tokenizer.ggml.pre", "gpt-2")
    strings("tokenizer.ggml.tokens", pieces)
    kv("tokenizer.ggml.token_type", 9, struct.pack("<IQ", 5, V) + np.array([3 if p in SPECIAL else 1 for p in pieces], "<i4").tobytes())
    strings("tokenizer.ggml.merges", [m if isinstance(m, str) else " ".join(m) for m in j["model"]["merges"]])
    eot, start, end = (pieces.index(x) for x in SPECIAL)
    u32("tokenizer.ggml.bos_token_id", eot)
    u32("tokenizer.ggml.eos_token_id", end)
    u32("tokenizer.ggml.eot_token_id", end)
    u32("tokenizer.ggml.padding_token_id", eot)
    flag("tokenizer.ggml.add_bos_token", False)
    string("tokenizer.chat_template", TEMPLATE)
    infos, blobs, off = b"", [], 0
    for name, x in tensors:
        q = quantised and x.ndim == 2
        blob = q8_0(x) if q else x.astype("<f4").tobytes()
        infos += s(name.encode()) + struct.pack("<I", x.ndim) + b"".join(struct.pack("<Q", n) for n in x.shape[::-1]) + struct.pack("<IQ", 8 if q else 0, off)
        blob += b"\0" * (-len(blob) % 32)
        off += len(blob)
        blobs.append(blob)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(kvs)) + b"".join(kvs) + infos
    data = head + b"\0" * (-len(head) % 32) + b"".join(blobs)
    path.write_bytes(data)
    print(path.name, len(data), "bytes, sha256", hashlib.sha256(data).hexdigest())


def named(m):
    """(name in the file, parameter)s in the order of the file."""
    out = [("token_embd.weight", m.emb.weight), ("output_norm.weight", m.on)]
    for i, b in enumerate(m.blocks):
        p = "blk.%d." % i
        out += [(p + "attn_norm.weight", b.an)] + [(p + n + ".weight", w.weight) for n, w in (("attn_q", b.q), ("attn_k", b.k), ("attn_v", b.v), ("attn_output", b.o))]
        out += [(p + "ffn_norm.weight", b.fn)] + [(p + n + ".weight", w.weight) for n, w in (("ffn_gate", b.gate), ("ffn_up", b.up), ("ffn_down", b.down))]
    return out


def tensors(m):
    return [(n, x.detach().float().cpu().numpy()) for n, x in named(m)]


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
    m = Model()
    if weights:
        with torch.no_grad():
            for n, x in named(m):
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
    gguf(a.dir / "demo-f32.gguf", tensors(m), tok, False)
    gguf(a.dir / "demo.gguf", tensors(m), tok, True)
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
