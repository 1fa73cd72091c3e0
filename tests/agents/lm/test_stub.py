"""The stub server: what the SDKs themselves make of its answers, its faults, its counts, and its command."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import anthropic
import openai
import pytest
import typer
from typer.testing import CliRunner

from agents.lm.errors import ConfigError
from agents.lm.models import AnthropicModel, Block, OpenAIModel, Request
from agents.lm.models.providers.remote_model import RemoteModel
from agents.lm.stub import StubServer
from agents.lm.stub.replies import SENTENCES, stub_reply
from agents.lm.stub.server import main
from tests.agents.lm.transport import FailingServer, InProcess

Connect = Callable[..., RemoteModel]


@pytest.fixture
def server() -> Iterator[FailingServer]:
    with FailingServer() as found:
        yield found


def post(url: str, body: Any, method: str = "POST") -> tuple[int, Any]:
    """Status and JSON of an answer, without any SDK."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    asked = urllib.request.Request(url, content if method == "POST" else None, method=method)  # noqa: S310 (our server)
    try:
        with urllib.request.urlopen(asked, timeout=10) as answer:  # noqa: S310
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def asking(schema: Any) -> dict[str, Any]:
    """A request for a reply by a schema."""
    form = {"type": "json_schema", "json_schema": {"name": "reply", "schema": schema}}
    said = [{"role": "user", "content": "x"}]
    return {"model": "m", "max_tokens": 1, "messages": said, "response_format": form}


SCHEMAS: list[tuple[dict[str, Any], Callable[[Any], bool]]] = [
    ({"type": "string", "maxLength": 5}, lambda found: isinstance(found, str) and len(found) <= 5),
    ({"type": "integer", "minimum": 3}, lambda found: type(found) is int and found >= 3),
    ({"type": "number"}, lambda found: type(found) in (int, float)),
    ({"type": "boolean"}, lambda found: type(found) is bool),
    ({"type": "null"}, lambda found: found is None),
    ({"type": ["string", "null"]}, lambda found: found is None or isinstance(found, str)),
    ({"enum": ["a", 2, None]}, lambda found: found in ("a", 2, None)),
    ({"type": "array", "items": {"const": "b"}, "minItems": 3}, lambda found: found == ["b"] * max(3, len(found))),
    ({"type": "array", "items": {"enum": [1]}, "maxItems": 2}, lambda found: found in ([], [1], [1, 1])),
    ({"anyOf": [{"const": 1}, {"const": "x"}]}, lambda found: found in (1, "x")),
    ({"type": "object", "properties": {"b": {"const": 1}, "a": {"const": 2}}}, lambda found: [*found] == ["b", "a"]),
]


class TestAnswers:
    """The SDKs check them against their own types, with all strictness."""

    @pytest.mark.parametrize("fault", ["ok", "length", "refusal"])
    def test_chat(self, fault: str, server: FailingServer) -> None:
        with openai.OpenAI(api_key="x", base_url=f"{server.url}/v1", _strict_response_validation=True) as client:
            server.fail(fault)
            messages: list[Any] = [{"role": "user", "content": "hello"}]
            answer = client.chat.completions.create(model="m", messages=messages, max_tokens=9)
        choice, usage = answer.choices[0], answer.usage
        assert choice.finish_reason == {"length": "length"}.get(fault, "stop")
        assert (choice.message.refusal is not None) == (fault == "refusal")
        assert (usage.prompt_tokens, usage.prompt_tokens_details.cached_tokens) == (2, 0)

    def test_responses(self, server: FailingServer) -> None:
        with openai.OpenAI(api_key="x", base_url=f"{server.url}/v1", _strict_response_validation=True) as client:
            answer = client.responses.create(
                model="m", instructions="be kind", input=[{"role": "user", "content": "hello"}], max_output_tokens=9
            )
        assert answer.output_text in SENTENCES
        assert (answer.status, answer.usage.input_tokens) == ("completed", 3)
        assert answer.usage.input_tokens_details.cached_tokens == 2

    @pytest.mark.parametrize("fault", ["ok", "length", "refusal"])
    def test_messages(self, fault: str, server: FailingServer) -> None:
        with anthropic.Anthropic(api_key="x", base_url=server.url, _strict_response_validation=True) as client:
            server.fail(fault)
            answer = client.messages.create(
                model="m",
                max_tokens=9,
                system=[{"type": "text", "text": "be kind"}],
                messages=[{"role": "user", "content": [{"type": "text", "text": "hello"}]}],
            )
        assert answer.stop_reason == {"length": "max_tokens", "refusal": "refusal"}.get(fault, "end_turn")
        assert (answer.usage.input_tokens, answer.usage.cache_read_input_tokens) == (1, 2)
        assert answer.content[-1].type == "text"

    @pytest.mark.parametrize(
        ("sdk", "path"),
        [("openai", "/v1/chat/completions"), ("openai", "/v1/responses"), ("anthropic", "/v1/messages")],
    )
    @pytest.mark.parametrize(("status", "error"), [(400, "BadRequestError"), (429, "RateLimitError")])
    def test_errors(self, sdk: str, path: str, status: int, error: str, server: FailingServer) -> None:
        module, kind = (openai, openai.OpenAI) if sdk == "openai" else (anthropic, anthropic.Anthropic)
        body = {"model": f"fail-{status}", "max_tokens": 9, "max_output_tokens": 9}
        text = [{"role": "user", "content": [{"type": "text", "text": "hello"}]}]
        body |= {"input": text} if path.endswith("responses") else {"messages": text}
        body.pop("max_tokens" if path.endswith("responses") else "max_output_tokens")
        raised = pytest.raises(getattr(module, error), match=f"stub fault {status}")
        with kind(api_key="x", base_url=server.url, max_retries=0) as client, raised as caught:
            client.post(path, body=body, cast_to=object)
        assert caught.value.status_code == status


