"""Steps that units need between places of a board."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from welfare_env.board.board import Board

UNREACHABLE = 99


@functools.lru_cache(maxsize=4096)
def distances_to(board: Board, kind: str, province: str) -> Mapping[str, int]:
    """Location -> steps that an army ("A") or a fleet ("F") needs from there to a province, ignoring other units."""
    found = {unit[2:]: 0 for unit in board.moves if unit[0] == kind and unit[2:5] == province}
    into: dict[str, list[str]] = _sources(board, kind)
    edge = list(found)
    while edge:
        new = []
        for location in edge:
            for source in into.get(location, ()):
                if source not in found:
                    found[source] = found[location] + 1
                    new.append(source)
        edge = new
    return found


@functools.lru_cache(maxsize=64)
def _sources(board: Board, kind: str) -> dict[str, list[str]]:
    into: dict[str, list[str]] = {}
    for unit, places in board.moves.items():
        if unit[0] == kind:
            for place in places:
                into.setdefault(place, []).append(unit[2:])
    return into


def steps_between(board: Board) -> Callable[[str, str], int]:
    """A function of a unit ("A PAR") and a province: the steps that the unit needs."""

    def steps(unit: str, province: str) -> int:
        return distances_to(board, unit[0], province).get(unit[2:], UNREACHABLE)

    return steps
