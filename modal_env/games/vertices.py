"""The best-response polyhedron, and the sets of equilibria that its vertices span.

A symmetric game is a matrix U of the payoffs of the row's agent against the column's. Against a mix x every agent gets
at most max U x. A vertex of {(x, v): x a mix, U x <= v} is labeled by the agents that x plays and its best replies,
and two vertices x and y are an extreme equilibrium if each plays only best replies to the other (Mangasarian,
Equilibrium points of bimatrix games, 1964). All equilibria are mixtures of these: they are a union of products of
faces, the maximal Nash subsets, and those are the maximal bicliques of the extreme equilibria (Avis, Rosenberg, Savani
and von Stengel, Enumeration of Nash equilibria for two-player games, 2010). The symmetric ones (x, x) form faces, too:
the maximal cliques among the vertices that are equilibria with themselves.

Before that the game is made smaller (`classes`, `smaller`, `spread`). A strictly dominated agent is played in no
equilibrium; nor are those that are strictly dominated once it is gone, and so on (Osborne and Rubinstein, A Course in
Game Theory, 1994, section 4.2). Agents with equal rows and equal columns of payoffs are interchangeable in every mix,
so an extreme mix gives the share of such a class to one of its members.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import gcd, lcm
from typing import NamedTuple, TypeVar

from modal_env.progress import Report, no_report

Mix = tuple[Fraction, ...]
Sides = tuple[tuple[int, ...], tuple[int, ...]]
"""Numbers of vertices: those of the row player and those of the column player."""


class Labels(NamedTuple):
    """The labels of a vertex: the agents that it plays, and its best replies, as bits."""

    played: int
    replies: int


@dataclass(frozen=True)
class Vertex:
    """A vertex: its mix, [n], the payoff of a best reply to it, and its labels."""

    mix: Mix
    value: Fraction
    labels: Labels


def vertices(
    utilities: Sequence[Sequence[Fraction]], report: Report = no_report, *, symmetric_only: bool = False
) -> list[Vertex]:
    """The vertices of {(x, v): x a mix, U x <= v}, sorted: those that play the first agents most come first.

    Equal rows of U are one constraint.

    With z = x / v, for payoffs above 0, they are the vertices of {z >= 0: U z <= 1} other than 0. Random games of 8, 10
    and 12 agents have some 250, 1,500 and 5,000.

    Args:
        utilities: [m][n], the payoffs of m agents against the n that mixes consist of.
        report: see `modal_env.progress`.
        symmetric_only: only those that are equilibria with themselves, which takes much less time; m is n.
    """
    size = len(utilities[0])
    low = min(min(row) for row in utilities)
    scale = lcm(*(value.denominator for row in utilities for value in row))
    equal: dict[tuple[Fraction, ...], int] = {}  # a row -> the agents with these payoffs, as bits
    for number, row in enumerate(utilities):
        equal[tuple(row)] = equal.get(tuple(row), 0) | 1 << number
    rows = [[int((value - low) * scale) + 1 for value in row] for row in equal]
    rays = _double_description(rows, report, list(equal.values()) if symmetric_only else None)
    everybody = (1 << size) - 1
    found = []
    for ray, tight in rays:
        if total := sum(ray[1:]):
            mix = tuple(Fraction(value, total) for value in ray[1:])
            value = (Fraction(ray[0], total) - 1) / scale + low
            replies = sum(agents for number, agents in enumerate(equal.values()) if tight >> (size + number) & 1)
            found.append(Vertex(mix, value, Labels(~tight & everybody, replies)))
    return sorted(found, key=lambda vertex: vertex.mix, reverse=True)


Ray = tuple[tuple[int, ...], int]


def _double_description(rows: Sequence[Sequence[int]], report: Report, paid: Sequence[int] | None) -> list[Ray]:
    """The extreme rays of {(t, z): z >= 0, row z <= t for every row}, for entries above 0.

    With each constraint, the rays outside are removed, and every edge that leads outside is cut (Fukuda and Prodon,
    Double description method revisited, 1996).

    Args:
        paid: for each row the agents with these payoffs, as bits. If given, every step keeps only the rays on which the
            row is tight or these agents' z are 0. Both ends of an edge satisfy all that holds on it, so none is lost
            (De Moor, Vandenberghe and Vandewalle, The generalized linear complementarity problem and an algorithm to
            find all its solutions, 1992).

    Returns:
        Each ray (t, z_0, ..., z_n-1) with the constraints that are tight on it, as bits: those of z first.
    """
    size = len(rows[0])
    units = [tuple(int(i == j) for j in range(size + 1)) for i in range(size + 1)]
    all_zero, level = (1 << size) - 1, 1 << (size + len(rows))  # `level`: t = 0, which holds for no ray at the end
    rays = [(units[0], all_zero), *((units[j + 1], (all_zero ^ 1 << j) | level) for j in range(size))]
    either: list[tuple[int, int]] = []
    for number, row in enumerate(rows):
        mark = 1 << (size + number)
        rays = _cut(rays, row, mark, either)
        if paid is not None:
            either.append((mark, paid[number]))
            rays = [(ray, tight) for ray, tight in rays if _meets(tight, either[-1:])]
        report(2.0 ** (number + 1 - len(rows)))  # each may double the number of rays
    return rays


def _meets(tight: int, either: Sequence[tuple[int, int]]) -> bool:
    """Whether, for each pair of constraint sets, all constraints in at least one of the two are tight."""
    return all(tight & one == one or tight & other == other for one, other in either)


def _cut(rays: Sequence[Ray], row: Sequence[int], mark: int, either: Sequence[tuple[int, int]]) -> list[Ray]:
    """The extreme rays of a cone after one more constraint, whose bit is `mark`; all new ones meet `either`."""
    kept: list[Ray] = []
    inside: list[tuple[tuple[int, ...], int, int]] = []
    outside: list[tuple[tuple[int, ...], int, int]] = []
    for ray, tight in rays:
        value = ray[0] - sum(a * z for a, z in zip(row, ray[1:], strict=True))
        if value >= 0:
            kept.append((ray, tight if value else tight | mark))
        if value:
            (inside if value > 0 else outside).append((ray, tight, abs(value)))
    masks = [tight for _, tight in rays]
    for ray, tight, weight in inside:
        for other, others_tight, others_weight in outside:
            common = tight & others_tight
            # Two rays are joined by an edge if no third one meets all constraints that they share. The dimension is
            # len(row) + 1, so they share at least two fewer than that; checking this first is much quicker.
            if (
                common.bit_count() >= len(row) - 1
                and _meets(common, either)
                and sum(mask & common == common for mask in masks) == 2
            ):
                kept.append((_between(ray, others_weight, other, weight), common | mark))
    return kept


def _between(ray: Sequence[int], weight: int, other: Sequence[int], others_weight: int) -> tuple[int, ...]:
    """The weighted sum of two rays, in smallest integers."""
    joined = [weight * a + others_weight * b for a, b in zip(ray, other, strict=True)]
    divisor = gcd(*joined)
    return tuple(value // divisor for value in joined)


def _partners(labels: Sequence[Labels], others: Sequence[Labels]) -> list[int]:
    """For each vertex, the other player's vertices with which it is an equilibrium, as bits."""
    return [
        sum(1 << j for j, b in enumerate(others) if a.played & ~b.replies == 0 == b.played & ~a.replies) for a in labels
    ]


