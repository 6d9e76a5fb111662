#!/usr/bin/env python3
"""Write seeds for five fuzz targets.  whole: the models of tests/golden/logits cut down to one layer or two and a vocabulary of
a few tokens, their matrices in f16 or in blocks, so that each is a few KB and still runs.  tokens: a vocabulary of a few tokens
for every pre-tokenizer, and a text.  zst: one of the models in frames of zstd, in stored and in repeated blocks, and compressed
by tests/tools/zst, if $B/tests/tools (build/release) has it.  safetensors: files of a few tensors of every dtype.  hf: the directories
of models of one layer: config.json, tokenizer.json, an index, and headers of safetensors.

  fuzz-seeds.py DIR        writes DIR/whole, DIR/tokens, DIR/zst, DIR/safetensors and DIR/hf; needs Python alone
"""
import json
import os
import random
import re
import struct
import subprocess
import sys

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
GOLDEN = TOP + "/tests/golden/logits"
QUANTISED = TOP + "/tests/golden/quantised"
BLOCKS = {0: (1, 4), 1: (1, 2), 2: (32, 18), 3: (32, 20), 6: (32, 22), 7: (32, 24), 8: (32, 34), 10: (256, 84), 11: (256, 110),
          12: (256, 144), 13: (256, 176), 14: (256, 210), 16: (256, 66), 17: (256, 74), 18: (256, 98), 19: (256, 50), 20: (32, 18),
          21: (256, 110), 22: (256, 82), 23: (256, 136), 29: (256, 56), 30: (1, 2), 34: (256, 54), 35: (256, 66), 39: (32, 17),
          40: (64, 36)}
SCALARS = "BbHhIif?..Qqd"
STR, ARR = 8, 9


def string(b):
    return struct.pack("<Q", len(b)) + b


