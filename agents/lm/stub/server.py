"""A local server with OpenAI's and Anthropic's interfaces, for demonstrations and tests without a key.

    python -m agents.lm.stub --port 8123 --latency 0.05

Then base_url is http://127.0.0.1:8123/v1 for the `openai` SDK and http://127.0.0.1:8123 for the `anthropic` one. Its
replies (`agents.lm.stub.replies`) depend on the request alone. GET /stats returns its counts.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any, NamedTuple, Self

from agents.lm.errors import ConfigError
from agents.lm.stub.replies import CHARACTERS, stub_reply, tokens

CHAT, MESSAGES = "/v1/chat/completions", "/v1/messages"


@dataclass
class StubRequest:
    """A valid request that was received: its JSON, the texts of its prompts, and the schema of the reply.

    The names of headers are in lower case.
    """

    path: str
    headers: Mapping[str, str]
    body: Any
    system: str
    user: str
    schema: dict[str, Any] | None

    @property
    def model(self) -> str:
        """The model's name."""
        return str(self.body["model"])

    @property
    def prompt(self) -> str:
        """System and user's prompt as one text."""
        return self.system + self.user


class Answered(NamedTuple):
    """A reply: its text, and "stop", "length" or "refusal"."""

    text: str
    finish: str = "stop"


class Response(NamedTuple):
    """An answer on the wire."""

    status: int
    headers: dict[str, str]
    content: bytes


class StubServer:
    """Answers requests; thread-safe. In its context, it is a server on this machine, in threads of its own.

    Args:
        port: 0 for any free port.
        latency: seconds between a request and its answer.
        reply: function that makes the answers; None for the character (`agents.lm.stub.replies`) with the model's
            name, or else "stub".

    Attributes:
        requests: the requests received, in sequence.
        stats: counts: "requests"; "answered"; "twice": equal requests answered again; "peak" at a time.

    Example:
        with StubServer() as server:
            model = OpenAIModel("any", base_url=server.url + "/v1")
    """

    def __init__(
        self, port: int = 0, latency: float = 0.0, reply: Callable[[StubRequest], str | Answered] | None = None
    ) -> None:
        self.port, self.latency = port, latency
        self.requests: list[StubRequest] = []
        self.reply = reply or (lambda asked: CHARACTERS.get(asked.model, stub_reply)(asked.prompt, asked.schema))
        self.stats = Counter(requests=0, answered=0, twice=0, peak=0)
        self._active = 0
        self._answered: set[bytes] = set()
        self._lock = Lock()

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
        Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, path: str, headers: Mapping[str, str], content: bytes) -> Response:
        """The answer to a request, counted."""
        if path not in (CHAT, MESSAGES):
            return refusal(path, 404, f"no such path: {path}")
        with self._lock:
            self._active += 1
            self.stats["peak"] = max(self.stats["peak"], self._active)
        try:
            request = _read(path, headers, content)
            with self._lock:
                self.stats["requests"] += 1
                self.requests.append(request)
            response = self.respond(request)
        except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError) as error:
            return refusal(path, 400, f"Missing or wrong parameter: {error}", "invalid_request_error")
        finally:
            with self._lock:
                self._active -= 1
        if response.status == 200:
            digest = hashlib.sha256(content).digest()
            with self._lock:
                self.stats.update(answered=1, twice=digest in self._answered)
                self._answered.add(digest)
        return response

    def respond(self, request: StubRequest) -> Response:
        """The answer to a valid request, after the latency."""
        time.sleep(self.latency)
        said = self.reply(request)
        answered = said if isinstance(said, Answered) else Answered(said)
        write, stream = (_completion, _chunks) if request.path == CHAT else (_message, _events)
        payload = write(request, answered)
        if not request.body.get("stream"):
            return Response(200, {"content-type": "application/json"}, json.dumps(payload).encode("ascii"))
        texts = [f"event: {event.get('type', 'chunk')}\ndata: {json.dumps(event)}\n\n" for event in stream(payload)]
        content = "".join((*texts, "data: [DONE]\n\n")).encode("ascii")
        return Response(200, {"content-type": "text/event-stream"}, content)


