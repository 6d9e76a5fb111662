#!/usr/bin/env python3
"""Compare how answers are read with llama.cpp: its tests pair answers of models with what is in them.

    make build/release/tests/tools/reply && scripts/check-chat-pairs.py [--tool TOOL] [--least PERCENT] [-v] LLAMA_CPP

LLAMA_CPP: the source of llama.cpp, which stays outside of this repository: tests/test-chat.cpp and models/templates are read.
Each pair is a template, tools, an answer, and its content, reasoning and calls.  White space around texts is not compared, and
arguments are compared as JSON.  Where an answer continues a turn, the turn is written before it as the model would have.  Every
answer is read whole and byte by byte.  Pairs that differ for a reason are in REASONS; a table by template is printed, then each
pair that differs.  Exit 1: fewer than PERCENT (98) agree, or a pair differs that has no reason, or has one and agrees."""
import argparse
import json
import pathlib
import re
import subprocess
import sys

UNION = "a value that may be a string is one, as in MiniMax-M3's pairs: what is written as text satisfies the schema, and is known while it comes"
MARK = "the mark that opens reasoning is part of it under this template, as in its other pairs"
# (template, how the answer begins, whether reasoning stays in the content): why it is read otherwise
REASONS = {
    ("Qwen3-Coder.jinja", '<tool_call>\n<function=set_union>\n<parameter=value>\n{"a": 1}\n</parameter>', True): UNION,
    ("Qwen3-Coder.jinja", "<tool_call>\n<function=set_union>\n<parameter=value>\n{not valid json", True): UNION,
    ("inclusionai-ling-3.0-flash.jinja", "</think>\n<tool_call>set_union\n<arg_key>value</arg_key>\n<arg_value>{", False): UNION,
    ("inclusionai-ling-3.0-flash.jinja", "I need to check the time first.", True):
        "reasoning that stays in the content has its tag, which the prompt opened, as under the other templates",
    ("Apertus-8B-Instruct.jinja", "world!", True): "the reasoning of the turn that is continued is kept",
    ("unsloth-Apriel-1.5.jinja", "world!", True): "the reasoning of the turn that is continued is kept",
    ("Apriel-1.6-15b-Thinker-fixed.jinja", "world!", False): MARK,
    ("Apriel-1.6-15b-Thinker-fixed.jinja", " thinking\n[BEGIN", False): MARK,
}

TOKEN = re.compile(r'(?:\s+|//[^\n]*|/\*.*?\*/)+|(R"([^()\\\s]{0,16})\((.*?)\)\2"|"(?:\\.|[^"\\])*"|[A-Za-z_]\w*(?:::\w+)*|\d[\w.]*|.)', re.S)
ESCAPES = {"n": b"\n", "t": b"\t", "r": b"\r", "0": b"\0", '"': b'"', "\\": b"\\", "'": b"'"}


class Unknown(Exception):
    pass


def literal(m):
    """The text of a string of C++, as bytes."""
    if m.group(1).startswith("R"):
        return m.group(3).encode()

    def one(e):
        s = e.group(1)
        if s[0] == "x":
            return bytes([int(s[1:], 16)])
        if s[0] in "uU":
            return chr(int(s[1:], 16)).encode()
        return ESCAPES[s]
    return re.sub(rb"\\(x[0-9a-fA-F]+|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)",
                  lambda e: one(re.match(r"(?s)(.*)", e.group(1).decode())), m.group(1)[1:-1].encode())


def tokens(source):
    """[(kind, value)]: kinds are "text" and "word"."""
    out = []
    for m in TOKEN.finditer(source):
        t = m.group(1)
        if not t:
            continue
        if t[0] == '"' or t.startswith('R"'):
            out.append(("text", literal(m)))
        else:
            out.append(("word", t))
    return out


def message(content="", reasoning="", name="", arguments="", id=""):
    m = {"role": "assistant", "content": content, "reasoning": reasoning, "tool_calls": []}
    if name or id:
        m["tool_calls"].append({"name": name, "arguments": arguments, "id": id})
    return m


def several(reasoning, content, calls):
    m = message(content, reasoning)
    m["tool_calls"] = [{"name": c[0], "arguments": c[1], "id": ""} for c in calls]
    return m


