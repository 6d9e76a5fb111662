"""tokenizer.json files for scripts/check-hf-tokenizers.py and golden-hf-tokens.py: made by the package tokenizers, trained on texts of
our own (tokenlib.py), one for each way in which the model families split, normalise and merge.

Needs the Python packages of tokenlib.py."""
import base64
import json
import random
import tempfile
from pathlib import Path

import tokenlib as lib
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from sentencepiece import sentencepiece_model_pb2 as spb

N, P = normalizers, pre_tokenizers
SPECIAL = ["<s>", "</s>", "<|end|>"]
# every flag alone, and some together
FLAGS = [AddedToken("<l>", lstrip=True, normalized=False), AddedToken("<r>", rstrip=True, normalized=False),
         AddedToken("<lr>", lstrip=True, rstrip=True), AddedToken("word", single_word=True, normalized=False),
         AddedToken("Ωhn", single_word=True, normalized=True), AddedToken("ﬁx"), AddedToken("ba ba", normalized=True),
         AddedToken("<n>", normalized=False), AddedToken("<nn>", normalized=True, lstrip=True)]


def byte_bpe(lines, pre, size, norm=None, ignore_merges=False, added=(), prefix=False, **model):
    t = Tokenizer(models.BPE(ignore_merges=ignore_merges, **model))
    t.pre_tokenizer = pre
    t.decoder = decoders.ByteLevel()
    if norm:
        t.normalizer = norm
    t.train_from_iterator(lines, trainers.BpeTrainer(vocab_size=size, initial_alphabet=P.ByteLevel.alphabet(), special_tokens=[], show_progress=False))
    t.add_special_tokens([AddedToken(s, normalized=False) for s in SPECIAL])
    t.add_tokens(list(added))
    return t


def splits(name, *more):
    return P.Sequence([P.Split(Regex(p), "isolated") for p in lib.PRE[name]] + list(more) + [P.ByteLevel(add_prefix_space=False, use_regex=False)])


def text_bpe(lines, size, norm=None, pre=None, decoder=None, byte_fallback=True, added=(), fuse=True, whole=False):
    t = Tokenizer(models.BPE(byte_fallback=byte_fallback, unk_token="<unk>", fuse_unk=fuse, ignore_merges=whole))
    if norm:
        t.normalizer = norm
    if pre:
        t.pre_tokenizer = pre
    t.decoder = decoder or decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    special = ["<unk>", "<s>", "</s>"] + (["<0x%02X>" % b for b in range(256)] if byte_fallback else [])
    # without a pre-tokenizer, a line would be one word for the trainer
    keep, t.pre_tokenizer = t.pre_tokenizer, pre or P.Split("▁", "merged_with_next")
    t.train_from_iterator(lines, trainers.BpeTrainer(vocab_size=size, special_tokens=special, show_progress=False))
    j = json.loads(t.to_str())
    if not pre:
        j["pre_tokenizer"] = None
    # the byte tokens are part of the vocabulary and of nothing else
    j["added_tokens"] = [a for a in j["added_tokens"] if not a["content"].startswith("<0x")]
    t = Tokenizer.from_str(json.dumps(j))
    t.add_tokens(list(added))
    return t


def unigram(vocab, unk, norm, pre, decoder=None, added=(), byte_fallback=False):
    t = Tokenizer(models.Unigram(vocab, unk, byte_fallback))
    t.normalizer, t.pre_tokenizer = norm, pre
    t.decoder = decoder or decoders.Metaspace()
    t.add_special_tokens([AddedToken(s, normalized=False) for s in ("<s>", "</s>", "<pad>")])
    t.add_tokens(list(added))
    return t


def spm_vocab(lines, rules=None, **options):
    """Pieces with scores, and the charsmap; rules: of the normaliser, in the form of SentencePiece's TSV, in the place of a named one."""
    if rules:
        with tempfile.NamedTemporaryFile("w", suffix=".tsv") as f:
            f.write(rules + "\n")
            f.flush()
            options.pop("normalization_rule_name")
            return spm_vocab(lines, normalization_rule_tsv=f.name, **options)
    blob = lib.train_spm(lines, model_type="unigram", pad_id=0, eos_id=1, unk_id=2, bos_id=-1, **options)
    m = spb.ModelProto()
    m.ParseFromString(blob)
    return [(p.piece, p.score) for p in m.pieces], m.normalizer_spec.precompiled_charsmap


def trained_unigram(lines, size, norm, pre):
    t = Tokenizer(models.Unigram())
    t.normalizer, t.pre_tokenizer, t.decoder = norm, pre, decoders.Metaspace()
    t.train_from_iterator(lines, trainers.UnigramTrainer(vocab_size=size, special_tokens=["<unk>", "<s>"], unk_token="<unk>", show_progress=False))
    return t


