"""The account of a player's calls in one game: replies, tokens, dollars, faults and losses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agents.asking import Question
from agents.lm.errors import ModelError
from agents.lm.models.protocol import NO_USAGE, Model, Reply, Request, Usage
from agents.lm.player.transcript import Transcript
from agents.lm.reading.obeying import obeys

if TYPE_CHECKING:
    from agents.asking import Asking
    from agents.lm.reading.issues import ParseIssue

EMPTY_NOTE = "empty note"
"""Kind of loss: the summary of a phase's messages was empty, so the shortened messages are used instead."""


@dataclass
class Ledger:
    """Updated call by call; `to_dict` goes into the game's record.

    Attributes:
        calls: number of calls of all kinds, of which `failed` have no reply.
        attempts: number of requests sent for them, including retries.
        usage: total usage.
        answered_by: model, as the server names it -> number of its replies.
        with_schema: replies to questions that were sent with a schema, of which `obeyed` match it.
        left_out: parameter ("schema", "temperature", "top_p") -> replies for which it was not sent, though asked for.
        faults: kind -> count, over all attempts.
        endings: ending of replies that did not end normally ("length", "refusal", "other") -> count.
        turns: an entry for each question about a turn: phase and round, private reasoning, losses.
        parsed: number of these questions with a reply in the requested form.
        losses: kind -> how often a part of a reply was not used; includes `EMPTY_NOTE`.
        refused: phase -> unusable orders in its last reply (those of earlier rounds are drafts).
        summaries: phase -> the player's summary of its messages.
        journal: phase -> the player's note at its end, if it keeps a journal.
        transcript: the questions themselves, with their replies.
    """

    calls: int = 0
    failed: int = 0
    attempts: int = 0
    usage: Usage = NO_USAGE
    answered_by: Counter[str] = field(default_factory=Counter)
    with_schema: int = 0
    obeyed: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    endings: Counter[str] = field(default_factory=Counter)
    turns: list[dict[str, Any]] = field(default_factory=list)
    parsed: int = 0
    losses: Counter[str] = field(default_factory=Counter)
    refused: dict[str, int] = field(default_factory=dict)
    summaries: dict[str, str] = field(default_factory=dict)
    journal: dict[str, str] = field(default_factory=dict)
    transcript: Transcript = field(default_factory=Transcript)

    def ask(self, model: Model, request: Request, where: Mapping[str, Any]) -> Asking[Reply | ModelError]:
        """Asks a model, and records the outcome.

        Args:
            where: labels of the question in the transcript: see `Transcript.note`.

        Returns:
            The reply, or the error if the call failed for good.
        """
        reply: Reply | ModelError = yield Question(model, request)
        self.transcript.note(where, model, request, reply)
        if isinstance(reply, ModelError):
            self.failed += 1
            self._count(len(reply.faults), reply.faults, reply.usage or NO_USAGE)
            return reply
        self._count(reply.attempts, reply.faults, reply.usage)
        self.answered_by[reply.model or model.name] += 1
        self.left_out.update(reply.left_out)
        if request.schema is not None and "schema" not in reply.left_out:
            self.with_schema += 1
            self.obeyed += obeys(reply.text, request.schema)
        if reply.finish != "stop":
            self.endings[reply.finish] += 1
        return reply

    def _count(self, attempts: int, faults: Sequence[str], usage: Usage) -> None:
        self.calls += 1
        self.attempts += attempts
        self.faults.update(faults)
        self.usage += usage

    def note_turn(self, where: dict[str, Any], reasoning: str, issues: Sequence[ParseIssue], is_valid: bool) -> None:
        """Records the player's reasoning in a turn, and the issues of its reply."""
        self.parsed += is_valid
        self.losses.update(issue.kind for issue in issues)
        pairs = [[issue.kind, issue.what] for issue in issues]
        self.turns.append(where | {"reasoning": reasoning, "losses": pairs})

    def note_summary(self, phase: str, text: str) -> None:
        """Records the summary of a phase's messages; an empty one is counted, as it was paid for."""
        if text:
            self.summaries[phase] = text
        else:
            self.losses[EMPTY_NOTE] += 1

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types; "dollars" is None if a price was unknown."""
        return {
            "calls": self.calls,
            "failed": self.failed,
            "attempts": self.attempts,
            "input_tokens": self.usage.input_tokens,
            "cached_tokens": self.usage.cached_tokens,
            "output_tokens": self.usage.output_tokens,
            "reasoning_tokens": self.usage.reasoning_tokens,
            "dollars": self.usage.dollars,
            "answered_by": dict(sorted(self.answered_by.items())),
            "with_schema": self.with_schema,
            "obeyed": self.obeyed,
            "left_out": dict(sorted(self.left_out.items())),
            "faults": dict(sorted(self.faults.items())),
            "endings": dict(sorted(self.endings.items())),
            "losses": dict(sorted(self.losses.items())),
            "turns": self.turns,
            "summaries": self.summaries,
            **({"journal": self.journal} if self.journal else {}),
            "transcript": self.transcript.entries,
        }


def reply_counts(ledgers: Iterable[Ledger]) -> dict[str, int]:
    """The counts of a power for `evaluation.measures.metrics.proficiency`: questions, good replies, refused orders."""
    kept = list(ledgers)
    return {
        "asked": sum(len(ledger.turns) for ledger in kept),
        "parsed": sum(ledger.parsed for ledger in kept),
        "refused_orders": sum(sum(ledger.refused.values()) for ledger in kept),
    }
