#!/usr/bin/env python3
"""Write tests/golden/templates/: templates of our own and what Python's jinja2, set up as transformers does, makes of them.

    scripts/golden-templates.py

chat.jsonl     chat templates of the usual shapes over conversations
parts.jsonl    one thing of the language a row, and random templates of scripts/check-jinja.py
functions.jsonl  a template that needs `functions` and `datetime`, given as the publisher of such a model gives them
names.jsonl    which block a name belongs to, without and with values for the names
Rows: {"template", "context", "text"} or, where rendering must fail, {"template", "context", "fails": the error's type}; a
template given as null is that of the row before."""
import importlib.util
import json
import random
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
import jinjalib as lib

spec = importlib.util.spec_from_file_location("check_jinja", HERE / "check-jinja.py")
check = importlib.util.module_from_spec(spec)
spec.loader.exec_module(check)
OUT = HERE.parent / "tests/golden/templates"

CHAT = [
    # plain turns
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\\n' + m['content'] | trim + '<|im_end|>\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}",
    # system first, roles that alternate, tools as JSON
    """{%- set ns = namespace(system='', n=0) %}
{%- if messages and messages[0].role == 'system' %}
    {%- set ns.system = messages[0].content %}
    {%- set messages = messages[1:] %}
{%- endif %}
{{ bos_token }}
{%- for m in messages %}
    {%- if (m.role == 'user') != (loop.index0 % 2 == 0) and m.role in ['user', 'assistant'] %}
        {{ raise_exception('roles must alternate, not ' ~ m.role) }}
    {%- endif %}
    {%- if m.role == 'user' %}
[USER]{{ ns.system ~ '\\n' if ns.system and loop.first else '' }}{{ m.content }}[/USER]
    {%- elif m.role == 'assistant' %}
{{ m.content|default('', true) }}{{ eos_token }}
        {%- for c in m.tool_calls or [] %}
<call>{{ c.function|tojson }}</call>
        {%- endfor %}
    {%- else %}
<result id="{{ m.tool_call_id|default('-') }}">{{ m.content if m.content is string else m.content|tojson }}</result>
    {%- endif %}
    {%- set ns.n = ns.n + 1 %}
{%- endfor %}
{%- if tools %}
# {{ tools|length }} tools{% for t in tools if t.function is defined %}

{{ t.function|tojson(indent=2) }}{% endfor %}
{%- endif %}
({{ ns.n }} turns)
""",
    # macros, recursion into schemas, thinking cut out
    """{% macro kind(s, depth=0) -%}
  {%- if s.type is string and s.type == 'object' -%}
    { {%- for k, v in (s.properties or {})|dictsort -%}{{ k }}: {{ kind(v, depth + 1) }}{{ ', ' if not loop.last }}{%- endfor -%} }
  {%- elif s.type == 'array' -%}{{ kind(s['items'], depth + 1) if 'items' in s else 'any' }}[]
  {%- elif s.type is iterable and s.type is not string -%}{{ s.type|join(' | ') }}
  {%- else -%}{{ s.type|default('any') }}{%- endif -%}
{%- endmacro %}
{%- macro visible(c) %}{% if c is string %}{{ c.split('</think>')[-1].lstrip('\\n') }}{% elif c is none or c is undefined %}{% else %}{% for p in c %}{% if p.type == 'text' %}{{ p.text }}{% else %}<{{ p.type }}>{% endif %}{% endfor %}{% endif %}{% endmacro %}
{%- for t in tools or [] %}
  {%- set f = t.function if t.function is defined else t %}
fn {{ f.name }}({{ kind(f.parameters) if f.parameters is defined }}) // {{ f.description|default('')|trim|upper }}
{% endfor %}
{%- for m in messages %}
{{ loop.index }}/{{ loop.length }} {{ m.role|capitalize }}: {{ visible(m.content)|trim }}
{%- if m.role == 'assistant' %}{% generation %}{{ m.reasoning_content|default('none') }}{% endgeneration %}{% endif %}
{% endfor %}
{%- if messages[-1].role != 'assistant' %}{{ '<think>' if enable_thinking is defined and enable_thinking else '<a>' }}{% endif %}
{{ strftime_now('%d %b %Y') }}""",
]

