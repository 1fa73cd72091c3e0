"""The stub: what the SDKs make of its answers, its replies and counts; and what `check_model` finds with it."""

import json
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from typing import Any

import anthropic
import numpy as np
import openai
import pytest

import agents
from agents.lm import Block, OpenAIModel, Request, make_model
from agents.lm.checking import PROBE, QUESTIONS, SECRET, Finding, check_model, is_same_model
from agents.lm.errors import ConfigError
from agents.lm.player.policy import LMPolicy
from agents.lm.reading.schemas import obeys
from agents.lm.stub import StubRequest, StubServer
from agents.lm.stub.replies import SENTENCES, instance, stub_reply
from evaluation.cli.check_model import table
from tests.agents.lm.transport import FailingServer


def test_the_sdks_accept_its_answers() -> None:
    """They check them against their own types, with all strictness. An OpenAI "developer" is the system."""
    said: list[Any] = [{"role": "developer", "content": "be kind"}, {"role": "user", "content": "hello"}]
    with StubServer() as server:
        with openai.OpenAI(api_key="x", base_url=f"{server.url}/v1", _strict_response_validation=True) as client:
            used = client.chat.completions.create(model="m", messages=said, max_tokens=9).usage
        with anthropic.Anthropic(api_key="x", base_url=server.url, _strict_response_validation=True) as other:
            told = other.messages.create(model="m", max_tokens=9, system="be kind", messages=said[1:]).usage
    assert (used.prompt_tokens, used.prompt_tokens_details.cached_tokens) == (3, 2)
    assert (told.input_tokens, told.cache_read_input_tokens) == (1, 2)


def test_counts_and_a_port_that_is_taken(question: Request) -> None:
    with StubServer() as server:
        model = OpenAIModel("m", base_url=f"{server.url}/v1")
        assert model.complete(question) == model.complete(question)
        with urllib.request.urlopen(f"{server.url}/stats", timeout=120) as answer:  # noqa: S310 (our server)
            assert json.load(answer) == {"requests": 2, "answered": 2, "twice": 1, "peak": 1}
        with pytest.raises(ConfigError, match=rf"port {server.port}: .*choose another"), StubServer(server.port):
            pass


def test_replies_without_one_repeat_orders_from_the_prompt() -> None:
    prompt = "Answer in JSON. A PAR H, A PAR - BUR, F BRE - MAO, F STP/SC S A MOS - LVN, A CON - BUL VIA; A XXX"
    reply = json.loads(stub_reply(prompt))
    assert list(reply) == ["reasoning", "orders", "messages"]
    assert [order[:5] for order in reply["orders"]] == ["A PAR", "F BRE", "F STP", "A CON"]
    assert all(order in prompt for order in reply["orders"])


@pytest.mark.slow
def test_the_command_serves_until_interrupted() -> None:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "agents.lm.stub", "--port", "0", "--latency", "0.01"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    url = re.findall(r"http://[\d.:]+", process.stdout.readline())[0]
    assert OpenAIModel("m", base_url=f"{url}/v1").complete(Request((), (Block("hello"),))).text in SENTENCES
    process.send_signal(signal.SIGINT)
    assert process.communicate()[1] == ""
    assert process.returncode == 0


def found(options="", model="any", refused="", changes=None, **server):
    """What `check_model` says of a server that refuses schemas with a word, or answers otherwise."""
    with FailingServer(**server) as stub:
        stub.refused = {refused: f"Invalid schema for response_format: {refused}"} if refused else {}
        stub.changes = changes or {}
        player = agents.make(f"lm:openai/{model},base_url={stub.url}/v1,retries=0{options}")
        assert isinstance(player, LMPolicy)
        findings = {each.name: each for each in check_model(player)}
        assert len(stub.requests) >= QUESTIONS
    return findings


def prose(request: StubRequest) -> str:
    """As a server that takes a schema and does nothing with it."""
    return stub_reply(request.prompt)


def test_a_server_that_enforces_the_schema() -> None:
    findings = found()
    assert all(each.is_good for each in findings.values())
    assert findings["schema of a reply"].result == "enforced"
    assert findings["Spring reply"].result == "3 of 3 orders legal"


def test_a_reply_without_orders_shows_nothing() -> None:
    """No orders are legal, so no setting is wrong; but no order was checked, so there is no tick either."""
    findings = found(reply=lambda request: '{"reasoning": "I wait.", "orders": {}, "messages": {}}')
    finding = findings["Winter reply"]
    assert (finding.is_good, finding.is_tested) == (True, False)
    assert finding.result.startswith("no orders, which is legal: none was checked")
    rows = table("lm:x", [Finding("fine", ""), finding, Finding("wrong", "", False)])
    assert list(rows.columns[0].cells) == ["✓", "-", "✗"]


def test_a_server_that_ignores_the_schema() -> None:
    """Its replies parse, but nothing holds them to the legal orders."""
    findings = found(reply=prose)
    assert not findings["schema of a reply"].is_good
    assert findings["schema of a reply"].result.startswith("ignored by the server")
    assert "set grammar=vllm, llama.cpp, sglang" in findings["schema of a reply"].advice
    assert "does not match its schema" in findings["Spring reply"].result
    assert found(",schema=none", reply=prose)["schema of a reply"].is_good  # nothing to set any more


def test_a_server_that_refuses_all_schemas() -> None:
    assert found(refused="json_schema")["schema of a reply"].result.startswith("refused by the server")


def test_a_server_that_refuses_the_schemas_of_some_phases() -> None:
    """It enforces those that it takes, so the question about the schema alone would not show it."""
    finding = found(refused="anyOf")["schema of a reply"]
    assert (finding.is_good, finding.result) == (False, "refused for 2 of 4 phases")
    assert "Winter with builds" in finding.advice


def test_a_server_with_a_short_context() -> None:
    usage = {"prompt_tokens": 500, "completion_tokens": 9}
    assert "num_ctx" in found(changes={"usage": usage})["context"].advice


def test_another_model_answers() -> None:
    finding = found(model="large", changes={"model": "small-model"})["answering model"]
    assert (finding.is_good, finding.result) == (False, "small-model instead of large")
    assert is_same_model("gpt-4o", "gpt-4o-2024-08-06")
    assert is_same_model("meta-llama/Llama-3", "llama-3")


def test_lists_are_as_long_as_the_schema_allows() -> None:
    rng, numbers = np.random.default_rng(0), {"type": "array", "items": {"type": "number"}}
    drawn = {(low, high): {len(instance(numbers | {"minItems": low, "maxItems": high}, rng)) for _ in range(50)}
             for low, high in ((0, 1), (0, 9), (3, 3), (1, 2))}  # fmt: skip
    assert drawn == {(0, 1): {0, 1}, (0, 9): {0, 1, 2}, (3, 3): {3}, (1, 2): {1, 2}}


def test_obeys() -> None:
    good = f'{{"word": "{SECRET}"}}'
    assert obeys(f" {good}\n", PROBE.schema or {})
    twice = f'{{"word": "{SECRET}", "word": "{SECRET}"}}'
    for wrong in (good[:-1], f"Here: {good}", f"{good}.", '{"word": "none"}', "{}", "[]", twice, "[" * 9999):
        assert not obeys(wrong, PROBE.schema or {})


def test_the_server_has_the_characters_too():
    request = Request((), (Block("Reply with JSON.\nYour units: A PAR, F BRE.\n"),))
    with StubServer() as server:
        asked = make_model("openai/pacifist", base_url=f"{server.url}/v1").complete(request)
    assert asked.text == make_model("scripted/pacifist").complete(request).text