def bicliques(rows: Sequence[Labels], columns: Sequence[Labels]) -> list[Sides]:
    """The maximal Nash subsets: each vertex of one side is an equilibrium with all of the other, none can be added.

    Args:
        rows, columns: the vertices of the row player's mixes, and of the column player's; the same in a symmetric game.
    """
    partners = _partners(rows, columns)
    closed: set[int] = set()
    for mask in filter(None, partners):
        closed |= {mask, *(mask & other for other in closed)}
    closed.discard(0)
    found = [(tuple(i for i, mask in enumerate(partners) if side & ~mask == 0), numbers(side)) for side in closed]
    return sorted(found)


def cliques(labels: Sequence[Labels], _columns: Sequence[Labels]) -> list[Sides]:
    """The maximal sets of vertices that are all equilibria with each other and with themselves, as both sides.

    For symmetric games: both players have the same vertices.
    """
    graph = {i: mask & ~(1 << i) for i, mask in enumerate(_partners(labels, labels)) if mask >> i & 1}
    everybody = sum(1 << i for i in graph)
    return sorted((numbers(clique), numbers(clique)) for clique in _grow(0, everybody, 0, graph))


def _grow(clique: int, candidates: int, excluded: int, graph: dict[int, int]) -> Iterator[int]:
    """The maximal cliques of a graph, as bits (Bron and Kerbosch 1973, algorithm 457 with Tomita's pivot)."""
    if not candidates and not excluded and clique:
        yield clique
    if not candidates:
        return
    pivot = max(numbers(candidates | excluded), key=lambda i: (graph[i] & candidates).bit_count())
    for i in numbers(candidates & ~graph[pivot]):
        yield from _grow(clique | 1 << i, candidates & graph[i], excluded & graph[i], graph)
        candidates &= ~(1 << i)
        excluded |= 1 << i


