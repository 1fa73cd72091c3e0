"""The maximum points of a deviator against the punishing profile of a toy board, by threshold search over positions.

The kernels are in `graph_kernels` and `value_kernels`; this module allocates their memory and runs the queries.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from agents.toy_boards.kernels import MAX_PROVINCES
from agents.toy_boards.shape import NOBODY, Clique
from agents.toy_boards.symmetry_kernels import relabel, relabelling
from evaluation.checks import EvaluationError
from evaluation.exact import graph_kernels as g
from evaluation.exact import value_kernels as v

STEP = 2_000  # nodes expanded before the kernel returns, so that Ctrl-C is heard
FIRST_NODES, FIRST_EDGES, FIRST_REPLIES, FIRST_ROWS = 1 << 16, 1 << 18, 1 << 15, 1 << 10
MAX_PLANS = 1 << 18  # the punishers' joint orders in one position
OF_NODES = ("keys", "centers", "units", "plan", "widened", "proof", "low", "high", "mark")
OF_PLANS = ("orders", "following", "first", "many", "best")


class PunisherSearch:
    """The search for one board, deviator and allocation of the shared center; serves all lengths of game and path.

    Args:
        clique: the board.
        deviator: its number.
        excluded: on a shared board, the number of the player without a core (0 or the last); else -1.
        breadth: the punishers' plans. STATED: only the stated punishing policy. BEST: all joint orders, except in
            Winter, where they follow the stated policy. A number above 1: where the stated policy fails, this many of
            the movements that it scores best.

    Attributes:
        table: the memory of the search.
        replies, rows: scratch memory for joint orders of the deviator, and of the punishers, int16 [room, provinces].
        seat: each power's number in the first node, int64.
    """

    def __init__(self, clique: Clique, deviator: int, excluded: int = NOBODY, breadth: int = g.STATED) -> None:
        self.clique, self.deviator, self.excluded, self.breadth = clique, deviator, excluded, breadth
        self.provinces = clique.cores + clique.powers
        self._given = np.array([clique.cores, clique.powers, self.provinces, deviator])
        self.seat = np.zeros(MAX_PROVINCES, np.int64)
        front = relabelling(self._given, *opening(clique), *no_retreats(), self.seat)
        self.table = self._new_table(front)
        self.replies = np.empty((FIRST_REPLIES, self.provinces), np.int16)
        self.rows = np.empty((breadth or FIRST_ROWS, self.provinces), np.int16)
        self._memory = self._new_memory(1 if breadth else FIRST_ROWS)
        for phase, place in self._path():
            self._insert(phase, *place)

    def path_value(self, years: int, disarmed: int) -> int:
        """The deviator's points on the path: its centers each year, minus its unit until it disarms."""
        centers = 1 if self.deviator == self.excluded else 2
        return centers * (disarmed + 1) + (centers - 1) * (years - disarmed - 1)

    def value(self, years: int, disarmed: int) -> int:
        """The deviator's maximum points in a game of `years` = T years, with `disarmed` = T - t."""
        bound = self.path_value(years, disarmed)
        while not self.is_at_most(g.OPENING, years, disarmed, bound):
            bound += 1
        return bound

    def is_at_most(self, node: int, years: int, disarmed: int, bound: int) -> bool:
        """Whether the deviator gets at most `bound` from a node on."""
        found = v.UNKNOWN
        while found == v.UNKNOWN:
            self.make_room()
            self.table.numbers[g.LIMIT] = self.table.numbers[g.EXPANDED] + STEP
            scores = np.empty(len(self.rows), np.int64)
            scratch = (self.replies, self.rows, scores, self._memory)
            found = v.at_most(self.table, node, years, disarmed, bound, *scratch)
        return bool(found)

    def make_room(self) -> None:
        """Double the arrays that are nearly full, and the scratch memory that did not suffice."""
        numbers, listed = self.table.numbers, self._memory.plans.shape[1]
        short, numbers[g.SHORT] = numbers[g.SHORT], 0
        if short == g.REPLIES:
            self.replies = np.empty((2 * len(self.replies), self.provinces), np.int16)
        elif short == g.ROWS:
            self.rows = np.empty((2 * len(self.rows), self.provinces), np.int16)
        elif short == g.LISTED and listed >= MAX_PLANS:
            raise EvaluationError(
                f"map {self.clique.board.name}: the punishers have more than {MAX_PLANS:,} joint orders in a "
                "position; the best punishers are for smaller boards or shorter games"
            )
        elif short == g.LISTED:
            self._memory = self._new_memory(2 * listed)
        while not g.has_room(self.table, self.replies, self.rows):
            nodes, plans = len(self.table.keys), len(self.table.orders)
            if numbers[g.NODES] + len(self.replies) >= nodes:
                self._double(*OF_NODES)
                self.table = self.table._replace(buckets=np.zeros(8 * nodes, np.int32))
                g.rehash(self.table)
            elif numbers[g.PLANS] + len(self.rows) + 1 >= plans:
                self._double(*OF_PLANS)
            else:
                self._double("to")

    def first_plan(self, node: int) -> int:
        """The plan with the stated policy's orders at a node."""
        if self.table.plan[node] < 0:
            self.make_room()
            v.add_first_plan(self.table, node)
        return int(self.table.plan[node])

    def _new_memory(self, room: int) -> v.Memory:
        listed, cursor, killers = np.zeros((3, v.DEEPEST), np.int64)
        plans = np.zeros((v.DEEPEST, room, self.provinces), np.int16)
        return v.Memory(plans, listed, cursor, np.zeros((v.DEEPEST, v.MAX_KILLERS, self.provinces), np.int16), killers)

    def _double(self, *names: str) -> None:
        self.table = self.table._replace(**{name: _doubled(getattr(self.table, name)) for name in names})

    def _new_table(self, front: int) -> g.HashTable:
        nodes, plans, clique = FIRST_NODES, FIRST_NODES, self.clique
        numbers = np.zeros(16, np.int64)
        numbers[g.EXCLUDED] = self.seat[self.excluded] if self.excluded >= 0 else NOBODY
        numbers[g.BREADTH] = self.breadth
        span = (nodes, g.COLUMNS)
        return g.HashTable(
            shape=np.array([clique.cores, clique.powers, self.provinces, front]),
            numbers=numbers,
            keys=np.zeros((nodes, 4), np.int64),
            buckets=np.zeros(4 * nodes, np.int32),
            centers=np.zeros(nodes, np.int8),
            units=np.zeros(nodes, np.int8),
            plan=np.zeros(nodes, np.int64),
            widened=np.zeros(nodes, np.bool_),
            orders=np.zeros((plans, self.provinces), np.int16),
            following=np.zeros(plans, np.int64),
            first=np.zeros(plans, np.int64),
            many=np.zeros(plans, np.int64),
            best=np.zeros(plans, np.int64),
            to=np.zeros(FIRST_EDGES, np.int32),
            proof=np.zeros(span, np.int32),
            low=np.zeros(span, np.int16),
            high=np.zeros(span, np.int16),
            bound=first_bounds(self.provinces),
            mark=np.zeros(nodes, np.int32),
        )

    def _path(self) -> Iterator[tuple[int, tuple[np.ndarray, np.ndarray]]]:
        """Phase code, owners and units of the nodes with fixed numbers, in their order."""
        clique, none = self.clique, np.full(self.provinces, NOBODY, np.int8)
        start_owner, start_unit = opening(clique)
        owner, unit = start_owner.copy(), none.copy()
        for power in range(clique.powers):
            place = clique.cores + power if power == self.excluded else clique.home(power)
            owner[place] = unit[place] = power
        armed, disarmed = (owner, unit), (owner, none)
        yield from ((phase, armed) for phase in (g.SPRING, g.FALL, g.WINTER))
        yield from ((phase, disarmed) for phase in (g.SPRING, g.FALL, g.WINTER))
        yield g.FALL, (start_owner, unit)
        yield g.PATH_SPRING, (start_owner, start_unit)
        yield from ((phase, armed) for phase in (g.PATH_SPRING, g.PATH_FALL, g.PATH_KEEP))
        yield from ((phase, disarmed) for phase in (g.PATH_SPRING, g.PATH_FALL, g.PATH_KEEP))
        yield g.PATH_FALL, (start_owner, unit)
        yield g.PATH_DISBAND, armed

    def _insert(self, phase: int, owner: np.ndarray, unit: np.ndarray) -> None:
        new_owner, new_unit = np.full((2, MAX_PROVINCES), NOBODY, np.int8)
        relabel(self._given, self.seat, owner, unit, new_owner, new_unit)
        g.insert(self.table, phase, new_owner, new_unit, *no_retreats())


