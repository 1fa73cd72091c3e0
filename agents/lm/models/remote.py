"""Models asked through the client of a provider's SDK: the tries of a question, and what they cost.

Transport, pools, proxies, credentials and time limits are the SDK's. Its retries are off: here a 429 pauses all
questions to a model, every try reserves its part of the budget, and the end of a run ends them.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import logging
import math
import os
import random
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from types import ModuleType
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from agents.lm.errors import ENDING_KINDS, PASSING_KINDS, AccessError, ConfigError, LMError, ModelError
from agents.lm.models import limits
from agents.lm.models.budget import Budget
from agents.lm.models.faults import LIMIT, LOST, MALFORMED, PAID_FOR, SCHEMA, Fault, clean, fault_of
from agents.lm.models.limits import MODELS, Halt
from agents.lm.models.prices import PRICES, Counts, Price, find_price, load_prices
from agents.lm.models.protocol import NO_USAGE, Model, Reply, Request, Usage
from agents.lm.models.secrets import checked_extra, checked_url, checked_variable, redacted
from welfare_env.extras import install_extra

MAX_AT_ONCE = 900  # questions at a time; each is a connection, and systems allow some 1,000
BACKOFF, MAX_BACKOFF = 1.0, 60.0  # seconds before the first retry, doubled each time
PAID_RETRIES = 2
"""Number of retries after an answer that was lost or could not be used, but may have been paid for."""
ABSENT_RETRIES = 2
"""Number of retries if there is no server at the address: most likely it does not exist."""
FIRST_QUESTIONS = 5
"""If so many questions fail before the first answer, the server is assumed not to answer the rest of the run either."""
STREAMED = 8000  # tokens; longer replies are streamed, so that the time limit applies to silence
CUT = 8  # bytes of a prompt per token that the server has read, from which it must have cut the prompt
SHORTEST_KEY = 12  # characters; a shorter key may be an ordinary word ("EMPTY")
OPTIONAL = (SCHEMA, "temperature", "top_p")
"""The parameters of a request that are left out if a server refuses them."""

_log = logging.getLogger(__name__)


class Provider(NamedTuple):
    """What the SDK's client for a provider is called, and where it finds address and key."""

    sdk: str
    client: str
    url: str
    url_variable: str
    key_variable: str | None
    is_cloud: bool = False  # whether the SDK finds address and credentials in the environment
    address: str = "base_url"  # the client's name for the address
    credential: str = "api_key"  # and for the key


