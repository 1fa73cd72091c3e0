"""The stub without a network: what the SDKs would send goes to it in this process."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

import httpx2

from agents.lm.stub import Stub, StubRequest

Case = Callable[[httpx2.Request], httpx2.Response]


class InProcess(Stub):
    """A stub that the SDKs ask in this process.

    Attributes:
        cases: answers that it gives before its own, one a request.
        url: an address for it, without a path.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.cases: list[Case] = []
        self.url = "http://stub"

    def client(self, sdk: ModuleType, **options: Any) -> Any:
        """The SDK's HTTP client that asks this stub."""
        return sdk.DefaultAsyncHttpxClient(transport=httpx2.MockTransport(self._handle), **options)

    def _handle(self, request: httpx2.Request) -> httpx2.Response:
        self.enter()
        try:
            return self._respond(request)
        finally:
            self.leave()

    def _respond(self, request: httpx2.Request) -> httpx2.Response:
        if self.cases:
            return self.cases.pop(0)(request)
        response = self.answer(request.url.path, dict(request.headers), request.content)
        fault = response.request.fault if response.request is not None else "ok"
        if fault == "timeout":
            raise httpx2.ReadTimeout("", request=request)
        if fault == "cut":
            raise httpx2.RemoteProtocolError("peer closed connection", request=request)
        if response.request is not None:
            self.done(response.request, request.content)
        return httpx2.Response(response.status, headers=response.headers, content=response.content)


def says(status: int, body: Any, headers: Mapping[str, str] | None = None) -> Case:
    """A case: an answer with this status and JSON."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode("ascii")
    kind = {"content-type": "application/json"}
    return lambda request: httpx2.Response(status, content=content, headers=kind | dict(headers or {}))


def last(stub: Stub) -> StubRequest:
    """The last request."""
    return stub.requests[-1]
