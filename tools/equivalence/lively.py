"""Play for comparing engines: random orders, orders that interact with each other, and crowded positions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from agents.scripted.dumbbot import DumbBotPolicy
from tools.equivalence.situations import routes_of
from welfare_env import Board
from welfare_env.board.orders import BUILD, CONVOY, DISBAND, GIVE, HOLD, MOVE, RETREAT, SUPPORT_HOLD, SUPPORT_MOVE, VIA
from welfare_env.engine import ADJUSTMENTS, MOVEMENT, Engine, Legal, State
from welfare_env.engine.winter import adjustments
from welfare_env.game.placement import position_state
from welfare_env.game.position import Position
from welfare_env.game.view import View

Orders = list[np.ndarray]  # order numbers, per power
Chooser = Callable[[Engine, State, Legal, np.random.Generator], Orders]


def slots_of(legal: Legal) -> Iterator[tuple[int, int, np.ndarray]]:
    """(slot, power, its legal orders), one by one."""
    first = np.flatnonzero(np.diff(legal.slots, prepend=-1))
    for orders, start in zip(np.split(legal.orders, first[1:]), first, strict=False):
        yield int(legal.slots[start]), int(legal.powers[start]), orders


def uniform(engine: Engine, state: State, legal: Legal, rng: np.random.Generator) -> Orders:
    """Uniformly random legal orders; sometimes a unit gets none, or a whole power (civil disorder)."""
    if state.phase_type == ADJUSTMENTS:
        return winter(engine, state, legal, rng)
    chosen = [(power, orders[rng.integers(len(orders))]) for _, power, orders in slots_of(legal) if rng.random() < 0.97]
    return by_power(engine.board, chosen, rng)


def lively(engine: Engine, state: State, legal: Legal, rng: np.random.Generator) -> Orders:
    """Some units move, by convoy if possible; most others support or convoy these, regardless of power."""
    if state.phase_type == ADJUSTMENTS:
        return winter(engine, state, legal, rng)
    if state.phase_type != MOVEMENT:
        return by_power(engine.board, _flee(engine.board, legal, rng), rng)
    return by_power(engine.board, Plan(engine.board, legal, rng).orders, rng)


def _flee(board: Board, legal: Legal, rng: np.random.Generator) -> list[tuple[int, int]]:
    """Retreats, often to a place where another unit retreats, too."""
    table, chosen, taken = board.orders, [], np.zeros(len(board.provinces), bool)
    for _, power, orders in slots_of(legal):
        away = orders[table.kind[orders] == RETREAT]
        pool = away[taken[board.location_province[table.dest[away]]]]
        pool = pool if len(pool) and rng.random() < 0.3 else away
        order = int(rng.choice(pool if len(pool) and rng.random() < 0.9 else orders))
        taken[board.location_province[table.dest[order]]] |= table.kind[order] == RETREAT
        if rng.random() < 0.95:
            chosen.append((power, order))
    return chosen


class Plan:
    """Interacting orders for one movement phase, regardless of power.

    Attributes:
        goal: each piece's destination, a location, or -1.
        chosen: province -> the order given to the unit there.
    """

    def __init__(self, board: Board, legal: Legal, rng: np.random.Generator) -> None:
        self.board, self.table, self.rng = board, board.orders, rng
        self.goal = np.full(len(board.pieces), -1)
        self.chosen: dict[str, int] = {}
        self.owner: dict[str, int] = {}
        self.options: dict[str, np.ndarray] = {}
        for _, power, orders in slots_of(legal):
            place = board.provinces[board.piece_province[self.table.piece[orders[0]]]]
            self.owner[place], self.options[place] = power, orders
        self.by_sea, self.helpers, unordered = rng.uniform(0, 1), rng.uniform(0.2, 0.8), rng.uniform(0, 0.1)
        self.ports = np.array([board.kind[province] == "port" for province in board.provinces])
        self.wanted = np.isin(board.provinces, rng.permutation(list(self.options))[: rng.integers(0, 8)])
        places = [str(place) for place in rng.permutation(list(self.options))]
        for step in (self._sail, self._move, self._help):
            for place in places:
                if place not in self.chosen:
                    step(place)
        self.orders = [(self.owner[place], self.chosen[place]) for place in places if rng.random() >= unordered]

    def _give(self, place: str, pool: np.ndarray) -> bool:
        """Give one of these orders to a unit without an order; returns whether that was possible."""
        if place in self.chosen or not len(pool):
            return False
        order = int(self.rng.choice(pool))
        self.chosen[place] = order
        if self.table.kind[order] in (MOVE, VIA):
            self.goal[self.table.piece[order]] = self.table.dest[order]
        return True

    def _some(self, place: str, *kinds: int) -> np.ndarray:
        """The unit's orders of these kinds."""
        orders = self.options.get(place, np.zeros(0, np.int32))
        return orders[np.isin(self.table.kind[orders], kinds)]

    def _sail(self, place: str) -> None:
        """Add a convoy with one to three routes; often with an attack on one of its fleets."""
        moves = self._some(place, VIA)
        in_port = moves[self.ports[self.board.location_province[self.table.dest[moves]]]]
        pool = in_port if len(in_port) and self.rng.random() < 0.3 else moves
        if self.rng.random() > self.by_sea or not self._give(place, pool):
            return
        end = self.board.locations[self.table.dest[self.chosen[place]]]
        routes = [fleets for fleets in routes_of(self.board)[place, end] if self._can_sail(fleets)]
        picked = self.rng.permutation(len(routes))[: self.rng.integers(1, 4)]
        fleets = sorted(set().union(*(routes[number] for number in picked)))
        for fleet in fleets:
            self._give(fleet, np.intersect1d(self.table.index[f"F {fleet} C A {place} - {end}"], self.options[fleet]))
        if fleets and self.rng.random() < 0.6:
            self._trouble(end, str(self.rng.choice(fleets)))

    def _can_sail(self, fleets: frozenset[str]) -> bool:
        return all(fleet in self.options and fleet not in self.chosen for fleet in fleets)

    def _trouble(self, end: str, fleet: str) -> None:
        """Add an attack on a fleet of a convoy, if possible with support from the unit at the convoy's destination."""
        sea = self.board.location_index[fleet]
        guards = self._some(end, SUPPORT_HOLD, SUPPORT_MOVE)
        about = np.where(self.table.dest[guards] >= 0, self.table.dest[guards], self._stands(guards)) == sea
        self._give(end, guards[about])
        order = self.chosen.get(end, 0)
        wanted = self.board.pieces[self.table.other[order]][2:5] if self.table.dest[order] == sea else ""
        for place in [wanted] if wanted else list(self.options):
            moves = self._some(place, MOVE)
            if self._give(place, moves[self.table.dest[moves] == sea]):
                break

    def _stands(self, supports: np.ndarray) -> np.ndarray:
        return self.board.piece_location[self.table.other[supports]]

    def _move(self, place: str) -> None:
        """Sometimes add a move, preferably to a place that others move to."""
        if self.rng.random() > self.helpers:
            moves = self._some(place, MOVE, VIA, HOLD)
            goals = self.table.dest[moves]
            crowd = moves[(goals >= 0) & self.wanted[self.board.location_province[goals]]]
            self._give(place, crowd if len(crowd) and self.rng.random() < 0.7 else moves)

    def _help(self, place: str) -> None:
        """Add a convoy or support that matches another unit's order; sometimes one that does not."""
        orders, table, province = self.options[place], self.table, self.board.location_province
        kinds, wants, goes = table.kind[orders], table.dest[orders], self.goal[table.other[orders]]
        # Compares provinces, not locations: a support may name a coast that the move does not.
        same = (goes >= 0) & (wants >= 0) & (province[wants] == province[goes])
        fits = np.where(kinds == SUPPORT_HOLD, goes < 0, same & np.isin(kinds, (CONVOY, SUPPORT_MOVE)))
        for pool in (fits & (kinds == SUPPORT_MOVE), fits):
            if self.rng.random() < 0.75 and self._give(place, orders[pool]):
                return
        self._give(place, orders)


