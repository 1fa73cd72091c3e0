"""Parts of the prompt that can be removed or changed, in any combination (paper, appendix C.4)."""

from __future__ import annotations

import enum
from typing import TypeVar

from agents.lm.errors import PromptError


class Ablation(enum.Flag):
    """The eleven changes of the paper; all of them together are `ALL`. ``Ablation(0)`` changes nothing.

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


Kind = TypeVar("Kind", bound=enum.Flag)

NOTHING = Ablation(0)
ALL = ~NOTHING


def parse_ablation(text: str) -> Ablation:
    """Parses ablations: "no_reasoning+no_examples", "all", or "nothing" (or "") for none.

    Raises:
        PromptError: a name that does not exist.
    """
    return parse_flags(Ablation, text)


def ablation_text(ablation: Ablation) -> str:
    """The text that `parse_ablation` reads: names in the sequence of the class."""
    return flags_text(ablation)


def parse_flags(kind: type[Kind], text: str) -> Kind:
    """Flags joined by "+", in lower case; "all", or "nothing" (or "") for none.

    Raises:
        PromptError: a name that does not exist.
    """
    found = kind(0)
    for name in text.split("+") if text not in ("", "nothing") else ():
        known = {"all": ~kind(0), **{each.lower(): flag for each, flag in kind.__members__.items()}}
        if name not in known:
            what = kind.__name__.lower()
            raise PromptError(f"{what} {name!r:.80} in {text!r:.200}: choose of {', '.join(known)}, joined by +")
        found |= known[name]
    return found


def flags_text(flags: enum.Flag) -> str:
    """The text that `parse_flags` reads."""
    return "all" if flags == ~type(flags)(0) else "+".join(str(flag.name).lower() for flag in flags)
