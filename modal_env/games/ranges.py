"""The equilibria of a library for every epsilon: each as a function of epsilon, on an exact range.

The payoffs are affine in epsilon, so a vertex of `modal_env.games.vertices` moves along quotients of polynomials
(Cramer's rule) as long as its agents and best replies stay the same. These may change where a share, or the gap of
another reply, becomes 0 or a quotient has a pole. Between such events the pairs of vertices that are equilibria do not
change. The events are found from inside: take any epsilon, follow all its vertices to the nearest events on both sides,
and continue beyond these. No vertex appears in between: when the polyhedron touches another face, so does a vertex.

At an event the vertices are limits of those nearby, and their equilibria are computed anew. A limit of equilibria is an
equilibrium, so ranges include their bounds. There the mix may have lost an agent, or be part of a larger set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from sympy.polys.domains import QQ
from sympy.polys.fields import FracElement
from sympy.polys.matrices import DomainMatrix
from sympy.polys.rings import PolyElement

from modal_env.games.costs import GivenCost
from modal_env.games.equilibria import EquilibriumSet, check_symmetric, mix_text, set_text
from modal_env.games.game import PAYOFFS, GivenPayoffs, Matrix, Mix, ProgramGame
from modal_env.games.rational_functions import (
    FUNCTIONS,
    POLYNOMIALS,
    Algebraic,
    affine,
    between,
    constant,
    function_text,
    positive_roots,
    sign,
    value_of,
)
from modal_env.games.vertices import (
    Class,
    Labels,
    Sides,
    bicliques,
    classes,
    cliques,
    numbers,
    smaller,
    spread,
    vertices,
)
from modal_env.logic.notation import Agent
from modal_env.logic.tournaments import listed
from modal_env.progress import Report, check_report, no_report

ZERO = Fraction(0)


class Interval(NamedTuple):
    """All epsilon from `low` to `high`, both included; to infinity if `high` is None."""

    low: Algebraic
    high: Algebraic | None

    @property
    def is_point(self) -> bool:
        """Whether it is a single number."""
        return self.high is not None and self.low == self.high

    @property
    def inside(self) -> Algebraic:
        """A number in it, not a bound unless it is a point."""
        return self.low if self.is_point else between(self.low, self.high)

    def __str__(self) -> str:
        low = self.low
        if self.high is None:
            return f"eps >= {low}"
        return f"eps = {low}" if self.is_point else f"{low} <= eps <= {self.high}"


@dataclass(frozen=True)
class Path:
    """A vertex that moves with epsilon.

    Attributes:
        shares: [n] the mix.
        value: the payoff of a best reply to it.
        gaps: the value, less the payoff against the mix of each class of the other player's agents.
    """

    shares: tuple[FracElement, ...]
    value: FracElement
    gaps: tuple[FracElement, ...]

    def labels(self, epsilon: Algebraic) -> Labels:
        """The agents that it plays and its best replies."""
        played = sum(1 << i for i, share in enumerate(self.shares) if sign(share, epsilon))
        return Labels(played, sum(1 << i for i, gap in enumerate(self.gaps) if not sign(gap, epsilon)))

    def at(self, epsilon: Fraction) -> Mix:
        """The mix at an epsilon."""
        return tuple(value_of(share, epsilon) for share in self.shares)

    def halted(self, epsilon: Algebraic) -> Path:
        """The vertex at an epsilon, as a constant path; at an irrational one the path itself."""
        if not isinstance(epsilon, Fraction):
            return self
        *shares, value = (constant(value_of(one, epsilon)) for one in (*self.shares, self.value))
        return Path(tuple(shares), value, tuple(constant(value_of(gap, epsilon)) for gap in self.gaps))

    @property
    def events(self) -> set[Algebraic]:
        """Epsilons above 0 at which its labels change, or it is not defined."""
        return set().union(*map(positive_roots, (*self.shares, *self.gaps)))


Paths = tuple[Path, ...]
Span = tuple[Paths, Paths]
"""A set of equilibria as functions of epsilon: the extreme mixes of the row player, and of the column player."""
Spanning = Callable[[Sequence[Labels], Sequence[Labels]], list[Sides]]


@dataclass(frozen=True, repr=False)
class Family(EquilibriumSet):
    """A set of equilibria as a function of epsilon.

    Attributes:
        names: [n] the agents.
        rows: the extreme mixes of the row player; a single one if the set is a point.
        columns: the extreme mixes of the column player.
        interval: the epsilons for which these are equilibria. Inside, the set is maximal, and no share is 0 except
            those that always are. At the bounds the formulas still give equilibria.
    """

    names: tuple[str, ...]
    rows: Paths
    columns: Paths
    interval: Interval

    @property
    def texts(self) -> tuple[list[str], list[str]]:
        """The extreme mixes of the row player and of the column player in words."""
        rows, columns = (
            [mix_text(self.names, map(function_text, path.shares)) for path in paths]
            for paths in (self.rows, self.columns)
        )
        return rows, columns

    @property
    def paid(self) -> list[str]:
        """What the row player and the column player are paid, in words."""
        values = [dict.fromkeys(function_text(path.value) for path in paths) for paths in (self.columns, self.rows)]
        return [" to ".join(each) for each in values]

    def __str__(self) -> str:
        return f"{set_text(*self.texts, self.paid)}; for {self.interval}"


@dataclass(frozen=True)
class Ranges:
    """All equilibria of a library at every epsilon from 0.

    Attributes:
        names: [n] the agents.
        families: the equilibria as functions of epsilon, with their ranges. Families at a single epsilon are the sets
            that are not limits of others.
        breakpoints: the epsilons at which the equilibria change, ascending; 0 only if they differ there from those just
            above.
    """

    names: tuple[str, ...]
    families: tuple[Family, ...]
    breakpoints: tuple[Algebraic, ...]

    def __repr__(self) -> str:
        return f"Ranges({len(self.families)} families; {listed(self.names)})"

    def __str__(self) -> str:
        return "\n".join(map(str, self.families))


def ranges(
    agents: Iterable[Agent | str],
    cost: GivenCost = "depth",
    *,
    payoffs: GivenPayoffs = PAYOFFS,
    symmetric_only: bool = False,
    report: Report = no_report,
) -> Ranges:
    """All equilibria of a library as functions of epsilon, with the exact range of each.

    Args:
        agents, cost, payoffs, symmetric_only: as for `equilibria`.
        report: see `modal_env.progress`; the fraction of all epsilons done, of which 0 to 1 count as half.

    Raises:
        GameError, FormulaError: as `ProgramGame`.
    """
    check_report(report)
    game = ProgramGame(agents, 0, cost, payoffs)
    check_symmetric(game, symmetric_only)
    return follow(game.names, *game.affine, symmetric_only, report, game.turned.affine)


def follow(
    names: tuple[str, ...],
    base: Matrix,
    slope: Matrix,
    symmetric_only: bool,
    report: Report = no_report,
    turned: tuple[Matrix, Matrix] | None = None,
) -> Ranges:
    """The equilibria of the games base - epsilon * slope, [n][n] each.

    Args:
        turned: base and slope of the column player, its own agent first; None in a symmetric game.
    """
    row, column = (base, slope), turned or (base, slope)
    alike = classes(row, column)
    theirs = _Moving(*row, *alike)
    mine = theirs if row == column else _Moving(*column, *alike[::-1])
    found, breakpoints = _families(_cells(mine, theirs, report), cliques if symmetric_only else bicliques)
    families = (Family(names, mine.whole(rows), theirs.whole(columns), interval) for (rows, columns), interval in found)
    return Ranges(names, tuple(families), tuple(breakpoints))


class _Moving:
    """The vertices of one player's mixes in the reduced game, and in the whole game.

    Args:
        base, slope: of the other player's payoffs.
        replies, mixed: the classes of agents of the other player, and of the mixes.
    """

    def __init__(self, base: Matrix, slope: Matrix, replies: Sequence[Class], mixed: Sequence[Class]) -> None:
        self.mixed, self.size = mixed, len(base)
        rows = [[affine(a, -b) for a, b in zip(*pair, strict=True)] for pair in zip(base, slope, strict=True)]
        self.payoffs = smaller(rows, replies, mixed)
        self._known: dict[tuple[int, tuple[int, ...]], Path] = {}

    def paths(self, epsilon: Fraction) -> Paths:
        """All vertices of the reduced game at an epsilon, as paths."""
        utilities = [[value_of(paid, epsilon) for paid in row] for row in self.payoffs]
        return tuple(self._path(utilities, vertex.labels) for vertex in vertices(utilities))

    def _path(self, utilities: Sequence[Sequence[Fraction]], labels: Labels) -> Path:
        """The path of the vertex with these labels: where its agents' shares add up to 1, and its replies tie."""
        played, replies = numbers(labels.played), numbers(labels.replies)
        replies = _independent([[utilities[i][j] for j in played] for i in replies], replies)
        if (labels.played, replies) not in self._known:
            *shares, value = _solved([[self.payoffs[i][j] for j in played] for i in replies])
            mix = dict(zip(played, shares, strict=True))
            whole = tuple(mix.get(j, FUNCTIONS.zero) for j in range(len(self.mixed)))
            gaps = tuple(gap(value, whole, row) for row in self.payoffs)
            self._known[labels.played, replies] = Path(whole, value, gaps)
        return self._known[labels.played, replies]

    def whole(self, paths: Paths) -> Paths:
        """All paths of the whole game for some paths of the reduced game."""
        mixes = [(path, mix) for path in paths for mix in spread(path.shares, self.mixed, self.size, FUNCTIONS.zero)]
        return tuple(Path(mix, path.value, path.gaps) for path, mix in mixes)


