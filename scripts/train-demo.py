#!/usr/bin/env python3
"""Train the built-in model and write it as GGUF.

  train-demo.py [--dir build/demo] [--from MODEL.gguf] [--steps 2400] [--tokens 4096] [--lr 3e-3] [--down N] [--threads 1]
                [--device cpu|cuda] [--again] [--choice] [--tools SHARE]

Text: scripts/demo_text.py, demo_other.py, demo_tools.py and the NAME lines of man/*.1.  Needs torch, numpy, tokenizers and gguf (PyPI).
The state is saved every minute in DIR, and training continues from there if the script is started again.  --from: begin with the
weights and the vocabulary of an earlier built-in model instead of with noise.  At the end the script writes DIR/demo.gguf (Q8_0; the
file that belongs in libcore/demo/) and DIR/demo-f32.gguf (the master that measures quantisers), and prints the perplexity on held-out
seeds.  If build/release/infer-run exists, it also prints how many questions are answered correctly: those that the text teaches, stories of
combinations that the text does not have, questions that it does not teach, and calls of random tools.  Three prompts are continued whose
combination of hero, place and object does not occur in the training text.

The model in libcore/demo was made in stages on one core, each from the last one's state, from the model before it
(git show 58a638ae:libcore/demo/demo.gguf):
  train-demo.py --from OLD.gguf --steps 800 --tokens 2048 --lr 1e-3 --dir A
and then, all with --from A/demo-f32.gguf --again --tokens 2048 --dir B:
  --steps 4500 --down 3600 --lr 3e-3              stopped at 4096
  --steps 6000 --down 800 --lr 1.5e-3 --choice    stopped at 4536
  --steps 7000 --down 800 --lr 1.2e-3 --tools 0.75      stopped at 5240
  --steps 7800 --down 2600 --lr 1e-3              stopped at 6140
  --steps 7250 --down 1100 --lr 6.3e-4 --tools 0.5      stopped at 6340
  --steps 7250 --down 885 --lr 5.07e-4 --tools 0.5      the state X
  --steps 7950 --down 700 --lr 5e-4 --tools 0.65        from X: the state Y
  --steps 8150 --down 200 --lr 2e-4 --tools 0.3         from the mean of X and Y: the state Z
The weights are the mean of X and Z.  The first of these began with a rate of 2e-3 and with another order of the turns: at its steps
1630, 2628 and 3372 lists of words were added, BEGINS was changed, and the tools were put after the question.  The text gained two
answers at step 6340.  So these commands do not make the same file again, but one that is trained in the same way.

Measured when it was made: 199 of 201 taught questions, 50 of 50 stories, 46 of 50 questions that were not taught; of 50 random tools
alone 49 are called, 38 with the right arguments; among up to three others, 29 and 23; of 50 texts for a tool, 50 and 29; after a result,
134 of 150 answers are that result."""
import argparse, hashlib, json, math, pathlib, random, re, subprocess, sys, time
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from tokenizers import Tokenizer, models, pre_tokenizers, decoders, trainers
sys.path.insert(0, str(pathlib.Path(__file__).parent))
import demo_text as text
from train_llama import Gguf, Model, Shape

V = 1024
SHAPE = Shape(vocab=V, embd=256, layers=4, heads=4, kv_heads=4, head_dim=64, ff=768, ctx=1024)
IGNORED = -100
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
# The prompt has a line for each tool: its name, the names and types of its parameters ("?" if optional), the first line of its
# description, and its name again.
TEMPLATE = """{%- set asked = namespace(last=-1) -%}
{%- for m in messages -%}{%- if m['role'] == 'user' -%}{%- set asked.last = loop.index0 -%}{%- endif -%}{%- endfor -%}
{%- for m in messages -%}
{{- '<|im_start|>' + m['role'] + '\n' + (m['content'] or '') -}}
{%- for c in m['tool_calls'] or [] -%}
{{- '\n' if m['content'] or not loop.first -}}
{{- '<tool_call>\n{"name": ' + c['function']['name'] | tojson + ', "arguments": ' + c['function']['arguments'] | tojson + '}\n</tool_call>' -}}
{%- endfor -%}
{{- '<|im_end|>\n' -}}
{%- if tools and loop.index0 == asked.last -%}
{{- '<|im_start|>system\nTools:\n' -}}
{%- for t in tools -%}
{%- set f = t['function'] -%}{%- set p = f['parameters'] or {} -%}
{{- f['name'] + '(' -}}
{%- for n, s in (p['properties'] or {}).items() -%}
{{- n + ('' if n in (p['required'] or []) else '?') + ': ' -}}
{{- s['enum'] | join('|') if s['enum'] else s['type'] if s['type'] is string else s['anyOf'][0]['type'] or 'object' if s['anyOf'] else 'object' -}}
{{- ', ' if not loop.last -}}
{%- endfor -%}
{{- ') ' + (f['description'] or '').strip().split('\n')[0] + ' -> "' + f['name'] + '"\n' -}}
{%- endfor -%}
{{- '<|im_end|>\n' -}}
{%- endif -%}
{%- endfor -%}
{{- '<|im_start|>assistant\n' if add_generation_prompt -}}"""


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