FUNCTIONS = {
    "simple_assist_msg": message,
    "message_with_tool_calls": lambda name, args: message("", "", name, args),
    "message_with_tool_calls_and_reasoning": lambda name, args, reasoning: message("", reasoning, name, args),
    "message_with_reasoning_content_and_multiple_tool_calls": several,
    "message_with_content_and_tool_call": lambda content, name, args: message(content, "", name, args),
    "message_with_reasoning_and_tool_call": lambda reasoning, name, args: message("", reasoning, name, args),
    "std::string": lambda s="": s,
}


def as_tool(v):
    return {"type": "function", "function": {"name": v[0], "description": v[1], "parameters": json.loads(v[2])}}


def as_call(v):
    return {"name": v[0], "arguments": v[1], "id": v[2] or ""} if isinstance(v, list) else v


def as_message(v):
    """From the members of common_chat_msg in their order."""
    if isinstance(v, dict):
        return v
    return {"role": v[0], "content": v[1] or "", "parts": [p[1] for p in v[2] or []] if len(v) > 2 else [], "reasoning": "", "tool_calls": []}


KINDS = {"common_chat_tool": as_tool, "common_chat_msg": as_message, "common_chat_tool_call": as_call}
TYPES = (*KINDS, "std::string", "char", "std::vector")


class Reader:
    """Reads what it knows of C++ and passes over the rest."""

    def __init__(self, source):
        self.t = tokens(source)
        self.i = 0
        self.names = {"true": True, "false": False}
        self.called = {}
        self.pairs = []
        self.failed = []

    def word(self, k=0):
        i = self.i + k
        return self.t[i][1] if i < len(self.t) and self.t[i][0] == "word" else None

    def expect(self, w):
        if self.word() != w:
            raise Unknown(f"{w} wanted, {self.t[self.i]}")
        self.i += 1

    def items(self, end):
        out = []
        while self.word() != end:
            out.append(self.expression())
            if self.word() == ",":
                self.i += 1
        self.i += 1
        return out

    def term(self):
        kind, v = self.t[self.i]
        if kind == "text":
            s = b""
            while self.i < len(self.t) and self.t[self.i][0] == "text":
                s += self.t[self.i][1]
                self.i += 1
            return s.decode()
        self.i += 1
        if v == "{":
            return self.items("}")
        if v == "(":
            inner = self.items(")")
            return inner[0]
        if re.match(r"\d", v):
            return int(v)
        if self.word() == "(":
            self.i += 1
            args = self.items(")")
            if v not in FUNCTIONS:
                raise Unknown(v)
            return FUNCTIONS[v](*args)
        if v in self.names:
            return self.names[v]
        if v.startswith("COMMON_"):
            return v
        raise Unknown(v)

    def expression(self):
        v = self.term()
        while self.word() == "+":
            self.i += 1
            v += self.term()
        return v

    def chain(self, tester):
        """NAME.test(...).method(...)... .run();"""
        at = self.i
        self.i += 4
        params = {"input": self.items(")")[0], "expect": message()}
        while self.word() == ".":
            name = self.word(1)
            self.i += 2
            self.expect("(")
            args = self.items(")")
            if name == "run":
                break
            if name == "tools":
                args = [[t if isinstance(t, dict) else as_tool(t) for t in args[0]]]
            if name.startswith("expect_") and name != "expect_reconstruction":
                key = name[len("expect_"):]
                params["expect"] = {**params["expect"], key: [as_call(c) for c in args[0]] if key == "tool_calls" else args[0]}
            else:
                params[name] = args[0] if args else True
        else:
            raise Unknown("no run() at " + repr(self.t[at:at + 8]))
        params["expect"] = as_message(params["expect"])
        for template in tester if isinstance(tester, list) else [tester]:
            self.pairs.append({**params, "template": template.split("/")[-1]})

    def define(self, name, value, kind):
        self.names[name] = KINDS.get(kind, lambda v: v)(value)

    def assign(self, name):
        """NAME.member = value; or NAME.member.push_back(value);"""
        member = self.word(2)
        key = {"reasoning_content": "reasoning"}.get(member, member)
        self.i += 3
        if self.word() == "=":
            self.i += 1
            value = self.expression()
        elif self.word() == "." and self.word(1) == "push_back":
            self.i += 3
            value = self.names[name].get(key, []) + self.items(")")
        else:
            raise Unknown(member)
        self.names[name] = {**self.names[name], key: [as_call(c) for c in value] if key == "tool_calls" else value}

    def step(self):
        w, after = self.word(), [self.word(k) for k in range(1, 5)]
        if w == "for" and after[0] == "(":
            name, values = self.loop()
            if name:
                self.names[name] = values
        elif w == "void" and after[0] in self.called:
            self.i = next(k for k in range(self.i, self.i + 12) if self.t[k][1] == ",")
            self.names[self.word(-1)] = self.called[after[0]]
        elif w == "peg_tester" and after[0] == "(" and self.word(-1) == "=":
            name = self.word(-2)
            self.i += 2
            self.names[name] = self.expression()
        elif w in self.names and after[:3] == [".", "test", "("]:
            self.chain(self.names[w])
        elif w in (*TYPES, "auto") and w != self.word(-1):
            i = 1 + (after[0] == "*")
            if w == "std::vector":
                i = next(k for k in range(1, 9) if self.word(k) == ">") + 1
            name = self.word(i)
            if not name or not re.match(r"[A-Za-z_]\w*$", name) or self.word(i + 1) not in ("{", "=", ";"):
                self.i += 1
                return
            if self.word(i + 1) == ";":
                if w == "common_chat_msg":
                    self.names[name] = message()
                self.i += i + 1
                return
            self.i += i + (2 if self.word(i + 1) == "=" else 1)
            self.define(name, self.expression(), w)
        elif w in self.names and isinstance(self.names[w], dict) and after[0] == "." and "role" in self.names[w]:
            self.assign(w)
        else:
            self.i += 1

    def loop(self):
        """for (TYPE NAME : { VALUES... })"""
        start = self.i
        self.i += 2
        while self.word() not in (":", ";", "{", ")"):
            self.i += 1
        name = self.word(-1)
        if self.word() != ":":
            self.i = start + 1
            return None, None
        self.i += 1
        return name, self.expression()

    def find_calls(self):
        """Functions that are called in a loop with its value: what they are called with."""
        for at in range(len(self.t)):
            self.i = at
            if self.word() != "for" or self.word(1) != "(":
                continue
            try:
                name, values = self.loop()
            except (Unknown, TypeError):
                continue
            if name and self.word(1) == "{" and self.word(3) == "(" and self.word(4) == name:
                self.called[self.word(2)] = values
        self.i = 0

    def read(self):
        self.find_calls()
        while self.i < len(self.t):
            at = self.i
            try:
                self.step()
            except (Unknown, IndexError, TypeError, KeyError, ValueError) as e:
                if self.t[at + 1:at + 4] == [("word", "."), ("word", "test"), ("word", "(")]:
                    self.failed.append(f"{self.names.get(self.t[at][1])}: {type(e).__name__} {e}")
                self.i = at + 1
        return self


