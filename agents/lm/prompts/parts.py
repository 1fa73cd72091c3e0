"""Parts of the prompt that can be left out or changed, or added, in any combination."""

from __future__ import annotations

import enum
from typing import TypeVar

from agents.lm.errors import PromptError


class Ablation(enum.Flag):
    """The eleven changes of the paper (appendix C.4); all of them together are `ALL`. ``Ablation(0)`` changes nothing.

    Attributes:
        NO_TRADEOFF: without the sentence that every unit costs a point a year.
        NO_REASONING: no private reasoning in replies.
        ORDERS_LAST: orders come after messages in replies.
        NO_MESSAGE_INSTRUCTIONS: no advice on what to write to others.
        NO_EXAMPLES: no example orders.
        OPPRESSION_POINTS: welfare points are called oppression points.
        NO_SUMMARIES: without the messages of earlier phases.
        SHORT_HISTORY: the orders of the last phase only, instead of three.
        NO_CENTERS: without the owners of supply centers.
        NO_ADJACENCIES: without the moves of units.
        NO_PHASE_INSTRUCTIONS: without the orders possible in this type of phase.
    """

    NO_TRADEOFF = enum.auto()
    NO_REASONING = enum.auto()
    ORDERS_LAST = enum.auto()
    NO_MESSAGE_INSTRUCTIONS = enum.auto()
    NO_EXAMPLES = enum.auto()
    OPPRESSION_POINTS = enum.auto()
    NO_SUMMARIES = enum.auto()
    SHORT_HISTORY = enum.auto()
    NO_CENTERS = enum.auto()
    NO_ADJACENCIES = enum.auto()
    NO_PHASE_INSTRUCTIONS = enum.auto()


class Addition(enum.Flag):
    """Parts beyond the paper's prompt; docs/language-models.md has what each costs. ``Addition(0)`` adds nothing.

    Attributes:
        JOURNAL: a private journal: the player writes a note in every reply, and reads those of all earlier phases.
        DRAFTS: in later rounds of a phase, the reasoning and orders of one's own earlier replies.
        ADJACENCY: which provinces border which.
        NEAREST: the nearest supply centers of others for each of one's units.
        THREATS: units of others that can reach one's units and centers in one move.
        LEGAL_ORDERS: all legal orders of movement phases, too, for servers that do not show the schema to the model.
    """

    JOURNAL = enum.auto()
    DRAFTS = enum.auto()
    ADJACENCY = enum.auto()
    NEAREST = enum.auto()
    THREATS = enum.auto()
    LEGAL_ORDERS = enum.auto()


NOTHING, PLAIN = Ablation(0), Addition(0)
ALL, EVERYTHING = ~NOTHING, ~PLAIN

Parts = TypeVar("Parts", bound=enum.Flag)


def parse_parts(kind: type[Parts], text: str) -> Parts:
    """Parses ablations or additions joined by "+": "no_reasoning+no_examples"; "all"; "nothing" or "" for none.

    Raises:
        PromptError: a name that does not exist.
    """
    chosen = kind(0)
    known = {"all": ~chosen, **{each.lower(): flag for each, flag in kind.__members__.items()}}
    for name in text.split("+") if text not in ("", "nothing") else ():
        if name not in known:
            what = kind.__name__.lower()
            raise PromptError(f"{what} {name!r:.80} in {text!r:.200}: choose from {', '.join(known)}, joined by +")
        chosen |= known[name]
    return chosen


def parts_text(parts: enum.Flag) -> str:
    """The text that `parse_parts` reads: names in the order of the class."""
    return "all" if parts == ~type(parts)(0) else "+".join(str(flag.name).lower() for flag in parts)