def word_piece(lines, size, norm, pre, prefix="##", added=()):
    t = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=100, continuing_subword_prefix=prefix))
    t.normalizer, t.pre_tokenizer, t.decoder = norm, pre, decoders.WordPiece(prefix, False)
    t.train_from_iterator(lines, trainers.WordPieceTrainer(vocab_size=size, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"],
                                                           continuing_subword_prefix=prefix, show_progress=False))
    t.add_tokens(list(added))
    return t


def gemma_spaces(lines, size):
    """Runs of spaces are tokens of the model and added ones, which are matched in a text that has U+2581."""
    t = text_bpe([x.replace(" ", "  ", 3) for x in lines], size, N.Replace(" ", "▁"), P.Split(Regex(r"[^\n]+|[\n]+"), "isolated"), decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]))
    j = json.loads(t.to_str())
    if "▁▁" not in j["model"]["vocab"]:
        j["model"]["vocab"]["▁▁"] = max(j["model"]["vocab"].values()) + 1
    if ["▁", "▁"] not in j["model"]["merges"]:
        j["model"]["merges"].insert(0, ["▁", "▁"])
    t = Tokenizer.from_str(json.dumps(j))
    t.add_tokens([AddedToken("▁▁", normalized=False)])
    return t


def by_hand():
    """Vocabularies in which a wrong cut, a wrong set of tokens or a rounded sum shows."""
    letters = sorted(P.ByteLevel.alphabet())
    merges = [(".", "."), ("..", "."), ("!", "!"), ("1", "1"), ("11", "1"), ("111", "1"), ("Â", "²"), ("f", "o"), ("fo", "o"), ("Ġ", "a"), (".", "!"), ("a", "a")]
    vocab = {x: i for i, x in enumerate(letters + [a + b for a, b in merges])}
    falcon = P.Sequence([P.Punctuation("contiguous"), P.ByteLevel(add_prefix_space=False), P.Digits(False), P.Split(Regex("[0-9][0-9][0-9]"), "isolated")])
    same = P.Sequence([P.Split(Regex("[.!]"), "contiguous"), P.Split("a", "contiguous"), P.ByteLevel(add_prefix_space=False, use_regex=False)])
    del vocab["foo"]
    vocab = {x: i for i, x in enumerate(vocab)}
    for name, pre in (("falcon", falcon), ("contiguous", same), ("whole", P.Sequence([P.Digits(True), P.ByteLevel(add_prefix_space=False)]))):
        t = Tokenizer(models.BPE(vocab, [m for m in merges if "".join(m) != "foo"], ignore_merges=name == "whole"))
        t.pre_tokenizer, t.decoder = pre, decoders.ByteLevel()
        t.add_tokens([AddedToken("foo", single_word=True, normalized=False)])
        yield "by hand " + name, t
    t = Tokenizer(models.Unigram([("<unk>", 0.0), ("a", -16777216.0), ("b", -1.5), ("ab", -16777217.75), ("▁", -1.0), ("\r", -3.0)], 0))
    t.pre_tokenizer, t.decoder = P.Metaspace(), decoders.Metaspace()
    yield "by hand sums", t


