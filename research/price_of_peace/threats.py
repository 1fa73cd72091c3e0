"""Threat values: a deviator's points on a toy board if all others minimize them and may randomize jointly.

After a deviation the game is zero-sum: the deviator against all others, who act as one player (they agree in secret).
Both sides order simultaneously, so every position is a matrix game (Shapley 1953, with finitely many years). Its
entries are the values of later positions, of which only bounds are known at first. Each side has thousands of joint
orders and needs a handful, so the matrix starts small and grows by best replies (double oracle, McMahan et al. 2003;
with bounds: Bosansky et al. 2016). Only entries that both sides' optimistic solutions play are bounded more tightly.

Values here are floats; `research.price_of_peace.threat_proofs` makes them exact.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import linprog

from agents.toy_boards.punishing_kernels import ANY, DEVIATORS, PUNISHERS
from agents.toy_boards.shape import NOBODY, Clique
from evaluation.checks import EvaluationError
from evaluation.exact import graph_kernels as g
from evaluation.exact.punisher_search import PunisherSearch
from research.price_of_peace.threat_kernels import fill

CLOSE = 1e-9
FIRST_ROOM, MAX_ROOM = 1 << 12, 1 << 19
DISARMED = 0  # years after the path disarms: none, since there is no path after a deviation

Mix = tuple[np.ndarray, np.ndarray]  # joint orders int16 [n, provinces], their probabilities float64 [n]
Key = tuple[int, int]  # node, years left


def solve_game(payoffs: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Value and optimal mixes of a matrix game; the row player maximizes. Uses a saddle point, or else HiGHS."""
    rows, columns = payoffs.shape
    low, high = payoffs.min(axis=1), payoffs.max(axis=0)
    i, j = int(low.argmax()), int(high.argmin())
    if low[i] >= high[j] - CLOSE:
        return float(high[j]), np.eye(rows)[i], np.eye(columns)[j]
    found = linprog(
        np.append(np.zeros(rows), -1.0),
        A_ub=np.hstack([-payoffs.T, np.ones((columns, 1))]),
        b_ub=np.zeros(columns),
        A_eq=np.append(np.ones(rows), 0.0)[None],
        b_eq=[1.0],
        bounds=[(0, None)] * rows + [(None, None)],
        method="highs-ds",
    )
    mine, theirs = np.clip(found.x[:rows], 0, None), np.clip(-found.ineqlin.marginals, 0, None)
    return float(found.x[rows]), mine / mine.sum(), theirs / theirs.sum()


@dataclass
class _JointOrders:
    """All joint orders at a node, and the next nodes of those tried so far."""

    mine: np.ndarray
    theirs: np.ndarray
    rows: dict[int, np.ndarray] = field(default_factory=dict)
    columns: dict[int, np.ndarray] = field(default_factory=dict)


