"""Posse: DumbBot against some powers only, with few units, and without blocking its friends."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from agents.scripted.deterrents.matching import matched
from agents.scripted.dumbbot import DumbBotPolicy, OrderPlan

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agents.scripted.deterrents.ownership import RightfulOwners
    from welfare_env.game.view import View


class PossePolicy(DumbBotPolicy):
    """Fights only the powers given to `pursue`, like DumbBot.

    - It builds until it has `force` units, and `more` units more for each year that the fight has lasted. In the last
      Winter but one it builds all units that can still arrive, and only those; in the last none.
    - It enters no province in which a friend stands or that a friend owns, and no neutral center due to a friend.
    - If several friends could enter a province of the enemy, one of them has the right of way, and the others stay out:
      the power to which it is due, else the one with most units next to it, else the first in the board's order.
      Otherwise six powers that all attack the last center of a seventh would bounce there forever.
    - Friends attack an enemy's unit together: the power with the right of way moves its first unit in, and all other
      adjacent units support it. In Fall they first take over as many of the enemies' empty centers as they can. All
      members compute the same plan from the position, so they need no messages.

    All powers except itself and the enemies are friends; before `pursue` is called, all others are enemies.

    Args:
        force, more: numbers of units.
    """

    def __init__(self, force: int = 2, more: int = 1) -> None:
        self.force, self.more = force, more

    def reset(self, agent: str, seed: int = 0) -> None:
        super().reset(agent, seed)
        self._enemies: frozenset[str] | None = None
        self._owners: RightfulOwners | None = None
        self._years = 0

    def pursue(self, enemies: frozenset[str], owners: RightfulOwners | None = None, years: int = 0) -> None:
        """Fight these powers from now on.

        Args:
            owners: the rightful owners of centers; None to ignore them.
            years: how long the fight has lasted.
        """
        self._enemies, self._owners, self._years = enemies, owners, years

    def movement(self, view: View) -> list[str]:
        """As DumbBot, except for the units that act with friends; the others stay out of these units' way."""
        joint, entered = self._joint(view)
        return OrderPlan(view, self._values(view), self.closed(view) | entered, self.rng, joint).orders()

    def _joint(self, view: View) -> tuple[dict[str, str], frozenset[str]]:
        """Unit -> order, for its own units that act with friends, and the provinces that these and friends' units
        enter: in Fall some take the enemies' empty centers, and others attack their units.
        """
        friends, moves = self.spared(view), view.board.moves
        enemies = set(view.powers) - friends - {view.power}
        hostile = [unit for power in enemies for unit in view.units[power]]
        free = {unit: power for power in (*friends, view.power) for unit in view.units[power]}
        found: dict[str, str] = {}
        entering = self._entering(view, enemies, free) if view.season == "F" else {}
        entered = set(entering)
        for center, unit in entering.items():
            if free.pop(unit) == view.power:
                places = [place for place in moves[unit] if place[:3] == center]
                found[unit] = f"{unit} - {places[0]}" if unit[2:5] != center else f"{unit} H"
        for province in sorted(unit[2:5] for unit in hostile):
            near = sorted(unit for unit in free if province in _next_to(view, unit))
            leader = self._leader(view, province, Counter(free[unit] for unit in near))
            needed = 1 + sum(province in _next_to(view, unit) for unit in hostile)
            if leader is None or len(near) < 2:
                continue
            first = next(unit for unit in near if free[unit] == leader)
            place = next(place for place in moves[first] if place[:3] == province)
            entered.add(province)
            helpers = [unit for unit in near if unit != first][:needed]
            for unit in (first, *helpers):
                if free.pop(unit) == view.power:
                    found[unit] = f"{unit} - {place}" if unit == first else _support(view, unit, first, place)
        return found, frozenset(entered)

    def _entering(self, view: View, enemies: set[str], free: Mapping[str, str]) -> dict[str, str]:
        """Enemies' empty center -> the unit that takes it over: as many as possible, units of the power to which the
        center is due first.
        """
        guarded = {unit[2:5] for power in enemies for unit in view.units[power]}
        centers = sorted(center for power in enemies for center in view.centers[power] if center not in guarded)

        def able(center: str) -> list[str]:
            due = self._owners.of(center) if self._owners is not None else None
            near = [unit for unit in free if unit[2:5] == center or center in _next_to(view, unit)]
            return sorted(near, key=lambda unit: (free[unit] != due, unit[2:5] != center, unit))

        return matched(centers, able)

    def _leader(self, view: View, province: str, near: Counter[str]) -> str | None:
        """The power with adjacent units that may enter an enemy's province; None if there is none."""
        owner = next((power for power in view.powers if province in view.centers[power]), None)
        due = self._owners.of(province) if self._owners is not None else None
        if owner is None and due in view.powers:
            owner = due
        if owner in self.spared(view) or owner == view.power:
            return owner if near[owner] else None
        return max(near, key=lambda power: (power == due, near[power], -view.board.power_index[power]), default=None)

    def spared(self, view: View) -> frozenset[str]:
        """The friends."""
        return frozenset() if self._enemies is None else frozenset(view.powers) - self._enemies - {view.power}

    def closed(self, view: View) -> frozenset[str]:
        """Provinces that friends occupy or own, or where they have the right of way; neutral centers due to friends."""
        friends = self.spared(view)
        theirs = {unit[2:5] for power in friends for unit in view.units[power]}
        theirs |= {center for power in friends for center in view.centers[power]}
        if self._owners is not None:
            neutral = set(view.board.centers).difference(*view.centers.values())
            theirs |= {center for center in neutral if self._owners.of(center) in friends}
        return frozenset(theirs | self._yielded(view, friends))

    def most_builds(self, view: View) -> int:
        """Up to `force` units, and `more` for each year; in the last Winter but one all, in the last none."""
        if view.years_left == 1:
            return 0
        wanted = self.force + self.more * self._years
        return view.max_builds if _is_late(view) else max(0, min(view.max_builds, wanted - len(view.units[view.power])))

    def may_build(self, view: View, unit: str) -> bool:
        """In the last Winter but one, whether the unit can still reach the enemy."""
        if not _is_late(view):
            return True
        moves = view.board.moves
        there = {place[:3] for near in moves[unit] for place in (near, *moves[f"{unit[0]} {near}"])}
        return bool(there & self._disputed(view))

    def _disputed(self, view: View) -> set[str]:
        """The enemies' centers, and the provinces of their units."""
        enemies = set(view.powers) - self.spared(view) - {view.power}
        centers = {center for power in enemies for center in view.centers[power]}
        return centers | {unit[2:5] for power in enemies for unit in view.units[power]}

    def _yielded(self, view: View, friends: frozenset[str]) -> set[str]:
        """The enemies' provinces in which a friend has the right of way."""
        near: dict[str, Counter[str]] = {province: Counter() for province in self._disputed(view)}
        for power in (*friends, view.power):
            for unit in view.units[power]:
                for province in near.keys() & _next_to(view, unit):
                    near[province][power] += 1
        return {place for place, who in near.items() if who and self._leader(view, place, who) != view.power}


def _next_to(view: View, unit: str) -> set[str]:
    """The provinces that a unit may move to."""
    return {place[:3] for place in view.board.moves[unit]}


def _support(view: View, unit: str, first: str, place: str) -> str:
    """The order to support a friend's move; hold if that is not legal."""
    orders = (f"{unit} S {first} - {to}" for to in (place, place[:3]))
    return next((order for order in orders if order in view.legal_orders[unit]), f"{unit} H")


def _is_late(view: View) -> bool:
    """Whether units built now have one year left."""
    return view.years_left == 2
