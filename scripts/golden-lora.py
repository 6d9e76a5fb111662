#!/usr/bin/env python3
"""Make tests/golden/lora/: LoRA adapters that peft saves for models of tests/golden/logits, and the logits of peft in float64.

  golden-lora.py CONVERTER [MODEL...]     rewrite the files of these models, by default of all; CONVERTER is the folder of
                                          convert_lora_to_gguf.py of llama.cpp, outside this project
  OLD_SITE=DIR                            a folder with transformers 4.57 and peft 0.18, in which experts are modules of
                                          their own, as in the adapters that were trained with them

The models are drawn again as golden-logits.py draws them, which their logits prove.  Each adapter is made by get_peft_model,
drawn so that its effect is seen, and written by save_pretrained, in float16 or float32; the truth is the model with the
adapter, unmerged, every step in float64.  A .gguf file is what the public converter makes of the same directory.

cases.txt, read by tests/unit/lora/test_golden.c:
  model NAME FILE VOCAB LAST N ID...      a model of tests/golden/logits; NAME.f32 holds float32 [cases][LAST][VOCAB], the
                                          logits of the last positions
  case NAME PATH SCALE                    an adapter of the last model, a directory or a .gguf file
  # NAME: no GGUF file: why               the converter fails
Every case is farther than 10 bounds from: no adapter, a scale of 0.9, A of another layer, rows of B in another order.
"""
import copy
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import checkpoint  # noqa: E402
from golden_logits_cases import CASES  # noqa: E402

spec = importlib.util.spec_from_file_location("golden_logits", os.path.join(HERE, "golden-logits.py"))
logits = importlib.util.module_from_spec(spec)
spec.loader.exec_module(logits)

OUT = os.path.join(HERE, "..", "tests", "golden", "lora")
N, LAST = 8, 3      # ids, and of how many positions, the last ones, the logits are stored
FAR = 10

# model -> more cases: name -> (arguments of LoraConfig, scale)
PLAIN = dict(r=2, lora_alpha=3)
QV = ["q_proj", "v_proj"]
MORE = {
    "llama3-hub": {
        "rslora": (dict(PLAIN, target_modules=QV, use_rslora=True), 1),
        "patterns": (dict(PLAIN, target_modules=[*QV, "down_proj"], rank_pattern={"q_proj": 4, "layers.1.mlp.down_proj": 1},
                          alpha_pattern={"v_proj": 5, "layers.0.self_attn.q_proj": 2}), 1),
        "regex": (dict(PLAIN, target_modules=r".*\.1\..*(k_proj|up_proj)"), 1),
        "scaled": (dict(PLAIN, target_modules=QV), -0.75),
        "embed": (dict(PLAIN, target_modules=["embed_tokens"]), 1),
        "embed-rslora": (dict(PLAIN, r=3, target_modules=["embed_tokens", "q_proj"], use_rslora=True), 1.5),
        "head": (dict(PLAIN, target_modules=["lm_head"]), 1),
        "save-head": (dict(PLAIN, target_modules=QV, modules_to_save=["lm_head"]), 1),
        "save-embed": (dict(PLAIN, target_modules=QV, modules_to_save=["embed_tokens"]), 1),
        "save-norm": (dict(PLAIN, target_modules=QV, modules_to_save=["norm", "post_attention_layernorm"]), 0.5),
    },
    "qwen2": {
        "embed": (dict(PLAIN, target_modules=["embed_tokens"]), 1),
        "head": (dict(PLAIN, target_modules=["lm_head"]), 1),
        "both": (dict(PLAIN, target_modules=["lm_head", "embed_tokens", "o_proj"]), 2),
        "save-both": (dict(PLAIN, target_modules=["q_proj"], modules_to_save=["lm_head", "embed_tokens"]), 1),
        "save-norm": (dict(PLAIN, target_modules=["q_proj"], modules_to_save=["norm", "input_layernorm"]), 1),
    },
    "gemma3-hub": {
        "embed": (dict(PLAIN, target_modules=["embed_tokens"]), 1),
        "save-norm": (dict(PLAIN, target_modules=QV, modules_to_save=["norm", "q_norm", "post_feedforward_layernorm"]), 1),
    },
    "phi3-window-hub": {"head": (dict(PLAIN, target_modules=["lm_head"]), 1)},
}
MODELS = ["llama3-hub", "qwen2", "phi3-window-hub", "gemma3-hub", "qwen35-hub", "lfm2-hub", "granitehybrid-hub", "deepseek2-hub", "qwen3next-hub", "qwen3moe", "mixtral"]
WRONG = {"granitehybrid-hub": ["q_proj", "k_proj"]}     # whose rows the converter permutes in models, but not in adapters
OLD = ["qwen3moe", "mixtral"]       # whose experts are modules of their own