class ThreatSearch:
    """Threat values of one board and one kind of deviator, for all lengths of game.

    Attributes:
        search: the search for the best deterministic punishers; it provides the nodes, and upper bounds.
        low, high: float64 [years left, nodes and more], bounds on the values.
        known: number of nodes with bounds.
        mine, theirs: the mixes that guarantee `low` and `high`; none for bounds that are evident or from `search`.
    """

    def __init__(self, clique: Clique, deviator: int) -> None:
        self.search = PunisherSearch(clique, deviator, breadth=g.BEST)
        self.low, self.high = np.zeros((2, g.MAX_YEARS + 1, 0))
        self.known = 0
        self.mine: dict[Key, Mix] = {}
        self.theirs: dict[Key, Mix] = {}
        self._tried: set[Key] = set()

    # Bounds

    def bounds(self, node: int, years: int) -> tuple[float, float]:
        """The current lower and upper bound on a value."""
        self._prepare()
        return float(self.low[years, node]), float(self.high[years, node])

    def _prepare(self) -> None:
        """Initialize the bounds of new nodes from their positions alone."""
        first, end = self.known, int(self.search.table.numbers[g.NODES])
        if first == end:
            return
        if end > self.low.shape[1]:  # twice the room, so that the arrays are rarely copied
            wider = ((0, 0), (0, 2 * end - self.low.shape[1]))
            self.low, self.high = np.pad(self.low, wider), np.pad(self.high, wider)
        nodes = np.arange(first, end)
        self.low[:, first:end], self.high[:, first:end] = self.evident(nodes), self.loose(nodes)
        self.known = end

    def loose(self, nodes: np.ndarray) -> np.ndarray:
        """Upper bounds from centers and units alone: int16 [years left, *nodes]."""
        table = self.search.table
        return table.bound[:, g.PHASE_OF[table.keys[nodes, 0] & 15], table.centers[nodes], table.units[nodes]]

    def evident(self, nodes: np.ndarray) -> np.ndarray:
        """Points that the deviator can secure this year, int64 like `nodes`.

        In Winter one per center, since it may disband all units. Before Winter one per unit in a leaf, which nobody can
        dislodge.
        """
        table = self.search.table
        cores, _, provinces, deviator = table.shape.tolist()
        keys = table.keys[nodes]
        safe = sum(((keys[..., 1] >> (4 * p) & 15) == deviator + 1).astype(np.int64) for p in range(cores, provinces))
        return np.where(g.PHASE_OF[keys[..., 0] & 15] == g.WINTER, table.centers[nodes], safe)

    def bound_by_pure(self, node: int, years: int) -> bool:
        """Bound a value by the best deterministic punishers; False if tried before, or if that search is too large."""
        if (node, years) in self._tried:
            return False
        self._tried.add((node, years))
        low, high = self.bounds(node, years)
        bound = int(np.ceil(low - CLOSE))
        try:
            while bound < high and not self.search.is_at_most(node, years, DISARMED, bound):
                bound += 1
        except EvaluationError:  # too many joint orders for the search: keep the old bound
            return False
        self._prepare()
        self.high[years, node] = min(high, float(bound))
        return True

    def after(self, nodes: np.ndarray, years: int, phase: int, is_high: bool) -> np.ndarray:
        """Bounds on the values of successors plus the points of this phase, float64 like `nodes`."""
        self._prepare()
        known = self.high if is_high else self.low
        if phase != g.WINTER:
            return np.asarray(known[years][nodes])
        table = self.search.table
        gains = table.centers[nodes].astype(float) - table.units[nodes]
        return np.asarray(gains + known[years - 1][nodes] if years > 1 else gains)

    # Values

    def solve(self, node: int, years: int, low: float = -np.inf, high: float = np.inf) -> tuple[float, float]:
        """Bound the value of a node until it is exact, at most `low`, or at least `high`."""
        if not _is_done(self.bounds(node, years), low, high):
            self.bound_by_pure(node, years)
        if not _is_done(self.bounds(node, years), low, high):
            _MatrixGame(self, node, years, low, high).play()
        return self.bounds(node, years)

    def phase(self, node: int) -> int:
        """The phase of a node."""
        return int(g.PHASE_OF[self.search.table.keys[node, 0] & 15])

    def orders(self, node: int, side: np.int64) -> np.ndarray:
        """All joint orders of a side at a node: int16 [n, provinces]."""
        room, nothing = FIRST_ROOM, np.full(self.search.provinces, NOBODY, np.int16)
        while room <= MAX_ROOM:
            rows = np.empty((room, self.search.provinces), np.int16)
            found = int(g.list_joint(self.search.table, node, nothing, side, ANY, rows))
            if found <= room:
                return rows[:found].copy()
            room *= 4
        raise EvaluationError(f"more than {MAX_ROOM:,} joint orders in a position: take a smaller board")

    def lead(self, node: int, mine: np.ndarray, theirs: np.ndarray) -> np.ndarray:
        """The next node for each pair of joint orders: int32 [deviator's, punishers']."""
        to = np.empty((len(mine), len(theirs)), np.int32)
        while not fill(self.search.table, node, mine, theirs, to):
            self.search.make_room()
        return to


def _is_done(known: tuple[float, float], low: float, high: float) -> bool:
    return known[1] - known[0] <= CLOSE or known[1] <= low + CLOSE or known[0] >= high - CLOSE


