"""Tit-for-tat: disarms first, and then keeps as many units as its neighbors did.

The strategy of Axelrod (*The Evolution of Cooperation*, 1984), where a power cooperates by disarming and defects by
keeping units. It starts nicely, answers arms with as many of its own a year later, forgives as soon as its neighbors
have disarmed, and never takes what is not its own. As in the repeated prisoner's dilemma two of them that were once
provoked keep answering each other: after a robber has left, neighbors that armed against it stay armed.
"""

from __future__ import annotations

import functools
from types import MappingProxyType
from typing import TYPE_CHECKING

from agents.scripted.center_partition import planned_owners
from agents.scripted.dove import shortest_ways
from agents.scripted.peaceful_policy import foreign_centers, occupied
from agents.scripted.prosocial import ProsocialPolicy

if TYPE_CHECKING:
    from collections.abc import Mapping

    from welfare_env.board.board import Board
    from welfare_env.game.view import View


class TitForTatPolicy(ProsocialPolicy):
    """Plays like `ProsocialPolicy` in the first year; then arms and disarms as its neighbors did.

    - Winter: disbands all units in the first and in the last Winter. In the others it builds or disbands until it has
      as many units as its strongest neighbor has in that Winter (those that the neighbor kept a year ago), as far as
      its centers allow. Of its units it keeps those nearest to a lost center; it builds in the home centers, first by
      name. In the standard variant it disbands only what it must.
    - Movement: units retake lost centers. Each goes to the nearest by a shortest way around other powers' centers and
      units; if several would enter a province, the first moves in and the others support it. All other units hold.

    Neighbors are the powers with a unit or a center within two moves of one of its centers. A lost center is one that
    the fair partition gives to it (`agents.scripted.center_partition.planned_owners`) and another power owns. It is
    deterministic, its orders depend only on the position, and it sends no messages.
    """

    def movement(self, view: View) -> list[str]:
        if view.year_index == 0:
            return super().movement(view)
        orders = {unit: f"{unit} H" for unit in view.legal_orders}
        leaders: dict[str, str] = {}  # province -> the unit that enters it
        for unit, way in _marches(view):
            if len(way) == 1:
                continue
            leader = leaders.setdefault(way[1][:3], unit)
            order = f"{unit} - {way[1]}" if leader == unit else f"{unit} S {orders[leader]}"
            orders[unit] = order if order in view.legal_orders[unit] else orders[unit]
        return list(orders.values())

    def winter(self, view: View) -> list[str]:
        units = [unit for unit, _ in _marches(view)]
        units += [unit for unit in self.own_units(view) if unit not in units]
        wanted = arms_of_neighbors(view) if view.year_index and view.years_left > 1 else 0
        if len(units) < wanted and not view.must_disband:
            builds = [legal[0] for legal in view.legal_orders.values() if legal[0].endswith(" B")]
            return builds[: min(wanted - len(units), view.max_builds)]
        spare = len(units) - wanted if view.rules.is_welfare else 0
        disbanded = max(spare, view.must_disband)
        return [f"{unit} D" for unit in units[len(units) - disbanded :]]


def arms_of_neighbors(view: View) -> int:
    """The number of units of the strongest neighbor; 0 without one."""
    near = frozenset[str]().union(*(_near(view.board)[center] for center in view.centers.get(view.power, ())))
    there = {power: {*view.centers[power], *(unit[2:5] for unit in units)} for power, units in view.units.items()}
    return max((len(view.units[power]) for power in there if power != view.power and there[power] & near), default=0)


@functools.lru_cache(maxsize=32)
def _near(board: Board) -> Mapping[str, frozenset[str]]:
    """Province -> the provinces within two moves of it, itself included."""
    steps: dict[str, set[str]] = {province: {province} for province in board.provinces}
    for start, places in board.moves.items():
        steps[start[2:5]].update(place[:3] for place in places)
    twice = {province: frozenset().union(*(steps[other] for other in near)) for province, near in steps.items()}
    return MappingProxyType(twice)


def _marches(view: View) -> list[tuple[str, tuple[str, ...]]]:
    """Own units that can go to a lost center, and their ways, the shortest first."""
    owners, foreign = planned_owners(view.board), foreign_centers(view, view.power)
    lost = {center for center in foreign if owners.get(center) == view.power}
    own = view.units.get(view.power, ())
    held = {unit[2:5] for unit in own}
    closed = (foreign | occupied(view)) - lost - held  # own units may move on
    ways = []
    for unit in own:
        goals = lost.difference(held - {unit[2:5]})
        if (way := next(shortest_ways(view.board, unit, goals, closed), None)) is not None:
            ways.append((len(way), unit, way))
    return [(unit, way) for _, unit, way in sorted(ways)]