def sources(pieces, ids, learnt, plain, look, at):
    """For each learnt piece that begins a copy of earlier text, append (position before it, position of the earlier copy) to look.  Of
    several earlier copies the longest counts, and of equally long ones the last."""
    first = {}
    for i, (t, l) in enumerate(zip(ids, learnt)):
        if not l:
            first.setdefault(plain[t], []).append(i)
    j = 1
    while j < len(ids):
        best, where = 0, -1
        if learnt[j] and (pieces[j][0] == "\u0120" or pieces[j - 1][-1] in '"\u0120\u010a') and pieces[j].lstrip("\u0120")[:1] not in tuple(',:"}{]') + ("",):
            for p in first.get(plain[ids[j]], ()):
                n = 1
                while p + n < j and j + n < len(ids) and learnt[j + n] and plain[ids[p + n]] == plain[ids[j + n]]:
                    n += 1
                if p < j and n >= best:
                    best, where = n, p
        if best:
            look.append((at + j - 1, at + where))
        j += max(best, 1)


def shared_words(t, e, at, r, plain, marks):
    """Add to marks where DUPLICATE and SHARED must look in t, a question and its tools.  "same": tokens of words that tool lines share with
    the question, and their places there.  "not": all other tokens of the lines, and a token that stands for no match.  "shared": the first
    token of the second name of each line, and the shared tokens of the line, or the line break before it if there is none."""
    cut = t.index("\nTools:\n") + 8
    of = lambda a, b: [i for i, (s, end) in enumerate(e.offsets) if end > a and s < b]
    asked = {x.group(): of(*x.span()) for x in re.finditer("[A-Za-z]+", t[:cut]) if len(x.group()) > 2 and x.group() not in COMMON}
    start = cut
    for line in t[cut:].splitlines(keepends=True)[:-1]:
        arrow = start + line.rindex(' -> "')
        here, both = of(start, arrow), {}
        for x in re.finditer("[A-Za-z]+", line[:arrow - start]):
            for i, j in zip(of(start + x.start(), start + x.end()), asked.get(x.group(), ())):
                if plain[e.ids[i]] == plain[e.ids[j]]:
                    both[i] = j
        marks["same"] += [(r, at + i, at + j) for i, j in both.items()]
        marks["not"] += [(r, at + i, at + of(cut - 7, cut - 1)[0] - 2) for i in here if i not in both]
        marks["shared"].append((r, at + of(arrow + 5, arrow + 6)[0], [at + i for i in both] or [at + here[0] - 1]))
        start += len(line)


def choice_loss(watched, marks, length):
    """The losses of where DUPLICATE and SHARED look: up to three."""
    parts = []
    for kind in ("same", "not"):
        rows = [x for x in marks[kind] if x[1] < length]
        if rows:
            r, q, k = torch.tensor(rows).T
            parts.append(-watched[DUPLICATE][r, q, k].clamp(min=-30).mean())
    rows = [x for x in marks["shared"] if x[1] < length]
    if rows:
        r, q = torch.tensor([x[:2] for x in rows]).T
        allowed = torch.zeros(len(rows), length, dtype=torch.bool)
        for i, x in enumerate(rows):
            allowed[i, x[2]] = True
        parts.append(-watched[SHARED][r, q].masked_fill(~allowed, -60).logsumexp(-1).clamp(min=-30).mean())
    return parts


