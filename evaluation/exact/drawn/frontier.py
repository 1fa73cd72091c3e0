"""The highest welfare of a profile in which no power gains more than epsilon by deviating.

A profile is a *path* (everybody's orders as long as nobody deviates) and the threats that follow. The path is
deterministic. A power deviates if its orders differ from the path's and another position follows. From then on all
others only minimize its points, by jointly randomized threats (`threats`). If several powers deviate in the same phase,
the first by number counts as the deviator; this does not affect unilateral deviations. So a path is an
epsilon-equilibrium if in each phase, for every power and all its orders:

    points until then + threat value of the next position <= points of the whole path + epsilon.

For coalitions of two the same must hold for each pair's sum of points, for all joint orders of the two. The others are
assumed to know the pair as soon as one of the two deviates. Punishers who saw only one of them leave would know less,
so this is an upper bound on welfare.

The search computes for each position the vectors of points still possible. It keeps undominated vectors only, since
more points for one power never violate another's condition. It starts at the highest welfare and lowers it step by
step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import prod

import numpy as np

from agents.toy_boards.shape import ALONE, Clique, clique_of
from evaluation.checks import EvaluationError, board_of, check_whole, listed
from evaluation.exact import graph_kernels as g
from evaluation.exact.certificates import OrdersByPhase
from evaluation.exact.clique_proofs import Naming
from evaluation.exact.drawn.points import FrontierPoint, Vector
from evaluation.exact.drawn.proofs import OVER, PathThreats
from evaluation.exact.drawn.sight import Sight, check_sight, is_seen, still_given
from evaluation.exact.drawn.threats import CLOSE, ThreatSearch, kind_of
from evaluation.exact.planner import NO_ORDER, Expander, Stepper
from welfare_env import Rules
from welfare_env.checks import choice, quoted
from welfare_env.engine import DONE, WINTER, YEAR, State, layout_of
from welfare_env.engine.engines import make_engine
from welfare_env.game.position import Position

MOST_EPSILON = 10**6


@dataclass(frozen=True)
class _Choice:
    """The order numbers chosen at a position, the next position, and the points after it."""

    orders: tuple[int, ...]
    to: bytes
    rest: Vector | None


class FrontierSearch:
    """Paths of one board and length, for any epsilon.

    The path found is certified. That no path has more welfare is not certified: it relies on this search and on floats.

    Args:
        map_name: clique:n or shared-clique:n. years: length of the game.
        coalitions: 1, or 2 if no pair may gain more than epsilon, either (sum of points; only with `sight` 0).
        sight: when the others notice a deviation. Unless it is 0, the search may miss better paths, since it tries only
            one way to each vector of points from a position on.

    Attributes:
        most: upper bound on welfare: every center pays in every year.
        report: progress callback.
    """

    def __init__(self, map_name: str, years: int, coalitions: int = 1, sight: Sight = 0) -> None:
        self.board, self.years, self.sight = board_of(map_name), years, sight
        clique, rules = clique_of(self.board), Rules(press=None, years=years)
        self.powers = len(self.board.powers)
        self.centers = len(self.board.centers)
        self.most = years * self.centers
        self.report: Callable[[str], None] = lambda text: None
        self.leavers = list(leavers(clique, coalitions))
        kinds = {kind_of(clique, who): who for who in reversed(self.leavers)}
        searches = {kind: ThreatSearch(clique, *who) for kind, who in kinds.items()}
        self.threats = [searches[kind_of(clique, who)] for who in self.leavers]
        self._names = [Naming(threats.search, *who) for threats, who in zip(self.threats, self.leavers, strict=True)]
        self.engine = make_engine("fast", self.board, rules)
        stepper = Stepper(self.board, rules)
        self._together = Expander(self.board, tuple(range(self.powers)), stepper)
        self._alone = [Expander(self.board, who, stepper) for who in self.leavers]
        start = self.engine.initial().row[None].copy()
        stepper.make_canonical(start)
        self._start = start.tobytes()
        self._nodes: dict[tuple[int, bytes], int] = {}
        self._epsilon = 0.0
        self._known: dict[bytes, tuple[int, dict[Vector, _Choice]]] = {}
        self._expanded: dict[bytes, _Expanded] = {}

    def solve(self, epsilon: Fraction, most_lost: int, by: str = "sum") -> FrontierPoint | None:
        """The best path from which no power gains more than epsilon by deviating.

        Args:
            epsilon: points of the whole game.
            most_lost: search paths with welfare down to `most` minus this.
            by: the welfare measure to maximize, "sum" or "root-nash".

        Returns:
            the certified path; None if none is found. With late sight the path that was found is not always the one
            that was tested, so it is dropped if its certificates allow more than epsilon.
        """
        self._epsilon, self._known = float(epsilon), {}
        best: Vector | None = None
        least = self.least_welfare(epsilon)
        for lost in range(most_lost + 1):
            if best is not None and (by == "sum" or ((self.most - lost) / self.powers) ** self.powers <= prod(best)):
                break
            if self.most - lost < least - CLOSE:
                self.report(f"epsilon {epsilon}: pairs must get {least:g} or more together")
                break
            found = self._vectors(self._start, lost)
            told = f"{len(found)} vectors, {len(self._known):,} positions"
            self.report(f"epsilon {epsilon}, welfare {self.most - lost}: {told}")
            best = max([*found, *([best] if best else [])], key=lambda each: (prod(each), each), default=None)
        point = None if best is None else self._point(epsilon, best)
        return None if point is None or (self.sight and point.gain > epsilon) else point

    def payoffs(self, epsilon: Fraction, most_lost: int) -> list[Vector]:
        """The undominated points of paths that nobody gains more than epsilon by leaving; arguments as for `solve`.

        They are searched, not certified.
        """
        self._epsilon, self._known = float(epsilon), {}
        return sorted(self._vectors(self._start, most_lost))

    def equilibria(self, epsilon: Fraction, most_lost: int) -> list[FrontierPoint]:
        """A certified path for each vector of `payoffs`, same arguments; only with `sight` 0."""
        return [self._point(epsilon, points) for points in self.payoffs(epsilon, most_lost)]

    def least_welfare(self, epsilon: Fraction) -> float:
        """The least welfare of a profile, of any kind, from which no pair gains more than epsilon; 0 without pairs.

        Each pair must get its threat value from the opening less epsilon, and each power is in `powers` - 1 pairs.
        """
        pairs = range(self.powers, len(self.leavers))
        worth = [self.threats[pair].solve(self._node(pair, self._start), self.years)[0] for pair in pairs]
        return (sum(worth) - len(worth) * float(epsilon)) / (self.powers - 1)

    def _point(self, epsilon: Fraction, points: Vector) -> FrontierPoint:
        path, row, rest = [], self._start, points
        while row:
            state = self._state(row)
            choice = self._known[row][1][rest]
            texts = tuple(self.board.orders.texts[order] for order in choice.orders)
            path.append((Position(self.engine, state).phase, texts))
            row, rest = choice.to, choice.rest or ()
        return self.certified(epsilon, tuple(each for each in path if each[1]))

    def certified(self, epsilon: Fraction, path: OrdersByPhase) -> FrontierPoint:
        """A path with certificates of each power's (and pair's) points from deviating."""
        found = [
            PathThreats(threats, who[0], self.years, path, who[1] if len(who) == 2 else ALONE, self.sight)
            for threats, who in zip(self.threats, self.leavers, strict=True)
        ]
        for each in found:
            each.solve()
        points = tuple(each.path_value for each in found[: self.powers])
        certificates = tuple(each.certificate() for each in found)
        alone, pairs = certificates[: self.powers], certificates[self.powers :]
        return FrontierPoint(
            map_name=self.board.name,
            years=self.years,
            epsilon=epsilon,
            points=points,
            path=path,
            certificates=alone,
            pairs=pairs,
        )

    # The search

    def _vectors(self, key: bytes, lost: int) -> dict[Vector, _Choice]:
        """The possible vectors of points from a position on, with total at most `lost` below what all centers pay."""
        known = self._known.get(key)
        if known is None or known[0] < lost:
            self._known[key] = known = (lost, self._best(self._search(key, lost)))
        left = self.years - int(np.frombuffer(key, np.int32)[YEAR])
        return {each: choice for each, choice in known[1].items() if sum(each) >= left * self.centers - lost}

    def _best(self, found: dict[Vector, _Choice]) -> dict[Vector, _Choice]:
        """Remove dominated vectors."""
        kept: dict[Vector, _Choice] = {}
        for each in sorted(found, key=lambda vector: (-sum(vector), vector)):
            if not any(all(a >= b for a, b in zip(other, each, strict=True)) for other in kept):
                kept[each] = found[each]
        return kept

    def _search(self, key: bytes, lost: int) -> dict[Vector, _Choice]:
        expanded = self._expand(key)
        found: dict[Vector, _Choice] = {}
        for step in expanded.steps:
            paid = self.centers - sum(step.points) if expanded.is_winter else 0
            if paid + step.least_lost > lost:
                continue
            rests: list[Vector | None] = [None] if not step.to else list(self._vectors(step.to, lost - paid))
            for rest in rests:
                total = tuple(a + b for a, b in zip(step.points, rest or [0] * self.powers, strict=True))
                if total in found or self._is_below(expanded, total):
                    continue
                holding = (plan for plan in step.plans if self._holds(expanded, plan, step.to, total))
                seen = (plan for plan in holding if self._is_seen_in_time(expanded, plan, step.to, rest, total))
                orders = next(seen, None)
                if orders is not None:
                    found[total] = _Choice(tuple(order for order in orders if order != NO_ORDER), step.to, rest)
        return found

    def _is_below(self, expanded: _Expanded, total: Vector) -> bool:
        """Whether some power could profitably deviate whatever the others order in this phase."""
        if expanded.lows is None:
            nodes = [self._node(number, expanded.key) for number in range(len(self.leavers))]
            expanded.lows = [self.threats[number].bounds(node, expanded.left)[0] for number, node in enumerate(nodes)]
        return any(
            low > sum(total[power] for power in who) + self._epsilon + CLOSE
            for low, who in zip(expanded.lows, self.leavers, strict=True)
        )

    def _holds(self, expanded: _Expanded, plan: tuple[int, ...], to: bytes, total: Vector) -> bool:
        """Whether nobody (see `leavers`) gets more than its points plus epsilon by deviating from a plan."""
        return all(
            self._keeps(expanded, number, plan, to, sum(total[power] for power in who))
            for number, who in enumerate(self.leavers)
        )

    def _keeps(self, expanded: _Expanded, number: int, plan: tuple[int, ...], to: bytes, points: int) -> bool:
        limit = points + self._epsilon
        threats = self.threats[number]
        ways = self._deviations(expanded, number, plan)
        for key, gain, node, left in ways:
            low = 0.0 if node == OVER else threats.bounds(node, left)[0]
            if gain + low > limit + 10 * CLOSE and (key != to or node == OVER):
                return False
        for key, gain, node, left in ways:
            if key != to and gain + threats.bounds(node, left)[1] > limit + CLOSE:
                within = limit - gain
                if threats.solve(node, left, within, within + 10 * CLOSE)[1] > within + CLOSE:
                    return False
        return True

    def _is_seen_in_time(
        self, expanded: _Expanded, plan: tuple[int, ...], to: bytes, rest: Vector | None, total: Vector
    ) -> bool:
        """Whether the plan still holds with delayed sight, if the others continue with the path found for the rest."""
        return (
            not self.sight
            or rest is None
            or all(self._can_wait(expanded, power, plan, to, rest, total[power]) for power in range(self.powers))
        )

    def _can_wait(
        self, expanded: _Expanded, power: int, plan: tuple[int, ...], to: bytes, rest: Vector, points: int
    ) -> bool:
        """Whether a power gets at most its points plus epsilon although the others notice its deviation late."""
        limit, age = points + self._epsilon, 0
        hidden = {key: gain for key, gain, *_ in self._deviations(expanded, power, plan) if key != to}
        path, left_over = to, rest
        while hidden:
            following, state = dict[bytes, int](), self._state(path)
            choice = self._known[path][1][left_over] if path else None
            for key, gain in hidden.items():
                now = self._state(key)
                if is_seen(self.sight, self.board, (power,), now, state, age):
                    if not self._is_within(power, key, self.years - now.year, limit - gain):
                        return False
                    continue
                texts = () if choice is None else tuple(self.board.orders.texts[order] for order in choice.orders)
                position = Position(self.engine, now)
                found = self._alone[power].expand(position, [still_given(position, texts, (power,))])
                for row, more in zip(found.rows[:, 0], found.points[:, 0, power].tolist(), strict=True):
                    if not row[DONE]:
                        following[row.tobytes()] = max(gain + more, following.get(row.tobytes(), 0))
                    elif gain + more > limit + CLOSE:
                        return False
            hidden, age = following, age + 1
            if choice is not None:
                path, left_over = choice.to, choice.rest or ()
        return True

    def _is_within(self, power: int, key: bytes, left: int, limit: float) -> bool:
        """Whether threats hold a power to `limit` points from a position on."""
        node = self._node(power, key)
        return self.threats[power].solve(node, left, limit, limit + 10 * CLOSE)[1] <= limit + CLOSE

    def _state(self, key: bytes) -> State:
        return State(layout_of(self.board), np.frombuffer(key, np.int32))

    def _deviations(self, expanded: _Expanded, number: int, plan: tuple[int, ...]) -> list[tuple[bytes, int, int, int]]:
        """The possible results of one of `leavers` if the others follow a plan.

        Each with key, points of the phase, node, years left.
        """
        leaving = self.leavers[number]
        others = tuple(order for order, who in zip(plan, expanded.powers, strict=True) if who not in leaving)
        if (number, others) not in expanded.deviations:
            given: dict[int, dict[int, int]] = {}
            for order, who, slot in zip(plan, expanded.powers, expanded.slots, strict=True):
                if who not in leaving and order != NO_ORDER:
                    given.setdefault(who, {})[slot] = order
            found = self._alone[number].expand(Position(self.engine, expanded.state), [given])
            rows, gains = found.rows[:, 0], found.points[:, 0, list(leaving)].sum(axis=1)
            if rows[0, DONE]:
                expanded.deviations[number, others] = [(b"", int(gains.max()), OVER, 0)]
            else:
                ways = {row.tobytes(): gain for row, gain in zip(rows, gains.tolist(), strict=True)}
                left = self.years - int(rows[0, YEAR])
                listed = [(key, gain, self._node(number, key), left) for key, gain in ways.items()]
                expanded.deviations[number, others] = listed
        return expanded.deviations[number, others]

    def _node(self, number: int, key: bytes) -> int:
        if (number, key) not in self._nodes:
            self._nodes[number, key] = self._names[number].find(self._state(key))[0]
        return self._nodes[number, key]

    def _expand(self, key: bytes) -> _Expanded:
        """All joint orders at a position, grouped by next position and points."""
        if key in self._expanded:
            return self._expanded[key]
        state = self._state(key)
        position = Position(self.engine, state)
        columns = [(who, slot) for who in range(self.powers) for slot in position.slots(who)]
        found = self._together.expand(position, [{}])
        steps: dict[tuple[bytes, Vector], list[tuple[int, ...]]] = {}
        for orders, row, points in zip(found.orders[:, 0].tolist(), found.rows[:, 0], found.points[:, 0], strict=True):
            to = b"" if row[DONE] else row.tobytes()
            steps.setdefault((to, tuple(points.tolist())), []).append(tuple(orders))
        listed = [_Step(to, points, plans, self._least_lost(to)) for (to, points), plans in steps.items()]
        listed.sort(key=lambda step: step.least_lost - sum(step.points))
        self._expanded[key] = _Expanded(
            key=key,
            state=state,
            left=self.years - state.year,
            is_winter=state.phase == WINTER,
            powers=[who for who, _ in columns],
            slots=[slot for _, slot in columns],
            steps=listed,
            deviations={},
            lows=None,
        )
        return self._expanded[key]

    def _least_lost(self, to: bytes) -> int:
        """Welfare certainly lost from a position on: for each center that no unit can take this year, two points.

        (One in the last year.) The center pays nobody this Winter. Taking it later needs a unit that is not disbanded
        this Winter, which costs a point.
        """
        if not to:
            return 0
        state = self._state(to)
        free = int((state.owners < 0).sum())
        able = 0 if state.phase == WINTER else len(state.units) + len(state.dislodged)
        return max(0, free - able) * min(2, self.years - state.year)


@dataclass
class _Step:
    """A next position (empty at the end of the game), the points of the phase, and all joint orders leading to it."""

    to: bytes
    points: Vector
    plans: list[tuple[int, ...]]
    least_lost: int


@dataclass
class _Expanded:
    """A position with all its steps; `powers` and `slots` belong to the entries of a plan."""

    key: bytes
    state: State
    left: int
    is_winter: bool
    powers: list[int]
    slots: list[int]
    steps: list[_Step]
    deviations: dict[tuple[int, tuple[int, ...]], list[tuple[bytes, int, int, int]]]
    lows: list[float] | None


def leavers(clique: Clique, coalitions: int) -> Iterator[tuple[int, ...]]:
    """Who may deviate together: each power, and with `coalitions` 2 each pair; a player that shares a core first."""
    yield from ((power,) for power in range(clique.powers))
    for pair in combinations(range(clique.powers), 2) if coalitions == 2 else ():
        yield pair if pair[1] < clique.cores or pair[0] == 0 else pair[::-1]


def frontier(
    map_name: str,
    years: int,
    epsilons: Sequence[Fraction | int],
    most_lost: int = 6,
    by: str = "sum",
    report: Callable[[str], None] = lambda text: None,
    coalitions: int = 1,
    sight: Sight = 0,
) -> list[FrontierPoint]:
    """The path of highest welfare at each epsilon.

    An epsilon is left out if no path within `most_lost` points of the highest possible sum holds at it.

    Args:
        map_name: clique:n or shared-clique:n, n from 2 to 7. years: length of the game, up to 10.
        epsilons: largest allowed gains from deviating, in points of the whole game.
        most_lost: how far below the highest possible sum (every center pays in every year) to search; higher values
            take longer.
        by: the welfare measure, "sum" or "root-nash". report: progress callback.
        coalitions: 1; or 2 if pairs may not gain more than epsilon, either (the sum of their points).
        sight: when the others notice a deviation: 0 at once, n after n phases, "adjacent" only from adjacent provinces.
            With late sight (any but 0) better paths may be missed, and `coalitions` must be 1.

    Raises:
        EvaluationError, UnknownMapError: invalid input of this kind.
    """
    _check_game(years, most_lost)
    choice("by", by, ("sum", "root-nash"), error=EvaluationError)
    wanted = [_checked_epsilon("epsilons", each) for each in listed("epsilons", epsilons, "[0, Fraction(1, 2)]")]
    if not callable(report):
        raise EvaluationError(f"report={quoted(report)}: give a function of a text")
    check_whole("coalitions", coalitions, 1, 2)
    check_sight(sight)
    if coalitions == 2 and sight != 0:
        raise EvaluationError(f"coalitions=2, sight={sight!r}: pairs are searched with sight 0 only")
    search = FrontierSearch(map_name, years, coalitions, sight)
    search.report = report
    found = [search.solve(epsilon, most_lost, by) for epsilon in wanted]
    return [point for point in found if point is not None]


def equilibrium_payoffs(map_name: str, years: int, most_lost: int, epsilon: Fraction | int = 0) -> list[Vector]:
    """The undominated vectors of points of deterministic paths that nobody gains more than epsilon by leaving.

    They are searched, not certified. Each is a tuple of points in the board's order.

    Args:
        map_name, years: as for `frontier`.
        most_lost: only vectors with a sum down to this many points below what all centers pay.
        epsilon: the largest allowed gain from deviating, in points of the whole game.

    Raises:
        EvaluationError, UnknownMapError: invalid input of this kind.
    """
    _check_game(years, most_lost)
    return FrontierSearch(map_name, years).payoffs(_checked_epsilon("epsilon", epsilon), most_lost)


def _check_game(years: int, most_lost: int) -> None:
    check_whole("years", years, 1, g.MOST_YEARS)
    check_whole("most_lost", most_lost, 0, 100)


def _checked_epsilon(name: str, epsilon: object) -> Fraction:
    """The epsilon as a fraction. Raises EvaluationError if it is not one within bounds."""
    if isinstance(epsilon, Fraction | int) and not isinstance(epsilon, bool):
        found = Fraction(epsilon)
        if 0 <= found <= MOST_EPSILON and found.denominator <= MOST_EPSILON:
            return found
    raise EvaluationError(
        f"{name}={quoted(epsilon)}: give a whole number or a Fraction from 0 to {MOST_EPSILON:,}, with at most that "
        "denominator"
    )
