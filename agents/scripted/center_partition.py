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
    """bool [routes]: the best set of routes, by a sequence of integer programs that keep earlier optima.

    Variables: for each route whether it is taken; for each power and each number of centers it may gain (1, 2, ...)
    whether it gains that many; the smallest final count of a power.
    """
    steps = [(power, gain) for power in board.powers for gain in range(1, len(board.start_units[power]) + 1)]
    held = {power: len(centers) for power, centers in board.start_centers.items()}
    program = _Program(board.name, len(routes) + len(steps) + 1)
    for taken in _by(routes, lambda route: [(route.power, route.unit)]):
        program.add(dict.fromkeys(taken, 1.0), 1, 1)
    for taken in _by(routes, lambda route: [(t, place) for t in range(TURNS) for place in sorted(route.touches(t))]):
        program.add(dict.fromkeys(taken, 1.0), 0, 1)
    for power in board.powers:
        gains = {i: 1.0 for i, route in enumerate(routes) if route.power == power and _gains(board, route)}
        counted = [len(routes) + i for i, (whose, _) in enumerate(steps) if whose == power]
        program.add(gains | dict.fromkeys(counted, -1.0), 0, 0)
        program.add(dict.fromkeys(counted, 1.0) | {program.size - 1: -1.0}, -held[power], np.inf)
    program.maximize({program.size - 1: 1.0})
    program.maximize({len(routes) + i: _worth(held[power], gain) for i, (power, gain) in enumerate(steps)})
    return program.maximize({i: -_effort(i, route) for i, route in enumerate(routes)})[: len(routes)] > 0.5


def _by(routes: list[Route], keys: Callable[[Route], Iterable[Hashable]]) -> Iterable[list[int]]:
    """For every key, the numbers of the routes with it."""
    members: dict[Hashable, list[int]] = {}
    for i, route in enumerate(routes):
        for key in keys(route):
            members.setdefault(key, []).append(i)
    return members.values()


class _Program:
    """An integer program for a map: `size` variables of 0 or 1 (the last one any whole number), and constraints."""

    def __init__(self, name: str, size: int) -> None:
        self.name, self.size = name, size
        self.rows: list[np.ndarray] = []
        self.low: list[float] = []
        self.high: list[float] = []

    def maximize(self, objective: Mapping[int, float]) -> np.ndarray:
        """float64 [variables]: the best point. Adds the constraint that later points are not worse by this objective.

        Raises:
            PartitionError: the solver gave up. (A plan always exists: all units stay.)
        """
        from scipy.optimize import Bounds, LinearConstraint, milp  # lazy: scipy is slow to import

        most = np.ones(self.size)
        most[-1] = np.inf
        found = milp(
            -self._row(objective),
            integrality=np.ones(self.size),
            bounds=Bounds(0, most),
            constraints=LinearConstraint(np.array(self.rows), np.array(self.low), np.array(self.high)),
            options={"mip_rel_gap": 0},  # by default a nearly optimal plan would be accepted
        )
        if not found.success:
            raise PartitionError(f"no fairest partition of map {self.name!r}: the solver says {found.message!r}")
        self.add(objective, -found.fun - TOLERANCE, np.inf)
        return found.x

    def add(self, weights: Mapping[int, float], low: float, high: float) -> None:
        """Add a constraint on a sum of weighted variables."""
        self.rows.append(self._row(weights))
        self.low.append(low)
        self.high.append(high)

    def _row(self, weights: Mapping[int, float]) -> np.ndarray:
        row = np.zeros(self.size)
        row[list(weights)] = list(weights.values())
        return row


def _worth(held: int, gain: int) -> float:
    """What the `gain`-th center adds to the logarithm of the final count of a power that holds some."""
    before = held + gain - 1
    return float(np.log(before + 1) - (np.log(before) if before else EMPTY_LOG))


def _effort(index: int, route: Route) -> float:
    """Steps, cheaper in Spring than in Fall; a small term that differs for all routes makes the best plan unique."""
    moved = np.not_equal(route.stops[1:], route.stops[:-1])
    return float(moved @ (1.0, 1.1)) + 1e-3 * ((index + 1) * GOLDEN % 1)
