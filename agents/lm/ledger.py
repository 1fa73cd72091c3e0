"""What the calls of a player came to in one game: replies, tokens, dollars, faults and losses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agents.lm.errors import ModelError
from agents.lm.models.protocol import NO_USAGE, Model, Reply, Request, Usage

if TYPE_CHECKING:
    from agents.lm.reading.parsing import Loss

EMPTY_NOTE = "empty note"
"""The kind of loss of a note on a phase's messages that has no text: the messages themselves are told, shortened."""


@dataclass
class Ledger:
    """Kept call by call; `to_dict` is what goes into a game's record.

    Attributes:
        calls: questions of all kinds. Of them, `failed` have no reply.
        attempts: requests sent for them, repeated ones included.
        usage: of all of them.
        faults: kind -> how often, over all attempts.
        endings: how replies ended that did not end by themselves ("length", "refusal", "other") -> how often.
        turns: an entry for each question about a turn: where, the private reasoning, what was lost.
        parsed: of these questions, those with a reply that was in the form asked for.
        losses: kind -> how often something in a reply could not be used; `EMPTY_NOTE`, too.
        refused: phase -> orders of its last reply that could not be used; those of earlier rounds were drafts.
        summaries: phase -> what the player noted about its messages.
    """

    calls: int = 0
    failed: int = 0
    attempts: int = 0
    usage: Usage = NO_USAGE
    faults: Counter[str] = field(default_factory=Counter)
    endings: Counter[str] = field(default_factory=Counter)
    turns: list[dict[str, Any]] = field(default_factory=list)
    parsed: int = 0
    losses: Counter[str] = field(default_factory=Counter)
    refused: dict[str, int] = field(default_factory=dict)
    summaries: dict[str, str] = field(default_factory=dict)

    def ask(self, model: Model, request: Request) -> Reply | ModelError:
        """Asks a model, and notes what it came to.

        Returns:
            The reply, or, of a call that failed for good, the error.

        Raises:
            AccessError, BudgetError, CacheError, ConfigError, StoppedError: the game cannot go on.
        """
        try:
            reply = model.complete(request)
        except ModelError as error:
            self.failed += 1
            self._count(len(error.faults), error.faults, error.usage or NO_USAGE)
            return error
        self._count(reply.attempts, reply.faults, reply.usage)
        if reply.finish != "stop":
            self.endings[reply.finish] += 1
        return reply

    def _count(self, attempts: int, faults: Sequence[str], usage: Usage) -> None:
        self.calls += 1
        self.attempts += attempts
        self.faults.update(faults)
        self.usage += usage

    def note_turn(self, where: dict[str, Any], reasoning: str, losses: Sequence[Loss], is_valid: bool) -> None:
        """Keeps what the player thought in a turn, and what of its reply was lost."""
        self.parsed += is_valid
        self.losses.update(loss.kind for loss in losses)
        told = [[loss.kind, loss.what] for loss in losses]
        self.turns.append(where | {"reasoning": reasoning, "losses": told})

    def note_summary(self, phase: str, text: str) -> None:
        """Keeps what the player noted about a phase's messages; counts a note without a text, which was paid for."""
        if text:
            self.summaries[phase] = text
        else:
            self.losses[EMPTY_NOTE] += 1

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types; "dollars" is None where a price was not known."""
        return {
            "calls": self.calls,
            "failed": self.failed,
            "attempts": self.attempts,
            "input_tokens": self.usage.input_tokens,
            "cached_tokens": self.usage.cached_tokens,
            "output_tokens": self.usage.output_tokens,
            "dollars": self.usage.dollars,
            "faults": dict(sorted(self.faults.items())),
            "endings": dict(sorted(self.endings.items())),
            "losses": dict(sorted(self.losses.items())),
            "turns": self.turns,
            "summaries": self.summaries,
        }


def reply_counts(ledgers: Iterable[Ledger]) -> dict[str, int]:
    """What `metrics.proficiency` of evaluation wants to know of a power: questions, good replies, refused orders."""
    kept = list(ledgers)
    return {
        "asked": sum(len(ledger.turns) for ledger in kept),
        "parsed": sum(ledger.parsed for ledger in kept),
        "refused_orders": sum(sum(ledger.refused.values()) for ledger in kept),
    }
