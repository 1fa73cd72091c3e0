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


def vertices(utilities: Sequence[Sequence[Fraction]], report: Report = no_report) -> list[Vertex]:
    """The vertices of {(x, v): x a mix, U x <= v}, sorted: those that play the first agents most come first.

    With z = x / v, for payoffs above 0, they are the vertices of {z >= 0: U z <= 1} other than 0. Random games of 8, 10
    and 12 agents have some 250, 1,500 and 5,000.

    Args:
        utilities: [n][n]
        report: see `modal_env.progress`.
    """
    size = len(utilities)
    low = min(min(row) for row in utilities)
    scale = lcm(*(value.denominator for row in utilities for value in row))
    rays = _double_description([[int((value - low) * scale) + 1 for value in row] for row in utilities], report)
    everybody = (1 << size) - 1
    found = []
    for ray, tight in rays:
        if total := sum(ray[1:]):
            mix = tuple(Fraction(value, total) for value in ray[1:])
            value = (Fraction(ray[0], total) - 1) / scale + low
            found.append(Vertex(mix, value, Labels(~tight & everybody, tight >> size)))
    return sorted(found, key=lambda vertex: vertex.mix, reverse=True)


Ray = tuple[tuple[int, ...], int]


def _double_description(rows: Sequence[Sequence[int]], report: Report) -> list[Ray]:
    """The extreme rays of {(t, z): z >= 0, row z <= t for every row}, for entries above 0.

    With each constraint, the rays outside are removed, and every edge that leads outside is cut (Fukuda and Prodon,
    Double description method revisited, 1996).

    Returns:
        Each ray (t, z_0, ..., z_n-1) with the constraints that are tight on it, as bits: those of z first.
    """
    size = len(rows)
    units = [tuple(int(i == j) for j in range(size + 1)) for i in range(size + 1)]
    all_zero, level = (1 << size) - 1, 1 << 2 * size  # `level`: t = 0, which holds for no ray at the end
    rays = [(units[0], all_zero), *((units[j + 1], (all_zero ^ 1 << j) | level) for j in range(size))]
    for number, row in enumerate(rows):
        rays = _cut(rays, row, 1 << (size + number))
        report(2.0 ** (number + 1 - size))  # each may double the number of rays
    return rays


def _cut(rays: Sequence[Ray], row: Sequence[int], mark: int) -> list[Ray]:
    """The extreme rays of a cone after one more constraint, whose bit is `mark`."""
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
            if common.bit_count() >= len(row) - 1 and sum(mask & common == common for mask in masks) == 2:
                kept.append((_between(ray, others_weight, other, weight), common | mark))
    return kept


def _between(ray: Sequence[int], weight: int, other: Sequence[int], others_weight: int) -> tuple[int, ...]:
    """The weighted sum of two rays, in smallest integers."""
    joined = [weight * a + others_weight * b for a, b in zip(ray, other, strict=True)]
    divisor = gcd(*joined)
    return tuple(value // divisor for value in joined)


def _partners(labels: Sequence[Labels]) -> list[int]:
    """For each vertex, the vertices with which it is an equilibrium, as bits. The relation is symmetric."""
    return [
        sum(1 << j for j, b in enumerate(labels) if a.played & ~b.replies == 0 == b.played & ~a.replies) for a in labels
    ]


def bicliques(labels: Sequence[Labels]) -> list[Sides]:
    """The maximal Nash subsets: each vertex of one side is an equilibrium with all of the other, none can be added."""
    partners = _partners(labels)
    closed: set[int] = set()
    for mask in filter(None, partners):
        closed |= {mask, *(mask & other for other in closed)}
    closed.discard(0)
    found = [(tuple(i for i, mask in enumerate(partners) if side & ~mask == 0), _numbers(side)) for side in closed]
    return sorted(found)


def cliques(labels: Sequence[Labels]) -> list[Sides]:
    """The maximal sets of vertices that are all equilibria with each other and themselves, as both sides."""
    graph = {i: mask & ~(1 << i) for i, mask in enumerate(_partners(labels)) if mask >> i & 1}
    everybody = sum(1 << i for i in graph)
    return sorted((_numbers(clique), _numbers(clique)) for clique in _grow(0, everybody, 0, graph))


def _grow(clique: int, candidates: int, excluded: int, graph: dict[int, int]) -> Iterator[int]:
    """The maximal cliques of a graph, as bits (Bron and Kerbosch 1973, algorithm 457 with Tomita's pivot)."""
    if not candidates and not excluded and clique:
        yield clique
    if not candidates:
        return
    pivot = max(_numbers(candidates | excluded), key=lambda i: (graph[i] & candidates).bit_count())
    for i in _numbers(candidates & ~graph[pivot]):
        yield from _grow(clique | 1 << i, candidates & graph[i], excluded & graph[i], graph)
        candidates &= ~(1 << i)
        excluded |= 1 << i


def connected(sets: Sequence[Sides]) -> list[int]:
    """For each set, the number of its connected component; sets that meet share a vertex."""
    component = list(range(len(sets)))
    for i, (rows, columns) in enumerate(sets):
        for j, (others_rows, others_columns) in enumerate(sets[:i]):
            if set(rows) & set(others_rows) and set(columns) & set(others_columns):
                component = [component[j] if number == component[i] else number for number in component]
    places = {number: place for place, number in enumerate(dict.fromkeys(component))}
    return [places[number] for number in component]


def _numbers(mask: int) -> tuple[int, ...]:
    """The positions of the set bits."""
    return tuple(number for number in range(mask.bit_length()) if mask >> number & 1)


Matrix = Sequence[Sequence[Fraction]]
Class = tuple[int, ...]
Share = TypeVar("Share")


def classes(base: Matrix, slope: Matrix) -> list[Class]:
    """The agents that may be played at some epsilon >= 0, in classes of agents equivalent at every epsilon.

    Args:
        base, slope: [n][n] each; the row agent's payoff against the column's is base - epsilon * slope.
    """
    left = _undominated(base, slope)
    found: dict[object, list[int]] = {}
    for i in left:
        key = tuple((m[i][k], m[k][i]) for m in (base, slope) for k in left)
        found.setdefault(key, []).append(i)
    return [tuple(members) for members in found.values()]


def _undominated(base: Matrix, slope: Matrix) -> list[int]:
    """The agents that survive iterated removal of strictly dominated ones."""
    left = list(range(len(base)))

    def beats(i: int, j: int) -> bool:
        return all(base[i][k] > base[j][k] and slope[i][k] <= slope[j][k] for k in left)

    while beaten := [j for j in left if any(beats(i, j) for i in left)]:
        left.remove(beaten[0])
    return left


def smaller(matrix: Matrix, found: Sequence[Class]) -> list[list[Fraction]]:
    """[classes][classes] the payoffs of the first members."""
    return [[matrix[row[0]][column[0]] for column in found] for row in found]


def spread(shares: Sequence[Share], found: Sequence[Class], size: int, nothing: Share) -> Iterator[tuple[Share, ...]]:
    """[size] every way to assign the shares of the classes, [classes], to one member each."""
    played = [(members, share) for members, share in zip(found, shares, strict=True) if share]
    for chosen in product(*(members for members, _ in played)):
        whole = [nothing] * size
        for member, (_, share) in zip(chosen, played, strict=True):
            whole[member] = share
        yield tuple(whole)
