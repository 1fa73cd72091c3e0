"""The maximum points of a deviator against the punishing profile of a toy board, by threshold search over positions.

The kernels are in `graph_kernels` and `value_kernels`; this module allocates their memory and runs the queries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import product

import numpy as np

from agents.toy_boards.kernels import MOST_PROVINCES
from agents.toy_boards.shape import ALONE, NOBODY, Clique
from agents.toy_boards.symmetry_kernels import relabel, relabelling
from evaluation.checks import EvaluationError
from evaluation.exact import graph_kernels as g
from evaluation.exact import value_kernels as v

STEP = 2_000  # nodes expanded between two reports
FIRST_NODES, FIRST_EDGES, FIRST_REPLIES, FIRST_ROWS = 1 << 14, 1 << 18, 1 << 15, 1 << 10
MOST_PLANS = 1 << 18  # the punishers' joint orders in one position
STATED, ALL, ALL_MOVES = 1, 0, -1  # values of `breadth`
OF_NODES = ("keys", "centers", "units", "plan", "widened", "proof", "low", "high", "mark")
OF_PLANS = ("orders", "following", "first", "many", "best")


class CliqueSearch:
    """The search for one board, deviator and allocation of the shared center; serves all lengths of game and path.

    Args:
        clique: the board.
        deviator: its number.
        excluded: on a shared board, the number of the player without a core (0 or the last); else -1.
        breadth: the punishers' plans. STATED: only the stated punishing policy. ALL: all joint orders. ALL_MOVES: all
            joint orders, except in Winter, where they follow the stated policy. A number above 1: where the stated
            policy fails, this many of the movements that it scores best.
        partner: a second deviator, whose points are added; ALONE if there is none. With a partner the search only
            provides nodes (`evaluation.exact.drawn.threats`): no query runs.

    Attributes:
        report: progress callback, called with the number of nodes.
    """

    def __init__(
        self,
        clique: Clique,
        deviator: int,
        excluded: int = NOBODY,
        breadth: int = STATED,
        partner: int = ALONE,
    ) -> None:
        self.clique, self.deviator, self.excluded, self.breadth = clique, deviator, excluded, breadth
        self.partner = partner
        self.report: Callable[[int], None] = lambda nodes: None
        self.provinces = clique.cores + clique.powers
        owner, unit = opening(clique)
        self._given = np.array([clique.cores, clique.powers, self.provinces, deviator, partner])
        self.seat = np.zeros(MOST_PROVINCES, np.int64)
        front = relabelling(self._given, owner, unit, *no_retreats(), self.seat)
        self._partner_seat = ALONE if partner == ALONE else int(self.seat[partner])
        self.table = self._new_table(front)
        self._replies = np.empty((FIRST_REPLIES, self.provinces), np.int16)
        self._rows = np.empty((breadth if breadth > 0 else FIRST_ROWS, self.provinces), np.int16)
        self._memory = self._new_memory(FIRST_ROWS if breadth <= 0 else 1)
        for node, (phase, place) in enumerate(self._path()):
            if self._insert(phase, *place) != node:
                raise RuntimeError(f"position {node} of the path is not new: internal error; please report it")

    @property
    def remembers(self) -> bool:
        """Whether the punishers remember who left the path, even if a position equals one of the path."""
        return self.breadth <= 0

    def gain(self, years: int, disarmed: int) -> int:
        """The deviator's maximum gain over the path in a game of `years` = T years, with `disarmed` = T - t."""
        return self.value(years, disarmed) - self.path_value(years, disarmed)

    def path_value(self, years: int, disarmed: int) -> int:
        """The deviator's points on the path: its centers each year, minus its unit until it disarms."""
        centers = 1 if self.deviator == self.excluded else 2
        return centers * (disarmed + 1) + (centers - 1) * (years - disarmed - 1)

    def value(self, years: int, disarmed: int) -> int:
        """The deviator's maximum points."""
        bound = self.path_value(years, disarmed)
        while not self.is_at_most(g.OPENING, years, disarmed, bound):
            bound += 1
        return bound

    def is_at_most(self, node: int, years: int, disarmed: int, bound: int) -> bool:
        """Whether the deviator gets at most `bound` from a node on."""
        numbers = self.table.numbers
        while True:
            numbers[g.LIMIT] = numbers[g.EXPANDED] + STEP
            scores = np.empty(len(self._rows), np.int64)
            scratch = (self._replies, self._rows, scores, self._memory)
            found = v.at_most(self.table, node, years, disarmed, bound, *scratch)
            if found != v.UNKNOWN:
                return bool(found)
            if numbers[g.EXPANDED] < numbers[g.LIMIT]:
                self.grow()
            self.report(int(numbers[g.NODES]))

    def grow(self) -> None:
        """Double the array that is full or nearly full."""
        t, numbers = self.table, self.table.numbers
        if numbers[g.NODES] == len(t.keys):
            self._double(OF_NODES)
            self.table = self.table._replace(buckets=np.zeros(2 * len(t.buckets), np.int32))
            g.rehash(self.table)
        elif numbers[g.FULL]:
            numbers[g.FULL] = 0
            if self._memory.plans.shape[1] >= MOST_PLANS:
                raise EvaluationError(
                    f"map {self.clique.board.name}: the punishers have more than {MOST_PLANS:,} joint orders in a "
                    "position; the best punishers are for smaller boards or shorter games"
                )
            self._memory = self._new_memory(2 * self._memory.plans.shape[1])
        elif numbers[g.PLANS] + len(self._rows) > len(t.orders):
            self._double(OF_PLANS)
        elif 2 * numbers[g.EDGES] > len(t.to):
            self._double(("to",))
        else:
            self._replies = np.empty((2 * len(self._replies), self.provinces), np.int16)
            if self.breadth <= 0:
                self._rows = np.empty((2 * len(self._rows), self.provinces), np.int16)

    def _new_memory(self, room: int) -> v.Memory:
        listed, cursor, killers = np.zeros((3, v.DEEPEST), np.int64)
        plans = np.zeros((v.DEEPEST, room, self.provinces), np.int16)
        return v.Memory(plans, listed, cursor, np.zeros((v.DEEPEST, v.MOST_KILLERS, self.provinces), np.int16), killers)

    def _double(self, names: Iterable[str]) -> None:
        self.table = self.table._replace(**{name: _doubled(getattr(self.table, name)) for name in names})

    def _new_table(self, front: int) -> g.Table:
        nodes, plans, clique = FIRST_NODES, FIRST_NODES, self.clique
        numbers = np.zeros(16, np.int64)
        numbers[g.EXCLUDED] = self.seat[self.excluded] if self.excluded >= 0 else NOBODY
        numbers[g.BREADTH] = self.breadth
        span = (nodes, g.COLUMNS)
        return g.Table(
            shape=np.array([clique.cores, clique.powers, self.provinces, front, self._partner_seat]),
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
            bound=first_bounds(self.provinces, 1 + (self.partner != ALONE)),
            mark=np.zeros(nodes, np.int32),
        )

    def _path(self) -> Iterator[tuple[int, tuple[np.ndarray, np.ndarray]]]:
        """Phase code, owners and units of the nodes with fixed numbers."""
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

    def _insert(self, phase: int, owner: np.ndarray, unit: np.ndarray) -> int:
        new_owner, new_unit = np.full((2, MOST_PROVINCES), NOBODY, np.int8)
        relabel(self._given, self.seat, owner, unit, new_owner, new_unit)
        return int(g.insert(self.table, phase, new_owner, new_unit, *no_retreats()))

    def node(
        self,
        phase: int,
        owner: np.ndarray,
        unit: np.ndarray,
        lost: np.ndarray,
        options: np.ndarray,
        is_path: bool = True,
    ) -> int:
        """The node of a relabeled position. With `is_path`, the opening is its path node."""
        key = np.zeros(4, np.int64)
        g.pack(self.table.shape, phase, owner, unit, lost, options, key)
        opening = self.table.keys[g.OPENING].copy()
        opening[0] += g.SPRING - g.PATH_SPRING
        if is_path and np.array_equal(key, opening):
            return g.OPENING
        while (found := int(g.node_of(self.table, key))) < 0:
            self.grow()
        return found

    def first_plan(self, node: int) -> int:
        """The plan with the stated policy's orders at a node."""
        while self.table.plan[node] < 0 and not v.add_first_plan(self.table, node):
            self.grow()
        return int(self.table.plan[node])

    def plans(self, node: int) -> Iterator[int]:
        """A node's plans, in the order in which they are tried."""
        plan = self.first_plan(node)
        while plan >= 0:
            yield plan
            while self.table.following[plan] < 0 and not self.table.widened[node]:
                if not v.widen(self.table, node, self._rows, np.empty(len(self._rows), np.int64)):
                    self.grow()
            plan = int(self.table.following[plan])

    def edges(self, node: int, plan: int) -> list[int]:
        """The nodes that the deviator can reach against a plan."""
        while self.table.many[plan] < 0 and not g.expand(self.table, node, plan, self._replies):
            self.grow()
        first = int(self.table.first[plan])
        return [int(to) for to in self.table.to[first : first + int(self.table.many[plan])]]


