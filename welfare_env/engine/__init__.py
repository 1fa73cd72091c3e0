"""The engine room: what a position is, and what every engine can do with one. Arrays in, arrays out; no strings.

An engine is built for one board and one set of rules and keeps no game: `initial`, `legal` and `step` are functions of
the state they are given. Engines trust their input; `welfare_env.game` checks it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from welfare_env.errors import RulesError
from welfare_env.rules import Rules

if TYPE_CHECKING:
    from welfare_env.board import Board

SPRING_MOVES, SPRING_RETREATS, FALL_MOVES, FALL_RETREATS, WINTER = range(5)
MOVEMENT, RETREATS, ADJUSTMENTS = "M", "R", "A"
PHASE_TYPES = (MOVEMENT, RETREATS, MOVEMENT, RETREATS, ADJUSTMENTS)
SEASONS = ("S", "S", "F", "F", "W")

# What became of an order, as bit flags; 0 is success. The words are the `diplomacy` package's.
RESULTS = ("no convoy", "bounce", "void", "cut", "dislodged", "disrupted", "disband")
FLAG = {word: 1 << bit for bit, word in enumerate(RESULTS)}


@dataclass(frozen=True, eq=False)
class State:
    """A position. Never changed in place.

    Attributes:
        phase: SPRING_MOVES .. WINTER.
        year: index of the year, from 0.
        units: int16 [units, 2], power and piece, grouped by power; within a power in the reference's sequence.
        dislodged: int16 [dislodged, 2], power and piece, waiting to retreat.
        retreats: int16 [dislodged, options], locations each may retreat to (some may be occupied), padded with -1.
        owners: int8 [centers], power or -1.
        welfare: int32 [powers], welfare points so far.
        influence: int8 [provinces], the power that was there last, or -1.
        winner: the power that won the standard game, or -1.
        done: whether the game is over.
    """

    phase: int
    year: int
    units: np.ndarray
    dislodged: np.ndarray
    retreats: np.ndarray
    owners: np.ndarray
    welfare: np.ndarray
    influence: np.ndarray
    winner: int = -1
    done: bool = False

    def __post_init__(self) -> None:
        for array in (self.units, self.dislodged, self.retreats, self.owners, self.welfare, self.influence):
            array.setflags(write=False)

    @property
    def phase_type(self) -> str:
        return PHASE_TYPES[self.phase]

    def same_as(self, other: State) -> bool:
        """Whether both are the same position to the last detail."""
        scalars = ("phase", "year", "winner", "done")
        arrays = ("units", "dislodged", "retreats", "owners", "welfare", "influence")
        return self is other or (
            all(getattr(self, name) == getattr(other, name) for name in scalars)
            and all(np.array_equal(getattr(self, name), getattr(other, name)) for name in arrays)
        )


@dataclass(frozen=True, eq=False)
class Legal:
    """The legal orders of a position, sorted by slot, then by order number.

    A slot is what can be ordered: the row of a unit (movement; disbands in Winter) or of a dislodged unit (retreats);
    builds have slot ``len(units) + center``. WAIVE is legal besides in every Winter and is not listed.

    Attributes:
        orders: int32 [n], order numbers.
        slots: int16 [n].
        powers: int8 [n], who may give the order.
    """

    orders: np.ndarray
    slots: np.ndarray
    powers: np.ndarray

    def __post_init__(self) -> None:
        for array in (self.orders, self.slots, self.powers):
            array.setflags(write=False)


class Engine(Protocol):
    """What an engine offers. `board` and `rules` are those it was built for."""

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
            state: a position that is not over.
            orders: per power its legal order numbers, int32. A unit without order holds, a dislodged unit without order
                disbands; Winter lists do not mix builds and disbands, and do not build too much.

        Returns:
            The next position that asks for orders (or is over), and uint8 [units] flags of what became of the orders
            (retreats: [dislodged]; Winter: [units], "disband" where a unit was removed by force).
        """
        ...


def balance(board: Board, state: State) -> np.ndarray:
    """Centres owned less units on the board, int64 [powers]."""
    number = len(board.powers)
    owned = np.bincount(state.owners[state.owners >= 0], minlength=number)
    return owned - np.bincount(state.units[:, 0], minlength=number)


def build_sites(board: Board, state: State) -> np.ndarray:
    """Where its owner may build a unit, in empty homes (or any empty centre of some maps): bool [centers]."""
    occupied = np.zeros(len(board.provinces), bool)
    occupied[board.piece_province[state.units[:, 1]]] = True
    is_home = (state.owners == board.home_power) | board.build_anywhere
    return (state.owners >= 0) & is_home & ~occupied[board.center_province]


def adjustments(board: Board, rules: Rules, state: State) -> tuple[np.ndarray, np.ndarray]:
    """How many units each power may build and how many it must disband in Winter: two int64 [powers]."""
    room = balance(board, state)
    sites = np.bincount(state.owners[build_sites(board, state)], minlength=len(board.powers))
    if rules.overmilitarise:
        return sites, np.zeros_like(room)
    return np.minimum(sites, np.maximum(room, 0)), np.maximum(-room, 0)


def _reference(board: Board, rules: Rules) -> Engine:
    from welfare_env.reference import ReferenceEngine

    return ReferenceEngine(board, rules)


ENGINES: dict[str, Callable[[Board, Rules], Engine]] = {"reference": _reference}
DEFAULT_ENGINE = "reference"


def make_engine(name: str, board: Board, rules: Rules) -> Engine:
    """The engine of this name.

    Raises:
        RulesError: there is no such engine.
    """
    if not isinstance(name, str) or name not in ENGINES:
        raise RulesError(f"engine={name!r}: choose one of {', '.join(map(repr, ENGINES))}")
    if not isinstance(rules, Rules):
        raise RulesError(f"rules={rules!r}: give welfare_env.Rules(...)")
    return ENGINES[name](board, rules)
