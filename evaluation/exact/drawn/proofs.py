"""Turns threat values in floats into exact certificates, with mixes and claims as integers over `UNIT`."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from agents.toy_boards.punishing_kernels import DEVIATORS, PUNISHERS
from agents.toy_boards.shape import ALONE
from evaluation.exact import graph_kernels as g
from evaluation.exact.certificates import OrdersByPhase, orders_array
from evaluation.exact.clique_proofs import Naming
from evaluation.exact.drawn.certificates import MINE, OTHERS, UNIT, DrawnCertificate
from evaluation.exact.drawn.sight import ON_PATH, Sight, is_seen, still_given
from evaluation.exact.drawn.threats import CLOSE, DISARMED, Key, ThreatSearch
from evaluation.exact.planner import Expander, Given, Stepper
from welfare_env import Rules
from welfare_env.engine import State, layout_of
from welfare_env.engine.engines import make_engine
from welfare_env.game.position import Position

Plans = tuple[np.ndarray, np.ndarray]  # joint orders int16 [n, provinces], weights int64 [n]
ClaimOf = Callable[[int, int], int]  # node, years left -> claim, times UNIT
Unseen = dict[tuple[int, bytes], int]  # phases since a deviation, and canonical position -> most points until then
OVER = -1  # instead of a node, if the game is over


def parts_of(weights: np.ndarray, unit: int = UNIT) -> np.ndarray:
    """Probabilities as integer weights that add up to `unit`: int64 [n]."""
    found = np.rint(weights / weights.sum() * unit).astype(np.int64)
    found[found.argmax()] += unit - found.sum()
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
            loose = self._loose_sum(node, years, to, plans[1], self.threats.loose(to)[self._years_after(node, years)])
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
            loose = self._loose_sum(node, years, to, parts, evident)
            deep = [self._claimed_sum(node, years, row, parts, self.at_least) for row in to[loose < limit]]
            self.claims[key] = min(deep + loose[loose >= limit].tolist()) // UNIT
            self.plans[key] = orders, parts
        return self.claims[key]

    def _punishers_plans(self, node: int, years: int) -> Plans | None:
        """The others' mix, or the best deterministic punishers' orders; None if a loose bound suffices."""
        if (mix := self._mix(node, years)) is not None:
            return mix
        table = self.threats.search.table
        self._search_pure(node, years)
        plan = int(table.proof[node, g.column(years, DISARMED)])
        if plan < 0 or self._upper_bound(node, years) >= self.threats.loose(np.array(node))[years]:
            return None
        return table.orders[[plan]], np.array([UNIT])

    def _mix(self, node: int, years: int) -> Plans | None:
        """The mix that the search found for the others; None if there is none."""
        mix = self.threats.theirs.get((node, years))
        return None if mix is None else (mix[0], parts_of(mix[1]))

    def _search_pure(self, node: int, years: int) -> None:
        """Search for the best deterministic punishers' orders, which then stand in the table."""
        if self.threats.search.table.proof[node, g.column(years, DISARMED)] < 0:
            self.threats.bound_by_pure(node, years)

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

    def _loose_sum(self, node: int, years: int, to: np.ndarray, parts: np.ndarray, points: np.ndarray) -> np.ndarray:
        return self._expected(node, to, parts, UNIT * points.astype(np.int64))

    def _expected(self, node: int, to: np.ndarray, parts: np.ndarray, worth: np.ndarray) -> np.ndarray:
        """Expected values of rows of nodes plus the points of this phase, times `UNIT` squared: int64 [rows]."""
        table, gains = self.threats.search.table, np.zeros(to.shape, np.int64)
        if self.threats.phase(node) == g.WINTER:
            gains = table.centers[to].astype(np.int64) - table.units[to]
        return np.asarray((UNIT * gains + worth) @ parts)