class _MatrixGame:
    """The matrix game of a node, restricted to the joint orders added so far."""

    def __init__(self, threats: ThreatSearch, node: int, years: int, low: float, high: float) -> None:
        self.threats, self.node, self.years, self.window = threats, node, years, (low, high)
        self.phase = threats.phase(node)
        self.orders = _JointOrders(threats.orders(node, DEVIATORS), threats.orders(node, PUNISHERS))
        self.mine, self.theirs = [0], [self._first()]

    def _first(self) -> int:
        """The index of the best deterministic punishers' orders; 0 if they are not listed."""
        search, listed = self.threats.search, self.orders.theirs
        plan = int(search.table.proof[self.node, g.column(self.years, DISARMED)])
        given = search.table.orders[plan if plan >= 0 else search.first_plan(self.node)]
        same = np.flatnonzero((listed == np.where(listed[0] == NOBODY, NOBODY, given)).all(axis=1))
        return int(same[0]) if len(same) else 0

    def play(self) -> None:
        """Solve until the value is exact or outside the window."""
        while not _is_done(self.threats.bounds(self.node, self.years), *self.window):
            to = np.array([self._row(i)[self.theirs] for i in self.mine])
            _, best_mine, safe_theirs = solve_game(self._after(to, True))
            _, safe_mine, best_theirs = solve_game(self._after(to, False))
            rows, columns = self._all_rows(safe_theirs), self._all_columns(safe_mine)
            self._learn(rows, columns, safe_mine, safe_theirs)
            if _is_done(self.threats.bounds(self.node, self.years), *self.window):
                return
            if self._widen(rows, columns, safe_mine, safe_theirs):
                continue
            weights = np.outer(best_mine, best_theirs)
            if not self._refine(to[weights > CLOSE], weights[weights > CLOSE]):
                raise RuntimeError(f"node {self.node}: nothing is left to refine")

    def _learn(self, rows: np.ndarray, columns: np.ndarray, mine: np.ndarray, theirs: np.ndarray) -> None:
        """Update the bounds by the guarantees of both sides' safe mixes against all joint orders."""
        threats, key = self.threats, (self.node, self.years)
        if rows.max() < threats.high[self.years, self.node] - CLOSE:
            threats.high[self.years, self.node] = rows.max()
            threats.theirs[key] = _mix(self.orders.theirs, self.theirs, theirs)
        if columns.min() > threats.low[self.years, self.node] + CLOSE:
            threats.low[self.years, self.node] = columns.min()
            threats.mine[key] = _mix(self.orders.mine, self.mine, mine)

    def _widen(self, rows: np.ndarray, columns: np.ndarray, mine: np.ndarray, theirs: np.ndarray) -> bool:
        """Add a best reply that is not in the matrix; if its value is not exact, bound it instead. False if none."""
        i, j = int(rows.argmax()), int(columns.argmin())
        if i not in self.mine:
            chosen = [(c, y) for c, y in zip(self.theirs, theirs, strict=True) if y > CLOSE]
            nodes, weights = self._row(i)[[c for c, _ in chosen]], np.array([y for _, y in chosen])
            if not self._refine(nodes, weights):
                self.mine.append(i)
            return True
        if j not in self.theirs:
            picked = [(r, x) for r, x in zip(self.mine, mine, strict=True) if x > CLOSE]
            nodes, weights = np.array([self._row(r)[j] for r, _ in picked]), np.array([x for _, x in picked])
            if not self._refine(nodes, weights):
                self.theirs.append(j)
            return True
        return False

    def _refine(self, nodes: np.ndarray, weights: np.ndarray) -> bool:
        """Bound the successor with the largest weighted gap more tightly; False if all are exact."""
        left = self.years - (self.phase == g.WINTER)
        if not left:
            return False
        gaps = self._after(nodes, True) - self._after(nodes, False)
        worst = int((gaps * weights).argmax())
        if gaps[worst] <= CLOSE:
            return False
        node = int(nodes[worst])
        if not self.threats.bound_by_pure(node, left):
            self.threats.solve(node, left)
        return True

    def _after(self, nodes: np.ndarray, is_high: bool) -> np.ndarray:
        return self.threats.after(nodes, self.years, self.phase, is_high)

    def _row(self, i: int) -> np.ndarray:
        """The next nodes of one of the deviator's joint orders, against all of the others'."""
        if i not in self.orders.rows:
            self.orders.rows[i] = self.threats.lead(self.node, self.orders.mine[[i]], self.orders.theirs)[0]
        return self.orders.rows[i]

    def _column(self, j: int) -> np.ndarray:
        if j not in self.orders.columns:
            self.orders.columns[j] = self.threats.lead(self.node, self.orders.mine, self.orders.theirs[[j]])[:, 0]
        return self.orders.columns[j]

    def _all_rows(self, mix: np.ndarray) -> np.ndarray:
        """Upper bounds on the value of each of the deviator's joint orders against a mix of the others."""
        chosen = [(j, y) for j, y in zip(self.theirs, mix, strict=True) if y > CLOSE]
        return np.asarray(sum(y * self._after(self._column(j), True) for j, y in chosen))

    def _all_columns(self, mix: np.ndarray) -> np.ndarray:
        """Lower bounds on the value of a mix of the deviator against each of the others' joint orders."""
        chosen = [(i, x) for i, x in zip(self.mine, mix, strict=True) if x > CLOSE]
        return np.asarray(sum(x * self._after(self._row(i), False) for i, x in chosen))


def _mix(orders: np.ndarray, numbers: list[int], weights: np.ndarray) -> Mix:
    chosen = weights > CLOSE
    return orders[np.array(numbers)[chosen]], weights[chosen]
