"""The rules of deterrents, checked from public information."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from agents.scripted.deterrents.ownership import RightfulOwners
    from welfare_env.game.view import View

    Rule = Callable[[View, RightfulOwners, str, int], bool]


def has_units(view: View, owners: RightfulOwners, power: str, slack: int) -> bool:
    """After the first Winter, it has more than `slack` units."""
    return view.year_index > 0 and len(view.units[power]) > slack


def has_grown(view: View, owners: RightfulOwners, power: str, slack: int) -> bool:
    """After the first year, it owns more centers than in the first Winter, by more than `slack`."""
    return view.year_index > 0 and len(view.centers[power]) > owners.first.get(power, 0) + slack


def has_more_than_its_share(view: View, owners: RightfulOwners, power: str, slack: int) -> bool:
    """It owns more centers than its fair share, by more than `slack`."""
    return len(view.centers[power]) > owners.share[power] + slack


def has_stolen(view: View, owners: RightfulOwners, power: str, slack: int) -> bool:
    """It has stolen more than `slack` of the centers that it owns."""
    return len(owners.stolen(power)) > slack


RULES: Mapping[str, Rule] = {
    "units": has_units,
    "growth": has_grown,
    "share": has_more_than_its_share,
    "theft": has_stolen,
}


def has_lost(provoked: str, view: View, owners: RightfulOwners, power: str) -> bool:
    """Whether the power itself owns too few centers under the rule "growth" or "share"; False under other rules."""
    if view.year_index == 0:
        return False
    if provoked == "growth":
        return len(view.centers[power]) < owners.first.get(power, 0)
    return provoked == "share" and len(view.centers[power]) < owners.due[power]
