"""A phase of any type in one game."""

from __future__ import annotations

from welfare_env.engine import FALL_MOVES, SPRING_MOVES, WINTER
from welfare_env.engine.kernels.movement import step_movement
from welfare_env.engine.kernels.retreats import step_retreats
from welfare_env.engine.kernels.state_rows import kernel
from welfare_env.engine.kernels.winter import step_winter
from welfare_env.engine.tables import *


@kernel
def step(T, M, R, s, w, b, orders, powers, first, last, flags):
    """Play a phase of one game with orders[first:last], given by powers[first:last], in this order.

    Args:
        flags: uint8 [N_UNITS + N_CENTERS]; result flags of the orders, see `engine.Engine.step`.
    """
    phase = s[PHASE]
    if phase == WINTER:
        step_winter(T, R, s, w, orders, powers, first, last, flags)
    elif phase == SPRING_MOVES or phase == FALL_MOVES:
        step_movement(T, M, R, s, w, b, orders, first, last, flags)
    else:
        step_retreats(T, R, s, w, orders, powers, first, last, flags)


@kernel
def step_flat(T, M, R, s, w, b, orders, lengths, powers, flags):
    """`step` with the orders of all powers concatenated, `lengths` per power. Returns the number of flags set."""
    n = ZERO
    for power in range(len(lengths)):
        for _ in range(lengths[power]):
            powers[n] = power
            n += 1
    units = s[DISLODGED] if s[PHASE] % 2 else s[UNITS]
    step(T, M, R, s, w, b, orders, powers, ZERO, n, flags)
    return units