def opening(clique: Clique) -> tuple[np.ndarray, np.ndarray]:
    """Owner and unit of each province at the start."""
    owner = np.full(clique.cores + clique.powers, NOBODY, np.int8)
    owner[clique.cores :] = range(clique.powers)
    return owner, owner.copy()


def no_retreats() -> tuple[np.ndarray, np.ndarray]:
    """Empty rows of dislodged units and retreat options, as the kernels expect them."""
    return np.full(MAX_PROVINCES, NOBODY, np.int8), np.zeros(MAX_PROVINCES, np.int64)


def _doubled(array: np.ndarray) -> np.ndarray:
    longer = np.zeros((2 * len(array), *array.shape[1:]), array.dtype)
    longer[: len(array)] = array
    return longer


def first_bounds(provinces: int) -> np.ndarray:
    """Upper bounds on the deviator's points: int16 [years left, phases, centers, units].

    They assume that every unit takes a center a year. In Winter any units may be disbanded, or one built.
    """
    size = provinces + 1
    found = np.zeros((g.MAX_YEARS + 1, 5, size, size), np.int16)
    for years in range(1, g.MAX_YEARS + 1):
        for centers, units in product(range(size), range(size)):
            kept = np.arange(min(units + 1, centers) + 1)
            found[years, g.WINTER, centers, units] = (centers - kept + found[years - 1, g.SPRING, centers, kept]).max()
        for centers, units in product(range(size), range(size)):
            most = min(centers + units, provinces)
            found[years, : g.WINTER, centers, units] = found[years, g.WINTER, most, units]
    return found
