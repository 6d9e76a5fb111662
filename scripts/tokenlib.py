"""What golden-tokens.py and check-tokenizers.py share: texts of our own, tiny tokenizers trained on them by the packages
sentencepiece and tokenizers, the GGUF keys of each, and ids by those packages.

Needs the Python packages gguf, numpy, protobuf, sentencepiece, tokenizers."""
import io
import random
import struct
import unicodedata

import gguf
import sentencepiece as spm
from sentencepiece import sentencepiece_model_pb2 as spb
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

NORMAL, UNKNOWN, CONTROL, USER, UNUSED, BYTE = range(1, 7)

# ---- texts -------------------------------------------------------------------------------------------------------
SYLLABLES = {
    "latin": "ba be bi bo bu da de di do du ka ke ki ko ku la le li lo lu ma me mi mo mu na ne ni no nu ra re ri ro ru sa se si so su "
             "ta te ti to tu an en in on un er or ar st tr th sh ing tion ed".split(),
    "accents": "é è ê ü ö ä ñ ç å ø ß œ né ré tü ñor".split(),
    "cyrillic": "ба ве ги до жу за ки ло му на по ра си то ум фе хо ца че ша".split(),
    "greek": "αλ βη γα δε επ ζω θη ικ κα λο μυ".split(),
    "han": list("的一是不了人我在有他这中大来上国"),
    "kana": list("あいうえおかきくけこアイウエオ"),
    "hangul": list("가나다라마바사아자차한국어"),
    "devanagari": "क ख ग घ च छ ज त द न प म य र ल व स ह का की के".split(),
    "arabic": "ال بي من في على ما ان".split(),
}
PUNCT = [".", ",", "!", "?", ";", ":", "-", "(", ")", "\"", "'", "...", "'s", "'re", "'LL", "—", "…", "。", "，", "$", "€", "+", "/", "//", "_", "`", "~", "|"]
SPACES = [" ", " ", " ", " ", " ", "  ", "   ", "\n", "\n\n", "\t", "\r\n", " \n ", "\u00a0", "\u3000"]
ODD = ["\u200b", "\u200d", "\u0301", "\u0308", "\ufeff", "\x00", "\x01", "\x7f", "\u2581", "\u017f", "ǅ", "İ", "ﬁ", "Ⅳ", "½", "²", "٣", "𝒜", "😀", "👩‍🚀", "🇩🇪",
       "\U0010ffff", "\ue000", "ฯ", "¨", "ŀ", "豈", "Å", "〇", "⺀"]


def word(rng):
    kind = rng.choice(list(SYLLABLES) + ["latin"] * 8)
    w = "".join(rng.choice(SYLLABLES[kind]) for _ in range(rng.choice((1, 2, 2, 3, 3, 4))))
    return rng.choice((w, w, w, w.capitalize(), w.upper()))


def corpus(lines, seed=1):
    """Lines of made-up words with a skewed distribution, so that merges have something to find."""
    rng = random.Random(seed)
    words = [word(rng) for _ in range(600)]
    out = []
    for _ in range(lines):
        line = []
        for _ in range(rng.randint(3, 14)):
            line.append(words[min(int(rng.paretovariate(0.7)) - 1, len(words) - 1)])
            if rng.random() < 0.15:
                line[-1] += rng.choice(PUNCT)
            if rng.random() < 0.08:
                line.append(str(rng.randint(0, 99999)))
        out.append(" ".join(line))
    return out


def settled(c):
    """The packages have tables of various Unicode versions: only what has not changed since 3.2."""
    return unicodedata.category(c) == unicodedata.ucd_3_2_0.category(c) != "Cn"


def random_text(rng):
    parts = []
    for _ in range(rng.choice((0, 1, 2, 3, 5, 8, 12, 20))):
        k = rng.random()
        if k < 0.45:
            parts.append(word(rng))
        elif k < 0.65:
            parts.append(rng.choice(SPACES))
        elif k < 0.75:
            parts.append(rng.choice(PUNCT))
        elif k < 0.83:
            parts.append(str(rng.randint(0, 10 ** rng.randint(1, 9))))
        elif k < 0.90:
            parts.append(rng.choice(ODD))
        elif k < 0.94:
            parts.append(rng.choice(" a!1\n'") * rng.randint(2, 40))
        else:
            cp = rng.choice((rng.randrange(0x20, 0x250), rng.randrange(0x300, 0x3000), rng.randrange(0x3000, 0xd800), rng.randrange(0x10000, 0x1fb00)))
            parts.append(chr(cp) if settled(chr(cp)) else "x")
        if rng.random() < 0.4:
            parts.append(" ")
    return "".join(parts)


