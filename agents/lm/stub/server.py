"""A local server with OpenAI's and Anthropic's interfaces, for demonstrations and tests without a key.

    python -m agents.lm.stub --port 8123 --latency 0.05

Then base_url is http://127.0.0.1:8123/v1 for the `openai` SDK and http://127.0.0.1:8123 for the `anthropic` one. Its
replies (`agents.lm.stub.replies`) depend on the request alone. It fails on demand: a model named "fail-KIND" always
fails, and `--fail KIND,KIND` (`StubServer.fail`) makes the next requests fail, one kind each. `FAULTS` are the kinds.
GET /stats returns its counts.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections import Counter, deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Event, Thread
from typing import Annotated, Any

import typer

from agents.lm.errors import ConfigError
from agents.lm.stub.characters import CHARACTERS
from agents.lm.stub.replies import stub_reply
from agents.lm.stub.wire import INTERFACES, Answered, ParsedRequest, error_body, read, write

FAULTS = {
    "ok": "answers as always",
    **{status: f"HTTP {status}" for status in ("400", "401", "403", "404", "413", "500", "503", "529")},
    "429": "HTTP 429, Retry-After 1 second, or as many as in 429:SECONDS",
    "quota": "HTTP 429: the account's quota is used up",
    "timeout": "never answers",
    "slow": "answers a byte at a time, 20 a second",
    "cut": "breaks the connection off in the middle of the answer",
    "malformed": "HTTP 200 with a page of HTML",
    "truncated": "HTTP 200 with the first half of the JSON",
    "wrong": "HTTP 200 with JSON of another form",
    "empty": "an answer without text",
    "big": "an answer of 10 MB",
    "length": "an answer that ran into max_tokens, cut in the middle",
    "refusal": "the model does not want to answer",
}
_REASONS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 429: "Too Many Requests"}
_BIG = 10 * 2**20  # characters
_MODEL_FAULT = re.compile(r"\bfail-([a-z0-9:.]+)$")


@dataclass
class StubRequest:
    """A request that was received.

    Attributes:
        path: "/v1/chat/completions", "/v1/responses" or "/v1/messages".
        headers: with names in lower case.
        body: the parsed JSON.
        fault: its kind of fault, of `FAULTS`.
        is_answered: whether a whole answer was sent while the client was still connected.
    """

    path: str
    headers: Mapping[str, str]
    body: Any
    fault: str = "ok"
    is_answered: bool = False


@dataclass
class _Exchange:
    """A request on the wire, with the connection for the answer."""

    method: str
    path: str
    headers: dict[str, str]
    content: bytes
    reader: asyncio.StreamReader = field(repr=False)
    writer: asyncio.StreamWriter = field(repr=False)

    async def send(self, status: int, body: Any, headers: Mapping[str, str] | None = None) -> None:
        content = body if isinstance(body, bytes) else json.dumps(body).encode("ascii")
        self.writer.write(_head(status, len(content), headers) + content)
        await self.writer.drain()


def _in_character(asked: ParsedRequest) -> str:
    return CHARACTERS.get(asked.model, stub_reply)(asked.prompt, asked.schema)


class StubServer:
    """The server, in its own thread for the duration of the context.

    Args:
        port: 0 for any free port.
        latency: seconds between a request and its answer.
        reply: function that makes the answers, called in the server's thread; None for the character
            (`agents.lm.stub.characters`) with the model's name, or else "stub".
        keep: whether to keep `requests`.

    Attributes:
        requests: the requests received, in sequence.
        peak: the largest number of requests at a time.

    Example:
        with StubServer() as server:
            server.fail("429:0.1", "500")
            model = OpenAIModel("any", base_url=server.url + "/v1")
    """

    def __init__(
        self,
        port: int = 0,
        latency: float = 0.0,
        reply: Callable[[ParsedRequest], str | Answered] | None = None,
        keep: bool = True,
    ) -> None:
        self.port, self.latency = port, latency
        self.requests: list[StubRequest] = []
        self.peak = 0
        self._reply = reply or _in_character
        self._keep = keep
        self._faults: deque[str] = deque()
        self._active = 0
        self._met: Counter[str] = Counter()
        self._answered: Counter[bytes] = Counter()
        self._ready = Event()
        self._problem: OSError | None = None
        self._thread = Thread(target=lambda: asyncio.run(self._main()), daemon=True)

    @property
    def url(self) -> str:
        """Its address, without a path."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def stats(self) -> dict[str, Any]:
        """Counts: "requests"; "answered" completely; "twice": equal requests answered again; and each kind of fault."""
        answered = self._answered.total()
        counts = {"requests": self._met.total(), "answered": answered, "twice": answered - len(self._answered)}
        return counts | {"peak": self.peak, "faults": dict(self._met - Counter(ok=self._met["ok"]))}

    def __enter__(self) -> StubServer:
        self._thread.start()
        self._ready.wait()
        if self._problem is not None:
            raise ConfigError(f"port {self.port}: {self._problem}; choose another one, or 0 for any") from self._problem
        return self

    def __exit__(self, *error: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    def fail(self, *kinds: str) -> None:
        """Makes the next requests fail with these faults, one each.

        Raises:
            ConfigError: a kind that is not in `FAULTS`.
        """
        for kind in kinds:
            _check_fault(kind)
        self._faults.extend(kinds)

    async def _main(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        try:
            server = await asyncio.start_server(self._connection, "127.0.0.1", self.port, backlog=1024)
        except OSError as error:
            self._problem = error
            return self._ready.set()
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        server.close()  # asyncio.run ends the connections

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._exchange(await _received(reader, writer)):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError):
            pass  # the client left, or does not speak HTTP
        except asyncio.CancelledError:
            pass  # the server ends; nobody waits for this task
        finally:
            writer.close()

    async def _exchange(self, exchange: _Exchange) -> bool:
        """Answers a request. Returns whether to keep the connection."""
        if exchange.method == "GET" and exchange.path == "/stats":
            await exchange.send(200, self.stats)
            return True
        if exchange.method != "POST" or exchange.path.rpartition("/v1/")[2] not in INTERFACES:
            await exchange.send(404, error_body(exchange.path, 404, f"no such path: {exchange.path}"))
            return True
        self._active += 1
        self.peak = max(self.peak, self._active)
        try:
            return await self._answer(exchange)
        except (ValueError, RecursionError) as error:  # in the JSON, its content, or its schema
            await exchange.send(400, error_body(exchange.path, 400, str(error), "invalid_request_error"))
            return True
        finally:
            self._active -= 1

    async def _answer(self, exchange: _Exchange) -> bool:
        body = json.loads(exchange.content)
        asked = read(exchange.path, body)
        request = StubRequest(exchange.path, exchange.headers, body, self._next_fault(asked))
        self._met[request.fault] += 1
        if self._keep:
            self.requests.append(request)
        await asyncio.sleep(self.latency)
        kind, _, rest = request.fault.partition(":")
        if kind in _FAILURES:
            return await _FAILURES[kind](exchange, asked)
        if kind.isdigit() or kind == "quota":
            await _refuse(exchange, kind, rest or "1")
            return True
        answered = self._reply(asked)
        whole = answered if isinstance(answered, Answered) else Answered(answered)
        request.is_answered = not exchange.reader.at_eof()  # at its end if the client has left
        if request.is_answered:
            self._answered[hashlib.sha256(exchange.content).digest()] += 1
        await exchange.send(200, write(exchange.path, asked, _CHANGES.get(kind, lambda same: same)(whole)))
        return True

    def _next_fault(self, asked: ParsedRequest) -> str:
        by_name = _MODEL_FAULT.search(asked.model)
        if by_name is not None and by_name[1].partition(":")[0] in FAULTS:
            return by_name[1]
        return self._faults.popleft() if self._faults else "ok"


_CHANGES: dict[str, Callable[[Answered], Answered]] = {
    "empty": lambda answered: Answered(""),
    "big": lambda answered: Answered(answered.text.ljust(_BIG, "x")),
    "length": lambda answered: Answered(answered.text[: len(answered.text) // 2], "length"),
    "refusal": lambda answered: Answered("I would rather not.", "refusal"),
}


async def _received(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> _Exchange:
    """The next request of a connection.

    Raises:
        ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError: the request is not valid.
    """
    first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, path, _ = first.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)}
    content = await reader.readexactly(int(headers.get("content-length", "0")))
    return _Exchange(method, path, headers, content, reader, writer)


def _head(status: int, length: int, headers: Mapping[str, str] | None = None) -> bytes:
    values = {"content-type": "application/json", "content-length": str(length)} | dict(headers or {})
    lines = [f"HTTP/1.1 {status} {_REASONS.get(status, 'Error')}", *(f"{name}: {values[name]}" for name in values)]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


async def _refuse(exchange: _Exchange, kind: str, seconds: str) -> None:
    """Sends an error whose text contains the key, as some real servers do."""
    status = 429 if kind == "quota" else int(kind)
    code = {"quota": "insufficient_quota", "400": "invalid_request_error"}.get(kind)
    text = f"stub fault {kind}; you sent {exchange.headers.get('authorization', 'no key')}"
    headers = {"retry-after": seconds} if kind == "429" else {}
    await exchange.send(status, error_body(exchange.path, status, text, code), headers)


async def _never(exchange: _Exchange, asked: ParsedRequest) -> bool:
    await exchange.reader.read()  # until the client leaves
    return False


async def _slow(exchange: _Exchange, asked: ParsedRequest) -> bool:
    content = json.dumps(write(exchange.path, asked, Answered("slow"))).encode("ascii")
    exchange.writer.write(_head(200, len(content)))
    for byte in content:
        exchange.writer.write(bytes([byte]))
        await exchange.writer.drain()
        await asyncio.sleep(0.05)
    return True


async def _cut(exchange: _Exchange, asked: ParsedRequest) -> bool:
    content = json.dumps(write(exchange.path, asked, Answered("cut off"))).encode("ascii")
    exchange.writer.write(_head(200, len(content)) + content[: len(content) // 2])
    await exchange.writer.drain()
    return False


async def _truncated(exchange: _Exchange, asked: ParsedRequest) -> bool:
    content = json.dumps(write(exchange.path, asked, Answered("truncated"))).encode("ascii")
    await exchange.send(200, content[: len(content) // 2])
    return True


async def _malformed(exchange: _Exchange, asked: ParsedRequest) -> bool:
    await exchange.send(200, b"<html><body>Bad Gateway</body></html>", {"content-type": "text/html"})
    return True


async def _wrong(exchange: _Exchange, asked: ParsedRequest) -> bool:
    await exchange.send(200, {"choices": [], "content": {}, "output": [None]})
    return True


_FAILURES = {
    **{"timeout": _never, "slow": _slow, "cut": _cut},
    **{"truncated": _truncated, "malformed": _malformed, "wrong": _wrong},
}


def _check_fault(kind: str) -> None:
    if kind not in FAULTS and not re.fullmatch(r"429:\d+(\.\d+)?", kind):
        raise ConfigError(f"fault {kind!r:.80}: give one of {', '.join(FAULTS)}, or 429:SECONDS")


_FAULT_LIST = "; ".join(f"{kind}: {meaning}" for kind, meaning in FAULTS.items())


def main(
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on 127.0.0.1; 0 for any free port.")] = 8123,
    latency: Annotated[float, typer.Option(min=0.0, help="Seconds before every answer.")] = 0.0,
    fail: Annotated[
        str, typer.Option(metavar="KIND,KIND", help=f"Faults of the first requests, one each. {_FAULT_LIST}.")
    ] = "",
) -> None:
    """Answers like OpenAI's and Anthropic's servers, until interrupted. A model named fail-KIND always fails."""
    server = StubServer(port, latency, keep=False)
    try:
        server.fail(*(kind.strip() for kind in fail.split(",") if kind.strip()))
        with server:
            url = server.url
            print(f"base_url is {url}/v1 for openai, {url} for anthropic; counts at {url}/stats", flush=True)
            with suppress(KeyboardInterrupt):
                Event().wait()
    except ConfigError as error:
        raise typer.BadParameter(str(error)) from error
