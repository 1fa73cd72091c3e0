"""Matching of units and places: every unit goes to at most one place, and every place takes one unit."""

from __future__ import annotations

from collections.abc import Callable, Sequence


def matched(goals: Sequence[str], able: Callable[[str], Sequence[str]]) -> dict[str, str]:
    """Goal -> unit, for as many goals as possible, the first ones first (Kuhn's augmenting paths).

    Args:
        able: the units that can reach a goal, the preferred ones first.
    """
    found: dict[str, str] = {}

    def place(goal: str, tried: set[str]) -> bool:
        """Find a unit for a goal, if necessary one whose own goal another unit can take over."""
        for unit in able(goal):
            if unit not in tried:
                tried.add(unit)
                before = next((other for other, taken in found.items() if taken == unit), None)
                if before is None or place(before, tried):
                    found[goal] = unit
                    return True
        return False

    for goal in goals:
        place(goal, set())
    return found
