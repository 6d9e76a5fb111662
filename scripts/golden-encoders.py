#!/usr/bin/env python3
"""Make tests/golden/encoders/: tiny random checkpoints that embed and rank texts, and what transformers makes of them.

  golden-encoders.py --converter DIR    rewrite the files (needs torch, transformers, gguf, numpy)
  golden-encoders.py --names            which of their tensors is which, into tests/golden/hf/names.txt

Weights are drawn and evaluated in float64 as in golden-logits.py, and converted by the public converter in DIR.

cases.txt, read by tests/unit/engine/test_encoders.c:
  case NAME FILE WIDTH SECOND N ID...   NAME.f32 holds float32 [N][WIDTH], the states that embeddings are made of; WIDTH 0:
                                        one number, the logit of the text.  SECOND: where its second part begins; 0: nowhere
NAME.json is config.json of the checkpoint, as tests/golden/hf/config/ has them of others.
  mutant NAME, edit OP ARG...       as in golden-logits.py: the case's file so edited must miss the bound
"""
import argparse
import importlib.util
import json
import os
import re
import shutil
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
OUT = os.path.join(HERE, "..", "tests", "golden", "encoders")
spec = importlib.util.spec_from_file_location("golden_logits", os.path.join(HERE, "golden-logits.py"))
logits = importlib.util.module_from_spec(spec)
spec.loader.exec_module(logits)
checkpoint = logits.checkpoint
N = 48
FROM = 4        # below are ids that mean something to transformers: padding, yes, no


def hub(model_type, cls, **more):
    c = dict(architectures=[cls], model_type=model_type, hidden_size=32, intermediate_size=40, num_hidden_layers=3, num_attention_heads=4,
             vocab_size=72, max_position_embeddings=64, torch_dtype="float32", pad_token_id=0)
    c.update(more)
    return c


def bert(model_type, cls, **more):
    return hub(model_type, cls, **{**dict(hidden_act="gelu", layer_norm_eps=0.02, type_vocab_size=2, position_embedding_type="absolute"), **more})


def nomic(**more):
    """As the hub has it; config: the same in the words of transformers."""
    c = dict(architectures=["NomicBertModel"], model_type="nomic_bert", n_embd=32, n_inner=40, n_layer=3, n_head=4, vocab_size=72, n_positions=8192,
             max_trained_positions=2048, activation_function="swiglu", causal=False, qkv_proj_bias=False, mlp_fc1_bias=False, mlp_fc2_bias=False,
             prenorm=False, parallel_block=False, rotary_emb_fraction=1.0, rotary_emb_interleaved=False, rotary_emb_scale_base=None,
             rotary_emb_base=1000, rotary_scaling_factor=None, use_rms_norm=False, layer_norm_epsilon=0.02, type_vocab_size=2, torch_dtype="float32",
             pad_token_id=0, scale_attn_by_inverse_layer_idx=False)
    config = {k: c[k] for k in ("architectures", "model_type", "vocab_size", "type_vocab_size", "pad_token_id")}
    config.update(hidden_size=32, intermediate_size=40, num_hidden_layers=3, num_attention_heads=4, max_position_embeddings=2048, layer_norm_eps=0.02,
                  rope_parameters=dict(rope_theta=1000.0, rope_type="default"))
    return dict(hub={**config, **c, **more}, config=config)     # the converter reads defaults where the second form is not there


def modern(cls, **more):
    return hub("modernbert", cls, **{**dict(num_hidden_layers=4, hidden_activation="gelu", norm_eps=0.02, layer_norm_eps=0.02, norm_bias=False, local_attention=12,
                                            attention_bias=False, mlp_bias=False, global_attn_every_n_layers=3, global_rope_theta=2000.0,
                                            local_rope_theta=100.0, classifier_pooling="cls", classifier_activation="gelu", classifier_bias=False,
                                            bos_token_id=1, eos_token_id=2, cls_token_id=1, sep_token_id=2), **more})


def each(n, *ops):
    return [op.replace("%d", str(i)) for i in range(n) for op in ops]


