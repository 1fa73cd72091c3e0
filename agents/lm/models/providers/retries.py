"""The tries of one question: retries, waiting times and usage."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from agents.lm.errors import ENDING_KINDS, AccessError, ModelError
from agents.lm.models.budget import Hold
from agents.lm.models.prices import Counts, Price
from agents.lm.models.protocol import NO_USAGE, Reply, Request, Usage
from agents.lm.models.providers.answers import Answer
from agents.lm.models.providers.faults import LONGEST_RETRY_AFTER, LOST, PAID_FOR, Fault

LONGEST_BACKOFF = 60.0  # seconds
PAID_RETRIES = 2
"""Number of retries after an answer that was paid for but could not be used."""

FIRST_RETRIES = 2
"""Number of retries if a server has never been reached: most likely it does not exist."""

BYTES_A_TOKEN = 3  # in English prompts, a low estimate
BESIDES = 100  # tokens that a server may add around the prompts and the schema


class AskedModel(Protocol):
    """The part of a model that a call needs; see `RemoteModel`.

    Attributes:
        without: parameters that the server has rejected so far.
    """

    price: Price | None
    retries: int
    backoff: float
    rng: np.random.Generator
    without: frozenset[str]

    @property
    def name(self) -> str:
        """Its name for `make_model`: "openai/NAME"."""

    @property
    def was_reached(self) -> bool:
        """Whether the server has ever answered anything."""

    def note(self, fault: Fault, tries: int, wait: float | None) -> None:
        """Records a failed try; the next one follows after `wait` seconds, none if that is None."""

    def warn_once(self, text: str) -> None:
        """Logs a warning, only the first time."""

    def drops_rejected(self, fault: Fault, request: Request, without: frozenset[str]) -> bool:
        """Whether the server has rejected an optional parameter; it is dropped from now on."""


class Call:
    """One question: its tries, faults and usage.

    Attributes:
        without: parameters that are not sent, since the server has rejected them.
        reply: None until there is one.
        wait: seconds before the next try.
        most: the most tokens, and dollars if there is a price, that a try can use.
        likely: estimated tokens of a try whose reply is as long as allowed.
    """

    def __init__(self, model: AskedModel, request: Request) -> None:
        self._model, self._request = model, request
        self.without = model.without
        self.reply: Reply | None = None
        self.wait = 0.0
        self._prompt = most_tokens(request)
        most = None if model.price is None else model.price.most(self._prompt, request.max_tokens)
        self.most = (self._prompt + request.max_tokens, most)
        self.likely = self._prompt // BYTES_A_TOKEN + request.max_tokens
        self._usage, self._retries = NO_USAGE, 0
        self._faults: list[str] = []

    def take(self, outcome: Answer | Fault, hold: Hold) -> None:
        """Records the outcome of a try. If the server rejected a parameter, the try is not counted.

        Raises:
            ModelError: the call failed for good.
            AccessError: every other call would fail, too.
        """
        usage = self._used(outcome)
        hold.spend(usage)
        self._usage += usage
        if isinstance(outcome, Answer):
            attempts, faults = len(self._faults) + 1, tuple(self._faults)
            self.reply = Reply(
                outcome.text, self._usage, outcome.finish, outcome.model, attempts, faults, outcome.reasoning
            )
        elif self._model.drops_rejected(outcome, self._request, self.without):
            self.wait = 0.0
        else:
            self._faults.append(outcome.kind)
            self.wait = self._wait_after(outcome)
        self.without = self._model.without

    def _used(self, outcome: Answer | Fault) -> Usage:
        """The usage of a try; if it is unreported, or the answer was lost, an upper bound."""
        counts: Counts | None
        if isinstance(outcome, Answer):
            counts = outcome.counts or self._counted(outcome.text)
        elif outcome.used is not None or outcome.kind not in LOST or outcome.is_final:
            counts = outcome.used
        else:
            counts = Counts(self._prompt, 0, 0, self._request.max_tokens)
        return NO_USAGE if counts is None else counts.usage(self._model.price)

    def _counted(self, text: str) -> Counts:
        self._model.warn_once("its server reports no plausible usage; every byte is counted as a token, too many")
        return Counts(self._prompt, 0, 0, len(text.encode()))

    def _wait_after(self, fault: Fault) -> float:
        pause = fault.retry_after or 0.0
        if fault.is_final or self._retries >= self._allowed(fault.kind) or pause > LONGEST_RETRY_AFTER:
            self._model.note(fault, len(self._faults), None)
            raise self._failure(fault)
        self._retries += 1
        seconds = self._pause(pause)
        self._model.note(fault, len(self._faults), seconds)
        return seconds

    def _allowed(self, kind: str) -> int:
        """Number of retries after a fault of this kind."""
        if kind in PAID_FOR:
            return min(self._model.retries, PAID_RETRIES)
        is_new = kind == "unreachable" and not self._model.was_reached
        return min(self._model.retries, FIRST_RETRIES) if is_new else self._model.retries

    def _pause(self, asked_for: float) -> float:
        """Seconds until the next try, with random jitter so that calls do not all come back at once."""
        chance = float(self._model.rng.random())
        backoff = min(LONGEST_BACKOFF, self._model.backoff * 2.0 ** min(self._retries - 1, 30))
        return max(backoff * (1.0 - chance / 2.0), asked_for * (1.0 + chance / 10.0))

    def _failure(self, fault: Fault) -> ModelError | AccessError:
        tries = len(self._faults)
        text = f"{self._model.name}: {fault.kind}: {fault.text}"
        if tries > 1:
            text += f" (the last of {tries} tries)"
        if fault.kind in ENDING_KINDS:
            return AccessError(fault.kind, text)
        return ModelError(fault.kind, text, tuple(self._faults), self._usage)


def most_tokens(request: Request) -> int:
    """An upper bound on the tokens of a prompt and its schema: no text has more tokens than bytes."""
    schema = 0 if request.schema is None else len(request.schema_text)
    return len(request.prompt.encode()) + schema + BESIDES
