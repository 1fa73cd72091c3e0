"""The joint orders that a search tries in a position (plans), without redundant ones."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np

from evaluation.exact.stepping import NO_ORDER, Stepper
from welfare_env import Board
from welfare_env.board.orders import HOLD, MOVE, SUPPORT_HOLD, SUPPORT_MOVE
from welfare_env.engine import ADJUSTMENTS, MOVEMENT
from welfare_env.game.position import Position

Given = dict[int, dict[int, int]]  # power -> slot -> order number


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
        others: the orders of the other powers' units, int32 [k], or [ways, k] for several ways; units without an order
            hold.
        alone: whether no other power has units.
    """
    kind = board.orders.kind
    plans = combinations_of([orders[(kind[orders] == HOLD) | (kind[orders] == MOVE)] for orders in lists])
    if alone:
        return plans
    for column, orders in enumerate(lists):
        found = [plans]
        for order in orders[(kind[orders] == SUPPORT_HOLD) | (kind[orders] == SUPPORT_MOVE)].tolist():
            is_matched = [_is_matched(board, order, plans, given) for given in np.atleast_2d(others)]
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
