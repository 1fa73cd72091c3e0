"""Limits of a game under inspect: keeps all requests of a game within its sample's limits, and stops the game.

inspect checks a limit only after a reply. Seven players send requests in parallel, so here a request is sent only if
its maximum usage fits the limits together with all pending requests.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Literal

from inspect_ai.hooks import BeforeModelGenerate, Hooks, hooks
from inspect_ai.util import LimitExceededError, sample_limits

from agents.lm.errors import LMError
from agents.lm.models.limits import Halt
from agents.lm.models.protocol import Usage
from agents.lm.stub.replies import CHARACTERS_A_TOKEN

Kind = Literal["token", "cost", "turn", "message"]
MESSAGES_OF_A_QUESTION = 2  # the request and the reply

_halt: ContextVar[Halt | None] = ContextVar("halt", default=None)
"""The halt of the game whose request the current task sends."""


@hooks(name="welfare_env/stopped_games", description="Sends no further requests of a stopped game.")
class StoppedGames(Hooks):
    """Checks before each attempt of a request, since the game may have been stopped while the request was waiting."""

    async def on_before_model_generate(self, data: BeforeModelGenerate) -> None:
        """Raise LimitExceededError (which inspect does not catch) if the request's game was stopped."""
        halt = _halt.get()
        try:
            if halt is not None:
                halt.begin()
        except LMError as error:
            raise LimitExceededError("custom", value=1, limit=0, message=str(error)) from error


@contextmanager
def stoppable(halt: Halt) -> Iterator[None]:
    """A context for a request that is not sent or retried once its game was stopped.

    Raises:
        LMError: the error that stopped the game.
    """
    token = _halt.set(halt)
    try:
        yield
    except LimitExceededError:
        halt.begin()
        raise
    finally:
        _halt.reset(token)


@dataclass(eq=False)
class Asked:
    """A pending request: the bytes of its prompt (a bound on its tokens), the longest reply in tokens, and its usage,
    once known.
    """

    size: int
    reply: int
    used: Usage | None = None


@dataclass
class Room:
    """The remaining room for a game's requests within the limits of its sample. Create it in the sample's own task.

    If tokens or dollars are limited, the first request is sent alone, to learn the number of tokens per byte.

    Attributes:
        is_output: whether the token limit counts only tokens of replies.
        answered: number of answered requests so far.
        speaking: models that have given a usable reply.
        silent: model -> number of requests before its first usable reply.
    """

    is_output: bool = False
    answered: int = 0
    speaking: set[str] = field(default_factory=set)
    silent: Counter[str] = field(default_factory=Counter)
    _way: list[Asked] = field(default_factory=list)
    _rate: float = 1 / CHARACTERS_A_TOKEN  # maximum observed tokens per byte of a prompt
    _price: float = 0.0  # maximum observed dollars per token

    def __post_init__(self) -> None:
        self._limits = sample_limits()
        self._returned = asyncio.Condition()

    @asynccontextmanager
    async def question(self, size: int, reply: int, halt: Halt) -> AsyncIterator[Asked]:
        """A context for a request: waits until the request fits, and yields an `Asked`, whose `used` the caller sets.

        Args:
            size, reply: as of `Asked`.
            halt: the halt of the game; if it is stopped, waiting ends with the next reply.

        Raises:
            LimitExceededError: the request does not fit, and there are no pending requests to wait for.
            LMError: the game was stopped.
        """
        asked = Asked(size, reply)
        async with self._returned:
            await self._returned.wait_for(lambda: not self._way or self._fits(asked))
            halt.begin()
            if (objection := self._objection(asked)) is not None:
                raise objection
            self._way.append(asked)
        try:
            yield asked
        finally:
            async with self._returned:
                if asked.used is not None:
                    self.answered += 1
                    self._rate = max(self._rate, asked.used.input_tokens / asked.size)
                    self._price = max(self._price, (asked.used.dollars or 0.0) / (asked.used.tokens or 1))
                self._way.remove(asked)
                self._returned.notify_all()

    def _fits(self, asked: Asked) -> bool:
        is_limited = self._limits.token.limit is not None or self._limits.cost.limit is not None
        return self._objection(asked) is None and (self.answered > 0 or not is_limited)

    def _objection(self, asked: Asked) -> LimitExceededError | None:
        """The limit that a request would exceed together with all pending requests; None if it fits."""
        limits, together = self._limits, [*self._way, asked]
        prompts = self._rate * sum(each.size for each in together)
        tokens = sum(each.reply for each in together) + (0 if self.is_output else prompts)
        said = MESSAGES_OF_A_QUESTION * self.answered
        known: tuple[tuple[Kind, float | None, float, float], ...] = (
            ("token", limits.token.limit, limits.token.usage, tokens),
            ("cost", limits.cost.limit, limits.cost.usage, self._price * tokens),
            ("turn", limits.turn.limit, limits.turn.usage, len(together)),
            ("message", limits.message.limit, said, MESSAGES_OF_A_QUESTION * len(together)),
        )
        for kind, limit, used, more in known:
            if limit is not None and used + more > limit:
                text = f"The {kind} limit of {limit:,} leaves no room for another request after {used:,}"
                return LimitExceededError(kind, value=used, limit=limit, message=text)
        return None
