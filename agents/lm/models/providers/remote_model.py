"""Models asked through the client of a provider's SDK: the tries of a question, and what they cost.

Transport, pools, proxies, credentials and time limits are the SDK's. Its retries are off: here a 429 pauses all
questions to a model, every try reserves its part of the budget, and the end of a run ends them.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import json
import logging
import os
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from types import ModuleType
from typing import Any, ClassVar

import numpy as np

from agents.lm.errors import ENDING_KINDS, AccessError, ConfigError, LMError, ModelError
from agents.lm.models.budget import Budget
from agents.lm.models.limits import MODELS, Clock, Halt
from agents.lm.models.prices import PRICES, Counts, Price, find_price, load_prices
from agents.lm.models.protocol import NO_USAGE, Finish, Reply, Request, Usage
from agents.lm.models.providers.faults import LOST, MALFORMED, PAID_FOR, Fault, clean, fault_of
from agents.lm.models.providers.refusals import SAMPLING, SCHEMA, Refusals, not_sent, refused
from agents.lm.models.settings import (
    check_kind,
    check_number,
    checked_extra,
    checked_url,
    checked_variable,
    redacted,
    without_key,
)
from agents.lm.reading.obeying import obeys
from welfare_env.extras import install_extra

MIN_AT_ONCE, MAX_AT_ONCE = 128, 900  # questions at a time; each is a connection, and systems allow some 1,000
MAX_BACKOFF = 60.0  # seconds
PAID_RETRIES = 2
"""Number of retries after an answer that was lost or could not be used, but may have been paid for."""
FIRST_RETRIES = 2
"""Number of retries if a server has never been reached: most likely it does not exist."""
FIRST_QUESTIONS = 5
"""If so many questions fail before the first answer, the server is assumed not to answer the rest of the run either."""
MAX_COMPARED = 100  # replies that are compared with their schema: enough to see whether it is enforced
BETWEEN_WARNINGS = 60.0  # seconds between warnings of one kind of fault
STREAMED = 8000  # tokens; longer replies are streamed, so that the time limit applies to silence
BESIDES = 100  # tokens that a server may add around the prompts and the schema
CUT = 8  # bytes of a prompt per token that the server has read, from which it must have cut the prompt

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Answer:
    """A server's answer, with its thinking kept apart. `counts` is None if they are missing or impossible."""

    text: str
    finish: Finish
    model: str
    counts: Counts | None
    reasoning: str = ""


def is_same_model(asked: str, answering: str) -> bool:
    """Whether the answering model's name may denote the model asked: a version of it, or its name without the path."""
    one, other = (name.casefold().rstrip("/") for name in (asked, answering))
    return one in other or other in one or one.rpartition("/")[2] == other.rpartition("/")[2]


def most_tokens(request: Request) -> int:
    """An upper bound on the tokens of a prompt and its schema: no text has more tokens than bytes."""
    schema = 0 if request.schema is None else len(request.schema_text)
    return len(request.prompt.encode()) + schema + BESIDES


