"""How the vertices of `modal_env.games.vertices` move with epsilon.

The payoffs are affine in epsilon, so a vertex moves along quotients of polynomials (Cramer's rule) as long as its
agents and best replies stay the same. These may change where a share, or the gap of another reply, becomes 0 or a
quotient has a pole: between such events, which are roots of polynomials, the structure of the game is constant. The
events are found from inside: take any epsilon, follow all its vertices to the nearest events on both sides, and
continue beyond these. No vertex appears in between: when the polyhedron touches another face, so does a vertex.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from modal_env.games.algebraic import Algebraic, Polynomial, Ratio, Root, between, positive_roots
from modal_env.games.vertices import Labels, Vertex, vertices
from modal_env.progress import Report, no_report

Matrix = Sequence[Sequence[Fraction]]
ZERO = Fraction(0)


@dataclass(frozen=True)
class Path:
    """A vertex that moves with epsilon.

    Attributes:
        shares: [n] the mix.
        value: the payoff of a best reply to it.
        gaps: [m] the value, less the payoff of each agent of the other player against the mix.
    """

    shares: tuple[Ratio, ...]
    value: Ratio
    gaps: tuple[Ratio, ...]

    def labels(self, epsilon: Algebraic) -> Labels:
        """The agents that it plays and its best replies."""
        played = sum(1 << i for i, share in enumerate(self.shares) if share.sign(epsilon))
        return Labels(played, sum(1 << i for i, gap in enumerate(self.gaps) if not gap.sign(epsilon)))

    def at(self, epsilon: Fraction) -> Vertex:
        """The vertex at an epsilon."""
        mix = tuple(share(epsilon) for share in self.shares)
        return Vertex(mix, self.value(epsilon), self.labels(epsilon))

    def halted(self, epsilon: Algebraic) -> Path:
        """The vertex at a rational epsilon, as a constant path; at an irrational one this path itself."""
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


_roots = lru_cache(maxsize=10_000)(positive_roots)

Paths = tuple[Path, ...]


class Cell(NamedTuple):
    """An open interval of epsilon without events, and all vertices there: the row player's, the column player's."""

    low: Algebraic
    high: Algebraic | None
    paths: tuple[Paths, Paths]


def _part(epsilon: Algebraic | None) -> float:
    """Progress at an epsilon, if these are visited in ascending order; epsilon 1 counts as half."""
    return 1.0 if epsilon is None else float(epsilon) / (1 + float(epsilon))


class Walk:
    """Visits all epsilon, from event to event."""

    def __init__(self, rows: Moving, columns: Moving) -> None:
        """
        Args:
            rows, columns: the vertices of the row player's and of the column player's mixes; the same object in a
                symmetric game.
        """
        self.rows, self.columns = rows, columns

    def cells(self, report: Report = no_report) -> list[Cell]:
        """All intervals between events, ascending."""
        found: list[Cell] = []
        todo: list[tuple[Algebraic, Algebraic | None]] = [(ZERO, None)]
        while todo:
            low, high = todo.pop()
            epsilon = between(low, high)
            columns = self.columns.paths(epsilon)
            paths = (columns if self.rows is self.columns else self.rows.paths(epsilon)), columns
            events = [event for side in dict.fromkeys(paths) for path in side for event in path.events]
            if any(event == epsilon for event in events):
                todo += [(low, epsilon), (epsilon, high)]
                continue
            last = max((event for event in events if low < event < epsilon), default=low)
            following = [event for event in events if event > epsilon and (high is None or event < high)]
            found.append(Cell(last, min(following, default=high), paths))
            report(sum(_part(cell.high) - _part(cell.low) for cell in found))
            if low < last:
                todo.append((low, last))
            if following:
                todo.append((min(following), high))
        return sorted(found, key=lambda cell: cell.low)


class Moving:
    """The vertices of one player's mixes.

    Args:
        base, slope: [m][n] the payoffs of the m agents of the other player against the n of the mixes are
            base - epsilon * slope.
    """

    def __init__(self, base: Matrix, slope: Matrix) -> None:
        self.base, self.slope = base, slope
        self.moving = [
            [Polynomial.of((a, -b)) for a, b in zip(*rows, strict=True)] for rows in zip(base, slope, strict=True)
        ]
        self._known: dict[tuple[tuple[int, ...], tuple[int, ...]], Path] = {}

    def paths(self, epsilon: Fraction) -> Paths:
        """All vertices at an epsilon, as paths."""
        utilities = [
            [points - epsilon * cost for points, cost in zip(*rows, strict=True)]
            for rows in zip(self.base, self.slope, strict=True)
        ]
        return tuple(self._path(utilities, vertex.labels) for vertex in vertices(utilities))

    def _path(self, utilities: Sequence[Sequence[Fraction]], labels: Labels) -> Path:
        """The path of the vertex with these labels."""
        played, replies = (
            tuple(i for i in range(mask.bit_length()) if mask >> i & 1) for mask in (labels.played, labels.replies)
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
        size = len(self.moving[0])
        ratios = [Ratio.of(top, bottom) for top in (*(shares.get(j, zero) for j in range(size)), value, *gaps)]
        return Path(tuple(ratios[:size]), ratios[size], tuple(ratios[size + 1 :]))


def gap(value: Ratio, shares: Sequence[Ratio], row: Sequence[tuple[Fraction, Fraction | int]]) -> Ratio:
    """How much less than a best reply an agent gets against a mix that moves with epsilon.

    Args:
        value: the payoff of a best reply.
        shares: [n] the mix.
        row: [n] the agent's payoffs: points, and costs in units of epsilon.
    """
    for share, (points, units) in zip(shares, row, strict=True):
        if share:
            value = value + -share * Ratio.of(Polynomial.of((points, -units)), Polynomial.of([1]))
    return value


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
    """Solve linear equations (last column: right side). Returns the numerators and, last, their denominator.

    Elimination without fractions (Bareiss, Sylvester's identity and multistep integer-preserving Gaussian elimination,
    1968): all divisions here are exact.
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
