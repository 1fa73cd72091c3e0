"""A position as strings, for people and policies, made lazily from a state's arrays."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np

from welfare_env.board.board import Board
from welfare_env.board.orders import BUILD, DISBAND, GIVE, WAIVE
from welfare_env.checks import quoted
from welfare_env.engine import ADJUSTMENTS, RETREATS, SEASONS, Engine, Legal, State
from welfare_env.engine.winter import adjustments
from welfare_env.errors import PositionError
from welfare_env.game.scoring import scores
from welfare_env.rules import Rules

WINTER_TURN = -1  # instead of a slot: in Winter a power chooses among all orders still allowed
Units = dict[str, tuple[str, ...]]
UnitsView = Mapping[str, tuple[str, ...]]  # read-only


class Position:
    """An engine's state with the board's names. Read-only; shared by all views of the same moment.

    Games, views and played phases have one as `position`. Numbers of orders are those of `Board.orders`; a *slot* is a
    unit or, in Winter, an empty home center for which a power may give orders.

    Attributes:
        engine: the engine that adjudicates, with the board and the rules.
        state: the position as arrays.
    """

    def __init__(self, engine: Engine, state: State) -> None:
        self.engine = engine
        self.state = state

    def __repr__(self) -> str:
        return f"<Position on {self.board.name} in {self.phase}>"

    def __getstate__(self) -> dict[str, object]:
        return {"engine": self.engine, "state": self.state}  # the rest is cached, and mapping proxies cannot be copied

    @property
    def board(self) -> Board:
        """The board of the game."""
        return self.engine.board

    @functools.cached_property
    def phase(self) -> str:
        """Short name: season, year, type ("S1901M"); "COMPLETED" after the end."""
        if self.state.done:
            return "COMPLETED"
        return f"{SEASONS[self.state.phase]}{self.year:04d}{self.state.phase_type}"

    @property
    def year(self) -> int:
        """The year of the board's calendar, such as 1901."""
        return self.board.first_year + self.state.year

    @functools.cached_property
    def units(self) -> UnitsView:
        """Power -> its units, without dislodged ones."""
        return self._by_power(self.state.units)

    @functools.cached_property
    def dislodged(self) -> Mapping[str, UnitsView]:
        """Power -> its dislodged units -> the retreat options of each."""
        places, lost = self.board.locations, self.state.dislodged.tolist()
        found: dict[str, dict[str, tuple[str, ...]]] = {power: {} for power in self.board.powers}
        for (power, piece), options in zip(lost, self.state.retreats.tolist() if lost else (), strict=True):
            unit = self.board.pieces[piece]
            found[self.board.powers[power]][unit] = tuple(places[place] for place in options if place >= 0)
        return MappingProxyType({power: MappingProxyType(units) for power, units in found.items()})

    @functools.cached_property
    def centers(self) -> UnitsView:
        """Power -> the supply centers it owns."""
        owned: dict[str, list[str]] = {power: [] for power in self.board.powers}
        for center, owner in zip(self.board.centers, self.state.owners.tolist(), strict=True):
            if owner >= 0:
                owned[self.board.powers[owner]].append(center)
        return _frozen(owned)

    @functools.cached_property
    def welfare(self) -> Mapping[str, int]:
        """Power -> welfare points so far."""
        return MappingProxyType(dict(zip(self.board.powers, self.state.welfare.tolist(), strict=True)))

    @functools.cached_property
    def scores(self) -> Mapping[str, float]:
        """Power -> its score under the rules' scoring if the game ended now."""
        values = scores(self.board, self.engine.rules, self.state).tolist()
        return MappingProxyType(dict(zip(self.board.powers, values, strict=True)))

    @functools.cached_property
    def influence(self) -> UnitsView:
        """Power -> the provinces that it was the last to occupy."""
        held: dict[str, list[str]] = {power: [] for power in self.board.powers}
        for province, power in zip(self.board.provinces, self.state.influence.tolist(), strict=True):
            if power >= 0:
                held[self.board.powers[power]].append(province)
        return _frozen(held)

    @functools.cached_property
    def legal(self) -> Legal:
        """All legal orders of the phase as arrays; empty after the end."""
        if self.state.done:
            none = np.zeros(0, np.int32)
            return Legal(none, none.astype(np.int16), none.astype(np.int8))
        return self.engine.legal(self.state)

    @functools.cached_property
    def adjustments(self) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of units that each power may build and must disband; zeros outside Winter. Two int64 [powers]."""
        builds = disbands = np.zeros(len(self.board.powers), np.int64)
        if self.state.phase_type == ADJUSTMENTS and not self.state.done:
            builds, disbands = adjustments(self.board, self.engine.rules, self.state)
        for limit in (builds, disbands):
            limit.setflags(write=False)
        return builds, disbands

    @functools.cached_property
    def _slots(self) -> tuple[dict[int, np.ndarray], dict[int, list[int]]]:
        """Slot -> its legal orders, and power -> its slots."""
        legal = self.legal
        is_first = np.ones(len(legal.slots), bool)
        is_first[1:] = legal.slots[1:] != legal.slots[:-1]
        starts = np.flatnonzero(is_first)
        ends = [*starts[1:].tolist(), len(legal.slots)]
        orders: dict[int, np.ndarray] = {}
        owned: dict[int, list[int]] = {power: [] for power in range(len(self.board.powers))}
        rows = zip(legal.slots[starts].tolist(), legal.powers[starts].tolist(), starts.tolist(), ends, strict=True)
        for slot, power, first, last in rows if len(starts) else ():
            orders[slot] = legal.orders[first:last]
            owned[power].append(slot)
        return orders, owned

    @functools.cached_property
    def _slot_of(self) -> dict[int, int]:
        """Legal order -> its slot; no two slots have the same order."""
        return dict(zip(self.legal.orders.tolist(), self.legal.slots.tolist(), strict=True))

    def slot_of(self, power: int, number: int) -> int | None:
        """The slot of a legal order; None if it is not legal for the power."""
        slot = self._slot_of.get(number)
        return slot if slot in self.slots(power) else None

    def slot_orders(self, slot: int) -> np.ndarray:
        """The legal orders of a slot, sorted: int32 [n]."""
        return self._slots[0][slot]

    def slots(self, power: int) -> list[int]:
        """The slots for which a power may give orders, sorted."""
        return self._slots[1][power]

    def slot_province(self, slot: int) -> int:
        """The province of a slot's unit or center, as an index."""
        return int(self.board.piece_province[self._ordered[slot, 1]])

    @functools.cached_property
    def _ordered(self) -> np.ndarray:
        """The units to be ordered: dislodged units in retreats, else units; int32 [n, 2], power and piece."""
        return self.state.dislodged if self.state.phase_type == RETREATS else self.state.units

    def open_kinds(self, power: int, given: Sequence[int]) -> set[int]:
        """The kinds of order (BUILD, DISBAND, GIVE) that a power may still give this Winter, after those given.

        A power cannot both build and disband in one Winter, unless the rules have `build_and_disband`. Under welfare
        rules any unit may be disbanded.
        """
        rules, (builds, disbands) = self.engine.rules, self.adjustments
        kinds = self.board.orders.kind[list(given)].tolist()
        built, disbanded, gifts = (kinds.count(kind) for kind in (BUILD, DISBAND, GIVE))
        found = set()
        if built < builds[power] and (rules.build_and_disband or not disbanded):
            found.add(BUILD)
        if (rules.build_and_disband or not built) and (rules.is_welfare or disbanded < disbands[power]):
            found.add(DISBAND)
        if rules.transfers and gifts < self.state.welfare[power]:
            found.add(GIVE)
        return found

    def winter_limit(self, power: str, kind: int) -> str:
        """The number of units that a power may build or disband this Winter, as a sentence."""
        builds, disbands = (int(limit[self.board.power_index[power]]) for limit in self.adjustments)
        room, what = (builds, "build") if kind == BUILD else (disbands, "disband")
        return f"{power} may {what} {room} unit{'s' * (room != 1)} in {self.phase}"

    def winter_orders(self, power: int, given: Sequence[int]) -> np.ndarray:
        """The orders that a power may still give this Winter, without WAIVE: int32 [n]."""
        table, kinds, chosen = self.board.orders, self.open_kinds(power, given), set(given)
        lists = [
            orders
            for orders in map(self.slot_orders, self.slots(power))
            if table.kind[orders[0]] in kinds and chosen.isdisjoint(orders.tolist())  # a slot has orders of one kind
        ]
        if GIVE in kinds:
            lists.append(np.flatnonzero((table.kind == GIVE) & (table.dest != power)))
        return np.concatenate(lists, dtype=np.int32) if lists else np.zeros(0, np.int32)

    # Orders given one at a time: the turns of a power in this phase.

    def turns(self, power: int) -> list[int]:
        """The slots of a power's turns, in order; in Winter WINTER_TURN, if there is anything to order."""
        if self.state.phase_type != ADJUSTMENTS:
            return self.slots(power)
        return [WINTER_TURN] if self.adjustments[1][power] or len(self.winter_orders(power, ())) else []

    def turn_orders(self, power: int, slot: int, given: Sequence[int]) -> np.ndarray:
        """The orders that a power may give in a turn, after those given in this phase, sorted: int32 [n]."""
        if slot != WINTER_TURN:
            return self.slot_orders(slot)
        free, kind = self.winter_orders(power, given), self.board.orders.kind
        is_enough = (kind[list(given)] == DISBAND).sum() >= self.adjustments[1][power]
        may_waive = is_enough or (kind[free] == GIVE).all()
        return np.union1d(free, [WAIVE] if may_waive else []).astype(np.int32)

    def slot_name(self, slot: int) -> str:
        """The name of a slot: a unit ("A PAR") or an empty home center ("PAR")."""
        rows = self._ordered
        return self.board.pieces[rows[slot, 1]] if slot < len(rows) else self.board.centers[slot - len(rows)]

    def legal_orders(self, power: str) -> dict[str, tuple[str, ...]]:
        """Unit or build site -> its legal orders, for one power (see `View.legal_orders`)."""
        text = self.board.orders.texts.__getitem__
        return {
            self.slot_name(slot): tuple(map(text, self.slot_orders(slot).tolist()))
            for slot in self.slots(self.board.power_index[power])
        }

    def is_alive(self, power: str) -> bool:
        """Whether a power has a unit or a center left."""
        return bool(self.units[power] or self.centers[power] or self.dislodged[power])

    def _by_power(self, rows: np.ndarray) -> UnitsView:
        found: dict[str, list[str]] = {power: [] for power in self.board.powers}
        for power, piece in rows.tolist():
            found[self.board.powers[power]].append(self.board.pieces[piece])
        return _frozen(found)