def random_texts(n, seed):
    rng = random.Random(seed)
    return ["", " ", "  ", "\n", "a", " a", "a ", "▁", " ▁ a"][:n] + [random_text(rng) for _ in range(max(0, n - 9))]


# ---- GGUF --------------------------------------------------------------------------------------------------------
def write_gguf(path, model, tokens, types, scores=None, merges=None, pre=None, ids=None, flags=None, charsmap=None):
    w = gguf.GGUFWriter(str(path), "none")
    w.add_tokenizer_model(model)
    if pre:
        w.add_tokenizer_pre(pre)
    w.add_token_list(tokens)
    if scores is not None:
        w.add_token_scores(scores)
    w.add_token_types(types)
    if merges is not None:
        w.add_token_merges(merges)
    for k, v in (ids or {}).items():
        w.add_uint32("tokenizer.ggml.%s_token_id" % k, v)
    for k, v in (flags or {}).items():
        w.add_bool("tokenizer.ggml." + k, v)
    if charsmap:
        w.add_precompiled_charsmap(charsmap)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.close()


# ---- SentencePiece -----------------------------------------------------------------------------------------------
def train_spm(lines, **options):
    out = io.BytesIO()
    spm.SentencePieceTrainer.train(sentence_iterator=iter(lines), model_writer=out, minloglevel=2, num_threads=1, **options)
    return out.getvalue()


def spm_gguf(path, blob):
    m = spb.ModelProto()
    m.ParseFromString(blob)
    unigram = m.trainer_spec.model_type == 1
    kind = {1: NORMAL, 2: UNKNOWN, 3: CONTROL, 4: USER, 5: UNUSED, 6: BYTE}
    types = [kind[p.type] for p in m.pieces]
    tokens = [p.piece.replace("▁", " ") if p.type == 4 else p.piece for p in m.pieces]
    ids = {k: v for k, v in (("bos", m.trainer_spec.bos_id), ("eos", m.trainer_spec.eos_id), ("unknown", m.trainer_spec.unk_id)) if v >= 0}
    write_gguf(path, "t5" if unigram else "llama", tokens, types, scores=[p.score for p in m.pieces], ids=ids,
               flags={"add_bos_token": True, "add_eos_token": unigram, "add_space_prefix": m.normalizer_spec.add_dummy_prefix,
                      "remove_extra_whitespaces": m.normalizer_spec.remove_extra_whitespaces},
               charsmap=m.normalizer_spec.precompiled_charsmap or None)


def spm_ids(blob, texts):
    p = spm.SentencePieceProcessor(model_proto=blob)
    return [p.encode(t) for t in texts]


# ---- tokenizers --------------------------------------------------------------------------------------------------
C = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
T = r"\s*[\r\n]+|\s+(?!\S)|\s+"
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
U, W = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"


def CL(n):
    return C + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}" + n + r"| ?[^\s\p{L}\p{N}]+[\r\n]*|" + T


def O2(n, sfx, tail=r"[\r\n/]*", u=U, w=W):
    return (r"[^\r\n\p{L}\p{N}]?" + u + "*" + w + "+" + sfx + r"|[^\r\n\p{L}\p{N}]?" + u + "+" + w + "*" + sfx + r"|\p{N}" + n +
            r"| ?[^\s\p{L}\p{N}]+" + tail + "|" + T)


