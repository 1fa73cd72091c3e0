"""Convoy routes: which fleets can carry an army from one coast to another.

The routes are those of the `diplomacy` package, in the same order, because some quirks of adjudication depend on it.
The package tries every path over sea, which takes minutes on large maps, and pickles the result in the user's home. We
follow only paths without shortcuts, which takes seconds, and write no pickles.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from welfare_env.errors import MapFormatError

LONGEST = 13  # fleets in a convoy, as in the package
MOST_WAYS = 500_000  # paths followed at most; the largest installed map has half as many
SEAS, COASTS = ("sea", "port"), ("coast", "port")  # where fleets convoy, and where armies embark and land

Route = tuple[str, frozenset[str], frozenset[str]]  # from, fleets, to


class Way(NamedTuple):
    """A path of seas in the order of travel and, as a bit set, all neighbors of its seas except those of the last."""

    seas: tuple[str, ...]
    passed: int


def convoy_routes(kind: Mapping[str, str], near: Mapping[str, Sequence[str]]) -> tuple[Route, ...]:
    """Every minimal set of fleets that can carry an army, with its start and the coasts it reaches; small sets first.

    A set is minimal if no fleet can be left out: a path over sea on which no sea borders an earlier one except its
    predecessor, and only the first sea borders the coast that the army leaves.

    Args:
        kind: location -> "land", "coast", "sea", "port", or anything else, which is impassable.
        near: location -> the locations it borders, in the map's sequence.

    Raises:
        MapFormatError: there are too many paths over sea.
    """
    search = _Search(kind, near)
    routes = [route for start in kind if start in search.shores for route in search.routes(start)]
    return tuple(sorted(routes, key=lambda route: len(route[1])))


class _Search:
    def __init__(self, kind: Mapping[str, str], near: Mapping[str, Sequence[str]]) -> None:
        self.near = {place: tuple(dict.fromkeys(near[place])) for place in kind}
        self.bit = {place: 1 << number for number, place in enumerate(kind)}
        self.around = {place: sum(self.bit[other] for other in self.near[place]) for place in kind}
        self.seas = {place for place in kind if kind[place] in SEAS}
        # Where an army can board or land: not at a named coast, since only its province counts.
        self.shores = {place for place in kind if kind[place] in COASTS and "/" not in place}
        self.followed = 0

    def routes(self, start: str) -> list[Route]:
        """The routes from one coast, in the order in which their ends are found."""
        found: dict[str, list[frozenset[str]]] = {}
        ends = self.shores - {start}
        # Seas that can follow another. Ports where an army may land are not passed through, as in the package.
        passable = {place for place in self.seas - ends if not self.around[start] & self.bit[place]}
        ways = [Way((sea,), 0) for sea in self.near[start] if sea in self.seas]
        for _ in range(LONGEST):
            self._count(len(ways))
            longer = []
            for way in ways:
                last = way.seas[-1]
                fleets, passed = frozenset(way.seas), way.passed | self.around[last]
                for place in self.near[last]:
                    if way.passed & self.bit[place]:  # a neighbor of an earlier sea, so there is a shorter path
                        continue
                    if place in ends:
                        found.setdefault(place, []).append(fleets)
                    elif place in passable:
                        longer.append(Way((*way.seas, place), passed))
            ways = longer
        reached: dict[frozenset[str], list[str]] = {}
        for place, sets in found.items():
            for fleets in sets:
                reached.setdefault(fleets, []).append(place)
        return [(start, fleets, frozenset(places)) for fleets, places in reached.items()]

    def _count(self, ways: int) -> None:
        self.followed += ways
        if self.followed > MOST_WAYS:
            raise MapFormatError(f"the map has more than {MOST_WAYS} convoy routes, too many to list")
