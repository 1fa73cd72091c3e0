"""The rulebook in one file: movement resolved by mutually dependent decisions, in place of the engines' steps.

Written from the edition of 2000 and the DATC 3, with the algorithm of L. Kruijswijk, *The Math of Adjudication* (The
Diplomatic Pouch): a decision that depends on itself is tried both ways; if both or neither hold, a circle of moves
succeeds and a convoy fails (S. Szykman's rule). It shares no code with the compiled engine and reads only the board.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tools.equivalence.situations import routes_of
from welfare_env import Board
from welfare_env.board.orders import CONVOY, HOLD, MOVE, SUPPORT_HOLD, SUPPORT_MOVE, VIA
from welfare_env.engine import State


@dataclass(frozen=True)
class Unit:
    """A unit and its order; places are names of provinces, `dest` of a location ("" if there is none)."""

    power: int
    piece: str
    kind: int = HOLD
    target: str = ""
    dest: str = ""

    @property
    def goal(self) -> str:
        """The province that the unit moves to, supports into, or convoys to."""
        return self.dest[:3]


def read(board: Board, state: State, orders: list[np.ndarray]) -> dict[str, Unit]:
    """Province -> the unit there, with its order."""
    table, pieces = board.orders, board.pieces
    units = {pieces[piece][2:5]: Unit(power, pieces[piece]) for power, piece in state.units.tolist()}
    for number in np.concatenate(orders).tolist():
        at, other, dest = int(table.piece[number]), int(table.other[number]), int(table.dest[number])
        place = pieces[at][2:5]
        units[place] = Unit(
            units[place].power,
            pieces[at],
            int(table.kind[number]),
            pieces[other][2:5] if other >= 0 else "",
            board.locations[dest] if dest >= 0 else "",
        )
    return units


class _CircleError(Exception):
    """A decision depends on itself, and both or neither of its outcomes hold."""

    def __init__(self, places: list[str]) -> None:
        self.places = places


class Resolution:
    """The outcome of a movement phase.

    Attributes:
        moved: origin -> destination (a location) of the moves that succeed.
        dislodged: province -> where the attacker came from.
        retreats: province -> the places to which its dislodged unit may retreat.
    """

    def __init__(self, board: Board, units: dict[str, Unit]) -> None:
        self.board, self.units = board, units
        self.routes = {place: self._routes(place) for place in units if self._moves(place)}
        self.by_sea = {place for place in self.routes if self._goes_by_sea(place)}
        self.voided: set[str] = set()  # fleets whose convoy fails by Szykman's rule
        self.carried: set[str] = set()  # moves that succeed in a circle
        while not self._resolve_all():
            pass
        self.moved = {place: units[place].dest for place in units if self._moves(place) and self.value[place]}
        came = {dest[:3]: place for place, dest in self.moved.items()}
        self.dislodged = {place: came[place] for place in units if place in came and place not in self.moved}
        self.retreats = {place: self._retreats(place) for place in self.dislodged}

    def _resolve_all(self) -> bool:
        """Decide everything; False if a circle had to be broken, which makes all decisions anew."""
        self.value: dict[str, bool] = dict.fromkeys(self.carried, True)
        self.guessed: set[str] = set()
        self.used: list[str] = []  # guesses that a decision in progress has looked at, in sequence
        self.circle: list[str] = []
        try:
            for place in self.units:
                self.resolve(place)
        except _CircleError as circle:
            self._break(circle.places)
            return False
        return True

    def _moves(self, place: str) -> bool:
        return place in self.units and self.units[place].kind in (MOVE, VIA)

    # Convoys.

    def _possible(self, place: str) -> list[frozenset[str]]:
        """The board's routes for a unit's move."""
        unit = self.units[place]
        return routes_of(self.board).get((place, unit.dest), []) if unit.piece[0] == "A" else []

    def _helping(self, place: str) -> set[str]:
        """The fleets that are ordered to convoy a unit's move."""
        wanted = CONVOY, place, self.units[place].dest
        return {fleet for fleet, unit in self.units.items() if (unit.kind, unit.target, unit.dest) == wanted}

    def _routes(self, place: str) -> list[frozenset[str]]:
        """The routes of an army all of whose fleets are ordered to convoy it."""
        helping = self._helping(place)
        return [route for route in self._possible(place) if route <= helping]

    def _goes_by_sea(self, place: str) -> bool:
        """Edition of 2000: by VIA, or by a convoy order of a fleet of the same power that is on a possible route."""
        unit = self.units[place]
        if unit.dest not in self.board.moves[unit.piece] or unit.kind == VIA:
            return True
        fleets = {fleet for fleet, other in self.units.items() if other.piece[0] == "F"}
        own = {fleet for fleet in self._helping(place) if self.units[fleet].power == unit.power}
        return any(route <= fleets and route & own for route in self._possible(place))

    def has_path(self, place: str) -> bool:
        if place not in self.by_sea:
            return True
        return any(all(self.resolve(fleet) for fleet in sorted(route)) for route in self.routes[place])

    # Decisions: a move succeeds, a support counts, a fleet carries, a holding unit stays.

    def resolve(self, place: str) -> bool:
        """Whether a decision holds; on the way a guess, if it depends on itself."""
        if place in self.value:
            if place in self.guessed:
                self.used.append(place)
            return self.value[place]
        before = len(self.used)
        outcomes = []
        for guess in (False, True):
            self.value[place] = guess
            self.guessed.add(place)
            outcomes.append(self.decide(place))
            if len(self.used) == before:  # it depends on no guess
                break
            if self.used[before] != place:  # it depends on an earlier guess: part of that circle
                self.used.append(place)
                self.value[place] = outcomes[0]
                return outcomes[0]
            self._forget(before)
        if outcomes == [False, True] or outcomes == [True, False]:
            raise _CircleError(self.circle)
        self.value[place] = outcomes[0]
        self.guessed.discard(place)
        return outcomes[0]

    def _forget(self, before: int) -> None:
        self.circle = list(dict.fromkeys(self.used[before:]))
        del self.used[before:]
        for place in self.circle:
            self.guessed.discard(place)
            del self.value[place]

    def _break(self, circle: list[str]) -> None:
        """A circle of moves succeeds; one with convoys stops them."""
        fleets = [place for place in circle if self.units[place].kind == CONVOY]
        self.voided.update(fleets)
        if not fleets:
            self.carried.update(place for place in circle if self._moves(place))

    def decide(self, place: str) -> bool:
        unit = self.units[place]
        if self._moves(place):
            return self._succeeds(place)
        if unit.kind in (SUPPORT_HOLD, SUPPORT_MOVE):
            return self._is_valid(place) and not self._is_cut(place) and not self._is_dislodged(place)
        if unit.kind == CONVOY:
            return place not in self.voided and not self._is_dislodged(place)
        return not self._is_dislodged(place)

    def _is_dislodged(self, place: str) -> bool:
        return any(self.resolve(other) for other in self._attackers(place))

    def _attackers(self, place: str) -> list[str]:
        return [other for other in self.units if self._moves(other) and self.units[other].goal == place]

    def _is_valid(self, place: str) -> bool:
        """The supported unit does what is supported. A coast that is named is the one of the move (DATC 4.B.4)."""
        unit = self.units[place]
        if unit.target not in self.units:
            return False
        other = self.units[unit.target]
        if unit.kind == SUPPORT_HOLD:
            return not self._moves(unit.target)
        if not self._moves(unit.target) or other.goal != unit.goal:
            return False
        return other.piece[0] == "A" or "/" not in unit.dest or unit.dest == other.dest

    def _is_cut(self, place: str) -> bool:
        unit = self.units[place]
        about = unit.goal or unit.target
        return any(
            self.units[other].power != unit.power and other != about and self.has_path(other)
            for other in self._attackers(place)
        )

    def _supports(self, place: str, against: int | None = None) -> int:
        """The supports of a unit that count, but those by the power `against`."""
        return sum(
            self.resolve(helper)
            for helper, unit in self.units.items()
            if unit.kind in (SUPPORT_HOLD, SUPPORT_MOVE) and unit.target == place and unit.power != against
        )

    def _head_on(self, place: str) -> bool:
        goal = self.units[place].goal
        return self._moves(goal) and self.units[goal].goal == place and not {place, goal} & self.by_sea

    def _succeeds(self, place: str) -> bool:
        unit = self.units[place]
        attack = self._attack(place)
        if attack == 0:
            return False
        if self._head_on(place):
            if attack <= 1 + self._supports(unit.goal):
                return False
        elif attack <= self._hold(unit.goal):
            return False
        return all(attack > self._prevent(other) for other in self._attackers(unit.goal) if other != place)

    def _attack(self, place: str) -> int:
        unit = self.units[place]
        if not self.has_path(place):
            return 0
        if unit.goal not in self.units:
            return 1 + self._supports(place)
        if self._moves(unit.goal) and not self._head_on(place) and self.resolve(unit.goal):
            return 1 + self._supports(place)
        guard = self.units[unit.goal].power
        return 0 if guard == unit.power else 1 + self._supports(place, against=guard)

    def _hold(self, place: str) -> int:
        if place not in self.units:
            return 0
        if self._moves(place):
            return 0 if self.resolve(place) else 1
        return 1 + self._supports(place)

    def _prevent(self, place: str) -> int:
        if not self.has_path(place) or (self._head_on(place) and self.resolve(self.units[place].goal)):
            return 0
        return 1 + self._supports(place)

    # Retreats.

    def _retreats(self, place: str) -> set[str]:
        origin, unit = self.dislodged[place], self.units[place]
        there = {dest[:3] for dest in self.moved.values()} | (set(self.units) - set(self.moved) - set(self.dislodged))
        contested = {
            self.units[other].goal
            for other in self.routes
            if other not in self.moved and self.has_path(other) and not self._beaten_head_on(other)
        }
        closed = there | contested | (set() if origin in self.by_sea else {origin})
        return {place for place in self.board.moves[unit.piece] if place[:3] not in closed}

    def _beaten_head_on(self, place: str) -> bool:
        return self._head_on(place) and self.units[place].goal in self.moved