def rng_of(*words):
    return np.random.default_rng([*"/".join(words).encode()])


def draw_model(name):
    """The model of golden-logits.py, its config as the hub has it, and ids."""
    import torch
    case = CASES[name]
    if "hub" in case:
        model, ids, _, _ = logits.make_hub(name, case, None, False)
        config = case["hub"]
    else:
        c, model, _, ids = logits.build(name, case)
        config = dict(c.to_dict(), architectures=[type(model).__name__])
    ids = ids[:N]
    want = np.fromfile(os.path.join(logits.OUT, name + ".f32"), "<f4").reshape(-1, config["vocab_size"])[:N]
    gap = np.abs(checkpoint.expect(model, ids) - want).max()
    if not gap < 1e-5:
        raise SystemExit(f"{name}: the model drawn is not that of golden-logits.py: {gap:.3g}")
    assert next(model.parameters()).dtype == torch.float64
    return model, config, ids


def state_of(model):
    trained = [(k, b) for k, b in model.named_buffers() if k.endswith("e_score_correction_bias")]
    return {k: p.detach().numpy() for k, p in [*model.named_parameters(), *trained]}


def load_model(name, path):
    """The same in the transformers of OLD_SITE, from a directory."""
    import torch
    import transformers
    from safetensors.numpy import load_file
    with open(os.path.join(path, "lora.json")) as f:
        config, ids, want = json.load(f)
    model = transformers.AutoModelForCausalLM.from_config(transformers.AutoConfig.from_pretrained(path), attn_implementation="eager").double().eval()
    state = {k: torch.from_numpy(a.astype(np.float64)) for k, a in load_file(os.path.join(path, "model.safetensors")).items()}
    missing, unknown = model.load_state_dict(state, strict=False)
    if unknown or set(missing) - {"lm_head.weight"}:
        raise SystemExit(f"{name}: parameters differ: {missing} {unknown}")
    model.tie_weights()
    gap = np.abs(checkpoint.expect(model, ids) - want).max()
    if not gap < 1e-5:
        raise SystemExit(f"{name}: transformers {transformers.__version__} comes to other logits: {gap:.3g}")
    return model, config, ids


def in_old_site(name, converter):
    """Run this script for one model with OLD_SITE; returns its lines of cases.txt."""
    model, config, ids = draw_model(name)
    with tempfile.TemporaryDirectory() as d:
        if "rope_parameters" in config:     # as it was
            config = {**config, **config["rope_parameters"], "num_experts": config.get("num_local_experts", config.get("num_experts")), "rope_scaling": None}
        checkpoint.save(d, config, state_of(model))
        with open(os.path.join(d, "lora.json"), "w") as f:
            json.dump([config, ids, checkpoint.expect(model, ids).tolist()], f)
        out = subprocess.run([sys.executable, os.path.abspath(__file__), "--loaded", d, converter, name], text=True, stdout=subprocess.PIPE, check=True,
                             env=dict(os.environ, PYTHONPATH=os.environ["OLD_SITE"])).stdout.splitlines()
    print("\n".join(x for x in out if x[0] == ">"))
    return [x for x in out if x[0] != ">"]


def fill(peft_model, words):
    """Draw A, B and whole tensors: values whose effect is seen."""
    import torch
    for k, p in peft_model.named_parameters():
        rng = rng_of(*words, k)
        if ".lora_" in k:
            is_b = "lora_B" in k or "lora_embedding_B" in k
            a = rng.standard_normal(tuple(p.shape)) * (0.6 if is_b else 1 / np.sqrt(p.shape[1 if "embedding" not in k else 0]))
        elif ".modules_to_save." in k:
            a = p.detach().numpy() * (1 + 0.5 * rng.standard_normal(tuple(p.shape)))
        else:
            continue
        with torch.no_grad():
            p.copy_(torch.from_numpy(a.astype(np.float16).astype(np.float64)))


