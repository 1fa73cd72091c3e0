"""Plays phases of many positions at once, in canonical form, and bounds the points that are still possible."""

from __future__ import annotations

from itertools import product

import numpy as np

from welfare_env import Board, Rules
from welfare_env.engine import DISLODGED, DONE, FALL_MOVES, PHASE, UNITS, WINTER, YEAR, kernels, layout_of
from welfare_env.engine.fast import Scratch, rules_array
from welfare_env.engine.tables import tables_of

NO_ORDER = -1
FAR = np.iinfo(np.int32).max
TURNS = 2  # Spring and Fall


class Stepper:
    """Adjudicates one phase of one position for many sets of orders.

    Args:
        keeps_points: whether canonical positions keep the points, for players who read them.
        sequenced: powers whose units keep their sequence, for players who read it.
    """

    def __init__(self, board: Board, rules: Rules, keeps_points: bool = False, sequenced: tuple[int, ...] = ()) -> None:
        self._numbers, self._masks = tables_of(board).numbers, tables_of(board).masks
        self._rules = rules_array(board, rules)
        self._scratch = Scratch(tables_of(board))
        self._layout, self._powers = layout_of(board), len(board.powers)
        self._keeps_points, self._sequenced = keeps_points, np.isin(np.arange(self._powers), sequenced)

    def step(
        self, row: np.ndarray, orders: np.ndarray, slots: np.ndarray, powers: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Play one phase with each set of orders.

        Args:
            row: int32 [state size], a position that is not over.
            orders: int32 [n, k], one set per row: an order or NO_ORDER for each slot.
            slots, powers: int32 [k], slot and power of each column.

        Returns:
            int32 [n, state size], the next positions in canonical form; if the game is over, all rows are equal.
            int32 [n, powers], the points gained.
        """
        count, width = orders.shape
        rows = np.repeat(row[None], count, axis=0)
        gains = np.zeros((count, self._powers), np.int32)
        over = np.zeros((count + 1, len(row)), np.int32)  # the last row stands for games that are over
        over[count, DONE] = 1
        flat = orders.ravel()
        kernels.step_games(
            self._numbers,
            self._masks,
            self._rules,
            rows,
            self._scratch.w,
            self._scratch.b,
            0,
            count,
            flat,
            np.arange(count * width + 1, dtype=np.int32),
            np.tile(slots, count),
            np.tile(powers, count),
            np.arange(count + 1, dtype=np.int32) * np.int32(width),
            np.where(flat == NO_ORDER, NO_ORDER, 0).astype(np.int32),
            self._scratch.flags,
            over,
            gains,
            np.zeros(count, np.bool_),
        )
        self.make_canonical(rows)
        return rows, gains

    def make_canonical(self, rows: np.ndarray) -> None:
        """Bring equivalent positions to the same canonical form, in place: int32 [n, state size].

        Points (unless kept) and influence become 0, each power's units are sorted by piece (unless their sequence is
        kept), and unused entries become 0. Dislodged units keep the sequence of the units before, so they need no
        sorting.
        """
        at = self._layout
        rows[:, (at.influence if self._keeps_points else at.welfare) :] = 0
        powers, pieces = rows[:, at.power : at.piece], rows[:, at.piece : at.lost_power]
        places = np.arange(at.most_units)
        exists = places < rows[:, UNITS, None]
        ranks = powers << 16 | np.where(self._sequenced[powers], places, pieces)
        order = np.argsort(np.where(exists, ranks, FAR), axis=1, kind="stable")
        powers[:] = np.where(exists, np.take_along_axis(powers, order, 1), 0)
        pieces[:] = np.where(exists, np.take_along_axis(pieces, order, 1), 0)
        rows[rows[:, DISLODGED] == 0, at.lost_power : at.owner] = 0


class PointBounds:
    """Upper bounds on the points that a power can still get from a position, over all orders.

    A unit takes at most one center a year; this year it must be one within reach. In Winter a power may disband any
    units, or build in its homes while it owns more centers than units. It is paid for centers minus units.
    """

    def __init__(self, board: Board, rules: Rules, power: int) -> None:
        self._power, self._layout, self._piece_province = power, layout_of(board), board.piece_province
        self._reach = _reach(board)
        centers, units = len(board.centers), len(board.provinces)
        sites = centers if board.build_anywhere else int((board.home_power == power).sum())
        # [year, centers, units]: bounds before Winter, and before Spring if every unit takes a center; 0 after the end
        self._winter, self._spring = np.zeros((2, rules.years + 1, centers + 1, units + 1), np.int64)
        for year in range(rules.years)[::-1]:
            for owned, held in product(range(centers + 1), range(units + 1)):
                room = sites if rules.overmilitarise else min(sites, max(owned - held, 0))
                kept = np.arange(min(held + room, units if rules.overmilitarise else owned) + 1)
                gains = rules.weight(year) * (owned - kept) + self._spring[year + 1, owned, kept]
                self._winter[year, owned, held] = gains.max()
            taken = np.minimum(np.add.outer(np.arange(centers + 1), np.arange(units + 1)), centers)
            self._spring[year] = self._winter[year, taken, np.arange(units + 1)]

    def upper(self, rows: np.ndarray) -> np.ndarray:
        """Bounds for canonical positions int32 [n, state size] of games that are not over: int64 [n]."""
        at = self._layout
        owned = rows[:, at.owner : at.welfare] == self._power
        held, paths = np.zeros(len(rows), np.int64), np.zeros(owned.shape, np.int64)
        takers = held.copy()
        for power, piece, count in ((at.power, at.piece, UNITS), (at.lost_power, at.lost_piece, DISLODGED)):
            most = int(rows[:, count].max(initial=0))
            mine = rows[:, power : power + most] == self._power
            mine &= np.arange(most) < rows[:, count, None]
            places = self._piece_province[rows[:, piece : piece + most]]
            turns = np.where(rows[:, PHASE] < FALL_MOVES, TURNS, TURNS - 1)[:, None]
            near = self._reach[turns, places] & mine[..., None] & ~owned[:, None]
            held += mine.sum(axis=1)
            takers += near.any(axis=2).sum(axis=1)
            paths += near.sum(axis=1)
        taken = np.where(rows[:, PHASE] == WINTER, 0, np.minimum(takers, (paths > 0).sum(axis=1)))
        return self._winter[rows[:, YEAR], owned.sum(axis=1) + taken, held]


def _reach(board: Board) -> np.ndarray:
    """Which centers a unit can reach in 0, 1, ... TURNS moves: bool [TURNS + 1, provinces, centers]."""
    provinces = len(board.provinces)
    step = np.eye(provinces, dtype=bool)
    for piece, places in board.moves.items():
        for place in places:
            start, end = board.piece_index[piece], board.location_index[place]
            step[board.piece_province[start], board.location_province[end]] = True
    reach = [np.eye(provinces, dtype=bool)]
    for _ in range(TURNS):
        reach.append(reach[-1] @ step)
    return np.array(reach)[:, :, board.center_province]


def first_of_each(rows: np.ndarray) -> np.ndarray:
    """The index of the first occurrence of each distinct row, in order: int64 [m]."""
    found: dict[bytes, int] = {}
    for number, row in enumerate(rows.view(f"V{rows.dtype.itemsize * rows.shape[1]}")[:, 0].tolist()):
        found.setdefault(row, number)
    return np.fromiter(found.values(), np.int64, len(found))
