"""The connection to one server: the SDK's clients, the key, limits of time and size, and connection faults."""

from __future__ import annotations

import asyncio
import importlib
import json
import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from threading import Lock
from types import ModuleType
from typing import Any
from weakref import WeakKeyDictionary

from agents.lm.errors import ConfigError
from agents.lm.models.providers.bodies import MAX_REPLY_BYTES, is_whole, unpacked
from agents.lm.models.providers.faults import Fault, clean, status_fault
from agents.lm.models.settings import redacted, without_key
from welfare_env.extras import install_extra

MAX_ERROR_BYTES = 2**16
"""Limit of an error's body; what follows is not read."""

MAX_CODING = 200  # characters of the name of an encoding in an error
CONNECTIONS = 16
"""Connections of one client: for each question the HTTP library looks through all of them."""

LATE = 0.1  # seconds after which the event loop counts as having been busy
LONGEST_CONNECTING = 15.0  # seconds until the server counts as unreachable
SHORTEST_CONNECTING = 1.0  # a shorter limit mistakes our own busy process for an absent server
UNREAD = "X-Stainless-Raw-Response"
"""Header by which both SDKs, which do not send it on as it is, are told to leave the body of an answer to us."""

_CODINGS = ("", "identity", "none", "utf-8", "gzip", "deflate")  # those that expand a thousandfold at most


@dataclass
class _Client:
    """One of the SDK's clients.

    Attributes:
        sdk: the client.
        questions: questions that it is asking now.
    """

    sdk: Any
    questions: int = 0


