"""What the tests of clients share: a server over loopback with the built-in model, started once for a file.

Run by pytest (tests/e2e/clients.bats); SERVE is the program.  The model is small and says little that is true: what is tested
is that clients get what they expect, not what it says.  Calls and structured output are right whatever it says, because
they are constrained.
"""

import contextlib
import os
import subprocess

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string", "enum": ["Rome", "Oslo"]}},
    "required": ["city"],
    "additionalProperties": False,
}
KEY = "a-key-of-the-tests"


@contextlib.contextmanager
def serve(folder, *options, simple=True):
    """The URL of a server that has a key and a model that calls tools; simple: with a chat template that shows the tools as they are."""
    keys = os.path.join(folder, "keys")
    with open(keys, "w", encoding="utf-8") as f:
        f.write(KEY + "\n")
    template = os.path.join(os.path.dirname(__file__), "calls.jinja")
    command = [os.environ["SERVE"], "-m", "demo", "-t", "2", "--listen", "127.0.0.1:0", *(["--template", template] if simple else [])]
    with subprocess.Popen(command + ["--api-key-file", keys, *options], stdout=subprocess.PIPE, text=True) as p:
        try:
            yield p.stdout.readline().strip()
        finally:
            p.terminate()
