"""A local server with OpenAI's and Anthropic's interfaces, for demonstrations and tests without a key.

    python -m agents.lm.stub --port 8123 --latency 0.05

Then base_url is http://127.0.0.1:8123/v1 for the `openai` SDK and http://127.0.0.1:8123 for the `anthropic` one. Its
replies (`agents.lm.stub.replies`) depend on the request alone. GET /stats returns its counts.
"""

from __future__ import annotations

import hashlib
import json
import socket
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread
from typing import Annotated, Any, NamedTuple, Self

import typer

from agents.lm.errors import ConfigError
from agents.lm.stub.characters import CHARACTERS
from agents.lm.stub.replies import stub_reply
from agents.lm.stub.wire import INTERFACES, Answered, ParsedRequest, error_body, read, streamed, write


@dataclass
class StubRequest:
    """A request that was received.

    Attributes:
        path: "/v1/chat/completions", "/v1/responses" or "/v1/messages".
        headers: with names in lower case.
        body: the parsed JSON.
        is_answered: whether a whole answer was sent while the client was still connected.
    """

    path: str
    headers: Mapping[str, str]
    body: Any
    is_answered: bool = False


class Response(NamedTuple):
    """An answer on the wire, and the request that it answers, if there was a valid one."""

    status: int
    headers: dict[str, str]
    content: bytes
    request: StubRequest | None = None


def _in_character(asked: ParsedRequest) -> str:
    return CHARACTERS.get(asked.model, stub_reply)(asked.prompt, asked.schema)


class Stub:
    """Answers requests, without a network; thread-safe.

    Args:
        reply: function that makes the answers; None for the character (`agents.lm.stub.characters`) with the model's
            name, or else "stub".
        keep: whether to keep `requests`.

    Attributes:
        requests: the requests received, in sequence.
        peak: the largest number of requests at a time.
    """

    def __init__(self, reply: Callable[[ParsedRequest], str | Answered] | None = None, keep: bool = True) -> None:
        self.requests: list[StubRequest] = []
        self.peak = 0
        self._reply = reply or _in_character
        self._keep = keep
        self._active = 0
        self._seen = 0
        self._answered: Counter[bytes] = Counter()
        self._lock = Lock()

    @property
    def stats(self) -> dict[str, int]:
        """Counts: "requests"; "answered" completely; "twice": equal requests answered again; "peak" at a time."""
        answered = self._answered.total()
        return {
            "requests": self._seen,
            "answered": answered,
            "twice": answered - len(self._answered),
            "peak": self.peak,
        }

    def answer(self, path: str, headers: Mapping[str, str], content: bytes) -> Response:
        """The answer to a request."""
        try:
            body = json.loads(content)
            asked = read(path, body)
            request = StubRequest(path, headers, body)
            with self._lock:
                self._seen += 1
                if self._keep:
                    self.requests.append(request)
            return self.respond(request, asked)._replace(request=request)
        except (ValueError, RecursionError) as error:  # in the JSON, its content, its schema, or the reply
            return refusal(path, 400, str(error), "invalid_request_error")

    def respond(self, request: StubRequest, asked: ParsedRequest) -> Response:
        """The answer to a valid request."""
        answered = self._reply(asked)
        whole = answered if isinstance(answered, Answered) else Answered(answered)
        payload = write(request.path, asked, whole)
        if request.body.get("stream"):
            return Response(200, {"content-type": "text/event-stream"}, streamed(request.path, payload))
        return Response(200, {"content-type": "application/json"}, json.dumps(payload).encode("ascii"))

    def done(self, request: StubRequest, content: bytes) -> None:
        """Counts a request that was answered completely."""
        request.is_answered = True
        with self._lock:
            self._answered[hashlib.sha256(content).digest()] += 1

    def enter(self) -> None:
        """Counts a request in progress."""
        with self._lock:
            self._active += 1
            self.peak = max(self.peak, self._active)

    def leave(self) -> None:
        """Ends what `enter` began."""
        with self._lock:
            self._active -= 1


def refusal(path: str, status: int, text: str, code: str | None = None) -> Response:
    """An error of a server."""
    content = json.dumps(error_body(path, status, text, code)).encode("ascii")
    return Response(status, {"content-type": "application/json"}, content)


class StubServer(Stub):
    """A stub as a server on this machine, in its own threads for the duration of the context.

    Args:
        port: 0 for any free port.
        latency: seconds between a request and its answer.
        reply, keep: as for `Stub`.

    Example:
        with StubServer() as server:
            model = OpenAIModel("any", base_url=server.url + "/v1")
    """

    def __init__(
        self,
        port: int = 0,
        latency: float = 0.0,
        reply: Callable[[ParsedRequest], str | Answered] | None = None,
        keep: bool = True,
    ) -> None:
        super().__init__(reply, keep)
        self.port, self.latency = port, latency
        self._ended = Event()

    @property
    def url(self) -> str:
        """Its address, without a path."""
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        handler = type("Handler", (_Handler,), {"stub": self})
        try:
            self._server = _Server(("127.0.0.1", self.port), handler)
        except OSError as error:
            raise ConfigError(f"port {self.port}: {error}; choose another one, or 0 for any") from error
        self.port = self._server.server_address[1]
        self._thread = Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 1024

    def handlerefusal(self, request: Any, client_address: Any) -> None:
        """The client has left; nothing is printed."""


class _Handler(BaseHTTPRequestHandler):
    """One connection."""

    stub: StubServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, format: str, *arguments: Any) -> None:
        """Nothing is printed."""

    def do_GET(self) -> None:
        """The counts."""
        found = json.dumps(self.stub.stats).encode("ascii")
        self._send(Response(200 if self.path == "/stats" else 404, {"content-type": "application/json"}, found))

    def do_POST(self) -> None:
        """A question."""
        content = self.rfile.read(int(self.headers.get("content-length", "0")))
        if self.path.rpartition("/v1/")[2] not in INTERFACES:
            self._send(refusal(self.path, 404, f"no such path: {self.path}"))
            return
        self.stub.enter()
        try:
            response = self.stub.answer(self.path, {name.lower(): text for name, text in self.headers.items()}, content)
            time.sleep(self.stub.latency)
            if response.request is not None and response.status == 200 and self._is_connected():
                self.stub.done(response.request, content)
            self._send(response)
        finally:
            self.stub.leave()

    def _is_connected(self) -> bool:
        self.connection.setblocking(False)
        try:
            return bool(self.connection.recv(1, socket.MSG_PEEK))
        except BlockingIOError:
            return True
        except OSError:
            return False
        finally:
            self.connection.setblocking(True)

    def _send(self, response: Response) -> None:
        self.send_response(response.status)
        for name, value in {**response.headers, "content-length": str(len(response.content))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(response.content)


def main(
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on 127.0.0.1; 0 for any free port.")] = 8123,
    latency: Annotated[float, typer.Option(min=0.0, help="Seconds before every answer.")] = 0.0,
) -> None:
    """Answers like OpenAI's and Anthropic's servers, until interrupted."""
    try:
        with StubServer(port, latency, keep=False) as server:
            url = server.url
            print(f"base_url is {url}/v1 for openai, {url} for anthropic; counts at {url}/stats", flush=True)
            with suppress(KeyboardInterrupt):
                Event().wait()
    except ConfigError as error:
        raise typer.BadParameter(str(error)) from error
