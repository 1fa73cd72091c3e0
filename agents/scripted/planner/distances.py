"""Steps that units need between places of a board."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from welfare_env.board.board import Board

UNREACHABLE = 99


@functools.lru_cache(maxsize=4096)
def _distances(board: Board, kind: str, province: str, closed: frozenset[str]) -> Mapping[str, int]:
    """Location -> steps that an army ("A") or a fleet ("F") needs from there to a province, ignoring other units."""
    shut = closed - {province}
    left = {
        unit[2:]: [place for place in places if place[:3] not in shut]
        for unit, places in board.moves.items()
        if unit[0] == kind
    }
    found = {location: 0 for location in left if location[:3] == province}
    while new := [place for place, near in left.items() if place not in found and not found.keys().isdisjoint(near)]:
        found |= dict.fromkeys(new, max(found.values()) + 1)
    return found


def steps_between(board: Board, closed: frozenset[str] = frozenset()) -> Callable[[str, str], int]:
    """A function of a unit ("A PAR") and a province: the steps that the unit needs, around closed provinces."""
    return lambda unit, province: _distances(board, unit[0], province, closed).get(unit[2:], UNREACHABLE)