class RemoteModel(ABC):
    """A model asked through the client of a provider's SDK; thread-safe.

    A key is read from the environment before every question. It goes to the provider, or to the server that the
    environment names instead; a server named by `base_url` gets a key only if `key_variable` says which, and the log
    then says who gets it.

    Args:
        model: the model's name on the server.
        base_url: another server with the provider's interface, with the path that the SDK expects; None for the one in
            the environment (`URL_VARIABLE`) or the provider's own.
        key_variable: name of the environment variable that holds the key; None for the provider's own variable if
            requests go to the provider, and for no key if they go elsewhere.
        timeout: the SDK's time limit in seconds: of an answer, and in a streamed answer of the pause between its parts.
        retries: number of retries after a transient fault. A 429 counts only if no question was answered since.
        backoff: seconds before the first retry, doubled each time up to a minute, and randomly shortened by up to a
            half. A server's own waiting time takes precedence.
        max_concurrent: largest number of questions at a time; None for as many as concurrent games ask (`expect`).
        structured: whether the schema of the reply is sent; one that the server refuses is left out in any case.
        effort: how much the model should think, in the provider's words ("low"); None leaves it to the model.
        extra: further fields of the request's body, which the server must know: a dict, or the text of a JSON object.
        prices: a table, or the path of a file as in `agents.lm.models.prices`; None for the table there, which only
            holds for the provider's own server.
        budget: a budget, which may be shared with other models.
        halt: stops the calls of all models that share it when one of them cannot go on.
        rng: generator for the waiting times.
        clock: clock for the waiting times.
        http_client: the HTTP client that the SDK should use; None for the SDK's own.

    Raises:
        ConfigError: an invalid option, or a budget in dollars without a price.
    """

    PROVIDER: ClassVar[str]
    SDK: ClassVar[str]
    CLIENT: ClassVar[str]  # the SDK's class
    URL: ClassVar[str]
    PATH: ClassVar[str] = ""  # the path at the end of such servers' addresses
    URL_VARIABLE: ClassVar[str]
    KEY_VARIABLE: ClassVar[str | None]
    IS_CLOUD: ClassVar[bool] = False  # where the SDK finds address and credentials in the environment

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        key_variable: str | None = None,
        timeout: float = 600.0,
        retries: int = 6,
        backoff: float = 1.0,
        max_concurrent: int | None = None,
        structured: bool = True,
        effort: str | None = None,
        extra: Mapping[str, Any] | str | None = None,
        prices: Mapping[str, Price] | str | os.PathLike[str] | None = None,
        budget: Budget | None = None,
        halt: Halt | None = None,
        rng: np.random.Generator | None = None,
        clock: Clock | None = None,
        http_client: Any = None,
    ) -> None:
        check_number("timeout", timeout, above=0)
        check_number("retries", retries, whole=True)
        check_number("backoff", backoff)
        check_number("max_concurrent", 1 if max_concurrent is None else max_concurrent, above=0, whole=True)
        check_kind("structured", structured, bool)
        check_kind("effort", "" if effort is None else effort, str)
        if not model:
            raise ConfigError(f"{self.PROVIDER}: give the name of a model")
        self.model, self.structured, self.effort = model, structured, effort
        self.extra = {} if extra is None else checked_extra(extra)
        address = os.environ.get(self.URL_VARIABLE)
        self.base_url = checked_url(base_url) if base_url else checked_url(address or self.URL, self.URL_VARIABLE)
        elsewhere = bool(base_url) and self.base_url != self.URL
        self.is_official = self.base_url == self.URL or (self.IS_CLOUD and not elsewhere)
        own_variable = None if elsewhere else self.KEY_VARIABLE
        self.key_variable = own_variable if key_variable is None else checked_variable(key_variable)
        self.timeout, self.retries, self.backoff = timeout, retries, backoff
        self.price = self._find_price(prices)
        self.budget = budget or Budget()
        if self.budget.max_dollars is not None and self.price is None:
            raise ConfigError(f"{self.name}: no price is known for a budget in dollars; give a file with `prices`")
        self.halt, self.clock, self.rng = halt or Halt(), clock or Clock(), rng or np.random.default_rng(0)
        self.faults: Counter[str] = Counter()  # of all tries, by kind
        self._http_client = http_client
        self._made: tuple[str, Any] | None = None  # the client, and its key
        self._is_bounded, self._places_wanted = max_concurrent is not None, max_concurrent or MIN_AT_ONCE
        self._places, self._places_made = asyncio.Semaphore(self._places_wanted), self._places_wanted
        self._rests_until = 0.0  # after a 429
        self._answers = self._compared = 0
        self._was_reached = False
        self._failures = 0  # questions without an answer before the first one
        self._refusals = Refusals()
        self._warned: dict[str, float] = {}  # warning -> end of the time in which it is not repeated
        if elsewhere and self.key_variable is not None:
            self.warn(f"the value of {self.key_variable} is sent to {self.base_url} as the key")
        if self.price is None and (self.is_official or prices is not None):
            self.warn("no price is known, so dollars are not counted; give a file with `prices`")

    @property
    def name(self) -> str:
        """Its name for `make_model`: "openai/NAME"."""
        return f"{self.PROVIDER}/{self.model}"

    @property
    def settings(self) -> dict[str, Any]:
        """What the replies depend on besides the request, as plain JSON values."""
        known = {"base_url": self.base_url, "structured": self.structured, "effort": self.effort}
        return known | ({"extra": self.extra} if self.extra else {})

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model!r}, base_url={self.base_url!r})"

    def check_ready(self) -> None:
        """Checks that it can be asked, without asking.

        Raises:
            ConfigError: the provider's SDK is not installed, or there is no key.
        """
        if importlib.util.find_spec(self.SDK) is None:
            raise self._not_installed(f"No module named {self.SDK!r}")
        self._key()
        if self.IS_CLOUD:
            self._new_client(self._key())  # which looks for credentials

    def expect(self, questions: int) -> None:
        """Makes room for so many questions at a time, unless `max_concurrent` was given."""
        if not self._is_bounded:
            self._places_wanted = max(self._places_wanted, min(questions, MAX_AT_ONCE))

    def complete(self, request: Request) -> Reply:
        """As `acomplete`, for code without an event loop."""
        return MODELS.run(self._call(request))

    async def acomplete(self, request: Request) -> Reply:
        """Sends a request and waits for the reply.

        Raises:
            ModelError: there is no reply to this request, now or at all.
            AccessError: every other call would fail, too; or the first `FIRST_QUESTIONS` all failed.
            BudgetError: the budget does not allow it.
            ConfigError: the SDK is not installed, or there is no key.
            StoppedError: another call that shares `halt` cannot go on; or that call's error.
        """
        return await MODELS.wait(self._call(request))

    def close(self) -> None:
        """Closes the connections. The next question opens new ones."""
        MODELS.run(self._close())

    async def _close(self) -> None:
        made, self._made = self._made, None
        if made is not None:
            await made[1].close()

    async def _call(self, request: Request) -> Reply:
        """A question. An error that ends the run stops all other calls."""
        since = self.halt.begin()
        try:
            return await self._tried(request, since)
        except LMError as error:
            ending = self._ending(error)
            if ending is not None and self.halt.stops == since:  # not the error of another call
                self.halt.stop(ending)
            if ending is None or ending is error:
                raise
            raise ending from error

    def _ending(self, error: LMError) -> LMError | None:
        """The error with which the run ends; None if it can go on."""
        if not isinstance(error, ModelError) or error.is_passing:
            return error
        self._failures += not self._answers
        if self._answers or self._failures < FIRST_QUESTIONS:
            return None
        self._failures = 0
        said = str(error).removeprefix(f"{self.name}: ")
        text = f"{self.name}: nothing was answered in {FIRST_QUESTIONS} questions; the last error was {said}"
        return AccessError(error.kind, text)

    async def _tried(self, request: Request, since: int) -> Reply:
        """The tries of a question."""
        prompt = most_tokens(request)
        dollars = None if self.price is None else self.price.most(prompt, request.max_tokens)
        left_out = self._refusals.of(request)
        faults: list[str] = []
        usage, retries, wait, answers = NO_USAGE, 0, 0.0, self._answers
        while True:
            await self.halt.pause(wait, since, self.clock)
            async with self._place():
                await self._rest(since)
                async with self.budget.hold(prompt + request.max_tokens, dollars) as hold:
                    self.halt.check(since)
                    outcome = await self._outcome(request, left_out)
                    hold.spend(self._used(outcome, request, prompt))
                    usage += hold.usage
            if isinstance(outcome, Answer):
                self._answers += 1
                self._look_at(outcome, request, left_out)
                reply = Reply(outcome.text, usage, outcome.finish, outcome.model, len(faults) + 1, tuple(faults))
                omitted = tuple(not_sent(request, self._optional(request, left_out)))
                return replace(reply, reasoning=outcome.reasoning, left_out=omitted)
            if parameter := refused(outcome, self._optional(request, left_out)):
                self._refusals.add(parameter, request)
                which = "schemas of this shape" if parameter == SCHEMA else parameter
                self.warn(f"the server refuses {which}: left out from now on: {outcome.text}", which)
                left_out, wait = left_out | {parameter}, 0.0
                continue
            faults.append(outcome.kind)
            retries = 1 if outcome.kind == "rate limit" and self._answers > answers else retries + 1
            answers = self._answers  # of all calls to the model; later ones show that a 429 passes
            paid = sum(kind in PAID_FOR for kind in faults)
            is_last = outcome.is_final or paid > PAID_RETRIES or retries > self._allowed(outcome.kind)
            wait = self._wait(outcome, retries)
            self._note(outcome, len(faults), None if is_last else wait)
            if is_last:
                raise self._failure(outcome, faults, usage)

    @cached_property
    def _sdk(self) -> ModuleType:
        try:
            return importlib.import_module(self.SDK)
        except ImportError as error:
            raise self._not_installed(error) from error

    @cached_property
    def _raised(self) -> tuple[type[Exception], ...]:
        """What a call can raise: the SDK's errors, httpx's in a stream, and those of an answer of another form."""
        http = importlib.import_module(self._sdk.DefaultAsyncHttpxClient.__mro__[1].__module__.partition(".")[0])
        return (self._sdk.APIError, http.HTTPError, Fault, *MALFORMED)

    def _not_installed(self, what: object) -> ConfigError:
        return ConfigError(f"{self.name}: {what}; it needs {install_extra('lm')}")

    @property
    def _given_key(self) -> str:
        """What the environment variable of the key holds now; "" if there is none."""
        return os.environ.get(self.key_variable or "", "").strip()

    def _key(self) -> str:
        """The key, or "" to send none, or what the SDK finds."""
        key = self._given_key
        if not key and self.key_variable is not None and not self.IS_CLOUD:
            raise ConfigError(
                f"{self.name}: the environment variable {self.key_variable} holds no key: "
                f"export {self.key_variable}=...; or try everything without one against python -m agents.lm.stub"
            )
        if not (key.isascii() and key.isprintable()) or " " in key:
            raise ConfigError(f"{self.name}: the environment variable {self.key_variable} does not hold a valid key")
        return key

    @property
    def client(self) -> Any:
        """The SDK's client, with today's key."""
        key = self._key()
        if self._made is None or self._made[0] != key:
            self._made = (key, self._new_client(key))
        return self._made[1]

    def _new_client(self, key: str) -> Any:
        """A new client; it does not follow redirects: prompts and keys only go to servers that the user has named."""
        http = self._http_client or self._sdk.DefaultAsyncHttpxClient(follow_redirects=False)
        limit = self._sdk.Timeout(self.timeout, connect=min(15.0, self.timeout))
        client = getattr(self._sdk, self.CLIENT)
        try:
            return client(max_retries=0, timeout=limit, http_client=http, **self.client_options(key))
        except (ImportError, ValueError, TypeError, RuntimeError, self._sdk.APIError.__base__) as error:
            raise ConfigError(f"{self.name}: {clean(self._redacted(str(error)))}") from None

    def client_options(self, key: str) -> dict[str, Any]:
        """Options of the SDK's client: address and credentials."""
        return {"base_url": self.base_url, "api_key": key or "none"}  # else the SDK would look for a key elsewhere

    def _redacted(self, text: str) -> str:
        return redacted(text, self._given_key)

    @abstractmethod
    async def ask(self, request: Request, left_out: frozenset[str]) -> Answer:
        """Asks the SDK's client once.

        Args:
            request: the request.
            left_out: parameters that the server has refused.

        Raises:
            Exception: those of the SDK; LookupError, TypeError, AttributeError, ValueError: the answer violates the
                interface; `Fault`.
        """

    async def _outcome(self, request: Request, left_out: frozenset[str]) -> Answer | Fault:
        client = self.client
        try:
            answer = await self.ask(request, left_out)
        except LMError:
            raise
        except self._raised as error:
            fault = fault_of(error, self._sdk, self._redacted)
            self._was_reached |= fault.kind not in ("unreachable", "timeout", "connection")
            fault.text += self._advice(fault, str(client.base_url))
            return fault
        except (ImportError, RuntimeError) as error:  # of the libraries that find a cloud's credentials
            raise ConfigError(f"{self.name}: {clean(self._redacted(str(error)))}") from None
        self._was_reached = True
        return self._checked(answer)

    def _checked(self, answer: Answer) -> Answer | Fault:
        said, thought = (without_key(text, self._given_key) for text in (answer.text, answer.reasoning))
        if not said.strip() and answer.finish in ("stop", "other"):
            if not _is_object(thought):
                return Fault("empty", "the answer has no text", used=answer.counts)
            self.warn("the reply was where thinking belongs: start the server without a parser of thinking")
            said, thought = thought, ""
        is_odd = answer.counts is not None and said and not answer.counts.output
        return replace(answer, text=said, reasoning=thought, counts=None if is_odd else answer.counts)

    def _place(self) -> asyncio.Semaphore:
        while self._places_made < self._places_wanted:
            self._places.release()
            self._places_made += 1
        return self._places

    async def _rest(self, since: int) -> None:
        """Waits while the model rests after a 429."""
        while (left := self._rests_until - self.clock.now()) > 0:
            await self.halt.pause(left * (1.0 + float(self.rng.random()) / 10.0), since, self.clock)
        self.halt.check(since)

    def _wait(self, fault: Fault, retries: int) -> float:
        """Seconds until the next try, with random jitter so that calls do not all come back at once.

        After a 429 all calls wait, and the refused one a little longer, so that it does not hold up the others.
        """
        chance = float(self.rng.random())
        backoff = min(MAX_BACKOFF, self.backoff * 2.0 ** min(retries - 1, 30))
        seconds = max(backoff * (1.0 - chance / 2.0), (fault.retry_after or 0.0) * (1.0 + chance / 10.0))
        if fault.kind == "rate limit" and not fault.is_final:
            self._rests_until = max(self._rests_until, self.clock.now() + seconds)
            return 1.2 * seconds
        return seconds

    def _allowed(self, kind: str) -> int:
        """Number of retries after a fault of this kind."""
        is_new = kind == "unreachable" and not self._was_reached
        return min(self.retries, FIRST_RETRIES) if is_new else self.retries

    def _failure(self, fault: Fault, faults: list[str], usage: Usage) -> ModelError | AccessError:
        text = f"{self.name}: {fault.kind}: {fault.text}"
        if len(faults) > 1:
            text += f" (the last of {len(faults)} tries)"
        if fault.kind in ENDING_KINDS:
            return AccessError(fault.kind, text)
        return ModelError(fault.kind, text, tuple(faults), usage)

    def _used(self, outcome: Answer | Fault, request: Request, prompt: int) -> Usage:
        """The usage of a try; if it is unreported, or the answer was lost, an upper bound."""
        counts: Counts | None
        if isinstance(outcome, Answer):
            counts = outcome.counts
            if counts is None:
                self.warn("its server reports no plausible usage; every byte is counted as a token, too many")
                counts = Counts(prompt, 0, 0, len(outcome.text.encode()))
        elif outcome.used is not None or outcome.kind not in LOST:
            counts = outcome.used
        else:
            counts = Counts(prompt, 0, 0, request.max_tokens)
        return NO_USAGE if counts is None else counts.usage(self.price)

    def _optional(self, request: Request, left_out: frozenset[str]) -> dict[str, str]:
        """The optional parameters that are sent, with their names on the wire.

        If a server refuses several together, they are left out in this sequence.
        """
        sampling = {name: name for name in SAMPLING if name in self.sampling(request, left_out)}
        return sampling | ({SCHEMA: SCHEMA} if self.schema(request, left_out) is not None else {})

    def sampling(self, request: Request, left_out: frozenset[str]) -> dict[str, float]:
        """The sampling parameters to send."""
        asked = {name: getattr(request, name) for name in SAMPLING if name not in left_out}
        return {name: value for name, value in asked.items() if value is not None}

    def schema(self, request: Request, left_out: frozenset[str]) -> Mapping[str, Any] | None:
        """The schema to send."""
        return request.schema if self.structured and SCHEMA not in left_out else None

    def _look_at(self, answer: Answer, request: Request, left_out: frozenset[str]) -> None:
        """Warns, once each, if another model answers, or the server cuts prompts or does not enforce schemas."""
        if answer.model and not is_same_model(self.model, answer.model):
            self.warn(f"{answer.model} answers instead of {self.model}")
        size = len(request.prompt.encode())
        read = size if answer.counts is None else sum(answer.counts[:3])
        if read < size / CUT:
            self.warn(
                f"its server has read {read:,} tokens of a prompt of {size:,} bytes: its context is too short for the "
                "prompts, so give it a longer one (Ollama: num_ctx)"
            )
        schema = self.schema(request, left_out)
        if schema is not None and answer.finish == "stop" and self._compared < MAX_COMPARED:
            self._compared += 1
            if not obeys(answer.text, schema):
                self.warn(
                    "a reply does not match its schema, so the server does not enforce schemas: "
                    "`welfare-env check-model` says what to set"
                )

    def warn(self, text: str, kind: str = "", repeats_after: float = float("inf")) -> None:
        """Logs a warning; as INFO if one of its kind (by default, the text) was logged in the last seconds."""
        now, kind = self.clock.now(), kind or text
        is_news = now >= self._warned.get(kind, now)
        if is_news:
            self._warned[kind] = now + repeats_after
        _log.log(logging.WARNING if is_news else logging.INFO, "%s: %s", self.name, text)

    def _note(self, fault: Fault, tries: int, wait: float | None) -> None:
        """Counts a fault and logs it: each kind as a warning once a minute, otherwise as INFO."""
        self.faults[fault.kind] += 1
        then = "given up" if wait is None else f"asked again in {wait:.0f} s"
        text = f"{fault.kind}: {fault.text}; try {tries}, {then}"
        if wait is None and fault.kind in ENDING_KINDS:  # the error that ends the run says it
            _log.info("%s: %s", self.name, text)
        else:
            self.warn(text, f"{fault.kind} {wait is None}", BETWEEN_WARNINGS)

    def _advice(self, fault: Fault, server: str) -> str:
        if fault.kind == "unreachable":
            return f", {server}; see that the server runs, and that base_url is right"
        if fault.kind == "not found" and not fault.text.startswith("HTTP 3"):
            if self.model not in fault.text and self.PATH not in self.base_url:
                return f"; see whether {self.PATH} is missing at the end of base_url: {self.base_url}{self.PATH}"
            return f"; see that {self.base_url} has a model called {self.model}"
        if fault.kind != "authentication":
            return ""
        if self.key_variable is None:
            return f"; {self.base_url} was sent no key: name the variable that holds it with key_variable"
        return f"; see that {self.key_variable} holds a key that may use {self.model}"

    def _find_price(self, prices: Mapping[str, Price] | str | os.PathLike[str] | None) -> Price | None:
        if prices is None:
            return find_price(self.model, PRICES) if self.is_official else None
        return find_price(self.model, prices if isinstance(prices, Mapping) else load_prices(prices))


def _is_object(text: str) -> bool:
    """Whether a text is a JSON object and nothing else."""
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def readable(text: str) -> str:
    """A text with characters that UTF-8 cannot encode replaced."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def count(number: Any) -> int | None:
    """A number of tokens; None if it is not a plausible one."""
    is_one = isinstance(number, int) and not isinstance(number, bool) and 0 <= number <= 10**9
    return number if is_one else None
