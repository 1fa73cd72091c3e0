"""Retreats: the options of dislodged units, and the retreat phase."""

from __future__ import annotations

from welfare_env.board.orders import RETREAT
from welfare_env.engine.kernels.decoding import by_convoy
from welfare_env.engine.kernels.state_rows import BOUNCE, DISBANDED, clear_dislodged, group_by_power, influence, kernel
from welfare_env.engine.kernels.year import after_movement, gain
from welfare_env.engine.tables import *


@kernel
def list_retreats(T, R, s, w, u, d):
    """Write the retreat options of dislodged unit u to row d of the state: at most N_OPTIONS, its adjacent places.

    They are empty, nobody bounced there, and the attacker did not come from there over land (DATC 6.H.11: by convoy it
    may have). After an attack by convoy the package lists all adjacent places.
    """
    piece = s[T[UNIT_PIECE] + u]
    origin = w[W_LOST_FROM, u]
    attacker = w[W_OCCUPANT, origin]
    convoyed = by_convoy(w, attacker)
    everywhere = convoyed and not R[RULEBOOK]
    n = 0
    for i in range(T[T[MOVE_START] + piece], T[T[MOVE_START] + piece + 1]):
        l = T[T[MOVE_LOCATION] + i]
        p = T[T[LOCATION_PROVINCE] + l]
        if everywhere or ((convoyed or p != origin) and w[W_MANY, p] == 0):
            s[T[LOST_OPTION] + d * T[N_OPTIONS] + n] = l
            n += 1
    s[T[LOST_OPTIONS] + d] = n
    return n


@kernel
def step_retreats(T, R, s, w, orders, powers, first, last, flags):
    """Units that retreat to the same province all disband, as do units without an order."""
    lost = s[DISLODGED]
    for p in range(T[N_PROVINCES]):
        w[W_HEAD, p] = 0
    for i in range(first, last):
        if (T[T[ORDER_PACKED] + orders[i]] & 15) == RETREAT:
            w[W_HEAD, T[T[LOCATION_PROVINCE] + (T[T[ORDER_PACKED] + orders[i]] >> 22 & 511)]] += 1
    for d in range(lost):
        flags[d] = DISBANDED
    n = s[UNITS]
    for i in range(first, last):
        order = T[T[ORDER_PACKED] + orders[i]]
        if order & 15 != RETREAT:
            continue
        piece, dest = order >> 4 & 511, order >> 22 & 511
        d = 0
        while s[T[LOST_PIECE] + d] != piece:
            d += 1
        if w[W_HEAD, T[T[LOCATION_PROVINCE] + dest]] > 1:
            flags[d] = BOUNCE | DISBANDED
        else:
            flags[d] = 0
            settled = T[T[PIECE_AT] + T[T[PIECE_TYPE] + piece] * T[N_LOCATIONS] + dest]
            s[T[UNIT_POWER] + n], s[T[UNIT_PIECE] + n] = s[T[LOST_POWER] + d], settled
            influence(T, s, s[T[LOST_POWER] + d], settled)
            n += 1
    s[UNITS] = n
    clear_dislodged(T, s)
    group_by_power(T, s, w)
    if R[RETREAT_WELFARE]:
        gain(T, R, s, w)
    after_movement(T, R, s, w)
