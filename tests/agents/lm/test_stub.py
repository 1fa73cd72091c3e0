"""The stub: what the SDKs themselves make of its answers, what it refuses, its replies, counts, and its command."""

import json
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import anthropic
import openai
import pytest

from agents.lm import Block, OpenAIModel, Request
from agents.lm.errors import ConfigError
from agents.lm.stub import StubServer
from agents.lm.stub.replies import SENTENCES, stub_reply
from tests.agents.lm.transport import FailingServer


@pytest.fixture
def server() -> Iterator[FailingServer]:
    with FailingServer() as found:
        yield found


def post(url: str, body: Any, method: str = "POST") -> tuple[int, Any]:
    """Status and JSON of an answer, without any SDK."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    asked = urllib.request.Request(url, content if method == "POST" else None, method=method)  # noqa: S310 (our server)
    try:
        with urllib.request.urlopen(asked, timeout=120) as answer:  # noqa: S310
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


@pytest.mark.parametrize("fault", ["ok", "length", "refusal"])
def test_the_sdks_accept_its_answers(fault: str, server: FailingServer) -> None:
    """They check them against their own types, with all strictness. An OpenAI "developer" is the system."""
    said: list[Any] = [{"role": "developer", "content": "be kind"}, {"role": "user", "content": "hello"}]
    with openai.OpenAI(api_key="x", base_url=f"{server.url}/v1", _strict_response_validation=True) as client:
        server.faults.append(fault)
        answer = client.chat.completions.create(model="m", messages=said, max_tokens=9)
    choice, used = answer.choices[0], answer.usage
    assert choice.finish_reason == {"length": "length"}.get(fault, "stop")
    assert (choice.message.refusal is not None) == (fault == "refusal")
    assert (used.prompt_tokens, used.prompt_tokens_details.cached_tokens) == (3, 2)
    with anthropic.Anthropic(api_key="x", base_url=server.url, _strict_response_validation=True) as client:
        server.faults.append(fault)
        system: Any = [{"type": "text", "text": "be kind"}]
        told = client.messages.create(model="m", max_tokens=9, system=system, messages=said[1:])
    assert told.stop_reason == {"length": "max_tokens", "refusal": "refusal"}.get(fault, "end_turn")
    assert (told.usage.input_tokens, told.usage.cache_read_input_tokens) == (1, 2)


def test_counts(question: Request) -> None:
    with StubServer() as server:
        model = OpenAIModel("m", base_url=f"{server.url}/v1")
        assert model.complete(question) == model.complete(question)
        assert post(f"{server.url}/stats", None, "GET")[1] == {"requests": 2, "answered": 2, "twice": 1, "peak": 1}


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


def test_a_port_that_is_taken(server: FailingServer) -> None:
    with pytest.raises(ConfigError, match=rf"port {server.port}: .*choose another one"), StubServer(server.port):
        pass
