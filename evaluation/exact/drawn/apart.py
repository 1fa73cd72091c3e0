"""Punishers that randomize independently: how much do they lose by not agreeing in secret?

Punishers that cannot agree in secret can still share a public plan, but must randomize independently. All orders are
observed, so backward induction works as for jointly randomizing punishers (`threats`): in each phase the others choose
a *product* of mixed strategies that minimizes the deviator's best reply. This is not a linear program, so the value is
only bounded:

- upper bound: any product of mixes gives one. Products are improved by linear programs for one punisher at a time, from
  many starts;
- lower bound: each punisher's simplex of mixes is split into smaller and smaller cells. The deviator learns the cell,
  but the punishers may correlate over its corners, so they do at least as well as any product of mixes in the cell.

Values lie between those of jointly randomizing punishers (below) and of deterministic punishers (above).
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from itertools import count, product
from math import prod

import numpy as np

from agents.toy_boards.kernels import MOST_PROVINCES
from agents.toy_boards.punishing_kernels import DEVIATORS, PUNISHERS
from evaluation.exact import graph_kernels as g
from evaluation.exact.drawn.threats import CLOSE, DISARMED, Key, ThreatSearch, solve_game

STARTS = 12  # random products as starts of the linear programs
MOST_CELLS = 400  # iterations of the splitting of cells
MOST_ENTRIES = 2_000_000  # of a matrix; if it is larger, the lower bound is that of jointly randomizing punishers
ENOUGH = 1e-3  # points; smaller gaps are not closed

Cell = tuple[np.ndarray, ...]  # for each punisher, the corners of a part of its simplex: float64 [corners, orders]
Shares = list[np.ndarray]  # for each punisher, the probabilities of all its orders
Mixes = list[tuple[np.ndarray, np.ndarray]]  # for each punisher: its orders int16 [n, provinces], probabilities [n]


class ApartSearch:
    """Bounds on a deviator's points if the others randomize independently.

    Args:
        threats: a search of the board and kind of deviator; its values are lower bounds. enough: points; a smaller gap
            in a phase is not closed. seed: for the random starts.

    Attributes:
        known: node and years left -> lower bound, upper bound. mixes: the product that guarantees the upper bound,
            unless deterministic orders do.
    """

    def __init__(self, threats: ThreatSearch, enough: float = ENOUGH, seed: int = 0) -> None:
        self.threats, self.enough = threats, enough
        self.known: dict[Key, tuple[float, float]] = {}
        self.mixes: dict[Key, Mixes] = {}
        self._pure: dict[Key, int] = {}
        self._solved: set[Key] = set()
        self.rng = np.random.default_rng(seed)

    def bounds(self, node: int, years: int) -> tuple[float, float]:
        """Current bounds; initially the values of jointly randomizing and of deterministic punishers."""
        if not years:
            return 0.0, 0.0
        if (node, years) not in self.known:
            self.known[node, years] = self.threats.solve(node, years)[0], float(self.pure(node, years))
        return self.known[node, years]

    def pure(self, node: int, years: int) -> int:
        """The deviator's value against the best deterministic punishers."""
        if (node, years) not in self._pure:
            bound = max(0, int(np.ceil(self.threats.bounds(node, years)[0] - CLOSE)))
            while not self.threats.search.is_at_most(node, years, DISARMED, bound):
                bound += 1
            self._pure[node, years] = bound
        return self._pure[node, years]

    def solve(self, node: int, years: int) -> tuple[float, float]:
        """Bound the value of a node as tightly as this search can."""
        low, high = self.bounds(node, years)
        if high - low > CLOSE and (node, years) not in self._solved:
            self._solved.add((node, years))
            ProductGame(self, node, years).play()
        return self.bounds(node, years)