def targets(model):
    """Each name of a linear module but the head; with the name before it where peft would take the short one for that of
    joined experts too."""
    import torch
    names = {k for k, m in model.named_modules() if isinstance(m, torch.nn.Linear) and "." in k}
    joined = any(k.endswith("experts.gate_up_proj") for k, _ in model.named_parameters())
    long = ("gate_proj", "up_proj", "down_proj") if joined else ()
    return sorted({".".join(k.split(".")[-2 if k.endswith(long) else -1:]) for k in names})


def narrow(path, dtype):
    """Write the tensors of a safetensors file again as float16 or float32, which lose nothing."""
    from safetensors.numpy import load_file, save_file
    old = load_file(path)
    save_file({k: a.astype(dtype) for k, a in old.items()}, path, metadata={"format": "pt"})
    for k, a in load_file(path).items():
        assert (a.astype(np.float64) == old[k]).all(), k
    os.chmod(path, 0o644)


def save(peft_model, path, name):
    """save_pretrained, without what differs from run to run."""
    peft_model.save_pretrained(path, save_embedding_layers=False)
    narrow(os.path.join(path, "adapter_model.safetensors"), np.float32 if os.path.basename(path) in ("all", "most", "patterns") else np.float16)
    os.unlink(os.path.join(path, "README.md"))
    with open(os.path.join(path, "adapter_config.json")) as f:
        c = json.load(f)
    c["target_modules"] = sorted(c["target_modules"]) if isinstance(c["target_modules"], list) else c["target_modules"]
    c["base_model_name_or_path"] = name
    with open(os.path.join(path, "adapter_config.json"), "w") as f:
        json.dump(c, f, sort_keys=True)
        f.write("\n")


