"""A Winter: builds, disbands, removals by force, transfers."""

from __future__ import annotations

import numpy as np

from welfare_env.board.orders import BUILD, DISBAND, GIVE
from welfare_env.engine.kernels.state_rows import DISBANDED, clear_units, group_by_power, kernel, occupy
from welfare_env.engine.kernels.year import gain, next_year
from welfare_env.engine.tables import *


@kernel
def step_winter(T, R, s, w, orders, powers, first, last, flags):
    """Builds and disbands, removals by force, transfers, welfare points."""
    unit_power, unit_piece = T[UNIT_POWER], T[UNIT_PIECE]
    occupy(T, s, w)
    before = s[UNITS]
    for u in range(before):
        flags[u] = 0
        w[W_COMMAND, u] = 0  # then 1: disbanded, 2: removed by force
    n = before
    for i in range(first, last):
        order = T[T[ORDER_PACKED] + orders[i]]
        kind, piece = order & 15, order >> 4 & 511
        if kind == DISBAND:
            w[W_COMMAND, w[W_OCCUPANT, T[T[PIECE_PROVINCE] + piece]]] = 1
        elif kind == BUILD:
            s[unit_power + n], s[unit_piece + n] = powers[i], piece
            w[W_COMMAND, n] = 0
            n += 1
        elif kind == GIVE:
            s[T[WELFARE] + powers[i]] -= 1
            s[T[WELFARE] + (order >> 22 & 511)] += 1
    s[UNITS] = n
    if not R[OVERMILITARISE]:
        for power in range(T[N_POWERS]):
            _remove_surplus(T, s, w, power)
    for u in range(before):
        if w[W_COMMAND, u] == 2:
            flags[u] = DISBANDED
    kept = 0
    for u in range(n):
        if not w[W_COMMAND, u]:
            s[unit_power + kept], s[unit_piece + kept] = s[unit_power + u], s[unit_piece + u]
            kept += 1
    s[UNITS] = kept
    clear_units(T, s, np.int64(n))
    group_by_power(T, s, w)
    if R[IS_WELFARE]:
        gain(T, R, s, w)
    next_year(R, s)


@kernel
def _remove_surplus(T, s, w, power):
    """Remove surplus units: those farthest from home first, then fleets before armies, then by name."""
    units, centers = 0, 0
    for u in range(s[UNITS]):
        units += s[T[UNIT_POWER] + u] == power and not w[W_COMMAND, u]
    for c in range(T[N_CENTERS]):
        centers += s[T[OWNER] + c] == power
    for _ in range(units - centers):
        worst, far, rank, fleet = -1, -1, 0, 0
        for u in range(s[UNITS]):
            if s[T[UNIT_POWER] + u] != power or w[W_COMMAND, u]:
                continue
            piece = s[T[UNIT_PIECE] + u]
            away = T[T[HOME_DISTANCE] + power * T[N_PIECES] + piece]
            is_fleet, name = T[T[PIECE_TYPE] + piece], T[T[PIECE_RANK] + piece]
            first = away > far or (away == far and (is_fleet > fleet or (is_fleet == fleet and name < rank)))
            if worst < 0 or first:
                worst, far, rank, fleet = u, away, name, is_fleet
        w[W_COMMAND, worst] = 2
