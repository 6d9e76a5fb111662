#!/usr/bin/env python3
"""Answers of models and what is in them: tests/golden/reply/cases.jsonl.

For each way to write calls there is a small chat template of our own; Python's jinja2 writes the assistant's turn with it, and
the message it was written from is what must be read back.  Behind these, answers that are cut off, broken or odd, with what
is in them written by hand."""
import json
import pathlib

import jinjalib

OUT = pathlib.Path(__file__).parent.parent / "tests/golden/reply/cases.jsonl"
THINK = ("<think>", "</think>")
ARGS = {"text": "two\nlines, \"quoted\" é 格 </x> {", "n": -7, "list": [1.5, {"b": None, "c": "]"}], "flag": True, "word": ""}
WHOLE = {"text": "one\n<two> & \"three\" 格", "n": -7, "list": [1.5, {"b": True, "c": "]", "d": [["x"], 2]}], "flag": True, "word": ""}
PLAIN = {"text": "it is [plain] é 格, (so)", "n": 7, "list": [1.5, {"b": None}, ["x"]], "flag": False, "word": ""}
PARAMS = {"text": {"type": "string"}, "n": {"type": "integer"}, "list": {"type": "array"}, "flag": {"type": ["boolean", "null"]},
          "word": {"enum": ["", "a"]}, "note": {"type": ["string", "null"]}}
NAMES = ["look_up", "look_up_more", "python"]
TOOLS = [{"type": "function", "function": {"name": n, "description": "d", "parameters": {"type": "object", "properties": PARAMS}}}
         for n in NAMES]
OBJECT = "{'name': c.function.name, 'arguments': c.function.arguments}"
EACH = "{%% for c in m.tool_calls %%}%s{%% endfor %%}"
LIST = "{%% for c in m.tool_calls %%}{{ '%s[' if loop.first else ', ' }}{{ %s|tojson }}{{ ']%s' if loop.last }}{%% endfor %%}"
TAGS = "{%% for k, v in c.function.arguments|items %%}%s{%% endfor %%}"
PYTHON = """{% macro py(v) %}{% if v is string %}"{{ v }}"{% elif v is mapping %}{{ '{' }}{% for k, w in v|items %}{{ ', ' if not loop.first }}"{{ k
}}": {{ py(w) }}{% endfor %}{{ '}' }}{% elif v is sequence %}[{% for w in v %}{{ ', ' if not loop.first }}{{ py(w) }}{% endfor %}]{% else %}{{ v }}{% endif
%}{% endmacro %}"""
GEMMA = """{% macro gm(v) %}{% if v is string %}<|"|>{{ v }}<|"|>{% elif v is mapping %}{{ '{' }}{% for k, w in v|items %}{{ ',' if not loop.first }}{{ k
}}:{{ gm(w) }}{% endfor %}{{ '}' }}{% elif v is sequence %}[{% for w in v %}{{ ',' if not loop.first }}{{ gm(w) }}{% endfor %}]{% else %}{{ v|tojson }}{% endif
%}{% endmacro %}"""
# tags within tags; null is left out
TREE = """{% macro tree(v) %}{% if v is mapping %}{% for k, w in v|items %}]<]minimax[>[<{{ k }}>{{ tree(w) }}]<]minimax[>[</{{ k }}>{% endfor %}{% elif v is string
%}{{ v }}{% elif v is sequence %}{% for w in v %}]<]minimax[>[<item>{{ tree(w) }}]<]minimax[>[</item>{% endfor %}{% else %}{{ v|tojson }}{% endif %}{% endmacro %}"""
TYPE = """{{ 'string' if v is string else 'boolean' if v is boolean else 'null' if v is none else 'number' if v is number else 'object' if v is mapping else
'array' }}"""
JSON = "{{ c.function.arguments|tojson }}"
NAME = "{{ c.function.name }}"
VALUE = "{{ v if v is string else v|tojson }}"