def winter(engine: Engine, state: State, legal: Legal, rng: np.random.Generator) -> Orders:
    """Every power builds or disbands a random number of units; the rest is left to forced removal."""
    board, table = engine.board, engine.board.orders
    builds, must = adjustments(board, engine.rules, state)
    chosen = []
    for power in range(len(board.powers)):
        mine = [orders for _, owner, orders in slots_of(legal) if owner == power]
        kind = BUILD if rng.random() < 0.5 and builds[power] else DISBAND
        slots = [orders for orders in mine if table.kind[orders[0]] == kind]
        most = builds[power] if kind == BUILD else must[power]
        if kind == DISBAND and engine.rules.is_welfare:
            most = len(slots) if rng.random() < 0.1 else min(len(slots), most + 1)
        for index in rng.permutation(len(slots))[: rng.integers(0, most + 1)]:
            chosen.append((power, int(rng.choice(slots[index]))))
        chosen += _gifts(engine, state, power, rng)
    return by_power(board, chosen, rng)


def _gifts(engine: Engine, state: State, power: int, rng: np.random.Generator) -> list[tuple[int, int]]:
    gifts = np.flatnonzero(engine.board.orders.kind == GIVE)
    owned = max(int(state.welfare[power]), 0) if engine.rules.transfers else 0
    return [(power, int(rng.choice(np.delete(gifts, power)))) for _ in range(rng.integers(0, owned + 1))]