REMOTE = {
    "openai": Provider("openai", "AsyncOpenAI", "https://api.openai.com/v1", "OPENAI_BASE_URL", "OPENAI_API_KEY"),
    "azure": Provider(
        *("openai", "AsyncAzureOpenAI", "", "AZURE_OPENAI_ENDPOINT", "AZURE_OPENAI_API_KEY", True, "azure_endpoint")
    ),
    "anthropic": Provider(
        *("anthropic", "AsyncAnthropic", "https://api.anthropic.com", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY")
    ),
    "bedrock": Provider(
        *("anthropic", "AsyncAnthropicBedrock", "https://bedrock-runtime.amazonaws.com", "ANTHROPIC_BEDROCK_BASE_URL"),
        *("AWS_BEARER_TOKEN_BEDROCK", True),
    ),
    "vertex": Provider(
        *("anthropic", "AsyncAnthropicVertex", "https://aiplatform.googleapis.com", "ANTHROPIC_VERTEX_BASE_URL"),
        *(None, True, "base_url", "access_token"),
    ),
}
"""The providers whose replies cost money, by name."""


Answer = tuple[Reply, Counts | None]
"""A server's answer: the reply, still without usage, and its counts; None if they are missing or impossible."""


class RemoteModel(Model):
    """A model asked through the client of a provider's SDK.

    A key is read from the environment before every question. It goes to the provider, or to the server that the
    environment names instead; a server named by `base_url` gets a key only if `key_variable` says which, and the log
    then says who gets it.

    Args:
        provider: the provider's name, of `REMOTE`.
        model: the model's name on the server.
        base_url: another server with the provider's interface, with the path that the SDK expects; None for the one in
            the environment or the provider's own.
        key_variable: name of the environment variable that holds the key; None for the provider's own variable if
            requests go to the provider, and for no key if they go elsewhere.
        timeout: the SDK's time limit in seconds: of an answer, and in a streamed answer of the pause between its parts.
        retries: number of retries after a transient fault. A 429 counts only if no question was answered since.
        max_concurrent: largest number of questions at a time.
        effort: how much the model should think, in the provider's words ("low"); None leaves it to the model.
        extra: further fields of the request's body, which the server must know: a dict, or the text of a JSON object.
        prices: a table, or the path of a file as in `agents.lm.models.prices`; None for the table there, which only
            holds for the provider's own server.
        budget: a budget, which may be shared with other models.
        halt: stops the calls of all models that share it when one of them cannot go on.
        http_client: the HTTP client that the SDK should use; None for the SDK's own.

    Raises:
        ConfigError: an invalid option, or a budget in dollars without a price.
    """

    def __init__(
        self,
        provider: str,
        model: str,
        *,
        base_url: str | None = None,
        key_variable: str | None = None,
        timeout: float = 600.0,
        retries: int = 6,
        max_concurrent: int = MAX_AT_ONCE,
        effort: str | None = None,
        extra: Mapping[str, Any] | str | None = None,
        prices: Mapping[str, Price] | str | os.PathLike[str] | None = None,
        budget: Budget | None = None,
        halt: Halt | None = None,
        http_client: Any = None,
    ) -> None:
        check_number("timeout", timeout, above=0)
        check_number("retries", retries, whole=True)
        check_number("max_concurrent", max_concurrent, above=0, whole=True)
        self.provider, self.name = REMOTE[provider], f"{provider}/{model}"
        self.model, self.effort, self.timeout, self.retries = model, effort, timeout, retries
        self.extra = {} if extra is None else checked_extra(extra)
        self.base_url, elsewhere = server_of(provider, base_url), bool(base_url)
        self.is_official = self.base_url == self.provider.url or (self.provider.is_cloud and not elsewhere)
        self.settings = {"base_url": self.base_url} | given(effort=effort, extra=self.extra or None)
        own_variable = self.provider.key_variable if self.is_official or not elsewhere else None
        self.key_variable = own_variable if key_variable is None else checked_variable(key_variable)
        table = load_prices(prices) if isinstance(prices, str | os.PathLike) else prices
        self.price = find_price(model, (PRICES if self.is_official else {}) if table is None else table)
        self.budget, self.halt = budget or Budget(), halt or Halt()
        if self.budget.max_dollars is not None and self.price is None:
            raise ConfigError(f"{self.name}: no price is known for a budget in dollars; give a file with `prices`")
        self._http_client = http_client
        self._made: tuple[str, Any] | None = None  # the client, and its key
        self._places = asyncio.Semaphore(max_concurrent)
        self._random = random.Random(0)  # noqa: S311 (of pauses)
        self._rests_until = 0.0  # after a 429
        self._answers = 0
        self._failures = 0  # questions without an answer since the first or since a run ended with them
        self._refused: set[str] = set()  # names of parameters, and shapes of schemas
        self._warned: set[str] = set()
        if elsewhere and not self.is_official and self.key_variable is not None:
            self._warn(f"the value of {self.key_variable} is sent to {self.base_url} as the key")
        if self.price is None and (self.is_official or prices is not None):
            self._warn("no price is known, so dollars are not counted; give a file with `prices`")

    def check_ready(self) -> None:
        """Checks that it can be asked, without asking.

        Raises:
            ConfigError: the provider's SDK is not installed, or there is no key.
        """
        _ = self._sdk, self.client  # without the SDK, a key would not help

    async def acomplete(self, request: Request) -> Reply:
        """Sends a request and waits for the reply; see `Model.acomplete`."""
        return await MODELS.wait(self._call(request))

    @abstractmethod
    async def ask(self, request: Request) -> Answer:
        """Asks the SDK's client once.

        Raises:
            Exception: any of the SDK's or of reading an answer of another form; `Fault`.
        """

    def sendable(self, request: Request) -> Request:
        """The request without what the server refuses; of a schema, only if one of its shape was refused."""
        without: dict[str, Any] = {name: None for name in OPTIONAL if name in self._refused}
        if self._refused and request.schema is not None and shape(request.schema) in self._refused:
            without[SCHEMA] = None
        return replace(request, **without)

    @property
    def limit_name(self) -> str:
        """The server's name for the limit of a reply; "" if it has no other one."""
        return ""

    async def _call(self, request: Request) -> Reply:
        """A question. An error that ends the run stops all other calls."""
        with self.halt.call() as since:
            return await self._tried(request, since)

    async def _tried(self, request: Request, since: int) -> Reply:
        """The tries of a question."""
        prompt = request.max_prompt_tokens
        dollars = None if self.price is None else self.price.most(prompt, request.max_tokens)
        faults: list[str] = []
        usage, retries, answers = NO_USAGE, 0, self._answers
        while True:
            async with self._places:
                while (left := self._rests_until - limits.now()) > 0:
                    await self.halt.pause(left * (1.0 + self._random.random() / 10.0), since)
                async with self.budget.hold(prompt + request.max_tokens, dollars) as hold:
                    self.halt.check(since)
                    sent, limit = self.sendable(request), "" if LIMIT in self._refused else self.limit_name
                    outcome = await self._outcome(sent)
                    hold.usage = self._used(outcome, request)
                    usage += hold.usage
            if not isinstance(outcome, Fault):
                self._answers += 1
                missing = tuple(name for name in OPTIONAL if getattr(request, name) != getattr(sent, name))
                reply = replace(outcome[0], usage=usage, left_out=missing)
                return replace(reply, attempts=len(faults) + 1, faults=tuple(faults))
            if parameter := outcome.refused(sent, limit):
                self._refused.add(shape(sent.schema) if parameter == SCHEMA else parameter)
                which = "schemas of this shape" if parameter == SCHEMA else parameter
                self._warn(f"the server refuses {which}: left out from now on: {outcome.text}", which)
                continue
            faults.append(outcome.kind)
            retries = 1 if outcome.kind == "rate limit" and self._answers > answers else retries + 1
            answers = self._answers  # of all calls to the model; later ones show that a 429 passes
            paid = sum(kind in PAID_FOR for kind in faults)
            allowed = min(self.retries, ABSENT_RETRIES) if outcome.kind == "unreachable" else self.retries
            if outcome.is_final or paid > PAID_RETRIES or retries > allowed:
                raise self._failure(outcome, faults, usage)
            wait = self._wait(outcome, retries)
            self._warn(f"{outcome.kind}: {outcome.text}; asked again in {wait:.0f} s", outcome.kind)
            await self.halt.pause(wait, since)

    def _wait(self, fault: Fault, retries: int) -> float:
        """Seconds until the next try, with random jitter so that calls do not all come back at once.

        After a 429 all calls wait, and the refused one a little longer, so that it does not hold up the others.
        """
        chance = self._random.random()
        backoff = min(MAX_BACKOFF, BACKOFF * 2.0 ** min(retries - 1, 30))
        seconds = max(backoff * (1.0 - chance / 2.0), fault.retry_after * (1.0 + chance / 10.0))
        if fault.kind != "rate limit":
            return seconds
        self._rests_until = max(self._rests_until, limits.now() + seconds)
        return 1.2 * seconds

    async def _outcome(self, request: Request) -> Answer | Fault:
        """What one try brings."""
        client = self.client
        try:
            reply, counts = await self.ask(request)
        except LMError:
            raise
        except self._raised as error:
            fault = fault_of(error, self._sdk, self._redacted)
            if fault.kind == "credentials":  # a cloud's
                raise ConfigError(f"{self.name}: {fault.text}") from None
            fault.text += self._advice(fault, str(client.base_url))
            return fault
        said, thought = (_readable(part, self._given_key) for part in (reply.text, reply.reasoning))
        if not said.strip() and reply.finish in ("stop", "other"):
            if not _is_object(thought):
                return Fault("empty", "the answer has no text")
            self._warn("the reply was where thinking belongs: start the server without a parser of thinking")
            said, thought = thought, ""
        return replace(reply, text=said, reasoning=thought, model=clean(reply.model)), counts

    def _used(self, outcome: Answer | Fault, request: Request) -> Usage:
        """The usage of a try; if it is unreported, or the answer was lost, an upper bound."""
        prompt = request.max_prompt_tokens
        if isinstance(outcome, Fault):
            return Counts(prompt, 0, 0, request.max_tokens).usage(self.price) if outcome.kind in LOST else NO_USAGE
        (reply, counts), size = outcome, len(request.prompt.encode())
        if counts is None or (reply.text and not counts.output):
            self._warn("its server reports no plausible usage; every byte is counted as a token, too many")
            return Counts(prompt, 0, 0, len(reply.text.encode())).usage(self.price)
        if (read := sum(counts[:3])) < size / CUT:
            self._warn(
                f"its server has read {read:,} tokens of a prompt of {size:,} bytes: its context is too short for the "
                "prompts, so give it a longer one (Ollama: num_ctx)"
            )
        return counts.usage(self.price)

    def _failure(self, fault: Fault, faults: list[str], usage: Usage) -> ModelError | AccessError:
        last = f" (the last of {len(faults)} tries)" if len(faults) > 1 else ""
        text = f"{self.name}: {fault.kind}: {fault.text}{last}"
        if fault.kind in ENDING_KINDS:
            return AccessError(fault.kind, text)
        self._failures += fault.kind not in PASSING_KINDS
        if not self._answers and self._failures >= FIRST_QUESTIONS:
            self._failures = 0
            return AccessError(fault.kind, f"{text}; nothing was answered in {FIRST_QUESTIONS} questions")
        self._warn(f"{fault.kind}: {fault.text}; given up", f"{fault.kind} given up")
        return ModelError(fault.kind, text, tuple(faults), usage)

    @cached_property
    def _sdk(self) -> ModuleType:
        try:
            return importlib.import_module(self.provider.sdk)
        except ImportError as error:
            raise ConfigError(f"{self.name}: {error}; it needs {install_extra('lm')}") from error

    @cached_property
    def _raised(self) -> tuple[type[Exception], ...]:
        """What a call can raise: the SDK's errors, httpx's in a stream, and those of an answer of another form."""
        http = importlib.import_module(self._sdk.DefaultAsyncHttpxClient.__mro__[1].__module__.partition(".")[0])
        return (self._sdk.APIError, http.HTTPError, Fault, *MALFORMED)

    def _key(self) -> str:
        """The key, or "" to send none, or what the SDK finds."""
        key = self._given_key
        if not key and self.key_variable is not None and not self.provider.is_cloud:
            raise ConfigError(
                f"{self.name}: the environment variable {self.key_variable} holds no key: "
                f"export {self.key_variable}=...; or try everything without one against python -m agents.lm.stub"
            )
        if not (key.isascii() and key.isprintable()) or " " in key:
            raise ConfigError(f"{self.name}: the environment variable {self.key_variable} does not hold a valid key")
        return key

    @property
    def _given_key(self) -> str:
        """What the environment variable of the key holds now; "" if there is none."""
        return os.environ.get(self.key_variable or "", "").strip()

    @property
    def client(self) -> Any:
        """The SDK's client, with today's key."""
        key = self._key()
        if self._made is None or self._made[0] != key:
            self._made = (key, self._new_client(key))
        return self._made[1]

    def _new_client(self, key: str) -> Any:
        """A new client; it does not follow redirects: prompts and keys only go to servers that the user has named."""
        known, options = self.provider, {}
        if not (known.is_cloud and self.is_official):
            options[known.address] = self.base_url
        if key or not known.is_cloud:
            options[known.credential] = key or "none"  # else the SDK would look for a key elsewhere
        http = self._http_client or self._sdk.DefaultAsyncHttpxClient(follow_redirects=False)
        limit = self._sdk.Timeout(self.timeout, connect=min(15.0, self.timeout))
        try:
            return getattr(self._sdk, known.client)(max_retries=0, timeout=limit, http_client=http, **options)
        except (ImportError, ValueError, TypeError, RuntimeError, self._sdk.APIError.__base__) as error:
            raise ConfigError(f"{self.name}: {clean(self._redacted(str(error)))}") from None

    def _redacted(self, text: str) -> str:
        return redacted(text, self._given_key)

    def _warn(self, text: str, kind: str = "") -> None:
        """Logs a warning; as INFO if one of its kind (by default, the text) was logged before."""
        kind = kind or text
        _log.log(logging.INFO if kind in self._warned else logging.WARNING, "%s: %s", self.name, text)
        self._warned.add(kind)

    def _advice(self, fault: Fault, server: str) -> str:
        if fault.kind == "unreachable":
            return f", {server}; see that the server runs, and that base_url is right"
        if fault.kind == "not found" and not fault.text.startswith("HTTP 3"):
            path = urlsplit(self.provider.url).path
            lacks = f", or whether {path} is missing at its end" if path not in self.base_url else ""
            return f"; see whether {self.base_url} has a model called {self.model}{lacks}"
        if fault.kind != "authentication":
            return ""
        if self.key_variable is None:
            return f"; {self.base_url} was sent no key: name the variable that holds it with key_variable"
        return f"; see that {self.key_variable} holds a key that may use {self.model}"


def given(**settings: Any) -> dict[str, Any]:
    """The settings that are not None."""
    return {name: value for name, value in settings.items() if value is not None}


def server_of(provider: str, base_url: str | None = None) -> str:
    """The address of a provider's server: the given one, that in the environment, or its own.

    Raises:
        ConfigError: it is invalid, or must not be stored.
    """
    known = REMOTE[provider]
    if base_url:
        return checked_url(base_url)
    return checked_url(os.environ.get(known.url_variable) or known.url, known.url_variable)


def check_number(name: str, value: Any, above: float = -1.0, whole: bool = False) -> None:
    """Checks that a setting is a number above a bound.

    Raises:
        ConfigError: it is not a number, not above the bound, or not whole although `whole`.
    """
    kinds = int if whole else int | float
    if isinstance(value, bool) or not isinstance(value, kinds) or not above < value < math.inf:  # NaN fails, too
        bound = "from 0" if above < 0 else f"above {above:g}"
        raise ConfigError(f"{name} {value!r:.40}: give a {'whole ' if whole else ''}number {bound}")


def count(usage: Any, name: str) -> int | None:
    """A number of tokens that a server reports; None if it is not a plausible one."""
    number = getattr(usage, name, None)
    is_one = isinstance(number, int) and not isinstance(number, bool) and 0 <= number <= 10**9
    return number if is_one else None


def shape(schema: Any) -> str:
    """What a schema has in common with those that a server refuses for the same reason: its form, and about its size.

    The names of properties and the values of enums are left out, and alternatives of one form count once.
    """
    return f"{_form(schema)} of {len(str(schema)).bit_length()} bits"


def _form(schema: Any) -> str:
    if not isinstance(schema, Mapping):
        return "any"
    inner = [*schema.get("anyOf", ()), *schema.get("properties", {}).values(), *filter(None, [schema.get("items")])]
    words = sorted(word for word in schema if word not in ("properties", "required"))
    return f"{schema.get('type', '')}[{' '.join(words)}]({', '.join(sorted({_form(each) for each in inner}))})"


def _is_object(text: str) -> bool:
    """Whether a text is a JSON object and nothing else."""
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _readable(text: str, key: str) -> str:
    """A text without the key, as replies are stored and shared, and with what UTF-8 cannot encode replaced."""
    text = text.replace(key, "[key]") if len(key) >= SHORTEST_KEY else text
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
