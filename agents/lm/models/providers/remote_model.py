"""Models accessed through a provider's SDK: the common part of OpenAI's and Anthropic's.

Both SDKs come from one generator, so their clients, errors and raw answers look alike. We let them send and receive
(`connection`), and do the rest ourselves: retries and their counts, waiting, limits, and reading answers. The SDKs are
imported with the first question.
"""

from __future__ import annotations

import logging
import os
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from threading import Lock
from types import ModuleType
from typing import Any, ClassVar

import numpy as np

from agents.lm.errors import ENDING_KINDS, AccessError, ConfigError, LMError, ModelError
from agents.lm.models.budget import Budget
from agents.lm.models.limits import LOOP, Clock, Gate, Halt, Pace, TokenPace
from agents.lm.models.prices import PRICES, Price, find_price, load_prices
from agents.lm.models.protocol import Reply, Request
from agents.lm.models.providers.answers import Answer
from agents.lm.models.providers.connection import Connection
from agents.lm.models.providers.faults import SAMPLING, SCHEMA, Fault, body_fault, clean, refused
from agents.lm.models.providers.retries import Call
from agents.lm.models.settings import check_kind, check_number, checked_extra, checked_url, checked_variable
from agents.lm.reading.obeying import obeys

BETWEEN_WARNINGS = 60.0  # seconds between warnings of one kind of fault
LEAST_AT_ONCE, MOST_AT_ONCE = 128, 900  # questions at a time; each is a connection, and systems allow some 1,000
MOST_LOOKED_AT = 100  # replies that are compared with their schema: enough to see whether it is enforced
FIRST_QUESTIONS = 5  # if all of them fail, the server is assumed not to answer the rest of the run either

_log = logging.getLogger(__name__)


def is_same_model(asked: str, answering: str) -> bool:
    """Whether the answering model's name may denote the model asked: a version of it, or its name without the path."""
    one, other = (name.casefold().rstrip("/") for name in (asked, answering))
    return one in other or other in one or one.rpartition("/")[2] == other.rpartition("/")[2]


