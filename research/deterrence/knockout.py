"""Knockout: the members stay armed, stand before the homes of the others, and take as many as they can in one Fall.

A marshal builds in the Winter after the theft, in its own empty homes; without homes it builds nothing, then or later.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, linear_sum_assignment, milp
from scipy.sparse import csr_matrix

from agents.policy import view_of
from agents.scripted.planner.distances import steps_between
from agents.scripted.prosocial import ProsocialPolicy
from welfare_env import Board
from welfare_env.game.view import View

Route = tuple[str, ...]
"""The places of a unit, one a phase."""

FAR = 30  # moves; more count as so many


class Knockout:
    """One year of peace; then `years` years in position, with all units they may have; then the robbery.

    Afterwards they attack what is left with supports, keep two units for each enemy or home left, and disarm at last.
    """

    def __init__(self, years: int = 1, fleets: Sequence[str] = ("F STP/NC",)) -> None:
        self.years, self.fleets = years, fleets

    def reset(self, agent: str, seed: int = 0) -> None:
        self.reset_coalition((agent,), seed)

    def reset_coalition(self, agents: Sequence[str], seed: int = 0) -> None:
        self.us, self._phase = tuple(agents), ""
        self.nice = {agent: ProsocialPolicy() for agent in agents}
        for agent, policy in self.nice.items():
            policy.reset(agent, seed)

    def act(self, observation: Any, info: Mapping[str, Any]) -> Any:
        view = view_of(self, info, "us")
        if view.phase_type == "M" and view.year_index == 0:
            return self.nice[view.power].act(observation, info)
        self._look(view)
        if view.phase_type == "A":
            return view.encode_orders(self._winter(view))
        if view.phase_type == "R":
            ways = [(unit, [way for way in legal if " R " in way]) for unit, legal in view.legal_orders.items()]
            return view.encode_orders([w[0] if w and not i else f"{unit} D" for i, (unit, w) in enumerate(ways)])
        if view.phase != self._phase:
            self._phase = view.phase
            self._orders = self._strike(view) if view.year_index <= 1 + self.years else self._finish(view)
        return view.encode_orders([self._legal(view, unit) for unit in view.units[view.power]])

    def _legal(self, view: View, unit: str) -> str:
        """The unit's order; a move's coast is added where a support needs it."""
        order = self._orders.get(unit, f"{unit} H")
        legal = view.legal_orders[unit]
        return order if order in legal else next((each for each in legal if each.startswith(order)), f"{unit} H")

    def _look(self, view: View) -> None:
        powers = [power for power in view.powers if power not in self.us]
        self.owner = {center: power for power, owned in view.centers.items() for center in owned}
        self.power = {unit: power for power, units in view.units.items() for unit in units}
        self.units = sorted(unit for unit, power in self.power.items() if power in self.us)
        self.foes = [unit for power in powers for unit in view.units[power]]
        self.homes = {home for power in powers for home in view.board.start_centers[power]}
        self.theirs = {center for center, power in self.owner.items() if power in powers}

    def _partners(self, unit: str, place: str) -> bool:
        owner = self.owner.get(place[:3])
        return owner in self.us and owner != self.power[unit]

    def _strike(self, view: View) -> dict[str, str]:
        """The year of the robbery, and the years before, in which no unit ends on a center of another power."""
        board, turns = view.board, 2 if view.season == "S" else 1
        left = 2 * (1 + self.years - view.year_index) + turns
        goals = self._goals(board, left)

        def value(unit: str, place: str) -> float:
            goal = goals.get(unit, "")
            distance = moves_to(board, f"{unit[0]} {place}", goal) if goal else 0
            if left > turns:
                foreign = place[:3] in self.theirs or self._partners(unit, place)
                return -1000 * foreign - 50 * max(0, distance - left + turns) - 0.1 * distance
            if self._partners(unit, place):
                return -1000
            return (10 if place[:3] in self.homes else 4) if place[:3] in self.theirs else -0.1 * distance

        return moves(routes(board, self.units, turns, value))

    def _goals(self, board: Board, left: int) -> dict[str, str]:
        """Unit -> home: as many homes as possible in the phases that are left."""
        homes = sorted(self.homes)
        far = np.array([[moves_to(board, unit, home) for home in homes] for unit in self.units])
        rows, columns = linear_sum_assignment(np.where(far <= left, far / 100, 10 + far / 10))
        return {self.units[i]: homes[j] for i, j in zip(rows, columns, strict=True)}

    def _finish(self, view: View) -> dict[str, str]:
        """Attack enemies' units, the ones on homes first; enter the homes and centers left; guard the homes taken."""
        board, fall = view.board, view.season == "F"
        near = {unit: {place[:3] for place in board.moves[unit]} for unit in (*self.units, *self.foes)}
        threat = Counter(place for unit in self.foes for place in near[unit])
        orders: dict[str, str] = {}
        free, entered = set(self.units), set[str]()
        for foe in sorted(self.foes, key=lambda u: (u[2:5] not in self.homes, u[2:5] not in self.theirs, u)):
            spot = foe[2:5]
            able = [unit for unit in sorted(free) if spot in near[unit]]
            if len(able) < 2 or (len(able) == 2 and threat[spot] > 1):
                continue
            lead = next((u for u in able if not (u[2:5] in self.homes and threat[u[2:5]] > 1)), able[0])
            orders[lead] = f"{lead} - {next(place for place in board.moves[lead] if place[:3] == spot)}"
            helpers = [unit for unit in able if unit != lead][: 1 + threat[spot]]
            orders |= {unit: f"{unit} S {lead} - {spot}" for unit in helpers}
            entered |= {spot, *(unit[2:5] for unit in helpers)}
            free -= {lead, *helpers}
        closed = {unit[2:5] for unit in self.foes} | entered
        goals = self.theirs | {unit[2:5] for unit in self.foes}

        def value(unit: str, place: str) -> float:
            spot = place[:3]
            if fall and self._partners(unit, place):
                return -100
            if spot in self.theirs:
                return (10 if spot in self.homes else 4) - 0.5 * threat[spot]
            guard = (spot in self.owner and threat[spot] > 0) * (9 if spot in self.homes else 6)
            return guard - 0.2 * min((moves_to(board, f"{unit[0]} {place}", goal) for goal in goals), default=0)

        orders |= moves(routes(board, sorted(free), 1 if fall else 2, value, closed))
        holding = sorted(unit for unit, order in orders.items() if order.endswith(" H"))
        for unit in holding:
            helped = [each for each in holding if each != unit and threat[each[2:5]] and each[2:5] in near[unit]]
            orders[unit] = f"{unit} S {helped[0]}" if helped else orders[unit]
        return orders

    def _winter(self, view: View) -> list[str]:
        board, own = view.board, sorted(view.units[view.power])
        goals = self.theirs | {unit[2:5] for unit in self.foes}
        builds = [order for legal in view.legal_orders.values() for order in legal if order.endswith(" B")]
        if view.years_left == 1 or not self.theirs:
            return [f"{unit} D" for unit in own]
        if view.year_index <= self.years:  # fleets where that is asked, else armies
            wanted = [b for b in builds if b[:-2] in self.fleets]
            wanted += [b for b in builds if b[0] == "A" and b[2:5] not in {each[2:5] for each in wanted}]
            return [f"{unit} D" for unit in own[: view.must_disband]] or wanted[: view.max_builds]
        fronts = len(self.foes) + len(self.homes & self.theirs)
        need = 2 * fronts + 3 if fronts else min(len(self.theirs), 6 * max(1, view.years_left - 1))
        distance = {unit: min(moves_to(board, unit, goal) for goal in goals) for unit in self.units}
        ranked = sorted(self.units, key=distance.__getitem__)
        if view.must_disband or len(ranked) > need:
            drop = [unit for unit in own if unit in ranked[need:]]
            more = [unit for unit in reversed(ranked) if unit in own and unit not in drop]
            drop += more[: max(0, view.must_disband - len(drop))]
            return [f"{unit} D" for unit in drop]
        least = {b: min(moves_to(board, b[:-2], goal) for goal in goals) for b in builds}
        best = {b[2:5]: b for b in sorted(builds, key=least.__getitem__, reverse=True) if least[b] <= 5}
        chosen = sorted(best.values(), key=least.__getitem__)
        return chosen[: min(view.max_builds, need - len(ranked))] if view.years_left > 3 else []


