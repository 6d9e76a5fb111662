#!/usr/bin/env python3
"""golden-lark.py [-n RANDOM] [-s SEED] [--against TOOL] [FILE]: texts that llguidance accepts or refuses under Lark grammars, as
tests/unit/lark/test_golden reads them from tests/golden/lark/texts.jsonl (FILE).  Needs the package llguidance.  RANDOM grammars
are composed at random.  With --against, TOOL reads the same lines and prints those that it decides otherwise; nothing is written."""
import argparse
import json
import random
import subprocess
import sys

from llguidance import LLMatcher, LLTokenizer, grammar_from

# grammars, and texts to begin with: parts of them, changed at random, are tried too
CASES = [
    ('start: x+\nx: "a" x "b" | "c"', ['acb', 'cacb']),
    ('start: e\ne: e "+" t | t\nt: t "*" f | f\nf: "(" e ")" | N\nN: /[0-9]+/', ['1+2*3', '(1+2)*3', '1*(2+3)*4']),
    ('start: a\na: b "x" | "p"\nb: a "y" | c\nc: a "z" | ""', ['x', 'p', 'pyx', 'pzxyx', 'pzx']),
    ('start: a a\na: "x"?', ['', 'x', 'xx']),
    ('start: a\na: a a | "x"', ['x', 'xxxx']),
    ('start: a\na: a | "x"', ['x']),
    ('start: (a | b)*\na: "x"?\nb: a "y"', ['', 'xyyxy']),
    ('start: "if" NAME | NAME "=" NAME\nNAME: /[a-z]+/\n%ignore " "', ['if x', 'ifx', 'x = y', 'if=y']),
    ('start: W (" " W)*\nW: /[a-z]+/', ['ab cd e']),
    ('start: A B\nA: /a+/\nB: "ab"', ['aab', 'ab', 'aaab']),
    ('start: A | B "c"\nA: /[ab]+/\nB: /a+/', ['aac', 'ab', 'aa']),
    ('start: "a" "b"\n%ignore " "', ['a b', 'a  b', 'a b ']),
    ('start: ("a" "b")*\n%ignore " "', ['ab ', 'ab ab']),
    ('start: "a" | "b" start\n%ignore /[ \\n]/', ['b b\na', 'a']),
    ('start: "a" "b"\n%llguidance {"allow_initial_skip": true}\n%ignore /[ ]+/', [' a b']),
    ('start: "a" "b"\n%llguidance {"ignore_once": true}\n%ignore /[ \\t]{1,3}/', ['a   b', 'a    b']),
    ('start: "a" " b" | "a" "b"\n%ignore " "', ['a b', 'a  b', 'ab']),
    ('start: NAME | WS NAME\nNAME: /[a-z]+/\nWS: /[ ]+/\n%ignore " "', [' ab', '  ab', 'ab']),
    ('start: STR ("," STR)*\nSTR: "\\"" /[^"]*/ "\\""\n%ignore /\\s+/', ['"a","b c" , ""']),
    ('start: x\nx[lazy]: /[a-z]*b/', ['aab', 'aabb']),
    ('start: x "c"\nx[lazy]: /a*/', ['c', 'ac', 'aac']),
    ('start: x "c"\nx[suffix="b"]: /[a-z]*/', ['aabc', 'bc', 'ac']),
    ('start: x "b"\nx[capture, suffix="c", stop_capture="d"]: /[a-z]*/', ['cb', 'acb', 'ab']),
    ('start: "n" (%json {"type": "integer"} | "q") "m"\n%ignore " "', ['n3m', 'n 3m', 'n3 m', 'n q m', 'n q  m']),
    ('start: X? %json {"type": "integer"}\nX: /[a-z]+/\n%ignore " "', ['a 3', 'a3', '3', ' 3']),
    ('%llguidance {"allow_initial_skip": true}\nstart: ("q" | %json {"enum": ["a"]}) "m"\n%ignore " "', ['"a"m', ' "a"m', ' q m', '"a" m']),
    ('start: /\\Aa\\z/m /b/m "c"', ['abc', 'ac']),
    ('start: x y\nx[suffix=/[;!]/]: /(.|\\n)*/\ny: "k"i', ['ab;k', 'a!K', ';;k']),
    ('start: (f | g)* e\ne: T\nT: /(.|\\n)*/\nfh[lazy]: T "<fn"\nf: fh "=a>" /[0-9]+/ "</fn>"\ngh[lazy]: T "<fn"\ng: gh "=b>" "x" "</fn>"',
     ['hello', 'x <fn=a>12</fn>y', '<fn=b>x</fn><fn=a>1</fn>', '<fn=c>', '<f']),
    ('start: perm::0x0\nperm::_ : "" %if is_ones([0:3])\n | "a" perm::set_bit(0) %if bit_clear(0)\n'
     ' | "b" perm::set_bit(1) %if bit_clear(1)\n | "c" perm::set_bit(2) %if bit_clear(2)', ['abc', 'cab', 'aba']),
    ('start: aa::0\naa::_ : "b" aa::incr(_) %if lt(_, 5)\n | bb::_\nbb::_ : "a" bb::incr(_) %if lt(_, 5)\n | ""', ['bbaa', 'bbbbbb', 'ab']),
    ('start: p::0\np::_ : "" %if bit_count_ge(_, 1)\n | "a" p::set_bit(0) %if and(bit_clear(0), bit_count_lt(_, 2))\n'
     ' | "b" p::set_bit(1) %if and(bit_clear(1), bit_count_lt(_, 2))\n | "c" p::bit_or(4) %if not(eq([2:3], 1))', ['ab', 'abc', 'ca', '']),
    ('start: l::0x0\nl::_ : "a" l::incr([0:3]) %if lt([0:3], 3)\n | "b" l::incr([3:6]) %if lt([3:6], 2)\n | ""', ['aabba', 'aaaa', 'bbb']),
    ('start: d::3\nd::_ : "x" d::decr(_) %if gt(_, 0)\n | "." %if is_zeros(_)', ['xxx.', 'xx.', 'xxxx.']),
    ('start: %regex {"substring_words": "foo bar. baz, foo"}', ['foo bar', 'bar. baz', '', 'oo', ', foo']),
    ('start: %regex {"substring_chunks": ["abc", "de", "abc", "fg"]} "!"', ['abcde!', 'de!', 'abcfg!', 'ab!', '!']),
    ('start: %regex {"substring_chars": "abcab"}', ['bca', 'abcab', 'ba']),
    ('start: A\nA: /[a-zA-Z \\n]*/ & ~/(?s:.*)\\n\\n(?s:.*)/', ['ab\ncd', 'ab\n\ncd']),
    ('start: A+ ","\nA: /[a-d]{2}/ & ~("ab" | "ba") & ~/c./', ['acda,', 'ab,', 'bd,']),
    ('start: A\nA: ~/a+/ & /[ab]*/ | "aa"', ['aa', 'a', 'ab', '']),
    ('start: "x"{2,4} y\ny: "x"~1', ['xxx', 'xx', 'xxxxx', 'xxxxxx']),
    ('start: "a"{,2} "b"{2,} "c"~1..2', ['bbc', 'aabbbcc', 'abc']),
    ('start: (("a" | "b") "c"){3}', ['acbcac', 'acac']),
    ('start: ["a" "b"] "c" ["d"]', ['c', 'abcd', 'acd']),
    ('start: "a".."c" "\\u00e9".."\\u00eb"', ['aé', 'bë', 'cì', 'dé']),
    ('start: "k"i "ß"i "σ"i', ['kßσ', 'Kẞς', '\u212aßΣ']),
    ('start: /straße|[k-m]/i "x"', ['STRASSEx', 'sTrAßEx', 'Kx', '\u212ax', 'nx']),
    ('start: /(?i)ab(?-i)c|(?i:d)e/', ['ABc', 'abC', 'De', 'dE']),
    ('start: /[^a-z&&[^x]]+/ ";"', ['AB;', 'x;', 'ab;']),
    ('start: /[[:alpha:]--b]+[[:^digit:]]/', ['acd1', 'acb', 'ac', 'a']),
    ('start: /[\\w~~\\d]+ \\S\\s/', ['ab x ', '1 x ', 'aé x\t']),
    ('start: /\\p{Lu}\\P{Lu}\\pL[^\\p{L}]/', ['AbC1', 'éab1', 'Éaz-']),
    ('start: /\\x41\\u{42}\\u0043\\U00000044\\.\\*/', ['ABCD.*']),
    ('start: /a b # c\n  [x y]/x', ['abx', 'aby', 'ab ', 'a bx']),
    ('start: /a.b/ | /c.d/s', ['a\nb', 'c\nd', 'axb', 'a\rb']),
    ('start: /a{2,3}?b*?(?:c|d)?(?P<n>e)(?<m>f)$/', ['aacef', 'aaabbef', 'aef']),
    ('start: /^[-a\\]^]+[]b]$/', ['-a]^b', '^]', 'b']),
    ('start: "" ("a" | "")', ['', 'a']),
    ('start: "\\x41\\u0042\\n\\/\\"" "\\ud83d\\ude00"', ['AB\n/"😀']),
    ('%import common.INT\n%import common (WS, ESCAPED_STRING)\n%import common.CNAME -> ID\nstart: (INT | ESCAPED_STRING | ID)+\n%ignore WS',
     ['12 "a\\"b" x_1', '1x', '1 2', '"a']),
    ('%import common (NUMBER, SIGNED_FLOAT, DECIMAL)\nstart: NUMBER "," SIGNED_FLOAT ";" DECIMAL', ['1.5e3,-1.;.5', '1e4,+2e1;1.', '1,1;1.']),
    ('%import common (C_COMMENT, CPP_COMMENT, SH_COMMENT, SQL_COMMENT)\nstart: C_COMMENT | CPP_COMMENT | SH_COMMENT | SQL_COMMENT',
     ['/* a **/', '/* a */ */', '// x', '#x', '-- y\n']),
    ('// a remark\n?start: a -> one // more\n  | b -> two\n!a: "a"\n_b: "x"\nb: _b', ['a', 'x']),
    ('start: c\nc[capture="n"]: /x+/', ['xx']),
    ('start: "a" %lark {\n  start: b "c"\n  b: "b"+\n} "d"\nb: "q"', ['abbcd', 'aqcd']),
    ('start: "n=" %json {"type": "integer", "minimum": 5, "maximum": 12} ";"', ['n=7;', 'n=12;', 'n=13;', 'n=4;']),
    ('start: "v:" %json {"enum": ["a", true, null]}', ['v:"a"', 'v:true', 'v:"b"']),
    ('start: A B C\nA: "a" | "ab"\nB: "b"? "c"\nC: /c*/', ['abc', 'abcc', 'ac', 'abbcc']),
    ('start: (A | B)+\nA: /a|ab/\nB: /b|ba/', ['aba', 'abba', 'bab']),
    ('start: x "." | y "!"\nx: W\ny: W\nW: /\\w+/', ['ab.', 'ab!', 'ab']),
    ('start: (W | N)+\nW: /[a-z][a-z0-9]*/\nN: /[0-9]+/\n%ignore /[ ,]+/', ['a1 22, b', '22b', '2 2']),
]


