"""The official client of OpenAI, as it comes from PyPI."""

import enum
import json

import httpx
import pytest

openai = pytest.importorskip("openai")
pydantic = pytest.importorskip("pydantic")

from server import KEY, SCHEMA  # noqa: E402

ASK = [{"role": "user", "content": "What is a token?"}]
TOOLS = [{"type": "function", "function": {"name": n, "description": "d", "parameters": SCHEMA}} for n in ("weather", "time")]
FLAT = [{"type": "function", "name": "weather", "parameters": SCHEMA, "strict": True}]


class City(str, enum.Enum):
    ROME = "Rome"
    OSLO = "Oslo"


class Answer(pydantic.BaseModel):
    city: City
    sure: bool


@pytest.fixture(scope="module")
def client(url):
    return openai.OpenAI(base_url=url + "/v1", api_key=KEY)


def test_models(client):
    models = client.models.list().data
    assert client.models.retrieve(models[0].id).id == models[0].id
    with pytest.raises(openai.NotFoundError):
        client.models.retrieve("none")


def test_chat(client):
    r = client.chat.completions.create(model="m", messages=ASK, max_tokens=8, temperature=0, logprobs=True, top_logprobs=2)
    c = r.choices[0]
    assert c.finish_reason == "length" and c.message.role == "assistant" and c.message.content
    assert r.usage.completion_tokens == 8 and r.usage.total_tokens == r.usage.prompt_tokens + 8
    assert "".join(t.token for t in c.logprobs.content) == c.message.content
    assert all(len(t.top_logprobs) == 2 for t in c.logprobs.content)
    assert bytes(sum((t.bytes for t in c.logprobs.content), [])).decode() == c.message.content


def test_chat_stream(client):
    whole = client.chat.completions.create(model="m", messages=ASK, max_tokens=12, temperature=0)
    chunks = list(client.chat.completions.create(model="m", messages=ASK, max_tokens=12, temperature=0, stream=True, stream_options={"include_usage": True}))
    assert "".join(c.choices[0].delta.content or "" for c in chunks if c.choices) == whole.choices[0].message.content
    assert chunks[-1].usage.total_tokens == whole.usage.total_tokens and not chunks[-1].choices
    assert len({c.id for c in chunks}) == 1
    with client.chat.completions.stream(model="m", messages=ASK, temperature=0) as s:
        kinds = {e.type for e in s}
        assert s.get_final_completion().choices[0].message.content.startswith(whole.choices[0].message.content)
    assert "content.delta" in kinds and "content.done" in kinds


def test_several(client):
    r = client.chat.completions.create(model="m", messages=ASK, max_tokens=4, n=3, seed=5)
    assert [c.index for c in r.choices] == [0, 1, 2]
    again = client.chat.completions.create(model="m", messages=ASK, max_tokens=4, n=3, seed=5)
    assert [c.message.content for c in r.choices] == [c.message.content for c in again.choices]


def test_tools(client):
    r = client.chat.completions.create(model="m", messages=ASK, tools=TOOLS, tool_choice="required", max_tokens=200)
    calls = r.choices[0].message.tool_calls
    assert r.choices[0].finish_reason == "tool_calls" and calls
    assert len({c.id for c in calls}) == len(calls)
    for c in calls:
        assert json.loads(c.function.arguments)["city"] in ("Rome", "Oslo")
    named = {"type": "function", "function": {"name": "time"}}
    r = client.chat.completions.create(model="m", messages=ASK, tools=TOOLS, tool_choice=named, parallel_tool_calls=False)
    call = r.choices[0].message.tool_calls[0]
    assert call.function.name == "time" and len(r.choices[0].message.tool_calls) == 1
    # the result goes back, in the form in which the call came
    talk = ASK + [r.choices[0].message, {"role": "tool", "tool_call_id": call.id, "content": "noon"}]
    r = client.chat.completions.create(model="m", messages=talk, tools=TOOLS, tool_choice="none", max_tokens=4)
    assert not r.choices[0].message.tool_calls


def test_parallel_tools(client):
    """Several calls in one answer, from a model that may not end it before there are as many as can be."""
    ask = {"messages": ASK, "tools": TOOLS, "tool_choice": "required", "parallel_tool_calls": True, "seed": 1, "extra_body": {"ignore_eos": True}}
    calls = client.chat.completions.create(model="m", **ask).choices[0].message.tool_calls
    assert len(calls) > 2 and len({c.id for c in calls}) == len(calls)
    for c in calls[:-1]:  # the context may have cut the last
        assert json.loads(c.function.arguments)["city"] in ("Rome", "Oslo")


