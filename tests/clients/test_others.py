"""Programs that talk to servers of OpenAI's kind through clients of their own: litellm, LangChain, llm."""

import json
import os
import subprocess
import sys

import pytest

from server import KEY, SCHEMA

ASK = "What is a token?"


long = pytest.mark.skipif(os.environ.get("LONG") != "1", reason="LONG=1: it takes seconds to start")


@long
def test_litellm(url):
    litellm = pytest.importorskip("litellm")
    at = {"api_base": url + "/v1", "api_key": KEY, "messages": [{"role": "user", "content": ASK}], "temperature": 0}
    r = litellm.completion(model="openai/m", max_tokens=8, **at)
    parts = litellm.completion(model="openai/m", max_tokens=8, stream=True, **at)
    assert "".join(p.choices[0].delta.content or "" for p in parts) == r.choices[0].message.content
    r = litellm.completion(model="anthropic/m", max_tokens=8, **{**at, "api_base": url})
    assert r.choices[0].message.content and r.usage.completion_tokens == 8


def test_langchain(url):
    langchain = pytest.importorskip("langchain_openai")
    chat = langchain.ChatOpenAI(model="m", base_url=url + "/v1", api_key=KEY, temperature=0, max_tokens=60)
    assert "".join(p.content for p in chat.stream(ASK)) == chat.invoke(ASK).content
    tool = {"type": "function", "function": {"name": "weather", "description": "d", "parameters": SCHEMA}}
    r = chat.bind_tools([tool], tool_choice="weather").invoke(ASK)
    assert r.tool_calls[0]["name"] == "weather" and r.tool_calls[0]["args"]["city"] in ("Rome", "Oslo")
    assert chat.with_structured_output({"title": "answer", **SCHEMA}).invoke(ASK)["city"] in ("Rome", "Oslo")


@long
def test_llm(url, tmp_path):
    pytest.importorskip("llm")
    (tmp_path / "extra-openai-models.yaml").write_text(f"- model_id: ours\n  model_name: m\n  api_base: {url}/v1\n  api_key_name: ours\n")
    (tmp_path / "keys.json").write_text(json.dumps({"ours": KEY}))
    run = [sys.executable, "-m", "llm", "-m", "ours", "-o", "temperature", "0", "-o", "max_tokens", "8", ASK]
    env = {**os.environ, "LLM_USER_PATH": str(tmp_path)}
    said = [subprocess.run(run + more, env=env, capture_output=True, text=True, check=True).stdout.strip() for more in ([], ["--no-stream"])]
    assert said[0] and said[0] == said[1]
