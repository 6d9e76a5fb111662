#!/usr/bin/env python3
"""Write tests/golden/hf/special/: directories without weights, and the keys that the public converter writes for them.

    scripts/golden-hf-special.py LLAMA_CPP      the source of llama.cpp; needs sentencepiece, tokenizers, transformers, torch

CASE/           config.json, tokenizer files, chat templates
CASE/want.gguf  the converter's keys and no tensors: of the vocabulary where there is a tokenizer.model, else only those that
                do not describe it; tests/unit/hf/test_special compares each
CASE/ids.txt    for a tokenizer.model whose prefix nothing changes: a text as JSON and the ids that sentencepiece gives, a line each
ids-CASE/       without want.gguf: here the converter leaves out what sentencepiece does"""
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

if os.environ.get("PYTHONHASHSEED") != "0":  # the converter writes names in the order of a set
    os.execve(sys.executable, [sys.executable, *sys.argv], dict(os.environ, PYTHONHASHSEED="0"))
sys.path[:0] = [sys.argv[1], sys.argv[1] + "/gguf-py", str(Path(__file__).parent)]
import tokenlib as lib  # noqa: E402

OUT = Path(__file__).parent.parent / "tests/golden/hf/special"
IDENTITY = dict(normalization_rule_name="identity", remove_extra_whitespaces=False)
TEXTS = ["Hello world", " two  spaces ", "na\u00efve \u4f60\u597d \U0001f600", "<start> x<end>", "a\tb\nc", "fox " * 5, "\ufb01nal \u00bd"]


RULES = "FB01\t66 69\nBD\t31 2044 32\n41\t61\n9\t20\nA\t20\n"


def token(i, text, special=True, **more):
    return dict(id=i, content=text, single_word=False, lstrip=False, rstrip=False, normalized=False, special=special, **more)


def decoder(*tokens):
    return {str(t["id"]): {k: v for k, v in t.items() if k != "id"} for t in tokens}


def bpe_json(tokens, post=None):
    """A tokenizer.json of a few pieces with these added tokens."""
    vocab = {c: i for i, c in enumerate(["a", "b", "c", "ab", "abc"])}
    return dict(version="1.0", truncation=None, padding=None, added_tokens=tokens, normalizer=None,
                pre_tokenizer=dict(type="ByteLevel", add_prefix_space=False, trim_offsets=True, use_regex=True), post_processor=post,
                decoder=dict(type="ByteLevel", add_prefix_space=True, trim_offsets=True, use_regex=True),
                model=dict(type="BPE", dropout=None, unk_token=None, continuing_subword_prefix=None, end_of_word_suffix=None, fuse_unk=False,
                           byte_fallback=False, ignore_merges=False, vocab=vocab, merges=["a b", "ab c"]))


def special(text): return dict(SpecialToken=dict(id=text, type_id=0))
def sequence(name): return dict(Sequence=dict(id=name, type_id=0))


def template(single, pair, *tokens):
    return dict(type="TemplateProcessing", single=single, pair=pair, special_tokens={t["content"]: dict(id=t["content"], ids=[t["id"]], tokens=[t["content"]]) for t in tokens})


LEVEL = dict(type="ByteLevel", add_prefix_space=True, trim_offsets=False, use_regex=True)
BOS, EOS, TURN, PAD, SEP, CLS = (token(5, "<|begin|>"), token(6, "<|end_of_text|>"), token(7, "<|turn|>"), token(8, "<pad>"), token(9, "[SEP]"), token(10, "[CLS]"))
ALL = [BOS, EOS, TURN, PAD, SEP, CLS]
A, B = sequence("A"), sequence("B")
PLAIN = dict(architectures=["LlamaForCausalLM"], model_type="llama", vocab_size=16)


def of(cls, **more): return dict(PLAIN, architectures=[cls], **more)


