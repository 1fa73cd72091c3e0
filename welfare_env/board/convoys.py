"""Convoy routes: which fleets can carry an army from one coast to another.

The routes are those of the `diplomacy` package, in the same order, because some quirks of adjudication depend on it.
The package tries every path over sea, which takes minutes on large maps, and pickles the result in the user's home. We
follow only paths without shortcuts, which takes seconds, and write no pickles.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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
    routes = [route for start in kind if search.embarks(start) for route in search.routes(start)]
    return tuple(sorted(routes, key=lambda route: len(route[1])))


class _Search:
    def __init__(self, kind: Mapping[str, str], near: Mapping[str, Sequence[str]]) -> None:
        self.kind, self.near = kind, near
        self.bit = {place: 1 << number for number, place in enumerate(kind)}
        self.around = {place: sum(self.bit[other] for other in set(near[place])) for place in kind}
        self.followed = 0

    def embarks(self, place: str) -> bool:
        """Whether an army can board or land there; False for a named coast, since only its province counts."""
        return self.kind[place] in COASTS and "/" not in place

    def routes(self, start: str) -> list[Route]:
        """The routes from one coast, in the order in which their ends are found."""
        found: dict[str, list[frozenset[str]]] = {}
        ways = [Way((sea,), 0) for sea in dict.fromkeys(self.near[start]) if self.kind[sea] in SEAS]
        for _ in range(LONGEST):
            self._count(len(ways))
            for way in ways:
                for place in self._steps(way):
                    if self.embarks(place) and place != start:
                        found.setdefault(place, []).append(frozenset(way.seas))
            ways = [longer for way in ways for longer in self._longer(way, start)]
        reached: dict[frozenset[str], list[str]] = {}
        for place, sets in found.items():
            for fleets in sets:
                reached.setdefault(fleets, []).append(place)
        return [(start, fleets, frozenset(places)) for fleets, places in reached.items()]

    def _count(self, ways: int) -> None:
        self.followed += ways
        if self.followed > MOST_WAYS:
            raise MapFormatError(f"the map has more than {MOST_WAYS} convoy routes, too many to list")

    def _steps(self, way: Way) -> Iterator[str]:
        """The neighbors of the path's last sea that are not neighbors of an earlier sea."""
        for place in dict.fromkeys(self.near[way.seas[-1]]):
            if not way.passed & self.bit[place]:
                yield place

    def _longer(self, way: Way, start: str) -> Iterator[Way]:
        """The path extended by one sea. Ports where an army may land are not passed through, as in the package."""
        passed = way.passed | self.around[way.seas[-1]]
        for place in self._steps(way):
            is_landing = self.embarks(place) and place != start
            if self.kind[place] in SEAS and not is_landing and not self.around[start] & self.bit[place]:
                yield Way((*way.seas, place), passed)