def batch(tok, seed, rows, length, seen=None, plain=None, look=None, marks=None):
    """rows x (length + 1) ids, and the same with IGNORED where they are not learnt; each row starts at the beginning of a document, and
    the next ones follow it.  seen: a list that takes the documents."""
    rng = random.Random(seed)
    out, goal = np.zeros((rows, length + 1), np.int64), np.full((rows, length + 1), IGNORED, np.int64)
    for r in range(rows):
        ids, learnt = [], []
        while len(ids) <= length:
            pieces = text.document(rng)
            at, learns = len(ids), []
            for t, learn in pieces:
                e = tok.encode(t)
                new = e.ids
                if marks is not None and "\nTools:\n" in t:
                    shared_words(t, e, len(ids), r, plain, marks)
                ids += new
                learnt += new if learn else [IGNORED] * len(new)
                learns += [learn] * len(new)
            if look is not None and any("Tools:" in t or "List:" in t or "Text:" in t or "chema" in t for t, _ in pieces):
                here = []
                sources([tok.id_to_token(i) for i in ids[at:]], ids[at:], learns, plain, here, at)
                look += [(r, q, k) for q, k in here if q < length]
            if seen is not None:
                seen.append("".join(t for t, _ in pieces))
        out[r], goal[r] = ids[:length + 1], learnt[:length + 1]
    return torch.from_numpy(out), torch.from_numpy(goal)