BERT_MUTANTS = {
    "no-positions": ["fill position_embd.weight 0"],
    "no-input-norm": ["fill token_embd_norm.weight 1"],
    "no-output-bias": each(3, "fill blk.%d.attn_output.bias 0"),
    "norms-same": ["copy blk.0.attn_output_norm.weight blk.0.layer_output_norm.weight"],
    "eps": ["key bert.attention.layer_norm_epsilon 1e-12"],
}
NOMIC_MUTANTS = {
    "base": ["key nomic-bert.rope.freq_base 500"],
    "eps": ["key nomic-bert.attention.layer_norm_epsilon 1e-12"],
    "swap-gate": [f"swaprows blk.{i}.ffn_{w}.weight {r} {r + 20} 20" for i in range(3) for w, r in (("gate", 0),)],
    "no-input-bias": ["fill token_embd_norm.bias 0"],
    "halves-are-pairs": each(3, "pairs blk.%d.attn_qkv.weight 8"),
    "no-norm-bias": each(3, "fill blk.%d.attn_output_norm.bias 0"),
    "parts-same": ["fill token_types.weight 0"],
}
MODERN_MUTANTS = {
    "window": ["key modern-bert.attention.sliding_window 16"],
    "base": ["key modern-bert.rope.freq_base 500"],
    "own-base": ["key modern-bert.rope.freq_base_swa 2000"],
    "eps": ["key modern-bert.attention.layer_norm_epsilon 1e-5"],
    "gate-is-up": each(4, "swaprows blk.%d.ffn_up.weight 0 40 40"),
    "no-input-norm": ["fill token_embd_norm.weight 1"],
    "no-norm": ["fill blk.1.attn_norm.weight 1"],
    "no-output-norm": ["fill output_norm.weight 1"],
    "halves-are-pairs": each(4, "pairs blk.%d.attn_qkv.weight 8"),
}
GEMMA = dict(num_key_value_heads=1, head_dim=8, query_pre_attn_scalar=8, sliding_window=12, num_hidden_layers=6, hidden_size=24, intermediate_size=32,
             hidden_activation="gelu_pytorch_tanh", rms_norm_eps=1e-5, attn_logit_softcapping=None, final_logit_softcapping=None, tie_word_embeddings=True,
             rope_theta=1e6, rope_local_base_freq=1e4, use_bidirectional_attention=True, attention_bias=False, rope_scaling=None,
             layer_types=["sliding_attention"] * 5 + ["full_attention"])
QWEN = dict(num_key_value_heads=2, head_dim=12, rms_norm_eps=1e-6, rope_theta=1e6, hidden_act="silu", tie_word_embeddings=True, use_sliding_window=False,
            sliding_window=None, max_window_layers=36, attention_bias=False, rope_scaling=None, bos_token_id=70, eos_token_id=71, pad_token_id=None)

# class: of transformers; second: where the second part begins; rank: 1 a head that ranks, 2 yes and no; dense: widths of layers behind
CASES = {
    "bert": dict(hub=bert("bert", "BertModel"), second=19, mutants={**BERT_MUTANTS, "parts-same": ["fill token_types.weight 0"]}),
    "xlm-roberta": dict(hub=bert("xlm-roberta", "XLMRobertaModel", type_vocab_size=1, pad_token_id=1, max_position_embeddings=66),
                        mutants={"no-part": ["fill token_types.weight 0"]}),
    "xlm-rank": dict(hub=bert("xlm-roberta", "XLMRobertaForSequenceClassification", type_vocab_size=1, pad_token_id=1, max_position_embeddings=66,
                              id2label={"0": "LABEL_0"}, label2id={"LABEL_0": 0}), rank=1,
                     mutants={"no-head-bias": ["fill cls.bias 0"], "no-bias": ["fill cls.output.bias 0"]}),
    "nomic": dict(**nomic(), second=19, mutants=NOMIC_MUTANTS),
    "modern": dict(hub=modern("ModernBertModel"), mutants={**MODERN_MUTANTS, "every-2": ["key modern-bert.attention.sliding_window_pattern 2"]}),
    "modern-silu": dict(hub=modern("ModernBertModel", hidden_activation="silu", local_attention=7), mutants={"act": ["key modern-bert.hidden_activation gelu"]}),
    "modern-rank": dict(hub=modern("ModernBertForSequenceClassification", id2label={"0": "LABEL_0"}, label2id={"LABEL_0": 0}), rank=1,
                        mutants={"no-norm": ["fill cls.norm.weight 1"], "no-bias": ["fill cls.output.bias 0"]}),
    "gemma": dict(hub=hub("gemma3_text", "Gemma3TextModel", **GEMMA), dense=(40, 20),
                  mutants={"window": ["key gemma-embedding.attention.sliding_window 20"], "base": ["key gemma-embedding.rope.freq_base 500"],
                           "swap-dense": ["mul dense_3.weight -1"]}),
    "qwen-rank": dict(hub=hub("qwen3", "Qwen3ForCausalLM", **QWEN), rank=2, mutants={"no-q-norm": each(3, "fill blk.%d.attn_q_norm.weight 1")}),
}


