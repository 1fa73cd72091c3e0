"""Parts of the prompt that can be taken out or changed, one by one or together (paper, appendix C.4)."""

from __future__ import annotations

import enum

from agents.lm.errors import PromptError


class Ablation(enum.Flag):
    """The eleven changes of the paper; all of them together are `ALL`. ``Ablation(0)`` changes nothing.

    Attributes:
        NO_TRADEOFF: no sentence that every unit costs a point a year.
        NO_REASONING: replies have no private reasoning.
        ORDERS_LAST: replies have their orders after their messages.
        NO_MESSAGE_INSTRUCTIONS: no advice on what to write to others.
        NO_EXAMPLES: no example orders.
        OPPRESSION_POINTS: welfare points are called oppression points.
        NO_SUMMARIES: nothing of what was said in earlier phases.
        SHORT_HISTORY: the orders of the last phase only, in place of three.
        NO_CENTERS: not who owns which supply centre.
        NO_ADJACENCIES: not where units can go.
        NO_PHASE_INSTRUCTIONS: not what can be ordered in this type of phase.
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


NOTHING = Ablation(0)
ALL = ~NOTHING


def parse_ablation(text: str) -> Ablation:
    """Ablations by name: "no_reasoning+no_examples", "all", or "" for none.

    Raises:
        PromptError: a name that does not exist.
    """
    found = NOTHING
    for name in text.split("+") if text else ():
        known = {"all": ALL, **{each.lower(): flag for each, flag in Ablation.__members__.items()}}
        if name not in known:
            raise PromptError(f"ablation {name!r:.80} in {text!r:.200}: choose of {', '.join(known)}, joined by +")
        found |= known[name]
    return found


def ablation_text(ablation: Ablation) -> str:
    """What `parse_ablation` reads: names in the sequence of the class."""
    return "all" if ablation == ALL else "+".join(str(flag.name).lower() for flag in ablation)
