"""How much welfare a path of play can have if no power gains more than epsilon by leaving it.

    python -m research.price_of_peace.frontier --map clique:3 --years 3 --epsilon 0 --epsilon 1

A profile is a *path* (everybody's orders as long as nobody deviates) and the threats that follow. The path is
deterministic. A power deviates if its orders differ from the path's and another position follows. From then on all
others only minimize its points, by jointly randomized threats (`threats`). If several powers deviate in the same phase,
the first by number counts as the deviator; this does not affect unilateral deviations. So a path is an
epsilon-equilibrium if in each phase, for every power and all its orders:

    points until then + threat value of the next position <= points of the whole path + epsilon.

The search computes for each position the vectors of points still possible. It keeps undominated vectors only, since
more points for one power never violate another's condition. It starts at the highest welfare and lowers it step by
step. Each power's certificate, checked, shows that it gains at most epsilon. That no path has more welfare is searched.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Annotated

import numpy as np
import typer

from agents.runtime.progress import metered
from agents.toy_boards.shape import Clique, clique_of
from evaluation.exact.phases import NO_ORDER, Expander, Stepper
from evaluation.exact.results import OrdersByPhase
from research.price_of_peace.certificates import UNIT, Certificate
from research.price_of_peace.checking import check
from research.price_of_peace.naming import Naming
from research.price_of_peace.threat_proofs import OVER, PathThreats
from research.price_of_peace.threats import CLOSE, ThreatSearch
from research.tables import Folder, show
from welfare_env import Rules, load_board
from welfare_env.engine import DONE, WINTER, YEAR, State, layout_of
from welfare_env.engine.engines import make_engine
from welfare_env.game.position import Position

Vector = tuple[int, ...]  # points of each power
GAMES = {
    ("clique:3", 3): "0 1/2 1",
    ("clique:3", 4): "0 1 3",
    ("shared-clique:3", 3): "0 1 2",
    ("clique:4", 3): "0 1",
}
"""Board and years -> epsilons."""
HEAD = ("board, years", "epsilon", "sum", "points", "gain by leaving", "positions")


@dataclass(frozen=True)
class Point:
    """A path, everybody's points, and for each power the proof that it gets at most so many points by leaving."""

    path: OrdersByPhase
    certificates: tuple[Certificate, ...]

    @property
    def points(self) -> Vector:
        return tuple(each.path_value for each in self.certificates)

    @property
    def gain(self) -> Fraction:
        """The certified largest gain of any power from deviating; 0 if nobody gains."""
        return max(Fraction(each.upper, UNIT) - each.path_value for each in self.certificates)

    def row(self) -> list[str]:
        """Sum, points, gain and certificate of a row of a table; the certificates are checked."""
        size = max(check(each) for each in self.certificates)
        return [str(sum(self.points)), " ".join(map(str, self.points)), str(self.gain), f"{size:,}"]


@dataclass(frozen=True)
class _Choice:
    """The order numbers chosen at a position, the next position, and the points after it."""

    orders: tuple[int, ...]
    to: bytes
    rest: Vector | None


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

    state: State
    left: int
    powers: list[int]
    slots: list[int]
    steps: list[_Step]
    lows: list[float]
    deviations: dict[tuple[int, tuple[int, ...]], list[tuple[bytes, int, int, int]]] = field(default_factory=dict)


