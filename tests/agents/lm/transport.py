"""A stub that the SDKs ask in this process, and that fails on demand; the same as a server."""

import json
import re
from collections import deque
from collections.abc import Callable, Mapping
from threading import Event
from types import ModuleType
from typing import Any

import httpx2

from agents.lm.stub import StubRequest, StubServer
from agents.lm.stub.server import Answered, Response, refusal

Case = Callable[[httpx2.Request], httpx2.Response]
_CHANGES: dict[str, Callable[[str], Answered]] = {
    "empty": lambda text: Answered(""),
    "length": lambda text: Answered(text[: len(text) // 2], "length"),
    "refusal": lambda text: Answered("I would rather not.", "refusal"),
}


class FailingServer(StubServer):
    """A stub that fails: always if the model's name ends in "fail-KIND", or in the next requests, by `faults`.

    The kinds are an HTTP status, "429:SECONDS" with Retry-After, "quota", "timeout" (no answer), "cut" (the connection
    breaks off), "absent" (no connection), "malformed" (a page of HTML), "empty", "length", "refusal", and "ok".

    Attributes:
        faults: the faults of the requests to come.
        refused: a key or a name in a request's body -> what the server says that does not take it.
        changes: fields of its answers that are others.
        begun: set when the first request has come.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.faults: deque[str] = deque()
        self.refused: dict[str, str] = {}
        self.changes: dict[str, Any] = {}
        self.begun = Event()

    def respond(self, request: StubRequest) -> Response:
        """The answer, or what the fault makes of it."""
        self.begun.set()
        for name, said in self.refused.items():
            if f'"{name}"' in json.dumps(request.body):
                return refusal(request.path, 400, said)
        by_name = re.search(r"\bfail-([a-z0-9:.]+)$", request.model)
        fault = by_name[1] if by_name else self.faults.popleft() if self.faults else "ok"
        kind, _, seconds = fault.partition(":")
        errors = {"timeout": TimeoutError, "cut": ConnectionAbortedError, "absent": ConnectionRefusedError}
        if kind in errors:
            raise errors[kind]
        if kind.isdigit() or kind == "quota":  # the text contains the key, as some real servers do
            said = f"stub fault {kind}; you sent {request.headers.get('authorization', 'no key')}"
            code = {"quota": "insufficient_quota", "400": "invalid_request_error"}.get(kind)
            found = refusal(request.path, 429 if kind == "quota" else int(kind), said, code)
            return found._replace(headers=found.headers | {"retry-after": seconds}) if seconds else found
        if kind == "malformed":
            return Response(200, {"content-type": "text/html"}, b"<html><body>Bad Gateway</body></html>")
        if kind == "ok":
            answer = super().respond(request)
            changed = json.dumps(json.loads(answer.content) | self.changes).encode() if self.changes else answer.content
            return answer._replace(content=changed)
        reply, self.reply = self.reply, lambda asked: _CHANGES[kind](str(reply(asked)))
        try:
            return super().respond(request)
        finally:
            self.reply = reply


class InProcess(FailingServer):
    """A stub that the SDKs ask in this process, at `url`.

    Attributes:
        cases: answers that it gives before its own, one a request.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.cases: list[Case] = []

    @property
    def url(self) -> str:
        """No real address."""
        return "http://stub"

    def address(self, provider: str) -> str:
        """Its address for a provider's SDK."""
        return self.url + ("/v1" if provider == "openai" else "")

    def client(self, sdk: ModuleType) -> Any:
        """The SDK's HTTP client that asks this stub."""
        return sdk.DefaultAsyncHttpxClient(transport=httpx2.MockTransport(self._handle))

    def _handle(self, request: httpx2.Request) -> httpx2.Response:
        if self.cases:
            return self.cases.pop(0)(request)
        try:
            response = self.answer(request.url.path, dict(request.headers), request.content)
        except TimeoutError:
            raise httpx2.ReadTimeout("", request=request) from None
        except ConnectionRefusedError:
            raise httpx2.ConnectError("refused", request=request) from None
        except ConnectionAbortedError:
            raise httpx2.RemoteProtocolError("peer closed connection", request=request) from None
        return httpx2.Response(response.status, headers=response.headers, content=response.content)


def says(status: int, body: Any, headers: Mapping[str, str] | None = None) -> Case:
    """A case: an answer with this status and JSON."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode("ascii")
    kind = {"content-type": "application/json"}
    return lambda request: httpx2.Response(status, content=content, headers=kind | dict(headers or {}))


def chat(usage: Any = None, finish: str | None = "stop", **message: Any) -> dict[str, Any]:
    """OpenAI's JSON."""
    choice = {"index": 0, "message": {"role": "assistant", "content": None} | message, "finish_reason": finish}
    return {"id": "1", "object": "chat.completion", "created": 0, "model": "any", "choices": [choice], "usage": usage}


def message(*parts: Any, **usage: int) -> dict[str, Any]:
    """Anthropic's JSON."""
    content = [{"type": "text", "text": part} if isinstance(part, str) else part for part in parts]
    head = {"id": "m", "type": "message", "role": "assistant", "model": "any", "stop_reason": "end_turn"}
    return head | {"content": content, "usage": {"input_tokens": 100, "output_tokens": 7} | usage}
