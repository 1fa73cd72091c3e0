"""The reference engine: the `diplomacy` package adjudicates; this file adds the paper's welfare rules.

All other engines are compared with it. The package decides movement, retreats, captures, the standard Winter and
forced removals; this file adds the sequence of phases, welfare points, voluntary disbands, and the translation between
the package's strings and our arrays.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from welfare_env.board.board import Board
from welfare_env.board.map_file import import_package, load_source
from welfare_env.board.orders import BUILD, DISBAND, GIVE, SUPPORT_MOVE
from welfare_env.engine import (
    FALL_MOVES,
    FLAG,
    MOVEMENT,
    PHASE_TYPES,
    SEASONS,
    SPRING_MOVES,
    WINTER,
    Legal,
    State,
    initial_state,
)
from welfare_env.engine.winter import adjustments, balance, build_sites
from welfare_env.rules import Rules

NO_VICTORY = 1_000_000  # centers; more than any board has


class ReferenceEngine:
    """A `welfare_env.engine.Engine` on the `diplomacy` package: about 300 phases per second."""

    def __init__(self, board: Board, rules: Rules) -> None:
        source = load_source(board)
        package = import_package()
        package.engine.map.MAP_CACHE[source.name] = source  # the package's game looks it up here

        self.board = board
        self.rules = replace(rules, adjudication="package")  # what it plays, and what a record says
        self._game = package.Game(map_name=source.name)
        self._loaded: State | None = None
        self._texts = _texts_for_package(board)

    def __reduce__(self) -> tuple[type[ReferenceEngine], tuple[Board, Rules]]:
        return ReferenceEngine, (self.board, self.rules)  # a copy needs its own package game

    def initial(self) -> State:
        return initial_state(self.board)

    def legal(self, state: State) -> Legal:
        if state.phase == WINTER:
            return self._winter_legal(state)
        self._load(state)
        listed = self._game.get_all_possible_orders()
        rows = state.units if state.phase_type == MOVEMENT else state.dislodged
        index = self.board.orders.index
        found = [
            (slot, order, power)
            for slot, (power, piece) in enumerate(rows.tolist())
            for order in sorted(index[text] for text in listed[self.board.pieces[piece][2:]])
        ]
        return _as_legal(found)

    def _winter_legal(self, state: State) -> Legal:
        orders, board = self.board.orders, self.board
        builds, disbands = adjustments(board, self.rules, state)
        may_disband = (disbands > 0) | self.rules.is_welfare
        found = []
        for slot, (power, piece) in enumerate(state.units.tolist()):
            if may_disband[power]:
                found.append((slot, orders.index[f"{board.pieces[piece]} D"], power))
        for center in np.flatnonzero(build_sites(board, state)).tolist():
            power = int(state.owners[center])
            if builds[power] > 0:
                numbers = np.flatnonzero((orders.kind == BUILD) & self._stands_at(center))
                found += [(len(state.units) + center, int(number), power) for number in numbers]
        return _as_legal(found)

    def _stands_at(self, center: int) -> np.ndarray:
        """Whether each order's piece stands in a center: bool [orders]."""
        orders, board = self.board.orders, self.board
        return (orders.piece >= 0) & (board.piece_province[orders.piece] == board.center_province[center])

    def step(self, state: State, orders: Sequence[np.ndarray]) -> tuple[State, np.ndarray]:
        if state.phase == WINTER:
            return self._step_winter(state, orders)
        results = self._process(state, orders)
        rows = state.units if state.phase_type == MOVEMENT else state.dislodged
        flags = np.array([_flags(results.get(self.board.pieces[piece], ())) for piece in rows[:, 1]], np.uint8)
        return self._after_process(state), flags

    def _process(self, state: State, orders: Sequence[np.ndarray]) -> dict[str, Any]:
        """Let the package resolve the phase; its game then holds the next position."""
        self._load(state)
        texts = self._texts
        for power, numbers in zip(self.board.powers, orders, strict=True):
            self._game.set_orders(power, [texts[number] for number in numbers], expand=False)
        self._loaded = None
        return self._game.process().results

    def _after_process(self, state: State) -> State:
        """The position after a movement or retreat phase that the package has just resolved."""
        units, dislodged, retreats = self._read_units()
        welfare = state.welfare
        if self.rules.retreat_welfare and state.phase_type != MOVEMENT:
            settled = state.replaced(units=units)
            welfare = welfare + self._gain(settled)
        after = state.replaced(
            units=units,
            dislodged=dislodged,
            retreats=retreats,
            welfare=welfare,
            influence=self._read_influence(),
        )
        if len(dislodged):
            return after.replaced(phase=state.phase + 1)
        if state.phase < FALL_MOVES:
            return after.replaced(phase=FALL_MOVES)
        return self._enter_winter(after.replaced(phase=WINTER, owners=self._captured(state.owners, units)))

    def _enter_winter(self, state: State) -> State:
        """Winter, unless the standard game has been won or has nothing to adjust."""
        if self._game.phase == "COMPLETED":
            return state.replaced(winner=self.board.power_index[self._game.outcome[1]], done=True)
        if not self.rules.is_welfare:
            builds, disbands = adjustments(self.board, self.rules, state)
            if not builds.any() and not disbands.any():
                return self._next_year(state)
        return state

    def _next_year(self, state: State) -> State:
        last = state.year + 1 >= self.rules.years
        return state.replaced(done=True) if last else state.replaced(year=state.year + 1, phase=SPRING_MOVES)

    def _step_winter(self, state: State, orders: Sequence[np.ndarray]) -> tuple[State, np.ndarray]:
        kept = self._adjust(state, orders)
        units = kept.units
        if not self.rules.overmilitarise and (balance(self.board, kept) < 0).any():
            self._process(kept, [np.zeros(0, np.int32)] * len(orders))
            units, _, _ = self._read_units()
        removed = ~np.isin(kept.units[:, 1], units[:, 1])
        flags = np.where(np.isin(state.units[:, 1], kept.units[removed, 1]), FLAG["disband"], 0).astype(np.uint8)
        after = state.replaced(units=units)  # as in the package, builds do not change influence
        if self.rules.is_welfare:
            given = self._transfers(orders)
            after = after.replaced(welfare=state.welfare + given + self._gain(after))
        return self._next_year(after), flags

    def _adjust(self, state: State, orders: Sequence[np.ndarray]) -> State:
        """The position after the ordered builds and disbands."""
        table = self.board.orders
        given = np.concatenate([np.asarray(numbers, np.int32) for numbers in orders])
        disbanded = table.piece[given[table.kind[given] == DISBAND]]
        rows = []
        for power, numbers in enumerate(orders):
            own = state.units[state.units[:, 0] == power]
            rows += own[~np.isin(own[:, 1], disbanded)].tolist()
            rows += [(power, table.piece[number]) for number in numbers if table.kind[number] == BUILD]
        return state.replaced(units=np.array(rows, np.int16).reshape(-1, 2))

    def _transfers(self, orders: Sequence[np.ndarray]) -> np.ndarray:
        table, change = self.board.orders, np.zeros(len(orders), np.int32)
        for giver, numbers in enumerate(orders):
            for number in numbers:
                if table.kind[number] == GIVE:
                    change[giver] -= 1
                    change[table.dest[number]] += 1
        return change

    def _gain(self, state: State) -> np.ndarray:
        """Welfare points of a year: centers minus units (paper, section 2.2, rule 1), weighted. int32 [powers]."""
        return (self.rules.weight(state.year) * balance(self.board, state)).astype(np.int32)

    def _read_influence(self) -> np.ndarray:
        influence = np.full(len(self.board.provinces), -1, np.int8)
        held = [(place, n) for n, power in enumerate(self.board.powers) for place in self._game.powers[power].influence]
        # After a retreat to a coast the package records the coast, but keeps the province's previous holder.
        for place, number in sorted(held, key=lambda entry: "/" in entry[0]):
            influence[self.board.provinces.index(place[:3])] = number
        return influence

    def _load(self, state: State) -> None:
        """Load a position into the package's game, as of the first year: adjudication does not depend on the year."""
        if self._loaded is state:
            return
        game, board = self._game, self.board
        game.clear_units()
        game.clear_centers()
        game.set_state(self._as_reference_state(state))
        # State that the package keeps from the movement phase for the following retreats.
        game.dislodged = {board.pieces[piece]: "" for piece in state.dislodged[:, 1]}
        game.popped, game.error = [], []
        game.win = board.victory if self.rules.has_victory else NO_VICTORY
        self._loaded = state

    def _as_reference_state(self, state: State) -> dict[str, Any]:
        board = self.board
        units: dict[str, list[str]] = {power: [] for power in board.powers}
        retreats: dict[str, dict[str, list[str]]] = {power: {} for power in board.powers}
        centers: dict[str, list[str]] = {power: [] for power in board.powers}
        for power, piece in state.units.tolist():
            units[board.powers[power]].append(board.pieces[piece])
        for (power, piece), options in zip(state.dislodged.tolist(), state.retreats.tolist(), strict=True):
            unit = board.pieces[piece]
            units[board.powers[power]].append(f"*{unit}")
            retreats[board.powers[power]][unit] = [board.locations[place] for place in options if place >= 0]
        for center, owner in enumerate(state.owners.tolist()):
            if owner >= 0:
                centers[board.powers[owner]].append(board.centers[center])
        influence: dict[str, list[str]] = {power: [] for power in board.powers}
        for province, holder in enumerate(state.influence.tolist()):
            if holder >= 0:
                influence[board.powers[holder]].append(board.provinces[province])
        name = f"{SEASONS[state.phase]}{board.first_year:04d}{PHASE_TYPES[state.phase]}"
        return {"name": name, "units": units, "retreats": retreats, "centers": centers, "influence": influence}

    def _read_units(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Units, dislodged units and retreat options in the package's current position."""
        index, powers = self.board.piece_index, self._game.powers
        units = [(n, index[u]) for n, power in enumerate(self.board.powers) for u in powers[power].units]
        dislodged = [(n, index[u]) for n, power in enumerate(self.board.powers) for u in powers[power].retreats]
        options = [places for power in self.board.powers for places in powers[power].retreats.values()]
        padded = np.full((len(options), max(map(len, options), default=0)), -1, np.int16)
        for row, places in zip(padded, options, strict=True):
            row[: len(places)] = [self.board.location_index[place] for place in places]
        shape = (-1, 2)
        return np.array(units, np.int16).reshape(shape), np.array(dislodged, np.int16).reshape(shape), padded

    def _captured(self, owners: np.ndarray, units: np.ndarray) -> np.ndarray:
        """A center belongs to the power that occupies it after Fall, else to its previous owner."""
        after = owners.copy()
        centers = self.board.province_center[self.board.piece_province[units[:, 1]]]
        after[centers[centers >= 0]] = units[centers >= 0, 0]
        return after


def _texts_for_package(board: Board) -> list[str]:
    """The orders as the package expects them: a fleet that supports a fleet's move need not name the right coast."""
    table, is_fleet = board.orders, board.piece_type == 1
    both = is_fleet[table.piece] & is_fleet[table.other] & (table.kind == SUPPORT_MOVE)
    return [text[:-3] if free and text[-3] == "/" else text for text, free in zip(table.texts, both, strict=True)]


def _as_legal(found: list[tuple[int, int, int]]) -> Legal:
    slots, orders, powers = zip(*found, strict=True) if found else ((), (), ())
    return Legal(np.array(orders, np.int32), np.array(slots, np.int16), np.array(powers, np.int8))


def _flags(results: Iterable[Any]) -> int:
    """The package's result words as bit flags; its "" is success."""
    return sum(FLAG[word] for word in {str(result) for result in results} if word)