def connected(sets: Sequence[tuple[Sequence[object], Sequence[object]]]) -> list[int]:
    """For each set, the number of its connected component; two sets intersect if and only if they share a vertex."""
    component = list(range(len(sets)))
    for i, (rows, columns) in enumerate(sets):
        for j, (others_rows, others_columns) in enumerate(sets[:i]):
            if set(rows) & set(others_rows) and set(columns) & set(others_columns):
                component = [component[j] if number == component[i] else number for number in component]
    places = {number: place for place, number in enumerate(dict.fromkeys(component))}
    return [places[number] for number in component]


def numbers(mask: int) -> tuple[int, ...]:
    """The positions of the set bits."""
    return tuple(number for number in range(mask.bit_length()) if mask >> number & 1)


Matrix = Sequence[Sequence[Fraction]]
Affine = tuple[Matrix, Matrix]
Class = tuple[int, ...]
Share = TypeVar("Share")


def classes(row: Affine, column: Affine) -> tuple[list[Class], list[Class]]:
    """The agents that each player may play at some epsilon >= 0, in classes of agents equivalent at every epsilon.

    Args:
        row, column: of each player the matrices base and slope, [n][n] each: its agent's payoff against the other
            player's is base - epsilon * slope. The same in a symmetric game.
    """
    left = _undominated(row, column)
    found = []
    for own, others, mine, theirs in ((*left, row, column), (*left[::-1], column, row)):
        alike: dict[object, list[int]] = {}
        for i in own:
            paid = tuple((a[i][k], b[k][i]) for a, b in zip(mine, theirs, strict=True) for k in others)
            alike.setdefault(paid, []).append(i)
        found.append([tuple(members) for members in alike.values()])
    return found[0], found[1]


def _undominated(row: Affine, column: Affine) -> tuple[list[int], list[int]]:
    """The agents of each player that survive iterated removal of strictly dominated ones."""
    left = list(range(len(row[0]))), list(range(len(column[0])))

    def beats(player: int, i: int, j: int) -> bool:
        base, slope = (row, column)[player]
        return all(base[i][k] > base[j][k] and slope[i][k] <= slope[j][k] for k in left[1 - player])

    while True:
        beaten = [
            next((j for j in own if any(beats(player, i, j) for i in own)), None) for player, own in enumerate(left)
        ]
        for own, worst in zip(left, beaten, strict=True):
            if worst is not None:
                own.remove(worst)
        if beaten == [None, None]:
            return left


def smaller(matrix: Sequence[Sequence[Share]], own: Sequence[Class], others: Sequence[Class]) -> list[list[Share]]:
    """[own classes][others' classes] the payoffs of the first members."""
    return [[matrix[row[0]][column[0]] for column in others] for row in own]


def spread(shares: Sequence[Share], found: Sequence[Class], size: int, nothing: Share) -> Iterator[tuple[Share, ...]]:
    """[size] every way to assign the shares of the classes, [classes], to one member each."""
    played = [(members, share) for members, share in zip(found, shares, strict=True) if share]
    for chosen in product(*(members for members, _ in played)):
        whole = [nothing] * size
        for member, (_, share) in zip(chosen, played, strict=True):
            whole[member] = share
        yield tuple(whole)