class RemoteModel(ABC):
    """A model asked through a provider's SDK; thread-safe, also with several event loops.

    The key is read from the environment with the first question, and only kept by the SDK. It goes to the provider, or
    to the server that the environment names instead; a server named by `base_url` gets a key only if `key_variable`
    says which, and the log then says who gets it.

    Args:
        model: the model's name on the server.
        base_url: another server with the provider's interface, with the path that the SDK expects; None for the one in
            the environment (`URL_VARIABLE`) or the provider's own.
        key_variable: name of the environment variable that holds the key; None for the provider's own variable if
            requests go to the provider, and for no key if they go elsewhere.
        timeout: seconds in which a try must have its whole answer, including connecting. A question may take `retries`
            + 1 times as long, plus the pauses between the tries: at most a minute each, or as long as the server wants,
            up to ten minutes.
        retries: number of retries after a transient fault.
        backoff: seconds before the first retry, doubled each time up to a minute, and randomly shortened by up to a
            half. A server's own waiting time takes precedence.
        max_concurrent: largest number of questions at a time; None for as many as concurrent games ask (`expect`).
        requests_per_minute: largest number of tries in any minute; None for no limit.
        tokens_per_minute: largest number of tokens, of prompts and replies, in tries that begin within a minute; None
            for no limit. A try counts with the most it may use, and once it has ended with what it has used.
        structured: whether the schema of the reply is sent; one that the server rejects is left out in any case.
        effort: how much the model should think, in the provider's words ("low"); None leaves it to the model.
        extra: further fields of the request's body, which the server must know: a dict, or the text of a JSON object.
        prices: a table, or the path of a file as in `agents.lm.models.prices`; None for the table there, which only
            holds for the provider's own server.
        budget: a budget, which may be shared with other models.
        halt: stops the calls of all models that share it when one of them cannot go on.
        rng: generator for the waiting times.
        clock: clock for the waiting times.

    Raises:
        ConfigError: an invalid option, or a budget in dollars without a price.
    """

    PROVIDER: ClassVar[str]
    URL: ClassVar[str]
    PATH: ClassVar[str]  # the path at the end of such servers' addresses
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
        max_concurrent: int | None = None,
        requests_per_minute: int | None = None,
        tokens_per_minute: int | None = None,
        structured: bool = True,
        effort: str | None = None,
        extra: Mapping[str, Any] | str | None = None,
        prices: Mapping[str, Price] | str | os.PathLike[str] | None = None,
        budget: Budget | None = None,
        halt: Halt | None = None,
        rng: np.random.Generator | None = None,
        clock: Clock | None = None,
    ) -> None:
        check_number("timeout", timeout, above=0)
        check_number("retries", retries, whole=True)
        check_number("backoff", backoff)
        check_number("max_concurrent", 1 if max_concurrent is None else max_concurrent, above=0, whole=True)
        check_number("requests_per_minute", 1 if requests_per_minute is None else requests_per_minute, 0, whole=True)
        check_number("tokens_per_minute", 1 if tokens_per_minute is None else tokens_per_minute, 0, whole=True)
        check_kind("structured", structured, bool)
        check_kind("effort", "" if effort is None else effort, str)
        if not model:
            raise ConfigError(f"{self.PROVIDER}: give the name of a model")
        self.model, self.structured, self.effort = model, structured, effort
        self.extra = {} if extra is None else checked_extra(extra)
        address = os.environ.get(self.URL_VARIABLE)
        self.base_url = checked_url(base_url) if base_url else checked_url(address or self.URL, self.URL_VARIABLE)
        self.is_official = self.base_url == self.URL
        elsewhere = base_url is not None and not self.is_official
        own_variable = None if elsewhere else self.KEY_VARIABLE
        self.key_variable = own_variable if key_variable is None else checked_variable(key_variable)
        self.timeout, self.retries, self.backoff = timeout, retries, backoff
        self.price = self._find_price(prices)
        self.budget = budget or Budget()
        if self.budget.max_dollars is not None and self.price is None:
            raise ConfigError(f"{self.name}: no price is known for a budget in dollars; give a file with `prices`")
        self.halt = halt or Halt()
        self.clock = clock or Clock()
        self.has_answered = False
        self._given_up = 0  # questions given up before the first answer
        self._looked = 0  # replies compared with their schema
        self.rng = rng or np.random.default_rng(0)
        self.without: frozenset[str] = frozenset()  # parameters that the server has rejected
        self._logged: set[str] = set()
        self._warned: dict[tuple[str, bool], float] = {}  # end of the time without further warnings
        self._faults: Counter[str] = Counter()
        self._is_bounded = max_concurrent is not None
        self._gate, self._pace = Gate(max_concurrent or LEAST_AT_ONCE), Pace(requests_per_minute, self.clock)
        self._tokens = TokenPace(tokens_per_minute, self.clock)
        self._lock = Lock()
        self._connection = Connection(
            self.PROVIDER, self.name, self.base_url, self.key_variable, timeout, self.new_client
        )
        if elsewhere and self.key_variable is not None:
            self.warn_once(f"the value of {self.key_variable} is sent to {self.base_url} as the key")
        if self.price is None and (self.is_official or prices is not None):
            self.warn_once("no price is known, so dollars are not counted; give a file with `prices`")

    @property
    def name(self) -> str:
        """Its name for `make_model`: "openai/NAME"."""
        return f"{self.PROVIDER}/{self.model}"

    @property
    def settings(self) -> dict[str, Any]:
        """What the replies depend on besides the request, as plain JSON values."""
        known = {"base_url": self.base_url, "structured": self.structured, "effort": self.effort}
        return known | ({"extra": self.extra} if self.extra else {})

    def check_ready(self) -> None:
        """Checks that it can be asked, without asking.

        Raises:
            ConfigError: the provider's SDK is not installed, or there is no key.
        """
        self._connection.check()

    @property
    def faults(self) -> Counter[str]:
        """Count of each kind of fault, over all tries of all calls."""
        with self._lock:
            return Counter(self._faults)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model!r}, base_url={self.base_url!r})"

    def __reduce__(self) -> Any:
        raise TypeError("a model holds connections and a key, and cannot be pickled: make a new one where it is used")

    def expect(self, questions: int) -> None:
        """Makes room for so many questions at a time, unless `max_concurrent` was given."""
        if not self._is_bounded:
            self._gate.widen(min(questions, MOST_AT_ONCE))

    @property
    def was_reached(self) -> bool:
        """Whether the server has ever answered anything."""
        return self._connection.was_reached

    def complete(self, request: Request) -> Reply:
        """As `acomplete`, for code without an event loop."""
        return LOOP.run(self.acomplete(request))

    async def acomplete(self, request: Request) -> Reply:
        """Sends a request and waits for the reply. Before an event loop ends, close its connections with `aclose`.

        Raises:
            ModelError: the call failed for good.
            AccessError: every other call would fail, too; or the first `FIRST_QUESTIONS` all failed.
            BudgetError: the budget does not allow it.
            ConfigError: the SDK is not installed, or there is no key.
            StoppedError: another call that shares `halt` cannot go on; or that call's error.
        """
        with self._in_progress() as since:
            call = Call(self, request)
            while call.reply is None:
                await self.halt.pause(call.wait, since, self.clock)
                async with self._gate, self.budget.hold(*call.most, self) as hold:
                    await self.halt.pause(self._pace.wait(), since, self.clock)
                    used = await self._tokens.begin(call.likely, self.halt, since)
                    call.take(await self._ask(self.body(request, call.without)), hold)
                    used[0] = hold.usage.tokens
        self._warn_about(request, call.reply)
        return call.reply

    def _warn_about(self, request: Request, reply: Reply) -> None:
        """Logs, once each, that another model answers, and that a server does not enforce the schema of a reply."""
        if reply.model and not is_same_model(self.model, reply.model):
            self.warn_once(f"{reply.model} answers instead of {self.model}")
        schema = self.schema(request, self.without)
        if schema is None or reply.finish != "stop" or self._looked >= MOST_LOOKED_AT:
            return
        self._looked += 1
        if not obeys(reply.text, schema):
            self.warn_once(
                "a reply does not match its schema, so the server does not enforce schemas: "
                "`welfare-env check-model` says what to set"
            )

    def close(self) -> None:
        """Closes the connections of `complete` and of games. The next question opens new ones."""
        LOOP.run(self.aclose())

    async def aclose(self) -> None:
        """Closes the connections of the running event loop."""
        await self._connection.close()

    def note(self, fault: Fault, tries: int, wait: float | None) -> None:
        """Counts a fault and logs it: each kind as a warning once a minute, otherwise as INFO.

        Without a configured log, Python writes warnings to stderr.

        Args:
            fault: the fault of a try.
            tries: number of tries of the call so far.
            wait: seconds until the next try; None if there is none.
        """
        then = "given up" if wait is None else f"asked again in {wait:.0f} s"
        level = logging.WARNING if self._is_news(fault.kind, wait is None) else logging.INFO
        _log.log(level, "%s: %s: %s; try %d, %s", self.name, fault.kind, fault.text, tries, then)

    def _is_news(self, kind: str, is_last: bool) -> bool:
        """Counts a fault. Returns whether to log it as a warning: one per kind in `BETWEEN_WARNINGS` seconds."""
        now = self.clock.now()
        with self._lock:
            self._faults[kind] += 1
            if now < self._warned.get((kind, is_last), now) or (is_last and kind in ENDING_KINDS):
                return False  # the error that ends the run is reported anyway
            self._warned[kind, is_last] = now + BETWEEN_WARNINGS
            return True

    def warn_once(self, text: str) -> None:
        """Logs a warning, only the first time."""
        with self._lock:
            is_new = text not in self._logged
            self._logged.add(text)
        if is_new:
            _log.warning("%s: %s", self.name, text)

    def drops_rejected(self, fault: Fault, request: Request, without: frozenset[str]) -> bool:
        """Whether the server has rejected an optional parameter; it is dropped from now on.

        This is logged. Replies do not depend on which call finds out.

        Args:
            fault: the server's fault.
            request: the request.
            without: the parameters that were not sent.
        """
        sent = {name: called for name, called in self.optional(request).items() if name not in without}
        name = refused(fault, sent)
        if name is None:
            return False
        with self._lock:
            self.without |= {name}
        self.warn_once(self.dropped_text(name, fault))
        return True

    def optional(self, request: Request) -> dict[str, str]:
        """The optional parameters of a question, with their names on the wire.

        If a server rejects several together, they are dropped in this sequence.
        """
        sampling = {name: name for name in SAMPLING if getattr(request, name) is not None}
        return sampling | ({SCHEMA: SCHEMA} if request.schema is not None and self.structured else {})

    def dropped_text(self, name: str, fault: Fault) -> str:
        """The log message when a parameter is dropped."""
        if name == SCHEMA:
            return f"the server does not take the schema of a reply; it is left out from now on: {fault.text}"
        return f"the model does not take {name}; it is left out from now on"

    def sampling(self, request: Request, without: Collection[str]) -> dict[str, float]:
        """The sampling parameters to send."""
        asked = {name: getattr(request, name) for name in SAMPLING if name not in without}
        return {name: value for name, value in asked.items() if value is not None}

    def schema(self, request: Request, without: Collection[str]) -> Mapping[str, Any] | None:
        """The schema to send."""
        return request.schema if self.structured and SCHEMA not in without else None

    @abstractmethod
    def body(self, request: Request, without: Collection[str]) -> dict[str, Any]:
        """The JSON of a question.

        Args:
            request: the request.
            without: parameters that the server has rejected.
        """

    @abstractmethod
    def read(self, payload: Any) -> Answer:
        """Reads the provider's JSON.

        Raises:
            KeyError, IndexError, TypeError, ValueError, AttributeError: it violates the interface.
        """

    @property
    @abstractmethod
    def endpoint(self) -> str:
        """The path of questions, after the server's address."""

    @abstractmethod
    def new_client(self, sdk: ModuleType, **options: Any) -> Any:
        """The SDK's async client."""

    @contextmanager
    def _in_progress(self) -> Iterator[int]:
        """Runs a call, and yields the `since` of `Halt.pause`. An error that ends the run stops all other calls."""
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
        if self.halt.stops == since:  # not the error of another call
            self.halt.stop(error)

    def _never_answering(self, last: ModelError) -> AccessError | None:
        """Counts the questions given up before the first answer; returns an error if there are too many."""
        with self._lock:
            self._given_up = 0 if self.has_answered else self._given_up + 1
            if self._given_up < FIRST_QUESTIONS:
                return None
            self._given_up = 0
        said = str(last).removeprefix(f"{self.name}: ")
        text = f"{self.name}: nothing was answered in {FIRST_QUESTIONS} questions; the last error was {said}"
        return AccessError(last.kind, text)

    async def _ask(self, body: Mapping[str, Any]) -> Answer | Fault:
        try:
            return self._understand(await self._connection.send(self.endpoint, body))
        except Fault as fault:
            return self._advised(fault)

    def _understand(self, payload: Any) -> Answer:
        """Reads the JSON of an answer.

        Raises:
            Fault: it contains nothing usable.
        """
        fault = body_fault(payload, self._connection.redacted)
        if fault is not None:
            raise fault
        try:
            answer = self.read(payload)
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
            wrong = clean(self._connection.redacted(f"{type(error).__name__} {error}"))
            raise Fault("malformed", f"the answer is not what the interface promises: {wrong}") from None
        said, thought = (self._connection.without_key(text) for text in (answer.text, answer.reasoning))
        answer = replace(answer, text=said, reasoning=thought)
        if not answer.text.strip() and answer.finish in ("stop", "other"):
            raise Fault("empty", "the answer has no text", used=answer.counts)
        if answer.counts is not None and answer.text and not answer.counts.output:
            return replace(answer, counts=None)
        return answer

    def _advised(self, fault: Fault) -> Fault:
        fault.text += self._advice(fault.kind, fault.text)
        return fault

    def _advice(self, kind: str, said: str = "") -> str:
        if kind == "unreachable":
            return "; see that the server runs, and that base_url is right"
        if kind == "not found" and said.startswith("HTTP 3"):
            return ""  # the text says what to do
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
            return find_price(self.model, PRICES) if self.is_official else None
        return find_price(self.model, prices if isinstance(prices, Mapping) else load_prices(prices))