# name: (calls, (opens reasoning, closes it), {options})
FORMATS = {
    "hermes": (EACH % ("\n<tool_call>\n{{ " + OBJECT + "|tojson }}\n</tool_call>"), THINK, {}),
    "qwen3-coder": (EACH % ("\n<tool_call>\n<function=" + NAME + ">\n" + TAGS % ("<parameter={{ k }}>\n" + VALUE + "\n</parameter>\n") +
                            "</function>\n</tool_call>"), THINK, {"opened": True}),
    "seed": (EACH % ("\n<seed:tool_call>\n<function=" + NAME + ">\n" + TAGS % ("<parameter={{ k }}>" + VALUE + "</parameter>\n") +
                     "</function>\n</seed:tool_call>"), ("<seed:think>", "</seed:think>"), {}),
    "minimax": ("\n<minimax:tool_call>\n" + EACH % ('<invoke name="' + NAME + '">\n' + TAGS % ('<parameter name="{{ k }}">' + VALUE +
                "</parameter>\n") + "</invoke>\n") + "</minimax:tool_call>", THINK, {"opened": True}),
    "dsml": ("\n\n<｜DSML｜function_calls>\n" + EACH % ('<｜DSML｜invoke name="' + NAME + '">\n' + TAGS % (
        '<｜DSML｜parameter name="{{ k }}" string="{{ "true" if v is string else "false" }}">' + VALUE + "</｜DSML｜parameter>\n") +
        "</｜DSML｜invoke>\n") + "</｜DSML｜function_calls>", THINK, {"opened": True}),
    "glm": (EACH % ("\n<tool_call>" + NAME + "\n" + TAGS % "<arg_key>{{ k }}</arg_key>\n<arg_value>{{ v if v is string else v|tojson }}</arg_value>\n" +
                    "</tool_call>"), THINK, {}),
    "deepseek-r1": ("<｜tool▁calls▁begin｜>" + EACH % ("<｜tool▁call▁begin｜>function<｜tool▁sep｜>" + NAME + "\n```json\n" + JSON +
                    "\n```<｜tool▁call▁end｜>") + "<｜tool▁calls▁end｜>", THINK, {"opened": True}),
    "deepseek-v3.1": ("<｜tool▁calls▁begin｜>" + EACH % ("<｜tool▁call▁begin｜>" + NAME + "<｜tool▁sep｜>" + JSON + "<｜tool▁call▁end｜>") +
                      "<｜tool▁calls▁end｜>", THINK, {"opened": True}),
    "kimi": ("<|tool_calls_section_begin|>" + EACH % ("<|tool_call_begin|>{{ c.id }}<|tool_call_argument_begin|>" + JSON + "<|tool_call_end|>") +
             "<|tool_calls_section_end|>", THINK, {"id": "functions.%s:%d"}),
    "kimi-k3": ("<|open|>tools<|sep|>" + EACH % ('<|open|>call tool="' + NAME + '" index="{{ loop.index }}"<|sep|>' + TAGS % (
        '<|open|>argument key="{{ k }}" type="' + TYPE + '"<|sep|>' + VALUE + "<|close|>argument<|sep|>") + "<|close|>call<|sep|>") + "<|close|>tools<|sep|>",
        ("<|open|>think<|sep|>", "<|close|>think<|sep|>"), {"opened": True, "around": ("<|open|>response<|sep|>", "<|close|>response<|sep|>")}),
    "minimax-m3": (TREE + "]<]minimax[>[<tool_call>\n" + EACH % (']<]minimax[>[<invoke name="' + NAME + '">{{ tree(c.function.arguments) }}'
                   "]<]minimax[>[</invoke>\n") + "]<]minimax[>[</tool_call>", ("<mm:think>", "</mm:think>"), {"args": WHOLE}),
    "atem": (EACH % ("{{ '<|eom|><|start|>assistant' if not loop.first }} to=" + NAME + '<|message|><atem:function_calls>\n<atem:invoke name="' + NAME + '">\n' +
             TAGS % ('<atem:parameter name="{{ k }}">' + VALUE + "</atem:parameter>\n") + "</atem:invoke>\n</atem:function_calls>"),
             (" to=self<|message|>", "<|eom|><|start|>assistant"), {"before": "<|start|>assistant", "around": (
                 " to=user<|message|>", "{{ '<|eom|><|start|>assistant' if m.tool_calls }}")}),
    "minicpm": (EACH % ('<function name="' + NAME + '">' + TAGS % ('<param name="{{ k }}">' + "{{ '<![CDATA[' + v + ']]>' if v is string and ('<' in v or '&' in v or"
                " '\\n' in v) else v if v is string else v|tojson }}</param>") + "</function>\n"), THINK, {"args": WHOLE}),
    "mistral": (LIST % ("[TOOL_CALLS]", "{'name': c.function.name, 'arguments': c.function.arguments, 'id': c.id}", ""), ("[THINK]", "[/THINK]"),
                {"id": "abcde000%.0s%d"}),
    "mistral-args": (EACH % ("[TOOL_CALLS]" + NAME + "[ARGS]" + JSON), ("[THINK]", "[/THINK]"), {}),
    "mistral-id": (EACH % ("[TOOL_CALLS]" + NAME + "[CALL_ID]{{ c.id }}[ARGS]" + JSON), ("[THINK]", "[/THINK]"), {"id": "abcde000%.0s%d"}),
    "functionary-3.1": (EACH % ("<function=" + NAME + ">" + JSON + "</function>"), THINK, {}),
    "functionary-3.2": (EACH % (">>>" + NAME + "\n" + JSON), None, {"before": "", "prompt": ">>>", "around": (">>>all\n", "")}),
    "mcp": (EACH % ("\n<use_mcp_tool>\n<server_name>s</server_name>\n<tool_name>" + NAME + "</tool_name>\n<arguments>\n" + JSON +
                    "\n</arguments>\n</use_mcp_tool>"), THINK, {}),
    "command-r7b": (LIST % ("<|START_ACTION|>", "{'tool_call_id': c.id, 'tool_name': c.function.name, 'parameters': c.function.arguments}",
                    "<|END_ACTION|>"), ("<|START_THINKING|>", "<|END_THINKING|>"), {"id": "%.0s%d", "around": ("<|START_RESPONSE|>", "<|END_RESPONSE|>")}),
    "command-r": (LIST % ("Action:\\n```json\\n", "{'tool_name': c.function.name, 'parameters': c.function.arguments}", "\\n```"), None, {}),
    "apertus": (LIST % ("<|tools_prefix|>", "{c.function.name: c.function.arguments}", "<|tools_suffix|>"), ("<|inner_prefix|>", "<|inner_suffix|>"), {}),
    "granite": (LIST % ("<|tool_call|>", OBJECT, ""), THINK, {"around": ("<response>", "</response>")}),
    "gigachat": (EACH % ("<|function_call|>{{ " + OBJECT + "|tojson }}"), None, {}),
    "gigachat-3": (EACH % ("<|message_sep|>\n\nfunction call<|role_sep|>\n{{ " + OBJECT + "|tojson }}"), None, {}),
    "apriel": (LIST % ("<tool_calls>", OBJECT, "</tool_calls>"), ("Here are my reasoning steps:\n", "\n[BEGIN FINAL RESPONSE]\n"),
               {"opened": True, "keep": True}),
    "nemotron-2": (LIST % ("<TOOLCALL>", OBJECT, "</TOOLCALL><SPECIAL_12>"), THINK, {}),
    "firefunction": (LIST % (" functools", OBJECT, ""), None, {}),
    "lfm2": (PYTHON + "{#List of tools: #}{% for c in m.tool_calls %}{{ '<|tool_call_start|>[' if loop.first else ', ' }}" + NAME +
             "({% for k, v in c.function.arguments|items %}{{ ', ' if not loop.first }}{{ k }}={{ py(v) }}{% endfor %})"
             "{{ ']<|tool_call_end|>' if loop.last }}{% endfor %}", THINK, {"args": PLAIN}),
    "gemma": (GEMMA + EACH % ("<|tool_call>call:" + NAME + "{{ gm(c.function.arguments) }}<tool_call|>"), ("<|channel>thought\n", "<channel|>"), {}),
    "llama": (EACH % '{"name": "{{ c.function.name }}", "parameters": {{ c.function.arguments|tojson }}}', None, {"first": True}),
    "harmony": (EACH % ("<|start|>assistant<|channel|>commentary to=functions." + NAME + " <|constrain|>json<|message|>" + JSON + "<|call|>"),
                ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant"),
                {"before": "<|start|>assistant", "around": ("<|channel|>final<|message|>", "<|end|>")}),
}