def opening(clique: Clique) -> tuple[np.ndarray, np.ndarray]:
    """Owner and unit of each province at the start."""
    owner = np.full(clique.cores + clique.powers, NOBODY, np.int8)
    owner[clique.cores :] = range(clique.powers)
    return owner, owner.copy()


def no_retreats() -> tuple[np.ndarray, np.ndarray]:
    """Empty rows of dislodged units and retreat options, as the kernels expect them."""
    return np.full(MOST_PROVINCES, NOBODY, np.int8), np.zeros(MOST_PROVINCES, np.int64)


def _doubled(array: np.ndarray) -> np.ndarray:
    longer = np.zeros((2 * len(array), *array.shape[1:]), array.dtype)
    longer[: len(array)] = array
    return longer


def first_bounds(provinces: int, homes: int) -> np.ndarray:
    """Upper bounds on the deviators' points: int16 [years left, phases, centers, units].

    They assume that every unit takes a center a year. In Winter any units may be disbanded, or one built in each home.
    """
    size = provinces + 1
    found = np.zeros((g.MOST_YEARS + 1, 5, size, size), np.int16)
    for years in range(1, g.MOST_YEARS + 1):
        for centers, units in product(range(size), range(size)):
            kept = np.arange(min(units + homes, centers) + 1)
            found[years, g.WINTER, centers, units] = (centers - kept + found[years - 1, g.SPRING, centers, kept]).max()
        for centers, units in product(range(size), range(size)):
            most = min(centers + units, provinces)
            found[years, : g.WINTER, centers, units] = found[years, g.WINTER, most, units]
    return found
