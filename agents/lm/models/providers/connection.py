"""The connection to one server: what the SDK sends with a question, the key, limits of time and size, and faults.

The SDK writes the head of the first question: address, key, versions. All questions are then sent with that head by the
transports of the SDK's HTTP library, without the layers above them (docs/decisions/0004-two-sdks.md).
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import json
import os
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache, cached_property
from threading import Lock
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass
from weakref import WeakKeyDictionary

from agents.lm.errors import ConfigError
from agents.lm.models.providers.bodies import MAX_REPLY_BYTES, is_whole, unpacked
from agents.lm.models.providers.faults import Fault, clean, status_fault
from agents.lm.models.settings import redacted, without_key
from welfare_env.extras import install_extra

MAX_ERROR_BYTES = 2**16
"""Limit of an error's body; what follows is not read."""

MAX_CODING = 200  # characters of the name of an encoding in an error
LATE = 0.1  # seconds after which the event loop counts as having been busy
LONGEST_CONNECTING = 15.0  # seconds until the server counts as unreachable
SHORTEST_CONNECTING = 1.0  # a shorter limit mistakes our own busy process for an absent server
_CODINGS = ("", "identity", "none", "utf-8", "gzip", "deflate")  # the accepted ones: they expand a thousandfold at most


_KEPT_ALIVE = {"TCP_KEEPINTVL": 60, "TCP_KEEPCNT": 5, "TCP_KEEPIDLE": 60}
"""TCP keep-alive, as in Anthropic's SDK: routers may close a connection that is idle while a model thinks."""


@dataclass(frozen=True)
class _Head:
    """The address and headers of a question.

    Attributes:
        url: the whole address, an object of the HTTP library.
        headers: with the key, an object of the HTTP library.
    """

    url: Any
    headers: Any


@dataclass
class _Lines:
    """The transports of one event loop, of one connection each: the library searches a larger pool for every request.

    Attributes:
        heads: path -> address and headers.
        idle: the free transports, the last used last.
        made: all transports.
    """

    heads: dict[str, _Head] = field(default_factory=dict)
    idle: list[Any] = field(default_factory=list)
    made: list[Any] = field(default_factory=list)


