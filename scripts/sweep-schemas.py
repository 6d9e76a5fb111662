#!/usr/bin/env python3
"""sweep-schemas.py INFER_INSPECT [SCHEMAS [INSTANCES [SEED]]] - random schemas, composed of allOf, anyOf, oneOf, not, if, $ref,
dependentSchemas and the keywords of objects and arrays, against Python's jsonschema.  For each schema, infer-inspect checks
INSTANCES random values (none that is invalid may be accepted, none that is valid refused) and prints 10 samples, each of which
must be valid.  A schema that a value satisfies must have samples; a refusal must name its reason, and at most 1 % of the schemas
may be refused.  Exit 1 if one of these fails."""
import decimal
import fractions
import json
import os
import random
import subprocess
import sys
import tempfile

import jsonschema

NAMES = 'a b c xa xb'.split()


def scalar(r):
    return r.choice([{'type': 'integer'}, {'type': 'string'}, {'type': 'boolean'}, {'enum': r.sample([0, 1, 'p', 'q', None], 2)},
                     {'type': ['null', 'integer']}, {'const': r.choice([0, 1, 'p'])}, {'minimum': 1}, {'maxLength': 2}, True, {},
                     {'minLength': 300}, {'minLength': 300, 'maxLength': 301, 'pattern': 'p$'}])


def properties(r, depth):
    return {n: schema(r, depth - 1) for n in r.sample(NAMES, r.randint(0, 3))}


def members(r, depth):
    """A schema of objects."""
    s = {}
    if r.random() < 0.5:
        s['type'] = 'object'
    if r.random() < 0.8:
        s['properties'] = properties(r, depth)
    if r.random() < 0.4:
        s['required'] = r.sample(NAMES, r.randint(0, 2))
    if r.random() < 0.15:
        s['patternProperties'] = {'^x': schema(r, depth - 1)}
    if r.random() < 0.2:
        s['additionalProperties'] = schema(r, depth - 1) if r.random() < 0.5 else r.random() < 0.3
    if r.random() < 0.1:
        s['unevaluatedProperties'] = r.choice([True, False, {'type': 'integer'}])
    if r.random() < 0.1:
        s['propertyNames'] = {'pattern': r.choice(['^x', '^[a-c]', 'b$'])}
    if r.random() < 0.15:
        s['minProperties'] = r.randint(0, 3)
    if r.random() < 0.1:
        s['maxProperties'] = r.randint(0, 3)
    if r.random() < 0.1:
        s['dependentRequired'] = {r.choice(NAMES): [r.choice(NAMES)]}
    if r.random() < 0.15:
        s['dependentSchemas'] = {r.choice(NAMES): members(r, depth - 1)}
    return s


def array(r, depth):
    s = {'type': 'array'}
    if r.random() < 0.6:
        s['items'] = schema(r, depth - 1)
    if r.random() < 0.2:
        s['prefixItems'] = [schema(r, depth - 1) for _ in range(r.randint(1, 2))]
    if r.random() < 0.2:
        s['contains'] = schema(r, depth - 1)
        if r.random() < 0.3:
            s['maxContains'] = 1
    if r.random() < 0.3:
        s['minItems'] = r.randint(0, 2)
    if r.random() < 0.3:
        s['maxItems'] = r.randint(0, 3)
    return s


def schema(r, depth):
    if depth <= 0:
        return scalar(r) if r.random() < 0.9 else {'$ref': '#/$defs/' + r.choice('mn')}
    k = r.random()
    if k < 0.15:
        return scalar(r)
    if k < 0.25:
        return array(r, depth)
    if k < 0.3:
        return {'$ref': '#/$defs/' + r.choice('mn')}
    s = members(r, depth)
    if r.random() < 0.25:
        s['allOf'] = [schema(r, depth - 1) for _ in range(r.randint(1, 2))]
    if r.random() < 0.25:
        s['anyOf'] = [schema(r, depth - 1) for _ in range(r.randint(1, 3))]
    if r.random() < 0.2:
        s['oneOf'] = [schema(r, depth - 1) for _ in range(r.randint(1, 3))]
    if r.random() < 0.12:
        s['not'] = schema(r, depth - 1)
    if r.random() < 0.2:
        s['if'] = members(r, depth - 1)
        for key in ('then', 'else'):
            if r.random() < 0.7:
                s[key] = schema(r, depth - 1)
    if r.random() < 0.1:
        s['$ref'] = '#/$defs/' + r.choice('mn')
    return s


