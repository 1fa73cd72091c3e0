"""What a player remembers of its own replies: summaries and journal of earlier phases, drafts of this one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agents.lm.models.protocol import Block
from agents.lm.prompts.quoting import quote

LONGEST_JOURNAL = 1000  # characters; 100 words are about 600
LONGEST_DRAFT = 1500  # characters of the reasoning in it


@dataclass(frozen=True)
class Draft:
    """One's own reply in an earlier round of this phase."""

    round: int
    reasoning: str
    orders: tuple[str, ...]


@dataclass(frozen=True)
class Notes:
    """A player's own notes. In a prompt they are quotations: a model may have copied what others wrote to it.

    Attributes:
        summaries: phase ("S1901M") -> the player's summary of its messages.
        journal: phase -> the player's note at its end.
        drafts: of this phase, round by round.
    """

    summaries: Mapping[str, str]
    journal: Mapping[str, str]
    drafts: Sequence[Draft]


def journal_block(phase: str, text: str) -> Block:
    """The player's note on a phase."""
    return Block(f"## {phase}, your journal: {quote(text, LONGEST_JOURNAL)}\n", private=True)


def draft_block(draft: Draft) -> Block:
    """The player's own reply in a round."""
    thought = f"reasoning {quote(draft.reasoning, LONGEST_DRAFT)}; " if draft.reasoning else ""
    orders = ", ".join(draft.orders) or "none"
    return Block(f"- round {draft.round}, your own reply (private): {thought}orders {orders}\n", private=True)
