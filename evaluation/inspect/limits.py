"""What bounds a game under inspect: the limits of its sample, over all its questions, and how it is stopped.

inspect looks at a limit after an answer. Seven players ask at the same time, so a question is sent here only if what it
may use fits into the limits together with what is on its way.
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
from agents.lm.projection import BYTES_A_TOKEN

Kind = Literal["token", "cost", "turn", "message"]
MESSAGES_OF_A_QUESTION = 2  # it and its answer

_halt: ContextVar[Halt | None] = ContextVar("halt", default=None)
"""That of the game whose question the current task asks."""


@hooks(name="welfare_env/stopped_games", description="Sends nothing more of a game that was stopped.")
class StoppedGames(Hooks):
    """Looks before each try of a question: it may have waited for a connection or for its next try meanwhile."""

    async def on_before_model_generate(self, data: BeforeModelGenerate) -> None:
        """Raises LimitExceededError, which inspect lets through, if the question's game was stopped."""
        halt = _halt.get()
        try:
            if halt is not None:
                halt.begin()
        except LMError as error:
            raise LimitExceededError("custom", value=1, limit=0, message=str(error)) from error


@contextmanager
def stoppable(halt: Halt) -> Iterator[None]:
    """A question that is not sent, or not again, once its game was stopped.

    Raises:
        LMError: that of the stop.
    """
    token = _halt.set(halt)
    try:
        yield
    except LimitExceededError:
        halt.begin()
        raise
    finally:
        _halt.reset(token)


@dataclass
class Asked:
    """A question on its way.

    Attributes:
        size: an upper bound on its tokens, as bytes.
        reply: the most tokens of its reply.
        used: what it used, once that is known.
    """

    size: int
    reply: int
    used: Usage | None = None


@dataclass
class Room:
    """What the limits of a sample leave for the questions of its game, and who answers. Made in the sample's own task.

    The first question is asked alone, if tokens or dollars are limited: it shows how many a byte has.

    Attributes:
        is_output: whether the limit on tokens is on those of replies alone.
        answered: questions answered so far.
        speaking: the models that have answered anything usable.
        silent: model -> its questions without a usable answer before that.
    """

    is_output: bool = False
    answered: int = 0
    speaking: set[str] = field(default_factory=set)
    silent: Counter[str] = field(default_factory=Counter)
    _way: list[Asked] = field(default_factory=list)
    _rate: float = 1 / BYTES_A_TOKEN  # tokens a byte of a prompt, the most so far
    _price: float = 0.0  # dollars a token, the most so far

    def __post_init__(self) -> None:
        self._limits = sample_limits()
        self._returned = asyncio.Condition()

    @asynccontextmanager
    async def question(self, size: int, reply: int, halt: Halt) -> AsyncIterator[Asked]:
        """Waits until a question fits; put what it used into what this yields.

        Args:
            size, reply: as of `Asked`.
            halt: of the game; a stop ends the waiting when an answer has come.

        Raises:
            LimitExceededError: it does not fit, and nothing is on its way whose end could change that.
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
                self._learn(asked)
                self._way.remove(asked)
                self._returned.notify_all()

    def _learn(self, asked: Asked) -> None:
        if asked.used is None:
            return
        self.answered += 1
        self._rate = max(self._rate, asked.used.input_tokens / asked.size)
        if asked.used.dollars is not None and asked.used.tokens:
            self._price = max(self._price, asked.used.dollars / asked.used.tokens)

    def _fits(self, asked: Asked) -> bool:
        is_limited = self._limits.token.limit is not None or self._limits.cost.limit is not None
        return self._objection(asked) is None and (self.answered > 0 or not is_limited)

    def _objection(self, asked: Asked) -> LimitExceededError | None:
        """The limit that a question would exceed with those on their way; None if there is none."""
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
                text = f"The {kind} limit of {limit:,} leaves no room for another question after {used:,}"
                return LimitExceededError(kind, value=used, limit=limit, message=text)
        return None
