"""What models cost, by their names: a small table, which your own files can replace; and the budget of a run.

The table was read from the providers' pages on the day in `AS_OF`. Prices change: the provider's bill says what a run
really costs. Your own file is JSON, in US dollars per million tokens:

    {"my-model": {"input": 0.5, "cached": 0.05, "output": 2.0}}

where "cached" (input read from the provider's cache) and "written" (input written to it) are optional.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Annotated, NamedTuple

from annotated_types import Ge, Le
from pydantic import ConfigDict, TypeAdapter, ValidationError

from agents.lm.errors import BudgetError, ConfigError
from agents.lm.models.protocol import NO_USAGE, Usage

AS_OF = "2026-11-21"
"""The day on which the table was read from developers.openai.com/api/docs and platform.claude.com/docs."""

MILLION = 1_000_000
LOOK = 0.02  # seconds after which a call that waits looks whether the budget has room
_VERSION = re.compile(r"-(?:\d{8}|\d{4}-\d{2}-\d{2}|latest)$")
_Amount = Annotated[float, Ge(0), Le(MILLION)]


@dataclass(frozen=True)
class Price:
    """US dollars per million tokens.

    Attributes:
        input: price of the prompt.
        output: price of the reply.
        cached: price of input read from the provider's cache; None for the price of input.
        written: price of input written to the provider's cache; None for the price of input.
    """

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True)

    input: _Amount
    output: _Amount
    cached: _Amount | None = None
    written: _Amount | None = None

    def most(self, prompt: int, output: int) -> float:
        """The most that a prompt and a reply of so many tokens can cost, in US dollars."""
        dearest = max(self.input, self.cached or 0.0, self.written or 0.0)
        return (prompt * dearest + output * self.output) / MILLION


class Counts(NamedTuple):
    """Tokens as the provider bills them."""

    plain: int  # of the prompt, neither of the next two
    cached: int  # of the prompt, read from the provider's cache
    written: int  # of the prompt, written to it
    output: int  # of the reply, thinking included
    reasoning: int = 0  # of these, thinking

    def usage(self, price: Price | None) -> Usage:
        """The usage, with its cost at a price; None if no price is known."""
        dollars = None
        if price is not None:
            read = price.input if price.cached is None else price.cached
            write = price.input if price.written is None else price.written
            prompt_dollars = self.plain * price.input + self.cached * read + self.written * write
            dollars = (prompt_dollars + self.output * price.output) / MILLION
        prompt = self.plain + self.cached + self.written
        return Usage(prompt, self.cached, self.output, dollars, self.reasoning)


PRICES: dict[str, Price] = {
    # OpenAI, for prompts of up to 272,000 tokens, which no game has
    "gpt-6.2-sol": Price(2.0, 10.0, cached=0.1, written=2.5),
    "gpt-6.1-sol": Price(2.0, 10.0, cached=0.1, written=2.5),
    "gpt-6-sol": Price(2.0, 10.0, cached=0.2, written=2.5),
    "gpt-6-luna": Price(0.1, 0.5, cached=0.01, written=0.125),
    "gpt-5.6-terra": Price(2.0, 12.0, cached=0.2, written=2.5),
    "gpt-5.6-luna": Price(0.2, 1.2, cached=0.02, written=0.25),
    "gpt-5.4": Price(2.5, 15.0, cached=0.25),
    "gpt-5.4-mini": Price(0.75, 4.5, cached=0.075),
    "gpt-5.4-nano": Price(0.2, 1.25, cached=0.02),
    "gpt-5-mini": Price(0.25, 2.0, cached=0.025),
    "gpt-4.1": Price(2.0, 8.0, cached=0.5),
    "gpt-4.1-mini": Price(0.4, 1.6, cached=0.1),
    "gpt-4o-mini": Price(0.15, 0.6, cached=0.075),
    # Anthropic; written is the price for five minutes, the duration that we ask for
    "claude-fable-5-1": Price(10.0, 50.0, cached=0.25, written=12.5),
    "claude-opus-5-5": Price(4.0, 20.0, cached=0.2, written=5.0),
    "claude-opus-5": Price(5.0, 25.0, cached=0.5, written=6.25),
    "claude-opus-4-8": Price(5.0, 25.0, cached=0.5, written=6.25),
    "claude-sonnet-5-5": Price(2.0, 10.0, cached=0.1, written=2.5),
    "claude-sonnet-5": Price(2.0, 10.0, cached=0.2, written=2.5),
    "claude-sonnet-4-6": Price(3.0, 15.0, cached=0.3, written=3.75),
    "claude-haiku-5-5": Price(0.1, 0.5, cached=0.01, written=0.125),
    "claude-haiku-4-5": Price(1.0, 5.0, cached=0.1, written=1.25),
}
"""Standard prices, as of `AS_OF`."""

USUAL_TOKENS = 2000
"""Limit of a reply of a model that answers at once."""

THINKING_TOKENS = 16_000
"""Limit of a reply of a model that thinks first, which counts in the limit."""

_THINKERS = re.compile(
    r"\bo[134]\b|claude-(?:[a-z]+-)?(?:4-[6-9]|[5-9])(?!\d)|claude-mythos|gpt-?(?:[5-9]|oss)|deepseek-(?:r|v[4-9])"
    r"|reasoner|\br1\b|qwq|qwen-?[3-9]|magistral|grok-[3-9]|gemini-(?:2\.5|[3-9])|glm-(?:4\.[5-9]|[5-9])|kimi-k[2-9]|minimax-m|nemotron|thinking|reasoning",
    re.IGNORECASE,
)
_AT_ONCE = frozenset({"none", "minimal"})  # efforts without thinking

_TABLE = TypeAdapter(dict[str, Price])


def find_price(model: str, table: Mapping[str, Price]) -> Price | None:
    """The price of a model, by its name, with or without the version: "-20261001", "-2026-10-01" or "-latest"."""
    return table.get(model, table.get(_VERSION.sub("", model)))


def load_prices(path: str | os.PathLike[str]) -> dict[str, Price]:
    """The prices in a user's file.

    Raises:
        ConfigError: no such file, not JSON, or not in the form described at the top of this module.
    """
    try:
        return _TABLE.validate_json(Path(path).read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        where = ": ".join(map(repr, first["loc"]))
        raise ConfigError(f"{path}: {where or 'the whole'}: {first['msg']}, not {first['input']!r:.40}") from error
    except OSError as error:
        raise ConfigError(f"{path}: not a table of prices: {error}") from error


def usual_tokens(model: str, effort: str | None = None) -> int:
    """The usual limit of a reply of a model with this name and effort."""
    thinks = effort not in _AT_ONCE if effort else _THINKERS.search(model) is not None
    return THINKING_TOKENS if thinks else USUAL_TOKENS


@dataclass(eq=False)
class Hold:
    """A call in progress: the most that it can use, and what it has used so far."""

    tokens: int
    dollars: float | None
    usage: Usage = NO_USAGE


class Budget:
    """A limit on the total usage of a run; shared by any number of models and threads.

    A call may begin if past usage, the most that calls in progress can use and the most that it can use itself stay
    within the limits; if only calls in progress stand in its way, it waits for them. Every byte of a prompt counts as a
    token, three to four times the real number, and a lost answer as paid for in full. Usage that a server reports
    counts in any case, so a server that exceeds the limits of its requests can exceed a budget by the excess.

    It counts from its creation: usage of earlier runs is not included, and replies from a cache are free.

    Args:
        max_tokens: limit on tokens of prompts and replies together; None for no limit.
        max_dollars: limit in US dollars; None for no limit.

    Raises:
        ConfigError: a limit that is not above 0.
    """

    def __init__(self, max_tokens: int | None = None, max_dollars: float | None = None) -> None:
        for name, limit in (("max_tokens", max_tokens), ("max_dollars", max_dollars)):
            if limit is not None and not limit > 0:
                raise ConfigError(f"{name} {limit}: give a limit above 0, or None")
        self.max_tokens, self.max_dollars = max_tokens, max_dollars
        self._ended = NO_USAGE
        self._held: list[Hold] = []
        self._lock = Lock()

    @property
    def spent(self) -> Usage:
        """Usage of all calls so far; dollars are None if one of them had no known price."""
        with self._lock:
            return sum((hold.usage for hold in self._held), self._ended)

    @asynccontextmanager
    async def hold(self, tokens: int, dollars: float | None) -> AsyncIterator[Hold]:
        """A context for a call that may use up to so much, and sets `Hold.usage`; waits until it is allowed.

        Raises:
            BudgetError: the budget does not allow it.
        """
        hold = Hold(tokens, dollars)
        while not self._begins(hold):
            await asyncio.sleep(LOOK)
        try:
            yield hold
        finally:
            with self._lock:
                self._held.remove(hold)
                self._ended += hold.usage

    def _begins(self, hold: Hold) -> bool:
        """Counts a call if it is allowed now."""
        with self._lock:
            if objection := self._objection(hold, ()):
                raise BudgetError(objection)
            if self._objection(hold, self._held):
                return False
            self._held.append(hold)
            return True

    def _objection(self, hold: Hold, others: Sequence[Hold]) -> str:
        """Why a call is not allowed beside others in progress, if they use all they may; "" if it is."""
        for unit, limit, form in (("tokens", self.max_tokens, ",d"), ("dollars", self.max_dollars, ".4f")):
            spent, need = getattr(self._ended, unit), getattr(hold, unit)
            held = sum(max(getattr(each, unit) or 0, getattr(each.usage, unit) or 0) for each in others)
            if limit is not None and (spent is None or need is None):
                return f"the budget is {limit} {unit}, but there is a call without a known price"
            if limit is not None and spent + held + need > limit:
                used = f"{spent:{form}} were spent in this run, and the next one may need up to {need:{form}}"
                return f"the budget of {limit:,} {unit} does not allow another call: {used}"
        return ""
