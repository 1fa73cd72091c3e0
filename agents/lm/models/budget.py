"""A hard budget of tokens or dollars for all calls of a run."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from concurrent.futures import Future
from threading import Lock

from agents.lm.errors import BudgetError, ConfigError
from agents.lm.models.limits import RequestSlot
from agents.lm.models.protocol import NO_USAGE, Usage


class Hold(RequestSlot):
    """What a call in progress may cost and, once known, what it did cost. Made by `Budget.hold`.

    Attributes:
        usage: usage so far.
        tokens, dollars: the most that it can use, if the server respects the request's limits.
        who: the model that is asked; None if it does not matter.
        ticket: done when the call may begin, or is refused.
    """

    def __init__(self, budget: Budget, tokens: int, dollars: float | None, who: Hashable) -> None:
        self._budget = budget
        self.tokens, self.dollars, self.who = tokens, dollars, who
        self.usage = NO_USAGE
        self.ticket: Future[None] = Future()

    def spend(self, usage: Usage) -> None:
        """Records usage."""
        self.usage += usage

    def _enter(self) -> Future[None]:
        self._budget._begin(self)
        return self.ticket

    def _leave(self) -> None:
        self._budget._end(self)


class Budget:
    """A limit on the total usage of a run; shared by any number of models and threads.

    A call is let through if past usage, the most that calls in progress can use, and the most that it can use itself
    (its prompt, and a reply of full length) stay within the limits. If that depends on what the calls in progress
    really use, it waits for them. If it would exceed the limits in any case, it is refused, and so are all later ones.

    Every byte of a prompt and its schema counts as a token, three to four times the real number, so part of a small
    budget stays unused. A lost answer counts as paid for in full. Usage that a server reports counts in any case, so a
    server that exceeds the limits of a request can exceed a budget. Therefore the first call to each model is let
    through alone, and later ones are expected to exceed their requests by the worst factor seen so far.

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
        self._spent = NO_USAGE
        self._waiting: deque[Hold] = deque()
        self._held: dict[Hold, tuple[float, float]] = {}  # calls in progress -> tokens and dollars reserved
        self._excess: dict[Hashable, float] = {}  # model -> factor by which it exceeds its requests, 1 or more
        self._refusal = ""
        self._lock = Lock()

    @property
    def spent(self) -> Usage:
        """Usage so far; its dollars are None once a call had no price."""
        with self._lock:
            return self._spent

    @property
    def refusal(self) -> str:
        """Why no call is allowed any more; "" while calls are."""
        with self._lock:
            return self._refusal

    def hold(self, tokens: int, dollars: float | None, who: Hashable = None) -> Hold:
        """Reserves the most that a call may use while it is in progress; report real usage to the `Hold`.

        Use it with `with` in threads and `async with` in tasks. Entering it waits for other calls, or raises
        `BudgetError`: too little is left, or a call was refused before, or dollars are limited and there is no price.

        Args:
            tokens: tokens of prompt and reply.
            dollars: None if no price is known.
            who: the model that is asked; if it reports more, more is expected of its later calls.
        """
        return Hold(self, tokens, dollars, who)

    def _begin(self, hold: Hold) -> None:
        with self._lock:
            self._waiting.append(hold)
            self._admit()

    def _end(self, hold: Hold) -> None:
        """Ends a call, or its wait."""
        with self._lock:
            if self._held.pop(hold, None) is not None:
                self._spent += hold.usage
                self._learn(hold)
            self._admit()

    def _learn(self, hold: Hold) -> None:
        if hold.usage.tokens:
            times = [self._excess.get(hold.who, 1.0), hold.usage.tokens / max(1, hold.tokens)]
            if hold.dollars and hold.usage.dollars:
                times.append(hold.usage.dollars / hold.dollars)
            self._excess[hold.who] = max(times)

    def _admit(self) -> None:
        """Admits or refuses the first calls in the queue that need not wait any longer."""
        while self._waiting:
            hold = self._waiting[0]
            tokens, dollars = self._expected(hold)
            if not hold.ticket.cancelled():
                self._refusal = self._refusal or self._objection(hold, tokens, dollars)
                if not self._refusal and self._has_to_wait(hold, tokens, dollars):
                    return
            self._waiting.popleft()
            if not hold.ticket.set_running_or_notify_cancel():
                continue
            if self._refusal:
                hold.ticket.set_exception(BudgetError(self._refusal))
            else:
                self._held[hold] = tokens, dollars
                hold.ticket.set_result(None)

    def _expected(self, hold: Hold) -> tuple[float, float]:
        """What a call may use, in tokens and dollars, given the excess reported by its model so far."""
        times = self._excess.get(hold.who, 1.0)
        return times * hold.tokens, times * (hold.dollars or 0.0)

    def _has_to_wait(self, hold: Hold, tokens: float, dollars: float) -> bool:
        """Whether the decision depends on calls in progress."""
        if not self._held or (self.max_tokens is None and self.max_dollars is None):
            return False
        if hold.who not in self._excess and any(other.who == hold.who for other in self._held):
            return True
        held_tokens, held_dollars = map(sum, zip(*self._held.values(), strict=True))
        if self.max_tokens is not None and self._spent.tokens + held_tokens + tokens > self.max_tokens:
            return True
        return self.max_dollars is not None and (self._spent.dollars or 0.0) + held_dollars + dollars > self.max_dollars

    def _objection(self, hold: Hold, tokens: float, dollars: float) -> str:
        """Why a call is not allowed, whatever those in progress use; "" if it is."""
        spent = self._spent
        if self.max_tokens is not None and spent.tokens + tokens > self.max_tokens:
            return f"the budget of {self.max_tokens:,} tokens does not allow another call: " + self._taken(
                hold, f"{spent.tokens:,}", f"{tokens:,.0f}"
            )
        if self.max_dollars is None:
            return ""
        if hold.dollars is None or spent.dollars is None:
            return f"the budget is {self.max_dollars} dollars, but there is a call without a known price"
        if spent.dollars + dollars > self.max_dollars:
            return f"the budget of {self.max_dollars} dollars does not allow another call: " + self._taken(
                hold, f"{spent.dollars:.4f}", f"{dollars:.4f}"
            )
        return ""

    def _taken(self, hold: Hold, spent: str, wanted: str) -> str:
        """The used part of the budget as a text; left out if zero."""
        times = self._excess.get(hold.who, 1.0)
        used = f"{spent} were spent in this run, and " if spent.strip("0.") else ""
        learned = f" (its server has reported {times:.1f} times what it was asked for)" if times > 1 else ""
        return f"{used}the next one may need up to {wanted}{learned}"
