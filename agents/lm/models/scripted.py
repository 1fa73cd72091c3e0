"""Models without a network: their replies are scripted."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from threading import Lock

from agents.lm.errors import LMError
from agents.lm.models.protocol import Model, Reply, Request

Line = str | Reply | LMError
"""A scripted reply: a text, a whole reply, or an error to raise."""


class ScriptedModel(Model):
    """Gives scripted replies.

    Args:
        replies: one for each request in sequence, or a function of the request. Errors are raised.
        latency: seconds that every reply takes.
        name: after "scripted/"; give different functions different names if replies are cached.

    Attributes:
        requests: all requests so far, in sequence.
    """

    def __init__(
        self, replies: Iterable[Line] | Callable[[Request], Line], latency: float = 0.0, name: str = "script"
    ) -> None:
        self._answer = replies if callable(replies) else _one_by_one(replies)
        self._latency = latency
        self.name = f"scripted/{name}"
        self.settings = {}
        self.requests: list[Request] = []

    def complete(self, request: Request) -> Reply:
        """The next reply; raises LMError if the script contains it, or is at its end."""
        time.sleep(self._latency)
        return self._next(request)

    async def acomplete(self, request: Request) -> Reply:
        """As `complete`, for event loops."""
        if self._latency:
            await asyncio.sleep(self._latency)
        return self._next(request)

    def _next(self, request: Request) -> Reply:
        self.requests.append(request)
        line = self._answer(request)
        if isinstance(line, LMError):
            raise line
        return line if isinstance(line, Reply) else Reply(line, model=self.name)


def _one_by_one(replies: Iterable[Line]) -> Callable[[Request], Line]:
    lines, lock = iter(replies), Lock()

    def answer(request: Request) -> Line:
        with lock:
            return next(lines, LMError("the script is at its end"))

    return answer
