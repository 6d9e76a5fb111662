#!/usr/bin/env python3
"""sweep-constrain.py INFER_RUN MODEL [GENERATIONS [SCHEMAS [OPTION...]]] - answers of a model under many schemas, at
temperature 1, through infer-run --batch.  Each finished answer must parse and satisfy its schema (Python's jsonschema); at
most 5 % may end by the limit of 1,000 tokens, and of the schemas at least 90 % must have 95 % of their answers finished.
Exit 1 where one of these fails."""
import json
import random
import subprocess
import sys

import jsonschema

WORDS = "name age size kind colour height note tags items first last city street count price date open x y".split()


def string(r):
    s = {"type": "string", "maxLength": r.randint(1, 24)}
    if r.random() < 0.3:
        s["minLength"] = r.randint(0, s["maxLength"])
    return r.choice([s, s, {"enum": r.sample(WORDS, 3)}, {"type": "string", "pattern": "^[a-z]{1,8}$"},
                     {"type": "string", "format": r.choice(["date", "time", "ipv4", "uuid", "date-time"])},
                     {"type": "string", "pattern": "^[A-Z]{2}-[0-9]{1,4}$"}])


def number(r):
    lo = r.randint(-1000, 1000)
    return r.choice([{"type": "integer", "minimum": lo, "maximum": lo + r.randint(0, 5000)},
                     {"type": "integer", "minimum": 0, "maximum": 255},
                     {"type": "integer", "minimum": 0, "maximum": 1000, "multipleOf": 5},
                     {"type": "number", "minimum": 0, "exclusiveMaximum": 1}, {"enum": [1, 2.5, -3]}])


def array(r, depth):
    a = {"type": "array", "items": schema(r, depth - 1), "maxItems": r.randint(1, 4)}
    if r.random() < 0.3:
        a["minItems"] = r.randint(0, a["maxItems"])
    if r.random() < 0.2:
        a["prefixItems"] = [schema(r, 0), schema(r, 0)]
    return a


def obj(r, depth):
    names = r.sample(WORDS, r.randint(1, 4))
    o = {"type": "object", "properties": {n: schema(r, depth - 1) for n in names}, "additionalProperties": False}
    if r.random() < 0.8:
        o["required"] = [n for n in names if r.random() < 0.7]
    return o


def schema(r, depth):
    if depth <= 0:
        return r.choice([string, number, lambda r: {"type": "boolean"}, lambda r: {"type": ["null", "boolean"]}])(r)
    k = r.random()
    if k < 0.45:
        return obj(r, depth)
    if k < 0.65:
        return array(r, depth)
    if k < 0.75:
        return {"anyOf": [schema(r, depth - 1), schema(r, depth - 1)]}
    if k < 0.8:
        return {"allOf": [obj(r, depth - 1)]}
    return schema(r, 0)


def main():
    run, model = sys.argv[1:3]
    n = int(sys.argv[3]) if len(sys.argv) > 3 else 10000
    kinds = int(sys.argv[4]) if len(sys.argv) > 4 else 100
    schemas = [obj(random.Random(i), 1 + i % 3) for i in range(kinds)]
    prompts = ["What is a token?", "Tell me of a lighthouse.", "Who are you?", "Write JSON."]
    lines = "".join(json.dumps({"id": str(i), "prompt": prompts[i // kinds % 4], "raw": True, "seed": i, "temperature": 1,
                                "top_k": 0, "top_p": 1, "min_p": 0, "max_tokens": 1000,
                                "json_schema": schemas[i % kinds]}) + "\n" for i in range(n))
    p = subprocess.run([run, "-q", "-m", model, "-c", "1200", "--batch", "-", *sys.argv[5:]], input=lines.encode(), stdout=subprocess.PIPE)
    kind = jsonschema.Draft202012Validator
    validators = [kind(s, format_checker=kind.FORMAT_CHECKER) for s in schemas]
    finished, cut, bad, wrong, tokens = [0] * kinds, [0] * kinds, 0, 0, 0
    for line in p.stdout.decode().splitlines():
        a = json.loads(line)
        k = int(a["id"]) % kinds
        if a["kind"] != "completion" or a["finish_reason"] not in ("stop", "length"):
            bad += 1
            print("failed:", line[:400])
            continue
        tokens += a["usage"]["completion_tokens"]
        if a["finish_reason"] == "length":
            cut[k] += 1
            continue
        finished[k] += 1
        try:
            validators[k].validate(json.loads(a["text"]))
        except (ValueError, jsonschema.ValidationError) as e:
            wrong += 1
            print("wrong:", json.dumps(schemas[k]), a["text"], str(e).splitlines()[0])
    good = sum(f >= 0.95 * (f + c) and f > 0 for f, c in zip(finished, cut))
    print(f"{sum(finished) + sum(cut) + bad} answers, {tokens} tokens: {sum(finished)} finished, {wrong} of these wrong, {sum(cut)} cut, {bad} failed; "
          f"{good} of {kinds} schemas with 95 % finished")
    sys.exit(not (sum(finished) + sum(cut) == n and not bad and not wrong and sum(cut) <= 0.05 * n and good >= 0.9 * kinds))


main()