def moves_to(board: Board, unit: str, goal: str) -> int:
    """The number of moves that a unit needs to a province; `FAR` at most."""
    return min(FAR, steps_between(board)(unit, goal))


def routes(
    board: Board,
    units: Sequence[str],
    turns: int,
    value: Callable[[str, str], float],
    closed: Collection[str] = frozenset(),
) -> dict[str, Route]:
    """Unit -> its places, so that no two units of ours bounce: those with the largest sum of values of last places."""
    found = []
    for unit in units:
        some: list[Route] = [(unit[2:],)]
        for _ in range(turns):
            some = [
                (*r, to)
                for r in some
                for to in (r[-1], *(p for p in board.moves[f"{unit[0]} {r[-1]}"] if p[:3] not in closed))
            ]
        found += [(unit, route) for route in some]
    if not found:
        return {}
    rows, cost = defaultdict[tuple[Any, ...], list[int]](list), list[float]()
    for i, (unit, route) in enumerate(found):
        steps = list(pairwise(route))
        cost.append(-value(unit, route[-1]) + 0.01 * sum(a != b for a, b in steps) + 1e-4 * (i * 0.618 % 1))
        rows["unit", unit].append(i)
        for turn, (a, b) in enumerate(steps):
            rows["place", turn, b[:3]].append(i)
            if a != b:  # no two units swap places
                rows["way", turn, *sorted((a[:3], b[:3]))].append(i)
    at = [(row, i) for row, key in enumerate(rows) for i in rows[key]]
    matrix = csr_matrix((np.ones(len(at)), tuple(zip(*at, strict=True))), shape=(len(rows), len(found)))
    least = np.array([key[0] == "unit" for key in rows], dtype=float)
    whole = np.ones(len(found))
    best = milp(
        np.array(cost), integrality=whole, bounds=Bounds(0, 1), constraints=LinearConstraint(matrix, least, 1.0)
    )
    if best.x is None:
        raise RuntimeError(f"no plan of moves: {best.message}")
    return dict(found[i] for i in np.flatnonzero(best.x > 0.5))


def moves(found: Mapping[str, Route]) -> dict[str, str]:
    """Unit -> the order of its first step."""
    return {unit: f"{unit} - {route[1]}" if route[1] != route[0] else f"{unit} H" for unit, route in found.items()}