class PathThreats:
    """A power's (or pair's) value of deviating from a path, on which all orders are fixed until the others notice.

    Args:
        threats: a search of its kind of deviator. power: its number. years: of the game. path: phase -> orders of all.
        partner: deviates jointly with the power; their points are added.
        sight: when the others notice a deviation.

    Attributes:
        path_value: the points on the path.
        deviations: the positions in which the others can notice a deviation: node, years left, most points until then.
            Those unnoticed to the end of the game have node OVER.
        low, high: bounds on the points from deviating optimally or staying, floats.

    Raises:
        ValueError: the path has an illegal order.
    """

    def __init__(
        self, threats: ThreatSearch, power: int, years: int, path: OrdersByPhase, partner: int = ALONE, sight: Sight = 0
    ) -> None:
        self.threats, self.power, self.years, self.path, self.sight = threats, power, years, path, sight
        self.together = [power] if partner == ALONE else [power, partner]
        self.board, self.naming = threats.search.clique.board, Naming(threats.search, power, partner)
        self.path_value = 0
        self.deviations = sorted(set(self._walk()))
        self.low = self.high = float(self.path_value)

    def _walk(self) -> Iterator[tuple[int, int, int]]:
        """Play the path, and yield `deviations`."""
        rules, orders = Rules(press=None, years=self.years), dict(self.path)
        engine, stepper = make_engine("fast", self.board, rules), Stepper(self.board, rules)
        expander, state, unseen = Expander(self.board, tuple(self.together), stepper), engine.initial(), Unseen()
        while not state.done:
            position = Position(engine, state)
            texts = orders.get(position.phase, ())
            after, _ = engine.step(state, by_power(given_orders(position, texts), len(self.board.powers)))
            ends = self._ends(expander, position, texts, unseen)
            on_path = after.row[None].copy()
            stepper.make_canonical(on_path)
            ends.pop((0, on_path.tobytes()), None)
            unseen = Unseen()
            for (age, key), points in ends.items():
                now = State(layout_of(self.board), np.frombuffer(key, np.int32))
                if after.done:
                    yield OVER, 0, points
                elif is_seen(self.sight, self.board, self.together, now, after, age):
                    yield self.naming.find(now)[0], self.years - now.year, points
                else:
                    unseen[age, key] = points
            state = after
        self.path_value = int(state.welfare[self.together].sum())

    def _ends(self, expander: Expander, position: Position, texts: tuple[str, ...], unseen: Unseen) -> Unseen:
        """The positions after a phase, from the path's position and those of unseen deviations."""
        state, found = position.state, Unseen()
        starts = {(ON_PATH, state.row.tobytes()): int(state.welfare[self.together].sum()), **unseen}
        for (age, key), points in starts.items():
            start = Position(position.engine, State(state.layout, np.frombuffer(key, np.int32)))
            expanded = expander.expand(start, [still_given(start, texts, self.together)])
            gains = expanded.points[:, 0, self.together].sum(axis=1)
            for row, gain in zip(expanded.rows[:, 0], gains.tolist(), strict=True):
                end = age + 1, row.tobytes()
                found[end] = max(found.get(end, 0), points + gain)
        return found

    def solve(self, most: float = np.inf) -> tuple[float, float]:
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
        return self.low, self.high

    def _bound(self, node: int, left: int) -> float:
        return 0.0 if node == OVER else self.threats.bounds(node, left)[1]

    def claims(self) -> Claims:
        """The exact guarantees of the mixes."""
        return Claims(self.threats)

    def certificate(self) -> DrawnCertificate:
        """The certificate for the bounds; call `solve` first."""
        claims = self.claims()
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

    def _listed(self, claims: Claims, lower: int, upper: int) -> DrawnCertificate:
        keys = sorted({key for key, _ in claims.claims})
        number = {key: place for place, key in enumerate(keys)}
        _, places = self.naming.names()
        back = np.argsort(places)
        plans = [
            (number[key], side, int(parts), self.naming.numbers(key[0], order, places, back, side == MINE))
            for (key, side), (orders, weights) in claims.plans.items()
            for order, parts in zip(orders, weights, strict=True)
        ]
        rows = np.array([self.naming.state(node).row for node, _ in keys], np.int32)
        return DrawnCertificate(
            map_name=self.board.name,
            years=self.years,
            deviator="+".join(self.board.powers[who] for who in self.together),
            path=self.path,
            path_value=self.path_value,
            lower=lower,
            upper=upper,
            rows=rows.reshape(-1, layout_of(self.board).size),
            years_left=np.array([left for _, left in keys], np.int16),
            lowers=np.array([claims.claims.get((key, MINE), 0) for key in keys], np.int64),
            uppers=np.array([claims.claims.get((key, OTHERS), -1) for key in keys], np.int64),
            plan_rows=np.array([plan[0] for plan in plans], np.int32),
            plan_sides=np.array([plan[1] for plan in plans], np.int8),
            weights=np.array([plan[2] for plan in plans], np.int64),
            orders=orders_array([plan[3] for plan in plans]),
            sight=self.sight,
        )


def by_power(given: Given, powers: int) -> list[np.ndarray]:
    """Each power's orders, int32, as an engine takes them."""
    return [np.array(list(given.get(who, {}).values()), np.int32) for who in range(powers)]


def given_orders(position: Position, texts: tuple[str, ...]) -> Given:
    """Orders of all powers by power and slot.

    Raises:
        ValueError: an order is illegal.
    """
    found: Given = {}
    for text in texts:
        order = position.board.orders.index.get(text, OVER)
        slots = [(who, position.slot_of(who, order)) for who in range(len(position.board.powers))]
        who, slot = next(((who, slot) for who, slot in slots if slot is not None), (OVER, None))
        if slot is None:
            raise ValueError(f"order {text!r:.60} cannot be given in {position.phase}")
        found.setdefault(who, {})[slot] = order
    return found