def model_of(config):
    import transformers
    with tempfile.TemporaryDirectory() as d:
        with open(os.path.join(d, "config.json"), "w") as f:
            json.dump(config, f)
        c = transformers.AutoConfig.from_pretrained(d)
    c._attn_implementation = "eager"
    return getattr(transformers, config["architectures"][0])(c).double().eval()


def saved(model):
    """name -> array as transformers writes it"""
    from safetensors.numpy import load_file
    with tempfile.TemporaryDirectory() as d:
        model.save_pretrained(d)
        return {k: a for f in os.listdir(d) if f.endswith(".safetensors") for k, a in load_file(os.path.join(d, f)).items()}


def pooling(path, dense, state):
    """What sentence-transformers keeps beside a checkpoint: mean pooling, and layers behind it."""
    modules = [{"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}]
    os.makedirs(path + "/1_Pooling")
    json.dump({"pooling_mode_mean_tokens": True}, open(path + "/1_Pooling/config.json", "w"))
    for i, name in enumerate(n for n in state if n.startswith("dense")):
        d = f"{i + 2}_Dense"
        modules.append({"path": d, "type": "sentence_transformers.models.Dense"})
        a = state[name]
        checkpoint.save(f"{path}/{d}", {"vocab_size": 0, "model_type": "dense"}, {"linear.weight": a})
        json.dump({"in_features": a.shape[1], "out_features": a.shape[0]}, open(f"{path}/{d}/config.json", "w"))
    json.dump(modules, open(path + "/modules.json", "w"))


def truth(torch, model, case, ids):
    more = {}
    if case.get("second"):
        more["token_type_ids"] = torch.tensor([[int(i >= case["second"]) for i in range(len(ids))]])
    with torch.no_grad():
        out = model(input_ids=torch.tensor([ids]), attention_mask=torch.ones(1, len(ids), dtype=torch.long), **more)
    if case.get("rank") == 1:
        return out.logits[0, :1].numpy()[None]
    if case.get("rank") == 2:       # yes is id 2, no is id 3
        return (out.logits[0, -1, 2] - out.logits[0, -1, 3]).numpy().reshape(1, 1)
    return out.last_hidden_state[0].numpy()


def tokenizer(path, n):
    """Read by the converter alone."""
    words = {{0: "<pad>", 2: "yes", 3: "no", 4: "|"}.get(i, f"w{i}"): i for i in range(n)}
    with open(path + "/tokenizer.json", "w") as f:
        json.dump({"version": "1.0", "model": {"type": "WordPiece", "vocab": words, "unk_token": "<pad>", "continuing_subword_prefix": "##",
                                               "max_input_chars_per_word": 100}, "added_tokens": []}, f)
    with open(path + "/tokenizer_config.json", "w") as f:
        json.dump({"tokenizer_class": "PreTrainedTokenizerFast"}, f)


def make(torch, name, case, room):
    config = case["hub"]
    model = model_of(case.get("config", config))
    rng = np.random.default_rng([*name.encode()])
    state = checkpoint.fill(name, model, rng, config["model_type"].startswith("gemma"))
    ids = [int(t) for t in rng.integers(FROM + 1, config["vocab_size"] - 8, N)]
    want = truth(torch, model, case, ids)
    state = saved(model)
    extra, width = {}, model.config.hidden_size
    for i, w in enumerate(case.get("dense", ())):
        extra[f"dense_{i + 2}"] = checkpoint.draw("dense", (w, width), rng, False)
        want, width = want @ extra[f"dense_{i + 2}"].T, w
    if config.get("tie_word_embeddings"):
        state = {k: a for k, a in state.items() if k != "lm_head.weight"}
    path = os.path.join(room, "qwen3-reranker-" + name if case.get("rank") == 2 else name)
    checkpoint.save(path, config, state)
    tokenizer(path, config["vocab_size"])
    if not case.get("rank"):
        pooling(path, case.get("dense"), extra)
    with open(os.path.join(OUT, name + ".json"), "w") as f:
        json.dump(config, f, sort_keys=True)
        f.write("\n")
    want.astype("<f4").tofile(os.path.join(OUT, name + ".f32"))
    lines = [f"case {name} {name}.gguf {0 if case.get('rank') else want.shape[1]} {case.get('second', 0)} {N} {' '.join(map(str, ids))}"]
    for m, ops in case["mutants"].items():
        lines += [f"mutant {m}"] + [f"edit {op}" for op in ops]
    return path, lines


def more_classes():
    """Classes whose files the converter leaves without what scores texts, or that differ in names alone."""
    labels = dict(id2label={"0": "LABEL_0"}, label2id={"LABEL_0": 0})
    robert = dict(type_vocab_size=1, pad_token_id=1, max_position_embeddings=66)
    qwen = {k: v for k, v in CASES["qwen-rank"]["hub"].items() if k != "architectures"}
    return [("bert", bert("bert", "BertForSequenceClassification", **labels)), ("bert", bert("roberta", "RobertaModel", **robert)),
            ("bert", bert("roberta", "RobertaForSequenceClassification", **robert, **labels)), ("qwen3", dict(qwen, architectures=["Qwen3Model"]))]


def names_of(arch, config, path):
    """Names by the table of gguf-py; transforms by the values of the file, where there is one."""
    import gguf
    table = gguf.get_tensor_name_map({v: k for k, v in gguf.MODEL_ARCH_NAMES.items()}[arch], 2)
    cls, file, lines = config["architectures"][0], {}, []
    state = saved(model_of(config))
    if path:
        file = {t.name: np.array(t.data) for t in gguf.GGUFReader(path).tensors}
    for name, a in state.items():
        plain = name.removeprefix("bert.").removeprefix("roberta.")
        if plain.startswith("pooler.dense"):    # what RobertaForSequenceClassification calls classifier.dense; the converter drops it
            plain = plain.replace("pooler", "classifier")
        if plain.startswith("classifier.") and plain.count(".") == 1:
            plain = plain.replace("classifier", "classifier.out_proj")
        if re.search(r"\.([2-9])\.", name):       # a layer behind the first two
            continue
        to = next((t for n in (plain, "model." + plain, plain.removeprefix("model.")) if (t := table.get_name(n, (".weight", ".bias")))), None)
        if to is None:
            raise SystemExit(f"{cls}: {name}")
        rows = "T_ROWS" if to == "position_embd.weight" else "T_NONE"
        gain = "T_PLUS1" if arch == "gemma-embedding" and to.endswith("norm.weight") else rows
        lines.append((arch, cls, name, to, gain))
    return lines, file


def check_values(lines, state, file, offset):
    """The checkpoint's tensors, changed as the lines say, are those of the file."""
    for _, cls, name, to, how in lines:
        if to not in file:
            if not to.startswith("cls"):
                raise SystemExit(f"{cls}: {to} is not in the file")
            continue
        a = state[name] + 1 if how == "T_PLUS1" else state[name][offset:] if how == "T_ROWS" else state[name]
        if a.shape != file[to].shape and a.size != file[to].size or not np.array_equal(a.reshape(-1).astype("<f4"), file[to].reshape(-1)):
            raise SystemExit(f"{cls}: {name} by {how} is not {to}")


def add_names():
    """Of the golden files, by the weights they were made of."""
    out = os.path.join(HERE, "..", "tests", "golden", "hf", "names.txt")
    archs = {"bert": "bert", "xlm-roberta": "bert", "xlm-rank": "bert", "nomic": "nomic-bert", "modern": "modern-bert", "modern-rank": "modern-bert",
             "gemma": "gemma-embedding"}
    lines = []
    for name, arch in archs.items():
        case = CASES[name]
        model = model_of(case.get("config", case["hub"]))
        checkpoint.fill(name, model, np.random.default_rng([*name.encode()]), case["hub"]["model_type"].startswith("gemma"))
        state = saved(model)
        found, file = names_of(arch, case.get("config", case["hub"]), os.path.join(OUT, name + ".gguf"))
        check_values(found, state, file, case["hub"].get("pad_token_id", 0) + 1 if "roberta" in case["hub"]["model_type"] else 0)
        lines += found
    for arch, config in more_classes():
        lines += names_of(arch, config, None)[0]
    lines.append(("bert", "BertModel", "embeddings.position_ids", "position_ids", "-"))    # a buffer that older versions saved
    with open(out) as f:
        have = f.read().splitlines()
    with open(out, "w") as f:
        f.writelines(l + "\n" for l in dict.fromkeys(have + ["\t".join(l) for l in lines]))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--converter")
    p.add_argument("--names", action="store_true")
    a = p.parse_args()
    if a.names:
        checkpoint.use_float64()
        return add_names()
    torch = checkpoint.use_float64()
    os.makedirs(OUT, exist_ok=True)
    with tempfile.TemporaryDirectory() as room:
        made = {name: make(torch, name, case, room) for name, case in CASES.items()}
        said = checkpoint.convert(a.converter, [d for d, _ in made.values()])
        for name, (d, _) in made.items():
            if said[d]:
                raise SystemExit(f"{name}: {said[d]}")
            shutil.copy(d + ".gguf", os.path.join(OUT, name + ".gguf"))
    with open(os.path.join(OUT, "cases.txt"), "w") as f:
        f.write("# scripts/golden-encoders.py\n" + "\n".join(line for _, lines in made.values() for line in lines) + "\n")


if __name__ == "__main__":
    main()
