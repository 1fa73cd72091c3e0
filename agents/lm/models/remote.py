"""Models behind a provider's SDK: what OpenAI's and Anthropic's have in common.

Both SDKs come from one generator, so that clients, errors and raw answers look alike. We let them send and receive, and
do the rest ourselves: tries and their counts, waiting, limits, the size of an answer, and what it means. The SDKs and
httpx2, which both of them speak HTTP with, are imported when the first question is asked.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import logging
import os
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from threading import Lock
from types import ModuleType
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import numpy as np

from agents.lm.errors import ENDING_KINDS, AccessError, ConfigError, LMError, ModelError
from agents.lm.models.answers import Answer, Collected, Fault, clean, status_fault
from agents.lm.models.budget import Budget
from agents.lm.models.calls import Call
from agents.lm.models.limits import Clock, Gate, Halt, Pace
from agents.lm.models.prices import PRICES, Price, find_price, load_prices
from agents.lm.models.protocol import Reply, Request
from agents.lm.models.settings import check_kind, check_number, checked_url, checked_variable, redacted

BETWEEN_WARNINGS = 60.0  # seconds, of one kind of fault
FIRST_QUESTIONS = 5  # if all of them are given up, the server will not answer the rest of the run either
LONGEST_CONNECTING = 15.0  # seconds until nobody listens
SAMPLING = ("top_p", "temperature")  # given up in this sequence, where a model takes only one of them, or neither

_log = logging.getLogger(__name__)


class RemoteModel(ABC):
    """A model asked through a provider's SDK; safe to be used by many threads and event loops at once.

    The key is read from the environment when the first question is asked, and kept by the SDK alone. It goes to the
    provider, or to the server that the environment names in its place; one named by `base_url` gets a key only if
    `key_variable` says which.

    Args:
        model: as the server calls it.
        base_url: of another server that speaks the provider's language, with the path that the SDK wants there; None
            for the environment's (`URL_VARIABLE`) or the provider's own.
        key_variable: name of the environment variable that holds the key; None for the provider's own variable when
            the question goes to the provider, and for no key when it goes elsewhere.
        timeout: seconds until a try is given up.
        retries: how often a question is asked again after a fault that may pass.
        backoff: seconds before the first retry, doubled each time up to a minute, and shortened by chance by up to a
            half. A server that says how long to wait is heeded.
        max_concurrent: questions at a time.
        requests_per_minute: tries begun in any minute; None for as many as there are.
        structured: whether the schema of the reply is sent. Switch it off where the server does not know schemas.
        effort: how much the model should think, in the provider's words ("low"); None leaves it to the model.
        prices: a table, or the path of a file as in `agents.lm.models.prices`; None for the table there, which only
            holds for the provider's own server.
        budget: what it may use, together with other models.
        halt: ends its calls, together with those of other models, when one of them cannot go on.
        rng: for the waiting times.
        clock: for the waiting times.

    Raises:
        ConfigError: an option that makes no sense, or a budget in dollars without a price.
    """

    PROVIDER: ClassVar[str]
    URL: ClassVar[str]
    PATH: ClassVar[str]  # with which the addresses of such servers end
    URL_VARIABLE: ClassVar[str]
    KEY_VARIABLE: ClassVar[str]

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        key_variable: str | None = None,
        timeout: float = 300.0,
        retries: int = 6,
        backoff: float = 1.0,
        max_concurrent: int = 16,
        requests_per_minute: int | None = None,
        structured: bool = True,
        effort: str | None = None,
        prices: Mapping[str, Price] | str | os.PathLike[str] | None = None,
        budget: Budget | None = None,
        halt: Halt | None = None,
        rng: np.random.Generator | None = None,
        clock: Clock | None = None,
    ) -> None:
        check_number("timeout", timeout, above=0)
        check_number("retries", retries, whole=True)
        check_number("backoff", backoff)
        check_number("max_concurrent", max_concurrent, above=0, whole=True)
        check_number("requests_per_minute", 1 if requests_per_minute is None else requests_per_minute, 0, whole=True)
        check_kind("structured", structured, bool)
        check_kind("effort", "" if effort is None else effort, str)
        if not model:
            raise ConfigError(f"{self.PROVIDER}: give the name of a model")
        self.model, self.structured, self.effort = model, structured, effort
        told = os.environ.get(self.URL_VARIABLE)
        self.base_url = checked_url(base_url) if base_url else checked_url(told or self.URL, self.URL_VARIABLE)
        self.is_own_server = self.base_url == self.URL
        elsewhere = base_url is not None and not self.is_own_server
        own_variable = None if elsewhere else self.KEY_VARIABLE
        self.key_variable = own_variable if key_variable is None else checked_variable(key_variable)
        self.timeout, self.retries, self.backoff = timeout, retries, backoff
        self.price = self._find_price(prices)
        self.budget = budget or Budget()
        if self.budget.max_dollars is not None and self.price is None:
            raise ConfigError(f"{self.name}: no price is known for a budget in dollars; give a file with `prices`")
        self.halt = halt or Halt()
        self.clock = clock or Clock()
        self.was_reached = self.has_answered = False
        self._given_up = 0  # questions, before the first answer
        self.rng = rng or np.random.default_rng(0)
        self._refused: set[str] = set()
        self._told: set[str] = set()
        self._warned: dict[tuple[str, bool], float] = {}  # until when not to warn again
        self._faults: Counter[str] = Counter()
        self._gate, self._pace = Gate(max_concurrent), Pace(requests_per_minute, self.clock)
        self._lock = Lock()
        self._sync_client: Any = None
        self._async_clients: WeakKeyDictionary[asyncio.AbstractEventLoop, Any] = WeakKeyDictionary()
        if self.price is None and (self.is_own_server or prices is not None):
            self.tell_once("no price is known, so dollars are not counted; give a file with `prices`")

    @property
    def name(self) -> str:
        """What it is asked for by: "openai/NAME"."""
        return f"{self.PROVIDER}/{self.model}"

    @property
    def settings(self) -> dict[str, Any]:
        """What its replies depend on besides the request, as plain JSON values."""
        return {"base_url": self.base_url, "structured": self.structured, "effort": self.effort}

    @property
    def faults(self) -> Counter[str]:
        """How often each kind of fault has come up, over all tries of all calls."""
        with self._lock:
            return Counter(self._faults)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model!r}, base_url={self.base_url!r})"

    def __reduce__(self) -> Any:
        raise TypeError("a model holds connections and its key: make it anew, from name and settings, where it is used")

    def complete(self, request: Request) -> Reply:
        """Asks and waits.

        Raises:
            ModelError: it failed for good.
            AccessError: every other call would fail, too; or the first `FIRST_QUESTIONS` were all given up.
            BudgetError: the budget does not allow it.
            ConfigError: the SDK is not installed, or there is no key.
            StoppedError: another call cannot go on, which ends all that share `halt`; or the error of that call.
        """
        with self._in_progress() as since:
            call = Call(self, request)
            while call.reply is None:
                self.halt.pause(call.wait, since, self.clock)
                with self._gate, self.budget.hold(*call.most) as hold:
                    self.halt.pause(self._pace.wait(), since, self.clock)
                    call.take(self._ask(self.body(request, call.sampling)), hold)
        return call.reply

    async def acomplete(self, request: Request) -> Reply:
        """As `complete`, for event loops. Before a loop ends, `aclose` lets go of its connections."""
        with self._in_progress() as since:
            call = Call(self, request)
            while call.reply is None:
                await self.halt.apause(call.wait, since, self.clock)
                async with self._gate:
                    with self.budget.hold(*call.most) as hold:
                        await self.halt.apause(self._pace.wait(), since, self.clock)
                        call.take(await self._aask(self.body(request, call.sampling)), hold)
        return call.reply

    def close(self) -> None:
        """Lets go of the connections of threads. The next question makes new ones."""
        with self._lock:
            client, self._sync_client = self._sync_client, None
        if client is not None:
            client.close()

    async def aclose(self) -> None:
        """Lets go of the connections of the running event loop."""
        client = self._async_clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.close()

    def note(self, fault: Fault, tries: int, wait: float | None) -> None:
        """Counts a fault and tells of it in the log: each kind as a warning once a minute, and otherwise as INFO.

        Where nobody has set up a log, Python writes warnings to stderr.

        Args:
            fault: of a try.
            tries: of the call so far.
            wait: seconds until the next one; None if there is none.
        """
        then = "given up" if wait is None else f"asked again in {wait:.0f} s"
        level = logging.WARNING if self._is_news(fault.kind, wait is None) else logging.INFO
        _log.log(level, "%s: %s: %s; try %d, %s", self.name, fault.kind, fault.text, tries, then)

    def _is_news(self, kind: str, is_last: bool) -> bool:
        """Counts a fault; whether it should be told at once, since none of its kind was told lately."""
        now = self.clock.now()
        with self._lock:
            self._faults[kind] += 1
            if now < self._warned.get((kind, is_last), now) or (is_last and kind in ENDING_KINDS):
                return False  # the error that ends the run is told anyway
            self._warned[kind, is_last] = now + BETWEEN_WARNINGS
            return True

    def tell_once(self, text: str) -> None:
        """Warns in the log, the first time only."""
        with self._lock:
            is_new = text not in self._told
            self._told.add(text)
        if is_new:
            _log.warning("%s: %s", self.name, text)

    def sampling(self, request: Request) -> dict[str, float]:
        """The parameters of sampling to be sent: those asked for, without those that the model does not take."""
        asked = {name: getattr(request, name) for name in SAMPLING}
        return {name: value for name, value in asked.items() if value is not None and name not in self._refused}

    def forgoes(self, fault: Fault, sent: Mapping[str, float]) -> bool:
        """Whether the server would not take a parameter of sampling that was sent, which is left out from now on.

        Newer models take only one of temperature and top_p, or neither, and only the server knows which. The log tells.
        """
        named = [name for name in sent if fault.kind == "bad request" and re.search(rf"\b{name}\b", fault.text)]
        if not named:
            return False
        self._refused.add(named[0])
        self.tell_once(f"the model does not take {named[0]}; it is left out from now on")
        return True

    @abstractmethod
    def body(self, request: Request, sampling: Mapping[str, float]) -> dict[str, Any]:
        """The arguments for the SDK."""

    @abstractmethod
    def read(self, payload: Any) -> Answer:
        """What the provider's JSON says.

        Raises:
            KeyError, IndexError, TypeError, ValueError, AttributeError: it is not what the interface promises.
        """

    @abstractmethod
    def endpoint(self, client: Any) -> Any:
        """The function of a client, sync or async, that sends `body` and returns the raw answer."""

    @abstractmethod
    def new_client(self, sdk: ModuleType, is_async: bool, **options: Any) -> Any:
        """The SDK's client."""

    @contextmanager
    def _in_progress(self) -> Iterator[int]:
        """A call, with what `Halt.pause` wants to know of it. An error that ends the run stops all other calls."""
        since = self.halt.begin()
        try:
            yield since
            self.has_answered = True
        except ModelError as error:
            ending = self._never_answering(error)
            if ending is None:
                raise
            self._stop(ending, since)
            raise ending from error
        except LMError as error:
            self._stop(error, since)
            raise

    def _stop(self, error: LMError, since: int) -> None:
        if self.halt.stops == since:  # it is not the error of another call
            self.halt.stop(error)

    def _never_answering(self, last: ModelError) -> AccessError | None:
        """Counts the questions given up before the first answer; the error to raise when these are too many."""
        with self._lock:
            self._given_up = 0 if self.has_answered else self._given_up + 1
            if self._given_up < FIRST_QUESTIONS:
                return None
            self._given_up = 0
        said = str(last).removeprefix(f"{self.name}: ")
        text = f"{self.name}: nothing was answered in {FIRST_QUESTIONS} questions; the last answer was {said}"
        return AccessError(last.kind, text)

    def _ask(self, body: Mapping[str, Any]) -> Answer | Fault:
        collected = Collected(self.clock, self.timeout)
        try:
            with self.endpoint(self._client())(**body, extra_headers=self._extra_headers) as response:
                self.was_reached = True
                for piece in response.iter_bytes():
                    collected.add(piece)
            return self._understand(collected.content)
        except Fault as fault:
            return fault
        except self._network_errors as error:
            return self._network_fault(error)

    async def _aask(self, body: Mapping[str, Any]) -> Answer | Fault:
        collected = Collected(self.clock, self.timeout)
        try:
            async with self.endpoint(self._async_client())(**body, extra_headers=self._extra_headers) as response:
                self.was_reached = True
                async for piece in response.iter_bytes():
                    collected.add(piece)
            return self._understand(collected.content)
        except Fault as fault:
            return fault
        except self._network_errors as error:
            return self._network_fault(error)

    def _understand(self, content: bytes) -> Answer:
        """What the body of an answer says.

        Raises:
            Fault: it says nothing that could be used.
        """
        try:
            payload = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise Fault("malformed", f"the answer of {len(content)} bytes is no JSON: {clean(str(error))}") from None
        if isinstance(payload, dict) and payload.get("error"):
            raise Fault("server", self._redacted(status_fault(500, {}, payload).text))
        try:
            answer = self.read(payload)
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
            wrong = clean(self._redacted(f"{type(error).__name__} {error}"))
            raise Fault("malformed", f"the answer is not what the interface promises: {wrong}") from None
        if not answer.text.strip() and answer.finish in ("stop", "other"):
            raise Fault("empty", "the answer has no text", used=answer.counts)
        return answer

    def _network_fault(self, error: Exception) -> Fault:
        if isinstance(error, self._sdk.APIStatusError):
            self.was_reached = True
            body = json.loads(self._redacted(json.dumps(error.body, default=str)))  # before anything is cut
            fault = status_fault(error.status_code, error.response.headers, body)
            fault.text += self._advice(fault.kind, fault.text)
            return fault
        cause = error.__cause__ or error
        told = clean(self._redacted(f"{type(cause).__name__} {cause}")) + f", {self.base_url}"
        if isinstance(cause, self._never_sent):
            return Fault("unreachable", told + self._advice("unreachable"))
        if isinstance(error, (self._sdk.APITimeoutError, self._http.TimeoutException)):
            return Fault("timeout", f"no answer within {self.timeout:g} s")
        return Fault("connection", told)

    def _advice(self, kind: str, said: str = "") -> str:
        if kind == "unreachable":
            return "; see that the server runs, and that base_url is right"
        if kind == "not found" and self.model not in said and self.PATH not in self.base_url:
            return f"; see whether {self.PATH} is missing at the end of base_url: {self.base_url}{self.PATH}"
        if kind == "not found":
            return f"; see that {self.base_url} has a model called {self.model}"
        if kind != "authentication":
            return ""
        if self.key_variable is None:
            return f"; {self.base_url} was sent no key: name the variable that holds it with key_variable"
        return f"; see that {self.key_variable} holds a key that may use {self.model}"

    def _find_price(self, prices: Mapping[str, Price] | str | os.PathLike[str] | None) -> Price | None:
        if prices is None:
            return find_price(self.model, PRICES) if self.is_own_server else None
        return find_price(self.model, prices if isinstance(prices, Mapping) else load_prices(prices))

    def _client(self) -> Any:
        with self._lock:
            if self._sync_client is None:
                self._sync_client = self._made(is_async=False)
            return self._sync_client

    def _async_client(self) -> Any:
        # Connections belong to the event loop in which they were opened.
        loop = asyncio.get_running_loop()
        with self._lock:
            if loop not in self._async_clients:
                self._async_clients[loop] = self._made(is_async=True)
            return self._async_clients[loop]

    def _made(self, is_async: bool) -> Any:
        key = self._key()
        # Without a key of ours the SDK would look for one elsewhere. The one we make up is not sent.
        timeout = self._http.Timeout(self.timeout, connect=min(self.timeout, LONGEST_CONNECTING))
        options = {"base_url": self.base_url, "timeout": timeout, "max_retries": 0}
        return self.new_client(self._sdk, is_async, api_key=key or "none", **options)

    @cached_property
    def _extra_headers(self) -> dict[str, Any]:
        no_header = self._sdk.Omit()
        return {} if self.key_variable else {"Authorization": no_header, "X-Api-Key": no_header}

    def _key(self) -> str:
        """The key, or "" where none is to be sent."""
        if self.key_variable is None:
            return ""
        key = os.environ.get(self.key_variable, "").strip()
        if not key:
            raise ConfigError(
                f"{self.name}: the environment variable {self.key_variable} holds no key: "
                f"export {self.key_variable}=...; all can be tried without one against python -m agents.lm.stub"
            )
        if not (key.isascii() and key.isprintable()) or " " in key:
            raise ConfigError(f"{self.name}: what the environment variable {self.key_variable} holds is no key")
        return key

    def _redacted(self, text: str) -> str:
        return redacted(text, os.environ.get(self.key_variable or "", "").strip())

    @cached_property
    def _sdk(self) -> ModuleType:
        return self._imported(self.PROVIDER)

    @cached_property
    def _http(self) -> ModuleType:
        return self._imported("httpx2")

    @cached_property
    def _network_errors(self) -> tuple[type[Exception], ...]:
        return self._sdk.APIError, self._http.HTTPError, self._http.StreamError

    @cached_property
    def _never_sent(self) -> tuple[type[Exception], ...]:
        http = self._http
        return http.ConnectError, http.ConnectTimeout, http.ProxyError, http.UnsupportedProtocol

    def _imported(self, package: str) -> ModuleType:
        try:
            return importlib.import_module(package)
        except ImportError as error:
            raise ConfigError(f"{self.name}: {error}; install it with: pip install 'welfare-env[lm]'") from error
