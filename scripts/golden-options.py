#!/usr/bin/env python3
"""golden-options.py LLAMA_CPP VLLM OLLAMA: write tests/golden/options, the options of other programs, each with all its
names on a line. The arguments are checkouts, or for vLLM an unpacked wheel. tests/e2e/options.bats compares them with our
options and with cmd/common/other_list.h."""
import pathlib
import re
import sys

OUT = pathlib.Path(__file__).resolve().parent.parent / 'tests/golden/options'


def write(name, options):
    lines = sorted({' '.join(o) for o in options if o})
    (OUT / (name + '.txt')).write_text(''.join(line + '\n' for line in lines))
    print(name, len(lines))


def llama_common(top):
    """(names, programs) of each option in common/arg.cpp"""
    text = (top / 'common/arg.cpp').read_text()
    calls = [m.end() for m in re.finditer(r'add_opt\(common_arg\(', text)] + [len(text)]
    for begin, end in zip(calls, calls[1:]):
        call = text[begin:end]
        lists = re.match(r'\s*\{([^}]*)\}(?:\s*,\s*\{([^}]*)\})?', call)
        if not lists:  # the function itself
            continue
        names = re.findall(r'"(-[^"]+)"', ' '.join(x for x in lists.groups() if x))
        programs = re.search(r'set_examples\(\{([^}]*)\}', call)
        yield names, set(re.findall(r'LLAMA_EXAMPLE_(\w+)', programs[1])) if programs else {'COMMON'}


def compared(path, variable):
    """the names that a program compares its arguments with, those of one condition together"""
    for line in path.read_text().splitlines():
        if re.search(r'\bif\b', line) and variable in line:
            yield re.findall(r'"(--?[a-z][a-z0-9-]*)"', line)


def vllm(top):
    engine = (top / 'vllm/engine/arg_utils.py').read_text()
    names = set()
    for call in re.finditer(r'add_argument\(([^()]*?)(?:,\s*\*\*|,\s*\w+=|\))', engine, re.S):
        names |= set(re.findall(r'"(--?[a-zA-Z0-9-]+)"', call[1]))
    server = (top / 'vllm/entrypoints/common/cli_args.py').read_text()
    for part in re.finditer(r'^class \w*Args.*?:\n(.*?)(?=^class |\Z)', server, re.S | re.M):
        names |= {'--' + f.replace('_', '-') for f in re.findall(r'^    ([a-z][a-z0-9_]*): ', part[1], re.M)}
    names |= set(re.findall(r'add_argument\(\s*"(--[a-z-]+)"', server))
    return [[n] for n in names - {'--args'}]


def main():
    llama, vllm_top, ollama = map(pathlib.Path, sys.argv[1:])
    OUT.mkdir(exist_ok=True)
    common = list(llama_common(llama))
    write('llama-cli', [n for n, p in common if p & {'COMMON', 'CLI', 'COMPLETION'}])
    write('llama-server', [n for n, p in common if p & {'COMMON', 'SERVER'}])
    write('llama-quantize', compared(llama / 'tools/quantize/quantize.cpp', 'argv[arg_idx]'))
    write('llama-bench', compared(llama / 'tools/llama-bench/llama-bench.cpp', 'arg =='))
    write('vllm-serve', vllm(vllm_top))
    flags = re.findall(r'runCmd\.Flags\(\)\.\w+\("([a-z-]+)"', (ollama / 'cmd/cmd.go').read_text())
    write('ollama-run', [['--' + f] for f in flags])


main()