def _read(path: str, headers: Mapping[str, str], content: bytes) -> StubRequest:
    """Reads a request; whatever goes wrong in it, a real server would reject."""
    body = json.loads(content)
    system, user = _plain(body.get("system", "")), ""
    for message in body["messages"]:
        if message["role"] in ("system", "developer"):
            system += _plain(message["content"])
        else:
            user += _plain(message["content"])
    if not user.strip():
        raise ValueError("messages: text content blocks must contain non-whitespace text")
    if json.dumps(body).count('"cache_control"') > 4:
        raise ValueError("A maximum of 4 blocks with cache_control may be provided.")
    if not isinstance(body.get("max_completion_tokens", body.get("max_tokens")), int):
        raise ValueError("max_tokens has the wrong type")
    form = body.get("response_format", {}).get("json_schema", body.get("output_config", {}).get("format", {}))
    return StubRequest(path, headers, body, system, user, form.get("schema"))


def _plain(content: Any) -> str:
    texts = [content] if isinstance(content, str) else [piece["text"] for piece in content]
    if not isinstance(content, str) and not all(text.strip() for text in texts):
        raise ValueError("messages: text content blocks must contain non-whitespace text")
    return "".join(texts)


def _completion(request: StubRequest, answered: Answered) -> dict[str, Any]:
    """OpenAI's answer. The system prompt counts as read from the cache."""
    is_refusal = answered.finish == "refusal"
    said = {"content": None, "refusal": answered.text} if is_refusal else {"content": answered.text, "refusal": None}
    finish = "stop" if is_refusal else answered.finish
    prompt, reply = tokens(request.prompt), tokens(answered.text)
    usage = {"prompt_tokens": prompt, "completion_tokens": reply, "total_tokens": prompt + reply}
    return {
        **{"id": "chatcmpl-stub", "object": "chat.completion", "created": 0, "model": request.model},
        "choices": [{"index": 0, "message": {"role": "assistant"} | said, "finish_reason": finish}],
        "usage": usage | {"prompt_tokens_details": {"cached_tokens": tokens(request.system)}},
    }


def _chunks(payload: dict[str, Any]) -> list[dict[str, Any]]:
    choice = payload["choices"][0]
    chunk = payload | {"object": "chat.completion.chunk", "usage": None}
    part = {"index": 0, "delta": choice["message"], "finish_reason": choice["finish_reason"]}
    return [chunk | {"choices": [part]}, chunk | {"choices": [], "usage": payload["usage"]}]


def _message(request: StubRequest, answered: Answered) -> dict[str, Any]:
    """Anthropic's answer."""
    cached = tokens(request.system)
    usage = {"input_tokens": tokens(request.prompt) - cached, "output_tokens": tokens(answered.text)}
    reason = {"stop": "end_turn", "length": "max_tokens"}.get(answered.finish, "refusal")
    return {
        **{"id": "msg_stub", "type": "message", "role": "assistant", "model": request.model},
        "content": [{"type": "text", "text": answered.text}],
        **{"stop_reason": reason, "stop_sequence": None},
        "usage": usage | {"cache_creation_input_tokens": 0, "cache_read_input_tokens": cached},
    }


def _events(payload: dict[str, Any]) -> list[dict[str, Any]]:
    delta = {"type": "text_delta", "text": payload["content"][0]["text"]}
    end = {"stop_reason": payload["stop_reason"], "stop_sequence": None}
    return [
        {"type": "message_start", "message": payload | {"content": [], "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": end, "usage": {"output_tokens": payload["usage"]["output_tokens"]}},
        {"type": "message_stop"},
    ]


def refusal(path: str, status: int, text: str, code: str | None = None) -> Response:
    """An error of a server."""
    error = {"type": code or "api_error", "code": code, "param": None, "message": text}
    body = {"type": "error", "error": error} if path == MESSAGES else {"error": error}
    return Response(status, {"content-type": "application/json"}, json.dumps(body).encode("ascii"))


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 1024

    def handle_error(self, request: Any, client_address: Any) -> None:
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
        headers = {name.lower(): text for name, text in self.headers.items()}
        self._send(self.stub.answer(self.path, headers, content))

    def _send(self, response: Response) -> None:
        self.send_response(response.status)
        for name, value in {**response.headers, "content-length": str(len(response.content))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(response.content)
