"""One question on its way to a server: how often it is asked again, how long it waits, and what it has used."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from agents.lm.answers import LONGEST_RETRY_AFTER, PAID_FOR, Answer, Counts, Fault
from agents.lm.errors import ModelError
from agents.lm.protocol import NO_USAGE, Reply, Request, Usage

if TYPE_CHECKING:
    from agents.lm.budget import Hold
    from agents.lm.remote import RemoteModel

LONGEST_BACKOFF = 60.0  # seconds
PAID_RETRIES = 2
"""How often a question is asked again whose answer was paid for but could not be used."""

CHARACTERS_A_TOKEN = 3.0
"""On the safe side: English has about four; the names of places and orders have fewer."""


class Call:
    """One question: its tries, its faults, what it has used.

    Attributes:
        sampling: the parameters of sampling to be sent next.
        reply: None until there is one.
        wait: seconds before the next try.
        most: tokens, and dollars where there is a price, that a try can use.
    """

    def __init__(self, model: RemoteModel, request: Request) -> None:
        self._model, self._request = model, request
        self.sampling = model.sampling(request)
        self.reply: Reply | None = None
        self.wait = 0.0
        prompt = estimated_tokens(request.prompt)
        most = None if model.price is None else model.price.most(prompt, request.max_tokens)
        self.most = (prompt + request.max_tokens, most)
        self._usage, self._retries = NO_USAGE, 0
        self._faults: list[str] = []

    def take(self, outcome: Answer | Fault, hold: Hold) -> None:
        """What a try came to.

        Raises:
            ModelError: it failed for good.
        """
        usage = self._used(outcome)
        hold.spend(usage)
        self._usage += usage
        if isinstance(outcome, Answer):
            attempts, faults = len(self._faults) + 1, tuple(self._faults)
            self.reply = Reply(outcome.text, self._usage, outcome.finish, outcome.model, attempts, faults)
            return
        self._faults.append(outcome.kind)
        self._model.note(outcome)
        self.wait = self._wait_after(outcome)

    def _used(self, outcome: Answer | Fault) -> Usage:
        if isinstance(outcome, Fault):
            if outcome.used is None and outcome.kind in PAID_FOR:  # what it cost was lost with it
                prompt = estimated_tokens(self._request.prompt)
                return Counts(prompt, 0, 0, self._request.max_tokens).usage(self._model.price)
            return NO_USAGE if outcome.used is None else outcome.used.usage(self._model.price)
        counts = outcome.counts
        if counts is None:
            self._model.tell_once("its server tells no usage; tokens are estimated from characters")
            counts = Counts(estimated_tokens(self._request.prompt), 0, 0, estimated_tokens(outcome.text))
        return counts.usage(self._model.price)

    def _wait_after(self, fault: Fault) -> float:
        if self._model.forgoes(fault, self.sampling):
            self.sampling = self._model.sampling(self._request)
            return 0.0
        allowed = min(self._model.retries, PAID_RETRIES) if fault.kind in PAID_FOR else self._model.retries
        pause = fault.retry_after or 0.0
        if fault.is_final or self._retries >= allowed or pause > LONGEST_RETRY_AFTER:
            raise self._failure(fault)
        self._retries += 1
        return self._pause(pause)

    def _pause(self, asked_for: float) -> float:
        """Seconds until the next try. A little chance keeps many calls from coming back all at once."""
        chance = float(self._model.rng.random())
        backoff = min(LONGEST_BACKOFF, self._model.backoff * 2.0 ** min(self._retries - 1, 30))
        return max(backoff * (1.0 - chance / 2.0), asked_for * (1.0 + chance / 10.0))

    def _failure(self, fault: Fault) -> ModelError:
        tries = len(self._faults)
        text = f"{self._model.name}: {fault.kind}: {fault.text}"
        if tries > 1:
            text += f" (the last of {tries} tries)"
        return ModelError(fault.kind, text, tuple(self._faults), self._usage)


def estimated_tokens(text: str) -> int:
    """How many tokens a text may have, rather too many than too few."""
    return math.ceil(len(text) / CHARACTERS_A_TOKEN)
