"""The official client of Anthropic, as it comes from PyPI."""

import pytest

anthropic = pytest.importorskip("anthropic")

from server import KEY, SCHEMA  # noqa: E402

ASK = [{"role": "user", "content": "What is a token?"}]
GREEDY = {"temperature": 0}  # newer versions of the client have no parameter for it
TOOLS = [{"name": "weather", "description": "d", "input_schema": SCHEMA}]


@pytest.fixture(scope="module")
def client(url):
    return anthropic.Anthropic(base_url=url, api_key=KEY)


def test_message(client):
    r = client.messages.create(model="m", max_tokens=8, messages=ASK, system="Be brief.", extra_body=GREEDY)
    assert r.type == "message" and r.role == "assistant" and r.stop_reason == "max_tokens"
    assert r.content[0].type == "text" and r.content[0].text
    assert r.usage.output_tokens == 8
    n = client.messages.count_tokens(model="m", messages=ASK, system="Be brief.").input_tokens
    assert n == r.usage.input_tokens + r.usage.cache_read_input_tokens


def test_stream(client):
    whole = client.messages.create(model="m", max_tokens=12, messages=ASK, extra_body=GREEDY)
    with client.messages.stream(model="m", max_tokens=12, messages=ASK, extra_body=GREEDY) as s:
        text = "".join(s.text_stream)
        last = s.get_final_message()
    assert text == last.content[0].text == whole.content[0].text
    assert last.stop_reason == "max_tokens" and last.usage.output_tokens == 12
    kinds = [e.type for e in client.messages.create(model="m", max_tokens=2, messages=ASK, extra_body=GREEDY, stream=True)]
    assert kinds[0] == "message_start" and kinds[-1] == "message_stop"


def test_stop(client):
    r = client.messages.create(model="m", max_tokens=30, messages=ASK, extra_body=GREEDY, stop_sequences=[" is"])
    assert r.stop_reason == "stop_sequence" and r.stop_sequence == " is"


@pytest.mark.parametrize("choice", [{"type": "any"}, {"type": "tool", "name": "weather"}, {"type": "any", "disable_parallel_tool_use": True}])
def test_tools(client, choice):
    r = client.messages.create(model="m", max_tokens=300, messages=ASK, tools=TOOLS, tool_choice=choice)
    assert r.stop_reason == "tool_use"
    call = r.content[-1]
    assert call.type == "tool_use" and call.input["city"] in ("Rome", "Oslo")
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call.id, "content": "x"}]}
    talk = ASK + [{"role": "assistant", "content": r.content}, result]
    assert client.messages.create(model="m", max_tokens=3, messages=talk, tools=TOOLS, tool_choice={"type": "none"}).content
    with client.messages.stream(model="m", max_tokens=300, messages=ASK, tools=TOOLS, tool_choice=choice) as s:
        for _ in s:
            pass
        assert s.get_final_message().content[-1].input["city"] in ("Rome", "Oslo")


def test_errors(client, url):
    with pytest.raises(anthropic.BadRequestError) as e:
        client.messages.create(model="m", max_tokens=8, messages=[{"role": "odd", "content": "a"}])
    assert e.value.body["error"]["type"] == "invalid_request_error" and e.value.request_id
    with pytest.raises(anthropic.BadRequestError):
        client.messages.create(model="m", max_tokens=8, messages=[{"role": "user", "content": "word " * 2000}])
    with pytest.raises(anthropic.AuthenticationError):
        anthropic.Anthropic(base_url=url, api_key="other").messages.create(model="m", max_tokens=8, messages=ASK)