def matcher(grammar, tokenizer=LLTokenizer('byte')):
    return LLMatcher(tokenizer, grammar_from('lark', grammar), log_level=0)


def accepts(grammar, text):
    """True, False, or None if llguidance does not say."""
    m = matcher(grammar)
    if m.is_error():
        return None
    ids = list(text.encode())
    if m.validate_tokens(ids) < len(ids):
        return False
    m.consume_tokens(ids)
    return None if m.is_error() else m.is_accepting()


def walk(r, grammar, alphabet, most):
    """A text that llguidance accepts as far as it goes."""
    m, text = matcher(grammar), ''
    while len(text) < most:
        ways = [c for c in alphabet if m.validate_tokens(list(c.encode())) == len(c.encode())]
        if not ways or (m.is_accepting() and not r.randrange(4)):
            break
        c = r.choice(ways)
        m.consume_tokens(list(c.encode()))
        text += c
    return text


def changed(r, text, alphabet):
    at = r.randrange(len(text) + 1)
    return text[:at] + r.choice(['', r.choice(alphabet)]) + text[at + r.randrange(2):]


def terminal(r, names, depth=0):
    kind = r.randrange(10 if depth < 2 else 4)
    if kind < 2:
        return '"' + ''.join(r.choice('abc') for _ in range(r.randrange(1, 4))) + '"'
    if kind < 4:
        return '/' + r.choice(['[ab]', '[a-c]', 'a', '[^a ]', '.', '(ab|c)', 'b?a', '(a|b)c*']) + r.choice(['', '', '+', '*', '{1,2}']) + '/'
    if kind < 5 and names:
        return r.choice(names)
    if kind < 6:
        return '(' + ' | '.join(terminal(r, names, depth + 1) for _ in range(2)) + ')'
    if kind < 7:
        return terminal(r, names, depth + 1) + ' & ' + r.choice(['~', '']) + terminal(r, names, 2) if not depth else '"c"'
    if kind < 8:
        return '(' + terminal(r, names, depth + 1) + ')' + r.choice('?+*')
    return terminal(r, names, depth + 1) + ' ' + terminal(r, names, depth + 1)


