#!/usr/bin/env python3
"""Evaluate a GGUF model in float64 with numpy: the outside truth for logits and log-probabilities.

  eval_gguf.py MODEL.gguf --ids 1,2,3 [--kv TYPE[,TYPE]] [--act f64|kern] [--ctx N] [--out logits|logprobs|next] [--bin FILE]

Written from the model descriptions, not from the library: one plain loop per layer, all positions at once, no cache.
Weights are decoded by gguf-py.  --act kern rounds activations before each product with quantised weights as
libcore/kern/kern.h says: KERN_FORM_Q8 and KERN_FORM_Q8K for the types of ACT_BLOCK, not at all for others.  --kv rounds
keys and values as a cache of that type would: f64, f32, f16, q8_0, q4_0 (blocks of a head, by gguf-py); of values after a comma.
Faults (see FAULTS) make the evaluation wrong on purpose; scripts/golden-logits.py uses them to show that a feature acts.
"""
import argparse
import json
import math
import sys

import numpy as np

FAULTS = {
    "no-qk-norm": "query and key norms are skipped",
    "qk-norm-after-rope": "query and key norms stand after the rotation",
    "kv-mod": "query head h reads kv head h mod n_kv",
    "no-mscale": "cos and sin are not scaled",
    "no-ramp": "YaRN interpolates every frequency",
    "no-round": "YaRN's ramp bounds are not rounded to integers",
    "rope-other": "pairs for halves, halves for pairs",
    "rope-full": "the rotation takes the whole head",
    "no-window": "sliding windows are ignored",
    "window-all": "every layer has the window",
    "silu": "SiLU instead of GELU",
    "no-embed-scale": "embeddings are not scaled",
    "no-post-norm": "norms after attention and FFN are skipped",
    "no-renorm": "expert weights are not renormalised",
    "swa-base": "window layers rotate with the base of the full ones",
    "swa-scaled": "window layers take the RoPE scaling of the full ones",
    "all-rope": "layers without rotation are rotated",
    "no-softcap": "softcaps are skipped",
    "no-sinks": "sinks take no share of the softmax",
    "no-clamp": "gate and up are not clamped",
    "ramp-rounded": "YaRN's ramp bounds are rounded where they are not",
    "no-pick-bias": "experts are chosen without the bias",
    "pick-weights": "the bias is in the experts' weights too",
    "softmax-gate": "experts are scored by softmax",
    "no-shared": "the experts of every row are left out",
    "no-shared-gate": "the experts of every row are not weighted",
    "no-temper": "queries do not grow with the position",
    "slides": "a row sees as many positions behind it as a chunk has, not its chunk",
    "temper-all": "queries of all layers grow with the position",
    "temper-late": "queries grow one position later",
    "weights-outside": "experts' weights multiply what they give",
    "norm-head": "queries and keys are normed by heads, not over all of them",
    "no-decay": "states do not fade",
    "no-delta": "what a state has under a key is not taken away before the new value comes",
    "no-beta": "every value is written in full",
    "no-unit": "queries and keys of states keep their lengths",
    "no-conv": "the convolution sees its own row alone",
    "state-anew": "states are forgotten before row 32",
    "conv-anew": "the convolution sees nothing before row 32 from there on",
    "heads-other": "heads of a state share keys the other way",
    "no-attn-gate": "what attention gives is not gated",
    "no-state-gate": "what a state gives is not gated",
    "no-skip": "nothing goes past a state",
    "step-linear": "the steps of a state are no softplus",
    "norm-first": "what a state gives is normed before it is gated",
    "norm-all": "what a state gives is normed over all channels, not over those of a group",
    "no-conv-bias": "a convolution has no bias",
    "bc-swapped": "what a state takes in and what it is read by are exchanged",
    "no-latent-norm": "latents are not normed",
    "no-score-growth": "scores do not grow with YaRN's factor",
    "no-groups": "experts are chosen from all groups",
    "group-one": "a group is as good as its best expert",
    "group-sum": "a group is as good as its two best experts",
    "no-conv-b": "rows are not multiplied before the convolution",
    "no-conv-c": "rows are not multiplied behind the convolution",
    "conv-silu": "a convolution is followed by silu",
    "no-v-norm": "values are not normed",
    "v-normed-k": "values that are keys are taken behind the keys' norm",
    "borrow-first": "layers without keys read those of the first layer of their kind",
    "no-inputs": "layers get no embedding of their own",
    "inputs-next": "a layer gets the embedding of the next",
    "no-input-proj": "the first embedding has no part in those of the layers",
    "no-layer-scale": "what a layer gives is not scaled",
    "no-expert-scale": "experts have no factor of their own",
    "no-dense": "the part beside the experts is left out",
    "no-experts": "experts beside the dense part are left out",
    "router-of-dense": "the router sees what the dense part sees",
    "no-router-scale": "what the router sees is not divided by the root of its width",
    "no-streams": "a layer sees and changes the first stream alone",
    "predict-turned": "streams are foreseen by the turned matrix",
    "no-predict": "streams are not foreseen",
    "no-correct-scale": "what opens the gate of a layer's embedding is not scaled",
    "correct-plain": "streams are corrected by factors without their 1",
    "inputs-all": "the first stream gets the layer's embedding too",
    "no-level": "streams keep their sizes where they begin and end",
    "no-side": "the branch beside attention is left out",
    "no-cut": "gates let everything through",
    "cut-less-one": "the deviation of a gate has one element less",
    "tie-high": "equal router logits go to the higher expert",
}
# types with an integer product: elements that share a scale of the activations
ACT_BLOCK = dict.fromkeys(("Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "IQ4_NL", "MXFP4"), 32)
ACT_BLOCK.update(dict.fromkeys(("Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "IQ4_XS", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ3_XXS", "IQ3_S",
                                "IQ1_S", "IQ1_M", "TQ1_0", "TQ2_0"), 256))
KV = ("f64", "f32", "f16", "q8_0", "q4_0")
# rope: how dimensions pair up in the file; the rest are departures from the llama block
ARCHS = {
    "llama": {"rope": "pairs"},
    "granite": {"rope": "pairs", "logit": "divide"},
    "granitemoe": {"rope": "pairs", "logit": "divide"},
    "granitehybrid": {"rope": "pairs", "logit": "divide"},
    "smollm3": {"rope": "pairs", "nope": 4},
    "qwen2": {"rope": "halves"},
    "qwen3": {"rope": "halves"},
    "qwen2moe": {"rope": "halves", "renorm": False},
    "qwen3moe": {"rope": "halves"},
    "phi3": {"rope": "halves"},
    "olmo2": {"rope": "halves", "period": 4, "base_swa": None},
    "gpt-oss": {"rope": "halves", "period": 2, "exact": True, "act": "swiglu", "ffn_norm": "post_attention_norm"},
    "qwen3next": {"rope": "halves", "ffn_norm": "post_attention_norm", "gated": True},
    "qwen35": {"rope": "halves", "ffn_norm": "post_attention_norm", "gated": True, "tiled": True},
    "qwen35moe": {"rope": "halves", "ffn_norm": "post_attention_norm", "gated": True, "tiled": True},
    "glm4": {"rope": "pairs"},
    "glm4moe": {"rope": "halves", "ffn_norm": "post_attention_norm"},
    "mistral3": {"rope": "pairs"},
    "llama4": {"rope": "pairs", "nope": 4, "period": 4, "chunk": 8192, "renorm": False, "gating": 2, "temper": (0.1, 8192)},
    "minimax-m2": {"rope": "halves"},
    "deepseek2": {"rope": "pairs", "renorm": False, "latent": True},
    "mistral4": {"rope": "pairs", "renorm": False, "latent": True, "gating": 1, "best": 2},
    "gemma2": {"rope": "halves", "act": "gelu", "embed": "sqrt", "period": 2},
    "gemma3": {"rope": "halves", "act": "gelu", "embed": "sqrt", "period": 6, "base_swa": 1e4},
    "lfm2": {"rope": "halves"},
    "lfm2moe": {"rope": "halves"},
    "gemma3n": {"rope": "halves", "act": "gelu", "embed": "sqrt", "period": 5, "base_swa": 1e4, "scale": 1.0, "norm_v": True},
    "gemma4": {"rope": "halves", "act": "gelu", "embed": "sqrt", "period": 6, "base_swa": 1e4, "scale": 1.0, "norm_v": True},
}


def load(path):
    """keys: name -> value; tensors: name -> (float64 array, outermost dimension first, type name)."""
    from gguf import GGUFReader, quants
    r = GGUFReader(path)
    keys = {k: f.contents() for k, f in r.fields.items()}
    tensors = {}
    for t in r.tensors:
        shape = [int(d) for d in reversed(t.shape)]
        tensors[t.name] = (quants.dequantize(t.data, t.tensor_type).astype(np.float64).reshape(shape), t.tensor_type.name)
    return keys, tensors


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def round_act(x, block):
    """Rows of x rounded to block-scaled int8: d = amax / 127, q = round-to-even(x * (1 / d)), all in float32.
    Also how near the nearest value lay to the edge between two roundings."""
    f = x.astype(np.float32)
    if f.shape[-1] % block:
        raise SystemExit(f"a row of {f.shape[-1]} is no multiple of {block}")
    b = f.reshape(*f.shape[:-1], -1, block)
    d = np.abs(b).max(-1, keepdims=True) / np.float32(127)
    inv = np.divide(np.float32(1), d, out=np.zeros_like(d), where=d >= np.float32(2.0**-126))
    q = np.rint(b * inv)
    edge = np.abs(np.abs(b.astype(np.float64) * inv - q) - 0.5).min()
    return (q.astype(np.float64) * d.astype(np.float64)).reshape(x.shape), edge


def yarn_inv(inv, n_rot, base, factor, orig, fast, slow, exact, faults):
    def corr(beta):
        return n_rot * math.log(orig / (beta * 2 * math.pi)) / (2 * math.log(base))
    lo, hi = corr(fast), corr(slow)
    if "ramp-rounded" in faults if exact else "no-round" not in faults:
        lo, hi = math.floor(lo), math.ceil(hi)
    lo, hi = max(lo, 0), min(hi, n_rot - 1)
    ramp = np.clip((np.arange(len(inv)) - lo) / max(hi - lo, 0.001), 0, 1)
    if "no-ramp" in faults:
        ramp = np.ones_like(inv)
    return inv / factor * ramp + inv * (1 - ramp)


def round_kv(x, kind):
    """Rows of the last dimension as a cache of a type holds them."""
    if kind == "f64":
        return x
    if kind in ("f32", "f16"):
        return x.astype({"f32": np.float32, "f16": np.float16}[kind]).astype(np.float64)
    from gguf import GGMLQuantizationType, quants
    t = GGMLQuantizationType[kind.upper()]
    return quants.dequantize(quants.quantize(np.ascontiguousarray(x, np.float32), t), t).astype(np.float64).reshape(x.shape)


class Model:
    def __init__(self, keys, tensors, ctx=0, kv="f64", act="f64", faults=()):
        self.keys, self.tensors, self.faults, self.act = keys, tensors, set(faults), act
        self.edge = 1.0
        self.k_type, self.v_type = (kv.split(",") * 2)[:2]
        unknown = self.faults - set(FAULTS)
        if unknown:
            raise SystemExit(f"no such fault: {unknown}")
        self.arch = keys["general.architecture"]
        if self.arch not in ARCHS:
            raise SystemExit(f"architecture {self.arch} is not written here")
        self.how = ARCHS[self.arch]
        k = self.key
        self.n_layer, self.n_embd = k("block_count") - k("nextn_predict_layers", 0), k("embedding_length")
        self.eps = float(k("attention.layer_norm_rms_epsilon"))
        self.ctx = ctx or k("context_length")
        self.chunk = self.how.get("chunk") and k("attention.sliding_window", 0) or self.how.get("chunk", 0)
        self.window, self.scale_all = self.chunk or k("attention.sliding_window", 0), k("attention.scale", 0.0)
        self.cap_attn, self.cap_out = k("attn_logit_softcapping", 0.0), k("final_logit_softcapping", 0.0)
        self.res = k("residual_scale", 0.0) or 1.0

    def key(self, name, default=None):
        v = self.keys.get(f"{self.arch}.{name}", default)
        if v is None:
            raise SystemExit(f"key {self.arch}.{name} is absent")
        return v

    def per_layer(self, name, il, default=None):
        v = self.key(name, default)
        return v[il] if isinstance(v, (list, np.ndarray)) else v

    def has(self, name):
        return name in self.tensors

    def is_window(self, il):
        if not self.window or "no-window" in self.faults:
            return False
        if "window-all" in self.faults:
            return True
        p = self.key("attention.sliding_window_pattern", self.how.get("period", 0))
        if isinstance(p, (list, np.ndarray)):
            return bool(p[il])
        return p == 0 or il % p != p - 1

    def rounded(self, x, kind):
        if self.act == "f64" or kind not in ACT_BLOCK:
            return x
        y, edge = round_act(x, ACT_BLOCK[kind])
        self.edge = min(self.edge, edge)
        return y

    def mm(self, x, name, expert=None):
        """x [..., k] times the rows of a weight, and its bias if there is one."""
        w, kind = self.tensors[name + ".weight"]
        y = self.rounded(x, kind) @ (w if expert is None else w[expert]).T
        if not self.has(name + ".bias"):
            return y
        return y + (self.tensors[name + ".bias"][0] if expert is None else self.tensors[name + ".bias"][0][expert])

    def norm(self, x, name, eps=None):
        y = x / np.sqrt((x * x).mean(-1, keepdims=True) + (eps or self.eps))
        return y * self.tensors[name + ".weight"][0]

    def rope(self, il, n_rot, n):
        """cos and sin [n][n_rot / 2] of layer il, and their scale applied."""
        local = self.is_window(il) and "base_swa" in self.how and "swa-base" not in self.faults
        full = self.key("rope.freq_base", 10000.0)
        base = float(self.key("rope.freq_base_swa", self.how["base_swa"] or full) if local else full)
        inv = base ** (-np.arange(0, n_rot, 2) / n_rot)
        kind = self.key("rope.scaling.type", "linear")
        if kind == "linear" and self.has("rope_factors_long.weight"):
            kind = "longrope"
        factor = float(self.key("rope.scaling.factor", 0.0) or self.key("rope.scale_linear", 0.0) or 1.0)
        orig = self.key("rope.scaling.original_context_length", self.key("context_length", 0))
        mscale = float(self.key("rope.scaling.attn_factor", 0.0)) or self.longrope_mscale(kind, orig)
        if self.is_window(il) and "base_swa" in self.how and "swa-scaled" not in self.faults:
            kind, mscale = "none", 1.0
        if kind == "linear":
            inv = inv / factor
        elif kind == "yarn":
            inv = yarn_inv(inv, n_rot, base, factor, orig, float(self.key("rope.scaling.yarn_beta_fast", 32.0)),
                           float(self.key("rope.scaling.yarn_beta_slow", 1.0)), self.how.get("exact"), self.faults)
            mscale *= float(self.key("rope.scaling.yarn_attn_factor", 0.0)) or (0.1 * math.log(factor) + 1 if factor > 1 else 1)
            all_dim = self.key("rope.scaling.yarn_log_multiplier", 0.0)
            if self.how.get("latent"):      # the factor is on the scores instead, and mscale is mscale_all_dim
                all_dim = 1.0 if all_dim else 0.0
            mscale /= 0.1 * all_dim * math.log(factor) + 1 if factor > 1 else 1
        if self.has("rope_freqs.weight") and not (self.is_window(il) and "base_swa" in self.how):
            inv = inv / self.tensors["rope_freqs.weight"][0]
        if kind == "longrope":
            inv = inv / self.tensors["rope_factors_%s.weight" % ("long" if self.ctx > orig else "short")][0]
        a = np.arange(n)[:, None] * inv
        m = 1.0 if "no-mscale" in self.faults else mscale
        return np.cos(a) * m, np.sin(a) * m

    def longrope_mscale(self, kind, orig):
        """Where the file says no factor."""
        ratio = self.key("context_length") / orig if orig else 0
        return math.sqrt(1 + math.log(ratio) / math.log(orig)) if kind == "longrope" and ratio > 1 and orig > 1 else 1.0

    def is_still(self, il):
        nope = self.how.get("nope")
        if self.arch == "granitehybrid":
            return not self.key("rope.scaling.finetuned", True)
        return bool(nope) and (il + 1) % nope == 0

    def tempered(self, q, il):
        """Queries [n][heads][d] that grow with the position."""
        beta, length = self.how.get("temper", (0.0, 0))
        beta, length = self.key("attention.temperature_scale", beta), self.key("attention.temperature_length", length)
        if not beta or "no-temper" in self.faults or (self.chunk and not self.is_still(il) and "temper-all" not in self.faults):
            return q
        first = 1 if self.chunk and "temper-late" not in self.faults else 0
        length = length or self.key("rope.scaling.original_context_length")
        return q * (1 + beta * np.log(1 + (np.arange(len(q)) + first) // length))[:, None, None]

    def rotate(self, x, il):
        """x [n][heads][d]"""
        if self.is_still(il) and "all-rope" not in self.faults:
            return x
        n, _, d = x.shape
        rot = self.key("rope.dimension_count", d) if "rope-full" not in self.faults else d
        if self.is_window(il):
            rot = self.key("rope.dimension_count_swa", rot)
        c, s = (t[:, None, :] for t in self.rope(il, rot, n))
        pairs = (self.how["rope"] == "pairs") != ("rope-other" in self.faults)
        one, two = (slice(0, rot, 2), slice(1, rot, 2)) if pairs else (slice(0, rot // 2), slice(rot // 2, rot))
        y = x.copy()
        y[..., one] = x[..., one] * c - x[..., two] * s
        y[..., two] = x[..., one] * s + x[..., two] * c
        return y

    def qk_norm(self, x, name):
        """Over a head, or over all heads together, as the weight is long."""
        if not self.has(name + ".weight") or "no-qk-norm" in self.faults:
            return x
        if self.tensors[name + ".weight"][0].size == x.shape[-1]:
            return self.norm(x, name)
        if "norm-head" in self.faults:
            return x / np.sqrt((x * x).mean(-1, keepdims=True) + self.eps) * self.tensors[name + ".weight"][0].reshape(x.shape[1:])
        return self.norm(x.reshape(len(x), -1), name).reshape(x.shape)

    def qkv(self, h, p, heads, kv, dk, dv):
        n = len(h)
        if self.how.get("gated"):
            k, v = self.mm(h, p + "attn_k"), self.mm(h, p + "attn_v")
            return None, k.reshape(n, kv, dk), v.reshape(n, kv, dv)
        if self.has(p + "attn_qkv.weight"):
            y = self.mm(h, p + "attn_qkv")
            q, k, v = np.split(y, [heads * dk, heads * dk + kv * dk], axis=-1)
        else:
            q, k = self.mm(h, p + "attn_q"), self.mm(h, p + "attn_k")
            v = self.mm(h, p + "attn_v") if self.has(p + "attn_v.weight") else k
        return q.reshape(n, heads, dk), k.reshape(n, kv, dk), v.reshape(n, kv, dv)

    def latent_qkv(self, h, il):
        """Queries, keys and values of every head, made of one latent of each position."""
        p, n, heads = f"blk.{il}.", len(h), self.key("attention.head_count")
        rank, rot = self.key("attention.kv_lora_rank"), self.key("rope.dimension_count")
        dk = self.key("attention.key_length_mla", self.key("attention.key_length"))
        dv = self.key("attention.value_length_mla", self.key("attention.value_length"))
        q = h
        if self.has(p + "attn_q_a.weight"):
            q = self.norm(self.mm(h, p + "attn_q_a"), p + "attn_q_a_norm", 1e-6)
        q = self.mm(q, p + ("attn_q" if q is h else "attn_q_b")).reshape(n, heads, dk)
        c, pe = np.split(self.mm(h, p + "attn_kv_a_mqa"), [rank], axis=-1)
        if "no-latent-norm" not in self.faults:
            c = self.norm(c, p + "attn_kv_a_norm", 1e-6)        # transformers: not the eps of the config
        pe = self.rotate(pe.reshape(n, 1, rot), il)[:, 0]
        c, pe = np.split(round_kv(np.concatenate([c, pe], -1), self.k_type), [rank], axis=-1)
        if self.has(p + "attn_kv_b.weight"):
            k_b, v_b = np.split(self.tensors[p + "attn_kv_b.weight"][0].reshape(heads, -1, rank), [dk - rot], axis=1)
        else:
            k_b, v_b = self.tensors[p + "attn_k_b.weight"][0].swapaxes(1, 2), self.tensors[p + "attn_v_b.weight"][0]
        k, v = (np.einsum("nr,hdr->nhd", c, b) for b in (k_b, v_b))
        q = np.concatenate([q[..., :dk - rot], self.rotate(q[..., dk - rot:], il)], -1)
        factor = float(self.key("rope.scaling.factor", 0.0) or 1.0)
        grow = 1 + self.key("rope.scaling.yarn_log_multiplier", 0.0) * math.log(factor) if factor > 1 else 1.0
        return q * (grow**2 if "no-score-growth" not in self.faults else 1), np.concatenate([k, np.repeat(pe[:, None], heads, 1)], -1), v

    def attention(self, h, il):
        p, n = f"blk.{il}.", len(h)
        if self.how.get("latent"):
            q, k, v = self.latent_qkv(h, il)
            q = self.tempered(q, il)
            s = np.einsum("nhd,mhd->hnm", q, k) / math.sqrt(k.shape[-1])
            o = softmax(np.where(np.tri(n, dtype=bool), s, -np.inf)) @ v.swapaxes(0, 1)
            return self.mm(o.swapaxes(0, 1).reshape(n, -1), p + "attn_output")
        heads = self.per_layer("attention.head_count", il)
        kv = self.per_layer("attention.head_count_kv", il, heads)
        dk = self.key("attention.key_length", self.n_embd // heads)
        dv = self.key("attention.value_length", self.n_embd // heads)
        if self.slides(il):
            dk, dv = self.key("attention.key_length_swa", dk), self.key("attention.value_length_swa", dv)
        if self.has(p + "ssm_in.weight"):
            return self.mamba(h, p)
        if self.has(p + "ssm_conv1d.weight"):
            return self.recurrent(h, p)
        if self.has(p + "shortconv.conv.weight"):
            return self.short_conv(h, p)
        if self.key("attention.shared_kv_layers", 0) > self.n_layer - 1 - il:
            q, (k, v), by = self.mm(h, p + "attn_q").reshape(n, heads, dk), self.kept[self.keeper(il)], 1.0
            return self.attend(self.rotate(self.qk_norm(q, p + "attn_q_norm"), il), k, v, il, by)
        q, k, v, by = *self.qkv(h, p, heads, kv, dk, dv), 1.0
        if self.how.get("gated"):
            q, by = np.split(self.mm(h, p + "attn_q").reshape(n, heads, dk + dv), [dk], axis=-1)
            by = 1.0 if "no-attn-gate" in self.faults else sigmoid(by)
        late = "qk-norm-after-rope" in self.faults
        if not late:
            q, k = self.qk_norm(q, p + "attn_q_norm"), self.qk_norm(k, p + "attn_k_norm")
        if "v-normed-k" in self.faults and not self.has(p + "attn_v.weight"):
            v = k
        q, k = self.rotate(q, il), self.rotate(k, il)
        if late:
            q, k = self.qk_norm(q, p + "attn_q_norm"), self.qk_norm(k, p + "attn_k_norm")
        if self.how.get("norm_v") and "no-v-norm" not in self.faults:
            v = v / np.sqrt((v * v).mean(-1, keepdims=True) + self.eps)
        if self.chunk and not self.is_still(il) and self.key("expert_count") != 128 and "no-qk-norm" not in self.faults:
            q, k = (x / np.sqrt((x * x).mean(-1, keepdims=True) + self.eps) for x in (q, k))
        q = self.tempered(q, il)
        k, v = round_kv(k, self.k_type), round_kv(v, self.v_type)
        self.kept[il] = k, v
        return self.attend(q, k, v, il, by)

    def slides(self, il):
        """What its heads are like, whatever a fault does to its window."""
        p = self.key("attention.sliding_window_pattern", 1)
        return isinstance(p, (list, np.ndarray)) and bool(p[il])

    def keeper(self, il):
        """The layer whose keys and values a layer at the end reads."""
        last = range(self.n_layer - self.key("attention.shared_kv_layers"))
        kind = [i for i in last if self.slides(i) == self.slides(il)]
        return kind[0 if "borrow-first" in self.faults else -1]

    def weighted(self, s, v):
        """The mean of v [n][d], weighted by the softmax of scores s [..][n], or [..][n + 1] with a sink."""
        return softmax(s)[:, :len(v)] @ v

    def attend(self, q, k, v, il, by):
        """q [n][heads][d] over k and v [n][kv][d], then the output's product"""
        p, n, heads, kv, dv = f"blk.{il}.", len(q), q.shape[1], k.shape[1], v.shape[2]
        scale = self.scale_all or self.how.get("scale") or 1 / math.sqrt(q.shape[2])
        i = np.arange(n)
        seen = i[None, :] <= i[:, None]
        if self.is_window(il):
            seen &= i[:, None] // self.chunk == i[None, :] // self.chunk if self.chunk and "slides" not in self.faults else i[:, None] - i[None, :] < self.window
        o = np.empty((n, heads, dv))
        for g in range(heads):
            j = g % kv if "kv-mod" in self.faults else g // (heads // kv)
            s = q[:, g] @ k[:, j].T * scale
            if self.cap_attn and "no-softcap" not in self.faults:
                s = self.cap_attn * np.tanh(s / self.cap_attn)
            s = np.where(seen, s, -np.inf)
            if self.has(p + "attn_sinks.weight") and "no-sinks" not in self.faults:     # a key with a value of 0
                s = np.append(s, np.full((n, 1), self.tensors[p + "attn_sinks.weight"][0].reshape(-1)[g]), 1)
            o[:, g] = self.weighted(s, v[:, j])
        return self.mm((o * by).reshape(n, -1), p + "attn_output")

    def short_conv(self, h, p):
        b, c, x = np.split(self.mm(h, p + "shortconv.in_proj"), 3, axis=-1)
        y = self.convolved(x if "no-conv-b" in self.faults else b * x, self.tensors[p + "shortconv.conv.weight"][0], "conv-silu" in self.faults)
        return self.mm(y if "no-conv-c" in self.faults else c * y, p + "shortconv.out_proj")

    def mamba(self, h, p):
        n, ng, nh, ds, di = len(h), *(self.key("ssm." + k) for k in ("group_count", "time_step_rank", "state_size", "inner_size"))
        z, x, dt = np.split(self.mm(h, p + "ssm_in"), [di, 2 * di + 2 * ng * ds], axis=-1)
        bias = 0.0 if "no-conv-bias" in self.faults or not self.has(p + "ssm_conv1d.bias") else self.tensors[p + "ssm_conv1d.bias"][0].reshape(-1)
        x, b, c = np.split(self.convolved(x, self.tensors[p + "ssm_conv1d.weight"][0], bias=bias), [di, di + ng * ds], axis=-1)
        if "bc-swapped" in self.faults:
            b, c = c, b
        x, b, c = x.reshape(n, nh, -1), b.reshape(n, ng, ds), c.reshape(n, ng, ds)
        a, shift, d = (self.tensors[p + k][0].reshape(-1) for k in ("ssm_a", "ssm_dt.bias", "ssm_d"))
        dt = dt + shift if "step-linear" in self.faults else np.log1p(np.exp(dt + shift))
        y = np.empty_like(x)
        for j in range(nh):
            s, g = np.zeros((ds, x.shape[2])), j % ng if "heads-other" in self.faults else j // (nh // ng)
            for r in range(n):
                fade = 0.0 if r == 32 and "state-anew" in self.faults else 1.0 if "no-decay" in self.faults else np.exp(a[j] * dt[r, j])
                s = fade * s + np.outer(b[r, g], dt[r, j] * x[r, j])
                y[r, j] = c[r, g] @ s + (0.0 if "no-skip" in self.faults else d[j] * x[r, j])
        return self.mm(self.gate_normed(y.reshape(n, di), z * sigmoid(z), self.tensors[p + "ssm_norm.weight"][0].reshape(-1), ng), p + "ssm_out")

    def gate_normed(self, y, z, w, groups):
        if "no-state-gate" in self.faults:
            z = np.ones_like(z)
        y = y if "norm-first" in self.faults else y * z
        by = y.reshape(len(y), 1 if "norm-all" in self.faults else groups, -1)
        by = by / np.sqrt((by * by).mean(-1, keepdims=True) + self.eps)
        return by.reshape(y.shape) * w * (z if "norm-first" in self.faults else 1.0)

    def convolved(self, x, w, silu=True, bias=0.0):
        """x [n][c], w [c][taps]"""
        taps, y = w.shape[1], np.zeros_like(x) + bias
        for r in range(len(x)):
            first = 32 if "conv-anew" in self.faults and r >= 32 else r if "no-conv" in self.faults else 0
            for t in range(taps):
                if r - t >= first:
                    y[r] += w[:, taps - 1 - t] * x[r - t]
        return y * sigmoid(y) if silu else y

    def gates(self, h, p, nk, nv):
        """beta and g [n][nv]"""
        if self.has(p + "ssm_ba.weight"):
            y = self.mm(h, p + "ssm_ba").reshape(len(h), nk, 2, nv // nk)
            b, a = y[:, :, 0].reshape(len(h), nv), y[:, :, 1].reshape(len(h), nv)
        else:
            b, a = self.mm(h, p + "ssm_beta"), self.mm(h, p + "ssm_alpha")
        g = np.exp(self.tensors[p + "ssm_a"][0].reshape(-1) * np.log1p(np.exp(a + self.tensors[p + "ssm_dt.bias"][0].reshape(-1))))
        return np.ones_like(b) if "no-beta" in self.faults else sigmoid(b), np.ones_like(g) if "no-decay" in self.faults else g

    def recurrent(self, h, p):
        n, nk, nv, dk = len(h), self.key("ssm.group_count"), self.key("ssm.time_step_rank"), self.key("ssm.state_size")
        dv = self.key("ssm.inner_size") // nv
        x = self.convolved(self.mm(h, p + "attn_qkv"), self.tensors[p + "ssm_conv1d.weight"][0])
        q, k, v = np.split(x, [nk * dk, 2 * nk * dk], axis=-1)
        q, k, v = q.reshape(n, nk, dk), k.reshape(n, nk, dk), v.reshape(n, nv, dv)
        if "no-unit" not in self.faults:
            q, k = (a / np.sqrt((a * a).sum(-1, keepdims=True) + 1e-6) for a in (q, k))
        beta, g = self.gates(h, p, nk, nv)
        tiled = bool(self.how.get("tiled")) != ("heads-other" in self.faults)
        y = np.empty((n, nv, dv))
        for j in range(nv):
            s, kj = np.zeros((dk, dv)), j % nk if tiled else j // (nv // nk)
            for r in range(n):
                s = s * (0.0 if r == 32 and "state-anew" in self.faults else g[r, j])
                had = 0.0 if "no-delta" in self.faults else k[r, kj] @ s
                s = s + np.outer(k[r, kj], beta[r, j] * (v[r, j] - had))
                y[r, j] = q[r, kj] @ s / math.sqrt(dk)
        z = self.mm(h, p + "attn_gate").reshape(n, nv, dv)
        y = self.norm(y, p + "ssm_norm") * (1.0 if "no-state-gate" in self.faults else z * sigmoid(z))
        return self.mm(y.reshape(n, -1), p + "ssm_out")

    def activate(self, gate):
        if self.how.get("act") != "gelu" or "silu" in self.faults:
            return gate * sigmoid(gate)
        return 0.5 * gate * (1 + np.tanh(math.sqrt(2 / math.pi) * (gate + 0.044715 * gate**3)))

    def mlp(self, h, p, tail="", expert=None):
        if not self.has(p + "ffn_gate" + tail + ".weight"):
            both = "ffn_gate_up" if self.has(p + "ffn_gate_up" + tail + ".weight") else "ffn_up"
            gate, up = np.split(self.mm(h, p + both + tail, expert), 2, axis=-1)
        else:
            gate, up = self.mm(h, p + "ffn_gate" + tail, expert), self.mm(h, p + "ffn_up" + tail, expert)
        if self.how.get("act") == "swiglu":
            if "no-clamp" not in self.faults:
                gate, up = np.minimum(gate, 7.0), np.clip(up, -7.0, 7.0)
            return self.mm((up + 1) * gate * sigmoid(1.702 * gate), p + "ffn_down" + tail, expert)
        return self.mm(self.activate(self.cut(gate, p)) * up, p + "ffn_down" + tail, expert)

    def cut(self, gate, p):
        """What is above the mean and so many deviations."""
        mul = self.keys.get(f"{self.arch}.activation_sparsity_scale", [-math.inf] * self.n_layer)[int(p.split(".")[1])]
        if not math.isfinite(mul) or "no-cut" in self.faults:
            return gate
        least = gate.mean(-1, keepdims=True) + mul * gate.std(-1, keepdims=True, ddof="cut-less-one" in self.faults)
        return np.maximum(gate - least, 0.0)

    def keep_groups(self, pick, sigmoid_scored):
        """Experts outside the best groups are out of the choice."""
        groups, n = self.key("expert_group_count", 1), len(pick)
        if groups < 2 or "no-groups" in self.faults:
            return pick
        best = 1 if "group-one" in self.faults else 2 if sigmoid_scored or "group-sum" in self.faults else self.how.get("best", 1)
        g = pick.reshape(n, groups, -1)
        good = np.argsort(-np.sort(g, -1)[..., -best:].sum(-1), axis=-1, kind="stable")[:, :self.key("expert_group_used_count")]
        keep = np.zeros((n, groups), bool)
        np.put_along_axis(keep, good, True, -1)
        return np.where(keep[..., None], g, -np.inf).reshape(pick.shape)

    def route(self, h, p):
        """Chosen experts [n][used] in rank order, equal logits to the lower index; weights [n][used]."""
        logits = self.mm(h, p + "ffn_gate_inp")
        used = self.key("expert_used_count")
        by_norm = 2 if self.how.get("latent") and self.key("expert_weights_norm", False) else 1
        gating = self.key("expert_gating_func", self.how.get("gating", by_norm))
        score = sigmoid(logits) if gating == 2 and "softmax-gate" not in self.faults else softmax(logits)
        pick = logits if self.key("expert_group_count", 1) < 2 else score
        if self.has(p + "exp_probs_b.bias"):
            bias = self.tensors[p + "exp_probs_b.bias"][0]
            pick = score + (0 if "no-pick-bias" in self.faults else bias)
            score = score + (bias if "pick-weights" in self.faults else 0)
        pick = self.keep_groups(pick, gating == 2)
        if "tie-high" in self.faults:
            top = logits.shape[-1] - 1 - np.argsort(-logits[:, ::-1], axis=-1, kind="stable")[:, :used]
        else:
            top = np.argsort(-pick, axis=-1, kind="stable")[:, :used]
        w = np.take_along_axis(score, top, -1)
        if self.key("expert_weights_norm", self.how.get("renorm", True)) and "no-renorm" not in self.faults:
            w = w / w.sum(-1, keepdims=True)
        return top, w * (self.key("expert_weights_scale", 0.0) or 1.0)

    def beside(self, x, il):
        """The dense part and the experts, each with norms of its own."""
        p = f"blk.{il}."
        h = self.norm(x, p + "ffn_norm")
        y = 0.0 if "no-dense" in self.faults else self.norm(self.mlp(h, p), p + "post_ffw_norm_1")
        r = x / np.sqrt((x * x).mean(-1, keepdims=True) + self.eps) * self.tensors[p + "ffn_gate_inp.scale"][0]
        r = h if "router-of-dense" in self.faults else r
        top, w = self.route(r if "no-router-scale" in self.faults else r / math.sqrt(self.n_embd), p)
        if "no-expert-scale" not in self.faults:
            w = w * self.tensors[p + "ffn_down_exps.scale"][0].reshape(-1)[top]
        z, h = np.zeros_like(x), self.norm(x, p + "pre_ffw_norm_2")
        for i, row in enumerate(h):
            for e, we in zip(top[i], w[i]):
                gate, up = np.split(self.mm(row, p + "ffn_gate_up_exps", e), 2)
                z[i] += we * self.mm(self.activate(gate) * up, p + "ffn_down_exps", e)
        return y if "no-experts" in self.faults else y + self.norm(z, p + "post_ffw_norm_2")

    def ffn(self, h, il):
        p = f"blk.{il}."
        if not self.has(p + "ffn_gate_inp.weight"):
            return self.mlp(h, p)
        top, w = self.route(h, p)
        y = np.zeros_like(h)
        for r, row in enumerate(h):
            for e, we in zip(top[r], w[r]):
                inside = self.chunk and "weights-outside" not in self.faults
                y[r] += self.mlp(we * row, p, "_exps", e) if inside else we * self.mlp(row, p, "_exps", e)
        if self.has(p + "ffn_up_shexp.weight") and "no-shared" not in self.faults:
            gated = self.has(p + "ffn_gate_inp_shexp.weight") and "no-shared-gate" not in self.faults
            g = sigmoid(h @ self.tensors[p + "ffn_gate_inp_shexp.weight"][0].reshape(-1, 1)) if gated else 1.0
            y += g * self.mlp(h, p, "_shexp")
        return y

    def branch(self, x, il, f, pre, post):
        p = f"blk.{il}."
        y = f(self.norm(x, p + pre) if self.has(p + pre + ".weight") else x, il)
        if post and self.has(p + post + ".weight") and "no-post-norm" not in self.faults:
            y = self.norm(y, p + post)
        return x + self.res * y

    def inputs(self, ids, x):
        """The part of each layer in a second embedding [n][layer][d], None where there is none."""
        d = self.key("embedding_length_per_layer_input", 0)
        if not d or "no-inputs" in self.faults:
            return None
        own = self.tensors["per_layer_token_embd.weight"][0][ids].reshape(len(ids), -1, d) * math.sqrt(d)
        of_x = (self.mm(x, "per_layer_model_proj") / math.sqrt(self.n_embd)).reshape(own.shape)
        return (own + (0.0 if "no-input-proj" in self.faults else self.norm(of_x, "per_layer_proj_norm"))) / math.sqrt(2)

    def behind(self, x, il, inputs):
        """What stands behind the FFN of a layer."""
        p = f"blk.{il}."
        if inputs is not None:
            at = (il + 1) % self.n_layer if "inputs-next" in self.faults else il
            y = self.mm(self.activate(self.mm(x, p + "inp_gate")) * inputs[:, at], p + "proj")
            x = x + self.norm(y, p + "post_norm")
        if self.has(p + "layer_output_scale.weight") and "no-layer-scale" not in self.faults:
            x = x * self.tensors[p + "layer_output_scale.weight"][0].reshape(())
        return x

    def level(self, x, of):
        """x of the size that `of` has."""
        if "no-level" in self.faults:
            return x
        return x * np.sqrt((of * of).mean(-1, keepdims=True) / np.maximum((x * x).mean(-1, keepdims=True), 1e-5))

    def begin(self, x):
        """The streams [stream][n][width] that begin with x."""
        more = self.tensors["altup_proj.weight"][0]
        return np.stack([x] + [self.level(x @ w.T, x) for w in more])

    def merge(self, x):
        more = self.tensors["altup_unembd_proj.weight"][0]
        return np.mean([x[0]] + [self.level(s @ w.T, x[0]) for s, w in zip(x[1:], more)], axis=0)

    def streams(self, x, il, inputs):
        p, n = f"blk.{il}.", len(x)
        def weigh(y, name):
            return self.mm(np.tanh(self.mm(self.norm(y, p + "altup_router_norm") / self.n_embd, p + "altup_router")), p + name)
        by = weigh(x[0], "altup_predict_coef").reshape(-1, n, n)
        if "no-predict" in self.faults:
            by = by * 0
        x = x + np.einsum("rji,jrc->irc" if "predict-turned" in self.faults else "rij,jrc->irc", by, x)
        h = self.norm(x[0], p + "attn_norm")
        side = 0.0 if "no-side" in self.faults else h + self.norm(self.mm(self.mm(h, p + "laurel_l"), p + "laurel_r"), p + "laurel_post_norm")
        y = (x[0] + self.norm(self.attention(h, il), p + "post_attention_norm") + side) / math.sqrt(2)
        y = y + self.norm(self.mlp(self.norm(y, p + "ffn_norm"), p), p + "post_ffw_norm")
        by = weigh(y, "altup_correct_coef").T + (0.0 if "correct-plain" in self.faults else 1.0)
        x = x + by[:, :, None] * (y - x[0]) * (np.arange(n) < (1 if "no-streams" in self.faults else n))[:, None, None]
        if inputs is None:
            return x
        at = (il + 1) % self.n_layer if "inputs-next" in self.faults else il
        opens = x[0] if "no-correct-scale" in self.faults else x[0] * self.tensors[p + "altup_correct_scale.weight"][0].reshape(-1)
        y = self.norm(self.mm(self.activate(self.mm(opens, p + "inp_gate")) * inputs[:, at], p + "proj"), p + "post_norm")
        return x + y * (np.arange(n) >= (0 if "inputs-all" in self.faults else 1))[:, None, None]

    def hidden(self, ids):
        self.kept = {}
        x = self.tensors["token_embd.weight"][0][ids]
        if "no-embed-scale" not in self.faults:
            x = x * (math.sqrt(self.n_embd) if self.how.get("embed") == "sqrt" else self.key("embedding_scale", 0.0) or 1.0)
        inputs = self.inputs(ids, x)
        if self.has("altup_proj.weight"):
            x = self.begin(x)
            for il in range(self.n_layer):
                x = self.streams(x, il, inputs)
            return self.norm(self.merge(x), "output_norm")
        for il in range(self.n_layer):
            pre = self.how.get("ffn_norm", "ffn_norm")
            x = self.branch(x, il, self.attention, "attn_norm", "post_attention_norm" if pre == "ffn_norm" else None)
            if self.has(f"blk.{il}.post_ffw_norm_1.weight"):
                x = x + self.norm(self.beside(x, il), f"blk.{il}.post_ffw_norm")
            else:
                x = self.branch(x, il, self.ffn, pre, "post_ffw_norm")
            x = self.behind(x, il, inputs)
        return self.norm(x, "output_norm" if self.has("output_norm.weight") else "token_embd_norm")

    def logits(self, ids):
        """float64 [len(ids)][n_vocab], nats, not normalised"""
        y = self.mm(self.hidden(np.asarray(ids)), "output" if self.has("output.weight") else "token_embd")
        scale = self.key("logit_scale", 0.0)
        if scale:
            y = y / scale if self.how.get("logit") == "divide" else y * scale
        if self.cap_out and "no-softcap" not in self.faults:
            y = self.cap_out * np.tanh(y / self.cap_out)
        return y


def log_softmax(y):
    m = y.max(-1, keepdims=True)
    return y - m - np.log(np.exp(y - m).sum(-1, keepdims=True))


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("model")
    a.add_argument("--ids", required=True, help="token ids separated by commas or blanks")
    a.add_argument("--ctx", type=int, default=0)
    a.add_argument("--kv", default="f64")
    a.add_argument("--act", choices=("f64", "kern"), default="f64")
    a.add_argument("--fault", action="append", default=[], choices=sorted(FAULTS))
    a.add_argument("--out", choices=("logits", "logprobs", "next"), default="next")
    a.add_argument("--bin", help="write float32 [position][vocabulary] here instead of printing JSON")
    o = a.parse_args()
    if any(t not in KV for t in o.kv.split(",")) or o.kv.count(",") > 1:
        raise SystemExit(f"--kv: {o.kv} is none of {', '.join(KV)} (or two of them, K,V)")
    ids = [int(t) for t in o.ids.replace(",", " ").split()]
    keys, tensors = load(o.model)
    y = Model(keys, tensors, o.ctx, o.kv, o.act, o.fault).logits(ids)
    if o.out != "logits":
        y = log_softmax(y)
    if o.bin:
        y.astype("<f4").tofile(o.bin)
    elif o.out == "next":
        p = [float(y[i, ids[i + 1]]) for i in range(len(ids) - 1)]
        json.dump({"tokens": ids, "logprobs": [None] + p, "perplexity": math.exp(-sum(p) / len(p)) if p else None}, sys.stdout)
        print()
    else:
        json.dump(y.tolist(), sys.stdout)
        print()


if __name__ == "__main__":
    main()