class ProductGame:
    """One phase, in which all order simultaneously."""

    def __init__(self, apart: ApartSearch, node: int, years: int) -> None:
        self.apart, self.node, self.years = apart, node, years
        threats = apart.threats
        self.is_winter = threats.phase(node) == g.WINTER
        self.left = years - self.is_winter
        self.mine = threats.orders(node, DEVIATORS)
        self.each = [np.unique(part, axis=0) for part in self._parts(threats.orders(node, PUNISHERS))]
        self._nothing = np.full(threats.search.provinces, -1, np.int16)
        self._leads: dict[tuple[int, ...], np.ndarray] = {}

    def _parts(self, joint: np.ndarray) -> list[np.ndarray]:
        """Each punisher's part of the joint orders: int16 [n, provinces], elsewhere -1. Only punishers with orders."""
        owner = self._owners(joint)
        powers = sorted({int(who) for who in owner if who >= 0})
        return [np.where(owner == who, joint, -1).astype(np.int16) for who in powers] or [joint]

    def _owners(self, joint: np.ndarray) -> np.ndarray:
        """The punisher that gives the order in each province: int64 [provinces], -1 for none."""
        table = self.apart.threats.search.table
        owner, unit, lost = np.full((3, MOST_PROVINCES), -1, np.int8)
        options = np.zeros(MOST_PROVINCES, np.int64)
        g.unpack(table.shape, table.keys[self.node], owner, unit, lost, options)
        provinces, cores, front = joint.shape[1], int(table.shape[0]), int(table.shape[3])
        found = np.full(provinces, -1)
        for place in range(provinces):
            if (lost[:cores] >= 0).any():
                found[place] = lost[place] if place < cores else -1
            elif unit[place] >= 0:
                found[place] = unit[place]
            elif self.is_winter and place >= cores:
                found[place] = place - cores
        return np.where((found == front) | (joint == -1).all(axis=0), -1, found)

    def play(self) -> None:
        """Bound the value from both sides."""
        low, high = self.apart.bounds(self.node, self.years)
        for start in self._starts():
            high = self._upper_bound_from(start, high)
            if high - low <= CLOSE:
                break
        self.apart.known[self.node, self.years] = low, high
        if high - low > CLOSE:
            self._split_cells(low, high)

    # Upper bounds

    def _upper_bound_from(self, start: Shares, high: float) -> float:
        """The best upper bound after one start."""
        worth, mixes = self._improved(start, high)
        if worth < high - CLOSE:
            self.apart.mixes[self.node, self.years] = mixes
        return min(worth, high)

    def _starts(self) -> Iterator[Shares]:
        """Starting products: the marginals of the jointly randomizing punishers' mix, and random pairs of orders."""
        agreed = self.apart.threats.theirs.get((self.node, self.years))
        if agreed is not None:
            yield [self._marginal(own, *agreed) for own in self.each]
        for _ in range(STARTS):
            yield [self._random_pair(len(own)) for own in self.each]

    def _marginal(self, own: np.ndarray, joint: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """The marginal distribution of one punisher's orders in a mix of joint orders."""
        given = (own != -1).any(axis=0)
        same = (own[:, None, given] == joint[None][..., given]).all(axis=2)
        found = same @ weights
        return np.asarray(found / found.sum()) if found.sum() > 0 else np.full(len(own), 1 / len(own))

    def _random_pair(self, number: int) -> np.ndarray:
        share = np.zeros(number)
        chosen = self.apart.rng.choice(number, min(2, number), replace=False)
        share[chosen] = self.apart.rng.dirichlet(np.ones(len(chosen)))
        return share

    def _improved(self, shares: Shares, below: float) -> tuple[float, Mixes]:
        """Improve a product. Returns its guarantee and mixes; infinity and no mixes if it does not get below `below`.

        Successors are first valued at their lower bounds; those that matter are then bounded more tightly.
        """
        while True:
            hoped = self._descend(shares)
            if hoped >= below - CLOSE:
                return np.inf, []
            rows = self._row_values(shares, is_high=True)
            if rows.max() <= hoped + CLOSE or not self._refine(self._next_nodes(shares)[int(rows.argmax())]):
                pairs = zip(self.each, shares, strict=True)
                return float(rows.max()), [(own[share > CLOSE], share[share > CLOSE]) for own, share in pairs]

    def _descend(self, shares: Shares) -> float:
        """Solve a linear program for one punisher at a time, in place, until none improves."""
        value = float(self._row_values(shares, is_high=False).max())
        while True:
            before = value
            for who, own in enumerate(self.each):
                if len(own) > 1:
                    found, _, mix = solve_game(self._columns(shares, who))
                    if found < value - CLOSE:
                        value, shares[who] = found, np.where(mix > CLOSE, mix, 0) / mix[mix > CLOSE].sum()
            if value > before - CLOSE:
                return value

    def _columns(self, shares: Shares, who: int) -> np.ndarray:
        """The deviator's expected points by its and one punisher's orders, with the others' mixes fixed.

        Returns:
            float64 [deviator's orders, the punisher's orders].
        """
        numbers, weights = _support([*shares[:who], np.ones(1), *shares[who + 1 :]])
        columns = [[(*each[:who], own, *each[who + 1 :]) for each in numbers] for own in range(len(self.each[who]))]
        self._cache_successors([each for column in columns for each in column])
        nodes = np.array([[self._leads[each] for each in column] for column in columns])
        return np.asarray(np.einsum("ocr,c->ro", self._bounds_after(nodes, is_high=False), weights))

    def _next_nodes(self, shares: Shares) -> np.ndarray:
        """The node after each order of the deviator and each draw of a product: [deviator's, draws]."""
        numbers, _ = _support(shares)
        self._cache_successors(numbers)
        return np.array([self._leads[each] for each in numbers]).T

    def _row_values(self, shares: Shares, is_high: bool) -> np.ndarray:
        """The expected points of each of the deviator's orders against a product, by upper or lower bounds."""
        return np.asarray(self._bounds_after(self._next_nodes(shares), is_high) @ _support(shares)[1])

    def _cache_successors(self, numbers: list[tuple[int, ...]]) -> None:
        """Compute and cache the next nodes of the punishers' joint orders, against all orders of the deviator."""
        new = [each for each in dict.fromkeys(numbers) if each not in self._leads]
        if new:
            to = self.apart.threats.lead(self.node, self.mine, np.array([self._joint(each) for each in new], np.int16))
            self._leads.update(zip(new, to.T.copy(), strict=True))

    def _joint(self, numbers: tuple[int, ...]) -> np.ndarray:
        given = [own[number] for own, number in zip(self.each, numbers, strict=True)]
        return np.asarray(np.max([self._nothing, *given], axis=0))

    # Successors

    def _bounds_after(self, nodes: np.ndarray, is_high: bool) -> np.ndarray:
        """Bounds on the values of next nodes, plus the points of this phase."""
        single, back = np.unique(nodes, return_inverse=True)
        found = np.array([self.apart.bounds(int(node), self.left)[int(is_high)] for node in single])
        if self.is_winter:
            table = self.apart.threats.search.table
            found = found + table.centers[single] - table.units[single]
        return np.asarray(found[back].reshape(nodes.shape))

    def _refine(self, nodes: np.ndarray) -> bool:
        """Bound nodes more tightly; False if no bound changed."""
        changed = False
        for node in np.unique(nodes).tolist():
            before = self.apart.bounds(node, self.left)
            changed |= before[1] - before[0] > CLOSE and self.apart.solve(node, self.left) != before
        return changed

    # Lower bounds

    def _split_cells(self, low: float, high: float) -> None:
        """Split the simplices of all punishers but one into cells, the cell with the lowest bound first.

        Each cell is a matrix game: the punishers may correlate over its corners, and the deviator knows the cell.
        """
        if len(self.mine) * prod(map(len, self.each)) > MOST_ENTRIES:
            return
        numbers = list(product(*(range(len(own)) for own in self.each)))
        joint = np.array([self._joint(each) for each in numbers], np.int16)
        to = self.apart.threats.lead(self.node, self.mine, joint).reshape(len(self.mine), *map(len, self.each))
        firsts = []
        for axis in range(to.ndim):
            to, first = np.unique(to, axis=axis, return_index=True)
            firsts.append(first)
        last = to.ndim - 1 if to.ndim == 2 else 1 + int(np.argmax(to.shape[1:]))
        payoffs, counter = self._bounds_after(to, is_high=False), count()
        root = tuple(np.eye(size) for size in to.shape[1:])
        cells = [(low, next(counter), root)]
        for _ in range(MOST_CELLS):
            cell = cells[0][2]
            value, mine, theirs = _solve_cell(payoffs, cell)
            if value < high - self.apart.enough:
                used = to[mine > CLOSE]
                for axis, corners in enumerate(cell):
                    shown = _marginal_over_corners(theirs, axis) > CLOSE
                    used = used.take(np.flatnonzero((corners[shown] > 0).any(axis=0)), axis=axis + 1)
                if self._refine(used):
                    payoffs = self._bounds_after(to, is_high=False)
                    continue
                high = self._upper_bound_from(self._shares(cell, theirs, firsts[1:]), high)
            halves = _halves(cell, theirs, last - 1) if value < high - self.apart.enough else []
            if not halves:
                heapq.heapreplace(cells, (max(low, value), next(counter), cell))
                break
            heapq.heappop(cells)
            for half in halves:
                heapq.heappush(cells, (max(low, _solve_cell(payoffs, half)[0]), next(counter), half))
        self.apart.known[self.node, self.years] = max(low, min(high, cells[0][0])), high

    def _shares(self, cell: Cell, theirs: np.ndarray, firsts: list[np.ndarray]) -> Shares:
        """Each punisher's marginal distribution over its orders, for a mix over corners."""
        found = []
        for axis, (own, corners, first) in enumerate(zip(self.each, cell, firsts, strict=True)):
            share = np.zeros(len(own))
            share[first] = _marginal_over_corners(theirs, axis) @ corners
            found.append(np.where(share > CLOSE, share, 0) / share[share > CLOSE].sum())
        return found


def _marginal_over_corners(theirs: np.ndarray, axis: int) -> np.ndarray:
    """One punisher's marginal distribution over its corners."""
    return np.asarray(theirs.sum(axis=tuple(each for each in range(theirs.ndim) if each != axis)))


def _solve_cell(payoffs: np.ndarray, cell: Cell) -> tuple[float, np.ndarray, np.ndarray]:
    """Solve the matrix game of a cell, in which the punishers correlate over its corners: value and mixes."""
    parts = payoffs
    for axis, corners in enumerate(cell):
        parts = np.moveaxis(np.tensordot(parts, corners, (axis + 1, 1)), -1, axis + 1)
    value, mine, theirs = solve_game(parts.reshape(len(parts), -1))
    return value, mine, theirs.reshape(parts.shape[1:])


def _halves(cell: Cell, theirs: np.ndarray, last: int) -> list[Cell]:
    """Split a cell between the two corners given which the others play most differently.

    Empty if they play alike given every corner, since then the mix is a product already. The `last` punisher's simplex
    need not be split.
    """
    best, where = CLOSE, None
    for axis, corners in enumerate(cell):
        if axis == last:
            continue
        answers = np.moveaxis(theirs, axis, 0).reshape(len(corners), -1)
        chance = answers.sum(axis=1)
        used = np.flatnonzero(chance > CLOSE)
        answers = answers[used] / chance[used, None]
        unlike = np.abs(answers[:, None] - answers[None]).sum(axis=2) * np.outer(chance[used], chance[used])
        first, second = np.unravel_index(int(unlike.argmax()), unlike.shape)
        if unlike[first, second] > best:
            best, where = float(unlike[first, second]), (axis, used[first], used[second])
    if where is None:
        return []
    axis, first, second = where
    middle = (cell[axis][first] + cell[axis][second]) / 2
    halves = []
    for replaced in (first, second):
        corners = cell[axis].copy()
        corners[replaced] = middle
        halves.append((*cell[:axis], corners, *cell[axis + 1 :]))
    return halves


def _support(shares: Shares) -> tuple[list[tuple[int, ...]], np.ndarray]:
    """The draws of a product with positive probability: each punisher's order index, and the probabilities."""
    chosen = [np.flatnonzero(share > 0).tolist() for share in shares]
    numbers = list(product(*chosen))
    return numbers, np.array([np.prod([share[n] for share, n in zip(shares, each, strict=True)]) for each in numbers])
