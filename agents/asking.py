"""Turns of language models as generators: they yield questions and are sent the replies.

`answer` runs a turn and waits for each reply; `aanswer` does so in an event loop, where other games can go on. Other
libraries may drive `AskingPolicy.asking` themselves.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping
from contextlib import closing
from typing import Any, NamedTuple, Protocol, TypeVar

from agents.policy import Described, Policy, ReseedablePolicy, subseed
from welfare_env.errors import WelfareEnvError

Result = TypeVar("Result")


class CallError(WelfareEnvError):
    """A call without a reply. The game goes on without it, unless it may be answered later (`is_passing`)."""

    @property
    def is_passing(self) -> bool:
        """Whether the question may be answered later, so that the game has to stop."""
        return False


class Answerer(Protocol):
    """Answers requests; see `agents.lm.models.Model`."""

    def complete(self, request: Any) -> Any:
        """The reply; raises `CallError` if there is none."""

    async def acomplete(self, request: Any) -> Any:
        """As `complete`, for event loops."""


class Question(NamedTuple):
    """A request to a model."""

    model: Answerer
    request: Any


Asking = Generator[Question, Any, Result]
"""A generator that yields questions, is sent a reply or a `CallError` that does not pass, and returns its result."""


def answer(asking: Asking[Result]) -> Result:
    """Runs a turn, answers its questions one after the other, and returns its result.

    Raises:
        LMError: a question cannot be answered, now or at all, and the game cannot go on.
    """
    with closing(asking):
        reply: Any = None
        try:
            while True:
                model, request = asking.send(reply)
                try:
                    reply = model.complete(request)
                except CallError as error:
                    if error.is_passing:
                        raise
                    reply = error
        except StopIteration as end:
            result: Result = end.value
            return result


async def aanswer(asking: Asking[Result]) -> Result:
    """As `answer`, for event loops."""
    with closing(asking):
        reply: Any = None
        while True:
            try:
                model, request = asking.send(reply)
            except StopIteration as end:  # which no coroutine may raise
                result: Result = end.value
                return result
            try:
                reply = await model.acomplete(request)
            except CallError as error:
                if error.is_passing:
                    raise
                reply = error


class AskingPolicy(Described, ABC):
    """Base of policies that ask language models, themselves or in a part: subclasses implement `reset`, `asking`."""

    @abstractmethod
    def reset(self, agent: str, seed: int = 0) -> None:
        """Start a new game; see `agents.policy.Policy`."""

    def act(self, observation: Any, info: Mapping[str, Any]) -> Any:
        """The action in the current turn; see `agents.policy.Policy`.

        Raises:
            ActionError: no view in `info`, or not reset; see `agents.policy.view_of`.
        """
        return answer(self.asking(observation, info))

    async def aact(self, observation: Any, info: Mapping[str, Any]) -> Any:
        """As `act`, for event loops."""
        return await aanswer(self.asking(observation, info))

    @abstractmethod
    def asking(self, observation: Any, info: Mapping[str, Any]) -> Asking[Any]:
        """The turn as a generator: yields a `Question` for each reply that it needs, and returns the action."""

    def reseed(self, seed: int) -> None:
        """Reseeds its parts; see `agents.policy.ReseedablePolicy`."""
        for number, part in enumerate(self.parts):
            if isinstance(part, ReseedablePolicy):
                part.reseed(subseed(seed, number))

    @property
    def parts(self) -> tuple[Policy, ...]:
        """The policies that play for this one."""
        return ()

    @property
    def reads_observations(self) -> bool:
        """Whether one of its parts reads them; see `agents.policy.ScriptedPolicy`."""
        return any(getattr(part, "reads_observations", True) for part in self.parts)


def part_asking(part: Policy, observation: Any, info: Mapping[str, Any]) -> Asking[Any]:
    """The turn of a policy's part, which may ask language models."""
    if isinstance(part, AskingPolicy):
        return (yield from part.asking(observation, info))
    return part.act(observation, info)