PARTS = [
    "a\n{% if true %}\nb\n{% endif %}\nc\n", "  {% if true -%}  x  {%- endif %}  \n", "x {{- ' y ' -}} z", "  {%+ if true +%}\n a {% endif %}", "{#- c -#} x {# d #}\n y", "{% raw %}{{ a }}{% endraw %}b",
    "{{ 1 + 2 * 3 ** 2 // 4 - 7 % 3 }} {{ 7 / 2 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 2 ** -1 }} {{ 1e3 }} {{ 0x1F }} {{ 1_000 }} {{ 7.5 // 2 }} {{ -7.5 % 2 }}",
    "{{ 'a' 'b' ~ 1 ~ none ~ true }} {{ 'x' * 3 }} {{ [1] + [2] * 2 }} {{ (1,) }} {{ () }} {{ {'a': [1.0, none]} }}", "{{ 1 < 2 < 3 }} {{ 1 < 3 < 2 }} {{ 'a' in 'abc' }} {{ 2 not in [1] }} {{ 'a' < 'b' }}",
    "{{ [3, 1, 2]|sort|join('-') }} {{ ['b', 'A']|sort }} {{ [1, 2, 3][::-1] }} {{ 'héllo'[1:-1] }} {{ 'abc'[-1] }} {{ [1, 2][5] }}|",
    "{{ x }} {{ x.y is defined }}", "{{ x is defined }} {{ x|default('d') }} {{ ''|default('e', true) }} {{ x|length }} {{ x|list }}",
    "{% for i in [1, 2, 3] if i != 2 %}{{ loop.index }}:{{ i }}{{ ',' if not loop.last }}{% else %}none{% endfor %}", "{% for i in [] %}{% else %}none{% endfor %}",
    "{% for i in range(9) %}{% if i == 2 %}{% continue %}{% endif %}{% if i == 5 %}{% break %}{% endif %}{{ i }}{% endfor %}", "{% for a, b in {'x': 1, 'y': 2}.items() %}{{ a }}{{ b }}{% endfor %}",
    "{% for i in [[1, [2]], [3]] recursive %}{{ loop.depth }}{% if i is iterable %}({{ loop(i) }}){% else %}{{ i }}{% endif %}{% endfor %}",
    "{% for i in 'ab' %}{{ loop.previtem }}{{ i }}{{ loop.nextitem }}{{ loop.cycle('!', '?') }}{{ loop.changed(i) }}{{ loop.revindex }}{% endfor %}",
    "{% set x = 1 %}{% for i in [1, 2] %}{{ x }}{% set x = x + 1 %}{{ x }}{% endfor %}{{ x }}", "{% set ns = namespace(a=1) %}{% set ns.a = ns.a + 1 %}{{ ns.a }}{{ ns }}",
    "{% set a, (b, c) = 1, (2, 3) %}{{ a }}{{ b }}{{ c }}", "{% set x %} y {% endset %}[{{ x|trim }}]{% set z | upper %}q{% endset %}{{ z }}", "{% filter upper|replace('B', '-') %}abc{% endfilter %}",
    "{% macro m(a, b=a, c='z') %}{{ a }}{{ b }}{{ c }}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1) }} {{ m(1, 2, 3, 4, e=5) }} {{ m(c=1, a=2) }}", "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, 2) }}",
    "{% macro m(a, b=1) %}{{ varargs }}{{ caller() }}{% endmacro %}{{ m.name }}{{ m.arguments }}{{ m.catch_varargs }}{{ m.catch_kwargs }}{{ m.caller }}{{ m.x }}",
    "{% macro m() %}{{ caller.name }}{{ caller.arguments }}{% endmacro %}{% call(x) m() %}{% endcall %}{{ self }}{{ self is defined }}{{ self.x }}",
    "{{ 'ǅ ⅷ Ⅷ ⓐ Ⓐ ß'.swapcase() }}", "{{ [5e-324, 2.2250738585072014e-308, 1e23, 9007199254740993.0, 0.30000000000000004, 1.5] }}",
    "{% macro m() %}<{{ caller(1) }}>{% endmacro %}{% call(x) m() %}{{ x }}!{% endcall %}", "{% with a = 1, b = 2 %}{{ a + b }}{% endwith %}{{ a }}", "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(*[1]) }}{{ m(**{'a': 2}) }}",
    "{{ d|tojson }}|{{ d|tojson(indent=2) }}|{{ d|tojson(sort_keys=true, separators=(',', ':')) }}|{{ s|tojson(ensure_ascii=true) }}|{{ [1.0, 1e22, none, true, '\\n\\u0001\\x7f\"']|tojson }}",
    "{{ rows|map(attribute='k')|list }}{{ rows|selectattr('v', 'gt', 1)|list|length }}", "{{ rows|selectattr('v')|map(attribute='v')|list }} {{ l|map('string')|join }} {{ l|select('odd')|list }} {{ l|reject('odd')|first }}",
    "{{ l|map('upper')|length }}", "{{ rows|groupby('v') }}", "{{ t|groupby(0) }} {{ t|unique|list }} {{ l|batch(2)|list }} {{ l|slice(2)|list }} {{ l|sum }} {{ l|min }}{{ l|max }}",
    "{{ d|dictsort }} {{ d|items|list }} {{ d.items() }} {{ d.keys()|list }} {{ d['items'] }} {{ d.get('q', 4) }}", "{{ d.append }}", "{{ l.append(4) }}", "{{ ''.__class__ }}|", "{{ ''.__class__.__mro__ }}", "{{ (1).__add__(2) }}",
    "{{ 'a-b c'|title }} {{ \"it's\".title() }} {{ 'ǆ ß ΑΣ İ'.lower() }} {{ 'ß ﬁ ǆ'|upper }} {{ 'éA'|capitalize }} {{ 'aB'.swapcase() }}", "{{ '%s is %05.1f %d%% %r %x' % ('a', 2.25, 3, 'q', 255) }} {{ '%(a)s' % {'a': 1} }} {{ '%s'|format(2) }}",
    "{{ '{} {1!r} {a:>5}|{b:.2f}|{c:,}'.format('x', 'y', a='z', b=1.005, c=1234567) }}", "{{ '{} {}'.format(1) }}", "{{ '{0:^7}|{0[0]}|{{}}'.format('abc') }}", "{{ '{} {0}'.format(1) }}", "{{ 'a\\tb c\\u00a0d'.split() }} {{ 'a,b,c'.rsplit(',', 1) }} {{ ' a b '.split(none, 1) }} {{ 'x'.split('') }}",
    "{{ 'abc'|replace('', '-') }} {{ 'aXbX'.replace('X', 'y', 1) }} {{ 'x\\r\\ny\\u2028z'.splitlines() }} {{ 'a=b=c'.partition('=') }} {{ 'a=b=c'.rpartition('=') }}", "{{ '<b>'|e }} {{ '<b>'|safe + '<i>' }} {{ ('<i>'|e)|e }} {{ '<'|safe ~ '<' }}",
    "{{ 'one two three'|truncate(9) }} {{ 'a b'|wordcount }} {{ 'x\\ny'|indent(2, true) }} {{ 2.5|round }} {{ 2.675|round(2) }} {{ 2.1|round(0, 'ceil') }} {{ '3.7'|int }} {{ 'q'|int(9) }} {{ '1e3'|float }} {{ -3|abs }}",
    "{{ 0.1 + 0.2 }} {{ 1e16 }} {{ 123456789012345680.0 }} {{ 1e-5 }} {{ 0.0001 }} {{ -0.0 }} {{ 1 / 3 }} {{ 1e300 * 1e10 }} {{ 5e-324 }}", "{{ 1 / 0 }}", "{{ 'a' + 1 }}", "{{ none + 1 }}", "{{ x.y }}", "{{ x[0] }}", "{{ x() }}", "{{ 1() }}",
    "{{ none|length }}", "{{ 1|join }}", "{% for i in 3 %}{% endfor %}", "{{ raise_exception('no: ' ~ 1) }}", "{{ strftime_now('%Y-%m-%d %H:%M:%S %A %B %j %% %Z') }}", "{% if x %}{{ 1|nofilter }}{% endif %}ok", "{{ 1|nofilter }}",
    "{% if true %}{{ 1|nofilter }}{% endif %}", "{{ 1 if false }}|{{ (1 if false)|default(3) }}", "{{ 1 is nosuch }}", "{{ 1 is not none and 'a' is string }} {{ 3 is divisibleby 3 }} {{ 3 is in [3] }} {{ x is undefined }} {{ l is sequence }}",
    "{% set l.x = 1 %}", "{% if %}", "{{ 1 + }}", "{{ (1 }}", "{% endif %}", "{% for %}", "{{ 'a }}", "{% nosuch %}", "{% if 1 %}", "{# x", "{{ 1 }", "{% set true = 1 %}", "{{ a b }}", "{{ f(a=1, 2) }}", "{{ {1} }}", "{% macro m(a=1, b) %}{% endmacro %}",
    "{{ range(3)|list }}{{ range(5, 1, -2) }}{{ range(4)[1:3]|list }}{{ 2 in range(3) }}{{ range(200000) }}", "{{ dict(a=1, b=2) }}{{ dict([('x', 1)]) }}", "{{ [1, [2]] == [1.0, [2]] }}{{ {'a': 1} == {'a': true} }}{{ (1,) == [1] }}{{ 'a' == none }}",
    "{{ [x for x in l] }}", "{{ l[1:][0] }}{{ s[0] }}{{ s[-1:] }}{{ d.a.b.c is defined }}", "{% break %}", "{{ ['a', 1]|sort }}", "{{ {[]: 1} }}", "{{ nil|upper }}{{ nil|trim }}{{ true|lower }}{{ 12|string|length }}",
    "{{ range(9)[::-1] }} {{ range(9)[3:1] }} {{ range(0, 9, 3)[1:3] }} {{ range(9)[2:99:5] }} {{ range(3)[5:] }} {{ range(5, 0, -1)[1:-1] }} {{ range(3)[1:][0] }} {{ 'a' % range(2) }}",
    "{{ (1, 2).copy() }}", "{{ (1, 2).index(2) }}{{ (1, 1).count(1) }}{{ (1, 2).copy }}{{ [1].copy() }}{{ range(3).zz }}",
    "{{ 5|tojson }}{{ x|tojson }}", "{% print 1, 2 %}", "{{ '%d' % 'a' }}", "{{ '%s %s' % ('a',) }}", "{{ '%s' % ('a', 'b') }}", "{% for k in d %}{{ k }}{% endfor %}{% for c in s %}{{ c }}.{% endfor %}", "{% set m = namespace(x=[]) %}{% set m.x = m.x + [1] %}{{ m.x }}",
]

