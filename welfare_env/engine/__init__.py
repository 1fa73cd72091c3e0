"""Positions as arrays, and the interface of all engines. No strings.

An engine is built for one board and one set of rules and is stateless: `initial`, `legal` and `step` are functions of
their arguments. Engines trust their input; `welfare_env.game.game` checks it.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from welfare_env.board.board import Board
from welfare_env.rules import Rules

SPRING_MOVES, SPRING_RETREATS, FALL_MOVES, FALL_RETREATS, WINTER = range(5)
MOVEMENT, RETREATS, ADJUSTMENTS = "M", "R", "A"
PHASE_TYPES = (MOVEMENT, RETREATS, MOVEMENT, RETREATS, ADJUSTMENTS)
SEASONS = ("S", "S", "F", "F", "W")

# Results of an order as bit flags; 0 is success. The words are the `diplomacy` package's.
RESULTS = ("no convoy", "bounce", "void", "cut", "dislodged", "disrupted", "disband")
FLAG = {word: 1 << bit for bit, word in enumerate(RESULTS)}


class Frozen:
    """Base of dataclasses that hold arrays: makes the arrays read-only, also in copies.

    Arrays are taken over, not copied: the caller must not write to them afterwards.
    """

    __slots__ = ()
    __dataclass_fields__: ClassVar[dict[str, Any]]  # read directly: `dataclasses.fields` would take 2 us per phase

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:
            value = getattr(self, name)
            if isinstance(value, np.ndarray):
                value.setflags(write=False)

    def __reduce__(self) -> tuple[type[Frozen], tuple[Any, ...]]:
        return type(self), self._values()  # __post_init__ makes the copied arrays read-only

    def _values(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in self.__dataclass_fields__)


@dataclass(frozen=True)
class Layout:
    """The layout of a state's row, int32 [size]. The first entries are PHASE .. DONE.

    Attributes:
        most_units, most_dislodged, most_options: capacities.
        power, piece: offsets of each unit's power and piece.
        lost_power, lost_piece, lost_options, lost_option: offsets of each dislodged unit's power, piece, number of
            retreat options, and retreat options, `most_options` per unit.
        owner, welfare, influence: offsets of the values per center, power and province.
    """

    most_units: int
    most_dislodged: int
    most_options: int
    power: int
    piece: int
    lost_power: int
    lost_piece: int
    lost_options: int
    lost_option: int
    owner: int
    welfare: int
    influence: int
    size: int

    @classmethod
    def of(cls, board: Board) -> Layout:
        """The layout for a board: at most one unit per province, at most half of the units dislodged."""
        units = len(board.provinces)
        dislodged = units // 2 + 1
        options = max(map(len, board.moves.values()))
        sizes = [units, units, dislodged, dislodged, dislodged, dislodged * options]
        sizes += [len(board.centers), len(board.powers), units]
        offsets = [HEAD + sum(sizes[:number]) for number in range(len(sizes) + 1)]
        return cls(units, dislodged, options, *offsets)


@functools.lru_cache(maxsize=32)
def layout_of(board: Board) -> Layout:
    """The layout of a board's states."""
    return Layout.of(board)


PHASE, YEAR, UNITS, DISLODGED, WINNER, DONE = range(6)
HEAD = 8


