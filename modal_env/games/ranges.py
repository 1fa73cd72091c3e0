"""The equilibria of a library for every epsilon: each as a function of epsilon, on an exact range.

Between the events of `vertex_paths` the vertices move, but the pairs that are equilibria do not change. At an event the
vertices are limits of those nearby, and their equilibria are computed anew.

A limit of equilibria is an equilibrium, so ranges include their bounds. There the mix may have lost an agent, or be
part of a larger set of equilibria.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from modal_env.checks import Number
from modal_env.games.algebraic import Algebraic, Ratio, between
from modal_env.games.costs import GivenCost
from modal_env.games.equilibria import Equilibrium, EquilibriumSet, check_symmetric, mix_text, set_text, spanned
from modal_env.games.game import PAYOFFS, GivenPayoffs, Matrix, ProgramGame, check_epsilon
from modal_env.games.vertex_paths import Cell, Moving, Path, Paths, Walk, gap
from modal_env.games.vertices import Class, Labels, Sides, bicliques, classes, cliques, smaller, spread
from modal_env.logic.notation import Agent
from modal_env.logic.tournaments import listed
from modal_env.progress import Report, no_report


class Interval(NamedTuple):
    """All epsilon from `low` to `high`, both included; to infinity if `high` is None."""

    low: Algebraic
    high: Algebraic | None

    @property
    def is_point(self) -> bool:
        """Whether it is a single number."""
        return self.high is not None and self.low == self.high

    def covers(self, epsilon: Algebraic) -> bool:
        """Whether a number lies in it."""
        return self.low <= epsilon and (self.high is None or epsilon <= self.high)

    def __str__(self) -> str:
        if self.high is None:
            return f"eps >= {self.low}"
        return f"eps = {self.low}" if self.is_point else f"{self.low} <= eps <= {self.high}"


Span = tuple[Paths, Paths]
"""A set of equilibria as functions of epsilon: the extreme mixes of the row player, and of the column player."""


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

    def __str__(self) -> str:
        rows, columns = ([mix_text(self.names, path.shares) for path in paths] for paths in (self.rows, self.columns))
        paid = [" to ".join(dict.fromkeys(str(path.value) for path in paths)) for paths in (self.columns, self.rows)]
        return f"{set_text(rows, columns, paid)}; for {self.interval}"


@dataclass(frozen=True)
class Piece:
    """Epsilons with the same formulas of equilibria: a single number, or an open interval."""

    interval: Interval
    spans: tuple[Span, ...]


@dataclass(frozen=True)
class Ranges:
    """All equilibria of a library at every epsilon from 0.

    Attributes:
        names: [n] the agents.
        families: the equilibria as functions of epsilon, with their ranges. Families at a single epsilon are the sets
            that are not limits of others.
        pieces: the same by ascending epsilon: the points where equilibria change, and the open intervals between.
    """

    names: tuple[str, ...]
    families: tuple[Family, ...]
    pieces: tuple[Piece, ...]

    def __repr__(self) -> str:
        return f"Ranges({len(self.families)} families; {listed(self.names)})"

    def __str__(self) -> str:
        return "\n".join(map(str, self.families))

    def _repr_html_(self) -> str:
        """A row per family, for a notebook."""
        from modal_env.pictures.style import notebook
        from modal_env.pictures.tables import rows

        cells = [tuple(str(family).rsplit("; for ", 1)) for family in self.families]
        return notebook(rows("Equilibria by epsilon", ("equilibria", "epsilon"), cells))

    @property
    def breakpoints(self) -> tuple[Algebraic, ...]:
        """The epsilons at which the equilibria change, ascending; 0 only if they differ there from those just above."""
        return tuple(piece.interval.low for piece in self.pieces if piece.interval.is_point)

    def at(self, epsilon: Number) -> list[Equilibrium]:
        """The equilibria at an epsilon, evaluated from the formulas; equal to the result of `equilibria`.

        Raises:
            GameError: it is not a number from 0.
        """
        value = check_epsilon(epsilon)
        points = [piece for piece in self.pieces if piece.interval.is_point and piece.interval.low == value]
        piece = points[0] if points else next(piece for piece in self.pieces if piece.interval.covers(value))
        moved = [{path: path.at(value) for span in piece.spans for path in span[side]} for side in (0, 1)]
        rows, columns = (
            sorted(dict.fromkeys(each.values()), key=lambda vertex: vertex.mix, reverse=True) for each in moved
        )
        places = [{vertex: number for number, vertex in enumerate(found)} for found in (rows, columns)]
        sides = [
            [tuple(sorted({places[side][moved[side][path]] for path in span[side]})) for side in (0, 1)]
            for span in piece.spans
        ]
        return spanned(self.names, (rows, columns), sorted((mine, theirs) for mine, theirs in sides))


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
    row, column = (base, slope), (base, slope) if turned is None else turned
    alike = classes(row, column)
    theirs = Moving(*(smaller(matrix, *alike) for matrix in row))
    mine = theirs if row == column else Moving(*(smaller(matrix, *alike[::-1]) for matrix in column))
    cells = Walk(mine, theirs).cells(report)
    pieces = _merged(_pieces(cells, cliques if symmetric_only else bicliques))
    if min(map(len, alike)) < len(names):
        sides = [_spreading(alike[0], column), _spreading(alike[1], row)]
        pieces = [Piece(piece.interval, tuple(_spread(span, sides) for span in piece.spans)) for piece in pieces]
    return Ranges(names, tuple(_families(names, pieces)), tuple(pieces))


def _spreading(alike: Sequence[Class], paid: tuple[Matrix, Matrix]) -> Callable[[Path], Paths]:
    """A cached function from a path of the reduced game to all its paths in the whole game."""
    return lru_cache(maxsize=None)(lambda path: _whole(path, alike, *paid))


def _spread(span: Span, sides: Sequence[Callable[[Path], Paths]]) -> Span:
    """A set of the reduced game as a set of the whole game."""
    rows, columns = (
        tuple(one for path in paths for one in whole(path)) for paths, whole in zip(span, sides, strict=True)
    )
    return rows, columns


def _whole(path: Path, alike: Sequence[Class], base: Matrix, slope: Matrix) -> Paths:
    """All paths of the whole game for one path of the reduced game, given the other player's payoffs."""
    rows = [list(zip(*pair, strict=True)) for pair in zip(base, slope, strict=True)]
    return tuple(
        Path(shares, path.value, tuple(gap(path.value, shares, row) for row in rows))
        for shares in spread(path.shares, alike, len(base), Ratio.constant(Fraction(0)))
    )


