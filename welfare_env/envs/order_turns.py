"""Orders given one at a time: a power's turns in a phase, and the orders allowed in each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from welfare_env.board.orders import DISBAND, GIVE, WAIVE
from welfare_env.engine import ADJUSTMENTS
from welfare_env.game.position import Position

WINTER_TURN = -1  # instead of a slot: the power chooses among all orders still allowed


def order_slots(position: Position, power: int) -> list[int]:
    """The slots of a power's turns, in order; in Winter WINTER_TURN, if there is anything to order."""
    if position.state.phase_type != ADJUSTMENTS:
        return position.slots(power)
    is_asked = position.adjustments[1][power] or len(winter_orders(position, power, ()))
    return [WINTER_TURN] if is_asked else []


def winter_orders(position: Position, power: int, given: Sequence[int]) -> np.ndarray:
    """The further orders that a power may give this Winter, without WAIVE: int32 [n]."""
    free = position.winter_orders(power, given)
    if not position.engine.rules.transfers or GIVE not in position.open_kinds(power, given):
        return free
    table = position.board.orders
    gifts = np.flatnonzero((table.kind == GIVE) & (table.dest != power))
    return np.concatenate([free, gifts], dtype=np.int32)


def options(position: Position, power: int, slot: int, given: Sequence[int]) -> np.ndarray:
    """The orders that a power may give in a turn, sorted: int32 [n].

    Args:
        slot: one of `order_slots`.
        given: the power's orders in this phase so far.
    """
    if slot != WINTER_TURN:
        return position.slot_orders(slot)
    free, kind = winter_orders(position, power, given), position.board.orders.kind
    is_enough = (kind[list(given)] == DISBAND).sum() >= position.adjustments[1][power]
    may_waive = is_enough or (kind[free] == GIVE).all()
    return np.union1d(free, [WAIVE] if may_waive else []).astype(np.int32)