# name: the class, its files, options of sentencepiece for a tokenizer.model
CASES = {
    "spm-llama": ("LlamaForCausalLM", {
        "config.json": dict(PLAIN, vocab_size=520, bos_token_id=1, eos_token_id=2, _name_or_path="org/tiny-model-7b-v1.5"),
        "generation_config.json": dict(temperature=0.6, top_p=0.9, top_k=20, min_p=0.01, repetition_penalty=1.05, do_sample=True, eos_token_id=[2, 504]),
        "added_tokens.json": {"<listed\u2581one>": 503, "<far>": 9000},
        "tokenizer_config.json": dict(add_bos_token=True, add_eos_token=False, bos_token="<s>", eos_token="</s>", unk_token="<unk>", pad_token=None,
                                      tokenizer_class="LlamaTokenizer", chat_template="{{ messages[0].content }}",
                                      added_tokens_decoder=decoder(token(0, "<unk>"), token(1, "<s>"), token(2, "</s>"), token(504, "<|im_end|>", False),
                                                                   token(505, "two\u2581words", False), token(506, "<ctl>")))},
        dict(model_type="bpe", vocab_size=500, byte_fallback=True, **IDENTITY)),
    "spm-prefix": ("LlamaForCausalLM", {
        "config.json": dict(PLAIN, vocab_size=500), "tokenizer_config.json": dict(add_prefix_space=False, add_bos_token=False, bos_token="<s>")},
        dict(model_type="bpe", vocab_size=500, byte_fallback=True, **IDENTITY)),
    "spm-gemma": ("Gemma2ForCausalLM", {
        "config.json": dict(of("Gemma2ForCausalLM"), model_type="gemma2", vocab_size=500, bos_token_id=2, eos_token_id=1, pad_token_id=0),
        "tokenizer_config.json": dict(add_bos_token=True, add_eos_token=False, bos_token="<bos>", eos_token="<eos>", pad_token="<pad>",
                                      added_tokens_decoder=decoder(token(4, "<start>", False), token(5, "<end>", False), token(6, "<unused0>", False)))},
        dict(model_type="bpe", vocab_size=500, byte_fallback=True, add_dummy_prefix=False, pad_id=0, eos_id=1, bos_id=2, unk_id=3, pad_piece="<pad>",
             bos_piece="<bos>", eos_piece="<eos>", user_defined_symbols=["<start>", "<end>", "<unused0>"], **IDENTITY)),
    "spm-phi3": ("Phi3ForCausalLM", {
        "config.json": dict(of("Phi3ForCausalLM"), model_type="phi3", vocab_size=510, bos_token_id=1, eos_token_id=500),
        "tokenizer_config.json": dict(tokenizer_class="LlamaTokenizer", bos_token="<s>", eos_token="<|endoftext|>", add_bos_token=False,
                                      added_tokens_decoder=decoder(token(500, "<|endoftext|>"), token(501, "<|user|>")))},
        dict(model_type="bpe", vocab_size=500, byte_fallback=True, **IDENTITY)),
    "spm-phi3-json": ("Phi3ForCausalLM", {
        "config.json": dict(of("Phi3ForCausalLM"), model_type="phi3", vocab_size=510, bos_token_id=1, eos_token_id=500),
        "tokenizer_config.json": dict(tokenizer_class="LlamaTokenizer", bos_token="<s>", eos_token="<|endoftext|>"),
        "tokenizer.json": bpe_json([token(0, "<unk>"), token(1, "<s>"), token(500, "<|endoftext|>"), token(501, "two\u2581words", False), token(502, "<|user|>", False)])},
        dict(model_type="bpe", vocab_size=500, byte_fallback=True, **IDENTITY)),
    "ids-user": ("LlamaForCausalLM", {"config.json": dict(PLAIN, vocab_size=500), "tokenizer_config.json": dict()},
                 dict(model_type="bpe", vocab_size=500, byte_fallback=True, add_dummy_prefix=False, user_defined_symbols=["<start>", "<end>", "o\u2581w"], **IDENTITY)),
    "ids-rules": ("LlamaForCausalLM", {"config.json": dict(PLAIN, vocab_size=500), "tokenizer_config.json": dict()},
                  dict(model_type="bpe", vocab_size=500, byte_fallback=True, normalization_rule_tsv=RULES)),
    "ids-unigram": ("LlamaForCausalLM", {"config.json": dict(PLAIN, vocab_size=500), "tokenizer_config.json": dict()},
                    dict(model_type="unigram", vocab_size=500, normalization_rule_tsv=RULES)),
    "level": ("LlamaForCausalLM", {"config.json": dict(PLAIN, eos_token_id=[6, 7], pad_token_id=None),
                                   "tokenizer_config.json": dict(bos_token="<|begin|>", eos_token="<|turn|>", pad_token="<pad>"),
                                   "tokenizer.json": bpe_json(ALL, LEVEL)}, None),
    "front": ("LlamaForCausalLM", {"config.json": dict(PLAIN),
                                   "tokenizer_config.json": dict(bos_token="<|begin|>", eos_token="<|end_of_text|>", add_bos_token=False),
                                   "tokenizer.json": bpe_json(ALL, dict(type="Sequence", processors=[LEVEL, template([special("<|begin|>"), A],
                                                              [special("<|begin|>"), A, special("<|begin|>"), B], BOS)]))}, None),
    "both": ("LlamaForCausalLM", {"config.json": dict(PLAIN),
                                  "tokenizer_config.json": dict(bos_token=dict(content="<|begin|>"), eos_token="<|turn|>", chat_template=[
                                      dict(name="default", template="{{ 1 }}"), dict(name="tool use", template="{{ 2 }}"), dict(name="rag", template="{{ 3 }}")]),
                                  "tokenizer.json": bpe_json(ALL, template([special("<|begin|>"), A, special("<|end_of_text|>")],
                                                             [special("<|begin|>"), A, B, special("<|end_of_text|>")], BOS, EOS))}, None),
    "bert-like": ("LlamaForCausalLM", {"config.json": dict(PLAIN),
                                       "tokenizer_config.json": dict(cls_token="[CLS]", sep_token="[SEP]", mask_token="<|turn|>"),
                                       "tokenizer.json": bpe_json(ALL, template([special("[CLS]"), A, special("[SEP]")],
                                                                  [special("[CLS]"), A, special("[SEP]"), B, special("[SEP]")], CLS, SEP))}, None),
    "pair": ("LlamaForCausalLM", {"config.json": dict(PLAIN), "tokenizer_config.json": dict(bos_token="<|begin|>", eos_token="[SEP]"),
                                  "chat_template.json": dict(chat_template="{{ 4 }}"),
                                  "tokenizer.json": bpe_json(ALL, template([special("<|begin|>"), A], [special("<|begin|>"), A, special("[SEP]"), B], BOS, SEP))}, None),
    "roberta": ("LlamaForCausalLM", {"config.json": dict(PLAIN), "tokenizer_config.json": dict(bos_token="<|begin|>", eos_token="<|end_of_text|>"),
                                     "tokenizer.json": bpe_json(ALL, dict(type="RobertaProcessing", sep=["[SEP]", 9], cls=["[CLS]", 10], trim_offsets=True, add_prefix_space=False))}, None),
    "alone": ("LlamaForCausalLM", {"config.json": dict(PLAIN, bos_token_id=5, eos_token_id=6), "tokenizer.json": bpe_json(ALL, template([special("<|begin|>"), A], [A, B], BOS))}, None),
    "files": ("LlamaForCausalLM", {"config.json": dict(PLAIN, text_config=dict(eos_token_id=7)), "tokenizer_config.json": dict(model_max_length=64),
                                   "chat_template.jinja": "{{ 5 }}\n", "additional_chat_templates/tool_use.jinja": "{{ 6 }}", "tokenizer.json": bpe_json(ALL)}, None),
    "glm": ("Glm4MoeForCausalLM", {"config.json": dict(of("Glm4MoeForCausalLM"), model_type="glm4_moe", eos_token_id=[5, 7, 8]),
                                   "tokenizer_config.json": dict(eos_token="<|endoftext|>", pad_token="<|endoftext|>", tokenizer_class="PreTrainedTokenizerFast"),
                                   "tokenizer.json": bpe_json([token(5, "<|endoftext|>"), token(6, "[gMASK]"), token(7, "<|user|>"), token(8, "<|observation|>")])}, None),
    "glm-dense": ("Glm4ForCausalLM", {"config.json": dict(of("Glm4ForCausalLM"), model_type="glm4", eos_token_id=[5, 6]),
                                      "tokenizer_config.json": dict(tokenizer_class="PreTrainedTokenizerFast"),
                                      "tokenizer.json": bpe_json([token(5, "<|endoftext|>"), token(6, "<|user|>")])}, None),
    "code": ("LlamaForCausalLM", {"config.json": dict(PLAIN, vocab_size=32016, eos_token_id=2), "tokenizer_config.json": dict(model_max_length=64), "tokenizer.json": bpe_json(ALL)}, None),
    "small": ("LlamaForCausalLM", {"config.json": dict(PLAIN, vocab_size=49152), "tokenizer_config.json": dict(add_bos_token=True), "tokenizer.json": bpe_json(ALL)}, None),
}