def expression(r, names, depth=0):
    kind = r.randrange(9 if depth < 2 else 4)
    if kind < 3:
        return r.choice(names)
    if kind < 4:
        return r.choice(['"a"', '"b"', '"c"', '"ab"', '""', '/[ab]/', '/c+/', '"a"i'])
    if kind < 5:
        return '(' + ' | '.join(expression(r, names, depth + 1) for _ in range(2)) + ')' + r.choice(['', '?', '*', '+', '{2}', '~1..2'])
    if kind < 6:
        return expression(r, names, 2) + r.choice('?+*')
    return expression(r, names, depth + 1) + ' ' + expression(r, names, depth + 1)


def random_grammar(r):
    terms = ['A', 'B', 'C'][:r.randrange(1, 4)]
    rules = ['start', 'x', 'y', 'z'][:r.randrange(1, 5)]
    lines = [f'{t}: {terminal(r, terms[:i])}' for i, t in enumerate(terms)]
    names = terms + rules + terms
    lazy = r.random() < .2
    if lazy:
        lines.append(f'l[{r.choice(["lazy", "suffix=" + chr(34) + "c" + chr(34)])}]: {terminal(r, terms)}')
        names.append('l')
    for x in rules:
        lines.append(f'{x}: ' + ' | '.join(expression(r, names) for _ in range(r.randrange(1, 4))))
    if r.random() < .3:
        lines.append('%ignore ' + r.choice(['" "', '/[ ]+/', '/ |b/']))
    return '\n'.join(lines)