def distances(peft_model, ids, want):
    """Least distance in bounds of the mutants."""
    import torch
    found = {}
    pairs = [(k, p) for k, p in peft_model.named_parameters() if ".lora_" in k]
    bound = logits.TOLERANCE * max(1.0, np.abs(want).max())

    def far(name):
        found[name] = np.abs(checkpoint.expect(peft_model, ids) - want).max() / bound

    kept = {k: p.detach().clone() for k, p in pairs}
    with torch.no_grad():
        for k, p in pairs:
            p.mul_(0.9 if "_B" in k else 1)
        far("scale")
        a = [k for k, _ in pairs if "_A" in k]
        of = dict(pairs)
        for i, k in enumerate(a):
            of[k].copy_(kept[next((j for j in a[i + 1:] + a[:i] if kept[j].shape == kept[k].shape), k)])
        for k, p in pairs:
            if "_B" in k:
                p.copy_(kept[k])
        if any(not torch.equal(kept[k], of[k]) for k in a):
            far("other-a")
        turned = 0
        for k, p in pairs:
            p.copy_(kept[k])
            rows = kept[k].shape[0]
            if "_B" in k and "embedding" not in k and rows % 2 == 0 and rows > 2:
                p.copy_(kept[k].reshape(2, rows // 2, -1).transpose(0, 1).reshape(kept[k].shape))
                turned = 1
        if turned:
            far("rows-of-b")
        for k, p in pairs:
            p.copy_(kept[k])
    with peft_model.disable_adapter():
        far("none")
    return found


def set_scale(peft_model, scale):
    """What a user's scale is: a factor of every pair."""
    for m in peft_model.modules():
        if hasattr(m, "lora_A"):        # whose scale_layer leaves embeddings out
            m.scaling.update({k: v * scale for k, v in m.scaling.items()})


MANY = """
import json, os, runpy, sys
program, jobs = sys.argv[1], json.load(sys.stdin)
sys.path.insert(0, os.path.dirname(program))
for base, path, to in jobs:
    sys.argv = [program, "--base", base, "--outfile", to, "--outtype", "f32", path]
    why = None
    try:
        runpy.run_path(program, run_name="__main__")
    except (Exception, SystemExit) as e:
        why = f"{type(e).__name__} {e}".replace("\\n", " ")[:90]
    print("answer", json.dumps([path, why]), flush=True)
"""


def convert(converter, config, paths):
    """path -> None, or why the public converter failed to write path + ".gguf"; all in one process, whose torch is as it was."""
    with tempfile.TemporaryDirectory() as d:
        with open(os.path.join(d, "config.json"), "w") as f:
            json.dump(config, f)
        env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        p = subprocess.run([sys.executable, "-c", MANY, os.path.join(converter, "convert_lora_to_gguf.py")], text=True, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, env=env, input=json.dumps([(d, path, path + ".gguf") for path in paths]))
    answers = dict(json.loads(line[7:]) for line in p.stdout.splitlines() if line.startswith("answer "))
    if set(answers) != set(paths):
        raise SystemExit(f"the converter ended: {p.stderr[-2000:]}")
    for path, why in answers.items():
        if why and os.path.exists(path + ".gguf"):
            os.unlink(path + ".gguf")
    return answers


def one(name, model, ids, case, args, scale):
    """Make an adapter.  Returns its logits."""
    m = peft.get_peft_model(copy.deepcopy(model), peft.LoraConfig(**args))
    fill(m, (name, case))
    m.eval()
    save(m, os.path.join(OUT, name, case), name)
    set_scale(m, scale)
    want = checkpoint.expect(m, ids)
    found = distances(m, ids, want)
    if not min(found.values()) >= FAR:
        raise SystemExit(f"{name} {case}: too near {found}")
    print(">", name, case, {k: round(v) for k, v in found.items()}, flush=True)
    return want


def in_gguf(args):
    """True if a GGUF file can say the factors of its pairs."""
    return not args.get("use_rslora") and not args.get("alpha_pattern")


def make_model(name, model, config, ids, converter):
    shutil.rmtree(os.path.join(OUT, name), ignore_errors=True)
    os.makedirs(os.path.join(OUT, name))
    linear = targets(model)
    todo = {n: (dict(PLAIN, target_modules=[n]), 1) for n in linear}
    todo["all"] = (dict(PLAIN, target_modules=linear), 1)
    todo.update(MORE.get(name, {}))
    wants = {case: one(name, model, ids, case, *how) for case, how in todo.items()}
    path = {case: os.path.join(OUT, name, case) for case in todo}
    why = convert(converter, config, [path[case] for case, (args, _) in todo.items() if in_gguf(args)])
    for n in WRONG.get(name, []):
        why[path[n]] = why[path["all"]] = "the converter does not permute its rows"
        for p in path[n], path["all"]:
            if os.path.exists(p + ".gguf"):
                os.unlink(p + ".gguf")
    good = [n for n in linear if not why[path[n]]]
    if good and good != linear:         # what the converter takes, in one file
        todo["most"] = (dict(PLAIN, target_modules=good), 1)
        path["most"] = os.path.join(OUT, name, "most")
        wants["most"] = one(name, model, ids, "most", *todo["most"])
        why.update(convert(converter, config, [path["most"]]))
    lines, values = [], []
    for case, (_, scale) in todo.items():
        lines.append(f"case {case} {name}/{case} {scale:g}")
        values.append(wants[case])
        if why.get(path[case]):
            lines.append(f"# {case}: no GGUF file: {why[path[case]]}")
        elif path[case] in why and case in linear:          # one file with all says the same
            os.unlink(path[case] + ".gguf")
        elif path[case] in why:
            lines.append(f"case {case}-gguf {name}/{case}.gguf {scale:g}")
            values.append(wants[case])
    np.concatenate([v[-LAST:] for v in values]).astype("<f4").tofile(os.path.join(OUT, name + ".f32"))
    return [" ".join(["model", name, name + ".gguf", str(config["vocab_size"]), str(LAST), str(N), *map(str, ids)])] + lines


def write_cases(name, lines):
    """Replace the lines of a model in cases.txt."""
    path, of, model = os.path.join(OUT, "cases.txt"), {}, None
    if os.path.exists(path):
        for line in open(path).read().splitlines()[1:]:
            model = line.split()[1] if line.startswith("model ") else model
            of.setdefault(model, []).append(line)
    of[name] = lines
    with open(path, "w") as f:
        f.write("# made by scripts/golden-lora.py, which says what the lines mean\n")
        for n in MODELS:
            f.write("".join(line + "\n" for line in of.get(n, [])))


def main():
    args = sys.argv[1:]
    loaded = args[1] if args[0] == "--loaded" else None
    args = args[2:] if loaded else args
    converter, *only = args
    checkpoint.use_float64()
    global peft
    import peft
    if loaded:
        print("\n".join(make_model(only[0], *load_model(only[0], loaded), converter)))
        return
    os.makedirs(OUT, exist_ok=True)
    # modules that only share a name with joined experts stay what they are
    importlib.import_module("peft.utils.transformers_weight_conversion")._convert_peft_config_moe = lambda *_: None
    for name in only or MODELS:
        lines = in_old_site(name, converter) if name in OLD else make_model(name, *draw_model(name), converter)
        write_cases(name, lines)


if __name__ == "__main__":
    main()
