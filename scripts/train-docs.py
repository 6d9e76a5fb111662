#!/usr/bin/env python3
"""Train a model of 12 M parameters on documentation that Debian packages carry, to measure quantisers with.

  train-docs.py [--dir build/docs] [--minutes 22] [--threads 2] [--tokens 2048] [--lr 2e-3] [--debs DIR]

The packages of PACKAGES are downloaded with apt-get download (Debian 12; --debs: a folder that has them already) and unpacked to a
temporary folder; their English HTML, text and POD files are the text.  One document in HELD_OUT is held out, with the lines that no
other document has.  The built-in model is small and knows a few hundred words; this one has widths that are multiples of 256, so that
every quantised type fits, grouped heads, and real text.  Needs torch, numpy and tokenizers (PyPI).

Written to DIR: docs-f32.gguf (the master), docs-train.txt (1 MB of the training text, to calibrate with) and docs-test.txt (300 KB of
the held-out text).  Training takes --minutes of wall time whatever the machine, and the master is written every five minutes; the loss
on held-out text and that of a unigram model are printed at the end."""
import argparse, gzip, hashlib, html.parser, pathlib, re, subprocess, sys, tempfile, time
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from tokenizers import Tokenizer, models, pre_tokenizers, decoders, trainers
sys.path.insert(0, str(pathlib.Path(__file__).parent))
from train_llama import Gguf, Model, Shape

PACKAGES = ["bash-doc", "debian-faq", "debian-handbook", "debian-policy", "debian-reference-en", "developers-reference", "git-doc",
            "harden-doc", "maint-guide", "perl-doc", "python3.11-doc"]
SKIPPED = re.compile(r"/(genindex|search|contents|py-modindex)[^/]*$|/(_sources|_static|whatsnew|(?!en)[a-z]{2}-[A-Z]{2})/|\.(?!en)[a-z]{2}(-[a-z]{2,4})?\.(html|txt)")
HELD_OUT = 30
V = 4096
SHAPE = Shape(vocab=V, embd=512, layers=4, heads=8, kv_heads=4, head_dim=64, ff=1024, ctx=512)
LENGTH = 256
END = "<|endoftext|>"


# --- text ------------------------------------------------------------------------------------------------------------------

class Words(html.parser.HTMLParser):
    """The text of a page: no scripts, styles, heads or navigation; blocks end with a line."""
    BLOCKS = {"p", "div", "li", "dt", "dd", "tr", "pre", "h1", "h2", "h3", "h4", "h5", "h6", "br", "section", "table"}
    HIDDEN = {"script", "style", "head", "nav", "header", "footer"}

    def __init__(self):
        super().__init__()
        self.out, self.hidden, self.pre = [], 0, 0

    def handle_starttag(self, tag, attrs):
        self.hidden += tag in self.HIDDEN
        self.pre += tag == "pre"
        if tag in self.BLOCKS:
            self.out.append("\n")

    def handle_endtag(self, tag):
        self.hidden -= tag in self.HIDDEN
        self.pre -= tag == "pre"
        if tag in self.BLOCKS:
            self.out.append("\n")

    def handle_data(self, data):
        if self.hidden <= 0:
            self.out.append(data if self.pre > 0 else re.sub(r"\s+", " ", data))


def words(path):
    data = path.read_bytes()
    if path.suffix == ".gz":
        data = gzip.decompress(data)
    t = data.decode("utf-8", "replace").replace("\r", "")
    if ".html" in path.name:
        w = Words()
        w.feed(t)
        t = "".join(w.out)
    elif path.suffix == ".pod":
        t = re.sub(r"[A-Z]<{1,2} ?([^<>]*?) ?>{1,2}", r"\1", re.sub(r"(?m)^=\w+ ?", "", t))
    return [x.rstrip() for x in t.replace("¶", "").replace("\xa0", " ").split("\n")]


def english(t):
    return len(re.findall(r"\b(the|of|to|and|is|in|a)\b", t)) > 0.04 * len(t.split())


def documents(folder):
    """(training documents, held-out documents); a long line appears once, and none of the training text's in the held-out text."""
    files = [p for p in folder.rglob("*") if p.is_file() and not p.is_symlink() and p.name.endswith((".html", ".html.gz", ".txt", ".txt.gz", ".pod"))]
    found, seen, split = [], set(), ([], [])
    for p in sorted(files):
        name = str(p.relative_to(folder))
        if not SKIPPED.search("/" + name):
            found.append((int(hashlib.sha256(name.encode()).hexdigest(), 16) % HELD_OUT == 0, name, p))
    for held, _, p in sorted(found, key=lambda x: x[:2]):
        kept = []
        for x in words(p):
            if len(x) >= 40 and x.strip() in seen or not x and kept and not kept[-1]:
                continue
            seen.add(x.strip())
            kept.append(x)
        t = "\n".join(kept).strip() + "\n"
        if len(t) > 500 and english(t):
            split[held].append(t)
    return split