@dataclass(frozen=True, eq=False)
class State(Frozen):
    """A position: one row of numbers, never changed in place, with 0 in unused entries. Properties return copies.

    Attributes:
        layout: the layout of the row.
        row: int32 [layout.size].
    """

    layout: Layout
    row: np.ndarray

    @classmethod
    def pack(
        cls,
        layout: Layout,
        phase: int,
        year: int,
        units: np.ndarray,
        dislodged: np.ndarray,
        retreats: np.ndarray,
        owners: np.ndarray,
        welfare: np.ndarray,
        influence: np.ndarray,
        winner: int = -1,
        done: bool = False,
    ) -> State:
        """A state from its parts; see the properties with the same names."""
        row = np.zeros(layout.size, np.int32)
        row[: DONE + 1] = phase, year, len(units), len(dislodged), winner, done
        for offset, rows, column in (
            (layout.power, units, 0),
            (layout.piece, units, 1),
            (layout.lost_power, dislodged, 0),
            (layout.lost_piece, dislodged, 1),
        ):
            row[offset : offset + len(rows)] = rows[:, column]
        for number, places in enumerate(retreats):
            chosen = np.sort(places[places >= 0])
            row[layout.lost_options + number] = len(chosen)
            start = layout.lost_option + number * layout.most_options
            row[start : start + len(chosen)] = chosen
        for offset, values in ((layout.owner, owners), (layout.welfare, welfare), (layout.influence, influence)):
            row[offset : offset + len(values)] = values
        return cls(layout, row)

    def replaced(self, **changes: Any) -> State:
        """A copy with some arguments of `pack` replaced."""
        names = ("phase", "year", "units", "dislodged", "retreats", "owners", "welfare", "influence", "winner", "done")
        return State.pack(self.layout, **({name: getattr(self, name) for name in names} | changes))

    @property
    def phase(self) -> int:
        """SPRING_MOVES .. WINTER."""
        return int(self.row[PHASE])

    @property
    def phase_type(self) -> str:
        """ "M" (movement), "R" (retreats) or "A" (adjustments)."""
        return PHASE_TYPES[self.row[PHASE]]

    @property
    def year(self) -> int:
        """Index of the year, from 0."""
        return int(self.row[YEAR])

    @property
    def winner(self) -> int:
        """The power that won the standard game, or -1."""
        return int(self.row[WINNER])

    @property
    def done(self) -> bool:
        """Whether the game is over."""
        return bool(self.row[DONE])

    @property
    def units(self) -> np.ndarray:
        """int32 [units, 2], power and piece, grouped by power; within a power in the reference engine's order."""
        return self._pairs(self.layout.power, self.layout.piece, int(self.row[UNITS]))

    @property
    def dislodged(self) -> np.ndarray:
        """int32 [dislodged, 2], power and piece, waiting to retreat."""
        return self._pairs(self.layout.lost_power, self.layout.lost_piece, int(self.row[DISLODGED]))

    @property
    def retreats(self) -> np.ndarray:
        """int32 [dislodged, options], retreat options (some may be occupied), padded with -1."""
        count, width = int(self.row[DISLODGED]), self.layout.most_options
        start = self.layout.lost_option
        places = self.row[start : start + count * width].reshape(count, width)
        valid = np.arange(width) < self.row[self.layout.lost_options :][:count, None]
        return np.where(valid, places, -1)

    @property
    def owners(self) -> np.ndarray:
        """int32 [centers], power or -1."""
        return self.row[self.layout.owner : self.layout.welfare].copy()

    @property
    def welfare(self) -> np.ndarray:
        """int32 [powers], welfare points so far."""
        return self.row[self.layout.welfare : self.layout.influence].copy()

    @property
    def influence(self) -> np.ndarray:
        """int32 [provinces], the power that last occupied each, or -1."""
        return self.row[self.layout.influence : self.layout.size].copy()

    def _pairs(self, first: int, second: int, count: int) -> np.ndarray:
        pairs = np.empty((count, 2), np.int32)
        pairs[:, 0], pairs[:, 1] = self.row[first : first + count], self.row[second : second + count]
        return pairs

    def same_as(self, other: State) -> bool:
        """Whether both are the same position: equal positions have equal rows."""
        return self is other or np.array_equal(self.row, other.row)


def initial_state(board: Board) -> State:
    """The opening position of a board."""
    rows = [(board.power_index[p], board.piece_index[u]) for p in board.powers for u in board.start_units[p]]
    units = np.array(rows, np.int32).reshape(-1, 2)
    owners = np.full(len(board.centers), -1, np.int32)
    for power, centers in board.start_centers.items():
        owners[[board.center_index[center] for center in centers]] = board.power_index[power]
    influence = np.full(len(board.provinces), -1, np.int32)
    influence[board.piece_province[units[:, 1]]] = units[:, 0]
    return State.pack(
        layout_of(board),
        phase=SPRING_MOVES,
        year=0,
        units=units,
        dislodged=np.zeros((0, 2), np.int32),
        retreats=np.zeros((0, 0), np.int32),
        owners=owners,
        welfare=np.zeros(len(board.powers), np.int32),
        influence=influence,
    )


@dataclass(frozen=True, eq=False)
class Legal(Frozen):
    """The legal orders of a position, sorted by slot, then by order number.

    A slot is what an order applies to: the index of a unit (movement; disbands in Winter) or of a dislodged unit
    (retreats); builds have slot ``len(units) + center``. WAIVE, legal in every Winter, is not listed.

    Attributes:
        orders: int32 [n], order numbers.
        slots: int32 [n].
        powers: int32 [n], the power that may give the order.
    """

    orders: np.ndarray
    slots: np.ndarray
    powers: np.ndarray


class Engine(Protocol):
    """The interface of an engine, built for `board` and `rules`."""

    board: Board
    rules: Rules

    def initial(self) -> State:
        """The opening position."""
        ...

    def legal(self, state: State) -> Legal:
        """All legal orders of a position that is not over."""
        ...

    def step(self, state: State, orders: Sequence[np.ndarray]) -> tuple[State, np.ndarray]:
        """Resolve a phase.

        Args:
            orders: per power its legal order numbers, int32. A unit without an order holds, a dislodged unit without
                one disbands; Winter lists must not mix builds and disbands, nor build more than allowed.

        Returns:
            The next position with orders to give, or the end; and uint8 [units] result flags of the orders (retreats:
            [dislodged]; Winter: [units], "disband" for a forced removal).
        """
        ...
