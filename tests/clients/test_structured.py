"""Libraries for structured answers and agents, with the built-in model: instructor, outlines, pydantic-ai, llm --schema, and Ollama's client."""

import json
import os
import subprocess
import sys
from typing import Literal

import pytest

pydantic = pytest.importorskip("pydantic")
openai = pytest.importorskip("openai")

from server import KEY, SCHEMA, serve  # noqa: E402


class Answer(pydantic.BaseModel):
    city: Literal["Rome", "Oslo"]


ASK = [{"role": "user", "content": "It is warm in Rome."}]
CONSTRAINT = {"type": "json_schema", "json_schema": {"name": "answer", "schema": Answer.model_json_schema()}}


@pytest.fixture(scope="module")
def client(url):
    return openai.OpenAI(base_url=url + "/v1", api_key=KEY, max_retries=0)


def whole(a):
    assert isinstance(a, Answer) and a.city in ("Rome", "Oslo")


# all modes but those of tools that OpenAI itself runs, and those of several calls, which leave it to the model whether it calls
@pytest.mark.parametrize("mode", "TOOLS TOOLS_STRICT FUNCTIONS JSON_SCHEMA JSON JSON_O1 MD_JSON RESPONSES_TOOLS".split())
def test_instructor(client, mode):
    instructor = pytest.importorskip("instructor")
    c = instructor.from_openai(client, mode=getattr(instructor.Mode, mode))
    ask = {"model": "m", "response_model": Answer, "messages": ASK, "max_retries": 1}
    if mode in ("JSON", "JSON_O1", "MD_JSON"):
        # these modes ask for JSON in words alone, which the model cannot follow: the constraint is added
        ask["extra_body"] = {"response_format": CONSTRAINT}
    whole(c.chat.completions.create(**ask))
    if not mode.startswith("RESPONSES"):
        *_, last = c.chat.completions.create_partial(**{k: v for k, v in ask.items() if k != "max_retries"})
        whole(Answer(**last.model_dump()))


@pytest.mark.parametrize("mode", "ANTHROPIC_TOOLS ANTHROPIC_REASONING_TOOLS ANTHROPIC_JSON".split())
def test_instructor_anthropic(url, mode):
    instructor, anthropic = pytest.importorskip("instructor"), pytest.importorskip("anthropic")
    c = instructor.from_anthropic(anthropic.Anthropic(base_url=url, api_key=KEY, max_retries=0), mode=getattr(instructor.Mode, mode))
    ask = {"model": "m", "max_tokens": 200, "response_model": Answer, "messages": ASK, "max_retries": 1}
    if mode == "ANTHROPIC_JSON":
        ask["extra_body"] = {"output_format": {"type": "json_schema", "schema": Answer.model_json_schema()}}
    whole(c.messages.create(**ask))


LARK = """
start: greeting " " NAME
greeting: "Hello" | "Hi"
NAME: /[A-Z][a-z]{1,8}/
"""


def test_outlines(client):
    outlines = pytest.importorskip("outlines")
    import re

    m = outlines.from_vllm(client, "m")
    assert re.fullmatch("[0-9]{3}-[a-z]{2}", m("A number", outlines.regex("[0-9]{3}-[a-z]{2}")))
    assert m("Yes or no?", Literal["yes", "no"]) in ("yes", "no")
    whole(Answer.model_validate_json(m("Where?", Answer)))
    assert re.fullmatch("(Hello|Hi) [A-Z][a-z]{1,8}", m("Greet me", outlines.cfg(LARK)))
    assert "".join(m.stream("Yes or no?", Literal["yes", "no"])) in ("yes", "no")
    whole(Answer.model_validate_json(outlines.from_openai(client, "m")("Where?", Answer)))


def test_pydantic_ai(url):
    pydantic_ai = pytest.importorskip("pydantic_ai")
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    at = OpenAIProvider(base_url=url + "/v1", api_key=KEY)
    for model in OpenAIChatModel("m", provider=at), OpenAIResponsesModel("m", provider=at):
        agent = pydantic_ai.Agent(model, output_type=Answer, instructions="Be concise.", model_settings={"max_tokens": 200})
        whole(agent.run_sync("It is warm in Rome.").output)
        words = pydantic_ai.Agent(model, instructions="Be concise.", model_settings={"max_tokens": 200})
        assert words.run_sync("What is a token?").output


def test_agent(tmp_path):
    """The built-in model with its own template: it calls a tool when it likes, and says what the tool answers."""
    pydantic_ai = pytest.importorskip("pydantic_ai")
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    asked = []

    def get_weather(city: str) -> str:
        """Get the weather of a city."""
        asked.append(city)
        return f"sunny in {city}"

    with serve(str(tmp_path), simple=False) as at:
        model = OpenAIChatModel("m", provider=OpenAIProvider(base_url=at + "/v1", api_key=KEY))
        agent = pydantic_ai.Agent(model, tools=[get_weather], model_settings={"temperature": 0})
        for city in "Oslo", "Rome", "Paris":
            assert agent.run_sync(f"What is the weather in {city}?").output == f"sunny in {city}"
    assert asked == ["Oslo", "Rome", "Paris"]


def test_llm_schema(url, tmp_path):
    pytest.importorskip("llm")
    (tmp_path / "extra-openai-models.yaml").write_text(
        f"- model_id: ours\n  model_name: m\n  api_base: {url}/v1\n  api_key_name: ours\n  supports_schema: true\n")
    (tmp_path / "keys.json").write_text(json.dumps({"ours": KEY}))
    run = [sys.executable, "-m", "llm", "-m", "ours", "--schema", json.dumps(SCHEMA), "Where is it?"]
    said = subprocess.run(run, env={**os.environ, "LLM_USER_PATH": str(tmp_path)}, capture_output=True, text=True, check=True).stdout
    assert json.loads(said)["city"] in ("Rome", "Oslo")


def test_ollama(url):
    ollama = pytest.importorskip("ollama")
    c = ollama.Client(host=url, headers={"Authorization": "Bearer " + KEY})
    m = c.list().models[0]
    assert m.model and m.size and c.show(m.model).modelinfo
    c.ps()
    options = {"temperature": 0, "num_predict": 12}
    r = c.chat(model=m.model, messages=ASK, options=options)
    assert r.done and r.done_reason == "length" and r.eval_count == 12 and r.message.content and r.total_duration > 0
    parts = list(c.chat(model=m.model, messages=ASK, options=options, stream=True))
    assert "".join(p.message.content for p in parts) == r.message.content and parts[-1].done and not parts[0].done
    g = c.generate(model=m.model, prompt="What is a token?", options=options)
    assert "".join(p.response for p in c.generate(model=m.model, prompt="What is a token?", options=options, stream=True)) == g.response
    whole(Answer.model_validate_json(c.chat(model=m.model, messages=ASK, format=Answer.model_json_schema()).message.content))
    tool = {"type": "function", "function": {"name": "weather", "description": "d", "parameters": SCHEMA}}
    assert c.chat(model=m.model, messages=ASK, tools=[tool], options=options).message.content
    assert len(c.embed(model=m.model, input=["a", "b"]).embeddings) == 2
    with pytest.raises(ollama.ResponseError) as e:
        c.chat(model=m.model, messages=ASK, options={"temperature": 9})
    assert e.value.status_code == 400