def test_a_developer_is_the_system(server: FailingServer) -> None:
    """As newer models of OpenAI, and inspect-ai, call it in both interfaces."""
    said = [{"role": "developer", "content": "r" * 40}, {"role": "user", "content": "x"}]
    _, answer = post(f"{server.url}/v1/chat/completions", {"model": "m", "max_tokens": 9, "messages": said})
    assert answer["usage"]["prompt_tokens"] == 11
    assert answer["usage"]["prompt_tokens_details"]["cached_tokens"] == 10
    _, answer = post(f"{server.url}/v1/responses", {"model": "m", "max_output_tokens": 9, "input": said})
    assert answer["usage"]["input_tokens_details"]["cached_tokens"] == 10


class TestReplies:
    def test_they_depend_on_the_question_alone(self, api: str, connect: Connect, question: Request) -> None:
        model = connect(api)
        replies = {model.complete(question).text for _ in range(5)}
        assert len(replies) == 1
        assert replies == {stub_reply(question.prompt, question.schema)}
        assert len({stub_reply(f"question {number}", {"enum": list(range(1000))}) for number in range(20)}) > 15

    def test_orders_from_the_prompt(self) -> None:
        prompt = "Answer in JSON. A PAR H, A PAR - BUR, F BRE - MAO, F STP/SC S A MOS - LVN, A CON - BUL VIA; A XXX"
        reply = json.loads(stub_reply(prompt))
        assert list(reply) == ["reasoning", "orders", "messages"]
        assert [order[:5] for order in reply["orders"]] == ["A PAR", "F BRE", "F STP", "A CON"]
        assert all(order in prompt for order in reply["orders"])

    @pytest.mark.parametrize(("schema", "fits"), SCHEMAS)
    def test_they_follow_the_schema(self, schema: dict[str, Any], fits: Callable[[Any], bool]) -> None:
        replies = [json.loads(stub_reply(str(number), schema)) for number in range(50)]
        assert [reply for reply in replies if not fits(reply)] == []

    def test_references_and_schemas_in_themselves(self) -> None:
        tree = {"type": "object", "properties": {"below": {"type": "array", "items": {"$ref": "#/$defs/tree"}}}}
        schema = {"$defs": {"tree": tree}, "$ref": "#/$defs/tree"}
        for number in range(20):
            reply = json.loads(stub_reply(str(number), schema))
            while reply["below"]:
                reply = reply["below"][0]
            assert reply == {"below": []}