def _solved(rows: Sequence[Sequence[PolyElement]]) -> list[FracElement]:
    """The shares that add up to 1 and pay every row the same, and this payoff."""
    equations = [[*(POLYNOMIALS(1) for _ in rows), POLYNOMIALS(0)], *([*row, POLYNOMIALS(-1)] for row in rows)]
    right = [[POLYNOMIALS(int(number == 0))] for number in range(len(equations))]
    size, domain = len(equations), POLYNOMIALS.to_domain()
    tops, bottom = DomainMatrix(equations, (size, size), domain).solve_den(DomainMatrix(right, (size, 1), domain))
    return [FUNCTIONS.new(top, bottom) for top in tops.to_list_flat()]


def gap(value: FracElement, shares: Sequence[FracElement], row: Sequence[PolyElement]) -> FracElement:
    """How much less than `value` an agent gets against a mix, given what it is paid against each agent."""
    return value - sum((share * paid for share, paid in zip(shares, row, strict=True) if share), FUNCTIONS.zero)


def _independent(rows: Sequence[Sequence[Fraction]], replies: tuple[int, ...]) -> tuple[int, ...]:
    """The first replies whose rows of payoffs, less the value, determine the mix together with the sum of shares."""
    exact = [[QQ(value.numerator, value.denominator) for value in row] + [QQ(-1)] for row in rows]
    exact.insert(0, [QQ(1)] * (len(exact[0]) - 1) + [QQ(0)])
    _, pivots = DomainMatrix(exact, (len(exact), len(exact[0])), QQ).transpose().rref()
    return tuple(replies[number - 1] for number in pivots[1:])


