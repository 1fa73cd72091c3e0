"""Turns that ask language models: as generators that yield questions and take replies, and the two ways to drive them.

A turn does not know how its questions are answered. `answer` waits for one reply after the other; `aanswer` does so in
an event loop, where many games go on meanwhile; and other libraries may drive `AskingPolicy.asking` themselves.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping
from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from agents.lm.errors import ModelError

if TYPE_CHECKING:
    from agents.lm.models.protocol import Model, Reply, Request
    from agents.policy import Policy

Result = TypeVar("Result")


class Question(NamedTuple):
    """A request, and the model that it is for."""

    model: Model
    request: Request


Asking = Generator[Question, "Reply | ModelError", Result]
"""Yields questions, is sent the reply to each or how the call failed, and returns its result."""


def answer(asking: Asking[Result]) -> Result:
    """The result of a turn whose questions are answered one after the other.

    Raises:
        LMError: a question cannot be answered and the game cannot go on.
    """
    with closing(asking):
        reply: Any = None
        try:
            while True:
                model, request = asking.send(reply)
                try:
                    reply = model.complete(request)
                except ModelError as error:
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
            except ModelError as error:
                reply = error


class AskingPolicy(ABC):
    """Base of policies that ask language models, or have a part that may: subclasses implement `reset`, `asking`."""

    @abstractmethod
    def reset(self, agent: str, seed: int = 0) -> None:
        """Start a new game; see `agents.policy.Policy`."""

    def act(self, observation: Any, info: Mapping[str, Any]) -> Any:
        """The action in the current turn; see `agents.policy.Policy`."""
        return answer(self.asking(observation, info))

    async def aact(self, observation: Any, info: Mapping[str, Any]) -> Any:
        """As `act`, for event loops."""
        return await aanswer(self.asking(observation, info))

    @abstractmethod
    def asking(self, observation: Any, info: Mapping[str, Any]) -> Asking[Any]:
        """The turn as a generator: yields a `Question` for each reply that it needs, and returns the action."""

    @property
    def parts(self) -> tuple[Policy, ...]:
        """The policies that play for this one."""
        return ()


def part_asking(part: Policy, observation: Any, info: Mapping[str, Any]) -> Asking[Any]:
    """The turn of a policy's part, which may ask."""
    if isinstance(part, AskingPolicy):
        return (yield from part.asking(observation, info))
    return part.act(observation, info)