NAMES = [
    "{% set l=[1,2] %}{% set l %}{% for x in l %}{{x}}{% endfor %}{% endset %}[{{l}}]",
    "{% set l %}{{ l is defined }}{% for x in l %}{{x}}{% endfor %}{% endset %}[{{l}}]",
    "{% set l %}{{ l }}{% endset %}[{{l}}]",
    "{% set l %}{% set l = 3 %}{{l}}{% endset %}[{{l}}]",
    "{% set l=1 %}{% set l %}{{l}}{% set l = 3 %}{{l}}{% endset %}[{{l}}]",
    "{% set l=1 %}{% set l | upper %}{{l}}a{% endset %}[{{l}}]",
    "{% set l=1 %}{% set l | default(l) %}{{l}}a{% endset %}[{{l}}]",
    "{% set l | replace('a', l) %}ab{% endset %}[{{l}}]",
    "{% set l | replace('a', l|default('z')) %}ab{% endset %}[{{l}}]",
    "{% if true %}{% set l %}{{ l }}{% endset %}{% endif %}[{{l}}]",
    "{% if true %}{% set l %}{{ l }}{% endset %}{% else %}{% endif %}[{{l}}]",
    "{% if true %}{% set l %}{{ l }}{% endset %}{% else %}{% set l = 3 %}{% endif %}[{{l}}]",
    "{% if true %}{% set l = l %}{% endif %}[{{l}}]",
    "{% if true %}{% set d = l %}{% set l = 4 %}{% endif %}[{{l}}{{d}}]",
    "{% if true %}{% set l %}a{% endset %}{% endif %}[{{l}}]",
    "{% if false %}{% set l %}{{ l }}{% endset %}{% endif %}[{{l}}]",
    "{% if false %}{% set l = 2 %}{% endif %}[{{l}}]",
    "{% for i in [1,2] %}{% set l %}{{ l }}{{i}}{% endset %}{{l}}{% endfor %}[{{l}}]",
    "{% for i in [1,2] %}{% if i %}{% set l %}{{ l }}{{i}}{% endset %}{% endif %}{{l}}{% endfor %}[{{l}}]",
    "{% set l=9 %}{% for i in [1,2] %}{% set l %}<{{ l }}{{i}}>{% endset %}{{l}}{% endfor %}[{{l}}]",
    "{% for i in [1,2] %}{% set c %}<{{ c }}{{i}}>{% endset %}{{c}}{% endfor %}[{{c}}]",
    "{% set c %}<{{ c }}>{% endset %}{{c}}",
    "{% set c %}{% macro m() %}{{ c }}{% endmacro %}{{ m() }}{% endset %}[{{c}}]",
    "{% macro m() %}{{ c }}{% endmacro %}{% set c %}{{ m() }}{% endset %}[{{c}}]",
    "{% macro m() %}{{ c }}{% endmacro %}{% set c = m() %}[{{c}}]",
    "{% macro m(c) %}{% set c %}<{{c}}>{% endset %}{{c}}{% endmacro %}{{m(5)}}",
    "{% macro m() %}{% set c %}<{{c}}>{% endset %}{{c}}{% endmacro %}{{m()}}",
    "{% for c in [1] %}{% set c %}<{{c}}>{% endset %}{{c}}{% endfor %}",
    "{% set ns=namespace(a=1) %}{% set ns.a %}{{ ns.a }}x{% endset %}{{ns.a}}",
    "{% set x %}{% set x %}{{x}}a{% endset %}{{x}}b{% endset %}{{x}}",
    "{% set c %}{% if c is defined %}d{% else %}u{% endif %}{% endset %}{{c}}",
    "{% set q=5 %}{% set q %}{% for i in [1] %}{{q}}{% set q=7 %}{{q}}{% endfor %}{{q}}{% endset %}{{q}}",
    "{% set c %}{% for i in [1] %}{{ c }}{% endfor %}{% endset %}{{c}}",
    "{% macro m2() %}{{ caller() }}{% endmacro %}{% set c %}{% call m2() %}{{ c }}{% endcall %}{% endset %}{{c}}",
    "{% filter upper %}{{ c }}{% set c = 'in' %}{{ c }}{% endfilter %}{{ c }}",
    "{% set d = c %}{% set c = 1 %}{{ d }}{{ c }}",
    "{% set c = c %}{{ c }}",
    "{% set c = c|default('d') %}{{ c }}",
    "{% set c %}{{ c|default('d') }}{% endset %}{{ c }}",
    "{{ c }}{% set c %}<{{ c }}>{% endset %}{{c}}",
    "{% for i in [1] %}{{ c }}{% endfor %}{% set c %}<{{ c }}>{% endset %}{{c}}",
    "{% if c %}{% endif %}{% set c %}<{{ c }}>{% endset %}{{c}}",
    "{% set z %}{{ c }}{% endset %}{% set c %}<{{ c }}>{% endset %}{{c}}",
    "{% set c %}<{{ c }}>{% endset %}{{c}}{% set c %}<{{ c }}>{% endset %}{{c}}",
    "{% set c %}<{{ self }}>{% endset %}{{c}}",
    "{% set self %}<{{ self }}>{% endset %}{{ self }}",
    "{% set loop %}<{{ loop }}>{% endset %}{{ loop }}",
    "{% set range %}<{{ range(3)|list }}>{% endset %}{{ range }}",
    "{% set range = range(3) %}{{ range }}",
    "{% set a, b = 1, 2 %}{% set a %}{{ a }}{{ b }}{% endset %}{{ a }}",
    "{% with l = 4 %}{% set l %}{{ l }}{% endset %}{{ l }}{% endwith %}{{ l }}",
    "{% with %}{% set l %}{{ l }}{% endset %}{{ l }}{% endwith %}{{ l }}",
    "{% filter upper %}{% set l %}{{ l }}{% endset %}{{ l }}{% endfilter %}{{ l }}",
    "{% generation %}{% set l %}{{ l }}{% endset %}{{ l }}{% endgeneration %}{{ l }}",
    "{% set l %}{% set x = l %}{{ x }}{% endset %}{{ l }}",
    "{% set l %}{{ x }}{% set x = l %}{% endset %}{{ l }}",
    "{% macro l() %}M{% endmacro %}{% set l %}{{ l() }}{% endset %}{{ l }}",
    "{% set l %}{{ l is string }}{{ l is none }}{{ l == l }}{% endset %}{{ l }}",
    "{% set l %}{{ l.x }}{% endset %}{{ l }}",
    "{% set l %}{{ l.x.y }}{% endset %}{{ l }}",
    "{{ self }}",
    "{{ self is defined }}",
    "{{ self.x }}",
    "{{ self['role'] }}",
    "{{ self|length }}",
    "{% set self = 3 %}{{ self }}",
    "{% for self in [1,2] %}{{self}}{% endfor %}",
    "{% macro m(self) %}{{ self }}{% endmacro %}{{ m(4) }}",
    "{% macro m() %}{{ self }}{% endmacro %}{{ m() }}",
    "{{ self == self }}",
    "{% if self %}a{% endif %}",
    "{{ self is mapping }}{{ self is string }}{{ self is iterable }}{{ self is sequence }}{{ self is callable }}{{ self is undefined }}",
    "{{ self.x is defined }}",
    "{% set ns = namespace(self=3) %}{{ ns.self }}",
    "{{ self|tojson }}",
    "{{ self() }}",
    "{{ [self]|length }}",
    "{{ self ~ '' }}",
    "{% if 0 %}{% set self=1 %}{% endif %}{{ self }}",
    "{{ self|default('d') }}",
    "{% for i in [1] %}{{ self }}{% endfor %}",
    "{{ self.a.b }}",
    "{{ self.x() }}",
    "{% for i in self %}x{% endfor %}",
    "{{ dict(self=1) }}",
    "{{ 'x' in self }}",
    "{% if 1 %}{{ self }}{% set self = 1 %}{% endif %}{{ self }}",
    "{% for i in [1] %}{% set self = 1 %}{% endfor %}{{ self }}",
    "{{ self }}{% set self = 2 %}{{ self }}",
    "{% set self = self %}{{ self }}",
    "{% set self = 'a' %}{% for i in [1] %}{{ self }}{% endfor %}{% macro m() %}{{ self }}{% endmacro %}{{ m() }}",
    "{% for i in [1] %}{% if 0 %}{% set self = 1 %}{% endif %}{{ self }}{% endfor %}",
    "{% set x = self %}{{ x }}",
    "{% with self = 3 %}{{ self }}{% endwith %}{{ self }}",
    "{% filter upper %}{{ self }}{% endfilter %}",
    "{% for self in [1] %}{{ self }}{% endfor %}{{ self }}",
    "{{ self if self else 1 }}",
    "{{ self < 1 }}",
    "{{ self == 'SS' }}",
    "{{ self|upper }}",
    "{{ self|list }}",
    "{{ (self|string)|length }}",
    "{{ self|map('upper')|list }}",
    "{{ not self }}",
    "{{ self is sameas self }}",
    "{% macro m(x) %}{{ x }}{% endmacro %}{{ m(self) }}",
    "{% macro m() %}{{ caller() }}{% endmacro %}{% call m() %}{{ self }}{% endcall %}",
]
# functions as a JSON text, and the date, in the system turn; calls after "functools"
FUNCTIONS = """{%- set more = 'Functions:\n' + functions + '\nToday is ' + datetime + '.' -%}
{%- for m in messages -%}
  {%- if loop.first -%}{{ bos_token + '[system]' + (m.content|trim + '\n' if m.role == 'system' else '') + more }}{%- endif -%}
  {%- if not loop.first or m.role != 'system' -%}[{{ m.role }}]{{ m.content|default('', true)|trim }}
    {%- if m.tool_calls %} functools[{% for c in m.tool_calls %}{{ ', ' if not loop.first }}{"name": "{{ c.function.name }}", "arguments": {{
      c.function.arguments|tojson }}}{% endfor %}]{% endif -%}
  {%- endif -%}
{%- endfor -%}
[assistant]"""


