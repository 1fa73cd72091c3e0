"""Whole answers in broken transport, and replies in broken escapes: they are paid for, so none is asked for again."""

import asyncio
import gzip
import html
import json
import time
import zlib
from base64 import b64encode
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from agents.lm.errors import ModelError
from agents.lm.models import Block, Request
from agents.lm.models.providers.bodies import parsed, unpacked
from agents.lm.reading.parsing import parse
from tests.agents.lm.faulty import Connection, FaultyServer, Script, says, wire
from tests.agents.lm.test_odd_answers import APIS, GOOD, body, model_of, read
from welfare_env import Game

QUESTION = Request((Block("You play FRANCE."),), (Block("What now?"),), None, max_tokens=500)
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
GZIP = b"content-encoding: gzip\r\n"


@pytest.fixture
def server() -> Iterator[FaultyServer]:
    with FaultyServer(says({})) as running:
        yield running


def raw(make: Callable[[bytes], bytes], stays: bool = False) -> Callable[[str], Script]:
    """A script that sends what `make` makes of the answer's JSON, with its head, and closes the connection or not."""

    def of(api: str) -> Script:
        async def script(connection: Connection) -> None:
            await connection.read()
            await connection.send(make(json.dumps(body(api)).encode()))
            if stays:
                await connection.reader.read()

        return script

    return of


def chunked(content: bytes, end: bytes = b"0\r\n\r\n") -> bytes:
    pieces = [content[at : at + 40] for at in range(0, len(content), 40)]
    sent = b"".join(f"{len(piece):x}\r\n".encode() + piece + b"\r\n" for piece in pieces)
    return HEAD + b"transfer-encoding: chunked\r\n\r\n" + sent + end


def sized(content: bytes, more: int = 0, head: bytes = b"") -> bytes:
    return HEAD + head + f"content-length: {len(content) + more}\r\n\r\n".encode() + content


def typed(content: bytes, kind: bytes) -> bytes:
    return sized(content).replace(b"application/json", kind)


def interim(content: bytes) -> bytes:
    hints = b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n"
    return hints + sized(content)