class Connection:
    """A connection to one server that a provider's SDK knows, for any number of event loops.

    Args:
        sdk: the name of the SDK's package.
        who: the model's name, for errors.
        url: URL of the server.
        key_variable: the environment variable that holds the key; None to send none.
        timeout: seconds until the whole answer must be there, from connecting to the last byte.
        new_client: makes the SDK's async client, from its module and options.

    Attributes:
        was_reached: whether the server has answered anything.
    """

    def __init__(
        self,
        sdk: str,
        who: str,
        url: str,
        key_variable: str | None,
        timeout: float,
        new_client: Callable[..., Any],
    ) -> None:
        self._package, self._who, self._url, self._key_variable = sdk, who, url, key_variable
        self._timeout, self._new_client = timeout, new_client
        self.was_reached = False
        self._lock = Lock()
        self._lines: WeakKeyDictionary[asyncio.AbstractEventLoop, _Lines] = WeakKeyDictionary()

    async def send(self, path: str, body: Mapping[str, Any]) -> bytes:
        """Sends a request and waits for the whole answer.

        Args:
            path: the path after the server's address.
            body: the request's JSON.

        Raises:
            Fault: there is no answer, or it is late, too long, or an error.
            ConfigError: the SDK is not installed, or there is no key.
        """
        read = bytearray()
        content = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
        with self._lock:
            lines = self._lines.setdefault(asyncio.get_running_loop(), _Lines())  # of the loop that opens them
        line = None
        try:
            async with fair_timeout(self._timeout):
                head = lines.heads.get(path) or await self._written_head(lines, path)
                line = self._line(lines)
                extensions = {"timeout": self._times.as_dict()}
                asked = self._http.Request(
                    "POST", head.url, headers=head.headers, content=content, extensions=extensions
                )
                response = await line.handle_async_request(asked)
                try:
                    await self._check_head(response)
                    await _read_whole(response, read)
                finally:
                    await response.aclose()
            return unpacked(bytes(read))
        except TimeoutError:
            fault = self._late()
        except self._errors as error:
            fault = self._fault(error)
        finally:
            if line is not None:
                lines.idle.append(line)
        if is_whole(content := bytes(read)):
            return content  # only the end of the body was wrong, or never came
        raise fault

    def check(self) -> None:
        """Checks that questions can be sent, without sending one or importing the SDK.

        Raises:
            ConfigError: the SDK is not installed, or there is no key.
        """
        if importlib.util.find_spec(self._package) is None:
            raise self._not_installed(f"No module named {self._package!r}")
        self._key()

    async def close(self) -> None:
        """Closes the connections of the running event loop."""
        lines = self._lines.pop(asyncio.get_running_loop(), None)
        for line in [] if lines is None else lines.made:
            await line.aclose()

    def redacted(self, text: str) -> str:
        """A server's text without the key."""
        return redacted(text, self._sent_key)

    def without_key(self, text: str) -> str:
        """An answer without the key itself; the rest is unchanged, since it is stored and played."""
        return without_key(text, self._sent_key)

    @property
    def _sent_key(self) -> str:
        return os.environ.get(self._key_variable or "", "").strip()

    async def _check_head(self, response: Any) -> None:
        """Checks the head of an answer; errors are read to a certain length, and redirects are not followed.

        Raises:
            Fault: the answer is an error, or in an encoding that was not asked for.
        """
        self.was_reached = True
        if response.status_code >= 300:
            body = _readable(await self._beginning(response))
            raise status_fault(response.status_code, response.headers, body, self.redacted)
        coding = response.headers.get("content-encoding", "").strip().lower()
        if coding not in _CODINGS:
            packed = clean(self.redacted(coding[:MAX_CODING]))
            raise Fault("malformed", f"the answer is packed as {packed}, which was not asked for")
        if coding == "gzip":  # some servers get this header wrong: `unpacked` looks at the bytes
            del response.headers["content-encoding"]

    async def _beginning(self, response: Any) -> bytes:
        """The first bytes of an answer's body, up to its end or to where it breaks off."""
        read = bytearray()
        try:
            async for piece in response.aiter_bytes():
                read += piece
                if len(read) > MAX_ERROR_BYTES:
                    break
        except (self._http.HTTPError, self._http.StreamError, OSError):
            pass  # the status is enough
        return bytes(read[:MAX_ERROR_BYTES])

    def _fault(self, error: Exception) -> Fault:
        """The fault for an error of the HTTP library."""
        if isinstance(error, Fault):
            return error
        if isinstance(error, self._never_sent):
            return Fault("unreachable", self._broken(error))
        if isinstance(error, self._http.DecodingError):
            return Fault("malformed", self._broken(error))
        if isinstance(error, self._http.TimeoutException):
            return self._late()
        return Fault("connection", self._broken(error))

    def _broken(self, cause: BaseException) -> str:
        return clean(self.redacted(f"{type(cause).__name__} {cause}")) + f", {self._url}"

    def _late(self) -> Fault:
        return Fault("timeout", f"no whole answer within {self._timeout:g} s")

    def _line(self, lines: _Lines) -> Any:
        """A free transport; a new one if there is none."""
        if not lines.idle:
            lines.idle.append(self.new_line())
            lines.made.append(lines.idle[-1])
        return lines.idle.pop()

    def new_line(self) -> Any:
        """A transport of the HTTP library, of one connection."""
        return self._http.AsyncHTTPTransport(
            verify=_certificates(self._http),
            limits=self._http.Limits(max_connections=1, max_keepalive_connections=1),
            proxy=proxy_of(self._url),
            socket_options=_socket_options(),
        )

    async def _written_head(self, lines: _Lines, path: str) -> _Head:
        """The address and headers that the SDK writes, taken from a request that is not sent."""
        key, heads = self._key(), []

        def note(request: Any) -> Any:
            request.headers.pop("Content-Length", None)
            heads.append(_Head(request.url, request.headers))
            return self._http.Response(200, json={})

        client = self._sdk.DefaultAsyncHttpxClient(transport=self._http.MockTransport(note), base_url=self._url)
        # Without a key from us the SDK would look for one elsewhere. The placeholder is not sent.
        options = {"base_url": self._url, "timeout": self._times, "max_retries": 0, "http_client": client}
        async with self._new_client(self._sdk, api_key=key or "none", **options) as sdk:
            await sdk.post(path, cast_to=object, body={}, options=self._options)
        return lines.heads.setdefault(path, heads[0])

    @cached_property
    def _times(self) -> Any:
        half = self._timeout / 2  # to distinguish absent servers from slow ones
        connecting = min(max(half, SHORTEST_CONNECTING), LONGEST_CONNECTING)
        return self._http.Timeout(self._timeout, connect=connecting)

    @cached_property
    def _options(self) -> dict[str, Any]:
        no_header = self._sdk.Omit()
        no_key = {} if self._key_variable else {"Authorization": no_header, "X-Api-Key": no_header}
        return {"headers": {"Accept-Encoding": "gzip, deflate"} | no_key}

    def _key(self) -> str:
        """The key, or "" to send none."""
        if self._key_variable is None:
            return ""
        key = os.environ.get(self._key_variable, "").strip()
        if not key:
            raise ConfigError(
                f"{self._who}: the environment variable {self._key_variable} holds no key: "
                f"export {self._key_variable}=...; or try everything without one against python -m agents.lm.stub"
            )
        if not (key.isascii() and key.isprintable()) or " " in key:
            raise ConfigError(f"{self._who}: the environment variable {self._key_variable} does not hold a valid key")
        return key

    @cached_property
    def _sdk(self) -> ModuleType:
        return self._imported(self._package)

    @cached_property
    def _http(self) -> ModuleType:
        """The HTTP library of the SDK: httpx, or in later versions httpx2."""
        return self._imported(self._sdk.DefaultAsyncHttpxClient.__mro__[1].__module__.partition(".")[0])

    @cached_property
    def _errors(self) -> tuple[type[Exception], ...]:
        return Fault, self._http.HTTPError, self._http.StreamError, OSError

    @cached_property
    def _never_sent(self) -> tuple[type[Exception], ...]:
        http = self._http
        return http.ConnectError, http.ConnectTimeout, http.ProxyError, http.UnsupportedProtocol

    def _imported(self, package: str) -> ModuleType:
        try:
            return importlib.import_module(package)
        except ImportError as error:
            raise self._not_installed(error) from error

    def _not_installed(self, what: object) -> ConfigError:
        return ConfigError(f"{self._who}: {what}; it needs {install_extra('lm')}")


