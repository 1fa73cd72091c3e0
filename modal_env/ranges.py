"""For which epsilon which equilibria exist: every equilibrium of a library as a function of epsilon, with exact bounds.

The payoffs are affine in epsilon, so a vertex of the polyhedron in `vertices` moves along quotients of polynomials
(Cramer's rule) for as long as its agents and best replies stay the same. Where a share or the disadvantage of another
reply becomes 0, or a quotient has a pole, something may change: between such events, which are roots of polynomials,
the structure of the game is constant. The events are found from inside: take any epsilon, follow all vertices there to
the nearest events on both sides, and go on beyond these. At an event itself the vertices are limits of those nearby.

Equilibria cannot end abruptly: the limit of equilibria is one. So bounds of ranges always belong to them, though there
the mix may have lost an agent, or be part of a larger set of equilibria.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import NamedTuple

from modal_env.algebraic import Algebraic, Polynomial, Ratio, Root, between, positive_roots
from modal_env.equilibria import Equilibrium, show, spanned, tell
from modal_env.game import PAYOFFS, Game, Matrix, Number, check_epsilon
from modal_env.syntax import Agent
from modal_env.vertices import Labels, Sides, Vertex, bicliques, cliques, vertices

ZERO = Fraction(0)


class Interval(NamedTuple):
    """All epsilon from `low` to `high`, both included; to infinity, where `high` is None."""

    low: Algebraic
    high: Algebraic | None

    @property
    def is_point(self) -> bool:
        """Whether it is one number only."""
        return self.high is not None and self.low == self.high

    def covers(self, epsilon: Algebraic) -> bool:
        """Whether a number lies in it."""
        return self.low <= epsilon and (self.high is None or epsilon <= self.high)

    def __str__(self) -> str:
        if self.high is None:
            return f"eps >= {self.low}"
        return f"eps = {self.low}" if self.is_point else f"{self.low} <= eps <= {self.high}"


@dataclass(frozen=True)
class Path:
    """A vertex that moves with epsilon.

    Attributes:
        shares: [n] what it plays.
        value: what a best reply to it is paid.
        gaps: [n] how much less every agent is paid against it.
    """

    shares: tuple[Ratio, ...]
    value: Ratio
    gaps: tuple[Ratio, ...]

    def labels(self, epsilon: Algebraic) -> Labels:
        """The agents that it plays and its best replies."""
        played = sum(1 << i for i, share in enumerate(self.shares) if share.sign(epsilon))
        return Labels(played, sum(1 << i for i, gap in enumerate(self.gaps) if not gap.sign(epsilon)))

    def at(self, epsilon: Fraction) -> Vertex:
        """Where it is."""
        mix = tuple(share(epsilon) for share in self.shares)
        return Vertex(mix, self.value(epsilon), self.labels(epsilon))

    def halted(self, epsilon: Algebraic) -> Path:
        """Where it is at a fraction, as a path that does not move; at another number the same path."""
        if isinstance(epsilon, Root):
            return self
        shares, gaps = (
            tuple(Ratio.constant(ratio(epsilon)) for ratio in ratios) for ratios in (self.shares, self.gaps)
        )
        return Path(shares, Ratio.constant(self.value(epsilon)), gaps)

    @property
    def events(self) -> Iterator[Algebraic]:
        """Epsilons above 0 at which its labels change, or it is not defined."""
        for ratio in (*self.shares, *self.gaps):
            yield from _roots(ratio.top)
            yield from _roots(ratio.bottom)


_roots = cache(positive_roots)

Paths = tuple[Path, ...]
Span = tuple[Paths, Paths]
"""A set of equilibria that moves: its extreme mixes of the row player, and of the column player."""


@dataclass(frozen=True)
class Family:
    """A set of equilibria as a function of epsilon: any mixture of `rows` against any of `columns`. Mostly one point.

    Attributes:
        names: [n] the agents.
        rows: the extreme mixes of the row player; one, where the set is a point.
        columns: those of the column player.
        interval: the epsilons for which these are equilibria. Inside, the set is maximal, and no share is 0 but those
            that always are. At the bounds the formulas still give equilibria.
    """

    names: tuple[str, ...]
    rows: Paths
    columns: Paths
    interval: Interval

    @property
    def is_point(self) -> bool:
        """Whether it is a single equilibrium at each epsilon."""
        return len(self.rows) == len(self.columns) == 1

    @property
    def is_symmetric(self) -> bool:
        """Whether both players have the same mixes: for a point, whether both do the same."""
        return self.rows == self.columns

    def __str__(self) -> str:
        rows, columns = ([show(self.names, path.shares) for path in paths] for paths in (self.rows, self.columns))
        paid = [" or ".join(dict.fromkeys(str(path.value) for path in paths)) for paths in (self.columns, self.rows)]
        return f"{tell(rows, columns, paid)}; for {self.interval}"


@dataclass(frozen=True)
class Piece:
    """Epsilons for which the equilibria are told by the same formulas: one number, or all strictly between two."""

    interval: Interval
    spans: tuple[Span, ...]


@dataclass(frozen=True)
class Ranges:
    """All equilibria of a library at every epsilon from 0.

    Attributes:
        names: [n] the agents.
        families: the equilibria as functions of epsilon, with their ranges. Those at one epsilon only are of the sets
            that are no limits of others.
        pieces: the same, epsilon after epsilon: numbers and the open intervals between them take turns.
    """

    names: tuple[str, ...]
    families: tuple[Family, ...]
    pieces: tuple[Piece, ...]

    @property
    def breakpoints(self) -> tuple[Algebraic, ...]:
        """The epsilons at which the equilibria change, 0 first."""
        return tuple(piece.interval.low for piece in self.pieces if piece.interval.is_point)

    def at(self, epsilon: Number) -> list[Equilibrium]:
        """The equilibria at an epsilon: what `equilibria` finds there, from the formulas.

        Raises:
            GameError: no number from 0.
        """
        value = check_epsilon(epsilon)
        points = [piece for piece in self.pieces if piece.interval.is_point and piece.interval.low == value]
        piece = points[0] if points else next(piece for piece in self.pieces if piece.interval.covers(value))
        moved = {path: path.at(value) for span in piece.spans for paths in span for path in paths}
        found = sorted(dict.fromkeys(moved.values()), key=lambda vertex: vertex.mix, reverse=True)
        place = {vertex: number for number, vertex in enumerate(found)}
        sides = [[tuple(sorted({place[moved[path]] for path in paths})) for paths in span] for span in piece.spans]
        return spanned(self.names, found, sorted((rows, columns) for rows, columns in sides))


def ranges(
    agents: Iterable[Agent],
    cost: str = "depth",
    *,
    payoffs: Mapping[str, Number] = PAYOFFS,
    symmetric_only: bool = False,
) -> Ranges:
    """All equilibria of a library as functions of epsilon, with the exact range of each.

    Args:
        agents, cost, payoffs, symmetric_only: as of `equilibria`.

    Raises:
        GameError: as `Game`.
    """
    game = Game(agents, 0, cost, payoffs)
    return follow(game.names, *game.affine, symmetric_only)


def follow(names: tuple[str, ...], base: Matrix, slope: Matrix, symmetric_only: bool) -> Ranges:
    """The equilibria of the symmetric games base - epsilon * slope, [n][n] each."""
    pieces = _merged(_pieces(_Walk(base, slope).cells(), cliques if symmetric_only else bicliques))
    return Ranges(names, tuple(_families(names, pieces)), tuple(pieces))


class Cell(NamedTuple):
    """An open interval of epsilon without events, and all vertices there."""

    low: Algebraic
    high: Algebraic | None
    paths: Paths


class _Walk:
    """The way through all epsilon, from event to event."""

    def __init__(self, base: Matrix, slope: Matrix) -> None:
        self.base, self.slope = base, slope
        self.moving = [
            [Polynomial.of((a, -b)) for a, b in zip(*rows, strict=True)] for rows in zip(base, slope, strict=True)
        ]
        self._known: dict[tuple[tuple[int, ...], tuple[int, ...]], Path] = {}

    def cells(self) -> list[Cell]:
        """All intervals between events, in ascending sequence."""
        found: list[Cell] = []
        todo: list[tuple[Algebraic, Algebraic | None]] = [(ZERO, None)]
        while todo:
            low, high = todo.pop()
            epsilon = between(low, high)
            paths = self._paths(epsilon)
            events = [event for path in paths for event in path.events]
            if any(event == epsilon for event in events):
                todo += [(low, epsilon), (epsilon, high)]
                continue
            last = max((event for event in events if low < event < epsilon), default=low)
            following = [event for event in events if event > epsilon and (high is None or event < high)]
            found.append(Cell(last, min(following, default=high), paths))
            if low < last:
                todo.append((low, last))
            if following:
                todo.append((min(following), high))
        return sorted(found, key=lambda cell: cell.low)

    def _paths(self, epsilon: Fraction) -> Paths:
        """All vertices at an epsilon, as they move near it."""
        utilities = [
            [points - epsilon * cost for points, cost in zip(*rows, strict=True)]
            for rows in zip(self.base, self.slope, strict=True)
        ]
        return tuple(self._path(utilities, vertex.labels) for vertex in vertices(utilities))

    def _path(self, utilities: Sequence[Sequence[Fraction]], labels: Labels) -> Path:
        """The vertex with these labels: its agents are those played, its value what these best replies are paid."""
        played, replies = (
            tuple(i for i in range(len(utilities)) if mask >> i & 1) for mask in (labels.played, labels.replies)
        )
        enough = _independent([[*(utilities[i][j] for j in played), Fraction(-1)] for i in replies], len(played))
        key = played, tuple(replies[number] for number in enough)
        if key not in self._known:
            self._known[key] = self._follow(*key)
        return self._known[key]

    def _follow(self, played: Sequence[int], replies: Sequence[int]) -> Path:
        """Solve for shares and value: shares add up to 1, and every reply is paid the value."""
        one, zero = Polynomial.of([1]), Polynomial.of([])
        rows = [[*(one for _ in played), zero, one]]
        rows += [[*(self.moving[i][j] for j in played), -one, zero] for i in replies]
        *tops, value, bottom = _solved(rows)
        shares = dict(zip(played, tops, strict=True))
        gaps = [sum((-(row[j] * share) for j, share in shares.items()), value) for row in self.moving]
        ratios = [Ratio.of(top, bottom) for top in (*(shares.get(i, zero) for i in range(len(gaps))), value, *gaps)]
        return Path(tuple(ratios[: len(gaps)]), ratios[len(gaps)], tuple(ratios[len(gaps) + 1 :]))


def _independent(rows: Sequence[Sequence[Fraction]], number: int) -> list[int]:
    """The first `number` rows that, with (1, ..., 1, 0), are linearly independent."""
    basis = [[*(Fraction(1) for _ in rows[0][:-1]), ZERO]]
    chosen: list[int] = []
    for place, row in enumerate(rows):
        rest = list(row)
        for other in basis:
            pivot = next(i for i, value in enumerate(other) if value)
            rest = [a - rest[pivot] / other[pivot] * b for a, b in zip(rest, other, strict=True)]
        if any(rest) and len(chosen) < number:
            basis.append(rest)
            chosen.append(place)
    return chosen


def _solved(rows: list[list[Polynomial]]) -> list[Polynomial]:
    """The solution of linear equations, whose last column is the right side: numerators and, last, their denominator.

    Elimination without fractions (Bareiss, Sylvester's identity and multistep integer-preserving Gaussian elimination,
    1968): all divisions here come out even.
    """
    previous = Polynomial.of([1])
    for column in range(len(rows)):
        pivot = next(place for place in range(column, len(rows)) if rows[place][column])
        rows[column], rows[pivot] = rows[pivot], rows[column]
        top = rows[column]
        for place, row in enumerate(rows):
            if place != column:
                rows[place] = [(top[column] * a - row[column] * b) // previous for a, b in zip(row, top, strict=True)]
        previous = top[column]
    return [*(row[-1] for row in rows), previous]


Spanning = Callable[[Sequence[Labels]], list[Sides]]


def _pieces(cells: Sequence[Cell], spanning: Spanning) -> list[Piece]:
    """The equilibria at every event and between them."""
    pieces = []
    for number, cell in enumerate(cells):
        nearby = cells[max(number - 1, 0)].paths
        pieces.append(Piece(Interval(cell.low, cell.low), _spans(nearby, cell.low, spanning)))
        inside = between(cell.low, cell.high)
        pieces.append(Piece(Interval(cell.low, cell.high), _spans(cell.paths, inside, spanning)))
    return pieces


def _spans(paths: Paths, epsilon: Algebraic, spanning: Spanning) -> tuple[Span, ...]:
    """The sets of equilibria at an epsilon, of the paths of all vertices there or nearby."""
    found = {path.labels(epsilon): path for path in reversed(paths)}
    labels = [label for label in found if not any(_lies_in(label, other) for other in found)]
    kept = [found[label] for label in labels]
    return tuple((tuple(kept[i] for i in rows), tuple(kept[i] for i in columns)) for rows, columns in spanning(labels))


def _lies_in(label: Labels, other: Labels) -> bool:
    """Whether a limit of vertices is no vertex, as the other lies in a smaller face."""
    return label != other and other.played & ~label.played == 0 == label.replies & ~other.replies


def _image(span: Span, epsilon: Algebraic) -> tuple[frozenset[Labels], ...]:
    """Where the vertices of a set arrive at an event."""
    return tuple(frozenset(path.labels(epsilon) for path in paths) for paths in span)


def _same(span: Span, other: Span) -> bool:
    return [set(paths) for paths in span] == [set(paths) for paths in other]


def _merged(pieces: Sequence[Piece]) -> list[Piece]:
    """The pieces without the events at which no equilibrium changes."""
    merged = list(pieces[:2])
    for point, after in zip(pieces[2::2], pieces[3::2], strict=True):
        before = merged[-1]
        epsilon = point.interval.low
        arrive = [_image(span, epsilon) for span in before.spans]
        is_same = len(before.spans) == len(after.spans) == len(point.spans)
        is_same &= all(any(_same(span, other) for other in after.spans) for span in before.spans)
        if is_same and all(_image(span, epsilon) in arrive for span in point.spans):
            merged[-1] = Piece(Interval(before.interval.low, after.interval.high), before.spans)
        else:
            merged += [point, after]
    return merged


def _families(names: tuple[str, ...], pieces: Sequence[Piece]) -> list[Family]:
    """Every set with its range; of those at one epsilon only, the ones that are no limits."""
    families: list[Family] = []
    for number, piece in enumerate(pieces):
        if piece.interval.is_point:
            families += _alone(names, piece, [*pieces[max(number - 1, 0) : number], pieces[number + 1]])
            continue
        low, high = piece.interval
        for span in piece.spans:
            same = [i for i, family in enumerate(families) if _same((family.rows, family.columns), span)]
            if same and families[same[-1]].interval.high == low:
                low_before = families[same[-1]].interval.low
                families[same[-1]] = Family(names, *span, Interval(low_before, high))
            else:
                families.append(Family(names, *span, piece.interval))
    return families


def _alone(names: tuple[str, ...], point: Piece, nearby: Sequence[Piece]) -> list[Family]:
    """The sets at one epsilon that are no limits of sets nearby."""
    epsilon = point.interval.low
    limits = [_image(span, epsilon) for piece in nearby for span in piece.spans]
    alone = [span for span in point.spans if _image(span, epsilon) not in limits]
    return [
        Family(names, *(tuple(path.halted(epsilon) for path in paths) for paths in span), point.interval)
        for span in alone
    ]
