"""The connection to one server, through the client of the provider's SDK: the key, the limit of time, and faults."""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import json
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import cached_property
from threading import Lock
from types import ModuleType
from typing import Any
from weakref import WeakKeyDictionary

from agents.lm.errors import ConfigError
from agents.lm.models.providers.faults import Fault, clean, status_fault
from agents.lm.models.settings import redacted, without_key
from welfare_env.extras import install_extra

MAX_REPLY_BYTES = 4 * 2**20
"""Limit of an answer, several times the longest reply of any model."""

LATE = 0.1  # seconds after which the event loop counts as having been busy
LONGEST_CONNECTING = 15.0  # seconds until the server counts as unreachable
SHORTEST_CONNECTING = 1.0  # a shorter limit mistakes our own busy process for an absent server


class Connection:
    """A connection to one server that a provider's SDK knows, for any number of event loops.

    The SDK's client has the transports, pools and proxies. Its own retries are off: a question's tries, and their cost,
    are counted by `agents.lm.models.providers.retries`. Redirects are not followed: prompts and keys only go to servers
    that the user has named.

    Args:
        sdk: the name of the SDK's package.
        who: the model's name, for errors.
        url: URL of the server.
        key_variable: the environment variable that holds the key, read before every question; None to send none.
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
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, Any]] = WeakKeyDictionary()

    async def send(self, path: str, body: Mapping[str, Any]) -> Any:
        """Sends a request and waits for the whole answer.

        Args:
            path: the path after the server's address.
            body: the request's JSON.

        Returns:
            The answer's JSON.

        Raises:
            Fault: there is no answer, or it is late, too long, an error, or no JSON.
            ConfigError: the SDK is not installed, or there is no key.
        """
        client = self._client()
        try:
            async with fair_timeout(self._timeout):
                response = await client.post(path, cast_to=self._http.Response, body=body, options=self._options)
        except self._sdk.APIStatusError as error:
            self.was_reached = True
            raise status_fault(
                error.status_code, error.response.headers, _readable(error.response), self.redacted
            ) from None
        except (self._sdk.APIConnectionError, self._http.HTTPError, TimeoutError, OSError) as error:
            raise self._fault(error) from None
        self.was_reached = True
        return _parsed(response)

    def check(self) -> None:
        """Checks that questions can be sent, without sending one or importing the SDK.

        Raises:
            ConfigError: the SDK is not installed, or there is no key.
        """
        if importlib.util.find_spec(self._package) is None:
            raise self._not_installed(f"No module named {self._package!r}")
        self._key()

    async def close(self) -> None:
        """Closes the clients of the running event loop."""
        with self._lock:
            clients = self._clients.pop(asyncio.get_running_loop(), {})
        for client in clients.values():
            await client.close()

    def redacted(self, text: str) -> str:
        """A server's text without the key."""
        return redacted(text, self._sent_key)

    def without_key(self, text: str) -> str:
        """An answer without the key itself; the rest is unchanged, since it is stored and played."""
        return without_key(text, self._sent_key)

    @property
    def _sent_key(self) -> str:
        return os.environ.get(self._key_variable or "", "").strip()

    def _client(self) -> Any:
        """The client of the running event loop, with today's key."""
        key = self._key()
        with self._lock:
            clients = self._clients.setdefault(asyncio.get_running_loop(), {})
            if key not in clients:
                http = self._sdk.DefaultAsyncHttpxClient(
                    base_url=self._url, timeout=self._times, follow_redirects=False
                )
                # Without a key from us the SDK would look for one elsewhere. The placeholder is not sent.
                options = {"base_url": self._url, "timeout": self._times, "max_retries": 0, "http_client": http}
                clients[key] = self._new_client(self._sdk, api_key=key or "none", **options)
            return clients[key]

    def _fault(self, error: BaseException) -> Fault:
        """The fault for a question without an answer."""
        cause = error.__cause__ if isinstance(error, self._sdk.APIConnectionError) and error.__cause__ else error
        if isinstance(cause, self._never_sent):
            return Fault("unreachable", self._broken(cause))
        if isinstance(cause, self._http.DecodingError):
            return Fault("malformed", self._broken(cause))
        if isinstance(cause, (self._http.TimeoutException, TimeoutError)):
            return Fault("timeout", f"no whole answer within {self._timeout:g} s")
        return Fault("connection", self._broken(cause))

    def _broken(self, cause: BaseException) -> str:
        return clean(self.redacted(f"{type(cause).__name__} {cause}")) + f", {self._url}"

    @cached_property
    def _times(self) -> Any:
        half = self._timeout / 2  # to distinguish absent servers from slow ones
        connecting = min(max(half, SHORTEST_CONNECTING), LONGEST_CONNECTING)
        return self._http.Timeout(self._timeout, connect=connecting)

    @cached_property
    def _options(self) -> dict[str, Any]:
        no_header = self._sdk.Omit()
        return {} if self._key_variable else {"headers": {"Authorization": no_header, "X-Api-Key": no_header}}

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


def _parsed(response: Any) -> Any:
    """The JSON of an answer. Bytes that are not UTF-8 are replaced, and line breaks in strings are allowed.

    Raises:
        Fault: the answer is too long, or not JSON.
    """
    size = len(response.content)
    if size > MAX_REPLY_BYTES:
        raise Fault("too long", f"the answer is longer than {MAX_REPLY_BYTES} bytes")
    try:
        return json.loads(response.text.removeprefix("\ufeff"), strict=False)
    except (ValueError, RecursionError) as error:
        raise Fault("malformed", f"the answer of {size} bytes is not JSON: {clean(str(error))}") from None


def _readable(response: Any) -> Any:
    """The body of an error: its JSON, or else its text."""
    try:
        return json.loads(response.content)
    except (ValueError, RecursionError):
        return response.text
