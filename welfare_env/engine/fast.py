"""The fast engine: the compiled kernels behind the engine interface."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from welfare_env.board.board import Board
from welfare_env.board.loading import load_board
from welfare_env.engine import Legal, State, initial_state, kernels
from welfare_env.engine import tables as t
from welfare_env.engine.tables import tables_of
from welfare_env.interruptions import uninterrupted
from welfare_env.rules import Rules


def rules_array(board: Board, rules: Rules) -> np.ndarray:
    """The rules as the kernels read them: int32 [PROGRESSIVE + years]."""
    numbers = np.ones(t.PROGRESSIVE + rules.years, np.int32)
    numbers[t.IS_WELFARE] = rules.is_welfare
    numbers[t.YEARS] = rules.years
    numbers[t.HAS_VICTORY] = rules.has_victory
    numbers[t.VICTORY] = board.victory
    numbers[t.OVERMILITARISE] = rules.overmilitarise
    numbers[t.RETREAT_WELFARE] = rules.retreat_welfare
    numbers[t.BUILD_AND_DISBAND] = rules.build_and_disband
    numbers[t.BUILD_ANYWHERE] = board.build_anywhere
    numbers[t.RULEBOOK] = rules.adjudication == "rulebook"
    numbers[t.PROGRESSIVE :] = [rules.weight(year) for year in range(rules.years)]
    return numbers


class Scratch:
    """The kernels' scratch memory for one thread. No content is kept between calls.

    Attributes:
        w, b, x: see `kernels`.
        row: int32, a state.
        orders, order_slots, order_powers: int32, large enough for the legal orders of any position.
        starts, slots, powers: int32, one entry per slot, and one more.
        flags: uint8, one per unit.
    """

    def __init__(self, tables: t.Tables) -> None:
        rows = tables[t.N_UNITS] + tables[t.N_CENTERS] + 1
        self.w = np.zeros((t.SCRATCH_ROWS, tables[t.SCRATCH_WIDTH]), np.int32)
        self.b = np.zeros((tables[t.BUCKET_ROWS], tables[t.BUCKET_WIDTH]), np.int32)
        self.x = np.zeros(tables[t.MASK_SCRATCH_SIZE], np.int64)
        self.row = np.zeros(tables[t.STATE_SIZE], np.int32)
        self.orders, self.order_slots, self.order_powers = (
            np.zeros(room_for_orders(tables), np.int32) for _ in range(3)
        )
        self.starts, self.slots, self.powers = (np.zeros(rows, np.int32) for _ in range(3))
        self.flags = np.zeros(rows, np.uint8)


def room_for_orders(tables: t.Tables) -> int:
    """An upper bound on the number of legal orders in any position; `kernels.legal` needs this much room."""
    units, centers = tables[t.N_UNITS], tables[t.N_CENTERS]
    retreats = tables[t.N_DISLODGED] * (tables[t.N_OPTIONS] + 1)
    return max(units * tables[t.MAX_LEGAL] + t.MOVES_AT_ONCE, retreats, units + centers * t.PIECES_HERE)


class FastEngine:
    """A `welfare_env.engine.Engine` that calls the compiled kernels. Not thread-safe."""

    def __init__(self, board: Board, rules: Rules) -> None:
        self.board = board
        self.rules = rules
        self._numbers, self._masks = tables_of(board).numbers, tables_of(board).masks
        self._rules = rules_array(board, rules)
        self._scratch = Scratch(tables_of(board))

    def __reduce__(self) -> tuple[type[FastEngine], tuple[Board, Rules]]:
        return FastEngine, (self.board, self.rules)

    def initial(self) -> State:
        return initial_state(self.board)

    def legal(self, state: State) -> Legal:
        at = self._scratch
        at.row[:] = state.row  # a writable copy: for read-only rows numba would compile the kernels a second time
        lists = at.orders, at.starts, at.slots, at.powers, at.order_slots, at.order_powers
        end = kernels.legal_flat(self._numbers, self._masks, self._rules, at.row, at.w, at.b, at.x, *lists)
        return Legal(at.orders[:end].copy(), at.order_slots[:end].copy(), at.order_powers[:end].copy())

    def step(self, state: State, orders: Sequence[np.ndarray]) -> tuple[State, np.ndarray]:
        at, row = self._scratch, state.row.copy()
        flat = np.concatenate(orders, dtype=np.int32)
        lengths = np.array([len(numbers) for numbers in orders], np.int32)
        powers = at.order_powers if len(flat) <= len(at.order_powers) else np.zeros(len(flat), np.int32)
        count = kernels.step_flat(
            self._numbers, self._masks, self._rules, row, at.w, at.b, flat, lengths, powers, at.flags
        )
        return State(state.layout, row), at.flags[:count].copy()


@functools.cache
def ensure_compiled() -> None:
    """Compile what single games need, or load it from numba's cache, e.g. before many processes start."""
    engine = FastEngine(load_board("clique:2"), Rules(years=1))
    with uninterrupted():
        state = engine.initial()
        engine.legal(state)
        engine.step(state, [np.zeros(0, np.int32)] * len(engine.board.powers))
