"""Checks every request before the application sees it, and adds security headers to every response.

A page of another site can post to a server on this machine, and another site's name can be made to resolve to it (DNS
rebinding). So a request must name one of our hosts, and a request that changes something must come from our own pages.

>>> guarded = Guard(app, hosts=["127.0.0.1", "localhost"])
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from evaluation.web.journal import JournalError

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Only scripts and styles from our own files; nothing inline or from other sites."""

HEADERS = {
    "content-security-policy": SECURITY_POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
"""Headers of every response, unless the page sets its own."""

JSON = "application/json"
MAX_BODY_WITHOUT_TEXT = 2**16  # maximum bytes of a request, not counting texts written by people
_log = logging.getLogger(__name__)
LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True)
class Refusal:
    """Why a request is refused: HTTP status, message, and a code for pages."""

    status: int
    reason: str
    code: str


class Guard:
    """ASGI middleware that checks the heads of requests, and reads their bodies within limits.

    Args:
        app: handles accepted requests. It gets the whole body at once.
        hosts: names and addresses of this server, without ports.
        max_body: maximum bytes of a body.
        patience: time limit for the body, in seconds.
    """

    def __init__(
        self,
        app: ASGIApp,
        hosts: Collection[str],
        max_body: int = MAX_BODY_WITHOUT_TEXT,
        patience: float = 10,
    ) -> None:
        self.app = app
        self.hosts = frozenset(host.lower() for host in hosts)
        self.max_body = max_body
        self.patience = patience

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request or refuse it."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # no websockets; the server closes them
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        refusal = self.refusal(scope["method"], headers)
        body = b""
        if refusal is None:
            read = await self._body(receive, headers)
            refusal, body = (read, b"") if isinstance(read, Refusal) else (None, read)
        if refusal is not None:
            answer = refused(headers.get("accept", ""), refusal.reason, refusal.status, refusal.code)
            answer.headers["connection"] = "close"  # the rest of the body is not read
            await answer(scope, receive, _with_headers(send))
            return
        await self.app(scope, _replayed(body, receive), _with_headers(send))

    def refusal(self, method: str, headers: dict[str, str]) -> Refusal | None:
        """Why the head of a request is refused; None if it is accepted.

        Args:
            headers: names in lower case -> values.
        """
        host = headers.get("host", "")
        if host_name(host) not in self.hosts:
            told = f"this server does not accept the name {host!r:.80}: allow it with --public-url"
            return Refusal(421, told, "name")
        if method not in ("GET", "HEAD", "POST"):
            return Refusal(405, "only GET and POST are supported", "method")
        if method != "POST":
            return None
        origin = url_parts(headers.get("origin", ""))
        is_own = origin is not None and origin.netloc.lower() == host.lower()
        if not is_own or headers.get("sec-fetch-site", "same-origin") != "same-origin":
            return Refusal(403, "this request comes from another site", "site")
        if headers.get("content-type", "").partition(";")[0].strip().lower() != JSON:
            return Refusal(415, f"send {JSON}", "type")
        return None

    async def _body(self, receive: Receive, headers: dict[str, str]) -> bytes | Refusal:
        declared = headers.get("content-length", "0")
        too_long = Refusal(413, f"a request has at most {self.max_body} bytes", "long")
        if not declared.isdecimal() or int(declared[:12]) > self.max_body:
            return too_long
        body = bytearray()
        try:
            async with asyncio.timeout(self.patience):
                while True:
                    message = await receive()
                    body += message.get("body", b"")
                    if len(body) > self.max_body:
                        return too_long
                    if message["type"] == "http.disconnect" or not message.get("more_body", False):
                        return bytes(body)
        except TimeoutError:
            return Refusal(408, "the request did not arrive in time", "slow")


def url_parts(url: str) -> SplitResult | None:
    """The parts of a URL; None if it is invalid ("http://[", "http://a:port") or contains a user name."""
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 (raises if it is not a number)
    except ValueError:
        return None
    return None if "@" in parts.netloc else parts


def host_name(host: str) -> str:
    """The name or address in a Host header, in lower case: "localhost" for "localhost:8000", "::1" for "[::1]:80"."""
    parts = url_parts(f"//{host}")
    return (parts and parts.hostname) or ""


def _replayed(body: bytes, receive: Receive) -> Receive:
    """A `receive` that first returns the body already read, then later messages (such as a disconnect)."""
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = list(message.get("headers", []))
            named = {name.lower() for name, _ in own}
            added = [(name.encode(), value.encode()) for name, value in HEADERS.items() if name.encode() not in named]
            message = {**message, "headers": own + added}
        await send(message)

    return sending


# Errors as responses.


def problem(message: str, status: int, code: str = "") -> Response:
    """An error as JSON, for a page to show."""
    text = message.encode("utf-8", "backslashreplace").decode()
    return JSONResponse({"error": text, "code": code}, status)


def refused(accepts: str, message: str, status: int, code: str) -> Response:
    """Like `problem`, but as plain text if the browser asks for a page.

    Args:
        accepts: the request's Accept header.
    """
    return PlainTextResponse(message, status) if "text/html" in accepts else problem(message, status, code)


def failed(request: Request, error: Exception) -> Response:
    """The response to a server error, such as a full disk. Only the host's log has the details."""
    _log.error("%s: %s", type(error).__name__, error)
    reason = error.reason if isinstance(error, JournalError) else type(error).__name__
    message = f"The server failed ({reason}); nothing was changed. Please tell the host"
    return refused(request.headers.get("accept", ""), message, 500, "failed")