def template(calls, think, options):
    around = options.get("around", ("", ""))
    before = options.get("before", "[assistant]")
    opened = think[0] if think and options.get("opened") else ""
    mine = "{% if m.content %}" + around[0] + "{{ m.content }}" + around[1] + "{% endif %}"
    if think:
        mine = "{% if m.reasoning_content is defined %}{{ " + repr(think[0]) + " + m.reasoning_content + " + repr(think[1]) + " }}{% endif %}" + mine
    calls = "{% if m.tool_calls %}" + calls + "{% endif %}"
    return ("{% for m in messages %}{% if m.role == 'assistant' %}" + before + mine + calls + "[end]{% else %}[{{ m.role }}]{{ m.content }}[end]"
            "{% endif %}{% endfor %}{% if add_generation_prompt %}{{ " + repr(options.get("prompt", before) + opened) + " }}{% endif %}")


def messages(name, think, options):
    args = options.get("args", ARGS)
    call = [{"id": options.get("id", "call00000") % (n, i) if "id" in options else "call00000", "type": "function",
             "function": {"name": n, "arguments": a}} for i, (n, a) in enumerate([("look_up", args), ("look_up_more", {})])]
    reason = {"reasoning_content": "First this, then\n\"that\" <b>."} if think else {}
    yield {"content": "Hello, world!\nWhat's up?"}
    if think:
        yield {"content": "Hello, world!\nWhat's up?", **reason}
    yield {"content": "", **reason, "tool_calls": call[:1]}
    if not options.get("first"):
        yield {"content": "I shall look.", **reason, "tool_calls": call}