def repeats(seed, rows, length):
    """Rows of random ids that are repeated, and their periods."""
    rng = np.random.default_rng(seed)
    out, periods = np.zeros((rows, length + 1), np.int64), rng.integers(6, length // 3, rows)
    for r, n in enumerate(periods):
        out[r] = np.resize(rng.integers(0, V - len(SPECIAL), n), length + 1)
    return torch.from_numpy(out), torch.from_numpy(periods)


# A model copies words that it has never seen with an induction circuit: a head that looks at the token before, and a later head that looks
# at what followed the present token earlier.  Training finds such heads late, so their weights are set roughly at the start, and a loss
# on their attention shows them where to look.
BEFORE, FOLLOWED = (0, 0), (2, 0)
BEGINS = [(2, 1), (3, 0)]      # look at the first token of a word that a call or an answer copies
COPYING = 0.2       # the share of the first training that has repeated random ids only
# Two more heads compare tools with the question.  DUPLICATE looks from a word of a tool's line to that word in the question; SHARED looks
# from the second name in the line to the words of the line that the question has.
DUPLICATE, SHARED = (0, 1), (1, 1)
COMMON = set("""the and for with what which who are was you your from get find lookup look fetch show check read query tool how much many
has have need can tell use that this two does about will please give out not where when its there they""".split())


def give_heads(m):
    """Set the weights of BEFORE and FOLLOWED.  The first principal components of the embedding identify a token.  BEFORE writes the token
    before into the last components.  The second half of a head is used because its RoPE frequencies are low."""
    d = m.s.head_dim
    with torch.no_grad():
        w = m.emb.weight - m.emb.weight.mean(0)
        axes = torch.linalg.svd(w, full_matrices=False)[2]
        token, place = axes[:d], axes[-d:]
        first, second = m.blocks[BEFORE[0]], m.blocks[FOLLOWED[0]]
        first.v.weight[:d], first.o.weight[:, :d] = token / first.an, 2 * place.T
        second.v.weight[:d], second.o.weight[:, :d] = token / second.an, token.T
        for p, axis in ((second.q, token), (second.k, place)):
            p.weight[:d // 2] = 0
            p.weight[d // 2:d] = 2 * axis[:d // 2] / second.an


def give_choice(m):
    """Set the weights of DUPLICATE as give_heads() does, and reduce what DUPLICATE and SHARED wrote until now."""
    d = m.s.head_dim
    with torch.no_grad():
        w = m.emb.weight - m.emb.weight.mean(0)
        axes = torch.linalg.svd(w, full_matrices=False)[2]
        for layer, head in (DUPLICATE, SHARED):
            b, at = m.blocks[layer], slice(head * d, head * d + d)
            b.o.weight[:, at] = 0.3 * b.o.weight[:, at]
        b, at = m.blocks[DUPLICATE[0]], DUPLICATE[1] * d
        for p in (b.q, b.k):
            p.weight[at:at + d // 2] *= 0.1
            p.weight[at + d // 2:at + d] = 2 * axes[:d // 2] / b.an


def give_begins(m):
    """Let BEGINS copy what they look at, as FOLLOWED does.  Where they look is learnt."""
    with torch.no_grad():
        src, d = m.blocks[FOLLOWED[0]], m.s.head_dim
        for layer, head in BEGINS:
            to, at = m.blocks[layer], slice(head * d, head * d + d)
            to.v.weight[at] = src.v.weight[:d] * src.an / to.an
            to.o.weight[:, at] = 0.7 * src.o.weight[:, :d]


def copying_loss(m, step, a):
    """On repeated random ids: the loss of the repetitions, and the loss of where BEFORE and FOLLOWED look."""
    length = (128, 128, 512)[step % 3]
    ids, periods = (x.to(a.device) for x in repeats(step, 512 // length, length))
    watched = {BEFORE: None, FOLLOWED: None}
    with torch.autocast(a.device, torch.bfloat16):
        logits = m(ids[:, :-1], watched)
    at = torch.arange(length, device=a.device)[None]
    again = at > periods[:, None]       # the first of a repetition is known by the second
    look = lambda head, where: -watched[head].gather(2, where.clamp(min=0)[..., None])[..., 0]
    said = F.cross_entropy(logits.float().transpose(1, 2), ids[:, 1:], reduction="none")[again].mean()
    before = look(BEFORE, (at - 1).expand(len(ids), -1))[:, 1:].mean()
    followed = look(FOLLOWED, at - periods[:, None] + 1)[again].mean()
    return said, before + followed


def twins(tok, device):
    """The ids of pieces that begin with a space, and of the same pieces without it."""
    v = tok.get_vocab()
    return tuple(torch.tensor(x, device=device) for x in zip(*((i, v[p[1:]]) for p, i in sorted(v.items()) if p[0] == "\u0120" and p[1:] in v)))


def spaces(m, pairs):
    """The variance of the difference between the embeddings of a piece with a space and of the same piece without it.  A word follows a space
    in a question and a quote in a call; if the difference is the same for all pieces, one is copied as the other."""
    w = m.emb.weight
    d = w[pairs[0]] - w[pairs[1]]
    return (d - d.mean(0)).square().sum(-1).mean() / w.detach().square().sum(-1).mean()


def step_batch(tok, step, a, seen=None, plain=None, look=None, marks=None):
    length = (256, 512, 256, 768)[step % 4]
    return batch(tok, ("again %d" if a.again else "train %d") % step, a.tokens * 3 // 4 // length, length, seen, plain, look, marks)


# --- GGUF ------------------------------------------------------------------------------------------------------------------

def gguf(path, m, tok, quantised):
    g = Gguf()
    g.string("general.architecture", "llama")
    g.string("general.name", "inferutils demo")
    g.string("general.version", "5")  # of the models that were built in: the header, whose hash records have, differs from the last one's
    g.string("general.description", "tells short stories about a hero, a place and an object, answers questions about inferutils, calls tools, and says of anything else that it is a demo")
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
    """Print how many questions infer-run answers correctly with this model: those that the text teaches, stories of combinations that it
    does not have, and questions that it does not teach."""
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


def calls(path, program, n=100):
    """Print how many random tools are called correctly (alone, among others, and with a text that has the arguments), and how many answers
    after a tool's result are that result.  tool_choice is "auto", as agent libraries send it."""
    rng, rows, d = random.Random("calls"), [], text.demo_tools
    for group in ["one tool"] * n + ["several tools"] * n + ["a text for a tool"] * n + ["cases"] * len(d.CASES):
        if group == "cases":
            tools, q, (name, args) = d.CASES[len(rows) - 3 * n]
        else:
            if group == "a text for a tool":
                ps, args, q = d.record(rng)
                name, what = rng.choice(d.CLASSES), ""
            else:
                name, what, ps, args, q = (d.known if rng.random() < 0.5 else d.invented)(rng)
            tools = [d.tool(name, what, ps)]
            while group == "several tools" and len(tools) < 2:
                tools += d.others(rng, {name}, 3)
            rng.shuffle(tools)
        rows.append((group, tools, q, name, args, d.result(rng, args)[0]))
    ask = lambda i, ms, tools: json.dumps({"id": i, "messages": ms, "tools": tools, "tool_choice": "auto", "temperature": 0, "max_tokens": 150}) + "\n"
    asked = ""
    for i, (_, tools, q, name, args, answer) in enumerate(rows):
        user = {"role": "user", "content": q}
        called = {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "type": "function", "function": {"name": name, "arguments": json.dumps(args)}}]}
        asked += ask("c%d" % i, [user], tools) + ask("a%d" % i, [user, called, {"role": "tool", "tool_call_id": "c", "content": answer}], tools)
    out = subprocess.run([program, "-q", "-m", path, "--batch", "-"], input=asked.encode(), stdout=subprocess.PIPE).stdout
    said = {r["id"]: r for r in map(json.loads, out.splitlines())}
    for group in dict.fromkeys(r[0] for r in rows):
        names = whole = answers = of = 0
        for i, (g, _, _, name, args, answer) in enumerate(rows):
            if g == group:
                c = [x["function"] for x in said["c%d" % i].get("tool_calls", [])]
                right = len(c) == 1 and c[0]["name"] == name
                of, names, answers = of + 1, names + right, answers + (said["a%d" % i].get("text") == answer)
                try:
                    whole += right and json.loads(c[0]["arguments"]) == args
                except ValueError:
                    pass
        print("%s: name %d, arguments too %d, answers %d of %d" % (group, names, whole, answers, of))


def save(a, m, opt, step):
    torch.save({"m": m.state_dict(), "opt": opt.state_dict(), "step": step}, a.dir / "state.tmp")
    (a.dir / "state.tmp").replace(a.dir / "state.pt")


def train(a, m, tok, opt, step):
    warm, saved, start = 20, time.time(), time.time()
    pairs = twins(tok, a.device)
    plain = list(range(V))
    for x, y in zip(*(p.tolist() for p in pairs)):
        plain[x] = y
    first = step
    for step in range(first, a.steps):
        for g in opt.param_groups:
            g["lr"] = a.lr * min(1.0, (step - first + 1) / warm, 0.01 + (a.steps - step) / a.down)      # warm up, constant, down
        said, begins, names, chosen = torch.zeros(()), torch.zeros(()), torch.zeros(()), []
        if a.again or step >= COPYING * a.steps:
            look, marks, watched = [], {"same": [], "not": [], "shared": []}, {h: None for h in (*BEGINS, DUPLICATE, SHARED)}
            ids, goal = (x.to(a.device) for x in step_batch(tok, step, a, None, plain, look, marks))
            with torch.autocast(a.device, torch.bfloat16):
                logits = m(ids[:, :-1], watched)
            if look:
                r, q, k = torch.tensor(look).T
                begins = sum(-w[r, q, k].clamp(min=-30).mean() for w in (watched[h] for h in BEGINS)) / len(BEGINS)
            chosen = choice_loss(watched, marks, ids.shape[1] - 1)
            places = {x[:2] for x in marks["shared"]}
            named = [(r, q, k) for r, q, k in look if (r, k) in places]
            if named:
                r, q, k = torch.tensor(named).T
                names = sum(-watched[h][r, q, k].clamp(min=-30).mean() for h in BEGINS) / len(BEGINS)
                names = names + F.cross_entropy(logits[r, q].float(), ids[r, q + 1])
            said = F.cross_entropy(logits.float().flatten(0, 1), goal[:, 1:].flatten(), ignore_index=IGNORED)
        copying = copying_loss(m, step, a) if not a.again or step % 4 == 0 else ()
        apart = spaces(m, pairs)
        loss = said + 0.5 * sum(copying) + apart + begins + 0.3 * sum(chosen) + 0.5 * names
        opt.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(m.parameters(), 1.0)
        opt.step()
        if step % 20 == 0:
            print("step %d  %.0f s  loss %.4f" % (step, time.time() - start, said.item()), *("%.3f" % c.item() for c in (*copying, apart, begins, names, *chosen)), flush=True)
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
    p.add_argument("--again", action="store_true", help="the model of --from copies already: let two more heads copy, and train on text in all steps")
    p.add_argument("--choice", action="store_true", help="set the weights of the heads that compare tools with the question, in the state of DIR")
    p.add_argument("--down", type=int, metavar="N", default=600, help="the rate falls to 0 in the last N steps")
    p.add_argument("--tools", type=float, default=text.TOOLS, metavar="SHARE", help="the share of the documents that have tools")
    p.add_argument("--tokens", type=int, default=4096, help="of one step")
    p.add_argument("--lr", type=float, default=3e-3)
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--device", default="cpu")
    a = p.parse_args()
    text.TOOLS = a.tools
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
        (give_begins if a.again else give_heads)(m)
    m.to(a.device)
    opt = torch.optim.AdamW(m.parameters(), lr=1e-3, betas=(0.9, 0.98), weight_decay=0.05)
    step = 0
    if (a.dir / "state.pt").exists():
        state = torch.load(a.dir / "state.pt", map_location=a.device)
        m.load_state_dict(state["m"])
        opt.load_state_dict(state["opt"])
        step = state["step"]
    if a.choice:
        give_choice(m)
    print("parameters", sum(x.numel() for x in m.parameters()), flush=True)
    train(a, m, tok, opt, step)
    gguf(a.dir / "demo-f32.gguf", m, tok, False)
    gguf(a.dir / "demo.gguf", m, tok, True)
    print("perplexity on held-out seeds: %.4f" % perplexity(m, tok, a.device))
    program = pathlib.Path(__file__).parent.parent / "build/release/infer-run"
    if program.exists():
        quality(a.dir / "demo.gguf", program)
        calls(a.dir / "demo.gguf", program)
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
