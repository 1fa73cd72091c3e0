"""The data of the replay page as plain JSON types, from a game's record and annotations."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from welfare_env.board.order_text import unit_of
from welfare_env.render.replay.annotations import Annotations, Event, MarkedPromise, Reasoning
from welfare_env.render.replay.events import Phase, attacks, events
from welfare_env.render.words import END, phase_title


def page_data(record: Mapping[str, Any], annotations: Annotations) -> dict[str, Any]:
    """All data of the page except the drawing.

    Args:
        record: from `Game.record`; its last phase is the current position.
        annotations: entries of phases outside the game are left out.
    """
    phases, own = record["phases"], record["welfare_env"]
    promises = _grouped(annotations.promises, lambda each: (each.phase, each.round, each.sender, each.recipient))
    thoughts = _grouped(annotations.reasoning, lambda each: each.phase)
    welfare = own["rules"]["variant"] == "welfare"
    names = {phase["name"] for phase in phases}
    return {
        "title": annotations.title or f"A game on the {record['map']} map",
        "about": _about(record),
        "powers": [
            {
                "name": power,
                "player": annotations.players.get(power, ""),
                "policy": annotations.names.get(power, annotations.players.get(power, "")),
                "deviates": power in annotations.deviators,
            }
            for power in phases[0]["state"]["units"]
        ],
        "welfare": welfare,
        "winner": own["winner"],
        "measures": [
            [name, value, annotations.explanations.get(name, "")] for name, value in annotations.measures.items()
        ],
        "phases": [_phase(phase, promises, thoughts.get(phase["name"], [])) for phase in phases],
        "rootNash": _root_nash(record) if welfare else [],
        "attacks": [[each.phase, each.attacker, each.victim, each.order] for each in attacks(phases)],
        "events": [[each.phase, each.kind, each.text] for each in _sorted(phases, annotations.events, names)],
    }


def _about(record: Mapping[str, Any]) -> str:
    rules = record["welfare_env"]["rules"]
    press = "no press" if not rules["press"] or not rules["message_rounds"] else _rounds(rules)
    return f"{record['map']} map, {rules['variant']} rules, {rules['years']} years, {press}"


def _rounds(rules: Mapping[str, Any]) -> str:
    count = rules["message_rounds"]
    return f"{count} message round{'s' * (count != 1)} of {rules['press']}"


def _grouped(values: Iterable[Any], key: Any) -> dict[Any, list[Any]]:
    found: dict[Any, list[Any]] = {}
    for value in values:
        found.setdefault(key(value), []).append(value)
    return found


def _sorted(phases: Sequence[Phase], more: Iterable[Event], names: set[str]) -> list[Event]:
    """Events of the game and of the annotations, by phase."""
    place = {phase["name"]: number for number, phase in enumerate(phases)}
    found = [*events(phases), *(each for each in more if each.phase in names)]
    return sorted(found, key=lambda each: place[each.phase])


def _phase(
    phase: Phase, promises: Mapping[Any, Sequence[MarkedPromise]], thoughts: Sequence[Reasoning]
) -> dict[str, Any]:
    state = phase["state"]
    return {
        "name": phase["name"],
        "title": phase_title(phase["name"]),
        "units": state["units"],
        "centers": state["centers"],
        "welfare": list(state["welfare"].values()),
        "orders": {power: [_order(text, phase) for text in texts] for power, texts in phase["orders"].items() if texts},
        "refused": {power: [[each["order"], each["reason"]] for each in void] for power, void in phase["void"].items()},
        "messages": [_message(message, phase["name"], promises) for message in phase["messages"]],
        "reasoning": [[each.round, each.player, each.text] for each in thoughts],
    }


def _order(text: str, phase: Phase) -> list[Any]:
    """An order and its results; [] is success."""
    return [text, phase["results"].get(unit_of(text), [])]


def _message(message: Mapping[str, Any], phase: str, promises: Mapping[Any, Sequence[MarkedPromise]]) -> list[Any]:
    """Round, sender, recipient and text, and the promises in it, if any."""
    where = phase, message["round"], message["sender"], message["recipient"]
    marks = [
        [each.sentence, each.is_kept]
        for each in promises.get(where, ())
        if each.sentence and each.sentence in message["message"]
    ]
    return [*where[1:], message["message"], *([marks] if marks else [])]


def _root_nash(record: Mapping[str, Any]) -> list[float | None]:
    """The root Nash welfare so far at the start of each phase; None in the first year.

    It is the geometric mean of the powers' welfare points per year (arXiv 2310.08901, section 5.1), and 0 as long as
    any power has no points.
    """
    phases = record["phases"]
    first = next((int(phase["name"][1:-1]) for phase in phases if phase["name"] != END), 0)
    return [_geometric_mean(phase["state"]["welfare"].values(), _years(record, phase, first)) for phase in phases]


def _years(record: Mapping[str, Any], phase: Phase, first: int) -> int:
    """Number of completed years when a phase begins."""
    is_end = phase["name"] == END
    return record["welfare_env"]["years_played"] if is_end else int(phase["name"][1:-1]) - first


def _geometric_mean(points: Iterable[float], years: int) -> float | None:
    values = list(points)
    if not years or not values:
        return None
    if min(values) <= 0:
        return 0.0
    return round(math.exp(math.fsum(math.log(value / years) for value in values) / len(values)), 3)