def answers(env, name, calls, think, options):
    source = template(calls, think, options)
    user = {"role": "user", "content": "Hi"}
    prompt, error = jinjalib.python(env, source, {"messages": [user], "add_generation_prompt": True})
    assert not error, (name, error)
    for m in messages(name, think, options):
        if options.get("opened") and "reasoning_content" not in m:
            m["reasoning_content"] = ""
        full, error = jinjalib.python(env, source, {"messages": [user, {"role": "assistant", **m}], "tools": TOOLS})
        assert not error and full.startswith(prompt) and full.endswith("[end]"), (name, error, prompt, full)
        reasoning = m.get("reasoning_content", "")
        if options.get("keep"):
            reasoning = think[0] + reasoning
        yield {"template": name, "prompt": prompt, "input": full[len(prompt):-len("[end]")], "content": m["content"],
               "reasoning": reasoning, "tool_calls": [
                   {"name": c["function"]["name"], "id": c["id"] if "id" in options else "", "arguments": json.dumps(c["function"]["arguments"], ensure_ascii=False)}
                   for c in m.get("tool_calls", [])]}


def call(name, arguments, id=""):
    return {"name": name, "id": id, "arguments": arguments}


# (template, input, content, reasoning, calls[, options])
ODD = [
    ("hermes", "<tool_call>\n{\"name\": \"nothing\", \"arguments\": {}}\n</tool_call>", "<tool_call>\n{\"name\": \"nothing\", \"arguments\": {}}\n</tool_call>", "", []),
    ("hermes", "Write <tool_call> tags.", "Write <tool_call> tags.", "", []),
    ("hermes", "a <tool_call>{\"name\": \"look_up\", \"arguments\": {\"n\": 1", "a", "", [call("look_up", "{\"n\": 1")]),
    ("hermes", "<tool_call>{\"name\": \"look_", "<tool_call>{\"name\": \"look_", "", []),
    ("hermes", "<tool_call>{\"arguments\": {\"n\": 1}, \"name\": \"look_up\"}</tool_call> done", "done", "", [call("look_up", "{\"n\": 1}")]),
    ("hermes", "<tool_call>{\"id\": \"x\", \"name\": \"look_up\", \"arguments\": \"{\\\"n\\\": 1}\"}</tool_call>", "", "", [call("look_up", "{\"n\": 1}", "x")]),
    ("hermes", "<tool_call>{\"name\": \"look_up\"}</tool_call>", "", "", [call("look_up", "{}")]),
    ("hermes", "<tool_call>{\"name\": \"look_up\", \"arguments\": {\"n\": oops}}</tool_call>x", "x", "", [call("look_up", "{\"n\": oops}")]),
    ("hermes", "<tool_call><tool_call>[{\"name\": \"look_up\", \"arguments\": {}}, {\"name\": \"python\", \"arguments\": {}}]</tool_call>", "<tool_call>", "",
     [call("look_up", "{}"), call("python", "{}")]),
    ("hermes", "<tool_call>{\"name\": \"look_up\", \"arguments\": {}}}</tool_call>", "", "", [call("look_up", "{}")]),
    ("hermes", "<tool_call>[{\"name\": \"look_up\", \"arguments\": {},\n}]]</tool_call>\n}", "", "", [call("look_up", "{}")]),
    ("hermes", "<tool_call>{\"name\": \"look_up\", \"arguments\": {}, oops}</tool_call>", ", oops}</tool_call>", "", [call("look_up", "{}")]),
    ("hermes", "<think>a</think>b<think>c</think>", "b<think>c</think>", "a", []),
    ("hermes", "b <think>c</think>", "b <think>c</think>", "", []),
    ("hermes", "<think>a <tool_call>{\"name\": \"look_up\"}", "", "a <tool_call>{\"name\": \"look_up\"}", []),
    ("hermes", "</think>b", "b", "", []),
    ("hermes", "<think>a</thi", "", "a</thi", []),
    ("hermes", "<thi", "<thi", "", []),
    ("hermes", "  a\n\n", "  a\n\n", "", []),
    ("hermes", "<think>a</think>b", "<think>a</think>b", "", [], {"inline": True}),
    ("hermes", "<think>\na <tool_call>{\"name\": \"look_up\"}</tool_call></think>\n\nb<tool_call>{\"name\": \"look_up\"}</tool_call>",
     "<think>\na <tool_call>{\"name\": \"look_up\"}</tool_call></think>\n\nb", "", [call("look_up", "{}")], {"inline": True}),
    ("hermes", "<think>a</think>```json\n{\"a\": \"```\"}\n```\n", "{\"a\": \"```\"}", "a", [], {"json": True}),
    ("hermes", "{\"a\": 1}", "{\"a\": 1}", "", [], {"json": True}),
    ("qwen3-coder", "a</think>b", "<think>a</think>b", "", [], {"inline": True}),
    ("qwen3-coder", "a", "", "a", []),
    ("qwen3-coder", "</think><function=look_up>\n<parameter=n>\nTrue\n</parameter>\n<parameter=flag>\nTrue\n</parameter>\n<parameter=note>\nnull\n</parameter>\n"
     "</function>", "", "", [call("look_up", "{\"n\": true, \"flag\": true, \"note\": null}")]),
    ("qwen3-coder", "</think><function=look_up><parameter=note>\n12\n</parameter><parameter=n>twelve</parameter><parameter=other>[1]</parameter></function>", "", "",
     [call("look_up", "{\"note\": \"12\", \"n\": \"twelve\", \"other\": [1]}")]),
    ("qwen3-coder", "</think><function=look_up><parameter=text>\na\n</para", "", "", [call("look_up", "{\"text\": \"a\\n</para")]),
    ("qwen3-coder", "</think><function=look_up><parameter=text>a</parameter>oops", "oops", "", [call("look_up", "{\"text\": \"a\"}")]),
    # numbers beyond double stay as they are written
    ("glm", "<tool_call>look_up\n<arg_key>n</arg_key>\n<arg_value>-256.155E925</arg_value>\n<arg_key>list</arg_key>\n<arg_value>[1e999, 2]</arg_value>\n"
     "</tool_call>", "", "", [call("look_up", "{\"n\": -256.155E925, \"list\": [1e999, 2]}")]),
    ("dsml", "</think><｜DSML｜function_calls>\n<｜DSML｜invoke name=\"look_up\">\n<｜DSML｜parameter name=\"n\" string=\"false\">-256.155E925"
     "</｜DSML｜parameter>\n<｜DSML｜parameter name=\"list\" string=\"false\">[1e999, 2]</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>", "", "",
     [call("look_up", "{\"n\": -256.155E925, \"list\": [1e999, 2]}")]),
    ("kimi", "<think>a<|tool_call_begin|>functions.look_up:0<|tool_call_argument_begin|>{}", "", "a", [call("look_up", "{}", "functions.look_up:0")]),
    ("lfm2", "[look_up(n=1), [look_up(2)] [look_up]", ", [look_up(2)] [look_up]", "", [call("look_up", "{\"n\": 1}")]),
    ("lfm2", "[look_up(n=1, text='it\\'s')]x", "x", "", [call("look_up", "{\"n\": 1, \"text\": \"it's\"}")]),
    ("lfm2", "[look_up(list=[(1, True), {'a': None,}], text='''b''',)]", "", "", [call("look_up", "{\"list\": [[1, true], {\"a\": null}], \"text\": \"b\"}")]),
    ("lfm2", "[look_up(n=]", "", "", [call("look_up", "{\"n\": null}")]),
    # a tag, or a call without arguments, that the end of the answer cut: not text after a call
    ("hermes", "<tool_call>{\"name\": \"look_up\", \"arguments\": {}}\n</too", "", "", [call("look_up", "{}")]),
    ("hermes", "<tool_call>{\"name\": \"look_up\", \"arguments\": {}}\n</tool_call>\n<tool_c", "", "", [call("look_up", "{}")]),
    ("hermes", "<tool_call>{\"name\": \"look_up\", \"arguments\": {}}\n</tool_call>\n<tool_call>", "", "", [call("look_up", "{}")]),
    ("hermes", "<tool_call>{\"name\": \"look_up\", \"arguments\": {}}\n</tool_call>\n<tool_call>{\"name\": \"loo", "", "", [call("look_up", "{}")]),
    ("hermes", "<tool_call>{\"name\": \"look_up\", \"arguments\": {}}</tool_call> so <", "so <", "", [call("look_up", "{}")]),
    ("hermes", "<tool_call>{\"name\": \"look_up\", \"arguments\": {}}</two", "</two", "", [call("look_up", "{}")]),
    ("hermes", "so </too", "so </too", "", []),
    # in strings of Python
    ("lfm2", "[look_up(text=\"a\\nb\\t\\\\c\\d\")]", "", "", [call("look_up", json.dumps({"text": "a\nb\t\\c\\d"}))]),
    # calls before the reasoning is closed
    ("qwen3-coder", "Look first.\n<tool_call>\n<function=look_up>\n<parameter=n>\n1\n</parameter>\n</function>\n</tool_call>", "", "Look first.",
     [call("look_up", "{\"n\": 1}")]),
    ("qwen3-coder", "<tool_call>\n<function=look_up>\n</function>\n</tool_call>\n</think>\n\nDone.</think>", "Done.</think>", "", [call("look_up", "{}")]),
    ("qwen3-coder", "Is there <tool_call>\n<function=nothing>\n</function>\n</tool_call>?</think>No.", "No.",
     "Is there <tool_call>\n<function=nothing>\n</function>\n</tool_call>?", []),
    ("dsml", "So:\n\n<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"look_up\">\n</｜DSML｜invoke>\n</｜DSML｜function_calls>", "", "So:", [call("look_up", "{}")]),
    ("glm", "<think>So:<tool_call>look_up\n<arg_key>n</arg_key>\n<arg_value>2</arg_value>\n</tool_call>", "", "So:", [call("look_up", "{\"n\": 2}")]),
    # the newline at the end of a value, and newlines around one
    ("seed", "<seed:tool_call>\n<function=look_up>\n<parameter=text>a\nb\n</parameter>\n<parameter=note>\nc\n</parameter>\n</function>\n</seed:tool_call>", "", "",
     [call("look_up", json.dumps({"text": "a\nb\n", "note": "c"}))]),
    ("qwen3-coder", "</think><function=look_up><parameter=text>\na\n\n</parameter></function>", "", "", [call("look_up", json.dumps({"text": "a\n"}))]),
    ("minicpm", "<function name=\"look_up\"><param name=\"text\"><![CDATA[a</param>]]b]]></param><param name=\"list\"><![CDATA[[1]]]></param></function> so", "so", "",
     [call("look_up", json.dumps({"text": "a</param>]]b", "list": [1]}))]),
    ("minicpm", "<function name=\"look_up\"><param name=\"text\"><![CDATA", "", "", [call("look_up", "{\"text\": \"<![CDATA")]),
    ("minicpm", "<function name=\"look_up\"><param name=\"flag\">True</param><param name=\"list\">['a', None]</param></function>", "", "",
     [call("look_up", json.dumps({"flag": True, "list": ["a", None]}))]),
    ("minicpm", "#include <function name=\"other\">", "#include <function name=\"other\">", "", []),
    ("minimax-m3", "</mm:think>]<]minimax[>[<tool_call>]<]minimax[>[<invoke name=\"look_up\">]<]minimax[>[<text>]<]minimax[>[<b>c]<]minimax[>[</b>]<]minimax[>[</text>"
     "]<]minimax[>[<other>]<]minimax[>[<item>1]<]minimax[>[</item>]<]minimax[>[<item>a b]<]minimax[>[</item>]<]minimax[>[</other>]<]minimax[>[</invoke>"
     "]<]minimax[>[</tool_call>", "", "", [call("look_up", json.dumps({"text": "]<]minimax[>[<b>c]<]minimax[>[</b>", "other": [1, "a b"]}))]),
    ("minimax-m3", "]<]minimax[>[<invoke name=\"look_up\">]<]minimax[>[<list>]<]minimax[>[</list>]<]minimax[>[<other>\n]<]minimax[>[<list>]<]minimax[>[<list>x"
     "]<]minimax[>[</list>]<]minimax[>[</list>\n]<]minimax[>[</other>]<]minimax[>[</invoke>", "", "",
     [call("look_up", json.dumps({"list": [], "other": {"list": {"list": "x"}}}))]),
    ("minimax-m3", "]<]minimax[>[<invoke name=\"look_up\">]<]minimax[>[<other>]<]minimax[>[<a>1]<]minimax[>[</b>]<]minimax[>[</other>]<]minimax[>[</invoke>", "", "",
     [call("look_up", json.dumps({"other": "]<]minimax[>[<a>1]<]minimax[>[</b>"}))]),
    ("minimax-m3", "a]<]minimax[>[<invoke name=\"look_up\">]<]minimax[>[<text>b]<]mini", "a", "", [call("look_up", "{\"text\": \"b]<]mini")]),
    ("minimax-m3", "a ]<]minimax[>[<tool_call> b", "a ]<]minimax[>[<tool_call> b", "", []),
    ("kimi-k3", "a<|open|>response<|sep|>b<|close|>response<|sep|><|close|>message<|sep|>", "b", "a", []),
    ("kimi-k3", "a<|open|>response<|sep|>b", "ab", "", [], {"inline": True}),
    ("kimi-k3", "a<|close|>think<|sep|><|open|>tools<|sep|><|open|>call tool=\"look_up\" index=\"1\"<|sep|><|open|>json type=\"object\"<|sep|>{\"n\": 1}"
     "<|close|>json<|sep|><|close|>call<|sep|><|close|>tools<|sep|>", "", "a", [call("look_up", "{\"n\": 1}")]),
    ("kimi-k3", "a<|open|>tools<|sep|><|open|>call tool=\"look_up\" index=\"1\"<|sep|><|open|>argument key=\"word\" type=\"string\"<|sep|>12", "", "a",
     [call("look_up", "{\"word\": \"12")]),
    ("atem", " to=user<|message|>Write <atem:function_calls>\n<atem:invoke name=\"look_up\">\n</atem:invoke>", "Write <atem:function_calls>\n<atem:invoke name=\"look_up\">\n"
     "</atem:invoke>", "", []),
    ("atem", " to=look_up<|message|><atem:function_calls>\n<atem:invoke name=\"look_up\">\n</atem:invoke>\n<atem:invoke name=\"python\">\n</atem:invoke>\n"
     "</atem:function_calls><|eot|>", "", "", [call("look_up", "{}"), call("python", "{}")]),
    ("atem", " to=self<|message|>a <atem:invoke name=\"look_up\"><|eom|><|start|>assistant to=self<|message|>b<|eom|><|start|>assistant<|message|>c<|eot|>", "c",
     "a <atem:invoke name=\"look_up\">\nb", []),
    ("atem", " to=nobody<|message|>a", " to=nobody<|message|>a", "", []),
    ("llama", "{\"name\": \"look_up\", \"parameters\": {\"n\": 1}}; {\"name\": \"python\", \"parameters\": {}}", "", "",
     [call("look_up", "{\"n\": 1}"), call("python", "{}")]),
    ("llama", "So: {\"name\": \"look_up\", \"parameters\": {\"n\": 1}}", "So: {\"name\": \"look_up\", \"parameters\": {\"n\": 1}}", "", []),
    ("llama", "<|python_tag|>print(\"a\")\n", "", "", [call("python", "{\"code\": \"print(\\\"a\\\")\\n\"}")]),
    ("llama", "<|python_tag|>look_up.call(text=\"a\")", "", "", [call("look_up", "{\"text\": \"a\"}")]),
    ("harmony", "<|channel|>commentary to=functions.nothing<|message|>{}", "<|channel|>commentary to=functions.nothing<|message|>{}", "", []),
    ("harmony", "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>analysis<|message|>b", "", "a\nb", []),
    ("harmony", "plain", "plain", "", []),
    ("gemma", "a<channel|>b<|channel>thought\nc<channel|>d", "abd", "c", []),
    ("functionary-3.2", "plain", "plain", "", []),
    ("functionary-3.2", "python\nprint(1)", "", "", [call("python", "{\"code\": \"print(1)\"}")]),
]


def main():
    env = jinjalib.environment()
    with OUT.open("w", encoding="utf-8") as f:
        def put(row):
            f.write(json.dumps(row, ensure_ascii=False) + "\n")
        put({"tools": TOOLS})   # of all that follow
        prompts = {}
        for name, (calls, think, options) in FORMATS.items():
            put({"name": name, "source": template(calls, think, options)})
            for row in answers(env, name, calls, think, options):
                prompts[name] = row["prompt"]
                put(row)
        for name, text, content, reasoning, calls, *options in ODD:
            put({"template": name, "prompt": prompts[name], "input": text, "content": content, "reasoning": reasoning,
                 "tool_calls": calls, **(options[0] if options else {})})


main()