def write(case, files, options):
    shutil.rmtree(case, ignore_errors=True)
    case.mkdir(parents=True)
    for name, what in files.items():
        (case / name).parent.mkdir(exist_ok=True)
        (case / name).write_text(what if isinstance(what, str) else json.dumps(what, ensure_ascii=False, separators=(",", ":")) + "\n")
    if options is None:
        return
    import sentencepiece
    from sentencepiece import sentencepiece_model_pb2
    with tempfile.TemporaryDirectory() as at:
        if "normalization_rule_tsv" in options:
            Path(at + "/rules").write_text(options["normalization_rule_tsv"])
            options = dict(options, normalization_rule_tsv=at + "/rules")
        sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(lib.corpus(400, seed=5)), model_prefix=at + "/m", num_threads=1, minloglevel=2, **options)
        model = sentencepiece_model_pb2.ModelProto.FromString(Path(at + "/m.model").read_bytes())
    model.trainer_spec.model_prefix = model.normalizer_spec.normalization_rule_tsv = ""  # paths of this run
    (case / "tokenizer.model").write_bytes(model.SerializeToString(deterministic=True))
    if "add_prefix_space" in files["tokenizer_config.json"]:
        return
    sp = sentencepiece.SentencePieceProcessor(str(case / "tokenizer.model"))
    (case / "ids.txt").write_text("".join("%s %s\n" % (json.dumps(t), " ".join(map(str, sp.encode(t)))) for t in TEXTS))