DS3 = (r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|" + T)
EAST = "[一-龥ࠀ-一가-퟿]+"
# the letters of deepseek-llm: a list of its own, older than \p{L}
CASED = ("A-Za-z\u00b5\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u01ba\u01bc-\u01bf\u01c4-\u0293\u0295-\u02af\u0370-\u0373\u0376-\u0377\u037b-\u037d\u037f\u0386"
         "\u0388-\u038a\u038c\u038e-\u03a1\u03a3-\u03f5\u03f7-\u0481\u048a-\u052f\u0531-\u0556\u10a0-\u10c5\u13a0-\u13f5\u13f8-\u13fd\u1c90-\u1cba\u1cbd-\u1cbf"
         "\u1d00-\u1d2b\u1d6b-\u1d77\u1d79-\u1d9a\u1e00-\u1f15\u1f18-\u1f1d\u1f20-\u1f45\u1f48-\u1f4d\u1f50-\u1f57\u1f59\u1f5b\u1f5d\u1f5f-\u1f7d\u1f80-\u1fb4"
         "\u1fb6-\u1fbc\u1fbe\u1fc2-\u1fc4\u1fc6-\u1fcc\u1fd0-\u1fd3\u1fd6-\u1fdb\u1fe0-\u1fec\u1ff2-\u1ff4\u1ff6-\u1ffc\u2102\u2107\u210a-\u2113\u2115"
         "\u2119-\u211d\u2124\u2126\u2128\u212a-\u212d\u212f-\u2134\u2139\u213c-\u213f\u2145-\u2149\u214e\u2183-\u2184\u2c00-\u2c7b\u2c7e-\u2ce4\u2ceb-\u2cee"
         "\u2cf2-\u2cf3\ua640-\ua66d\ua680-\ua69b\ua722-\ua76f\ua771-\ua787\ua78b-\ua78e\uab70-\uabbf\ufb00-\ufb06\ufb13-\ufb17\uff21-\uff3a\uff41-\uff5a"
         "\U00010400-\U0001044f\U000104b0-\U000104d3\U000104d8-\U000104fb\U00010c80-\U00010cb2\U00010cc0-\U00010cf2\U000118a0-\U000118df\U0001e900-\U0001e943")
NOT_HAN = lambda s: r"(?:(?!\p{Han})%s)" % s
# name -> expressions in order, as a tokenizer.json would hold them as Split, Isolated
PRE = {
    "llama-bpe": [CL("{1,3}")], "dbrx": [CL("{1,3}")], "qwen2": [CL("")], "gpt-2": [GPT2], "roberta-bpe": [GPT2],
    "starcoder": [r"\p{N}", GPT2], "falcon": [r"[\p{P}\$\+<=>\^~\|`]+", GPT2, "[0-9][0-9][0-9]"],
    "default": [r"[\p{P}\$\+<=>\^~\|]+", GPT2, r"\p{N}+", "[0-9][0-9][0-9]"],
    "qwen35": [C + r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|" + T],
    "minicpm5": [r"\p{N}{1,3}", CL("+")],
    "seed-coder": [C + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|" + T],
    "laguna": [r"[^\n]+|[\n]+", CL("")],
    "deepseek-coder": [r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", EAST, r"\p{N}"],
    "deepseek-v3": [r"\p{N}{1,3}", "[一-龥぀-ゟ゠-ヿ]+", DS3],
    "deepseek-llm": [r"[\r\n]", r"\s?[%s]+" % CASED, r"\s?[!-/:-~！-／：-～‘-‟　-。]+", r"\s+$", EAST, r"\p{N}+"],
    "gpt-4o": [O2("{1,3}", "(?:%s)?" % C)], "tekken": [O2("", "")],
    "tiny_aya": [r"\d{1,3}(?=(?:\d{3})*\b)", O2("{1,3}", "(?:%s)?" % C)],
    "youtu": ["[가-힣ㄱ-ㆎ]+|[！…“”‘’—：；，、-〿︰-﹏]+|[ㄅ-ㄯ]+|[一-龥぀-ゟ゠-ヿ]+", O2("", "(?:%s)?" % C)],
    "kimi-k2": [r"[\p{Han}]+|" + O2("{1,3}", "(?:%s)?" % C, r"[\r\n]*", NOT_HAN(U), NOT_HAN(W))],
    "superbpe": [r"\p{N}+", r"(?=(\d{3})+(?!\d))"],
    "bailingmoe": [r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"],
    "exaone-moe": [C + r"|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+"],
    "jais-2": [C + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|" +
               "|".join(r"\s{%d}(?!\S)" % n for n in (512, 256, 128, 64, 32, 16, 8, 4)) + r"|\s{1,2}(?!\S)|\s{1}"],
    "poro-chat": [r" ?[^(\s|.,!?…。，、।۔،)]+"], "viking": [r" ?[^(\s|.,!?…。，、।۔،)]+", r"\p{N}"],
    "chameleon": ["<sentinel:[0-9]+>", "(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z", r"([\t\n]|    |  )", r"\p{N}", r"[\p{P}!-/:-@\[-`{-~]", GPT2],
    "afmoe": [r"\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N}))",
              "[一-鿿㐀-䶿\uf900-\ufaff぀-ゟ゠-ヿ･-ﾟ⼀-⿟เ-๿\u0e80-\u0effក-៿က-႟ꩠ-ꩿꧠ-꧿가-\ud7afᄀ-ᇿ]+", DS3],
    "whitespace": [r"\S+"], "gemma4": [r"[^\n]+|[\n]+"],
}


def split(name, texts):
    """Pieces by the package tokenizers, which runs Oniguruma: every match and every gap, stage by stage."""
    p = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(x), "isolated") for x in PRE[name]])
    return [[len(x.encode()) for x, _ in p.pre_tokenize_str(t)] for t in texts]


def around(cp):
    """A code point alone and twice, among letters, numbers, signs and white space: tests/unit/tok/test_points.c has the same."""
    c = chr(cp)
    return ("I {0} {0}{0}a !{0} {0}{0}! 1{0}{0}{0}2 'S{0}'s\n{0}{0} \n {0}\n  {0}A{0}b.中{0}あ́{0}́/ {0}").format(c)


def train_bpe(lines, size, pre, special=("<|end|>", "<|sys|>"), ignore_merges=False, added=()):
    t = Tokenizer(models.BPE(ignore_merges=ignore_merges))
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(p), "isolated") for p in PRE[pre]] +
                                              [pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    t.decoder = decoders.ByteLevel()
    t.train_from_iterator(lines, trainers.BpeTrainer(vocab_size=size, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), special_tokens=[],
                                                     show_progress=False))
    t.add_special_tokens(list(special))
    t.add_tokens([AddedToken(a, normalized=False) for a in added])
    return t


