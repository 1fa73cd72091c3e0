"""The fast engine: the compiled kernels behind the engine interface."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from welfare_env.board import Board
from welfare_env.engine import UNITS, Legal, State, initial_state, kernels
from welfare_env.engine import tables as t
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
    numbers[t.BUILD_ANYWHERE] = board.build_anywhere
    numbers[t.PROGRESSIVE :] = [rules.weight(year) for year in range(rules.years)]
    return numbers


class Scratch:
    """The working memory of the kernels for one thread. Nothing in it outlives a call.

    Attributes:
        w, b, x: see `kernels`.
        orders: int32, room for the legal orders of any position.
        starts, slots, powers: int32, a number for everything that can be ordered, and one more.
        flags: uint8, one for every unit.
    """

    def __init__(self, tables: t.Tables) -> None:
        rows = tables[t.N_UNITS] + tables[t.N_CENTERS] + 1
        self.w = np.zeros((t.SCRATCH_ROWS, tables[t.SCRATCH_WIDTH]), np.int32)
        self.b = np.zeros((tables[t.BUCKET_ROWS], tables[t.BUCKET_WIDTH]), np.int32)
        self.x = np.zeros(tables[t.MASK_SCRATCH_SIZE], np.int64)
        self.orders = np.zeros(room_for_orders(tables), np.int32)
        self.starts, self.slots, self.powers = (np.zeros(rows, np.int32) for _ in range(3))
        self.flags = np.zeros(rows, np.uint8)


def room_for_orders(tables: t.Tables) -> int:
    """What the legal orders of any position fit into: what `kernels.legal` asks for before it writes."""
    units, centers = tables[t.N_UNITS], tables[t.N_CENTERS]
    retreats = tables[t.N_DISLODGED] * (tables[t.N_OPTIONS] + 1)
    return max(units * tables[t.MAX_LEGAL] + 8, retreats, units + centers * t.PIECES_HERE)


class FastEngine:
    """`welfare_env.engine.Engine` on the compiled kernels. For one thread at a time."""

    def __init__(self, board: Board, rules: Rules) -> None:
        self.board = board
        self.rules = rules
        self._numbers, self._masks = board.tables.numbers, board.tables.masks
        self._rules = rules_array(board, rules)
        self._scratch = Scratch(board.tables)

    def __reduce__(self) -> tuple[type[FastEngine], tuple[Board, Rules]]:
        return FastEngine, (self.board, self.rules)

    def initial(self) -> State:
        return initial_state(self.board)

    def legal(self, state: State) -> Legal:
        at = self._scratch
        rows, end = kernels.legal(
            self._numbers,
            self._masks,
            self._rules,
            state.row,
            at.w,
            at.b,
            at.x,
            at.orders,
            at.starts,
            at.slots,
            at.powers,
            0,
            len(at.orders),
        )
        lengths = np.diff(at.starts[: rows + 1])
        slots, powers = np.repeat(at.slots[:rows], lengths), np.repeat(at.powers[:rows], lengths)
        return Legal(at.orders[:end].copy(), slots, powers)

    def step(self, state: State, orders: Sequence[np.ndarray]) -> tuple[State, np.ndarray]:
        at = self._scratch
        flat = np.concatenate([np.asarray(numbers, np.int32) for numbers in orders])
        powers = np.repeat(np.arange(len(orders), dtype=np.int32), [len(numbers) for numbers in orders])
        row = state.row.copy()
        count = int(row[UNITS] if state.phase_type != "R" else len(state.dislodged))
        kernels.step(self._numbers, self._masks, self._rules, row, at.w, at.b, flat, powers, 0, len(flat), at.flags)
        return State(state.layout, row), at.flags[:count].copy()