def whole(seed):
    r = random.Random(seed)
    s = schema(r, 1 + seed % 3)
    while not isinstance(s, dict) or len(s) < 2:
        s = schema(r, 2)
    s['$schema'] = 'https://json-schema.org/draft/2020-12/schema'
    s['$defs'] = {'m': members(r, 1), 'n': r.choice([scalar(r), {'type': 'object', 'properties': {'b': {'$ref': '#/$defs/n'}}}])}
    s['$defs'] = {k: v if v is not True else {} for k, v in s['$defs'].items()}
    return s


def value(r, depth):
    k = r.random()
    if depth > 0 and k < 0.6:
        return {n: value(r, depth - 1) for n in r.sample(NAMES + ['z'], r.choice([0, 1, 1, 2, 2, 3, 4]))}
    if depth > 0 and k < 0.7:
        return [value(r, depth - 1) for _ in range(r.randint(0, 3))]
    return r.choice([0, 1, 2, -1, 'p', 'q', 'pqr', '', None, True, False, 'p' * r.randint(299, 302)])


def number(text):
    """A double, or a fraction that no double equals closely enough to tell whether it is an integer."""
    exact, near = decimal.Decimal(text), float(text)
    return fractions.Fraction(exact) if near.is_integer() and exact != exact.to_integral_value() else near


class Sweep:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        self.checked = self.sampled = self.refused = self.none = self.wrong = self.long = 0

    def fault(self, what, s, more=''):
        self.wrong += 1
        print(f'{what}: {json.dumps(s)} {more}')

    def one(self, seed, n):
        s, r = whole(seed), random.Random(seed)
        values = [value(r, 3) for _ in range(n)]
        valid = jsonschema.Draft202012Validator(s).is_valid
        args = [self.program, 'grammar', '-q', '--json', '--sample', '10', '--seed', str(seed)]
        for i, v in enumerate(values):
            path = os.path.join(self.folder, str(i))
            with open(path, 'w') as f:
                json.dump(v, f)
            args += ['--check', path]
        p = subprocess.run(args + [json.dumps(s)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if p.returncode not in (0, 8):
            self.refuse(s, values, valid, p)
            return
        got = json.loads(p.stdout)
        for v, c in zip(values, got['checks']):
            self.checked += 1
            if c['accepted'] != valid(v):
                self.fault('accepted, but invalid' if c['accepted'] else 'refused, but valid', s, json.dumps(v))
        for text in got['samples']:
            self.sampled += 1
            if not valid(json.loads(text, parse_float=number)):
                self.fault('sample is invalid', s, text)

    def refuse(self, s, values, valid, p):
        if 'no text satisfies' in p.stderr:
            self.none += 1
            if any(map(valid, values)):
                self.fault('satisfied, but there are no samples', s)
        elif p.returncode == 5:
            self.refused += 1
        else:
            self.fault(f'exit {p.returncode}', s, p.stderr)


def main():
    schemas, n, first = ([int(x) for x in sys.argv[2:]] + [2000, 50, 0][len(sys.argv) - 2:])[:3]
    with tempfile.TemporaryDirectory() as folder:
        sweep = Sweep(sys.argv[1], folder)
        for seed in range(first, first + schemas):
            sweep.one(seed, n)
    print(f'{schemas} schemas: {sweep.refused} refused, {sweep.none} without values; {sweep.checked} values checked, '
          f'{sweep.sampled} samples; {sweep.wrong} faults')
    sys.exit(sweep.wrong > 0 or sweep.refused > schemas / 100)


main()
