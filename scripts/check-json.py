#!/usr/bin/env python3
"""check-json.py [-n TEXTS] [-s SEED] TOOL: random JSON texts, good and broken, to Python's json and to TOOL
(build/release/tests/tools/json): the same verdict, and the same values of what is good.  Python is held to what we promise: no NaN
or Infinity, no key twice, no half of a surrogate pair, no number beyond double, no more than 1000 levels; integers beyond 64 bits
are the nearest double.

check-json.py --golden: write tests/golden/json/cases.jsonl.
check-json.py --tens: the table of base/jread_num.c."""
import argparse
import json
import math
import os
import random
import subprocess
import sys

sys.setrecursionlimit(1 << 20)
DEPTH = 1000


def refuse(why):
    raise ValueError(why)


def real(text):
    x = float(text)
    return refuse('beyond double') if math.isinf(x) else x


def whole(text):
    if len(text) < 30 and -2**63 <= int(text) < 2**64:
        return int(text)
    return real(text)


def string(s):
    s.encode()          # ValueError for half of a pair
    return s


def pairs(items):
    o = dict(items)
    return o if len(o) == len(items) else refuse('a key twice')


def children(v):
    return v.values() if isinstance(v, dict) else v if isinstance(v, list) else ()


def depth_and_strings(v):
    """Levels of v; ValueError for a string that is no text."""
    levels, row = 0, [v]
    while row:
        for x in row:
            if isinstance(x, str):
                string(x)
            elif isinstance(x, dict):
                for k in x:
                    string(k)
        row = [x for x in row if isinstance(x, (dict, list))]
        levels += bool(row)
        row = [c for x in row for c in children(x)]
    return levels


DECODER = json.JSONDecoder(object_pairs_hook=pairs, parse_int=whole, parse_float=real, parse_constant=refuse)


def value(text):
    """What Python makes of bytes, under our rules; ValueError where nothing."""
    text = text.decode()
    if any(text.count(a) > DEPTH for a in '[{') and depth_of_brackets(text) > 100 * DEPTH:
        refuse('deep')      # Python's stack would not bear it
    v = DECODER.decode(text)
    return refuse('deep') if depth_and_strings(v) > DEPTH else v


def depth_of_brackets(text):
    now = most = 0
    for c in text:
        now += (c in '[{') - (c in ']}')
        most = max(most, now)
    return most


def number(x):
    """As jw_value writes it."""
    if isinstance(x, int):
        return str(x)
    for digits in 9, 15, 16, 17:
        s = '%.*g' % (digits, x)
        s += '' if '.' in s or 'e' in s else '.0'
        if float(s) == x:
            return s


def written(v):
    """As jw_value writes it."""
    if isinstance(v, dict):
        return '{' + ','.join(written(k) + ':' + written(x) for k, x in v.items()) + '}'
    if isinstance(v, list):
        return '[' + ','.join(map(written, v)) + ']'
    if isinstance(v, (int, float)) and not isinstance(v, bool):
        return number(v)
    return json.dumps(v, ensure_ascii=False)


# ---- texts

def space(r):
    return r.choice(('', '', '', ' ', '\n', '\t', '\r\n  '))


def random_string(r):
    out = []
    for _ in range(r.choice((0, 1, 3, 9, 20, 60)) if r.random() < .9 else r.randrange(300)):
        k = r.random()
        if k < .7:
            out.append(chr(r.randrange(32, 127)))
        elif k < .8:
            out.append(chr(r.choice((0xe9, 0x7ff, 0x800, 0x20ac, 0xffff, 0xd7ff, 0xe000, 0x10000, 0x1f600, 0x10ffff))))
        elif k < .9:
            out.append('\\' + r.choice('"\\/bfnrt'))
        elif k < .96:
            out.append('\\u%04x' % r.randrange(0xd800) if r.random() < .8 else '\\uD83D\\uDE%02X' % r.randrange(256))
        else:
            out.append(r.choice(('\\ud800', '\\udc00', '\x1f', '\x7f', '\\x', '\\u12', '\\U0041')) if r.random() < .1 else '\\n')
        if out[-1] in ('"', '\\'):
            out[-1] = '\\' + out[-1]
    return '"' + ''.join(out) + '"'


def digits(r, most):
    return ''.join(r.choice('0123456789') for _ in range(r.randrange(1, most)))


def random_number(r):
    k = r.random()
    if k < .3:
        return str(r.randrange(-1000, 100000))
    if k < .45:
        return str(r.choice((2**63, -2**63, 2**64, 2**53, 10**19, 10**22)) + r.randrange(-3, 4))
    if k < .6:
        x = r.uniform(-1, 1) * 10.0**r.randrange(-320, 309)
        return repr(x) if r.random() < .7 else '%.*e' % (r.randrange(30), x)
    if k < .7:     # near the middle of two doubles
        a = math.ldexp(r.randrange(2**52, 2**53), r.randrange(-1074, 900))
        n, e = math.frexp(a)
        from fractions import Fraction
        mid = Fraction(a) + Fraction(2)**(max(e - 53, -1074) - 1)
        places = r.randrange(15, 40)
        exp = math.floor(math.log10(a))
        d = mid * Fraction(10)**(places - exp)
        return '%de%d' % (int(d) + r.randrange(-1, 2), exp - places)
    s = r.choice(('', '-')) + (digits(r, 25).lstrip('0') or '0')
    if r.random() < .6:
        s += '.' + digits(r, 40)
    if r.random() < .5:
        s += r.choice('eE') + r.choice(('', '+', '-')) + str(r.randrange(r.choice((5, 40, 400, 10**6))))
    return s