BROKEN: dict[str, Callable[[str], Script]] = {
    "chunks without an end": raw(lambda content: chunked(content, b"")),
    "chunks that end in rubbish": raw(lambda content: chunked(content, b"zz\r\n")),
    "a length above what comes": raw(lambda content: sized(content, more=50)),
    "a body that ends with the connection": raw(lambda content: HEAD.replace(b"1.1", b"1.0") + b"\r\n" + content),
    "answers before the answer": raw(interim),
    "packed, though it does not say so": raw(lambda content: sized(gzip.compress(content))),
    "by zlib, though it says gzip": raw(lambda content: sized(zlib.compress(content), head=GZIP)),
    "not packed, though it says so": raw(lambda content: sized(content, head=GZIP)),
    "packed, its checksum missing": raw(lambda content: sized(gzip.compress(content)[:-8], head=GZIP)),
    "rubbish behind what is packed": raw(lambda content: sized(gzip.compress(content) + b"\0" * 9, head=GZIP)),
    "a page behind it": raw(lambda content: sized(content + b"\n<!-- served by a proxy {1} -->\n")),
    "a guard before it": raw(lambda content: sized(b")]}',\n" + content)),
    "values that keep the connection": raw(lambda content: sized(b'{}\n{"ping": 1}\n' + content + b'\n{"done": true}')),
    "a value for each record": raw(lambda content: sized(b"\x1e" + content + b"\n\x1e{}\n")),
    "a list of one": raw(lambda content: sized(b"[" + content + b"]")),
    "an envelope": raw(lambda content: sized(b'{"success": true, "errors": [], "result": ' + content + b"}")),
    "packed twice": raw(lambda content: sized(gzip.compress(gzip.compress(content)), head=GZIP)),
    "packed in two parts": raw(
        lambda content: sized(gzip.compress(content[:50]) + gzip.compress(content[50:]), head=GZIP)
    ),
    "by bare deflate": raw(lambda content: sized(zlib.compress(content)[2:-4], head=b"content-encoding: deflate\r\n")),
    "in UTF-16": raw(lambda content: sized(content.decode().encode("utf-16"))),
    "in a charset that nobody knows": raw(lambda content: typed(content, b"application/json; charset=klingon")),
    "with a mark of its byte order": raw(lambda content: sized(b"\xef\xbb\xbf" + content)),
    "as a call of a script": raw(lambda content: sized(b"/**/callback(" + content + b");")),
    "in a fence": raw(lambda content: sized(b"```json\n" + content + b"\n```")),
    "in a page": raw(
        lambda content: typed(b"<pre>" + html.escape(content.decode()).encode() + b"</pre>", b"text/html")
    ),
    "in XML": raw(lambda content: typed(b"<answer><![CDATA[" + content + b"]]></answer>", b"text/xml")),
    "in a part of several": raw(lambda content: sized(b"--x\r\nContent-Type: application/json\r\n\r\n" + content)),
    "with zeros behind": raw(lambda content: sized(content + b"\0" * 64)),
    "with a name given twice": raw(
        lambda content: sized(b'{"choices": null, "output": null, "content": null,' + content[1:])
    ),
    "with numbers that JSON has not": raw(lambda content: sized(content[:-1] + b', "score": NaN, "least": -Infinity}')),
    "with an error that is none": raw(lambda content: sized(content[:-1] + b', "error": {}}')),
    "as accepted": raw(lambda content: sized(content).replace(b"200 OK", b"202 Accepted")),
    "without a reason": raw(lambda content: sized(content).replace(b"200 OK", b"200")),
    "with heads that are no text": raw(lambda content: sized(content, head=b"x-a: \xff\xfe ol\xc3\xa9\r\n")),
    "with heads in two lines": raw(lambda content: sized(content, head=b"x-a: b\r\n  c\r\n")),
    "with lines that end otherwise": raw(lambda content: sized(content).replace(b"\r\n", b"\n")),
    "an envelope in base64": raw(
        lambda content: sized(json.dumps({"isBase64Encoded": True, "body": b64encode(content).decode()}).encode())
    ),
    "an envelope with a text": raw(
        lambda content: sized(json.dumps({"statusCode": 200, "body": content.decode()}).encode())
    ),
}


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("name", BROKEN)
def test_a_whole_answer_is_used(server: FaultyServer, name: str, api: str) -> None:
    assert read(server, api, BROKEN[name](api)).faults == ()


@pytest.mark.slow
@pytest.mark.parametrize("api", APIS)
def test_an_answer_whose_end_never_comes(server: FaultyServer, api: str) -> None:
    """All of its JSON is there when the time is up."""
    server.script = raw(lambda content: sized(content, more=50), stays=True)(api)
    model = model_of(api, server, timeout=0.5)
    began = time.monotonic()
    reply = model.complete(QUESTION)
    model.close()
    assert (reply.attempts, parse(reply.text, Game().view("FRANCE")).orders) == (1, ["A PAR H"])
    assert time.monotonic() - began < 10


def test_connections_that_close_between_questions(server: FaultyServer) -> None:
    """Each answer promises a connection that stays, which then goes: the next question takes another one."""

    async def script(connection: Connection) -> None:
        await connection.read()
        await connection.answer(body("chat"), headers="connection: keep-alive\r\n")

    server.script = script
    model = model_of("chat", server)

    async def ask() -> list[int]:
        attempts = []
        for _ in range(5):
            attempts.append((await model.acomplete(QUESTION)).attempts)
            await asyncio.sleep(0.05)
        await model.aclose()
        return attempts

    assert asyncio.run(ask()) == [1] * 5


NO_ANSWER: dict[str, tuple[bytes, str]] = {
    "no content": (b"HTTP/1.1 204 No Content\r\n\r\n", "malformed"),
    "a head alone": (HEAD + b"content-length: 0\r\n\r\n", "malformed"),
    "half of a head": (HEAD + b"content-le", "connection"),
    "two lengths": (HEAD + b"content-length: 5\r\ncontent-length: 6\r\n\r\n{}", "connection"),
    "a length below what comes": (sized(json.dumps(body("chat")).encode(), more=-40), "malformed"),
    "half of the JSON in chunks": (chunked(json.dumps(body("chat")).encode()[:150], b""), "connection"),
    "an inner object alone": (sized(b'[{"choices": [{"message": {"content": "x'), "malformed"),
    "a name without a value": (HEAD + b"content-length 5\r\n\r\nhello", "connection"),
}


