"""Events of a game, from its record: attacks, stolen centers, disarmament, and eliminated powers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from welfare_env.board.order_text import order_parts, province_of
from welfare_env.render.replay.annotations import Event

Phase = Mapping[str, Any]  # of a record


@dataclass(frozen=True)
class Attack:
    """An order to move into a province where another power has a unit or owns the center, successful or not.

    Attributes:
        phase: short name.
        attacker, victim: powers. An order attacks two powers if one has the unit there and another owns the center.
        order: the order.
    """

    phase: str
    attacker: str
    victim: str
    order: str


def attacks(phases: Sequence[Phase]) -> Iterator[Attack]:
    """All attacks of a game, phase by phase.

    Args:
        phases: of a record (`welfare_env.game.record`).
    """
    for phase in phases:
        if not phase["name"].endswith("M"):
            continue
        held = _holders(phase["state"])
        for power, orders in phase["orders"].items():
            for order in orders:
                parts = order_parts(order)
                if parts and parts.command == "-":
                    victims = held.get(province_of(parts.dest), ())
                    yield from (Attack(phase["name"], power, victim, order) for victim in victims if victim != power)


def _holders(state: Mapping[str, Any]) -> dict[str, list[str]]:
    """Province -> the powers that have a unit there or own its center."""
    held: dict[str, list[str]] = {}
    for power, units in state["units"].items():
        places = {province_of(unit) for unit in units if unit[0] != "*"} | set(state["centers"][power])
        for place in sorted(places):
            held.setdefault(place, []).append(power)
    return held


def events(phases: Sequence[Phase]) -> list[Event]:
    """The events of a game, in the order of its phases."""
    found = [*_first_attacks(phases), *_thefts(phases), *_disarmament(phases), *_losses(phases)]
    place = {phase["name"]: number for number, phase in enumerate(phases)}
    return sorted(found, key=lambda event: place[event.phase])  # stable


def _first_attacks(phases: Sequence[Phase]) -> Iterator[Event]:
    """The first attack of the game, and the first of each power."""
    seen: set[str] = set()
    for attack in attacks(phases):
        if attack.attacker not in seen:
            kind, note = ("attack", "its first attack") if seen else ("first attack", "the first attack of the game")
            yield Event(attack.phase, kind, f"{attack.attacker} against {attack.victim}, {note}: {attack.order}")
        seen.add(attack.attacker)


def _thefts(phases: Sequence[Phase]) -> Iterator[Event]:
    """Centers taken from another power, in the phase whose orders captured them."""
    for phase, after in pairwise(phases):
        before, now = _owners(phase), _owners(after)
        for center in sorted(now.keys() & before.keys()):
            if now[center] != before[center]:
                yield Event(phase["name"], "stolen", f"{now[center]} takes {center} from {before[center]}")


def _owners(phase: Phase) -> dict[str, str]:
    return {center: power for power, centers in phase["state"]["centers"].items() for center in centers}


def _disarmament(phases: Sequence[Phase]) -> Iterator[Event]:
    """Voluntary disbands, per Winter."""
    for phase in phases:
        if not phase["name"].endswith("A"):
            continue
        counts = {power: _disbanded_by_choice(phase, power) for power in phase["orders"]}
        disbands = [f"{power} {count}" for power, count in counts.items() if count]
        if disbands:
            total = sum(counts.values())
            yield Event(phase["name"], "disarmament", f"{total} units disbanded by choice: {', '.join(disbands)}")


def _disbanded_by_choice(phase: Phase, power: str) -> int:
    must = -min(0, phase["state"]["builds"][power]["count"])
    return max(0, sum(order.endswith(" D") for order in phase["orders"][power]) - must)


def _losses(phases: Sequence[Phase]) -> Iterator[Event]:
    """Powers that lose their last unit and their last center."""
    for phase, after in pairwise(phases):
        for power in sorted(_alive(phase) - _alive(after)):
            yield Event(phase["name"], "eliminated", f"{power} has neither a unit nor a center left")


def _alive(phase: Phase) -> set[str]:
    state = phase["state"]
    return {power for power in state["units"] if state["units"][power] or state["centers"][power]}