def cases(count, seed):
    r = random.Random(seed)
    for grammar, texts in CASES:
        alphabet = sorted(set(''.join(texts))) or ['a']
        tried = set(texts) | {''}
        for t in texts:
            for _ in range(6):
                tried.add(changed(r, t, alphabet))
        yield grammar, sorted(tried)
    made = 0
    while made < count:
        grammar = random_grammar(r)
        if matcher(grammar).is_error():
            continue
        made += 1
        tried = {''}
        for _ in range(7):
            text = walk(r, grammar, 'abc ', 9)
            tried |= {text, changed(r, text, 'abc ')}
        for _ in range(4):
            tried.add(''.join(r.choice('abc ') for _ in range(r.randrange(1, 6))))
        yield grammar, sorted(tried)


def main():
    p = argparse.ArgumentParser()
    p.add_argument('-n', type=int, default=200)
    p.add_argument('-s', type=int, default=1)
    p.add_argument('--against')
    p.add_argument('file', nargs='?', default='tests/golden/lark/texts.jsonl')
    o = p.parse_args()
    lines = []
    for grammar, texts in cases(o.n, o.s):
        said = {t: accepts(grammar, t) for t in texts}
        yes, no = ([t for t in texts if said[t] is want] for want in (True, False))
        if not yes and not no:
            sys.exit(f'llguidance refuses: {grammar}\n{matcher(grammar).get_error()}')
        lines.append(json.dumps({'grammar': grammar, 'yes': yes, 'no': no}, ensure_ascii=False) + '\n')
    if o.against:
        out = subprocess.run([o.against], input=''.join(lines), capture_output=True, text=True, check=True)
        print(out.stdout, end='')
        sys.exit(bool(out.stdout))
    with open(o.file, 'w', encoding='utf-8') as f:
        f.writelines(lines)
    print(f'{len(lines)} grammars, {sum(len(json.loads(x)["yes"]) for x in lines)} texts accepted, '
          f'{sum(len(json.loads(x)["no"]) for x in lines)} refused')


if __name__ == '__main__':
    main()
