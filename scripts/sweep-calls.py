#!/usr/bin/env python3
"""Conversations whose calls are required or named, over many chat templates: what comes is read back and satisfies its schema.

  sweep-calls.py --templates DIR [-m MODEL] [-n 50] [--threads 2] [PATTERN]...

For each *.jinja in DIR whose name contains a PATTERN (all of them without one) a batch of -n conversations, half with tool_choice
"required", half with the name of a tool, without thinking where that can be switched off, drawn from schemas such as tools have;
sampled at temperature 1 by a model that knows nothing of calls: it goes on with further calls as often as not, and does not find the end of
its thinking, which the engine ends at half of the tokens; templates that always think get twice as many, so that the most calls have room behind it.
Every call must be whole, of the tool that was asked for, with arguments that jsonschema accepts.  A table is printed, by template: its
format, conversations, those that ended with calls, calls, those that are valid, cut off by the limit, refused, wrong.
Needs jsonschema (PyPI); fails where a call is not valid, content is left beside calls, or more than 2 % are cut off."""
import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile

import jsonschema

ROOT = pathlib.Path(__file__).parent.parent
TEXT = {"type": "string", "maxLength": 24}
PARAMETERS = [
    {"city": TEXT, "unit": {"enum": ["celsius", "fahrenheit"]}, "days": {"type": "integer", "minimum": 1, "maximum": 14}},
    {"query": {"type": "string", "minLength": 1, "maxLength": 40}, "limit": {"type": "integer"}, "strict": {"type": "boolean"}},
    {"path": {"type": "string", "pattern": "^/[a-z/]{1,20}$"}, "mode": {"enum": ["r", "w"]}, "note": {"type": ["string", "null"], "maxLength": 9}},
    {"at": {"type": "array", "items": {"type": "number"}, "minItems": 1, "maxItems": 3}, "scale": {"type": "number", "minimum": 0}},
    {"who": {"type": "object", "properties": {"name": TEXT, "age": {"type": "integer", "minimum": 0}}, "required": ["name"],
             "additionalProperties": False}, "tags": {"type": "array", "items": {"type": "string", "maxLength": 8}, "maxItems": 3}},
    {"value": {"anyOf": [{"type": "integer"}, {"type": "null"}]}, "flag": {"const": True}, "date": {"type": "string", "maxLength": 12}},
    {},
]


def tools(rng):
    out = []
    for i in rng.sample(range(len(PARAMETERS)), rng.randint(1, 3)):
        p = {k: v | {"description": "d"} for k, v in PARAMETERS[i].items()}
        required = [k for k in p if rng.random() < 0.6]
        out.append({"type": "function", "function": {"name": f"{rng.choice(['get', 'find', 'do'])}_{i}", "description": "d",
                                                     "parameters": {"type": "object", "properties": p, "required": required}}})
    return out


def requests(n, seed, thinks):
    rng = random.Random(seed)
    for i in range(n):
        t = tools(rng)
        named = rng.choice(t)["function"]["name"] if i % 2 else None
        yield {"id": str(i), "messages": [{"role": "user", "content": rng.choice(["Hello", "What now?", "Go on."])}], "tools": t,
               "tool_choice": {"type": "function", "function": {"name": named}} if named else "required", "seed": i} | ({"think": False} if thinks else {})


def check(request, record, row):
    """What is wrong, or None."""
    calls = record.get("tool_calls") or []
    cut = record["finish_reason"] == "length"
    row["cut"] += cut
    row["ended"] += bool(calls) and not cut
    schemas = {t["function"]["name"]: t["function"]["parameters"] for t in request["tools"]}
    choice = request["tool_choice"]
    for c in calls[:-1] if cut else calls:
        row["calls"] += 1
        f = c["function"]
        if choice != "required" and f["name"] != choice["function"]["name"]:
            return "another tool: " + f["name"]
        try:
            jsonschema.validate(json.loads(f["arguments"]), schemas[f["name"]])
        except (ValueError, jsonschema.ValidationError) as e:
            return f"{f['name']}({f['arguments']}): {str(e).splitlines()[0]}"
        row["valid"] += 1
    if not cut and (not calls or record["text"]):
        return f"{len(calls)} calls and the text {record['text']!r}"
    return None


def sweep(args, template, folder, thinks):
    row = dict.fromkeys(("n", "ended", "calls", "valid", "cut", "refused", "wrong"), 0)
    asked = {r["id"]: r for r in requests(args.n, 1, thinks)}
    batch = folder / "batch.jsonl"
    batch.write_text("".join(json.dumps(r) + "\n" for r in asked.values()))
    done = subprocess.run([args.program, "-q", "-m", args.model, "-c", "8192", "--threads", str(args.threads), "--template", template,
                           "--batch", batch, "-n", "1500" if thinks else "3000", "--temp", "1"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    why = done.stderr.strip().splitlines()[-1:] if not done.stdout else []
    for line in done.stdout.splitlines():
        record = json.loads(line)
        if record.get("id") not in asked:
            continue
        row["n"] += 1
        if record["kind"] == "error":
            row["refused"] += 1
            why.append(record["message"])
            continue
        wrong = check(asked[record["id"]], record, row)
        if wrong:
            row["wrong"] += 1
            why.append(f"id {record['id']}: {wrong}")
    return row, why


def about(args, template):
    """The format of calls, and whether thinking can be switched off."""
    out = subprocess.run([args.inspector, "template", "-m", args.model, "--template", template, "--json", "x"], capture_output=True, text=True,
                         check=False).stdout
    if not out:
        return "", False
    record = json.loads(out)
    return record["answers"]["calls"], record["can"].get("thinking", False)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--templates", required=True)
    p.add_argument("-m", "--model", default="demo")
    p.add_argument("-n", type=int, default=50)
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--program", default=ROOT / "build/release/infer-run")
    p.add_argument("--inspector", default=ROOT / "build/release/infer-inspect")
    p.add_argument("pattern", nargs="*")
    args = p.parse_args()
    total = {}
    keys = ("n", "ended", "calls", "valid", "cut", "refused", "wrong")
    print(f"{'template':50} {'format':16}" + "".join(f"{k:>8}" for k in keys), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for t in sorted(pathlib.Path(args.templates).glob("*.jinja")):
            if args.pattern and not any(x in t.name for x in args.pattern):
                continue
            calls, thinks = about(args, t)
            row, why = sweep(args, t, pathlib.Path(folder), thinks)
            print(f"{t.stem[:50]:50} {calls:16}" + "".join(f"{row[k]:8}" for k in keys), flush=True)
            for w in why[:3]:
                print("   ", w[:300], flush=True)
            for k in keys:
                total[k] = total.get(k, 0) + row[k]
    print(f"{'':67}" + "".join(f"{total.get(k, 0):8}" for k in keys))
    sys.exit(bool(total["wrong"] or total["cut"] > 0.02 * total["n"]))


if __name__ == "__main__":
    main()