class TestFaults:
    def test_the_queue_is_for_the_next_requests(self, connect: Connect, question: Request, stub: InProcess) -> None:
        stub.fail("500", "ok", "503")
        model = connect("chat")
        assert [model.complete(question).faults for _ in range(3)] == [("server",), ("server",), ()]
        assert stub.stats == {"requests": 5, "answered": 3, "twice": 2, "peak": 1}
        assert stub.failed == {"500": 1, "503": 1}

    @pytest.mark.parametrize(
        ("body", "said"),
        [
            (b"{", "Expecting property name"),
            ([], "not a JSON object"),
            ({"model": "m", "max_tokens": 1}, "Missing or wrong parameter: 'messages'"),
            ({"model": "m", "max_tokens": 1, "messages": [], "tempo": 1}, "Unknown parameter: 'tempo'"),
            ({"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": " "}]}, "non-whitespace"),
            ({"model": "m", "max_tokens": "1", "messages": [{"role": "user", "content": "x"}]}, "has the wrong type"),
            (b"[" * 100_000, "recursion"),
            (asking({"enum": []}), "high <= 0"),
            (asking({"$ref": "#"}), "Invalid schema: RecursionError"),
        ],
    )
    def test_requests_that_no_server_takes(self, body: Any, said: str, server: FailingServer) -> None:
        status, answer = post(f"{server.url}/v1/chat/completions", body)
        assert status == 400
        assert said in answer["error"]["message"]

    def test_marks_and_pieces_that_anthropic_does_not_take(self, server: FailingServer) -> None:
        piece = {"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}
        for pieces, said in (([piece] * 5, "maximum of 4"), ([piece, {"type": "text", "text": ""}], "non-whitespace")):
            body = {"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": pieces}]}
            status, answer = post(f"{server.url}/v1/messages", body)
            assert (status, answer["type"]) == (400, "error")
            assert said in answer["error"]["message"]

    def test_other_paths(self, server: FailingServer) -> None:
        assert post(f"{server.url}/v1/embeddings", {})[0] == 404
        assert post(f"{server.url}/v1/messages", {}, method="GET")[0] == 404
        assert server.requests == []


class TestServer:
    def test_who_has_gone_is_not_answered(self, server: FailingServer, question: Request) -> None:
        server.latency = 0.2
        model = OpenAIModel("m", base_url=f"{server.url}/v1")

        async def main() -> None:
            task = asyncio.create_task(model.acomplete(question))
            while not server.requests:
                await asyncio.sleep(0.01)
            task.cancel()

        asyncio.run(main())
        while server._active:
            time.sleep(0.01)
        assert [request.is_answered for request in server.requests] == [False]
        assert server.stats["answered"] == 0

    def test_it_need_not_keep_requests(self, question: Request) -> None:
        with StubServer(keep=False) as server:
            OpenAIModel("m", base_url=f"{server.url}/v1").complete(question)
            assert (server.requests, server.stats["requests"]) == ([], 1)

    def test_a_port_that_is_taken(self, server: FailingServer) -> None:
        with pytest.raises(ConfigError, match=rf"port {server.port}: .*choose another one"), StubServer(server.port):
            pass

    def test_it_ends_with_requests_in_the_air(self, question: Request) -> None:
        with ThreadPoolExecutor(1) as pool:
            with FailingServer() as server:
                model = AnthropicModel("fail-timeout", base_url=server.url, retries=0)
                asked = pool.submit(model.complete, question)
                while not server.requests:
                    time.sleep(0.01)
            assert asked.exception(timeout=10).kind in ("connection", "unreachable")  # type: ignore[union-attr]


class TestCommand:
    @pytest.mark.slow
    def test_it_serves_until_interrupted(self) -> None:
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
        command = [sys.executable, "-m", "agents.lm.stub", "--port", "0", "--latency", "0.01"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
        assert process.stdout is not None
        url = re.findall(r"http://[\d.:]+", process.stdout.readline())[0]
        model = OpenAIModel("m", base_url=f"{url}/v1", backoff=0)
        reply = model.complete(Request((), (Block("hello"),)))
        assert reply.text in SENTENCES
        assert post(f"{url}/stats", None, method="GET")[1]["requests"] == 1
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
        assert process.communicate()[1] == ""

    def stopped(self, *options: str) -> tuple[int, str]:
        app = typer.Typer()
        app.command()(main)
        outcome = CliRunner().invoke(app, list(options), env={"COLUMNS": "300", "NO_COLOR": "1"})
        return outcome.exit_code, outcome.output

    def test_a_port_that_is_taken(self, server: FailingServer) -> None:
        code, told = self.stopped("--port", str(server.port))
        assert (code, "choose another one, or 0 for any" in told) == (2, True)
