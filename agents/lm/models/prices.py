"""What models cost, by their names: a small table, which your own files can replace; and how long their replies get.

The table was read from the providers' pages on the day in `AS_OF`. Prices change: the provider's bill says what a run
really costs. Your own file is JSON, in US dollars per million tokens:

    {"my-model": {"input": 0.5, "cached": 0.05, "output": 2.0}}

where "cached" (input read from the provider's cache) and "written" (input written to it) are optional, and "up_to" is
the longest prompt, in tokens, for which the prices hold.
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
        up_to: tokens of the longest prompt at these prices; None for no limit.
    """

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True)

    input: _Amount
    output: _Amount
    cached: _Amount | None = None
    written: _Amount | None = None
    up_to: int | None = None

    def dollars(self, plain: int, cached: int, written: int, output: int) -> float | None:
        """The cost of a call in US dollars; None for prompts longer than `up_to`.

        Args:
            plain: tokens of the prompt neither read from nor written to the provider's cache.
            cached: tokens of the prompt read from it.
            written: tokens of the prompt written to it.
            output: tokens of the reply.
        """
        if self.up_to is not None and plain + cached + written > self.up_to:
            return None
        read = self.input if self.cached is None else self.cached
        write = self.input if self.written is None else self.written
        return (plain * self.input + cached * read + written * write + output * self.output) / MILLION

    def most(self, prompt: int, output: int) -> float | None:
        """The most that a prompt and a reply of so many tokens can cost, in US dollars; None as for `dollars`."""
        read, written = self.dollars(prompt, 0, 0, output), self.dollars(0, 0, prompt, output)
        return None if read is None or written is None else max(read, written)


class Counts(NamedTuple):
    """Tokens as the provider bills them."""

    plain: int  # of the prompt, neither of the next two
    cached: int  # of the prompt, read from the provider's cache
    written: int  # of the prompt, written to it
    output: int  # of the reply, thinking included
    reasoning: int = 0  # of these, thinking

    def usage(self, price: Price | None) -> Usage:
        """The usage, with its cost."""
        dollars = None if price is None else price.dollars(self.plain, self.cached, self.written, self.output)
        prompt = self.plain + self.cached + self.written
        return Usage(prompt, self.cached, self.output, dollars, self.reasoning)


PRICES: dict[str, Price] = {
    # OpenAI; longer prompts cost more
    "gpt-6.2-sol": Price(2.0, 10.0, cached=0.1, written=2.5, up_to=272_000),
    "gpt-6.1-sol": Price(2.0, 10.0, cached=0.1, written=2.5, up_to=272_000),
    "gpt-6-sol": Price(2.0, 10.0, cached=0.2, written=2.5, up_to=272_000),
    "gpt-6-luna": Price(0.1, 0.5, cached=0.01, written=0.125, up_to=272_000),
    "gpt-5.6-terra": Price(2.0, 12.0, cached=0.2, written=2.5, up_to=272_000),
    "gpt-5.6-luna": Price(0.2, 1.2, cached=0.02, written=0.25, up_to=272_000),
    "gpt-5.4": Price(2.5, 15.0, cached=0.25, up_to=272_000),
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
    "claude-haiku-5-5": Price(0.1, 0.5, cached=0.01, written=0.125, up_to=100_000),
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


def usual_tokens(model: str, effort: str | None = None, thinking: int | None = None) -> int:
    """The usual limit of a reply, by the kind of model.

    Args:
        model: the model's name.
        effort, thinking: its settings.
    """
    if thinking is not None:
        return thinking + USUAL_TOKENS
    thinks = effort not in _AT_ONCE if effort else _THINKERS.search(model) is not None
    return THINKING_TOKENS if thinks else USUAL_TOKENS
