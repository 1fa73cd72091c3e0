"""Movement orders as rows of the scratch array. Units are processed in the state row's order, as in the package."""

from __future__ import annotations

import numpy as np

from welfare_env.board.orders import CONVOY, MOVE, SUPPORT_HOLD, SUPPORT_MOVE, VIA
from welfare_env.engine.kernels.state_rows import CONVOYS, HOLDS, MOVES, SUPPORTS, kernel
from welfare_env.engine.tables import *


@kernel
def read_orders(T, s, w, orders, first, last):
    """Decode orders[first:last] into W_COMMAND, W_VIA, W_DEST (location), W_TARGET (unit), W_TARGET_DEST (location).

    Also W_DEST_PROVINCE, and W_SITE (the province into which a unit supports). Units that move, support and convoy are
    listed in W_MOVERS, W_SUPPORTERS and W_CARRIERS. Returns the lengths of these lists.
    """
    packed, piece_province, location_province = T[ORDER_PACKED], T[PIECE_PROVINCE], T[LOCATION_PROVINCE]
    units = s[UNITS]
    for row in range(W_COMMAND, W_CUTTER + 1):
        for u in range(units):
            w[row, u] = 0
    for row in range(W_TARGET_DEST, W_LOST_FROM + 1):
        for u in range(units):
            w[row, u] = -1
    for i in range(first, last):
        order = T[packed + orders[i]]
        kind = order & 15
        u = w[W_OCCUPANT, T[piece_province + (order >> 4 & 511)]]
        if kind == MOVE or kind == VIA:
            w[W_COMMAND, u] = MOVES
            w[W_VIA, u] = kind == VIA
            w[W_DEST, u] = order >> 22 & 511
            w[W_DEST_PROVINCE, u] = T[location_province + (order >> 22 & 511)]
        elif kind == SUPPORT_HOLD or kind == SUPPORT_MOVE or kind == CONVOY:
            w[W_COMMAND, u] = CONVOYS if kind == CONVOY else SUPPORTS
            w[W_SITE, u] = T[piece_province + (order >> 13 & 511)]
            w[W_TARGET, u] = w[W_OCCUPANT, w[W_SITE, u]]
            if kind != SUPPORT_HOLD:
                w[W_TARGET_DEST, u] = order >> 22 & 511
                w[W_SITE, u] = T[location_province + (order >> 22 & 511)]
    movers, supporters, carriers = 0, 0, 0
    for u in range(units):
        command = w[W_COMMAND, u]
        w[W_MOVERS, movers] = u  # overwritten by the next unit if this one does not move
        movers += command == MOVES
        w[W_SUPPORTERS, supporters] = u
        supporters += command == SUPPORTS
        w[W_CARRIERS, carriers] = u
        carriers += command == CONVOYS
    return movers, supporters, carriers


@kernel
def by_convoy(w, u):
    """Whether a unit moves by convoy: it has a remaining route."""
    return w[W_COMMAND, u] == MOVES and w[W_PATHS, u] > 0


@kernel
def drop_stranded_supports(T, M, s, w):
    """Drop supports of armies that could be convoyed only in the other direction: the package lists, but voids them."""
    present = np.int64(0)
    for u in range(s[UNITS]):
        if w[W_TYPE, u] == 1 and w[W_SEA, u] >= 0:
            present |= np.int64(1) << w[W_SEA, u]
    for u in range(s[UNITS]):
        t, dest = w[W_TARGET, u], w[W_TARGET_DEST, u]
        if w[W_COMMAND, u] != SUPPORTS or dest < 0 or t < 0 or w[W_TYPE, t] == 1:
            continue
        if T[T[CAN_SUPPORT] + w[W_PIECE, t] * T[N_LOCATIONS] + dest] == 1:
            continue
        start, end = T[T[PROVINCE_COAST] + w[W_PROVINCE, t]], T[T[PROVINCE_COAST] + w[W_SITE, u]]
        carried = False
        if start >= 0 and end >= 0:
            pair = start * T[N_COASTS] + end
            for i in range(T[T[PAIR_START] + pair], T[T[PAIR_START] + pair + 1]):
                carried |= M[T[PAIR_MASK] + i] & ~present == 0
        if not carried:
            w[W_COMMAND, u] = HOLDS