def openai(m):
    """A message as it is sent to a template."""
    out = {"role": m["role"], "content": [{"type": "text", "text": p} for p in m["parts"]] if m.get("parts") else m["content"]}
    if m.get("reasoning"):
        out["reasoning_content"] = m["reasoning"]
    if m["tool_calls"]:
        out["tool_calls"] = [{"id": c["id"], "type": "function", "function": {"name": c["name"], "arguments": c["arguments"]}} for c in m["tool_calls"]]
    for k in ("tool_name", "tool_call_id"):
        if m.get(k):
            out[k] = m[k]
    return out


class Ours:
    def __init__(self, tool):
        self.p = subprocess.Popen([tool], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, row):
        self.p.stdin.write((json.dumps(row) + "\n").encode())
        self.p.stdin.flush()
        line = self.p.stdout.readline()
        if not line:
            sys.exit("the tool died on " + json.dumps(row)[:2000])
        return json.loads(line)


# By the name of a format or the tag that opens reasoning: what stands between reasoning and content, and before content without reasoning.
BETWEEN = {
    "harmony": ("<|end|><|start|>assistant<|channel|>final<|message|>", "<|channel|>final<|message|>"),
    "atem": ("<|eom|><|start|>assistant to=user<|message|>", " to=user<|message|>"),
    "kimi-k3": ("<|close|>think<|sep|><|open|>response<|sep|>", ""),
    "functionary-3.2": ("", "all\n"),
}
CLOSES = {"<think>": "</think>", "[THINK]": "[/THINK]", "<|START_THINKING|>": "<|END_THINKING|>", "<|channel>thought": "<channel|>",
          "<|inner_prefix|>": "<|inner_suffix|>", "<seed:think>": "</seed:think>", "<mm:think>": "</mm:think>",
          "Here are my reasoning steps:": "[BEGIN FINAL RESPONSE]"}
