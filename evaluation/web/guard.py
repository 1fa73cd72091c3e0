"""Checks every request before the application sees it, and adds security headers to every response.

A page of another site can post to a server on this machine, and another site's name can be made to resolve to it (DNS
rebinding). So a request must name one of our hosts, and a request that changes something must come from our own pages.

>>> guarded = Guard(app, hosts=["127.0.0.1", "localhost"])
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from evaluation.web.journal import JournalError
from welfare_env import WelfareEnvError

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


class RequestRefused(WelfareEnvError, ValueError):
    """A refused request.

    Attributes:
        status: of the response.
        code: for pages.
    """

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code = status, code


class Guard:
    """ASGI middleware that checks the heads of requests and limits their bodies.

    Args:
        app: handles accepted requests, and turns `RequestRefused`, raised as it reads a body, into a response.
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
        if scope["type"] != "http":  # the start and end of the server
            await self.app(scope, receive, send)
            return
        request, app = Request(scope), self.app
        try:
            self.check(request)
        except RequestRefused as error:
            app = refused(request, error)
        await app(scope, self._limited(receive), _with_headers(send))

    def check(self, request: Request) -> None:
        """Raise `RequestRefused` if the head of a request is refused."""
        host, headers = request.headers.get("host", ""), request.headers
        if host_name(host) not in self.hosts:
            told = f"this server does not accept the name {host!r:.80}: allow it with --public-url"
            raise RequestRefused(421, "name", told)
        if request.method not in ("GET", "HEAD", "POST"):
            raise RequestRefused(405, "method", "only GET and POST are supported")
        if request.method != "POST":
            return
        origin = url_parts(headers.get("origin", ""))
        is_own = origin is not None and origin.netloc.lower() == host.lower()
        if not is_own or headers.get("sec-fetch-site", "same-origin") != "same-origin":
            raise RequestRefused(403, "site", "this request comes from another site")
        if headers.get("content-type", "").partition(";")[0].strip().lower() != JSON:
            raise RequestRefused(415, "type", f"send {JSON}")

    def _limited(self, receive: Receive) -> Receive:
        """A `receive` that raises `RequestRefused` for a body that is too long or too slow."""
        size, is_whole, deadline = 0, False, asyncio.get_running_loop().time() + self.patience

        async def receiving() -> Message:
            nonlocal size, is_whole
            try:
                async with asyncio.timeout_at(None if is_whole else deadline):
                    message = await receive()
            except TimeoutError as error:
                raise RequestRefused(408, "slow", "the request did not arrive in time") from error
            is_whole = not message.get("more_body", False)
            size += len(message.get("body", b""))
            if size > self.max_body:
                raise RequestRefused(413, "long", f"a request has at most {self.max_body} bytes")
            return message

        return receiving


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


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return sending


# Errors as responses.


def problem(message: str, status: int, code: str = "") -> Response:
    """An error as JSON, for a page to show."""
    text = message.encode("utf-8", "backslashreplace").decode()
    return JSONResponse({"error": text, "code": code}, status)


def problem_for(request: Request, message: str, status: int, code: str) -> Response:
    """Like `problem`, but as plain text if the browser asks for a page."""
    if "text/html" in request.headers.get("accept", ""):
        return PlainTextResponse(message, status)
    return problem(message, status, code)


def refused(request: Request, error: RequestRefused) -> Response:
    """The response to a refused request."""
    answer = problem_for(request, str(error), error.status, error.code)
    answer.headers["connection"] = "close"  # the rest of the body is not read
    return answer


def failed(request: Request, error: Exception) -> Response:
    """The response to an error: of the request, or of the server (a full disk), whose details only the log has."""
    if isinstance(error, RequestRefused):
        return refused(request, error)
    _log.error("%s: %s", type(error).__name__, error)
    reason = error.reason if isinstance(error, JournalError) else type(error).__name__
    return problem_for(
        request, f"The server failed ({reason}); nothing was changed. Please tell the host", 500, "failed"
    )