def _cells(mine: _Moving, theirs: _Moving, report: Report) -> list[tuple[Interval, Span]]:
    """All open intervals of epsilon between events, ascending, each with the vertices of both players there."""
    found: list[tuple[Interval, Span]] = []
    todo = [Interval(ZERO, None)]
    while todo:
        low, high = todo.pop()
        epsilon = between(low, high)
        columns = theirs.paths(epsilon)
        paths = (columns if mine is theirs else mine.paths(epsilon)), columns
        events = set().union(*(path.events for side in paths for path in side))
        if epsilon in events:
            todo += [Interval(low, epsilon), Interval(epsilon, high)]
            continue
        last = max((event for event in events if low < event < epsilon), default=low)
        first = min((event for event in events if event > epsilon and (high is None or event < high)), default=high)
        found.append((Interval(last, first), paths))
        report(sum(_part(interval.high) - _part(interval.low) for interval, _ in found))
        todo += [Interval(low, last)] if low < last else []
        todo += [Interval(first, high)] if first is not None and first != high else []
    return sorted(found, key=lambda cell: cell[0].low)


def _part(epsilon: Algebraic | None) -> float:
    """Progress at an epsilon; epsilon 1 counts as half."""
    return 1.0 if epsilon is None else float(epsilon) / (1 + float(epsilon))