def cases(lines, scale=1, rules=None):
    """Pairs of a name and a tokenizer.  rules: see spm_vocab; else those of nmt_nfkc."""
    size = lambda n: int(n * scale)
    yield from by_hand()
    for pre in ("gpt-2", "qwen2", "qwen35", "gpt-4o", "tekken", "deepseek-v3", "deepseek-coder", "deepseek-llm", "kimi-k2", "youtu", "viking",
                "seed-coder", "afmoe", "superbpe", "bailingmoe", "exaone-moe"):
        yield "bpe " + pre, byte_bpe(lines, splits(pre), size(900))
    yield "bpe llama-3", byte_bpe(lines, splits("llama-bpe"), size(900), ignore_merges=True)
    yield "bpe qwen2 nfc", byte_bpe(lines, splits("qwen2"), size(900), N.NFC())
    yield "bpe byte level", byte_bpe(lines, P.ByteLevel(add_prefix_space=False), size(900))
    yield "bpe roberta prefix", byte_bpe(lines, P.ByteLevel(add_prefix_space=True), size(900), added=[AddedToken("<mask>", lstrip=True, normalized=False)])
    yield "bpe starcoder", byte_bpe(lines, P.Sequence([P.Digits(True), P.ByteLevel(add_prefix_space=False)]), size(900))
    yield "bpe falcon", byte_bpe(lines, P.Sequence([P.Punctuation("contiguous"), P.ByteLevel(add_prefix_space=False), P.Digits(False),
                                                    P.Split(Regex("[0-9][0-9][0-9]"), "isolated")]), size(900))
    yield "bpe letters then digits", byte_bpe(lines, P.Sequence([P.ByteLevel(add_prefix_space=True), P.Digits(True)]), size(900))
    yield "bpe added flags", byte_bpe(lines, splits("qwen2"), size(900), added=FLAGS)
    yield "bpe added flags nfkc lower", byte_bpe(lines, splits("llama-bpe"), size(900), N.Sequence([N.NFKC(), N.Lowercase()]), True, FLAGS)
    yield "bpe unknown expression", byte_bpe(lines, P.Sequence([P.Split(Regex(r"\s?[\p{Lu}]+|\s*[^\s\p{L}]{1,4}|$|^ "), "merged_with_previous"),
                                                                P.ByteLevel(add_prefix_space=False, use_regex=False)]), size(900))
    for how in ("removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"):
        yield "bpe split " + how, byte_bpe(lines, P.Sequence([P.Split("a", how), P.Split(Regex(r"[aeiou]|\d"), how), P.Punctuation(how),
                                                              P.ByteLevel(add_prefix_space=False, use_regex=False)]), size(700))
        yield "bpe split inverted " + how, byte_bpe(lines, P.Sequence([P.Split(Regex(r"\p{L}+|\p{N}"), how, invert=True),
                                                                       P.ByteLevel(add_prefix_space=False, use_regex=False)]), size(700))
    old = N.Sequence([N.Prepend("▁"), N.Replace(" ", "▁")])
    yield "text llama-2", text_bpe(lines, size(1100), old)
    yield "text llama-2 added", text_bpe(lines, size(1100), old, added=FLAGS)
    yield "text mistral metaspace", text_bpe(lines, size(1100), None, P.Metaspace(prepend_scheme="first", split=False), added=FLAGS)
    yield "text metaspace cut", text_bpe(lines, size(1100), None, P.Metaspace(prepend_scheme="always", split=True))
    yield "text metaspace never", text_bpe(lines, size(1100), None, P.Metaspace(prepend_scheme="never", split=True))
    yield "text gemma", text_bpe(lines, size(1100), N.Replace(" ", "▁"), P.Split(" ", "merged_with_previous"), decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]), added=[AddedToken("\n\n", normalized=False), AddedToken("▁▁", normalized=False)])
    yield "text mistral model", text_bpe(lines, size(1100), N.Sequence([N.Replace(" ", "▁"), N.Replace(Regex(r"\A▁"), "▁▁")]),
                                         P.Metaspace(prepend_scheme="always", split=False))
    yield "text gemma spaces", gemma_spaces(lines, size(900))
    yield "text gemma 4", text_bpe(lines, size(1100), N.Replace(" ", "▁"), P.Split(Regex(r"[^\n]+|[\n]+"), "isolated"))
    yield "text unknown fused", text_bpe(lines, size(500), N.Sequence([N.NFKC(), N.Strip(), N.Replace(Regex(r"\s+"), " ")]), P.Metaspace(), byte_fallback=False)
    yield "text unknown", text_bpe(lines, size(500), N.Sequence([N.NFD(), N.StripAccents(), N.Lowercase()]), P.Whitespace(), byte_fallback=False, fuse=False)
    yield "text whole", text_bpe(lines, size(900), N.NFKD(), P.Sequence([P.WhitespaceSplit(), P.Metaspace()]), whole=True)
    yield "text delimiter", text_bpe(lines, size(700), N.Nmt(), P.CharDelimiterSplit(" "), byte_fallback=False)
    vocab, charsmap = spm_vocab(lines, rules, vocab_size=size(600), normalization_rule_name="nmt_nfkc")
    precompiled = N.Precompiled(charsmap)
    yield "unigram t5", unigram(vocab, 2, N.Sequence([precompiled, N.Replace(Regex(" {2,}"), " ")]), P.Sequence([P.WhitespaceSplit(), P.Metaspace()]))
    yield "unigram xlm-r", unigram(vocab, 2, precompiled, P.Metaspace(), added=FLAGS)
    yield "unigram strip", unigram(vocab, 2, N.Sequence([precompiled, N.Strip(False, True), N.Replace(Regex(" {2,}"), "▁")]), P.Metaspace(prepend_scheme="first"))
    vocab, _ = spm_vocab(lines, vocab_size=max(size(850), 500), byte_fallback=True, normalization_rule_name="identity")
    yield "unigram bytes", unigram(vocab, 2, N.NFKC(), P.Metaspace(), byte_fallback=True, decoder=decoders.Sequence(
        [decoders.ByteFallback(), decoders.Metaspace()]))
    yield "unigram trained", trained_unigram(lines, size(500), N.Sequence([N.Nmt(), N.NFKC()]), P.Metaspace())
    yield "bert uncased", word_piece(lines, size(700), N.BertNormalizer(lowercase=True), P.BertPreTokenizer())
    yield "bert cased", word_piece(lines, size(700), N.BertNormalizer(lowercase=False), P.BertPreTokenizer())
    yield "bert accents", word_piece(lines, size(700), N.BertNormalizer(lowercase=True, strip_accents=False), P.BertPreTokenizer(), added=FLAGS)
    yield "bert unclean", word_piece(lines, size(700), N.BertNormalizer(False, False, True, False), P.BertPreTokenizer())
    yield "wordpiece other prefix", word_piece(lines, size(700), N.Sequence([N.NFC(), N.Lowercase()]), P.Whitespace(), "@@")


