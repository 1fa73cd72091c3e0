"""Phases of a game on a small board: everybody's orders that a search tries, many played at once, and bounds on points.

Redundant orders are left out, and equivalent positions have the same canonical form.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import product
from typing import NamedTuple

import numpy as np

from welfare_env import Board, Rules
from welfare_env.board.orders import HOLD, MOVE, SUPPORT_HOLD, SUPPORT_MOVE
from welfare_env.engine import (
    ADJUSTMENTS,
    DISLODGED,
    DONE,
    FALL_MOVES,
    MOVEMENT,
    PHASE,
    UNITS,
    WINTER,
    YEAR,
    kernels,
    layout_of,
)
from welfare_env.engine.fast import Scratch, rules_array
from welfare_env.engine.tables import tables_of
from welfare_env.game.position import Position

Given = dict[int, dict[int, int]]  # power -> slot -> order number

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


# The joint orders that a search tries (plans)


class Expansion(NamedTuple):
    """The results of all plans in a position against each way in which the others may order.

    Attributes:
        orders: everybody's orders, int32 [plans, ways, k], NO_ORDER for a slot without one; the deciding powers'
            columns come first.
        powers: the power of each column, int32 [k]. own: number of the deciding powers' columns.
        rows: next positions in canonical form, int32 [plans, ways, state size].
        points: everybody's points of the phase, int32 [plans, ways, powers].
    """

    orders: np.ndarray
    powers: np.ndarray
    own: int
    rows: np.ndarray
    points: np.ndarray


class Expander:
    """Plays a phase with every plan of the deciding `powers`, against each way in which the others may order."""

    def __init__(self, board: Board, powers: tuple[int, ...], stepper: Stepper) -> None:
        self._board, self._powers, self._stepper = board, powers, stepper

    def expand(self, position: Position, ways: Sequence[Given]) -> Expansion:
        """Play every plan against every way; redundant plans are left out (`movement_plans`)."""
        own = [(power, slot) for power in self._powers for slot in position.slots(power)]
        # Sorted by slot: in Winter a power's builds and disbands exclude each other, so their sequence matters.
        others = sorted({(who, slot) for given in ways for who, orders in given.items() for slot in orders})
        columns = [[given.get(who, {}).get(slot, NO_ORDER) for who, slot in others] for given in ways]
        fixed = np.array(columns, np.int32).reshape(len(ways), len(others))
        plans = self._plans(position, [slot for _, slot in own], fixed)
        powers, slots = np.array(own + others, np.int32).reshape(-1, 2).T.copy()
        orders = _all_pairs(plans, fixed)
        rows, points = self._stepper.step(position.state.row, orders, slots, powers)
        orders, rows, points = (each.reshape(len(plans), len(ways), each.shape[1]) for each in (orders, rows, points))
        return Expansion(orders, powers, len(own), rows, points)

    def _plans(self, position: Position, slots: list[int], others: np.ndarray) -> np.ndarray:
        """The plans of the deciding powers: int32 [plans, slots]."""
        if position.state.phase_type == ADJUSTMENTS:
            return reduce(
                _all_pairs, [winter_plans(position, power) for power in self._powers], np.zeros((1, 0), np.int32)
            )
        lists = [position.slot_orders(slot) for slot in slots]
        if position.state.phase_type != MOVEMENT:
            return combinations_of(lists)
        alone = bool(slots) and bool((position.state.units[:, 0] == self._powers[0]).all())
        return movement_plans(self._board, lists, others, alone)


def _all_pairs(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """All pairs of a row of `left` and a row of `right`, concatenated: int32 [n * m, k + l]."""
    return np.concatenate([np.repeat(left, len(right), axis=0), np.tile(right, (len(left), 1))], axis=1)


def combinations_of(lists: list[np.ndarray]) -> np.ndarray:
    """The Cartesian product of the lists: int32 [n, lists]."""
    grids = np.meshgrid(*lists, indexing="ij") if lists else []
    return np.stack([grid.ravel() for grid in grids], axis=1).astype(np.int32) if grids else np.zeros((1, 0), np.int32)


def winter_plans(position: Position, power: int) -> np.ndarray:
    """A power's sets of disbands, and its sets of builds up to the allowed number: int32 [n, slots]."""
    slots, wait = position.slots(power), np.array([NO_ORDER], np.int32)
    lists = [np.concatenate([wait, position.slot_orders(slot)]) for slot in slots]
    units = sum(slot < len(position.state.units) for slot in slots)
    gone = combinations_of([*lists[:units], *[wait] * (len(slots) - units)])
    built = combinations_of([*[wait] * units, *lists[units:]])
    count = (built != NO_ORDER).sum(axis=1)
    return np.concatenate([gone, built[(count > 0) & (count <= position.adjustments[0][power])]])


def movement_plans(board: Board, lists: list[np.ndarray], others: np.ndarray, alone: bool) -> np.ndarray:
    """Joint orders of some units in a movement phase, without redundant ones: int32 [n, units].

    A support that does not match the supported unit's order acts as a hold, so it is left out. A power alone on the
    board needs no supports: the same units arrive if all units that would not arrive hold instead.

    Args:
        lists: the legal orders of each unit.
        others: the orders of the other powers' units, int32 [ways, k]; units without an order hold.
        alone: whether no other power has units.
    """
    kind = board.orders.kind
    plans = combinations_of([orders[(kind[orders] == HOLD) | (kind[orders] == MOVE)] for orders in lists])
    if alone:
        return plans
    for column, orders in enumerate(lists):
        found = [plans]
        for order in orders[(kind[orders] == SUPPORT_HOLD) | (kind[orders] == SUPPORT_MOVE)].tolist():
            is_matched = [_is_matched(board, order, plans, given) for given in others]
            matched = plans[(kind[plans[:, column]] == HOLD) & np.any(is_matched, axis=0)]
            matched[:, column] = order
            found.append(matched)
        plans = np.concatenate(found)
    return plans


def _is_matched(board: Board, support: int, plans: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Plans in which the supported unit's order matches the support: bool [n]."""
    table, everybody = board.orders, np.concatenate([plans, np.broadcast_to(others, (len(plans), len(others)))], axis=1)
    supported = (table.piece[everybody] == table.other[support]) & (table.kind[everybody] == MOVE)
    if table.kind[support] == SUPPORT_HOLD:
        return ~supported.any(axis=1)
    same = board.location_province[table.dest[everybody]] == board.location_province[table.dest[support]]
    return (supported & same).any(axis=1)


# Bounds


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