def _families(
    cells: Sequence[tuple[Interval, Span]], spanning: Spanning
) -> tuple[list[tuple[Span, Interval]], list[Algebraic]]:
    """Every set with its range, and the breakpoints. Sets at one epsilon are listed if not limits of sets nearby."""
    found: list[tuple[Span, Interval]] = []
    breakpoints: list[Algebraic] = []
    below: dict[object, int] = {}  # the extreme mixes of the sets just below an event -> their numbers in `found`
    for number, (interval, paths) in enumerate(cells):
        event = interval.low
        spans = {tuple(map(frozenset, span)): span for span in _spans(paths, between(*interval), spanning)}
        there = {_image(span, event): span for span in _spans(cells[max(number - 1, 0)][1], event, spanning)}
        limits = {_image(span, event) for span in spans.values()}
        is_quiet = there.keys() <= limits and len(there) == len(spans)
        if not is_quiet or (number and below.keys() != spans.keys()):
            breakpoints.append(event)
        limits |= {_image(found[i][0], event) for i in below.values()}
        for rows, columns in (span for image, span in there.items() if image not in limits):
            halted = tuple(path.halted(event) for path in rows), tuple(path.halted(event) for path in columns)
            found.append((halted, Interval(event, event)))
        for key in below.keys() & spans.keys():
            span, (low, _) = found[below[key]]
            found[below[key]] = span, Interval(low, interval.high)
        new = [key for key in spans if key not in below]
        below = {key: below[key] for key in spans if key in below}
        below |= {key: len(found) + place for place, key in enumerate(new)}
        found += [(spans[key], interval) for key in new]
    return found, breakpoints


def _image(span: Span, epsilon: Algebraic) -> object:
    """The limits at an event of the vertices of a set."""
    return tuple(frozenset(path.labels(epsilon) for path in paths) for paths in span)


def _spans(paths: Span, epsilon: Algebraic, spanning: Spanning) -> tuple[Span, ...]:
    """The sets of equilibria at an epsilon, given the paths of both players' vertices there or nearby."""
    columns = _labeled(paths[1], epsilon)
    rows = columns if paths[0] is paths[1] else _labeled(paths[0], epsilon)
    mine, theirs = list(rows.values()), list(columns.values())
    sets = spanning(list(rows), list(columns))
    return tuple((tuple(mine[i] for i in side), tuple(theirs[i] for i in opposite)) for side, opposite in sets)


def _labeled(paths: Paths, epsilon: Algebraic) -> dict[Labels, Path]:
    """The vertices at an epsilon by their labels; a limit of vertices that lies in a larger face is none."""
    found: dict[Labels, Path] = {}
    for path in paths:
        found.setdefault(path.labels(epsilon), path)
    return {label: path for label, path in found.items() if not any(_lies_in(label, other) for other in found)}


def _lies_in(label: Labels, other: Labels) -> bool:
    """Whether a limit of vertices is not a vertex, because the other lies in a smaller face."""
    return label != other and other.played & ~label.played == 0 == label.replies & ~other.replies
