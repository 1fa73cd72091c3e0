"""The server: its addresses, what it refuses before the application sees it, and the headers of every response.

A page of another site can post to a server on this machine, and another site's name can be made to resolve to it (DNS
rebinding). So a request must name one of our hosts (starlette's TrustedHostMiddleware), and a request that changes
something must be JSON from our own pages (`json_object`). Nothing is allowed across origins.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import socket
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.responses import JSONResponse, Response

from evaluation.checks import EvaluationError
from welfare_env import WelfareEnvError

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.routing import Route
    from starlette.types import ASGIApp, Lifespan, Message, Receive, Scope, Send

EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104 (compared, not bound)
MAX_CONNECTIONS = 800  # beyond them, requests get status 503; many systems allow a process 1,024 open files
MAX_BODY = 2**20  # bytes of a request: messages to twenty powers, with every character escaped twice
PATIENCE = 10.0  # seconds for a body to arrive
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
"""Of every response. Only scripts and styles from our own files; nothing inline or from other sites."""

_log = logging.getLogger(__name__)


class Refused(WelfareEnvError):
    """A refused request, link or answer.

    Attributes:
        status: of the response.
        code: for pages, such as "late", "used" or "malformed".
    """

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code = status, code


@dataclass(frozen=True)
class Address:
    """The addresses of a server.

    Attributes:
        host: the address to listen on. With a loopback address, only this machine can connect; with "0.0.0.0",
            everybody who can reach this machine, by its addresses or its host name.
        port: the port; 0 for a free port.
        public_url: the URL that people use, if it is another one: of a reverse proxy, such as
            "https://play.example.org", or with another name of this machine; with https, cookies are https only.

    Raises:
        EvaluationError: an invalid public URL, or one with more than host and port.
    """

    host: str = "127.0.0.1"
    port: int = 0
    public_url: str = ""

    def __post_init__(self) -> None:
        try:
            parts = urlsplit(self.public_url.lower())
            is_url = parts.hostname and (parts.port is None or parts.port >= 0) and "@" not in parts.netloc
            is_whole = self.public_url.lower().rstrip("/") in (f"http://{parts.netloc}", f"https://{parts.netloc}")
        except ValueError:
            is_url = is_whole = False
        if self.public_url and not (is_url and is_whole):
            raise EvaluationError(f"public URL {self.public_url!r:.100}: give a URL such as https://play.example.org")

    @property
    def hosts(self) -> list[str]:
        """The host names that requests may use."""
        own = own_names() if self.host in EVERYWHERE else [self.host]
        names = ["127.0.0.1", "localhost", "::1", *own, urlsplit(self.public_url).hostname or "localhost"]
        return [name for each in names for name in (each, f"[{each}]")]  # an IPv6 address has brackets in requests

    @property
    def is_secure(self) -> bool:
        """Whether people connect over https."""
        return self.public_url.lower().startswith("https:")

    @property
    def url(self) -> str:
        """The server's URL for people, without trailing slash."""
        if self.public_url:
            return self.public_url.rstrip("/")
        host = own_names()[0] if self.host in EVERYWHERE else self.host
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"


def own_names() -> list[str]:
    """This machine's address in its network, and its host name."""
    found = [socket.gethostname().lower()]
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.connect(("192.0.2.1", 9))  # an address for documentation: selects our own address, but sends nothing
        found.insert(0, sock.getsockname()[0])
    return found


class SafeHeaders:
    """ASGI middleware that adds `HEADERS` to every response."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message["headers"] = [*message["headers"], *own]
            await send(message)

        await self.app(scope, receive, sending)


async def json_object(request: Request) -> dict[str, Any]:
    """The JSON object in a request of our own pages.

    Raises:
        Refused: it comes from another site, or its body is too long, too slow, or something else.
    """
    own = [f"{scheme}://{request.headers.get('host', '')}" for scheme in ("http", "https")]
    if (
        request.headers.get("origin") not in own
        or request.headers.get("sec-fetch-site", "same-origin") != "same-origin"
    ):
        raise Refused(403, "site", "this request comes from another site")
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise Refused(415, "type", "send application/json")
    body = b""
    try:
        async with asyncio.timeout(PATIENCE):
            async for chunk in request.stream():
                body += chunk
                if len(body) > MAX_BODY:
                    raise Refused(413, "long", f"a request has at most {MAX_BODY} bytes")
        found = json.loads(body)
    except TimeoutError as error:
        raise Refused(408, "slow", "the request did not arrive in time") from error
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise Refused(400, "malformed", "not a JSON object")
    return found


def problem(request: Request, error: Exception) -> Response:
    """An error as a response; of an error of the server (a full disk), only the log has the details."""
    if not isinstance(error, Refused):
        _log.error("%s: %s", type(error).__name__, error)
        error = Refused(500, "failed", "The server failed; nothing was changed. Please tell the host")
    text = str(error).encode("utf-8", "backslashreplace").decode()
    unread = {"connection": "close"} if error.status in (403, 408, 413, 415) else None  # the rest of a body
    return JSONResponse({"error": text, "code": error.code}, error.status, unread)


def make_site(routes: Sequence[Route], address: Address, lifespan: Lifespan[Starlette] | None = None) -> ASGIApp:
    """The application."""
    trusted = Middleware(TrustedHostMiddleware, allowed_hosts=address.hosts, www_redirect=False)
    handlers: Any = {WelfareEnvError: problem, OSError: problem}
    return SafeHeaders(Starlette(routes=routes, lifespan=lifespan, middleware=[trusted], exception_handlers=handlers))


def make_server(site: ASGIApp) -> uvicorn.Server:
    """A uvicorn server, without access log."""
    config = uvicorn.Config(
        site,
        http="h11",
        ws="none",
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=MAX_CONNECTIONS,
        timeout_keep_alive=15,
        timeout_graceful_shutdown=2,
        h11_max_incomplete_event_size=2**14,
        lifespan="on",
    )
    return uvicorn.Server(config)


@contextlib.contextmanager
def listening(address: Address) -> Iterator[socket.socket]:
    """A listening socket; an early browser just waits until the server runs.

    Raises:
        EvaluationError: the address or the port cannot be used.
    """
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind((address.host, address.port))
        except OSError as error:
            where = f"{address.host}:{address.port}"
            raise EvaluationError(f"cannot listen on {where}: {error.strerror}; give another --port") from error
        sock.listen(1024)
        yield sock
