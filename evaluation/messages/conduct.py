"""Counts for each power of a game: orders, messages, promises, centers taken and lost, tokens and dollars."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from evaluation.messages.promises import promises
from welfare_env import load_board
from welfare_env.errors import MapFormatError, UnknownMapError


@dataclass(frozen=True)
class Conduct:
    """Counts for one power in one game.

    Attributes:
        centers_taken, centers_lost: supply centers taken from other powers, and taken by other powers.
        orders: submitted orders, including illegal orders.
        illegal_orders: of these, illegal, or unusable in a language model's reply; they were not carried out.
        messages: sent messages.
        promises, kept_promises, broken_promises: promises in its messages (`evaluation.messages.promises`). Some can be
            judged neither kept nor broken. All three are nan if the game's map is unknown.
        tokens: input and output tokens of its language model; 0 for other policies.
        dollars: list price of these tokens; nan if a price is unknown.
    """

    centers_taken: int
    centers_lost: int
    orders: int
    illegal_orders: int
    messages: int
    promises: float
    kept_promises: float
    broken_promises: float
    tokens: int
    dollars: float


def conduct(record: Mapping[str, Any], taken: Iterable[tuple[str, str]]) -> dict[str, Conduct]:
    """Power -> its conduct.

    Args:
        record: the record of the game.
        taken: (thief, victim) for each stolen supply center.
    """
    phases, facts = record["phases"][:-1], record["welfare_env"]
    thefts = list(taken)
    sent = Counter(message["sender"] for phase in phases for message in phase["messages"])
    judged: Counter[tuple[str, bool | None]] = Counter()
    unknown = 0.0
    try:
        if sent:
            judged.update((each.sender, each.is_kept) for each in promises(record, load_board(record["map"])))
    except (UnknownMapError, MapFormatError):
        unknown = math.nan
    found = {}
    for power in record["phases"][-1]["state"]["units"]:
        void = sum(len(phase["void"].get(power, ())) for phase in phases)
        void += facts.get("replies", {}).get(power, {}).get("refused_orders", 0)
        kept, broken = judged[power, True] + unknown, judged[power, False] + unknown
        models = facts.get("language_models", {}).get(power, ())
        found[power] = Conduct(
            centers_taken=sum(thief == power for thief, _ in thefts),
            centers_lost=sum(victim == power for _, victim in thefts),
            orders=void + sum(len(phase["orders"].get(power, ())) for phase in phases),
            illegal_orders=void,
            messages=sent[power],
            promises=kept + broken + judged[power, None],
            kept_promises=kept,
            broken_promises=broken,
            tokens=sum(model["input_tokens"] + model["output_tokens"] for model in models),
            dollars=float(sum(math.nan if model["dollars"] is None else model["dollars"] for model in models)),
        )
    return found