def convert(case, cls, files, has_model, gguf, conversion):
    """What the converter does for a vocabulary, without a model."""
    model = conversion.get_model_class(cls)
    me = model.__new__(model)
    me.dir_model, me.hparams, me.is_mistral_format, me.origin_hf_arch = case, files["config.json"], False, None
    me.find_hparam = lambda keys, optional=False: next((me.hparams[k] for k in keys if k in me.hparams), None)
    me.gguf_writer = w = gguf.GGUFWriter(path=None, arch="llama")
    if not has_model:
        me._set_vocab_sentencepiece = me._set_vocab_llama_hf = lambda: (_ for _ in ()).throw(FileNotFoundError())
        me.get_vocab_base = lambda: (["a"], [1], "default")
    me.set_vocab()
    card = gguf.Metadata.load(None, case, None, 0)
    for key, value in vars(card).items():
        if key.startswith("sampling_") and value is not None:
            getattr(w, "add_" + key)(value)
    w.add_name(card.name)
    for key in [] if has_model else ["model", "pre", "tokens", "token_type", "merges", "add_space_prefix"]:
        w.remove_key("tokenizer.ggml." + key)
    w.remove_key("general.architecture")
    w.write_header_to_file(case / "want.gguf")
    w.write_kv_data_to_file()
    w.close()


def main():
    import conversion
    import gguf
    for name, (cls, files, options) in CASES.items():
        write(OUT / name, files, options)
        if not name.startswith("ids-"):
            convert(OUT / name, cls, files, options is not None, gguf, conversion)


if __name__ == "__main__":
    main()
