"""The end of a phase: the next phase, captured centers, the winner, welfare points."""

from __future__ import annotations

from welfare_env.engine import FALL_MOVES, SPRING_MOVES, WINTER
from welfare_env.engine.kernels.state_rows import count, kernel, limit, occupy
from welfare_env.engine.tables import *


@kernel
def gain(T, R, s, w):
    """Add welfare points: centers minus units, weighted by the year (paper, section 2.2)."""
    count(T, s, w)
    weight, welfare = R[PROGRESSIVE + s[YEAR]], T[WELFARE]
    for power in range(T[N_POWERS]):
        s[welfare + power] += weight * (w[W_CENTERS, power] - w[W_UNITS, power])


@kernel
def next_year(R, s):
    if s[YEAR] + 1 >= R[YEARS]:
        s[DONE] = 1
    else:
        s[YEAR] += 1
        s[PHASE] = SPRING_MOVES


@kernel
def after_movement(T, R, s, w):
    """Go to retreats, Fall or Winter; a standard Winter without adjustments is skipped."""
    if s[DISLODGED] > 0:
        s[PHASE] += 1
        return
    if s[PHASE] < FALL_MOVES:
        s[PHASE] = FALL_MOVES
        return
    s[PHASE] = WINTER
    won = _capture(T, R, s, w)
    if won >= 0:
        s[WINNER] = won
        s[DONE] = 1
    elif not R[IS_WELFARE]:
        occupy(T, s, w)
        limit(T, R, s, w)
        for power in range(T[N_POWERS]):
            if w[W_BUILDS, power] > 0 or w[W_DISBANDS, power] > 0:
                return
        next_year(R, s)


@kernel
def _capture(T, R, s, w):
    """Give centers to the powers that occupy them. Returns the winner of the standard game, or -1.

    A winner owns at least VICTORY centers, more than before, and more than any other power.
    """
    count(T, s, w)
    for power in range(T[N_POWERS]):
        w[W_BEFORE, power] = w[W_CENTERS, power]
    for u in range(s[UNITS]):
        c = T[T[PROVINCE_CENTER] + T[T[PIECE_PROVINCE] + s[T[UNIT_PIECE] + u]]]
        if c >= 0:
            s[T[OWNER] + c] = s[T[UNIT_POWER] + u]
    if not R[HAS_VICTORY]:
        return -1
    count(T, s, w)
    winner, best, many = -1, 0, 0
    for power in range(T[N_POWERS]):
        centers = w[W_CENTERS, power]
        if centers > best:
            best, many, winner = centers, 1, power
        elif centers == best:
            many += 1
    return winner if many == 1 and best >= R[VICTORY] and best > w[W_BEFORE, winner] else -1
