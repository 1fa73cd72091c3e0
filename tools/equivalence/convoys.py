"""Random positions with disrupted convoys and paradoxes: armies may cut supports of attacks on their own convoys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tools.equivalence.cases import mostly
from tools.equivalence.lively import Chooser
from tools.equivalence.situations import routes_of
from welfare_env import Board
from welfare_env.engine import Engine, State
from welfare_env.game.placement import position_state

MOST_FLEETS = 4  # per route
TRIES = 200


@dataclass(frozen=True)
class Convoy:
    """An army's origin and destination, and a fleet on its route that will be attacked."""

    start: str
    end: str
    fleet: str


class Scene:
    """Units and their orders, placed on a board one by one on free provinces.

    Attributes:
        units: unit -> power. orders: unit -> order, in the notation of `diplomacy`.
    """

    def __init__(self, board: Board, rng: np.random.Generator) -> None:
        self.board, self.rng = board, rng
        self.powers = [board.powers[n] for n in rng.permutation(len(board.powers))[: rng.integers(2, 5)]]
        self.units: dict[str, str] = {}
        self.orders: dict[str, str] = {}
        self.near: dict[str, list[str]] = {}  # place -> the fleets that could go there
        for piece in board.pieces:
            for place in board.moves[piece] if piece[0] == "F" else ():
                self.near.setdefault(place, []).append(piece)

    def put(self, unit: str, order: str) -> bool:
        """Add a unit of a random power with this order; returns whether its province was free."""
        if unit[2:5] in {other[2:5] for other in self.units}:
            return False
        self.units[unit], self.orders[unit] = str(self.rng.choice(self.powers)), order
        return True

    def free(self, place: str, within: str = "") -> list[str]:
        """Fleets that could move to `place` and whose provinces are free; only in province `within`, if given."""
        taken = {unit[2:5] for unit in self.units}
        near = self.near.get(place, ())
        return [piece for piece in near if piece[2:5] not in taken and within in ("", piece[2:5])]

    def convoy(self, other: Convoy | None = None) -> Convoy | None:
        """Add a convoyed army, sometimes with two routes; preferably one that can interact with the `other` convoy."""
        routes = list(routes_of(self.board).items())
        taken = {unit[2:5] for unit in self.units} | ({other.end} if other else set())
        for last in range(TRIES):
            (start, end), ways = routes[self.rng.integers(len(routes))]
            fleets = ways[self.rng.integers(len(ways))]
            if len(fleets) > MOST_FLEETS or not taken.isdisjoint({start, end, *fleets}):
                continue
            found = Convoy(start, end, str(self.rng.choice(sorted(fleets))))
            if other is None or last > TRIES // 2 or self._cross(found, other):
                break
        else:
            return None
        self.put(f"A {start}", f"- {end} VIA")
        around = [way for way in ways if found.fleet not in way and len(way) <= MOST_FLEETS and end not in way]
        also = around[self.rng.integers(len(around))] if around and self.rng.random() < 0.3 else frozenset()
        for sea in sorted(fleets | also):
            self.put(f"F {sea}", f"C A {start} - {end}")
        return found

    def _cross(self, one: Convoy, other: Convoy) -> bool:
        """Whether units at both destinations could give support at the other convoy's fleet."""
        return bool(self.free(one.fleet, other.end) and self.free(other.fleet, one.end))

    def attack(self, convoy: Convoy, goal: str, ends: Sequence[str]) -> None:
        """Add fleets that attack or defend a convoying fleet, one of them at `goal`, the others not at `ends`."""
        sea, rng = convoy.fleet, self.rng
        attackers = [one for one in self.free(sea) if one[2:5] not in ends]
        if not attackers:
            return
        attacker = str(rng.choice(attackers))
        self.put(attacker, f"- {sea}")
        roles = [f"S F {sea}", f"S {attacker} - {sea}", f"- {sea}"]
        if guards := self.free(sea, goal):
            self.put(str(rng.choice(guards)), str(rng.choice(roles, p=[0.65, 0.3, 0.05])))
        for _ in range(rng.choice(4, p=[0.2, 0.5, 0.2, 0.1])):
            if others := [one for one in self.free(sea) if one[2:5] not in ends]:
                self.put(str(rng.choice(others)), str(rng.choice(roles, p=[0.1, 0.85, 0.05])))

    def pair(self) -> None:
        """Add one or two convoys with attacks on their fleets, decided at its own or the other's destination."""
        first = self.convoy()
        second = self.convoy(first) if first and self.rng.random() < 0.7 else None
        convoys = [convoy for convoy in (first, second) if convoy]
        ends = [convoy.end for convoy in convoys]
        goals = ends[::-1] if self.rng.random() < 0.4 else ends
        for convoy, goal in zip(convoys, goals, strict=True):
            self.attack(convoy, goal, ends)


def disrupted(engine: Engine, rng: np.random.Generator) -> tuple[State, Chooser]:
    """Up to six convoys with attacked fleets, some other units, and a chooser that gives most of these orders."""
    board = engine.board
    scene = Scene(board, rng)
    for _ in range(3):
        scene.pair()
    for piece in rng.permutation(board.pieces)[: rng.integers(0, 6)].tolist():
        scene.put(piece, "H")
    held = {power: [unit for unit in scene.units if scene.units[unit] == power] for power in board.powers}
    centers = {power: list(board.homes[power]) for power in board.powers}
    state = position_state(engine, f"F{board.first_year:04d}M", held, centers, {}, {})
    return state, mostly(board, scene.orders, share=0.97)
