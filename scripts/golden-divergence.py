#!/usr/bin/env python3
"""Write tests/golden/quant/divergence.txt: how far the public quantiser's files of the built-in model diverge from it.

    scripts/golden-divergence.py LLAMA_BIN [BUILD] [FOLDER]

LLAMA_BIN has llama-quantize (github.com/ggml-org/llama.cpp, MIT), BUILD has infer-quant (build/release).  The texts, which are written
too, are those of scripts/demo_text.py: calibration.txt is of the kind that the model was trained on, held-out.txt has combinations that
it was not.  A line is MIX and the mean divergence in nats over held-out.txt, in windows of 256 tokens, of the file that is made with the
importance matrix of calibration.txt.  tests/e2e/divergence.bats compares infer-quant's files, which are made with the same matrix."""
import json, pathlib, random, subprocess, sys, tempfile
sys.path.insert(0, str(pathlib.Path(__file__).parent))
import demo_text

MIXES = ["IQ1_M", "IQ2_XXS", "IQ2_S", "IQ2_M", "IQ3_XXS", "Q2_K", "Q3_K_M", "Q4_K_M"]
BYTES = 16000


def write(path, held):
    rng, out = random.Random(path.name), ""
    while len(out) < BYTES:
        out += "".join(text for text, _ in demo_text.document(rng, held)) + "\n"
    path.write_text(out)


def run(*command):
    return subprocess.run([str(c) for c in command], check=True, capture_output=True, text=True).stdout


def main():
    llama, top = pathlib.Path(sys.argv[1]), pathlib.Path(__file__).parent.parent
    quant = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else top / "build/release") / "infer-quant"
    out = pathlib.Path(sys.argv[3] if len(sys.argv) > 3 else top / "tests/golden/quant")
    write(out / "calibration.txt", False)
    write(out / "held-out.txt", True)
    lines = ["# scripts/golden-divergence.py: MIX, mean divergence of llama-quantize's file"]
    with tempfile.TemporaryDirectory() as tmp:
        tmp = pathlib.Path(tmp)
        run(quant, "-q", "--type", "F32", "demo", tmp / "f32.gguf")
        run(quant, "imatrix", "-q", "-c", 256, "-m", tmp / "f32.gguf", "-f", out / "calibration.txt", "--out", tmp / "matrix")
        for mix in MIXES:
            run(llama / "llama-quantize", "--imatrix", tmp / "matrix", tmp / "f32.gguf", tmp / "q.gguf", mix)
            table = run(quant, "eval", "-q", "--json", "-c", 256, "-m", tmp / "q.gguf", "--ref", tmp / "f32.gguf", "-f", out / "held-out.txt")
            lines.append("%s %.6g" % (mix, json.loads(table)["kl"]["mean"]["value"]))
    (out / "divergence.txt").write_text("\n".join(lines) + "\n")


main()