def functions():
    """rows of conversations without tools, with some, and with a call and its result"""
    tool = [{"type": "function", "function": {"name": "look_up", "description": 'in "Köln" 格\n', "parameters": {"type": "object", "properties": {
        "n": {"type": "number", "enum": [1, 2.5, 1e300, None]}, "empty": {}, "list": {"type": "array", "items": []}}}}},
            {"type": "function", "function": {"name": "other"}}]
    user = [{"role": "user", "content": "Hi"}]
    call = user + [{"role": "assistant", "content": "", "tool_calls": [{"id": "a", "type": "function", "function": {
        "name": "look_up", "arguments": {"n": 1, "text": "é"}}}]}, {"role": "tool", "content": "7", "tool_call_id": "a"}]
    for messages, tools in (user, None), (user, tool), ([{"role": "system", "content": "Be brief."}] + user, tool[1:]), (call, tool):
        context = {"messages": messages, "bos_token": "", "functions": json.dumps([t["function"] for t in tools], indent=4) if tools else "",
                   "datetime": lib.NOW.strftime("%b %d %Y")}
        text, why = lib.python(lib.environment(), FUNCTIONS, context)
        yield {"template": FUNCTIONS, "messages": messages, "tools": tools, "text": text}


VALUES = {"l": "ctx", "c": "cc", "self": "SS", "q": "qq", "x": "xx"}


