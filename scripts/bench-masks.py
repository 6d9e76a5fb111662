#!/usr/bin/env python3
"""bench-masks.py [-w WALKS] [-t TOKENS] TOOL VOCABULARY.gguf SCHEMAS.jsonl: our masks beside those of xgrammar and llguidance.

TOOL (build/release/tests/tools/masks) walks random members of each schema; the others then compute the mask before each of the
same tokens, as far as they take them (they admit other white space, and not all that we do).  A line of SCHEMAS is a schema, or
an object with one as `schema`.  Processor time of one thread throughout.  Prints, of the schemas that a program compiles, the
time to do so and that of a mask; then ratios (theirs to ours) over the schemas and masks that both have: above 1 we are faster.
Needs gguf and numpy (PyPI), and xgrammar or llguidance."""
import argparse
import importlib.util
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import time


def tokens(path):
    here = pathlib.Path(__file__).parent / 'check-masks.py'
    spec = importlib.util.spec_from_file_location('check_masks', here)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return list(module.tokens(path))


def ours(o, words, schemas):
    with tempfile.TemporaryDirectory() as there:
        vocabulary, cases = os.path.join(there, 'vocabulary'), os.path.join(there, 'cases')
        with open(vocabulary, 'wb') as f:
            f.write(struct.pack('=I', len(words)) + b''.join(struct.pack('=I', len(t)) + t for t in words))
        with open(cases, 'w') as f:
            f.writelines(json.dumps({'schema': s}) + '\n' for s in schemas)
        run = subprocess.run([o.tool, vocabulary, cases, str(o.w), str(o.t)], stdout=subprocess.PIPE, check=True)
    for line in run.stdout.decode().splitlines():
        got = json.loads(line)
        if got['rc']:
            yield None
            continue
        walks, left = [], got['masks']
        for w in got['walks']:
            ids = [int(i) for i in w.split(',')] if w else []
            n = min(len(left), len(ids))
            walks.append((ids, left[:n]))
            left = left[len(ids) + 1:] if len(left) > len(ids) else []
        yield got['compile'], walks


class XGrammar:
    def __init__(self, words, end):
        import xgrammar
        self.x = xgrammar
        info = xgrammar.TokenizerInfo(words, xgrammar.VocabType.RAW, vocab_size=len(words), stop_token_ids=[end])
        self.compiler = xgrammar.GrammarCompiler(info, max_threads=1, cache_enabled=False)
        self.bits = xgrammar.allocate_token_bitmask(1, len(words))

    def compile(self, schema):
        return self.compiler.compile_json_schema(schema, strict_mode=False)

    def begin(self, compiled):
        return self.x.GrammarMatcher(compiled)

    def mask(self, m):
        m.fill_next_token_bitmask(self.bits)

    def take(self, m, token):
        return m.accept_token(token)


class LLGuidance:
    def __init__(self, words, end):
        import llguidance
        import llguidance.numpy

        class Words:
            eos_token_id, bos_token_id = end, None
            tokens, special_token_ids = words, [end]

            def __call__(self, text):
                return [0] * len(text)
        self.l = llguidance
        self.tokenizer = llguidance.LLTokenizer(llguidance.TokenizerWrapper(Words()))
        self.bits = llguidance.numpy.allocate_token_bitmask(1, len(words))

    def compile(self, schema):
        grammar = self.l.LLMatcher.grammar_from_json_schema(schema, overrides={'lenient': True})
        m = self.l.LLMatcher(self.tokenizer, grammar)
        if m.is_error():
            raise ValueError(m.get_error())
        return m

    def begin(self, compiled):
        return compiled.deep_copy()

    def mask(self, m):
        self.l.numpy.fill_next_token_bitmask(m, self.bits)

    def take(self, m, token):
        return m.consume_token(token)


def theirs(engine, schemas, got):
    for schema, mine in zip(schemas, got):
        if not mine:
            yield None
            continue
        t = time.thread_time_ns()
        try:
            compiled = engine.compile(json.dumps(schema))
        except Exception:
            yield None
            continue
        cost, masks = time.thread_time_ns() - t, []
        for ids, _ in mine[1]:
            m, times = engine.begin(compiled), []
            for token in ids:
                t = time.thread_time_ns()
                engine.mask(m)
                times.append(time.thread_time_ns() - t)
                if not engine.take(m, token):
                    break
            masks.append(times)
        yield cost, masks


def at(values, q):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * q))] / 1000 if values else float('nan')


def row(name, compiles, masks):
    mean = sum(masks) / max(1, len(masks)) / 1000
    print(f'{name:12} {len(compiles):5} schemas: p50 {at(compiles, .5):9.1f}  p99 {at(compiles, .99):10.1f}  most {at(compiles, 1):10.1f}'
          f'   {len(masks):6} masks: p50 {at(masks, .5):7.2f}  p99 {at(masks, .99):8.1f}  most {at(masks, 1):9.1f}  mean {mean:7.2f}   (us)')
    return [at(compiles, .5), at(compiles, .99), at(compiles, 1), at(masks, .5), at(masks, .99), at(masks, 1), mean]


def main():
    p = argparse.ArgumentParser()
    p.add_argument('-w', type=int, default=5)
    p.add_argument('-t', type=int, default=30)
    p.add_argument('tool')
    p.add_argument('vocabulary')
    p.add_argument('schemas')
    o = p.parse_args()
    schemas = [json.loads(line) for line in open(o.schemas)]
    schemas = [s['schema'] if isinstance(s, dict) and 'schema' in s else s for s in schemas]
    words = tokens(o.vocabulary)
    got = list(ours(o, words, schemas))
    row('all of ours', [g[0] for g in got if g], [t for g in got if g for _, w in g[1] for t in w])
    end = next((i for i, w in enumerate(words) if w.startswith(b'\xff') and b'end' in w), len(words) - 1)
    for name, kind in (('xgrammar', XGrammar), ('llguidance', LLGuidance)):
        try:
            engine = kind(words, end)
        except ImportError:
            print(f'{name} is not installed')
            continue
        other = list(theirs(engine, schemas, got))
        print(f'of {len(got)}: we refuse {sum(g is None for g in got)}; of the others {name} refuses '
              f'{sum(g is not None and h is None for g, h in zip(got, other))}')
        both = [(g, h) for g, h in zip(got, other) if g and h]
        a = row('ours', [g[0] for g, _ in both], [t for g, h in both for (_, w), x in zip(g[1], h[1]) for t, _ in zip(w, x)])
        b = row(name, [h[0] for _, h in both], [t for g, h in both for (_, w), x in zip(g[1], h[1]) for _, t in zip(w, x)])
        print(f'{"ratio":12} compile p50 {b[0] / a[0]:.2f}, p99 {b[1] / a[1]:.2f}, most {b[2] / a[2]:.2f}; '
              f'mask p50 {b[3] / a[3]:.2f}, p99 {b[4] / a[4]:.2f}, most {b[5] / a[5]:.2f}, mean {b[6] / a[6]:.2f}')


if __name__ == '__main__':
    sys.exit(main())