class PublicPosition:
    """The public part of a position, as properties of games, views and played phases. They return copies."""

    _position: Position

    @property
    def position(self) -> Position:
        """The position with its state and legal orders as arrays. Read-only; shared by all views of the same moment."""
        return self._position

    @property
    def board(self) -> Board:
        """The map with its names, moves and orders."""
        return self._position.engine.board

    @property
    def rules(self) -> Rules:
        """The rules of the game."""
        return self._position.engine.rules

    @property
    def powers(self) -> tuple[str, ...]:
        """All powers, in the map's order."""
        return self.board.powers

    @property
    def phase(self) -> str:
        """Short name, such as "S1901M": season (S, F, W), year, type (Movement, Retreats, Adjustments).

        "COMPLETED" after the end.
        """
        return self._position.phase

    @property
    def year(self) -> int:
        """The year of the board's calendar, such as 1901."""
        return self._position.year

    @property
    def is_done(self) -> bool:
        """Whether the game is over."""
        return self._position.state.done

    @property
    def units(self) -> Units:
        """Power -> its units, without dislodged ones."""
        return dict(self._position.units)

    @property
    def dislodged(self) -> dict[str, Units]:
        """Power -> dislodged units -> the retreat options of each."""
        return {power: dict(units) for power, units in self._position.dislodged.items()}

    @property
    def centers(self) -> Units:
        """Power -> supply centers it owns."""
        return dict(self._position.centers)

    @property
    def welfare(self) -> dict[str, int]:
        """Power -> welfare points so far."""
        return dict(self._position.welfare)

    @property
    def scores(self) -> dict[str, float]:
        """Power -> its score under ``rules.scoring`` if the game ended now."""
        return dict(self._position.scores)


def _frozen(lists: dict[str, list[str]]) -> UnitsView:
    return MappingProxyType({power: tuple(names) for power, names in lists.items()})


def parse_phase(text: object, board: Board, years: int) -> tuple[int, int]:
    """Phase number and year index of a short name such as "F1905M".

    Raises:
        PositionError: not a phase name, or a year outside the game.
    """
    names = {f"{SEASONS[phase]}{kind}": phase for phase, kind in enumerate("MRMRA")}
    if isinstance(text, str) and re.fullmatch("[SFW][0-9]{1,9}[MRA]", text) and text[0] + text[-1] in names:
        year = int(text[1:-1]) - board.first_year
        if 0 <= year < years:
            return names[text[0] + text[-1]], year
    last = board.first_year + years - 1
    raise PositionError(
        f"phase {quoted(text)}: give S, F or W, a year from {board.first_year} to {last}, "
        f"and M, R or A, e.g. 'F{last}M'"
    )
