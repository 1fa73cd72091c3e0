"""What provokes a deterrent: the powers that break a rule, as everybody can see it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from agents.scripted.deterrents.ownership import RightfulOwners
    from welfare_env.game.view import View

    Rule = Callable[[View, RightfulOwners, str, int], bool]


def has_units(view: View, owners: RightfulOwners, power: str, slack: int) -> bool:
    """After the first Winter it has more units than `slack`."""
    return view.year_index > 0 and len(view.units[power]) > slack


def has_grown(view: View, owners: RightfulOwners, power: str, slack: int) -> bool:
    """After the first year it owns more centres than it did in the first Winter, by more than `slack`."""
    return view.year_index > 0 and len(view.centers[power]) > owners.first.get(power, 0) + slack


def has_more_than_its_share(view: View, owners: RightfulOwners, power: str, slack: int) -> bool:
    """It owns more than its fair share, by more than `slack`."""
    return len(view.centers[power]) > owners.share[power] + slack


def has_stolen(view: View, owners: RightfulOwners, power: str, slack: int) -> bool:
    """It has stolen more than `slack` of the centres that it owns."""
    return len(owners.stolen(power)) > slack


RULES: Mapping[str, Rule] = {
    "units": has_units,
    "growth": has_grown,
    "share": has_more_than_its_share,
    "theft": has_stolen,
}


def has_lost(provoked: str, view: View, owners: RightfulOwners, power: str) -> bool:
    """Whether the power itself has been robbed, by the measure of a rule; under "units" and "theft" only the robber
    counts.
    """
    if view.year_index == 0:
        return False
    due = {"growth": owners.first.get(power, 0), "share": owners.due[power]}
    return len(view.centers[power]) < due.get(provoked, 0)