def test_parse(client):
    r = client.chat.completions.parse(model="m", messages=ASK, response_format=Answer)
    assert isinstance(r.choices[0].message.parsed, Answer)
    tool = openai.pydantic_function_tool(Answer, name="answer")
    r = client.chat.completions.parse(model="m", messages=ASK, tools=[tool], tool_choice="required", max_tokens=300)
    assert isinstance(r.choices[0].message.tool_calls[0].function.parsed_arguments, Answer)
    with client.chat.completions.stream(model="m", messages=ASK, response_format=Answer) as s:
        for _ in s:
            pass
        assert isinstance(s.get_final_completion().choices[0].message.parsed, Answer)


def test_completions(client):
    r = client.completions.create(model="m", prompt=["Once upon", "Hi"], max_tokens=4, n=2, echo=True, logprobs=1, temperature=0)
    assert [c.index for c in r.choices] == [0, 1, 2, 3]
    assert r.choices[0].text.startswith("Once upon") and r.choices[2].text.startswith("Hi")
    assert r.choices[0].logprobs.token_logprobs[0] is None and r.choices[0].logprobs.tokens[0] == "Once"
    parts = client.completions.create(model="m", prompt="Once upon", max_tokens=4, temperature=0, stream=True)
    assert "Once upon" + "".join(p.choices[0].text for p in parts) == r.choices[0].text


def test_responses(client):
    r = client.responses.create(model="m", input="What is a token?", max_output_tokens=12, temperature=0)
    assert r.status == "incomplete" and r.incomplete_details.reason == "max_output_tokens" and r.output_text
    assert r.usage.output_tokens == 12
    events = list(client.responses.create(model="m", input="What is a token?", max_output_tokens=12, temperature=0, stream=True))
    assert [e.sequence_number for e in events] == list(range(len(events)))
    assert "".join(e.delta for e in events if e.type == "response.output_text.delta") == r.output_text
    with client.responses.stream(model="m", input="What is a token?", temperature=0, tools=FLAT, tool_choice="required") as s:
        for _ in s:
            pass
        call = s.get_final_response().output[0]
    assert call.type == "function_call" and json.loads(call.arguments)["city"] in ("Rome", "Oslo")
    past = [{"role": "user", "content": "a"}, call.model_dump(exclude_none=True), {"type": "function_call_output", "call_id": call.call_id, "output": "x"}]
    past[1].pop("parsed_arguments", None)
    assert client.responses.create(model="m", instructions="s", input=past, max_output_tokens=3).output
    assert isinstance(client.responses.parse(model="m", input="a", text_format=Answer).output_parsed, Answer)
    with pytest.raises(openai.BadRequestError) as e:
        client.responses.create(model="m", input="a", previous_response_id="resp_1")
    assert e.value.param == "previous_response_id"
    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve("resp_1")


def test_errors(client, url):
    with pytest.raises(openai.BadRequestError) as e:
        client.chat.completions.create(model="m", messages=ASK, temperature=9)
    assert e.value.param == "temperature" and e.value.type == "invalid_request_error" and e.value.request_id
    with pytest.raises(openai.BadRequestError) as e:
        client.completions.create(model="m", prompt="word " * 2000)
    assert e.value.code == "context_length_exceeded"
    with pytest.raises(openai.BadRequestError) as e:
        client.completions.create(model="m", prompt="word " * 2000, stream=True)
    with pytest.raises(openai.AuthenticationError):
        openai.OpenAI(base_url=url + "/v1", api_key="other").completions.create(model="m", prompt="a")


def test_retries(url):
    """What fails on the way is tried again; what the server refuses is not."""
    tries = []

    def send(request):
        tries.append(request)
        if len(tries) == 1:
            return httpx.Response(429, headers={"retry-after": "0.01"}, json={"error": {"message": "full"}})
        return httpx.HTTPTransport().handle_request(request)

    c = openai.OpenAI(base_url=url + "/v1", api_key=KEY, http_client=httpx.Client(transport=httpx.MockTransport(send)))
    assert c.completions.create(model="m", prompt="a", max_tokens=1).choices
    assert len(tries) == 2
    with pytest.raises(openai.BadRequestError):
        c.completions.create(model="m", prompt=[], max_tokens=1)
    assert len(tries) == 3