ENDS = ("<|role_end|>", "<|eot|>", "<|end_of_msg|>")
OPENS = {"atem": " to=self<|message|>", "harmony": "<|channel|>analysis<|message|>"}


def turn_so_far(got, last, how, template):
    """What the model would have written before an answer that continues `last`."""
    open_, close = got["open"], CLOSES.get(got["open"], "")
    after, alone = BETWEEN.get(got["format"], (close, ""))
    open_ = OPENS.get(got["format"], open_)
    thinks = got["format"] in (*OPENS, "kimi", "kimi-k3") or (close and close in template)
    said = last["reasoning"] if thinks else ""
    text = "" if not said or got["prompt"].rstrip().endswith(open_.rstrip()) else open_
    if how.endswith("REASONING"):
        return text + said
    return (text + said + after if said else alone) + last["content"]


def same_json(a, b):
    try:
        return json.loads(a or "{}") == json.loads(b or "{}")
    except ValueError:
        return (a or "").strip() == (b or "").strip()


def same(got, want):
    calls = got["tool_calls"]
    return (got["content"].strip() == want["content"].strip() and got["reasoning"].strip() == want["reasoning"].strip() and
            len(calls) == len(want["tool_calls"]) and
            all(c["name"] == w["name"] and same_json(c["arguments"], w["arguments"]) and (not w["id"] or c["id"] == w["id"])
                for c, w in zip(calls, want["tool_calls"])))


def without_end(text):
    """An answer without the token that ends it, of which the reader never gets the text."""
    for end in ENDS:
        text = text.removesuffix(end)
    return text


def compare(ours, pair, template):
    """(whether the pair agrees, what was read)"""
    given = pair.get("messages", [])
    how = pair.get("continue_final_message")
    turns = [openai(m) for m in (given[:-1] if how else given)]
    row = {"template": template, "tools": pair.get("tools", []), "input": without_end(pair["input"]), "think": pair.get("enable_thinking", True),
           "inline": is_inline(pair), "json": "json_schema" in pair}
    if turns:
        row["messages"] = turns
    first = ours.ask(row)
    if "error" in first:    # a template that asks for variables which the tests do not give
        row["prompt"] = ""
        first = ours.ask(row)
    if how and "error" not in first:
        row["inline"] = False
        row["input"] = turn_so_far(first, given[-1], how, template) + row["input"]
    got = ours.ask(row)
    if "error" in got:
        return False, got
    return same(got["answer"], pair["expect"]) and got["streamed"], got


def is_inline(pair):
    return pair.get("reasoning_format", "NONE").endswith("NONE")


def reason(pair):
    for (template, text, inline), why in REASONS.items():
        if pair["template"] == template and pair["input"].startswith(text) and is_inline(pair) == inline:
            return why
    return None


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--tool", default="build/release/tests/tools/reply")
    p.add_argument("--least", type=float, default=98)
    p.add_argument("-v", action="store_true")
    p.add_argument("llama")
    args = p.parse_args()
    root = pathlib.Path(args.llama)
    reader = Reader((root / "tests/test-chat.cpp").read_text()).read()
    ours = Ours(args.tool)
    table, differ, good = {}, [], 0
    for pair in reader.pairs:
        source = root / "models/templates" / pair["template"]
        ok, got = compare(ours, pair, source.read_text())
        row = table.setdefault(pair["template"], [0, 0, got.get("format", "")])
        row[0] += ok
        row[1] += 1
        good += ok
        if not ok or reason(pair):
            differ.append((ok, pair, got))
    for name, (agree, all_, form) in sorted(table.items()):
        print(f"{name:60} {form:16} {agree:4} of {all_}")
    wrong = False
    for ok, pair, got in differ:
        why = reason(pair)
        wrong |= ok or not why
        print(f"--- {pair['template']}: {'agrees, but has a reason: ' + why if ok else why or 'NO REASON'}")
        if args.v or not why:
            print(f"  of   {pair['input']!r}\n  read {json.dumps(got.get('answer', got), ensure_ascii=False)}{'' if got.get('streamed', 1) else ' (not byte by byte)'}\n"
                  f"  want {json.dumps(pair['expect'], ensure_ascii=False)}")
    for f in reader.failed:
        print("not read:", f)
    n = len(reader.pairs)
    print(f"{good} of {n} pairs agree ({100 * good / max(n, 1):.1f} %), {len(reader.failed)} not read")
    sys.exit(wrong or not n or 100 * good < args.least * n or len(reader.failed) > 0.02 * n)


if __name__ == "__main__":
    main()