def row(env, template, context, again):
    text, why = lib.python(env, template, context)
    r = {"template": None if again else template, "context": context}
    r.update({"text": text} if text is not None else {"fails": type(why).__name__})
    return r


def once(rows):
    """the context is the same in all"""
    for x in rows[1:]:
        x["context"] = None
    return rows


def put(name, rows):
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / name).write_text("".join(json.dumps(r, ensure_ascii=False, separators=(",", ":")) + "\n" for r in rows))


def main():
    r, env = random.Random(7), lib.environment()
    put("chat.jsonl", [row(env, t, check.conversation(r), i > 0) for t in CHAT for i in range(25)])
    rows = [row(env, t, check.CONTEXT, False) for t in PARTS]
    while len(rows) < len(PARTS) + 250:
        t = check.body(r) if r.random() < .4 else f"{{{{ {check.expr(r, 3)} }}}}"
        x = row(env, t, check.CONTEXT, False)
        if "text" in x and 3 < len(x["text"]) < 300 and len(t) < 400 and not any(v in x["text"].lower() for v in check.VAGUE + ("object at",)):
            rows.append(x)
    put("parts.jsonl", once(rows))
    put("functions.jsonl", list(functions()))
    put("names.jsonl", [x for c in ({}, VALUES) for x in once([row(env, t, c, False) for t in NAMES])])


if __name__ == "__main__":
    import warnings
    warnings.simplefilter("ignore")
    main()
