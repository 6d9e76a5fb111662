#!/usr/bin/env python3
"""check-masks.py [-w WALKS] [-t TOKENS] [--check] TOOL VOCABULARY.gguf SCHEMAS.jsonl: random members of JSON schemas, written
token by token under masks, satisfy their schemas, says Python's jsonschema (which must be installed, with gguf).  TOOL is
build/release/tests/tools/masks; a line of SCHEMAS is a schema, or an object with one as `schema`.  With --check each mask is
compared with following every token alone: that takes 1000 times as long.  Prints how many texts there were, and the times of the
masks.

check-masks.py --texts FILE: the same of the texts that tests/unit/mask/test_masks has written, with LONG=1 MASK_TEXTS=FILE."""
import argparse
import json
import os
import struct
import subprocess
import sys
import tempfile


def tokens(path):
    """The bytes of each token of a byte-level vocabulary; 0xFF is before the text of a control token."""
    from gguf import GGUFReader
    fields = GGUFReader(path).fields
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    byte = {chr(b): b for b in plain}
    byte.update({chr(256 + i): b for i, b in enumerate(b for b in range(256) if b not in plain)})
    text, kind = fields['tokenizer.ggml.tokens'], fields['tokenizer.ggml.token_type']
    for i, k in zip(text.data, kind.data):
        s, kind_of = bytes(text.parts[i]).decode(), int(kind.parts[k][0])
        if kind_of == 3:
            yield b'\xff' + s.encode()
        elif kind_of in (1, 4):
            yield bytes(byte[c] for c in s) if all(c in byte for c in s) else s.encode()
        else:
            yield b''


def number(text):
    """What is an integer stays one, however it is written; exponents beyond 400 count as 400."""
    mantissa, _, exponent = text.lower().partition('e')
    digits = int(mantissa.replace('.', ''))
    shift = int(exponent or 0) - len(mantissa.partition('.')[2])
    if shift >= 0:
        return digits * 10 ** min(shift, 400)
    return digits // 10 ** min(-shift, 400) if digits % 10 ** min(-shift, 400) == 0 else float(text)


def satisfies(text, schema, kinds={}):
    from jsonschema import validators, Draft202012Validator
    key = json.dumps(schema)
    if key not in kinds:
        kind = validators.validator_for(schema, default=Draft202012Validator)
        kinds[key] = kind(schema, format_checker=kind.FORMAT_CHECKER)
    if kinds[key].is_valid(json.loads(text, parse_float=number)):
        return True
    print(f'not valid: {text}\n  under {key[:300]}')
    return False


def check_texts(path):
    good, all_of, schemas = 0, 0, set()
    for line in open(path, encoding='utf-8'):
        row = json.loads(line)
        schemas.add(row['case'])
        good += satisfies(row['text'], json.loads(row['case'].replace("'", '"')))
        all_of += 1
    print(f'{len(schemas)} schemas; {good} texts valid, {all_of - good} not')
    sys.exit(good < all_of or not all_of)


def main():
    if sys.argv[1:2] == ['--texts']:
        check_texts(sys.argv[2])
    p = argparse.ArgumentParser()
    p.add_argument('-w', type=int, default=5)
    p.add_argument('-t', type=int, default=30)
    p.add_argument('--check', action='store_true')
    p.add_argument('tool')
    p.add_argument('vocabulary')
    p.add_argument('schemas')
    o = p.parse_args()
    schemas = [json.loads(line) for line in open(o.schemas)]
    schemas = [s['schema'] if isinstance(s, dict) and 'schema' in s else s for s in schemas]
    with tempfile.TemporaryDirectory() as there:
        words, cases = os.path.join(there, 'vocabulary'), os.path.join(there, 'cases')
        all_of = list(tokens(o.vocabulary))
        with open(words, 'wb') as f:
            f.write(struct.pack('=I', len(all_of)) + b''.join(struct.pack('=I', len(t)) + t for t in all_of))
        with open(cases, 'w') as f:
            f.writelines(json.dumps({'schema': s}) + '\n' for s in schemas)
        run = subprocess.run([o.tool, words, cases, str(o.w), str(o.t)] + ['check'] * o.check, stdout=subprocess.PIPE)
    if run.returncode:
        sys.exit(f'check-masks: {o.tool} ends with {run.returncode}')
    good, bad, refused, times = 0, 0, 0, []
    for schema, line in zip(schemas, run.stdout.decode().splitlines()):
        got = json.loads(line)
        refused += got['rc'] != 0
        times += got.get('masks', [])
        for text in got.get('texts', []):
            if satisfies(text, schema):
                good += 1
            else:
                bad += 1
    times.sort()
    at = [times[min(len(times) - 1, int(len(times) * q))] / 1000 for q in (.5, .99)] if times else [0, 0]
    print(f'{len(schemas)} schemas, {refused} refused; {good} texts valid, {bad} not; '
          f'{len(times)} masks: p50 {at[0]:.1f} us, p99 {at[1]:.1f} us')
    sys.exit(bad > 0)


if __name__ == '__main__':
    main()
