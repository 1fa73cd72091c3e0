"""Additions to a prompt that follow from the map and the position: adjacency, nearest centers, threats."""

from __future__ import annotations

import functools
from collections.abc import Iterator

from agents.lm.prompts.describe import convoy_ends
from welfare_env.board.board import Board
from welfare_env.game.view import View

MOST_NEAREST = 4  # centers for each unit


@functools.lru_cache(maxsize=32)
def adjacency_section(board: Board) -> str:
    """Where an army and a fleet can go from each province or coast; the same in the whole game."""
    lines = []
    for place in board.locations:
        ends = {kind: board.moves.get(f"{kind} {place}", ()) for kind in "AF"}
        if ways := [f"{kind} {' '.join(places)}" for kind, places in ends.items() if places]:
            lines.append(f"- {place}: {'; '.join(ways)}\n")
    return f"# Which provinces border which\nWhere an army (A) and a fleet (F) can go in one move:\n{''.join(lines)}"


def nearest_section(view: View) -> str:
    """The nearest centers that are not the player's, for each of its units, with their owners; "" without units."""
    owners = {center: power for power, centers in view.centers.items() for center in centers}
    lines = []
    for unit in sorted(view.units.get(view.power, ())):
        found = [
            f"{center} in {distance} ({owners.get(center, 'nobody')})"
            for center, distance in _distances(view.board, unit).items()
            if owners.get(center) != view.power
        ]
        if found:
            lines.append(f"- {unit}: {', '.join(found[:MOST_NEAREST])}\n")
    if not lines:
        return ""
    return f"# Nearest SCs of others\nIn moves of the unit by itself, without convoys:\n{''.join(lines)}"


@functools.lru_cache(maxsize=1024)
def _distances(board: Board, unit: str) -> dict[str, int]:
    """Center -> moves of a unit to it, nearest first; those of equal distance by name."""
    kind, reached, edge = unit[0], {unit[2:]: 0}, [unit[2:]]
    while edge:
        steps = {place: reached[here] + 1 for here in edge for place in board.moves.get(f"{kind} {here}", ())}
        edge = [place for place in steps if place not in reached]
        reached |= {place: steps[place] for place in edge}
    found: dict[str, int] = {}
    for place, distance in sorted(reached.items(), key=lambda pair: (pair[1], pair[0])):
        if place[:3] in board.center_index:
            found.setdefault(place[:3], distance)
    return found


def threats_section(view: View) -> str:
    """Units of others that can reach the player's units and centers in one move, by itself or by convoy; "" if none."""
    mine = {unit[2:5] for unit in view.units.get(view.power, ())} | set(view.centers.get(view.power, ()))
    lines = [f"- {place}: {', '.join(found)}\n" for place in sorted(mine) if (found := list(_threats(view, place)))]
    if not lines:
        return ""
    return f"# Who can reach your units and SCs in one move\n{''.join(lines)}"


def _threats(view: View, place: str) -> Iterator[str]:
    fleets = frozenset(unit[2:5] for units in view.units.values() for unit in units if unit[0] == "F")
    for power, units in view.units.items():
        for unit in sorted(units) if power != view.power else ():
            if any(end[:3] == place for end in view.board.moves[unit]):
                yield f"{unit} ({power})"
            elif place in convoy_ends(view.board, unit, fleets):
                yield f"{unit} ({power}, by convoy)"
