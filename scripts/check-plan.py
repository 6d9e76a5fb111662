#!/usr/bin/env python3
"""Compare what infer-inspect plan predicts for this machine with what is measured here: decode rate and peak memory of models.

  check-plan.py [--turns N] [--bin DIR] [--fast] MODEL...      MODEL: a GGUF file or demo

In each turn, the rates of the machine are measured again, then a plan is made, the model is run, and another plan is made, because the
speed of memory changes from minute to minute; medians of the turns are compared.  Peaks of small models are medians of 9 runs, because the
addresses of a run change what it maps.
A row is: model, predicted and measured tokens per second, their difference, predicted and measured peak memory, their difference.  Exit
status 1 if less than 4 of 5 models have a decode rate within 10 %, or a peak within 2 %.  --fast measures the rates once per
turn, not once per model.  Let nothing else run meanwhile.  Packages: none.
"""
import argparse, json, os, signal, statistics, subprocess, sys, tempfile, time

OUTPUT = 64


def records(args, env):
    done = subprocess.run(args, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(args)}: {done.stderr.strip()}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def peak_bytes(args, env):
    """Run a program and return the most memory that it had: the kernel's high-water mark, read until the program ends."""
    child = subprocess.Popen(args, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    most = 0
    while child.poll() is None:
        try:
            with open(f"/proc/{child.pid}/status") as f:
                most = max([most] + [int(line.split()[1]) for line in f if line.startswith("VmHWM")])
        except OSError:
            pass
        time.sleep(0.001)
    if child.returncode:
        sys.exit(f"{' '.join(args)}: exit status {child.returncode}")
    return most * 1024


def main():
    opt = argparse.ArgumentParser()
    opt.add_argument("--turns", type=int, default=3)
    opt.add_argument("--bin", default="build/release")
    opt.add_argument("--fast", action="store_true")
    opt.add_argument("models", nargs="+")
    o = opt.parse_args()
    env = dict(os.environ, XDG_CACHE_HOME=tempfile.mkdtemp())
    inspect, bench, run = (f"{o.bin}/infer-{x}" for x in ("inspect", "bench", "run"))
    text = "once upon a time there was a fox who lived in a wood and had a friend "
    rows = {m: {"said": [], "ran": []} for m in o.models}
    signal.signal(signal.SIGTERM, signal.getsignal(signal.SIGINT))
    try:
        for turn in range(o.turns):
            for i, model in enumerate(o.models):
                again = [] if o.fast and i else ["--again"]
                ask = [inspect, "plan", "-m", model, "--prompt", "1", "--output", str(OUTPUT), "--json"]
                plans = [records(ask + again, env)[0]]
                got = records([bench, "run", "-m", model, "-p", "0", "-n", str(OUTPUT), "--repeat", "3", "--json"], env)
                plans += records(ask, env)
                rows[model]["said"].append(statistics.mean(p["asked"]["decode_tok_s"] for p in plans))
                rows[model]["rehearsed"] = rows[model].get("rehearsed", 0) + sum("decode_times" in p for p in plans)
                rows[model]["ran"].append(next(r for r in got if r["bench"] == "decode")["tok_s"]["median"])
                if turn:
                    continue
                prompt = subprocess.run([run, "-m", model, "--no-stdin", "--tokenize", "--bos", text], env=env, stdout=subprocess.PIPE, text=True)
                tokens = len(prompt.stdout.split())
                plan = records([inspect, "plan", "-m", model, "--prompt", str(tokens), "--output", str(OUTPUT), "--json", "-q"], env)[0]
                rows[model]["memory"] = plan["asked"]["memory"]["peak_bytes"]
                small = model == "demo" or os.path.getsize(model) < 20 << 20  # over too soon to be looked at
                once = [run, "-m", model, "--no-stdin", "--raw", "--ignore-eos", "-n", str(OUTPUT), "-c", str(tokens + OUTPUT), "--repeat"]
                rows[model]["peak"] = statistics.median(peak_bytes(once + ["50" if small else "1", text], env) for _ in range(9 if small else 1))
    except KeyboardInterrupt:  # also SIGTERM: what was measured is compared
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a second one may follow, of a program around this one
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    rows = {m: r for m, r in rows.items() if r["ran"] and "peak" in r}
    near = light = 0
    for model, r in rows.items():
        said, ran = statistics.median(r["said"]), statistics.median(r["ran"])
        speed, memory = 100 * said / ran - 100, 100 * r["memory"] / r["peak"] - 100
        near += abs(speed) <= 10
        light += abs(memory) <= 2
        print(f"{os.path.basename(model):28} {said:9.1f} predicted {ran:9.1f} measured {speed:+6.1f} %   "
              f"{r['memory'] / 2**20:8.1f} MiB {r['peak'] / 2**20:8.1f} {memory:+5.1f} %"
              + (f"   {r['rehearsed']} of {2 * len(r['said'])} plans rehearsed" if r["rehearsed"] < 2 * len(r["said"]) else ""), flush=True)
    print(f"{near} of {len(rows)} within 10 %, {light} of {len(rows)} peaks within 2 %")
    sys.exit(near < 0.8 * len(rows) or light < 0.8 * len(rows))


main()
