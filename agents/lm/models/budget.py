"""So many tokens or dollars, and not one call more."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from agents.lm.errors import BudgetError, ConfigError
from agents.lm.models.protocol import NO_USAGE, Usage


class Hold:
    """What a call in progress may cost, and, once it is known, what it did cost.

    Attributes:
        usage: what it has used so far.
    """

    def __init__(self) -> None:
        self.usage = NO_USAGE

    def spend(self, usage: Usage) -> None:
        """Notes what was used."""
        self.usage += usage


class Budget:
    """What all calls of a run together may use; shared by any number of models and threads.

    A call is let through when what was used, the most that the calls in progress can use, and the most that it can use
    itself (its prompt, and a reply of full length) stay within the limits. The first call that is refused ends it: all
    later ones are refused, too. A prompt is taken for as many tokens as it and its schema have bytes, three to four
    times what it has in the end, so some of a small budget stays unused. An answer that was lost counts as paid for in
    full.

    It counts from the moment it is made: what an earlier run has used is not in it, and replies from a cache are free.

    Args:
        max_tokens: of prompts and replies together; None for any number.
        max_dollars: US dollars; None for any amount.

    Raises:
        ConfigError: a limit that is not above 0.
    """

    def __init__(self, max_tokens: int | None = None, max_dollars: float | None = None) -> None:
        for name, limit in (("max_tokens", max_tokens), ("max_dollars", max_dollars)):
            if limit is not None and not limit > 0:
                raise ConfigError(f"{name} {limit}: give a limit above 0, or None")
        self.max_tokens, self.max_dollars = max_tokens, max_dollars
        self._spent = NO_USAGE
        self._held_tokens, self._held_dollars = 0, 0.0
        self._refusal = ""
        self._lock = Lock()

    @property
    def spent(self) -> Usage:
        """What was used so far; its dollars are None once a call had no price."""
        with self._lock:
            return self._spent

    @contextmanager
    def hold(self, tokens: int, dollars: float | None) -> Iterator[Hold]:
        """Sets aside what a call may use at most, while it is in progress; tell the `Hold` what it has used.

        Args:
            tokens: of prompt and reply.
            dollars: None where no price is known.

        Raises:
            BudgetError: that is more than is left, or a call was refused before, or there is a limit of dollars and no
                price.
        """
        cost = dollars or 0.0
        with self._lock:
            self._refusal = self._refusal or self._objection(tokens, dollars)
            if self._refusal:
                raise BudgetError(self._refusal)
            self._held_tokens += tokens
            self._held_dollars += cost
        hold = Hold()
        try:
            yield hold
        finally:
            with self._lock:
                self._held_tokens -= tokens
                self._held_dollars -= cost
                self._spent += hold.usage

    def _objection(self, tokens: int, dollars: float | None) -> str:
        """Why a call is not allowed; empty when it is."""
        spent = self._spent
        if self.max_tokens is not None and spent.tokens + self._held_tokens + tokens > self.max_tokens:
            return f"the budget of {self.max_tokens:,} tokens does not allow another call: " + _taken(
                f"{spent.tokens:,}", f"{self._held_tokens:,}", f"{tokens:,}"
            )
        if self.max_dollars is None:
            return ""
        if dollars is None or spent.dollars is None:
            return f"the budget is {self.max_dollars} dollars, but there is a call without a known price"
        if spent.dollars + self._held_dollars + dollars > self.max_dollars:
            return f"the budget of {self.max_dollars} dollars does not allow another call: " + _taken(
                f"{spent.dollars:.4f}", f"{self._held_dollars:.4f}", f"{dollars:.4f}"
            )
        return ""


def _taken(spent: str, held: str, wanted: str) -> str:
    """What is taken of a budget already. A zero is not told: what calls in progress spend is not known yet."""
    parts = {f"{spent} were spent in this run": spent, f"{held} are reserved for calls in progress": held}
    told = [part for part, number in parts.items() if number.strip("0.")]
    return " and ".join(told) + (", and " if told else "") + f"the next one may need up to {wanted}"
