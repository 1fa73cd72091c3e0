"""Smaller games with the same equilibria: dominated agents are left out, and equivalent agents merged.

A strictly dominated agent is played in no equilibrium; nor are those that are strictly dominated once it is gone, and
so on (Osborne and Rubinstein, A Course in Game Theory, 1994, section 4.2). Two agents with equal rows and equal columns
of payoffs are interchangeable in every mix without any effect on payoffs. So an extreme mix gives the share of such a
class to one of its members.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from typing import TypeVar

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