def train_raw_bpe(lines, size):
    """BPE over code points with byte fallback, a space as U+2581: what gemma4 is."""
    t = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    t.normalizer = normalizers.Replace(" ", "▁")
    t.pre_tokenizer = pre_tokenizers.Split(Regex(r"[^\n]+|[\n]+"), "isolated")
    t.train_from_iterator(lines, trainers.BpeTrainer(vocab_size=size, special_tokens=["<pad>", "<eos>", "<bos>", "<unk>"] +
                                                     ["<0x%02X>" % b for b in range(256)], show_progress=False))
    return t


def train_wpm(lines, size, lower):
    t = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=100))
    t.normalizer = normalizers.BertNormalizer(lowercase=lower)
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.train_from_iterator(lines, trainers.WordPieceTrainer(vocab_size=size, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"],
                                                           show_progress=False))
    return t


def hf_parts(t):
    import json
    j = json.loads(t.to_str())
    vocab = dict(j["model"]["vocab"])
    kind = {}
    for a in j["added_tokens"]:
        vocab[a["content"]] = a["id"]
        kind[a["id"]] = CONTROL if a["special"] else USER
    tokens = [None] * len(vocab)
    for k, v in vocab.items():
        tokens[v] = k
    merges = [" ".join(m) if isinstance(m, list) else m for m in j["model"].get("merges", [])]
    return tokens, [kind.get(i, NORMAL) for i in range(len(tokens))], merges


def bpe_gguf(path, t, pre):
    tokens, types, merges = hf_parts(t)
    eos = tokens.index("<|end|>")
    write_gguf(path, "gpt2", tokens, types, merges=merges, pre=pre, ids={"bos": eos, "eos": eos})


def raw_bpe_gguf(path, t):
    tokens, types, merges = hf_parts(t)
    types = [BYTE if k.startswith("<0x") and len(k) == 6 else UNKNOWN if k == "<unk>" else y for k, y in zip(tokens, types)]
    write_gguf(path, "gemma4", tokens, types, merges=merges, pre="gemma4", ids={"bos": 2, "eos": 1, "unknown": 3, "padding": 0},
               flags={"add_space_prefix": False})


def wpm_gguf(path, t, lower):
    tokens, types, _ = hf_parts(t)
    tokens = [k if y == CONTROL else k[2:] if k.startswith("##") else "▁" + k for k, y in zip(tokens, types)]
    ids = {k: tokens.index(v) for k, v in (("cls", "[CLS]"), ("bos", "[CLS]"), ("seperator", "[SEP]"), ("unknown", "[UNK]"), ("padding", "[PAD]"), ("mask", "[MASK]"))}
    write_gguf(path, "bert", tokens, types, ids=ids, flags={"normalizer.lowercase": lower})


def hf_ids(t, texts):
    return [e.ids for e in t.encode_batch(texts, add_special_tokens=False)]


# ---- our side ----------------------------------------------------------------------------------------------------
def records(texts):
    data = [t.encode("utf-8", "surrogatepass") if isinstance(t, str) else t for t in texts]
    return b"".join(struct.pack("<I", len(d)) + d for d in data)