Spanning = Callable[[Sequence[Labels], Sequence[Labels]], list[Sides]]


def _pieces(cells: Sequence[Cell], spanning: Spanning) -> list[Piece]:
    """The equilibria at every event and between them."""
    pieces = []
    for number, cell in enumerate(cells):
        nearby = cells[max(number - 1, 0)].paths
        pieces.append(Piece(Interval(cell.low, cell.low), _spans(nearby, cell.low, spanning)))
        inside = between(cell.low, cell.high)
        pieces.append(Piece(Interval(cell.low, cell.high), _spans(cell.paths, inside, spanning)))
    return pieces


def _spans(paths: tuple[Paths, Paths], epsilon: Algebraic, spanning: Spanning) -> tuple[Span, ...]:
    """The sets of equilibria at an epsilon, given the paths of both players' vertices there or nearby."""
    columns = _labeled(paths[1], epsilon)
    rows = columns if paths[0] is paths[1] else _labeled(paths[0], epsilon)
    mine, theirs = list(rows.values()), list(columns.values())
    sets = spanning(list(rows), list(columns))
    return tuple((tuple(mine[i] for i in side), tuple(theirs[i] for i in opposite)) for side, opposite in sets)


def _labeled(paths: Paths, epsilon: Algebraic) -> dict[Labels, Path]:
    """The vertices at an epsilon by their labels."""
    found: dict[Labels, Path] = {}
    for path in paths:
        found.setdefault(path.labels(epsilon), path)
    return {label: path for label, path in found.items() if not any(_lies_in(label, other) for other in found)}


def _lies_in(label: Labels, other: Labels) -> bool:
    """Whether a limit of vertices is not a vertex, because the other lies in a smaller face."""
    return label != other and other.played & ~label.played == 0 == label.replies & ~other.replies


def _image(span: Span, epsilon: Algebraic) -> tuple[frozenset[Labels], ...]:
    """The limits at an event of the vertices of a set."""
    return tuple(frozenset(path.labels(epsilon) for path in paths) for paths in span)


def _same(span: Span, other: Span) -> bool:
    return [set(paths) for paths in span] == [set(paths) for paths in other]


def _merged(pieces: Sequence[Piece]) -> list[Piece]:
    """The pieces, with intervals joined at events where no equilibrium changes."""
    start, first = pieces[:2]
    begins_there = len(start.spans) == len(first.spans) and _arrives(start, first)
    merged = [first] if begins_there else [start, first]
    for point, after in zip(pieces[2::2], pieces[3::2], strict=True):
        before = merged[-1]
        is_same = len(before.spans) == len(after.spans) == len(point.spans)
        is_same &= all(any(_same(span, other) for other in after.spans) for span in before.spans)
        if is_same and _arrives(point, before):
            merged[-1] = Piece(Interval(before.interval.low, after.interval.high), before.spans)
        else:
            merged += [point, after]
    return merged


def _arrives(point: Piece, neighbor: Piece) -> bool:
    """Whether all sets at an event are limits of sets in a neighboring interval."""
    epsilon = point.interval.low
    limits = [_image(span, epsilon) for span in neighbor.spans]
    return all(_image(span, epsilon) in limits for span in point.spans)


def _families(names: tuple[str, ...], pieces: Sequence[Piece]) -> list[Family]:
    """Every set with its range; sets at a single epsilon only if they are not limits of others."""
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
    """The sets at one epsilon that are not limits of sets nearby."""
    epsilon = point.interval.low
    limits = [_image(span, epsilon) for piece in nearby for span in piece.spans]
    return [
        Family(names, _halted(rows, epsilon), _halted(columns, epsilon), point.interval)
        for rows, columns in point.spans
        if _image((rows, columns), epsilon) not in limits
    ]


def _halted(paths: Paths, epsilon: Algebraic) -> Paths:
    return tuple(path.halted(epsilon) for path in paths)
