"""Turns threat values in floats into certificates: mixes and bounds as integers over `UNIT`, rounded outwards.

>>> from research.price_of_peace.checking import check
>>> from research.price_of_peace.threat_proofs import threat_certificate
>>> found = threat_certificate("clique:3", "player", years=3, t=1)
>>> found.lower / UNIT, found.upper / UNIT, found.path_value, check(found) == len(found)
(7.0, 7.0, 6, True)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from agents.scripted.punisher import excluded
from agents.toy_boards.punishing_kernels import DEVIATORS, PUNISHERS
from agents.toy_boards.shape import clique_of
from evaluation.exact import graph_kernels as g
from evaluation.exact.phases import Expander, Given, Stepper
from evaluation.exact.results import OrdersByPhase
from evaluation.exact.theorems import roles
from research.price_of_peace.certificates import MINE, OTHERS, UNIT, Certificate
from research.price_of_peace.naming import Naming, path_of
from research.price_of_peace.threats import CLOSE, DISARMED, Key, ThreatSearch
from welfare_env import Rules, load_board
from welfare_env.engine import State, layout_of
from welfare_env.engine.engines import make_engine
from welfare_env.game.position import Position

Plans = tuple[np.ndarray, np.ndarray]  # joint orders int16 [n, provinces], weights int64 [n]
ClaimOf = Callable[[int, int], int]  # node, years left -> claim, times UNIT
OVER = -1  # instead of a node, if the game is over


def threat_certificate(
    map_name: str, role: str, years: int, t: int, threats: ThreatSearch | None = None
) -> Certificate:
    """A deviator's points against the paper's path pi_t and the best punishers, who may randomize jointly.

    Args:
        threats: a search of this board and role to continue, of games of any length; None: a new one.
    """
    board = load_board(map_name)
    clique, number = clique_of(board), board.power_index[roles(map_name)[role]]
    found = PathThreats(
        threats or ThreatSearch(clique, number), number, years, path_of(clique, excluded(clique, None), years, t)
    )
    found.solve()
    return found.certificate()


def parts_of(weights: np.ndarray) -> np.ndarray:
    """Probabilities as integer weights that add up to `UNIT`: int64 [n]."""
    found = np.rint(weights / weights.sum() * UNIT).astype(np.int64)
    found[found.argmax()] += UNIT - found.sum()
    return np.asarray(found)


class Claims:
    """Exact guarantees of a search's mixes, for the queried nodes and all nodes that their proofs need.

    Attributes:
        claims: (node, years left), side -> claim, times `UNIT`; only nodes that the certificate must list.
        plans: same keys -> the mix that guarantees the claim.
    """

    def __init__(self, threats: ThreatSearch) -> None:
        self.threats = threats
        self.claims: dict[tuple[Key, int], int] = {}
        self.plans: dict[tuple[Key, int], Plans] = {}

    def at_most(self, node: int, years: int) -> int:
        """Upper bound on the deviator's points, times `UNIT`."""
        key = ((node, years), OTHERS)
        if key not in self.claims:
            plans = self._punishers_plans(node, years)
            if plans is None:
                return UNIT * int(self.threats.loose(np.array(node))[years])
            to = np.unique(self.threats.lead(node, self.threats.orders(node, DEVIATORS), plans[0]), axis=0)
            limit = int(np.ceil(self._upper_bound(node, years) * UNIT - CLOSE)) * UNIT
            loose = self._loose_sum(node, to, plans[1], self.threats.loose(to)[self._years_after(node, years)])
            deep = [self._claimed_sum(node, years, row, plans[1], self.at_most) for row in to[loose > limit]]
            self.claims[key] = -(-max(deep + loose[loose <= limit].tolist()) // UNIT)
            self.plans[key] = plans
        return self.claims[key]

    def at_least(self, node: int, years: int) -> int:
        """Lower bound on the deviator's points, times `UNIT`."""
        key = ((node, years), MINE)
        if key not in self.claims:
            if key[0] not in self.threats.mine:
                return UNIT * int(self.threats.evident(np.array(node)))
            orders, weights = self.threats.mine[key[0]]
            parts = parts_of(weights)
            to = np.unique(self.threats.lead(node, orders, self.threats.orders(node, PUNISHERS)).T, axis=0)
            limit = int(np.floor(self.threats.bounds(node, years)[0] * UNIT + CLOSE)) * UNIT
            evident = self.threats.evident(to) * (self._years_after(node, years) > 0)
            loose = self._loose_sum(node, to, parts, evident)
            deep = [self._claimed_sum(node, years, row, parts, self.at_least) for row in to[loose < limit]]
            self.claims[key] = min(deep + loose[loose >= limit].tolist()) // UNIT
            self.plans[key] = orders, parts
        return self.claims[key]

    def _punishers_plans(self, node: int, years: int) -> Plans | None:
        """The others' mix, or the best deterministic punishers' orders; None if a loose bound suffices."""
        if (mix := self.threats.theirs.get((node, years))) is not None:
            return mix[0], parts_of(mix[1])
        table, column = self.threats.search.table, g.column(years, DISARMED)
        if table.proof[node, column] < 0:
            self.threats.bound_by_pure(node, years)
        table = self.threats.search.table
        plan = int(table.proof[node, column])
        if plan < 0 or self._upper_bound(node, years) >= self.threats.loose(np.array(node))[years]:
            return None
        return table.orders[[plan]], np.array([UNIT])

    def _upper_bound(self, node: int, years: int) -> float:
        """The upper bound by the search; that for deterministic punishers may have a tighter one."""
        high = self.threats.bounds(node, years)[1]
        pure = int(self.threats.search.table.high[node, g.column(years, DISARMED)])
        return min(high, pure) if pure >= 0 else high

    def _years_after(self, node: int, years: int) -> int:
        return years - (self.threats.phase(node) == g.WINTER)

    def _claimed_sum(self, node: int, years: int, row: np.ndarray, parts: np.ndarray, claim: ClaimOf) -> int:
        """The expected value of a row of nodes by their claims, times `UNIT` squared."""
        left = self._years_after(node, years)
        worth = np.array([claim(int(to), left) if left else 0 for to in row], np.int64)
        return int(self._expected(node, row, parts, worth))

    def _loose_sum(self, node: int, to: np.ndarray, parts: np.ndarray, points: np.ndarray) -> np.ndarray:
        return self._expected(node, to, parts, UNIT * points.astype(np.int64))

    def _expected(self, node: int, to: np.ndarray, parts: np.ndarray, worth: np.ndarray) -> np.ndarray:
        """Expected values of rows of nodes plus the points of this phase, times `UNIT` squared: int64 [rows]."""
        table, gains = self.threats.search.table, np.zeros(to.shape, np.int64)
        if self.threats.phase(node) == g.WINTER:
            gains = table.centers[to].astype(np.int64) - table.units[to]
        return np.asarray((UNIT * gains + worth) @ parts)


class PathThreats:
    """A power's value of deviating from a path, after which the others punish it.

    Args:
        threats: a search of its kind of deviator. power: its number. years: of the game. path: phase -> orders of all.

    Attributes:
        path_value: the points on the path.
        deviations: the positions to which it can leave the path: node, years left, points until then; node OVER if the
            game is over.
        low, high: bounds on the points from deviating optimally or staying, floats.
    """

    def __init__(self, threats: ThreatSearch, power: int, years: int, path: OrdersByPhase) -> None:
        self.threats, self.power, self.years, self.path = threats, power, years, path
        self.board, self.naming = threats.search.clique.board, Naming(threats.search, power)
        self.path_value = 0
        self.deviations = sorted(set(self._walk()))
        self.low = self.high = float(self.path_value)

    def _walk(self) -> Iterator[tuple[int, int, int]]:
        """Play the path, and yield `deviations`."""
        rules, orders = Rules(press=None, years=self.years), dict(self.path)
        engine, stepper = make_engine("fast", self.board, rules), Stepper(self.board, rules)
        expander, state = Expander(self.board, (self.power,), stepper), engine.initial()
        while not state.done:
            position = Position(engine, state)
            given = given_orders(position, orders.get(position.phase, ()))
            others = {who: slots for who, slots in given.items() if who != self.power}
            found = expander.expand(position, [others])
            played = [np.array(list(given.get(who, {}).values()), np.int32) for who in range(len(self.board.powers))]
            after, _ = engine.step(state, played)
            stay = after.row[None].copy()
            stepper.make_canonical(stay)
            for row, gain in zip(found.rows[:, 0], found.points[:, 0, self.power].tolist(), strict=True):
                points = int(state.welfare[self.power]) + gain
                if after.done:
                    yield OVER, 0, points
                elif not np.array_equal(row, stay[0]):
                    to = State(layout_of(self.board), row)
                    yield self.naming.node(to, self.threats.search.make_room), self.years - to.year, points
            state = after
        self.path_value = int(state.welfare[self.power])

    def solve(self, most: float = np.inf) -> None:
        """Bound the value until it is exact or above `most`; most promising deviations first."""
        self.low = self.high = float(self.path_value)
        tops = [(points + self._bound(node, left), node, left, points) for node, left, points in self.deviations]
        for top, node, left, points in sorted(tops, reverse=True):
            if self.low > most or top <= self.low + CLOSE:
                break
            low, high = (0.0, 0.0) if node == OVER else self.threats.solve(node, left, self.low - points)
            self.low, self.high = max(self.low, points + low), max(self.high, points + high)
        rest = [points + self._bound(node, left) for node, left, points in self.deviations]
        self.high = max([float(self.path_value), *rest])

    def _bound(self, node: int, left: int) -> float:
        return 0.0 if node == OVER else self.threats.bounds(node, left)[1]

    def certificate(self) -> Certificate:
        """The certificate for the bounds; call `solve` first."""
        claims = Claims(self.threats)
        lower = upper = self.path_value * UNIT
        for node, left, points in self.deviations:
            if node == OVER:
                lower, upper = max(lower, points * UNIT), max(upper, points * UNIT)
                continue
            loose = points + int(self.threats.loose(np.array(node))[left])
            if loose > self.high + CLOSE:
                upper = max(upper, points * UNIT + claims.at_most(node, left))
            else:
                upper = max(upper, loose * UNIT)
            if points + self.threats.bounds(node, left)[0] >= self.low - CLOSE:
                lower = max(lower, points * UNIT + claims.at_least(node, left))
        return self._listed(claims, lower, upper)

    def _listed(self, claims: Claims, lower: int, upper: int) -> Certificate:
        keys = sorted({key for key, _ in claims.claims})
        number = {key: place for place, key in enumerate(keys)}
        plans = [
            (number[key], side, int(parts), self.naming.orders(key[0], order))
            for (key, side), (orders, weights) in claims.plans.items()
            for order, parts in zip(orders, weights, strict=True)
            if parts
        ]
        clique = self.threats.search.clique
        width, places = 1 + 2 * self.threats.search.provinces + 2 * clique.cores, self.threats.search.provinces
        return Certificate(
            map_name=self.board.name,
            years=self.years,
            deviator=self.board.powers[self.power],
            path=self.path,
            path_value=self.path_value,
            lower=lower,
            upper=upper,
            rows=np.array([self.naming.row(node) for node, _ in keys], np.int64).reshape(-1, width),
            years_left=np.array([left for _, left in keys], np.int64),
            uppers=np.array([claims.claims.get((key, OTHERS), -1) for key in keys], np.int64),
            lowers=np.array([claims.claims.get((key, MINE), 0) for key in keys], np.int64),
            plan_rows=np.array([plan[0] for plan in plans], np.int64),
            plan_sides=np.array([plan[1] for plan in plans], np.int64),
            weights=np.array([plan[2] for plan in plans], np.int64),
            orders=np.array([plan[3] for plan in plans], np.int64).reshape(-1, places),
        )


def given_orders(position: Position, texts: tuple[str, ...]) -> Given:
    """Legal orders of all powers by power and slot."""
    found: Given = {}
    for text in texts:
        order = position.board.orders.index[text]
        who = next(who for who in range(len(position.board.powers)) if position.slot_of(who, order) is not None)
        found.setdefault(who, {})[position.slot_of(who, order) or 0] = order
    return found
