"""A conflict-free assignment of neutral centers to units in the first year (paper, appendix B.2)."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from welfare_env.errors import WelfareEnvError

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping

    from welfare_env.board.board import Board

TURNS = 2  # Spring and Fall
EMPTY_LOG = -20.0  # used as the logarithm of zero centers
TOLERANCE = 1e-5  # slack of earlier objectives in later programs: far less than any two plans differ
GOLDEN = 0.6180339887498949  # its multiples modulo 1 are distinct and evenly spread


class PartitionError(WelfareEnvError, RuntimeError):
    """The solver found no optimal partition of a board's centers, or cannot prove that it is optimal."""


@dataclass(frozen=True)
class Route:
    """A unit's route through the first year.

    Attributes:
        power: the unit's owner.
        unit: the unit where it starts, "A MAR".
        stops: its locations at the start, after Spring and after Fall, ("MAR", "SPA", "SPA").
    """

    power: str
    unit: str
    stops: tuple[str, ...]

    def touches(self, turn: int) -> set[str]:
        """Provinces that it occupies or moves to in Spring (0) or Fall (1)."""
        return {self.stops[turn][:3], self.stops[turn + 1][:3]}


@functools.lru_cache(maxsize=32)
def partition(board: Board) -> dict[tuple[str, str], Route]:
    """The fairest peaceful partition of a board's neutral centers, from its opening position.

    Each unit stays where it is or ends the year on a neutral center, reached in at most two steps without a convoy and
    without entering another power's center. In no turn do two units occupy or move to the same province, so nothing can
    bounce. Among all such plans: the largest minimum of the powers' final center counts, then the largest geometric
    mean, then the fewest steps. On the standard map that is five centers for every power and four for Italy. Solved
    exactly, as three integer programs.

    Returns:
        (power, unit) -> its route, for every unit of the opening position. The same board gives the same plan.

    Raises:
        PartitionError: the solver gave up.
    """
    routes = [
        route for power, units in board.start_units.items() for unit in units for route in _routes(board, power, unit)
    ]
    chosen = _choose(board, routes)
    return {(route.power, route.unit): route for route, take in zip(routes, chosen, strict=True) if take}


@functools.lru_cache(maxsize=32)
def planned_owners(board: Board) -> Mapping[str, str]:
    """Center -> its owner once `partition` has been carried out; without centers that nobody gets."""
    owners = {center: power for power, owned in board.start_centers.items() for center in owned}
    taken = {route.stops[-1][:3]: power for (power, _), route in partition(board).items() if _gains(board, route)}
    return MappingProxyType(owners | taken)


def _neutral(board: Board) -> set[str]:
    return set(board.centers).difference(*board.start_centers.values())


def _gains(board: Board, route: Route) -> bool:
    return route.stops[-1][:3] in _neutral(board)


def _routes(board: Board, power: str, unit: str) -> list[Route]:
    """The routes of one unit: staying, then all that end on a neutral center."""
    foreign = {center for other, centers in board.start_centers.items() if other != power for center in centers}
    routes = [Route(power, unit, (unit[2:],))]
    for _ in range(TURNS):
        routes = [
            Route(power, unit, (*route.stops, location))
            for route in routes
            for location in (route.stops[-1], *board.moves[f"{unit[0]} {route.stops[-1]}"])
            if location[:3] not in foreign
        ]
    stay = Route(power, unit, (unit[2:],) * (TURNS + 1))
    return [stay, *(route for route in routes if _gains(board, route) and route != stay)]


def _choose(board: Board, routes: list[Route]) -> np.ndarray:
    """bool [routes]: the best set of routes, by a sequence of integer programs that keep earlier optima."""
    program = _Program(board, routes)
    program.maximize(program.minimum)
    program.maximize(program.logarithms)
    return program.maximize(-program.effort)[: len(routes)] > 0.5


