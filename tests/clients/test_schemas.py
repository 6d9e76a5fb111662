"""Answers and stream events under the published schemas: the pydantic models of the official packages, which their clients do not enforce."""

import json

import httpx
import pytest

pydantic = pytest.importorskip("pydantic")
openai = pytest.importorskip("openai")

from openai import types as o  # noqa: E402
from server import KEY, SCHEMA  # noqa: E402

ASK = [{"role": "user", "content": "What is a token?"}]
TOOL = {"name": "weather", "description": "d", "parameters": SCHEMA}
TOOLS = [{"type": "function", "function": TOOL}]
FLAT = [{"type": "function", "strict": False, **TOOL}]
FORM = {"type": "json_schema", "json_schema": {"name": "answer", "schema": SCHEMA}}
REQUIRED = {"tools": TOOLS, "tool_choice": "required"}


def valid(model, text):
    """Parse, as JSON may be, with nothing converted; what is written again has no complaint and loses nothing."""
    a = pydantic.TypeAdapter(model)
    v = a.validate_json(text, strict=True)
    again = json.loads(a.dump_json(v, by_alias=True, exclude_unset=True, warnings="error"))
    assert again == json.loads(text)
    return v


@pytest.fixture(scope="module")
def http(url):
    with httpx.Client(base_url=url, timeout=60, headers={"Authorization": "Bearer " + KEY}) as c:
        yield c


def asked(http, path, body):
    r = http.post(path, json=body)
    assert r.status_code == 200, r.text
    return r.text


def events(http, path, body):
    text = asked(http, path, {**body, "stream": True})
    data = [line[6:] for line in text.splitlines() if line.startswith("data: ")]
    return data[:-1] if data[-1] == "[DONE]" else data


CHATS = [{"max_tokens": 6}, {"max_tokens": 6, "logprobs": True, "top_logprobs": 2, "n": 2}, {"response_format": FORM}, {**REQUIRED}, {**REQUIRED, "parallel_tool_calls": True, "max_tokens": 120}]


@pytest.mark.parametrize("more", CHATS, ids=str)
def test_chat(http, more):
    body = {"model": "m", "messages": ASK, "temperature": 0, **more}
    valid(o.chat.ChatCompletion, asked(http, "/v1/chat/completions", body))
    for options in {}, {"stream_options": {"include_usage": True}}:
        parts = events(http, "/v1/chat/completions", {**body, **options})
        assert len(parts) > 2
        for p in parts:
            valid(o.chat.ChatCompletionChunk, p)


def test_completions(http):
    # without echo and streams: OpenAI's own answers have null for the log-probability of the first token of a prompt, and for how a text
    # ends while it does not, and its schema does not
    body = {"model": "m", "prompt": ["Once upon", "Hi"], "max_tokens": 4, "n": 2, "logprobs": 1}
    valid(o.Completion, asked(http, "/v1/completions", body))


RESPONSES = [{"max_output_tokens": 6}, {"text": {"format": {"type": "json_schema", "name": "answer", "schema": SCHEMA, "strict": True}}}, {"tools": FLAT, "tool_choice": "required"}]


@pytest.mark.parametrize("more", RESPONSES, ids=str)
def test_responses(http, more):
    body = {"model": "m", "input": "What is a token?", "instructions": "Be brief.", "temperature": 0, **more}
    valid(o.responses.Response, asked(http, "/v1/responses", body))
    for p in events(http, "/v1/responses", body):
        valid(o.responses.ResponseStreamEvent, p)


def test_others(http):
    valid(o.CreateEmbeddingResponse, asked(http, "/v1/embeddings", {"model": "m", "input": ["a", "b"]}))
    for m in json.loads(http.get("/v1/models").text)["data"]:
        valid(o.Model, json.dumps(m))


@pytest.mark.parametrize("more", [{}, {"tools": [{"name": "weather", "description": "d", "input_schema": SCHEMA}], "tool_choice": {"type": "any"}}], ids=str)
def test_anthropic(http, more):
    a = pytest.importorskip("anthropic").types
    body = {"model": "m", "max_tokens": 120, "messages": ASK, "system": "Be brief.", **more}
    valid(a.Message, asked(http, "/v1/messages", body))
    for p in events(http, "/v1/messages", body):
        if json.loads(p)["type"] != "ping":  # not in the package's union: its client passes over it
            valid(a.RawMessageStreamEvent, p)
    for m in json.loads(http.get("/v1/models", headers={"anthropic-version": "2023-06-01"}).text)["data"]:
        valid(a.ModelInfo, json.dumps(m))
    del body["max_tokens"]
    valid(a.MessageTokensCount, asked(http, "/v1/messages/count_tokens", body))
