"""Counts rare situations in a phase, to show what a comparison of engines covers."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from welfare_env import Board
from welfare_env.board.orders import CONVOY, HOLD, MOVE, SUPPORT_HOLD, SUPPORT_MOVE, VIA
from welfare_env.engine import ADJUSTMENTS, FLAG, MOVEMENT, State

NO_SUPPORT = FLAG["void"] | FLAG["cut"] | FLAG["no convoy"]


def situations(board: Board, state: State, given: np.ndarray, flags: np.ndarray, after: State) -> Iterator[str]:
    """Names of the rare situations in a phase."""
    if after.winner >= 0:
        yield "victories"
    if state.phase_type == MOVEMENT:
        yield from itertools.repeat("units without order", len(state.units) - len(given))
        yield from Moves(board, state, given, flags).situations()
    elif state.phase_type == ADJUSTMENTS:
        yield from _removals(board, state, flags)
    else:
        yield from itertools.repeat("units in retreat conflicts", int((flags & FLAG["bounce"] > 0).sum()))


def _removals(board: Board, state: State, flags: np.ndarray) -> Iterator[str]:
    for unit in np.flatnonzero(flags):
        power, piece = state.units[unit]
        yield "removals by force"
        kept = state.units[(state.units[:, 0] == power) & (flags == 0), 1]
        same = board.home_distance[power, kept] == board.home_distance[power, piece]
        if (same & (board.piece_type[kept] == board.piece_type[piece])).any():
            yield "removals decided by name"


class Moves:
    """The orders of a movement phase by province; -1 if missing."""

    def __init__(self, board: Board, state: State, given: np.ndarray, flags: np.ndarray) -> None:
        self.board = board
        table = board.orders
        order = {int(board.piece_province[table.piece[n]]): int(n) for n in given}
        self.result = dict(zip(board.piece_province[state.units[:, 1]].tolist(), flags.tolist(), strict=True))
        self.owner = dict(zip(self.result, state.units[:, 0].tolist(), strict=True))
        self.kind = {place: int(table.kind[order[place]]) if place in order else HOLD for place in self.result}
        self.goal: dict[int, int] = {}
        self.supports: dict[int, list[int]] = {place: [] for place in self.result}
        self.site: dict[int, int] = {}
        self.convoys: dict[tuple[int, int], set[str]] = {}
        for place, number in order.items():
            other, dest = table.other[number], table.dest[number]
            to = int(board.location_province[dest]) if dest >= 0 else -1
            if self.kind[place] in (MOVE, VIA):
                self.goal[place] = to
            elif self.kind[place] in (SUPPORT_HOLD, SUPPORT_MOVE):
                helped = int(board.piece_province[other])
                self.site[place] = to if to >= 0 else helped
                if not self.result[place] & NO_SUPPORT:
                    self.supports[helped].append(place)
            elif self.kind[place] == CONVOY:
                route = int(board.piece_province[other]), to
                self.convoys.setdefault(route, set()).add(board.provinces[place])

    def situations(self) -> Iterator[str]:
        for place, goal in self.goal.items():
            supported = bool(self.supports[place])
            if self.goal.get(goal) == place and place < goal:
                yield "head-to-heads with support" if supported or self.supports[goal] else "head-to-heads"
                if not self.result[place] and not self.result[goal]:
                    yield "swaps by convoy"
            if goal not in self.goal or self.result.get(goal):
                powers = {self.owner[place], *(self.owner[helper] for helper in self.supports[place])}
                if supported and goal in self.owner and self.owner[goal] in powers:
                    yield "attacks on one's own"
            if self.kind[place] == VIA:
                yield from self._by_sea(place, goal)
        yield from self._beleaguered()
        yield from self._circles()

    def _by_sea(self, place: int, goal: int) -> Iterator[str]:
        helping = self.convoys.get((place, goal), set())
        names = self.board.provinces[place], self.board.provinces[goal]
        routes = [fleets for fleets in routes_of(self.board).get(names, ()) if fleets <= helping]
        if len(routes) > 1:
            yield "convoys with several routes"
        if routes and self.result[place] & FLAG["no convoy"]:
            yield "armies whose convoy was disrupted"
        fleet = self._about(goal)
        if routes and fleet in helping:
            yield "convoys that may cut a support about their fleet"
            yield from self._paradox(place, goal, fleet, routes)
        elif routes and fleet and self._crossed(place, goal, helping):
            yield "paradoxes of two convoys"

    def _about(self, goal: int) -> str:
        """The province into which the unit at a convoyed army's destination supports; "" if it does not."""
        site = self.site.get(goal, -1)
        return self.board.provinces[site] if site >= 0 else ""

    def _paradox(self, place: int, goal: int, fleet: str, routes: Sequence[frozenset[str]]) -> Iterator[str]:
        """An attacked fleet whose army would cut the support that decides the attack (DATC, 6.F.14 to 6.F.18)."""
        sea = self.board.provinces.index(fleet)
        attackers = {self.owner[other] for other, to in self.goal.items() if to == sea}
        if not attackers:
            return
        yield "paradoxes"
        if any(fleet not in route for route in routes):
            yield "paradoxes with another route"
        if self.owner[place] in {self.owner[goal], *attackers}:
            yield "paradoxes with own units"

    def _crossed(self, place: int, goal: int, helping: set[str]) -> bool:
        """Whether the units at the destinations of two convoys each support at the other's fleet (DATC, 6.F.20)."""
        others = [route for route, fleets in self.convoys.items() if self._about(goal) in fleets and route[0] != place]
        return any(self.goal.get(start) == end and self._about(end) in helping for start, end in others)

    def _beleaguered(self) -> Iterator[str]:
        strong = Counter(
            goal for place, goal in self.goal.items() if self.supports[place] and self.result[place] & FLAG["bounce"]
        )
        for place, attackers in strong.items():
            if attackers > 1 and place in self.result and not self.result[place] & FLAG["dislodged"]:
                yield "beleaguered garrisons"

    def _circles(self) -> Iterator[str]:
        going = {place: goal for place, goal in self.goal.items() if self.result[place] == 0}
        for start in going:
            way = [start]
            while going.get(way[-1], -1) not in (-1, *way):
                way.append(going[way[-1]])
            if len(way) > 2 and going.get(way[-1]) == start and start == min(way):
                yield "circular moves"


_ROUTES: dict[str, dict[tuple[str, str], list[frozenset[str]]]] = {}


def routes_of(board: Board) -> dict[tuple[str, str], list[frozenset[str]]]:
    """(from, to) -> the fleet sets that can carry an army."""
    if board.name not in _ROUTES:
        found = _ROUTES.setdefault(board.name, {})
        for start, fleets, ends in board.convoys:
            for end in sorted(ends):
                found.setdefault((start, end), []).append(fleets)
    return _ROUTES[board.name]