def random_value(r, depth):
    k = r.random()
    if depth and k < .35:
        n = r.choice((0, 1, 2, 3, 5, 8)) if r.random() < .97 else r.randrange(90)
        if r.random() < .5:
            return '[' + (space(r) + ',').join(space(r) + random_value(r, depth - 1) for _ in range(n)) + space(r) + ']'
        keys = ['"k%d"' % i if r.random() < .5 else random_string(r) for i in range(n)]
        if n and r.random() < .02:
            keys[-1] = r.choice(keys)
        return '{' + (space(r) + ',').join(space(r) + k + space(r) + ':' + space(r) + random_value(r, depth - 1) for k in keys) + space(r) + '}'
    if k < .6:
        return random_string(r)
    if k < .9:
        return random_number(r)
    return r.choice(('true', 'false', 'null'))


def mutated(r, text):
    b = bytearray(text)
    for _ in range(r.choice((1, 1, 1, 2, 4))):
        at = r.randrange(len(b) + 1)
        k = r.randrange(6)
        if k == 0:
            b[at:at + r.choice((1, 1, 2, 9))] = b''
        elif k == 1:
            b[at:at] = bytes([r.choice(b'"\\[]{},:0123456789.eE+-tfnu \n\x00\x1f\x7f\x80\xbf\xc0\xc3\xe0\xed\xef\xf0\xf4\xf5\xff')])
        elif k == 2 and b:
            b[at % len(b)] = r.randrange(256)
        elif k == 3:
            b[at:at] = r.choice((b'NaN', b'-Infinity', b'1e999', b'\\ud800', b'\xed\xa0\x80', b'\xf4\x90\x80\x80', b'\xc0\x80', b'\xef\xbb\xbf', b'//', b'nul'))
        elif k == 4:
            del b[at:]
        elif b:
            i, j = sorted((r.randrange(len(b)), r.randrange(len(b))))
            b[at:at] = b[i:j]
    return bytes(b)


def texts(seed, n):
    """Of each that is made up, four that are changed as well."""
    r = random.Random(seed)
    for i in range(n):
        if i % 5000 == 7:
            d = r.choice((998, 999, 1000, 1001, 1002, 5000))
            yield (b'[' * d + b']' * d) if r.random() < .5 else b'{"a":' * d + b'1' + b'}' * d
            continue
        if i % 5 == 0:
            t = (space(r) + random_value(r, r.choice((0, 1, 2, 4, 6))) + space(r)).encode(errors='surrogatepass')
        yield mutated(r, t) if i % 5 else t


def same(a, b):
    """Without recursion; 1 is not 1.0, -0.0 is not 0.0, and objects have an order."""
    todo = [(a, b)]
    while todo:
        a, b = todo.pop()
        if type(a) is not type(b):
            return False
        if isinstance(a, dict):
            if list(a) != list(b):
                return False
            todo += zip(a.values(), b.values())
        elif isinstance(a, list):
            if len(a) != len(b):
                return False
            todo += zip(a, b)
        elif a != b or (isinstance(a, float) and math.copysign(1, a) != math.copysign(1, b)):
            return False
    return True


def compare(tool, seed, n):
    good = bad = 0
    for base in range(0, n, 20000):
        some = list(texts('%s/%d' % (seed, base), min(20000, n - base)))
        lines = subprocess.run([tool], input=b''.join(len(t).to_bytes(4, 'little') + t for t in some), stdout=subprocess.PIPE, check=True).stdout.split(b'\n')
        if len(lines) != len(some) + 1:
            sys.exit('%d lines for %d texts' % (len(lines) - 1, len(some)))
        for t, line in zip(some, lines):
            try:
                want = value(t)
            except ValueError as e:
                if not line.startswith(b'! '):
                    sys.exit('taken, though %s: %r' % (e, t))
                bad += 1
                continue
            if line.startswith(b'! '):
                sys.exit('%s: %r' % (line.decode(), t))
            if not same(value(line), want):
                sys.exit('%r is %r' % (t, line))
            good += 1
        if sys.stderr.isatty():
            print('\r%d' % (good + bad), end='', file=sys.stderr)
    print('%d texts: %d values, %d refused, all as Python says' % (n, good, bad))


def golden():
    out = []
    for t in texts('golden', 1500):
        try:
            t.decode()
            if len(t) > 120:
                continue
            row = {'text': t.decode()}
            row['again'] = written(value(t))
        except UnicodeDecodeError:
            continue
        except ValueError:
            pass
        if len(out) < 300 and '\0' not in row['text']:
            out.append(json.dumps(row) + '\n')
    os.makedirs('tests/golden/json', exist_ok=True)
    with open('tests/golden/json/cases.jsonl', 'w') as f:
        f.writelines(out)


def tens():
    for k in range(-13, 12):
        q = 28 * k
        if q >= 0:
            v, bits = 10**q, (10**q).bit_length()
        else:
            v = (1 << 1300) // 10**-q
            bits = v.bit_length()
        v = v << 128 - bits if bits < 128 else v >> bits - 128
        print('{ 0x%016x, 0x%016x },' % (v >> 64, v % 2**64))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('-n', type=int, default=1000000)
    p.add_argument('-s', default='1')
    p.add_argument('--golden', action='store_true')
    p.add_argument('--tens', action='store_true')
    p.add_argument('tool', nargs='?')
    a = p.parse_args()
    if a.golden or a.tens:
        return golden() if a.golden else tens()
    compare(a.tool or p.error('no TOOL'), a.s, a.n)


if __name__ == '__main__':
    main()
