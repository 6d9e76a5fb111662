"""Python's jinja2 as transformers sets it up, and tests/tools/render beside it; for golden-templates.py and check-jinja.py."""
import datetime
import json
import subprocess
import calendar

import jinja2
import jinja2.ext
import jinja2.sandbox

NOW = datetime.datetime(2026, 8, 15, 12, 34, 56)


class Generation(jinja2.ext.Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

    def _body(self, caller):
        return caller()


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def environment(mutable=False):
    kind = jinja2.sandbox.SandboxedEnvironment if mutable else jinja2.sandbox.ImmutableSandboxedEnvironment
    env = kind(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = NOW.strftime
    return env


def python(env, template, context):
    """(text, None) or (None, error)"""
    try:
        compiled = env.from_string(template)
        return compiled.render(json.loads(json.dumps(context))), None
    except RecursionError as e:
        return None, e
    except Exception as e:
        return None, e


class Ours:
    def __init__(self, tool):
        self.p = subprocess.Popen([tool], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def render(self, template, context, **options):
        row = {"template": template, "context": context, "now": calendar.timegm(NOW.timetuple()), **options}
        self.p.stdin.write((json.dumps(row) + "\n").encode())
        self.p.stdin.flush()
        line = self.p.stdout.readline()
        if not line:
            raise SystemExit(f"render died on {json.dumps(row)[:2000]}")
        out = json.loads(line)
        return out.get("text"), out.get("error")