def text(a):
    with tempfile.TemporaryDirectory() as tmp:
        tmp = pathlib.Path(tmp)
        if not a.debs:
            subprocess.run(["apt-get", "download", *PACKAGES], cwd=tmp, check=True)
        for name in PACKAGES:
            for deb in (a.debs or tmp).glob(name + "_*.deb"):
                subprocess.run(["dpkg", "-x", deb, tmp / "x"], check=True)
        return documents(tmp / "x")


def make_tokenizer(docs):
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.decoder = decoders.ByteLevel()
    t.train_from_iterator(docs, trainers.BpeTrainer(vocab_size=V - 1, show_progress=False, initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet())))
    t.add_special_tokens([END])
    assert t.get_vocab_size() == V, t.get_vocab_size()
    return t


def ids_of(tok, docs):
    end, out = tok.token_to_id(END), []
    for d in tok.encode_batch(docs):
        out += [end] + d.ids
    return np.array(out, np.int64)


# --- GGUF ------------------------------------------------------------------------------------------------------------------

def write(path, m, tok):
    g = Gguf()
    g.string("general.architecture", "llama")
    g.string("general.name", "Debian documentation")
    g.u32("general.file_type", 0)
    g.u32("general.quantization_version", 2)
    g.shape(SHAPE)
    pieces = g.vocabulary(tok, [END])
    g.u32("tokenizer.ggml.bos_token_id", pieces.index(END))
    g.u32("tokenizer.ggml.eos_token_id", pieces.index(END))
    g.flag("tokenizer.ggml.add_bos_token", True)
    tmp = path.with_suffix(".tmp")
    tmp.write_bytes(g.data(m, False))
    tmp.replace(path)


# --- training --------------------------------------------------------------------------------------------------------------

def loss_of(m, ids):
    return F.cross_entropy(m(ids[:, :-1]).float().flatten(0, 1), ids[:, 1:].flatten())


def held_out(m, ids):
    rows = torch.from_numpy(ids[:len(ids) // (LENGTH + 1) * (LENGTH + 1)].reshape(-1, LENGTH + 1)[:200])
    with torch.no_grad():
        return sum(loss_of(m, r[None]).item() for r in rows) / len(rows)


def unigram(train, test):
    p = np.bincount(train, minlength=V) + 1.0
    return -np.log(p / p.sum())[test].mean()


def train(a, m, ids, save):
    wide = [p for p in m.parameters() if p.ndim == 2]
    opt = torch.optim.AdamW([{"params": wide, "weight_decay": 0.05}, {"params": [p for p in m.parameters() if p.ndim == 1], "weight_decay": 0.0}], lr=a.lr, betas=(0.9, 0.95))
    rng, start, step, done, saved = np.random.default_rng(0), time.time(), 0, 0.0, 0.0
    while done < 1:
        for g in opt.param_groups:
            g["lr"] = a.lr * min(1.0, (step + 1) / 100, 0.02 + (1 - done) / 0.4)      # up, level, and down
        at = rng.integers(0, len(ids) - LENGTH - 1, a.tokens // LENGTH)
        rows = torch.from_numpy(np.stack([ids[i:i + LENGTH + 1] for i in at]))
        with torch.autocast("cpu", torch.bfloat16):
            loss = loss_of(m, rows)
        opt.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(m.parameters(), 1.0)
        opt.step()
        if step % 50 == 0:
            print("step %d  %.0f s  loss %.4f" % (step, time.time() - start, loss.item()), flush=True)
        step += 1
        done = (time.time() - start) / (60 * a.minutes)
        if time.time() - start > saved + 300:
            saved += 300
            save()
    print("steps", step, "tokens", step * a.tokens, flush=True)


def cut(docs, size):
    out = ""
    for d in docs:
        out += d
        if len(out.encode()) >= size:
            break
    return out


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--dir", type=pathlib.Path, default=pathlib.Path("build/docs"))
    p.add_argument("--debs", type=pathlib.Path)
    p.add_argument("--minutes", type=float, default=22)
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--tokens", type=int, default=2048, help="of one step")
    p.add_argument("--lr", type=float, default=2e-3)
    a = p.parse_args()
    a.dir.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(a.threads)
    torch.manual_seed(0)
    docs, held = text(a)
    order = np.random.default_rng(1)
    order.shuffle(docs)
    order.shuffle(held)
    (a.dir / "docs-train.txt").write_text(cut(docs, 1 << 20))
    (a.dir / "docs-test.txt").write_text(cut(held, 300000))
    tok = make_tokenizer(docs)
    ids, test = ids_of(tok, docs), ids_of(tok, held)
    m = Model(SHAPE)
    print("parameters", sum(x.numel() for x in m.parameters()), "documents", len(docs), len(held), "tokens", len(ids), len(test), flush=True)
    train(a, m, ids, lambda: write(a.dir / "docs-f32.gguf", m, tok))
    write(a.dir / "docs-f32.gguf", m, tok)
    print("held-out loss %.4f, of a unigram model %.4f" % (held_out(m, test), unigram(ids, test)))


if __name__ == "__main__":
    main()
