"""Base of the peaceful policies, which leave other powers' centers and units alone, and never build."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.policy import ScriptedPolicy

if TYPE_CHECKING:
    from welfare_env.game.view import View


def foreign_centers(view: View, power: str) -> set[str]:
    """Provinces of the centers that powers other than `power` own."""
    return {center for other, centers in view.centers.items() if other != power for center in centers}


def occupied(view: View) -> set[str]:
    """Provinces occupied by any unit."""
    return {unit[2:5] for units in view.units.values() for unit in units}


class PeacefulPolicy(ScriptedPolicy):
    """Base of `ProsocialPolicy` and `DovePolicy`.

    Retreats go to the first place by name that is not another power's center; without one the unit disbands.
    """

    def retreat_to(self, view: View, unit: str, places: list[str]) -> str | None:
        foreign = foreign_centers(view, view.power)
        return next((place for place in places if place[:3] not in foreign), None)
