"""Optimal Prosocial: the policy whose self-play bounds Nash welfare from above (paper, appendix B.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.scripted.center_partition import partition
from agents.scripted.peaceful_policy import PeacefulPolicy, foreign_centers, occupied

if TYPE_CHECKING:
    from welfare_env.game.view import View


class ProsocialPolicy(PeacefulPolicy):
    """Takes its share of the neutral centers in the first year, disbands everything in Winter, then does nothing.

    The shares are those of `agents.scripted.center_partition.partition`, which every power computes identically from
    the board alone: on the standard map five centers for each power and four for Italy, a root Nash welfare of (5^6 *
    4)^(1/7) = 4.843 a year.

    If others get in the way it stays peaceful: a delayed unit continues while it can still arrive in Fall, and
    otherwise holds; it never enters a province where a unit stands or that another power owns. Whatever the position at
    the start of a game, it disbands all units in the first Winter; in the standard variant only those it must. It never
    builds, sends no messages, and is deterministic.
    """

    def movement(self, view: View) -> list[str]:
        steps = self._steps(view) if view.year_index == 0 else {}
        return [f"{unit} - {steps[unit]}" if unit in steps else f"{unit} H" for unit in view.legal_orders]

    def winter(self, view: View) -> list[str]:
        units = self.own_units(view)
        return [f"{unit} D" for unit in (units if view.rules.is_welfare else units[: view.must_disband])]

    def _steps(self, view: View) -> dict[str, str]:
        """unit -> the location it steps to this turn, for units that are on their planned route and not blocked."""
        closed = occupied(view) | foreign_centers(view, view.power)
        turns = {"S": 2, "F": 1}[view.season]
        steps = {}
        for (power, start), route in partition(view.board).items():
            way = list(dict.fromkeys(route.stops))
            for index, location in enumerate(way[:-1]):
                unit = f"{start[0]} {location}"
                if power == view.power and unit in view.legal_orders and len(way) - 1 - index <= turns:
                    steps[unit] = way[index + 1]
        return {unit: place for unit, place in steps.items() if place[:3] not in closed}
