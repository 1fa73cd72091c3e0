"""What models cost, by their names: a small table, which your own files can replace; and how long their replies get.

The table was read from the providers' pages on the day in `AS_OF`. Prices change: the provider's bill says what a run
really costs. Your own file is JSON, in US dollars per million tokens:

    {"my-model": {"input": 0.5, "cached": 0.05, "output": 2.0}}

where "cached" (input read from the provider's cache) and "written" (input written to it) are optional.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, NamedTuple

from annotated_types import Ge, Le
from pydantic import ConfigDict, TypeAdapter, ValidationError

from agents.lm.errors import ConfigError
from agents.lm.models.protocol import Usage

AS_OF = "2026-11-21"
"""The day on which the table was read from developers.openai.com/api/docs and platform.claude.com/docs."""

MILLION = 1_000_000
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