class File:
    """keys: name -> [type, value]; tensors: name -> [ne, type, bytes]"""

    def __init__(self, path):
        self.b = open(path, "rb").read()
        self.p = 8
        n_tensors, n_keys = self.take("QQ")
        self.keys, self.tensors = {}, {}
        for _ in range(n_keys):
            name = self.text()
            kind, = self.take("I")
            self.keys[name] = [kind, self.value(kind)]
        table = []
        for _ in range(n_tensors):
            name = self.text()
            dims, = self.take("I")
            table.append((name, list(self.take("%dQ" % dims)), *self.take("IQ")))
        data = -(-self.p // 32) * 32
        for name, ne, kind, at in table:
            self.tensors[name] = [ne, kind, self.b[data + at:data + at + size(ne, kind)]]

    def take(self, form):
        v = struct.unpack_from("<" + form, self.b, self.p)
        self.p += struct.calcsize("<" + form)
        return v

    def text(self):
        n, = self.take("Q")
        self.p += n
        return self.b[self.p - n:self.p]

    def value(self, kind):
        if kind == STR:
            return self.text()
        if kind != ARR:
            return self.take(SCALARS[kind])[0]
        kind, n = self.take("IQ")
        return kind, [self.value(kind) for _ in range(n)]

    def write(self, path):
        head = b"GGUF" + struct.pack("<IQQ", 3, len(self.tensors), len(self.keys))
        for name, (kind, v) in self.keys.items():
            head += string(name) + struct.pack("<I", kind) + raw(kind, v)
        body = b""
        for name, (ne, kind, data) in self.tensors.items():
            head += string(name) + struct.pack("<I%dQIQ" % len(ne), len(ne), *ne, kind, len(body))
            body += data + bytes(-len(data) % 32)
        with open(path, "wb") as f:
            f.write(head + bytes(-len(head) % 32) + body)


def raw(kind, v):
    if kind == STR:
        return string(v)
    if kind == ARR:
        return struct.pack("<IQ", v[0], len(v[1])) + b"".join(raw(v[0], x) for x in v[1])
    return struct.pack("<" + SCALARS[kind], v)


def size(ne, kind):
    n = 1
    for x in ne:
        n *= x
    return n // BLOCKS[kind][0] * BLOCKS[kind][1]


def cut_vocab(f, n):
    """n tokens, and merges that make some of them"""
    old = len(f.keys[b"tokenizer.ggml.tokens"][1][1])
    for v in f.keys.values():
        if v[0] == ARR and len(v[1][1]) == old:
            v[1][1][n:] = []
    space = "\u0120".encode()
    pieces = [b"!", b"T", b"h", b"e", space, b"he", b"The", b"w", b"r", space + b"w", b"<|im_start|>"]
    f.keys[b"tokenizer.ggml.tokens"][1][1][:len(pieces)] = pieces
    f.keys[b"tokenizer.ggml.merges"][1][1][:] = [b"h e", b"T he", space + b" w"]
    f.keys[b"tokenizer.ggml.unknown_token_id"] = [4, 0]
    for name, v in f.keys.items():
        if name in (b"tokenizer.ggml.bos_token_id", b"tokenizer.ggml.eos_token_id"):
            v[1] = n - 1
        if name.endswith(b".vocab_size"):
            v[1] = n
    for name in (b"token_embd.weight", b"output.weight"):
        if name in f.tensors:
            ne, kind, data = f.tensors[name]
            f.tensors[name] = [[ne[0], n], kind, data[:size([ne[0], n], kind)]]


def cut_layers(f, n):
    arch = f.keys[b"general.architecture"][1]
    f.keys[arch + b".block_count"][1] = n
    for name in list(f.tensors):
        if name.startswith(b"blk.") and int(name.split(b".")[1]) >= n:
            del f.tensors[name]
    for name, v in f.keys.items():
        if v[0] == ARR and name.startswith(arch + b".") and len(v[1][1]) > n:
            v[1][1][n:] = []


def cut_middle(f, n):
    """dense layers n wide in the middle, experts too"""
    arch = f.keys[b"general.architecture"][1]
    for name, v in f.tensors.items():
        kind, (ne, data) = name.split(b".")[-2], (v[0], v[2])
        if kind in (b"ffn_gate", b"ffn_up", b"ffn_gate_exps", b"ffn_up_exps") and len(ne) > 1:
            step = size(ne[:2], v[1])
            v[:] = [[ne[0], n] + ne[2:], v[1], b"".join(data[i:i + size([ne[0], n], v[1])] for i in range(0, len(data), step))]
            if arch == b"phi3":                           # gate and up in one
                v[0][1] = n
        elif kind in (b"ffn_down", b"ffn_down_exps") and len(ne) > 1:
            step = size(ne[:1], v[1])
            v[:] = [[n] + ne[1:], v[1], b"".join(data[i:i + size([n], v[1])] for i in range(0, len(data), step))]
        elif kind in (b"ffn_gate", b"ffn_up"):
            v[:] = [[n], v[1], data[:4 * n]]
    if arch == b"phi3":
        for v in (v for k, v in f.tensors.items() if k.endswith(b"ffn_down.weight")):
            ne, kind, data = v
            v[:] = [[n // 2, ne[1]], kind, b"".join(data[i:i + size([n // 2], kind)] for i in range(0, len(data), size(ne[:1], kind)))]
    for key in (b".feed_forward_length", b".expert_feed_forward_length"):
        if arch + key in f.keys:
            f.keys[arch + key][1] = n // 2 if arch == b"phi3" else n


def halve(f):
    """matrices of f32 become f16; the narrow ones stay"""
    for v in f.tensors.values():
        if v[1] == 0 and len(v[0]) > 1:
            x = struct.unpack("<%df" % (len(v[2]) // 4), v[2])
            v[1:] = [1, struct.pack("<%de" % len(x), *x)]


def spm(f):
    """pieces with scores, as SentencePiece has them"""
    tokens = f.keys[b"tokenizer.ggml.tokens"][1][1]
    f.keys[b"tokenizer.ggml.model"][1] = b"llama"
    del f.keys[b"tokenizer.ggml.pre"], f.keys[b"tokenizer.ggml.merges"]
    tokens[:13] = [b"<unk>", b"<s>", b"</s>", b"<0x0A>", b"\xe2\x96\x81", b"T", b"h", b"e", b"he", b"The", b"\xe2\x96\x81The", b"w",
                   b"<|im_start|>"]
    f.keys[b"tokenizer.ggml.token_type"] = [ARR, (5, [2, 3, 3, 6] + [1] * 8 + [4] + [1] * (len(tokens) - 13))]
    f.keys[b"tokenizer.ggml.scores"] = [ARR, (6, [-float(i) for i in range(len(tokens))])]
    f.keys[b"tokenizer.ggml.bos_token_id"] = [4, 1]
    f.keys[b"tokenizer.ggml.eos_token_id"] = [4, 2]


def blocks(f, kinds, seed):
    """one layer, 256 wide, one head of 4, and 4 wide in the middle: a type of blocks for each of five matrices"""
    r = random.Random(seed)
    for k, v in ((b"attention.head_count", 1), (b"attention.head_count_kv", 1), (b"feed_forward_length", 4),
                 (b"attention.key_length", 4), (b"attention.value_length", 4), (b"rope.dimension_count", 4)):
        f.keys[b"llama." + k] = [4, v]

    def some(ne, kind):
        block, n = BLOCKS[kind]
        data = bytearray()
        for _ in range(ne[0] * ne[1] // block):
            b = bytearray(r.randbytes(n))
            if kind == 1:
                b[:] = struct.pack("<e", r.uniform(-0.3, 0.3))
            for at in {10: (80, 82), 11: (108,), 12: (0, 2), 13: (0, 2), 14: (208,), 34: (52,), 35: (64,)}.get(kind, (0,) if kind != 1 else ()):
                b[at:at + 2] = struct.pack("<e", r.uniform(0.001, 0.01))
            if kind == 29:                                # iq1_m: the scale is in the high bits of four words
                for i, x in enumerate(struct.pack("<e", 0.01)):
                    for k in (0, 1):
                        b[49 + 4 * i + 2 * k] = b[49 + 4 * i + 2 * k] & 15 | (x >> 4 * k & 15) << 4
            data += b
        return [ne, kind, bytes(data)]

    for name, ne, kind in (("attn_q", [256, 4], kinds[0]), ("attn_k", [256, 4], kinds[1]), ("attn_v", [256, 4], kinds[2]),
                           ("attn_output", [4, 256], 1), ("ffn_gate", [256, 4], kinds[3]), ("ffn_up", [256, 4], kinds[4]),
                           ("ffn_down", [4, 256], 1)):
        f.tensors[b"blk.0.%s.weight" % name.encode()] = some(ne, kind)


TEXT = ("The 1234567 caf\u00e9s don't I'VE 12.5%\r\n\n  x\t\t=  \u65e5\u672c\u8a9e\u30c6\u30ad \ud55c\uad6d\uc5b4 "
        "\u0e44\u0e17\u0e22 \u0645\u0631\u062d\u0628\u0627 <sentinel:12>IMGIMGABZ {a}/b!? \u0416\u0436 HTTPServer'll  ").encode()


def pre_tokenizers():
    """the first name of each row of pretok_list.h"""
    rows = open(TOP + "/libcore/tok/pretok_list.h").read()
    return re.findall(r'^\t\{ "([^" ]+)', rows[rows.rindex("static const struct pretok "):], re.M)


def vocabulary(pre):
    space, line = "\u0120".encode(), "\u010a".encode()
    tokens = [b"!", b"T", b"h", b"e", space, b"he", b"The", b"1", b"2", b"12", b"'", b"d", b"o", b"n", b"do", line, line + line,
              "\u00c3".encode(), "\u00a9".encode(), "\u00c3\u00a9".encode(), b"<s>"]
    keys = {b"tokenizer.ggml.model": [STR, b"gemma4" if pre == "gemma4" else b"gpt2"], b"tokenizer.ggml.pre": [STR, pre.encode()],
            b"tokenizer.ggml.tokens": [ARR, (STR, tokens)], b"tokenizer.ggml.token_type": [ARR, (5, [1] * 20 + [3])],
            b"tokenizer.ggml.merges": [ARR, (STR, [b"h e", b"T he", b"1 2", b"d o", line + b" " + line, "\u00c3 \u00a9".encode()])],
            b"tokenizer.ggml.unknown_token_id": [4, 0], b"tokenizer.ggml.bos_token_id": [4, 20]}
    return b"GGUF" + struct.pack("<IQQ", 3, 0, len(keys)) + b"".join(
        string(k) + struct.pack("<I", kind) + raw(kind, v) for k, (kind, v) in keys.items())


def write_vocabularies(out):
    os.makedirs(out, exist_ok=True)
    for pre in pre_tokenizers():
        with open(f"{out}/pre-{pre}", "wb") as f:
            f.write(vocabulary(pre) + b"\nTEXT\n" + TEXT)


def frame(data, sized, last=b""):
    """stored blocks; last: one that is there, and follows them"""
    head = b"\x28\xb5\x2f\xfd" + (b"\xa0" + struct.pack("<I", len(data)) if sized else b"\x00\x38")
    parts = [data[i:i + 2000] for i in range(0, len(data), 2000)] or [b""]
    for i, part in enumerate(parts):
        head += struct.pack("<I", len(part) << 3 | (i == len(parts) - 1 and not last))[:3] + part
    return head + last


def repeated(n, times, byte=b"\0"):
    """blocks of n bytes that are alike"""
    return b"".join(struct.pack("<I", n << 3 | 2 | (i == times - 1))[:3] + byte for i in range(times))


def write_packed(out, model):
    os.makedirs(out, exist_ok=True)
    with open(model, "rb") as f:
        data = f.read()
    skipped = struct.pack("<II", 0x184d2a53, 5) + b"hello"
    end = len(data) - len(data.rstrip(b"\0"))
    seeds = {
        "sized": frame(data, True),
        "unsized": frame(data, False),
        "frames": skipped + frame(data[:700], True) + frame(b"", False) + skipped + frame(data[700:], False),
        "repeated": frame(data[:len(data) - end], False, repeated(end, 1)) if end else frame(data, False),
        "more": frame(data, False, repeated(100000, 50)),
        "less": frame(data[:-100], True),
        "cut": frame(data, True)[:-100],
        "dictionary": b"\x28\xb5\x2f\xfd\x01\x38\x07" + frame(data, False)[6:],
        "window": b"\x28\xb5\x2f\xfd\x00\xf8" + frame(data, False)[6:],
        "text": frame(b"hello, world", True),
    }
    for name, b in seeds.items():
        with open(f"{out}/{name}", "wb") as f:
            f.write(b)
    tool = os.environ.get("B", TOP + "/build/release") + "/tests/tools/zst"
    if os.path.exists(tool):
        subprocess.run([tool, model, out + "/compressed"], check=True)
        subprocess.run([tool, model, out + "/compressed-3", "3"], check=True)


ST_BYTES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "F8_E4M3": 1, "F8_E5M2": 1, "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U64": 8,
            "U32": 4, "U16": 2, "U8": 1, "BOOL": 1}


def header(tensors):
    """the header of a safetensors file of (name, dtype, shape), and the bytes of its data"""
    o, at = {"__metadata__": {"format": "pt"}}, 0
    for name, dtype, shape in tensors:
        n = ST_BYTES[dtype]
        for x in shape:
            n *= x
        o[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [at, at + n]}
        at += n
    return json.dumps(o, separators=(",", ":")).encode(), at


def write_safetensors(out):
    os.makedirs(out, exist_ok=True)
    for name, tensors in (("dtypes", [(k.lower(), k, (2, 3)) for k in ST_BYTES]), ("none", []), ("scalar", [("a", "F32", ())]),
                          ("empty", [("a", "F32", (0, 4)), ("b\n\u00e4", "BF16", (1,))])):
        h, n = header(tensors)
        h += b" " * (-len(h) % 8)
        with open(f"{out}/{name}", "wb") as f:
            f.write(struct.pack("<Q", len(h)) + h + bytes(n))


def bundle(files):
    """the input of tests/fuzz/hf: name -> text, or (header, bytes of data)"""
    return b"".join(b"\x1e%s %d\n%s" % (k.encode(), v[1] if isinstance(v, tuple) else 0, v[0] if isinstance(v, tuple) else v)
                    for k, v in files.items())


def small_llama(dtype):
    layer = [("input_layernorm", (16,)), ("self_attn.q_proj", (16, 16)), ("self_attn.k_proj", (8, 16)), ("self_attn.v_proj", (8, 16)),
             ("self_attn.o_proj", (16, 16)), ("post_attention_layernorm", (16,)), ("mlp.gate_proj", (8, 16)), ("mlp.up_proj", (8, 16)),
             ("mlp.down_proj", (16, 8))]
    return [("model.embed_tokens.weight", dtype, (12, 16)), ("model.norm.weight", dtype, (16,))] + [
        (f"model.layers.0.{name}.weight", dtype, shape) for name, shape in layer] + [("lm_head.weight", dtype, (12, 16))]


def write_directories(out):
    os.makedirs(out, exist_ok=True)
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 16, "intermediate_size": 8,
              "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 8, "hidden_act": "silu",
              "max_position_embeddings": 64, "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "rope_scaling": None,
              "tie_word_embeddings": False, "vocab_size": 12, "bos_token_id": 10, "eos_token_id": 11, "torch_dtype": "bfloat16"}
    added = [{"id": i, "content": c, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
             for i, c in ((10, "<s>"), (11, "</s>"))]
    model = {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None,
             "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
             "vocab": {c: i for i, c in enumerate(["!", "t", "h", "e", "\u0120", "th", "the", "1", "2", "12"])},
             "merges": [["t", "h"], ["th", "e"], ["1", "2"]]}
    step = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    tokenizer = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": None,
                 "pre_tokenizer": step, "post_processor": None, "decoder": step, "model": model}
    text = {"config.json": config, "tokenizer.json": tokenizer,
            "tokenizer_config.json": {"bos_token": "<s>", "eos_token": "</s>", "chat_template": "{{ messages[0].content }}"},
            "generation_config.json": {"eos_token_id": [11], "temperature": 0.5},
            "special_tokens_map.json": {"bos_token": "<s>", "eos_token": {"content": "</s>"}}}
    text = {k: json.dumps(v).encode() for k, v in text.items()}
    tensors = small_llama("BF16")
    shards = [f"model-0000{i}-of-00002.safetensors" for i in (1, 2)]
    index = {"metadata": {}, "weight_map": {t[0]: shards[i >= 6] for i, t in enumerate(tensors)}}
    scaled = dict(config, rope_scaling={"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                                        "original_max_position_embeddings": 32}, tie_word_embeddings=True)
    seeds = {
        "one": dict(text, **{"model.safetensors": header(tensors)}),
        "two": dict(text, **{"model.safetensors.index.json": json.dumps(index).encode(), shards[0]: header(tensors[:6]),
                             shards[1]: header(tensors[6:])}),
        "tied": {"config.json": json.dumps(scaled).encode(), "model.safetensors": header(small_llama("F32")[:-1])},
        "f8": {"config.json": text["config.json"], "tokenizer.json": text["tokenizer.json"],
               "model.safetensors": header(small_llama("F8_E4M3"))},
        "gptq": {"config.json": json.dumps(dict(config, quantization_config={"quant_method": "gptq"})).encode(),
                 "model.safetensors": header([])},
        "bin": {"config.json": text["config.json"], "pytorch_model.bin": b"PK"},
    }
    for name in sorted(os.listdir(QUANTISED)):      # their headers, with zeros for data
        d = f"{QUANTISED}/{name}/"
        files = {n: open(d + n, "rb").read() for n in os.listdir(d) if n.endswith(".json")}
        weights = open(d + "model.safetensors", "rb").read()
        n, = struct.unpack_from("<Q", weights)
        files["model.safetensors"] = (weights[8:8 + n], len(weights) - 8 - n)
        seeds["q-" + name] = files
    for name, files in seeds.items():
        with open(f"{out}/{name}", "wb") as f:
            f.write(bundle(files))


def main():
    out = sys.argv[1] + "/whole"
    write_vocabularies(sys.argv[1] + "/tokens")
    write_safetensors(sys.argv[1] + "/safetensors")
    write_directories(sys.argv[1] + "/hf")
    os.makedirs(out, exist_ok=True)
    for name, layers in (("llama-llama3", 1), ("mixtral", 1), ("granite", 1), ("qwen2", 1),
                         ("qwen3-yarn", 1), ("qwen3moe", 1), ("gemma2", 2), ("gemma3", 1), ("phi3", 1)):
        f = File(f"{GOLDEN}/{name}.gguf")
        cut_layers(f, layers)
        cut_vocab(f, 20)
        cut_middle(f, 16)
        halve(f)
        if name in ("llama-llama3", "gemma2", "mixtral"):
            spm(f)
        f.write(f"{out}/{name}")
    f = File(f"{GOLDEN}/llama-blocks-32.gguf")
    cut_vocab(f, 20)
    cut_middle(f, 32)
    for k, v in ((b"attention.head_count", 2), (b"attention.head_count_kv", 1), (b"attention.key_length", 32),
                 (b"attention.value_length", 32), (b"rope.dimension_count", 32)):
        f.keys[b"llama." + k] = [4, v]
    f.write(f"{out}/blocks-32")
    for i, kinds in enumerate(((10, 11, 12, 13, 14), (16, 17, 18, 19, 21), (22, 23, 29, 34, 35))):
        f = File(f"{GOLDEN}/llama-blocks-256.gguf")
        cut_vocab(f, 12)
        blocks(f, kinds, i)
        f.write(f"{out}/blocks-256-{i}")
    write_packed(sys.argv[1] + "/zst", f"{out}/llama-llama3")


main()
