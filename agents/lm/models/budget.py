"""A hard budget of tokens or dollars for all calls of a run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from threading import Lock

from agents.lm.errors import BudgetError, ConfigError
from agents.lm.models.protocol import NO_USAGE, Usage

LOOK = 0.02  # seconds after which a call that waits looks whether there is room


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