@asynccontextmanager
async def fair_timeout(seconds: float) -> AsyncIterator[None]:
    """As `asyncio.timeout`, but extended by the time for which the event loop was busy past the limit, at most doubled.

    While the loop does other work (imports, compilation, another player's plan), answers that have come are not read.
    """
    loop = asyncio.get_running_loop()
    due = loop.time() + seconds

    def look(limit: asyncio.Timeout) -> None:
        late = loop.time() - due
        limit.reschedule(loop.time() + (min(late, seconds) if late > LATE else 0.0))

    async with asyncio.timeout(None) as limit:
        looking = loop.call_at(due, look, limit)
        try:
            yield
        finally:
            looking.cancel()


@cache
def _certificates(http: ModuleType) -> Any:
    """This machine's certificates, read once for all clients of an HTTP library: it takes a tenth of a second."""
    return http.create_ssl_context()


async def _read_whole(response: Any, read: bytearray) -> None:
    """Reads the whole body of an answer into `read`.

    Raises:
        Fault: the body is too long.
    """
    async for piece in response.aiter_bytes():
        read += piece
        if len(read) > MAX_REPLY_BYTES:
            raise Fault("too long", f"the answer is longer than {MAX_REPLY_BYTES} bytes")


def proxy_of(url: str) -> str | None:
    """The proxy that the environment names for an address (HTTPS_PROXY, ALL_PROXY, NO_PROXY), or None."""
    parts, proxies = urlsplit(url), getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if not proxy or proxy_bypass(parts.netloc):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


@cache
def _socket_options() -> list[tuple[int, int, int]]:
    named = [(socket.IPPROTO_TCP, getattr(socket, name, None), value) for name, value in _KEPT_ALIVE.items()]
    known = [(level, name, value) for level, name, value in named if name is not None]
    return [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1), *known]


def _readable(content: bytes) -> Any:
    """The body of an error: its JSON, or else its text."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return content.decode(errors="replace")