@pytest.mark.parametrize("name", NO_ANSWER)
def test_what_is_no_answer_is_a_named_fault(server: FaultyServer, name: str) -> None:
    content, kind = NO_ANSWER[name]

    async def script(connection: Connection) -> None:
        await connection.read()
        await connection.send(content)

    server.script = script
    with pytest.raises(ModelError) as caught:
        model_of("chat", server, retries=0).complete(QUESTION)
    assert caught.value.kind == kind


def message(**changes: Any) -> dict[str, Any]:
    return {"index": 0, "message": {"role": "assistant"} | changes, "finish_reason": "stop"}


SHAPES: dict[str, tuple[str, dict[str, Any]]] = {
    "a choice in no list": ("chat", wire("chat", "", choices=message(content=GOOD))),
    "choices by number": ("chat", wire("chat", "", choices={"0": message(content=GOOD)})),
    "an empty choice first": ("chat", wire("chat", "", choices=[message(content=""), message(content=GOOD)])),
    "the reply's JSON, read": ("chat", wire("chat", json.loads(GOOD))),
    "the same in a message of Anthropic's": ("messages", wire("messages", json.loads(GOOD))),
    "a text beside no output": ("responses", wire("responses", [], output=[], output_text=GOOD)),
}


@pytest.mark.parametrize("name", SHAPES)
def test_shapes_of_an_answer(server: FaultyServer, name: str) -> None:
    api, shape = SHAPES[name]
    read(server, api, says(shape))


ESCAPED = {
    "of HTML": html.escape(GOOD),
    "of HTML, twice": html.escape(html.escape(GOOD)),
    "of a text in JSON": json.dumps(GOOD)[1:-1],
    "of a text in JSON, with prose": f"My reply: {json.dumps(GOOD)[1:-1]}",
    "wide signs": GOOD.translate(str.maketrans('{}[]:,"', "\uff5b\uff5d\uff3b\uff3d\uff1a\uff0c\uff02")),
}


@pytest.mark.parametrize("name", ESCAPED)
def test_replies_in_escapes_are_read_and_counted(name: str) -> None:
    found = parse(ESCAPED[name], Game().view("FRANCE"))
    assert found.orders == ["A PAR H"]
    assert "repaired" in [loss.kind for loss in found.losses]


def test_signs_in_a_message_stay_as_they_are() -> None:
    said = 'Peace &amp; quiet \uff1a \\"yes\\"'
    reply = json.dumps({"orders": ["A PAR H"], "messages": {"ENGLAND": said}})
    assert parse(reply, Game().view("FRANCE", "messages", 1)).messages == [("ENGLAND", said)]


def test_an_error_in_an_envelope_stays_an_error() -> None:
    told = {"error": {"message": "no"}, "result": {"choices": []}}
    assert parsed(json.dumps(told).encode()) == told


def test_many_small_members_are_unpacked_without_going_through_the_rest_each_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    new, given = zlib.decompressobj, []

    class Counting:
        def __init__(self, form: int) -> None:
            self.packer = new(form)

        def decompress(self, content: bytes, most: int) -> bytes:
            given.append(len(content))
            return self.packer.decompress(content, most)

        def __getattr__(self, name: str) -> Any:
            return getattr(self.packer, name)

    monkeypatch.setattr(zlib, "decompressobj", Counting)
    many = gzip.compress(b"") * 2000
    assert unpacked(many + gzip.compress(b"{}")) == b"{}"
    assert len(given) == 2001
    assert sum(given) < len(many) * 250  # each time the rest: 1000 times


def test_of_thinking_in_a_stream_every_field_is_read() -> None:
    for name, thought in [("thinking", "Hm."), ("reasoning_details", [{"type": "reasoning.text", "text": "Hm."}])]:
        chunks = [{"choices": [{"delta": {name: thought}}]}, {"choices": [{"delta": {}, "finish_reason": "stop"}]}]
        text = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks)
        assert parsed(text.encode())["choices"][0]["message"][name] == thought
