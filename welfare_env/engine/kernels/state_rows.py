"""Shared by the kernels of all phases: the compiling decorator, codes, occupants, and the order of units."""

from __future__ import annotations

from pathlib import Path

import welfare_env.engine as engine
from welfare_env.board import orders
from welfare_env.compiling import compiler_of
from welfare_env.engine import bits, tables
from welfare_env.engine.tables import *

HOLDS, MOVES, SUPPORTS, CONVOYS = range(4)
HAS_CUT, BY_SEA = 1, 2  # bits of W_CUTTER: has had its chance to cut support; had a convoy to begin with
BOUNCE, VOID, CUT = 1 << 1, 1 << 2, 1 << 3
NO_CONVOY, WAS_DISLODGED, DISRUPTED, DISBANDED, MAYBE = 1 << 0, 1 << 4, 1 << 5, 1 << 6, 1 << 7

kernel = compiler_of(
    [*Path(__file__).parent.glob("*.py"), Path(bits.__file__)],
    [vars(orders), vars(engine), vars(tables)],
    error_model="numpy",
)


@kernel
def occupy(T, s, w):
    """Fill W_OCCUPANT (province -> unit or -1) and the often used W_POWER, W_PIECE, W_PROVINCE, W_TYPE, W_SEA."""
    piece_type, piece_province, province_sea = T[PIECE_TYPE], T[PIECE_PROVINCE], T[PROVINCE_SEA]
    power, piece = T[UNIT_POWER], T[UNIT_PIECE]
    for p in range(T[N_PROVINCES]):
        w[W_OCCUPANT, p] = -1
    for u in range(s[UNITS]):
        k = s[piece + u]
        p = T[piece_province + k]
        w[W_OCCUPANT, p] = u
        w[W_POWER, u] = s[power + u]
        w[W_PIECE, u] = k
        w[W_PROVINCE, u] = p
        w[W_TYPE, u] = T[piece_type + k]
        w[W_SEA, u] = T[province_sea + p]


@kernel
def count(T, s, w):
    """Fill W_UNITS and W_CENTERS: the number of each power's units and centers."""
    unit_power, owner = T[UNIT_POWER], T[OWNER]
    for power in range(T[N_POWERS]):
        w[W_UNITS, power] = 0
        w[W_CENTERS, power] = 0
    for u in range(s[UNITS]):
        w[W_UNITS, s[unit_power + u]] += 1
    for c in range(T[N_CENTERS]):
        power = s[owner + c]
        if power >= 0:
            w[W_CENTERS, power] += 1


@kernel
def limit(T, R, s, w):
    """Fill W_BUILDS and W_DISBANDS: how many units a power may build and must disband. Needs `occupy`."""
    owner, home, province = T[OWNER], T[HOME_POWER], T[CENTER_PROVINCE]
    count(T, s, w)
    for power in range(T[N_POWERS]):
        w[W_BUILDS, power] = 0
    for c in range(T[N_CENTERS]):
        power = s[owner + c]
        empty = (power >= 0) & (w[W_OCCUPANT, T[province + c]] < 0)
        w[W_SITE_OPEN, c] = empty & ((R[BUILD_ANYWHERE] == 1) | (T[home + c] == power))
        w[W_BUILDS, max(power, 0)] += w[W_SITE_OPEN, c]
    for power in range(T[N_POWERS]):
        w[W_DISBANDS, power] = 0
        if not R[OVERMILITARISE]:
            room = w[W_CENTERS, power] - w[W_UNITS, power]
            w[W_BUILDS, power] = min(w[W_BUILDS, power], max(room, 0))
            w[W_DISBANDS, power] = max(-room, 0)


@kernel
def influence(T, s, power, piece):
    s[T[INFLUENCE] + T[T[PIECE_PROVINCE] + piece]] = power


@kernel
def clear_units(T, s, last):
    """Write zeros after the units, up to `last`, so that equal positions have equal rows."""
    for u in range(s[UNITS], last):
        s[T[UNIT_POWER] + u], s[T[UNIT_PIECE] + u] = 0, 0


@kernel
def clear_dislodged(T, s):
    """Remove all dislodged units and write zeros in their place, so that equal positions have equal rows."""
    for d in range(s[DISLODGED]):
        s[T[LOST_POWER] + d], s[T[LOST_PIECE] + d], s[T[LOST_OPTIONS] + d] = 0, 0, 0
    for i in range(s[DISLODGED] * T[N_OPTIONS]):
        s[T[LOST_OPTION] + i] = 0
    s[DISLODGED] = 0


@kernel
def group_by_power(T, s, w):
    """Move units appended at the end to after the other units of their power; a stable sort by power."""
    n = 0
    for power in range(T[N_POWERS]):
        for u in range(s[UNITS]):
            if s[T[UNIT_POWER] + u] == power:
                w[W_NEW_POWER, n], w[W_NEW_PIECE, n] = power, s[T[UNIT_PIECE] + u]
                n += 1
    for u in range(n):
        s[T[UNIT_POWER] + u], s[T[UNIT_PIECE] + u] = w[W_NEW_POWER, u], w[W_NEW_PIECE, u]