# what random strings rarely have
FIXED = ["a\r\nb\r\n\n", "cafe\u0301 e\u0301\u0323 ﬁ½", "x\u00a0y\u3000z\t1", "..!!...!.  1111 111 11 ²³¼ a²", "foo1 foo xfoo foo,foo2 foofoo", "wordy words word", "ba baba ba",
         "aa ab abab aaa.!a!!", "<l>\u3000<r> \t<lr>", "é́é"]


def texts(n, seed):
    """Random strings, some with added tokens in them."""
    rng = random.Random(seed)
    added = [a.content for a in FLAGS] + SPECIAL + ["<mask>", "[MASK]", "[SEP]", "\n\n"]
    out = lib.random_texts(n - len(FIXED), seed)
    for i in range(0, len(out), 3):
        s = out[i]
        for _ in range(rng.randint(1, 3)):
            at = rng.randint(0, len(s))
            s = s[:at] + rng.choice(("", " ", "  ", "\u3000", "\n")) + rng.choice(added) + rng.choice(("", "", " ", "x", "\t ")) + s[at:]
        out[i] = s
    return FIXED + out


# letters of twenty writing systems, and of languages that share one
ALPHABETS = ("abcdefghijklmnopqrstuvwxyz", "abcdeéèêëàâçîïôùûüœ", "aäbcdefghiöpqrsßtuüv", "aąbcćdeęhijklłmnńoóprsśtuwyzźż", "aăâbcdđeêghiklmnoôơpqrstuưvxyáàảãạ",
             "aáeéiíoóöőuúüűbcdgkmnt", "абвгдежзийклмнопрстуфхцчшщъыьэюя", "абвгґдеєжзиіїйклмно", "αβγδεζηθικλμνξοπρστυφχψωάέήίό", "אבגדהוזחטיכלמנסעפצקרשת",
             "ابتثجحخدذرزسشصضطظعغفقكلمنهوي", "अआइईउऊएऐओऔकखगघचछजझटठडढणतथदधनपफबभमयरलवशषसहािीुूेैोौं्", "অআইকখগঘচছজটডতথদধনপবভমযরলশসহািীুে",
             "அஆஇஈஉஎஏகஙசஞடணதநபமயரலவழளறன்ாிீு", "กขคงจชซดตถทนบปพฟมยรลวสหอะาิีึืุูเแโใไ่้", "აბგდევზთიკლმნოპჟრსტუფქღყშჩცძწჭხჯჰ",
             "աբգդեզէըթժիլխծկհձղճմյնշոչպջռսվտր", "가나다라마바사아자차카타파하거너더러머버서어저고노도로모보", "あいうえおかきくけこさしすせそたちつてとアイウエオカキクケコ日本語東京",
             "的一是不了人我在有他这中大来上国和地到以说时要就出会可也你对生能而子那得于着下自之年", "ሀለሐመሠረሰሸቀበተቸኀነኘአከኸወዐዘዠየደጀገጠጨጰጸፀፈፐ")


def languages(size, seed=5):
    """About size bytes of words in these alphabets."""
    rng = random.Random(seed)
    out, n = [], 0
    while n < size:
        letters = rng.choice(ALPHABETS)
        words = ["".join(rng.choice(letters) for _ in range(rng.randint(1, 9))) for _ in range(rng.randint(5, 30))]
        line = " ".join(w.capitalize() if rng.random() < .15 else w for w in words) + rng.choice((".", "!", " …", "。", "?", ""))
        out.append(line)
        n += len(line.encode()) + 1
    return "\n".join(out)


def source(size):
    """About size bytes of our own sources."""
    root = Path(__file__).parent.parent
    text = ""
    for path in sorted(root.glob("libcore/**/*.[ch]")):
        if not path.name.endswith("_tab.c"):
            text += path.read_text(errors="replace")
        if len(text) >= size:
            break
    return text[:size]


def decoded(t, ids):
    """What `tokenizers` makes of ids, special tokens included."""
    return t.decode(ids, skip_special_tokens=False)


def charsmap_of(path):
    return base64.b64decode(json.loads(Path(path).read_text())["normalizer"]["precompiled_charsmap"])
