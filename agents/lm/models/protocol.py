"""Requests to language models, their replies, and the protocol of a model, whatever the provider."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from annotated_types import Ge

from agents.lm.errors import ConfigError, PromptError
from agents.lm.models.limits import MODELS

Finish = Literal["stop", "length", "refusal", "other"]
Count = Annotated[int, Ge(0)]

MAX_CACHE_KEY = 64  # characters; OpenAI's limit of `prompt_cache_key`
BESIDES = 100  # tokens that a server may add around the prompts and the schema
_SURROGATES = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class Block:
    """A piece of a prompt. Pieces are joined without a separator.

    Attributes:
        text: its text.
        cache: whether later calls repeat the prompt up to the end of this piece, so that a provider with cheaper cached
            input should cache it.
        private: whether it is the player's own notes. This flag is not sent: transcripts leave out private pieces
            unless asked for them.
    """

    text: str
    cache: bool = False
    private: bool = False


@dataclass(frozen=True)
class Request:
    """One question to a model.

    Attributes:
        system: the system prompt; may be empty.
        user: the user's prompt.
        schema: JSON schema of the reply as plain dicts and lists; the reply has its properties in the schema's
            sequence. None for free text.
        max_tokens: limit of the reply, including a model's hidden thinking.
        temperature: 0 to 2; None leaves it to the server.
        top_p: above 0, up to 1; None leaves it to the server.
        sample: number of this draw. Not sent: it distinguishes equal requests that should be sampled independently.
        cache_key: the same for calls that share a long prefix, so that they may be served by the same machine; at
            most 64 characters; may be empty.

    Raises:
        PromptError: the user's prompt is blank, or a text contains half a surrogate pair, which UTF-8 cannot encode.
        ConfigError: a number out of range.
    """

    system: tuple[Block, ...]
    user: tuple[Block, ...]
    schema: Mapping[str, Any] | None = None
    max_tokens: int = 2000
    temperature: float | None = 1.0
    top_p: float | None = 0.9
    sample: int = 0
    cache_key: str = ""

    def __post_init__(self) -> None:
        if not any(block.text.strip() for block in self.user):
            raise PromptError("the user's prompt is blank: give at least one block with text")
        if found := _SURROGATES.search(self.prompt):
            raise PromptError(f"the prompt holds {found[0]!r} at {found.start()}: half a surrogate pair is not text")
        if self.max_tokens < 1:
            raise ConfigError(f"max_tokens {self.max_tokens}: give 1 or more")
        if self.temperature is not None and not 0 <= self.temperature <= 2:
            raise ConfigError(f"temperature {self.temperature}: give 0 to 2, or None")
        if self.top_p is not None and not 0 < self.top_p <= 1:
            raise ConfigError(f"top_p {self.top_p}: give more than 0 and at most 1, or None")

    @property
    def prompt(self) -> str:
        """The whole prompt, system and user, as one text."""
        return text_of((*self.system, *self.user))

    @property
    def max_prompt_tokens(self) -> int:
        """An upper bound on the tokens of the prompt and its schema: no text has more tokens than bytes."""
        schema = 0 if self.schema is None else len(json.dumps(self.schema))
        return len(self.prompt.encode()) + schema + BESIDES


def text_of(blocks: tuple[Block, ...]) -> str:
    """The text of some blocks."""
    return "".join(block.text for block in blocks)


@dataclass(frozen=True)
class Usage:
    """The usage of a call, in tokens and US dollars.

    Attributes:
        input_tokens: tokens of the prompt, including `cached_tokens`.
        cached_tokens: tokens of the prompt read from the provider's cache.
        output_tokens: tokens of the reply, including hidden thinking.
        dollars: cost; None if no price is known.
        reasoning_tokens: those of `output_tokens` that were thinking, as far as the server tells.
    """

    input_tokens: Count
    cached_tokens: Count
    output_tokens: Count
    dollars: Annotated[float, Ge(0.0)] | None
    reasoning_tokens: Count = 0

    @property
    def tokens(self) -> int:
        """All tokens, of prompt and reply."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.cached_tokens + other.cached_tokens,
            self.output_tokens + other.output_tokens,
            None if self.dollars is None or other.dollars is None else self.dollars + other.dollars,
            self.reasoning_tokens + other.reasoning_tokens,
        )


NO_USAGE = Usage(0, 0, 0, 0.0)


@dataclass(frozen=True)
class Reply:
    """A model's reply.

    Attributes:
        text: the answer; may be empty if `finish` is "length" or "refusal".
        usage: total of all tries; a try whose answer was lost counts with the most that it can have cost.
        finish: how it ended: "stop" normally, "length" at `max_tokens`, "refusal" if the model or the provider refused
            to answer, or "other".
        model: the model's name as reported by the server.
        attempts: how often the request was sent, not counting tries in which the server refused a parameter.
        faults: the kinds (`agents.lm.errors.FAULT_KINDS`) of the tries that failed, in sequence.
        reasoning: the model's thinking, if the server returns it separately. It is not parsed for orders or messages.
        left_out: parameters of the request that were not sent, as the server refuses them: "schema", "temperature",
            "top_p".
    """

    text: str
    usage: Usage = NO_USAGE
    finish: Finish = "stop"
    model: str = ""
    attempts: Count = 1
    faults: tuple[str, ...] = ()
    reasoning: str = ""
    left_out: tuple[str, ...] = ()


class Model(ABC):
    """A language model; thread-safe.

    Attributes:
        name: its name for `make_model`: "openai/NAME".
        settings: what the replies depend on besides the request, as plain JSON values. No keys.
    """

    name: str
    settings: Mapping[str, Any]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    def complete(self, request: Request) -> Reply:
        """As `acomplete`, for code without an event loop."""
        return MODELS.run(self.acomplete(request))

    @abstractmethod
    async def acomplete(self, request: Request) -> Reply:
        """Sends a request and waits for the reply.

        Raises:
            ModelError: there is no reply to this request, now (`ModelError.is_passing`) or at all.
            AccessError: every other call would fail, too.
            BudgetError, CacheError, ConfigError, StoppedError: the run has to end for another reason.
        """