def by_power(board: Board, chosen: Sequence[tuple[int, int]], rng: np.random.Generator) -> Orders:
    """Each power's orders, in random order."""
    lists: list[list[int]] = [[] for _ in board.powers]
    for index in rng.permutation(len(chosen)):
        lists[chosen[index][0]].append(chosen[index][1])
    return [np.array(numbers, np.int32) for numbers in lists]


def dumbbot(board: Board, seed: int) -> Chooser:
    """A chooser that plays the policy dumbbot in all seats."""
    policies = {power: DumbBotPolicy() for power in board.powers}
    for power, policy in policies.items():
        policy.reset(agent=power, seed=seed)

    def choose(engine: Engine, state: State, legal: Legal, rng: np.random.Generator) -> Orders:
        position, index = Position(engine, state), board.orders.index
        texts = [policy.orders(View(position, power)) for power, policy in policies.items()]
        return [np.array([index[text] for text in given if text != "WAIVE"], np.int32) for given in texts]

    return choose


# Positions.


def crowded(engine: Engine, rng: np.random.Generator) -> State:
    """A random position: fleets at sea, armies on coasts, few or many powers, and owners of most centers."""
    board = engine.board
    powers = [board.powers[n] for n in rng.permutation(len(board.powers))[: rng.integers(2, len(board.powers) + 1)]]
    units = _scatter(board, powers, rng)
    leader = 0.6 if rng.random() < 0.2 else 0  # one power close to victory
    centers: dict[str, list[str]] = {power: [] for power in powers}
    for center in board.centers:
        if rng.random() < 0.85:
            centers[powers[0] if rng.random() < leader else rng.choice(powers)].append(center)
    season = str(rng.choice(["SM", "FM"] if rng.random() < 0.7 else ["FM", "SR", "FR", "WA"]))
    dislodged = _dislodge(board, units, powers, rng) if season.endswith("R") else {}
    phase = f"{season[0]}{board.first_year:04d}{season[1] if any(dislodged.values()) or season[1] != 'R' else 'M'}"
    welfare = {power: int(rng.integers(0, 5)) for power in powers} if engine.rules.is_welfare else {}
    return position_state(engine, phase, units, centers, dislodged, welfare)


def _scatter(board: Board, powers: Sequence[str], rng: np.random.Generator) -> dict[str, list[str]]:
    at_sea, ashore, armies = rng.uniform(0.3, 0.95), rng.uniform(0.2, 0.8), rng.uniform(0.5, 1)
    units: dict[str, list[str]] = {power: [] for power in powers}
    for province in rng.permutation(board.provinces):
        here = [piece for piece in board.pieces if piece[2:5] == province]
        if rng.random() < (at_sea if here[0][0] == "F" else ashore):
            army = here[0][0] == "A" and (len(here) == 1 or rng.random() < armies)
            units[rng.choice(powers)].append(here[0] if army else str(rng.choice(here[here[0][0] == "A" :])))
    return units


def _dislodge(
    board: Board, units: dict[str, list[str]], powers: Sequence[str], rng: np.random.Generator
) -> dict[str, dict[str, list[str]]]:
    """Dislodged units in occupied provinces, with some adjacent places as retreats, a few of them occupied."""
    occupied = [unit[2:5] for held in units.values() for unit in held]
    found: dict[str, dict[str, list[str]]] = {power: {} for power in powers}
    for province in rng.permutation(occupied)[: min(12, len(occupied) // 2)]:
        piece = str(rng.choice([piece for piece in board.pieces if piece[2:5] == province]))
        options = [place for place in board.moves[piece] if rng.random() < 0.7]
        if options:
            found[rng.choice(powers)][piece] = options
    return found
