"""Parts that a prompt can have beyond the paper's, in any combination: what a strong player needs."""

from __future__ import annotations

import enum

from agents.lm.prompts.ablation import flags_text, parse_flags


class Addition(enum.Flag):
    """Parts to add to the prompt. ``Addition(0)``, the default, is the paper's prompt; all together are `EVERYTHING`.

    docs/language-models.md has what each costs.

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


PLAIN = Addition(0)
EVERYTHING = ~PLAIN


def parse_addition(text: str) -> Addition:
    """Parses additions: "journal+threats", "all", or "nothing" (or "") for none.

    Raises:
        PromptError: a name that does not exist.
    """
    return parse_flags(Addition, text)


def addition_text(addition: Addition) -> str:
    """The text that `parse_addition` reads: names in the sequence of the class."""
    return flags_text(addition)