class FrontierSearch:
    """Paths of one board and length, for any epsilon.

    Attributes:
        most: upper bound on welfare: every center pays in every year.
    """

    def __init__(self, map_name: str, years: int) -> None:
        self.board, self.years = load_board(map_name), years
        clique, rules = clique_of(self.board), Rules(press=None, years=years)
        self.powers, self.centers = len(self.board.powers), len(self.board.centers)
        self.most = years * self.centers
        kinds = [_shares(clique, who) for who in range(self.powers)]
        searches = {kind: ThreatSearch(clique, kinds.index(kind)) for kind in sorted(set(kinds))}
        self.threats = [searches[kind] for kind in kinds]
        self._names = [Naming(threats.search, who) for who, threats in enumerate(self.threats)]
        self.engine, stepper = make_engine("fast", self.board, rules), Stepper(self.board, rules)
        self._together = Expander(self.board, tuple(range(self.powers)), stepper)
        self._alone = [Expander(self.board, (who,), stepper) for who in range(self.powers)]
        start = self.engine.initial().row[None].copy()
        stepper.make_canonical(start)
        self._start = start.tobytes()
        self._nodes: dict[tuple[int, bytes], int] = {}
        self._epsilon = 0.0
        self._known: dict[bytes, tuple[int, dict[Vector, _Choice]]] = {}
        self._expanded: dict[bytes, _Expanded] = {}

    def solve(self, epsilon: Fraction, max_lost: int = 6) -> Point | None:
        """The path of highest welfare that no power gains more than epsilon by leaving, with certificates.

        None if there is none down to `most` - `max_lost`.
        """
        for lost in range(max_lost + 1):
            if found := self.payoffs(epsilon, lost):
                return self.certified(self._path(max(found, key=lambda each: (np.prod(each), each))))
        return None

    def payoffs(self, epsilon: Fraction, max_lost: int) -> list[Vector]:
        """The undominated points of such paths with a sum down to `most` - `max_lost`; searched, not certified."""
        if self._epsilon != float(epsilon):
            self._epsilon, self._known = float(epsilon), {}
        return sorted(self._vectors(self._start, max_lost))

    def certified(self, path: OrdersByPhase) -> Point:
        """A path with certificates of each power's points from deviating."""
        found = [PathThreats(threats, who, self.years, path) for who, threats in enumerate(self.threats)]
        for each in found:
            each.solve()
        return Point(path, tuple(each.certificate() for each in found))

    def _path(self, points: Vector) -> OrdersByPhase:
        path, row, rest = [], self._start, points
        while row:
            choice, state = self._known[row][1][rest], self._state(row)
            texts = tuple(self.board.orders.texts[order] for order in choice.orders)
            path += [(Position(self.engine, state).phase, texts)] if texts else []
            row, rest = choice.to, choice.rest or ()
        return tuple(path)

    def _vectors(self, key: bytes, lost: int) -> dict[Vector, _Choice]:
        """The possible vectors of points from a position on, with total at most `lost` below what all centers pay."""
        known = self._known.get(key)
        if known is None or known[0] < lost:
            self._known[key] = known = (lost, _undominated(self._search(key, lost)))
        left = self.years - int(np.frombuffer(key, np.int32)[YEAR])
        return {each: choice for each, choice in known[1].items() if sum(each) >= left * self.centers - lost}

    def _search(self, key: bytes, lost: int) -> dict[Vector, _Choice]:
        expanded = self._expand(key)
        found: dict[Vector, _Choice] = {}
        for step in expanded.steps:
            paid = self.centers - sum(step.points) if expanded.state.phase == WINTER else 0
            if paid + step.least_lost > lost:
                continue
            rests: list[Vector | None] = [None] if not step.to else list(self._vectors(step.to, lost - paid))
            for rest in rests:
                total = tuple(a + b for a, b in zip(step.points, rest or [0] * self.powers, strict=True))
                # Nobody may get less than it can secure, whatever the others order in this phase.
                limits = [points + self._epsilon + CLOSE for points in total]
                if total in found or any(low > most for low, most in zip(expanded.lows, limits, strict=True)):
                    continue
                holding = (plan for plan in step.plans if self._holds(expanded, plan, step.to, total))
                if (orders := next(holding, None)) is not None:
                    found[total] = _Choice(tuple(order for order in orders if order != NO_ORDER), step.to, rest)
        return found

    def _holds(self, expanded: _Expanded, plan: tuple[int, ...], to: bytes, total: Vector) -> bool:
        """Whether no power gets more than its points plus epsilon by deviating from a plan."""
        return all(self._keeps(expanded, who, plan, to, total[who] + self._epsilon) for who in range(self.powers))

    def _keeps(self, expanded: _Expanded, who: int, plan: tuple[int, ...], to: bytes, limit: float) -> bool:
        threats, ways = self.threats[who], self._deviations(expanded, who, plan)
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

    def _deviations(self, expanded: _Expanded, who: int, plan: tuple[int, ...]) -> list[tuple[bytes, int, int, int]]:
        """The possible results of a power's orders if the others follow a plan: key, points, node, years left."""
        others = tuple(order for order, giver in zip(plan, expanded.powers, strict=True) if giver != who)
        if (who, others) not in expanded.deviations:
            given: dict[int, dict[int, int]] = {}
            for order, giver, slot in zip(plan, expanded.powers, expanded.slots, strict=True):
                if giver != who and order != NO_ORDER:
                    given.setdefault(giver, {})[slot] = order
            found = self._alone[who].expand(Position(self.engine, expanded.state), [given])
            rows, gains = found.rows[:, 0], found.points[:, 0, who]
            if rows[0, DONE]:
                expanded.deviations[who, others] = [(b"", int(gains.max()), OVER, 0)]
            else:
                ways = {row.tobytes(): int(gain) for row, gain in zip(rows, gains, strict=True)}
                left = self.years - int(rows[0, YEAR])
                expanded.deviations[who, others] = [
                    (key, gain, self._node(who, key), left) for key, gain in ways.items()
                ]
        return expanded.deviations[who, others]

    def _node(self, who: int, key: bytes) -> int:
        if (who, key) not in self._nodes:
            self._nodes[who, key] = self._names[who].node(self._state(key), self.threats[who].search.make_room)
        return self._nodes[who, key]

    def _state(self, key: bytes) -> State:
        return State(layout_of(self.board), np.frombuffer(key, np.int32))

    def _expand(self, key: bytes) -> _Expanded:
        """All joint orders at a position, grouped by next position and points."""
        if key in self._expanded:
            return self._expanded[key]
        state = self._state(key)
        position, left = Position(self.engine, state), self.years - state.year
        columns = [(who, slot) for who in range(self.powers) for slot in position.slots(who)]
        found = self._together.expand(position, [{}])
        steps: dict[tuple[bytes, Vector], list[tuple[int, ...]]] = {}
        for orders, row, points in zip(found.orders[:, 0].tolist(), found.rows[:, 0], found.points[:, 0], strict=True):
            to = b"" if row[DONE] else row.tobytes()
            steps.setdefault((to, tuple(points.tolist())), []).append(tuple(orders))
        listed = [_Step(to, points, plans, self._least_lost(to)) for (to, points), plans in steps.items()]
        listed.sort(key=lambda step: step.least_lost - sum(step.points))
        lows = [threats.bounds(self._node(who, key), left)[0] for who, threats in enumerate(self.threats)]
        self._expanded[key] = _Expanded(
            state, left, [who for who, _ in columns], [slot for _, slot in columns], listed, lows
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


def _shares(clique: Clique, power: int) -> bool:
    """Whether a power shares a core; deviators of the same kind differ only in their names."""
    return clique.is_shared and power in (0, clique.powers - 1)


def _undominated(found: dict[Vector, _Choice]) -> dict[Vector, _Choice]:
    kept: dict[Vector, _Choice] = {}
    for each in sorted(found, key=lambda vector: (-sum(vector), vector)):
        if not any(all(a >= b for a, b in zip(other, each, strict=True)) for other in kept):
            kept[each] = found[each]
    return kept


def rows_of(map_name: str, years: int, epsilons: Iterable[Fraction]) -> list[list[str]]:
    """A game's rows of the table."""
    search, rows = FrontierSearch(map_name, years), []
    for epsilon in epsilons:
        if (point := search.solve(epsilon)) is not None:
            rows.append([f"{map_name}, {years}", str(epsilon), *point.row()])
    return rows


def main(
    map_name: Annotated[str, typer.Option("--map", help="One board; by default those of the README.")] = "",
    years: Annotated[int, typer.Option(help="Length of the game, with --map.")] = 3,
    epsilon: Annotated[list[str] | None, typer.Option(help="Tolerated gains, with --map.", show_default="0")] = None,
    tables: Folder = None,
) -> None:
    """Search the paths of highest welfare, check their certificates, and print the table: some minutes."""
    games = {(map_name, years): " ".join(epsilon or ["0"])} if map_name else GAMES
    rows = []
    with metered("searching", len(games), "games") as meter:
        for (name, length), wanted in games.items():
            rows += rows_of(name, length, map(Fraction, wanted.split()))
            meter.advance(1)
    show(None if map_name else tables, "theorems-frontier", HEAD, rows)


if __name__ == "__main__":
    typer.run(main)