class _Program:
    """The integer program: its constraints, and three objectives as vectors over the variables.

    Variables: for each route whether it is taken; for each power and each number of centers it may gain (1, 2, ...)
    whether it gains that many; the smallest final count of a power.
    """

    def __init__(self, board: Board, routes: list[Route]) -> None:
        self.board, self.routes = board, routes
        self.steps = [(power, gain) for power in board.powers for gain in range(1, len(board.start_units[power]) + 1)]
        self.size = len(routes) + len(self.steps) + 1
        self.rows: list[np.ndarray] = []
        self.low: list[float] = []
        self.high: list[float] = []
        self._one_route_a_unit()
        self._apart()
        self._count()
        self.minimum = self._vector({self.size - 1: 1.0})
        self.logarithms = self._vector({len(routes) + i: self._worth(*step) for i, step in enumerate(self.steps)})
        self.effort = self._vector({i: _effort(i, route) for i, route in enumerate(routes)})

    def maximize(self, objective: np.ndarray) -> np.ndarray:
        """float64 [variables]: the best point. Adds the constraint that later points are not worse by this objective.

        Raises:
            PartitionError: the solver gave up. (A plan always exists: all units stay.)
        """
        from scipy.optimize import Bounds, LinearConstraint, milp  # lazy: scipy is slow to import

        most = np.ones(self.size)
        most[-1] = np.inf
        constraints = LinearConstraint(np.array(self.rows), np.array(self.low), np.array(self.high))
        found = milp(
            -objective,
            integrality=np.ones(self.size),
            bounds=Bounds(0, most),
            constraints=constraints,
            options={"mip_rel_gap": 0},  # by default a nearly optimal plan would be accepted
        )
        if not found.success:
            raise PartitionError(f"no fairest partition of map {self.board.name!r}: the solver says {found.message!r}")
        self._add(objective, -found.fun - TOLERANCE, np.inf)
        return found.x

    def _one_route_a_unit(self) -> None:
        for routes in self._by(lambda route: [(route.power, route.unit)]):
            self._add(routes, 1, 1)

    def _apart(self) -> None:
        for routes in self._by(lambda route: [(t, place) for t in range(TURNS) for place in sorted(route.touches(t))]):
            self._add(routes, 0, 1)

    def _count(self) -> None:
        for power in self.board.powers:
            taking = {i: 1.0 for i, r in enumerate(self.routes) if r.power == power and _gains(self.board, r)}
            counted = {len(self.routes) + i: 1.0 for i, (whose, _) in enumerate(self.steps) if whose == power}
            self._add(self._vector(taking) - self._vector(counted), 0, 0)
            held = len(self.board.start_centers[power])
            self._add(self._vector({**counted, self.size - 1: -1.0}), -held, np.inf)

    def _worth(self, power: str, gain: int) -> float:
        """What the `gain`-th center adds to the logarithm of the power's final count."""
        before = len(self.board.start_centers[power]) + gain - 1
        return float(np.log(before + 1) - (np.log(before) if before else EMPTY_LOG))

    def _by(self, keys: Callable[[Route], Iterable[Hashable]]) -> list[np.ndarray]:
        """For every key, the vector that counts the routes with it."""
        members: dict[Hashable, dict[int, float]] = {}
        for i, route in enumerate(self.routes):
            for key in keys(route):
                members.setdefault(key, {})[i] = 1.0
        return [self._vector(counted) for counted in members.values()]

    def _vector(self, entries: dict[int, float]) -> np.ndarray:
        vector = np.zeros(self.size)
        vector[list(entries)] = list(entries.values())
        return vector

    def _add(self, row: np.ndarray, low: float, high: float) -> None:
        self.rows.append(row)
        self.low.append(low)
        self.high.append(high)


def _effort(index: int, route: Route) -> float:
    """Steps, cheaper in Spring than in Fall; a small term that differs for all routes makes the best plan unique."""
    moved = np.not_equal(route.stops[1:], route.stops[:-1])
    return float(moved @ (1.0, 1.1)) + 1e-3 * ((index + 1) * GOLDEN % 1)
