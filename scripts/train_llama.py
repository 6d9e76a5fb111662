"""What the scripts that train models share: a model of the family llama in torch, and its GGUF file."""
import dataclasses, json, math, struct
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclasses.dataclass(frozen=True)
class Shape:
    vocab: int
    embd: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    ff: int
    ctx: int
    eps: float = 1e-5
    base: float = 10000.0


class Block(nn.Module):
    def __init__(self, s):
        super().__init__()
        self.an, self.fn = nn.Parameter(torch.ones(s.embd)), nn.Parameter(torch.ones(s.embd))
        self.q, self.k, self.v = (nn.Linear(s.embd, n * s.head_dim, bias=False) for n in (s.heads, s.kv_heads, s.kv_heads))
        self.o = nn.Linear(s.heads * s.head_dim, s.embd, bias=False)
        self.gate, self.up, self.down = nn.Linear(s.embd, s.ff, bias=False), nn.Linear(s.embd, s.ff, bias=False), nn.Linear(s.ff, s.embd, bias=False)


class Model(nn.Module):
    def __init__(self, s):
        super().__init__()
        self.s = s
        self.emb = nn.Embedding(s.vocab, s.embd)
        self.blocks = nn.ModuleList(Block(s) for _ in range(s.layers))
        self.on = nn.Parameter(torch.ones(s.embd))
        nn.init.normal_(self.emb.weight, std=0.02)
        for b in self.blocks:
            for m in (b.q, b.k, b.v, b.gate, b.up):
                nn.init.normal_(m.weight, std=0.03)
            for m in (b.o, b.down):
                nn.init.normal_(m.weight, std=0.03 / math.sqrt(2 * s.layers))
        t = torch.arange(s.ctx)[:, None] * s.base ** (-torch.arange(0, s.head_dim, 2) / s.head_dim)[None]
        self.register_buffer("cos", t.cos(), persistent=False)
        self.register_buffer("sin", t.sin(), persistent=False)

    def norm(self, x, g):
        x = x.float()
        return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + self.s.eps) * g

    def rope(self, x):          # pairs (2i, 2i + 1), as GGUF's llama has them
        n = x.shape[-2]
        a, b = x[..., 0::2], x[..., 1::2]
        c, s = self.cos[:n], self.sin[:n]
        return torch.stack((a * c - b * s, a * s + b * c), -1).flatten(-2)

    def forward(self, ids, watched=None):
        """watched: takes for each key (layer, head) the logarithms of its attention, rows x queries x keys."""
        s, x = self.s, self.emb(ids)
        B, N = ids.shape
        for i, b in enumerate(self.blocks):
            h = self.norm(x, b.an)
            q, k, v = (w(h).view(B, N, -1, s.head_dim).transpose(1, 2) for w in (b.q, b.k, b.v))
            q, k = self.rope(q).to(v.dtype), self.rope(k).to(v.dtype)
            for layer, head in watched or ():
                if layer == i:
                    scores = q[:, head].float() @ k[:, head].float().transpose(1, 2) / math.sqrt(s.head_dim)
                    scores = scores.masked_fill(torch.ones(N, N, dtype=torch.bool, device=ids.device).triu(1), -math.inf)
                    watched[layer, head] = F.log_softmax(scores, -1)
            if s.kv_heads < s.heads:
                k, v = (y.repeat_interleave(s.heads // s.kv_heads, 1) for y in (k, v))
            o = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + b.o(o.transpose(1, 2).reshape(B, N, -1))
            h = self.norm(x, b.fn)
            x = x + b.down(F.silu(b.gate(h)) * b.up(h))
        return F.linear(self.norm(x, self.on), self.emb.weight)

    def named(self):
        """(name in the file, parameter)s in the order of the file."""
        out = [("token_embd.weight", self.emb.weight), ("output_norm.weight", self.on)]
        for i, b in enumerate(self.blocks):
            p = "blk.%d." % i
            out += [(p + "attn_norm.weight", b.an)] + [(p + n + ".weight", w.weight) for n, w in (("attn_q", b.q), ("attn_k", b.k), ("attn_v", b.v), ("attn_output", b.o))]
            out += [(p + "ffn_norm.weight", b.fn)] + [(p + n + ".weight", w.weight) for n, w in (("ffn_gate", b.gate), ("ffn_up", b.up), ("ffn_down", b.down))]
        return out


def q8_0(x):
    x = x.reshape(-1, 32).astype(np.float32)
    d = np.abs(x).max(1) / np.float32(127)
    d16 = d.astype(np.float16)
    q = np.rint(x * np.where(d > 0, 1 / np.where(d > 0, d, 1), 0)[:, None]).astype(np.int8)
    return np.concatenate([d16.view(np.uint8).reshape(-1, 2), q.view(np.uint8)], 1).tobytes()


class Gguf:
    """A file in the making: its keys in the order in which they are added."""
    def __init__(self):
        self.kvs = []

    @staticmethod
    def bytes_of(b):
        return struct.pack("<Q", len(b)) + b

    def key(self, key, kind, payload):
        self.kvs.append(self.bytes_of(key.encode()) + struct.pack("<I", kind) + payload)

    def string(self, key, v):
        self.key(key, 8, self.bytes_of(v.encode()))

    def u32(self, key, v):
        self.key(key, 4, struct.pack("<I", v))

    def f32(self, key, v):
        self.key(key, 6, struct.pack("<f", v))

    def flag(self, key, v):
        self.key(key, 7, struct.pack("<?", v))

    def strings(self, key, v):
        self.key(key, 9, struct.pack("<IQ", 8, len(v)) + b"".join(self.bytes_of(x.encode()) for x in v))

    def shape(self, s):
        for k, v in (("vocab_size", s.vocab), ("block_count", s.layers), ("context_length", s.ctx), ("embedding_length", s.embd), ("feed_forward_length", s.ff),
                     ("attention.head_count", s.heads), ("attention.head_count_kv", s.kv_heads), ("attention.key_length", s.head_dim),
                     ("attention.value_length", s.head_dim), ("rope.dimension_count", s.head_dim)):
            self.u32("llama." + k, v)
        self.f32("llama.rope.freq_base", s.base)
        self.f32("llama.attention.layer_norm_rms_epsilon", s.eps)

    def vocabulary(self, tok, special):
        """Of a tokenizer of the package tokenizers; returns its pieces by their ids."""
        j = json.loads(tok.to_str())
        pieces = {**j["model"]["vocab"], **{x["content"]: x["id"] for x in j["added_tokens"]}}
        pieces = [p for p, _ in sorted(pieces.items(), key=lambda x: x[1])]
        self.string("tokenizer.ggml.model", "gpt2")
        self.string("tokenizer.ggml.pre", "gpt-2")
        self.strings("tokenizer.ggml.tokens", pieces)
        self.key("tokenizer.ggml.token_type", 9, struct.pack("<IQ", 5, len(pieces)) + np.array([3 if p in special else 1 for p in pieces], "<i4").tobytes())
        self.strings("tokenizer.ggml.merges", [m if isinstance(m, str) else " ".join(m) for m in j["model"]["merges"]])
        return pieces

    def data(self, model, quantised):
        """The bytes of the file; quantised: matrices in Q8_0."""
        infos, blobs, off = b"", [], 0
        for name, p in model.named():
            x = p.detach().float().cpu().numpy()
            q = quantised and x.ndim == 2
            blob = q8_0(x) if q else x.astype("<f4").tobytes()
            infos += self.bytes_of(name.encode()) + struct.pack("<I", x.ndim) + b"".join(struct.pack("<Q", n) for n in x.shape[::-1]) + struct.pack("<IQ", 8 if q else 0, off)
            blob += b"\0" * (-len(blob) % 32)
            off += len(blob)
            blobs.append(blob)
        head = b"GGUF" + struct.pack("<IQQ", 3, len(blobs), len(self.kvs)) + b"".join(self.kvs) + infos
        return head + b"\0" * (-len(head) % 32) + b"".join(blobs)