class Connection:
    """A connection to one server through a provider's SDK, for any number of event loops.

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
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, list[_Client]] = WeakKeyDictionary()

    async def send(self, path: str, body: Mapping[str, Any]) -> bytes:
        """Sends a request and waits for the whole answer.

        Args:
            path: where to, after the server's address.
            body: its JSON. The SDK's functions for single endpoints would walk through every value of it.

        Raises:
            Fault: no answer, or not in time, or it is too long, or an error.
            ConfigError: the SDK is not installed, or there is no key.
        """
        read = bytearray()
        try:
            with self._client() as client:
                async with fair_timeout(self._timeout):
                    asked = client.post(path, cast_to=object, body=body, options=self._options)
                    await _read_whole(await asked, read)
            return unpacked(bytes(read))
        except TimeoutError:
            fault = self._late()
        except self._errors as error:
            fault = self._fault(error)
        if is_whole(content := bytes(read)):
            return content  # only the end of the body was wrong, or never came
        raise fault

    async def close(self) -> None:
        """Closes the connections of the running event loop."""
        for client in self._clients.pop(asyncio.get_running_loop(), ()):
            await client.sdk.close()

    def redacted(self, text: str) -> str:
        """A server's text without the key."""
        return redacted(text, self._sent_key)

    def without_key(self, text: str) -> str:
        """An answer without the key itself; otherwise it stays as it is, as it is kept and played by."""
        return without_key(text, self._sent_key)

    @property
    def _sent_key(self) -> str:
        return os.environ.get(self._key_variable or "", "").strip()

    async def _look(self, response: Any) -> None:
        """Checks the head of every answer before the SDK, which would read errors of any length and follow redirects.

        Raises:
            Fault: it is an error, or in an encoding that was not asked for.
        """
        self.was_reached = True
        if response.status_code >= 300:
            body = _readable(await self._beginning(response))
            raise status_fault(response.status_code, response.headers, body, self.redacted)
        coding = response.headers.get("content-encoding", "").strip().lower()
        if coding not in _CODINGS:
            packed = clean(self.redacted(coding[:MAX_CODING]))
            raise Fault("malformed", f"the answer is packed as {packed}, which was not asked for")
        if coding == "gzip":  # some say so of what is not packed, and others do not say so of what is
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
            pass  # the status is there, and that is enough
        return bytes(read[:MAX_ERROR_BYTES])

    def _fault(self, error: Exception) -> Fault:
        """The fault for an error of the SDK or of its HTTP library."""
        cause: BaseException = (isinstance(error, self._sdk.APIError) and error.__cause__) or error
        if isinstance(cause, Fault):
            return cause
        if isinstance(cause, self._never_sent):
            return Fault("unreachable", self._broken(cause))
        if isinstance(cause, self._http.DecodingError):
            return Fault("malformed", self._broken(cause))
        if isinstance(cause, self._http.TimeoutException):
            return self._late()
        return Fault("connection", self._broken(cause))

    def _broken(self, cause: BaseException) -> str:
        return clean(self.redacted(f"{type(cause).__name__} {cause}")) + f", {self._url}"

    def _late(self) -> Fault:
        return Fault("timeout", f"no whole answer within {self._timeout:g} s")

    @contextmanager
    def _client(self) -> Iterator[Any]:
        """The first of the SDK's clients with a connection to spare; a new one if there is none."""
        loop = asyncio.get_running_loop()  # connections belong to the event loop that opened them
        with self._lock:
            clients = self._clients.setdefault(loop, [])
            client = next((each for each in clients if each.questions < CONNECTIONS), None)
            if client is None:
                client = _Client(self._made())
                clients.append(client)
            client.questions += 1
        try:
            yield client.sdk
        finally:
            with self._lock:
                client.questions -= 1

    def _made(self) -> Any:
        key = self._key()
        half = self._timeout / 2  # to distinguish absent servers from slow ones
        connecting = min(max(half, SHORTEST_CONNECTING), LONGEST_CONNECTING)
        timeout = self._http.Timeout(self._timeout, connect=connecting)
        hooks = {"response": [self._look]}
        limits = self._http.Limits(max_connections=CONNECTIONS, max_keepalive_connections=CONNECTIONS)
        http = self._sdk.DefaultAsyncHttpxClient(
            timeout=timeout, event_hooks=hooks, base_url=self._url, limits=limits, verify=_certificates(self._http)
        )
        # Without a key from us the SDK would look for one elsewhere. The placeholder is not sent.
        options = {"base_url": self._url, "timeout": timeout, "max_retries": 0, "http_client": http}
        return self._new_client(self._sdk, api_key=key or "none", **options)

    @cached_property
    def _options(self) -> dict[str, Any]:
        no_header = self._sdk.Omit()
        no_key = {} if self._key_variable else {"Authorization": no_header, "X-Api-Key": no_header}
        return {"headers": {"Accept-Encoding": "gzip, deflate", UNREAD: "stream"} | no_key}

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
        return Fault, self._sdk.APIError, self._http.HTTPError, self._http.StreamError, OSError

    @cached_property
    def _never_sent(self) -> tuple[type[Exception], ...]:
        http = self._http
        return http.ConnectError, http.ConnectTimeout, http.ProxyError, http.UnsupportedProtocol

    def _imported(self, package: str) -> ModuleType:
        try:
            return importlib.import_module(package)
        except ImportError as error:
            raise ConfigError(f"{self._who}: {error}; it needs {install_extra('lm')}") from error


@asynccontextmanager
async def fair_timeout(seconds: float) -> AsyncIterator[None]:
    """As `asyncio.timeout`, but if the event loop was busy when the time was up, there is as much again to look.

    While the loop does other work (imports, compilation, another player's plan), answers lie there unread.
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
    """Those of this machine, which take a tenth of a second to read: once, for all clients of an HTTP library."""
    return http.create_ssl_context()


async def _read_whole(response: Any, read: bytearray) -> None:
    """Reads the whole body of an answer into `read`, and closes it.

    Raises:
        Fault: it is too long.
    """
    try:
        async for piece in response.iter_bytes():
            read += piece
            if len(read) > MAX_REPLY_BYTES:
                raise Fault("too long", f"the answer is longer than {MAX_REPLY_BYTES} bytes")
    finally:
        await response.close()


def _readable(content: bytes) -> Any:
    """The body of an error: its JSON, or else its text."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return content.decode(errors="replace")
