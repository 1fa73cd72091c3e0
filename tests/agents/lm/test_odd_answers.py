"""Good answers in forms that no interface promises: they are paid for, so none is lost, nor asked for twice."""

import gzip
import json
from collections.abc import Iterator
from email.utils import formatdate
from time import time
from typing import Any

import pytest

from agents.lm.models import AnthropicModel, Block, OpenAIModel, Request
from agents.lm.models.limits import Clock
from agents.lm.models.providers.remote_model import RemoteModel
from agents.lm.reading.parsing import parse
from tests.agents.lm.faulty import USAGE, Connection, FaultyServer, Script, says, wire
from welfare_env import Game

QUESTION = Request((Block("You play FRANCE."),), (Block("What now?"),), None, max_tokens=500)
GOOD = '{"orders": ["A PAR H"]}'
APIS = ("chat", "responses", "messages")


def model_of(api: str, server: FaultyServer, **settings: Any) -> RemoteModel:
    settings = {"base_url": server.address(api), "timeout": 20.0, "backoff": 0.001, "clock": Clock()} | settings
    return AnthropicModel("any", **settings) if api == "messages" else OpenAIModel("any", api=api, **settings)


@pytest.fixture
def server() -> Iterator[FaultyServer]:
    with FaultyServer(says({})) as running:
        yield running


def read(server: FaultyServer, api: str, script: Script, attempts: int = 1) -> Any:
    server.script = script
    model = model_of(api, server)
    reply = model.complete(QUESTION)
    model.close()
    assert reply.attempts == attempts, reply.faults
    assert parse(reply.text, Game().view("FRANCE")).orders == ["A PAR H"]
    return reply


def body(api: str, text: str = GOOD, **changes: Any) -> dict[str, Any]:
    return wire(api, [{"type": "text", "text": text}], **changes)


RAW = {
    "an invalid byte": lambda text: text.replace(b"PAR H", b"PAR H").replace(b'"any"', b'"a\xffny"'),
    "an invalid byte in the text": lambda text: text.replace(b"{\\", b"\xff{\\"),
    "a byte order mark": lambda text: b"\xef\xbb\xbf" + text,
    "raw line breaks in a text": lambda text: text.replace(b"{\\", b"\n\t{\\"),
    "keys that come twice": lambda text: text.replace(b'"model"', b'"model": null, "model"'),
    "blanks to keep the connection": lambda text: b"\n \n" * 500 + text + b"\n\n",
    "no number": lambda text: text.replace(b'"model"', b'"logprobs": NaN, "model"'),
    "text in surrogates": lambda text: text.replace(b"{\\", b"\\ud83d\\ude00\\ud83d{\\"),
}


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("name", RAW)
def test_bytes_that_are_no_proper_json(server: FaultyServer, api: str, name: str) -> None:
    changed = RAW[name](json.dumps(body(api)).encode())
    assert changed != json.dumps(body(api)).encode()
    read(server, api, says(changed))


FORMS: dict[str, dict[str, Any]] = {
    "a part in no list": {"message": {"content": {"type": "text", "text": GOOD}}},
    "the piece of a stream": {"delta": {"content": GOOD}},
    "the older completions": {"text": GOOD},
    "an unknown end": {"message": {"content": GOOD}, "finish_reason": "eos"},
    "no end": {"message": {"content": GOOD}, "finish_reason": None},
}


@pytest.mark.parametrize("name", FORMS)
def test_forms_of_a_choice(server: FaultyServer, name: str) -> None:
    changed = wire("chat", GOOD, choices=[{"index": 0, "finish_reason": "stop"} | FORMS[name]], model=None)
    assert read(server, "chat", says(changed)).model == ""


@pytest.mark.parametrize("coding", ["utf-8", "none", "identity"])
def test_an_encoding_that_is_none(server: FaultyServer, coding: str) -> None:
    read(server, "chat", says(body("chat"), headers=f"content-encoding: {coding}\r\n"))


@pytest.mark.parametrize("status", [200, 201, 202, 203])
def test_any_status_of_success(server: FaultyServer, status: int) -> None:
    read(server, "chat", says(body("chat"), status=status))


async def extended_chunks(connection: Connection) -> None:
    """Chunks with extensions, and a trailer after the last."""
    await connection.read()
    content = json.dumps(body("chat")).encode()
    await connection.send(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ntrailer: x-time\r\n\r\n")
    await connection.send(f"{len(content):x};signature=abc\r\n".encode() + content + b"\r\n0\r\nx-time: 3\r\n\r\n")


def test_chunks_with_extensions_and_a_trailer(server: FaultyServer) -> None:
    read(server, "chat", extended_chunks)


BEFORE: dict[str, tuple[int, Any, str]] = {
    "408": (408, {}, ""),
    "409": (409, {"error": "busy"}, ""),
    "425": (425, {}, ""),
    "429 until a date": (429, {}, f"retry-after: {formatdate(time() - 5, usegmt=True)}\r\n"),
    "524": (524, b"<html>", ""),
    "529": (529, {"type": "error", "error": {"type": "overloaded_error"}}, ""),
    "an error with 200": (200, {"error": {"message": "try again", "code": 503}}, ""),
    "no choices": (200, {"model": "any", "choices": [], "usage": USAGE["chat"]}, ""),
    "null": (200, b"null", ""),
    "half of a gzip": (200, gzip.compress(json.dumps(body("chat")).encode())[:-30], "content-encoding: gzip\r\n"),
}


@pytest.mark.parametrize("name", BEFORE)
def test_a_good_answer_after_a_bad_one(server: FaultyServer, name: str) -> None:
    status, content, headers = BEFORE[name]
    good = says(body("chat"))
    asked: list[None] = []

    async def script(connection: Connection) -> None:
        asked.append(None)
        if len(asked) > 1:
            await good(connection)
            return
        await connection.read()
        await connection.answer(content, status, f"connection: close\r\n{headers}")

    read(server, "chat", script, attempts=2)
