"""The compiled engine: legal orders, adjudication, retreats and Winters of one game, on flat arrays.

Adjudication is a port, step by step, of the `diplomacy` package's (its numbers stand in the comments), so that results
are identical, quirks included; `docs/differences.md` lists those. Kernels take arrays and trust them. All arguments:

    T   int32, a board's tables with their header (`tables.py`)
    M   int64, its bit masks
    R   int32, the rules, then the yearly weights
    s   int32, the row of one game's state
    w   int32 scratch, x int64 scratch; nothing in them outlives a call

No kernel allocates. Bounds: a unit's index is below N_UNITS = provinces, since a province holds one unit; a dislodged
unit's below N_DISLODGED = provinces // 2 + 1, since each was pushed out by another unit; further bounds stand where
they are used. Kernels that call each other are in this one file: numba's cache does not notice changes of imports, so
IMPORTS_DIGEST below changes with the numbers that are imported; a test says when it must.
"""

from __future__ import annotations

import numpy as np
from numba import njit

import welfare_env.compiling  # noqa: F401 (says on stderr when a kernel is compiled)
from welfare_env.board.orders import BUILD, CONVOY, DISBAND, GIVE, MOVE, RETREAT, SUPPORT_HOLD, SUPPORT_MOVE, VIA
from welfare_env.engine import FALL_MOVES, SPRING_MOVES, WINTER
from welfare_env.engine.bits import trailing_zeros
from welfare_env.engine.tables import *

IMPORTS_DIGEST = "3bda69a79da6caa5"

kernel = njit(cache=True, nogil=True, error_model="numpy")

HOLDS, MOVES, SUPPORTS, CONVOYS = range(4)
HAS_CUT, BY_SEA = 1, 2  # bits of W_CUTTER: has had its chance to cut support; had a convoy to begin with
BOUNCE, VOID, CUT = 1 << 1, 1 << 2, 1 << 3
NO_CONVOY, WAS_DISLODGED, DISRUPTED, DISBANDED, MAYBE = 1 << 0, 1 << 4, 1 << 5, 1 << 6, 1 << 7


@kernel
def occupy(T, s, w):
    """Fill W_OCCUPANT (province -> unit or -1) and what is asked about every unit again and again."""
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


# Legal orders.


@kernel
def _list_units(T, s, w):
    """List the units by province in W_SORTED, so that orders come out sorted; W_LOCAL: which piece a province holds."""
    n, piece_local = 0, T[PIECE_LOCAL]
    for p in range(T[N_PROVINCES]):
        u = w[W_OCCUPANT, p]
        w[W_SORTED, n] = u  # overwritten by the next one if there is none
        n += u >= 0
        w[W_LOCAL, p] = PIECES_HERE
    for u in range(n):
        w[W_LOCAL, w[W_PROVINCE, u]] = T[piece_local + w[W_PIECE, u]]


@kernel
def _reach_by_convoy(T, M, s, w, x):
    """Where armies could be convoyed if all fleets helped: X_REACH; through each fleet: X_THROUGH; without: X_WITHOUT.

    Each is a mask of coasts per coast of departure, the latter two per fleet: row ``fleet * (coasts + 1) + coast + 1``,
    and row ``fleet * (coasts + 1)`` of X_WITHOUT is full, for who needs no convoy. Only coasts with an army and seas
    with a fleet are filled; these are listed in W_ARMIES and W_FLEETS. X_BACK .. are the same by the routes that lead
    back: the package looks a supported army's route up from its destination, and on boards with ports its routes are
    not symmetric. Returns how many armies and fleets there are.
    """
    province_coast = T[PROVINCE_COAST]
    present = np.int64(0)
    armies, fleets = ZERO, ZERO
    for i in range(s[UNITS]):
        u = w[W_SORTED, i]
        if w[W_TYPE, u] == 1:
            f = w[W_SEA, u]
            if f >= 0:
                present |= np.int64(1) << f
                w[W_FLEETS, fleets] = f
                fleets += 1
        else:
            w[W_ARMIES, armies] = T[province_coast + w[W_PROVINCE, u]]
            armies += w[W_ARMIES, armies] >= 0
    if fleets == 0:
        return ZERO, ZERO
    for c in range(T[N_COASTS]):
        w[W_ARMY, c] = 0
    for i in range(armies):
        w[W_ARMY, w[W_ARMIES, i]] = 1
    _spread(T, M, w, x, T[SET_START], T[SET_COAST], T[SET_REACH], np.int64(X_REACH), present, armies, fleets)
    if T[X_BACK] != T[X_REACH]:
        _spread(T, M, w, x, T[BACK_START], T[BACK_COAST], T[BACK_REACH], np.int64(X_BACK), present, armies, fleets)
    return armies, fleets


@kernel
def _spread(T, M, w, x, set_start, set_coast, set_reach, name, present, armies, fleets):
    """Fill three tables of `_reach_by_convoy`: name, name + 1, name + 2."""
    coasts, words = T[N_COASTS], T[N_WORDS]
    reach, through, without = T[name], T[name + 1], T[name + 2]
    for k in range(words):
        for j in range(armies):
            x[reach + w[W_ARMIES, j] * words + k] = 0
        for i in range(fleets):
            row = w[W_FLEETS, i] * (coasts + 1)
            x[without + row * words + k] = -1
            for j in range(armies):
                place = (row + w[W_ARMIES, j] + 1) * words + k
                x[through + place] = 0
                x[without + place] = 0
    set_mask = T[SET_MASK]
    for i in range(T[N_SETS]):
        sailing = M[set_mask + i]
        if sailing & ~present:
            continue
        for row in range(T[set_start + i], T[set_start + i + 1]):
            c = T[set_coast + row]
            if not w[W_ARMY, c]:
                continue
            for k in range(words):
                bits = M[set_reach + row * words + k]
                x[reach + c * words + k] |= bits
                for j in range(fleets):
                    f = w[W_FLEETS, j]
                    place = (f * (coasts + 1) + c + 1) * words + k
                    if sailing >> f & 1:
                        x[through + place] |= bits
                    else:
                        x[without + place] |= bits


@kernel
def _fill_buckets(T, M, s, w, b, x, fleets):
    """For every location the movers that could go there, by province: b[location], W_BUCKET_SIZE.

    A bucket holds at most one entry a unit: the mover's number there (MOVER), and the coast that an army needs to be
    convoyed from, plus one, in the bits from COAST_SHIFT on.
    """
    coasts, words = T[N_COASTS], T[N_WORDS]
    push_start, push_location, push_mover = T[PUSH_START], T[PUSH_LOCATION], T[PUSH_MOVER]
    province_coast, coast_location, mover_of = T[PROVINCE_COAST], T[COAST_LOCATION], T[CONVOY_MOVER]
    reach, adjacent = T[X_BACK], T[COAST_ADJACENT]
    for l in range(T[N_LOCATIONS]):
        w[W_BUCKET_SIZE, l] = 0
    for i in range(s[UNITS]):
        u = w[W_SORTED, i]
        piece = w[W_PIECE, u]
        for j in range(T[push_start + piece], T[push_start + piece + 1]):
            l = T[push_location + j]
            n = w[W_BUCKET_SIZE, l]
            b[l, n] = T[push_mover + j]
            w[W_BUCKET_SIZE, l] = n + 1
        if fleets == 0 or w[W_TYPE, u] == 1:
            continue
        c = T[province_coast + w[W_PROVINCE, u]]
        if c < 0:
            continue
        for k in range(words):
            bits = x[reach + c * words + k] & ~M[adjacent + c * words + k]
            while bits:
                e, bits = trailing_zeros(bits) + k * WORD, bits & (bits - 1)
                l = T[coast_location + e]
                n = w[W_BUCKET_SIZE, l]
                b[l, n] = T[mover_of + c * coasts + e] | (c + 1) << COAST_SHIFT
                w[W_BUCKET_SIZE, l] = n + 1


@kernel
def _movement_orders(T, s, w, b, x, armies, fleets, out, starts, n):
    """Append the legal orders of all units, each unit's sorted, and note where they begin; returns where they end.

    The caller has made sure of room for MAX_LEGAL orders a unit, all that a piece can ever be given, and MOVES_AT_ONCE
    more. The ends of short loops cost more than their bodies, so moves, whose numbers are consecutive, are written
    MOVES_AT_ONCE at a time, and candidates of supports are read READ_AT_ONCE at a time, written, and overwritten by the
    next one if they are none. What is read behind a bucket's end is zeros, or a mover of the same location from before:
    wrong, but within all tables, and not counted. A bucket's row is READ_AT_ONCE - 1 longer than there are units.
    """
    coasts, words, help_province, help_id = T[N_COASTS], T[N_WORDS], T[HELP_PROVINCE], T[HELP_ID]
    into_location, into_base, into_id = T[INTO_LOCATION], T[INTO_BASE], T[INTO_ID]
    hold_id, move_id, move_start, help_start, into_start = (
        T[HOLD_ID],
        T[MOVE_ID],
        T[MOVE_START],
        T[HELP_START],
        T[INTO_START],
    )
    reach, through, convoy_id, via_id = T[X_REACH], T[X_THROUGH], T[CONVOY_ID], T[VIA_ID]
    through_back, without = T[X_BACK_THROUGH], T[X_BACK_WITHOUT]
    province_coast, location_province = T[PROVINCE_COAST], T[LOCATION_PROVINCE]
    for u in range(s[UNITS]):
        starts[u] = n
        piece, is_fleet = w[W_PIECE, u], w[W_TYPE, u] == 1
        out[n] = T[hold_id + piece]
        n += 1
        first = T[move_start + piece]
        moves, first = T[move_start + piece + 1] - first, T[move_id + first]
        for i in range(0, moves, MOVES_AT_ONCE):
            for k in range(n + i, n + i + MOVES_AT_ONCE):
                out[k] = first + k - n
        n += moves
        if fleets and not is_fleet:
            c = T[province_coast + w[W_PROVINCE, u]]
            if c >= 0:
                for k in range(words):
                    bits = x[reach + c * words + k]
                    while bits:
                        e, bits = trailing_zeros(bits), bits & (bits - 1)
                        out[n] = T[via_id + c * coasts + e + k * WORD]
                        n += 1
        for i in range(T[help_start + piece], T[help_start + piece + 1]):
            order = T[help_id + i * HELPS + w[W_LOCAL, T[help_province + i]]]
            out[n] = order
            n += order >= 0
        f = w[W_SEA, u] if is_fleet else -1
        for i in range(T[into_start + piece], T[into_start + piece + 1]):
            l = T[into_location + i]
            base, size = into_id + T[into_base + i], w[W_BUCKET_SIZE, l]
            e = T[province_coast + T[location_province + l]]
            if f < 0 or e < 0:
                for j in range(0, size, READ_AT_ONCE):
                    for k in range(j, j + READ_AT_ONCE):
                        order = T[base + (b[l, k] & MOVER)]
                        out[n] = order
                        n += (order >= 0) & (k < size)
            else:  # a fleet cannot support an army that needs this very fleet for its convoy
                row, e = without + f * (coasts + 1) * words + e // WORD, e % WORD
                for j in range(0, size, READ_AT_ONCE):
                    for k in range(j, j + READ_AT_ONCE):
                        order = T[base + (b[l, k] & MOVER)]
                        out[n] = order
                        n += (order >= 0) & (k < size) & (x[row + (b[l, k] >> COAST_SHIFT) * words] >> e & 1)
        if fleets and f >= 0:
            for i in range(armies):
                c = w[W_ARMIES, i]
                army = f * (coasts + 1) + c + 1
                comes_back = np.int64(0)
                for k in range(words):
                    comes_back |= x[through_back + army * words + k]
                for k in range(words if comes_back else 0):
                    bits = x[through + army * words + k]
                    while bits:
                        e, bits = trailing_zeros(bits), bits & (bits - 1)
                        out[n] = T[convoy_id + (f * coasts + c) * coasts + e + k * WORD]
                        n += 1
    starts[s[UNITS]] = n
    return n


@kernel
def _retreat_orders(T, s, w, d, out, n):
    """Append the legal orders of a dislodged unit, sorted; returns the new length."""
    piece, options = s[T[LOST_PIECE] + d], T[LOST_OPTION] + d * T[N_OPTIONS]
    for i in range(T[T[MOVE_START] + piece], T[T[MOVE_START] + piece + 1]):
        l = T[T[MOVE_LOCATION] + i]
        if w[W_OCCUPANT, T[T[LOCATION_PROVINCE] + l]] >= 0:
            continue
        for j in range(s[T[LOST_OPTIONS] + d]):
            if s[options + j] == l:
                out[n] = T[T[RETREAT_ID] + i]
                n += 1
                break
    out[n] = T[T[DISBAND_ID] + piece]
    return n + 1


@kernel
def count(T, s, w):
    """Fill W_UNITS and W_CENTERS: how many of each a power has."""
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
def legal(T, M, R, s, w, b, x, orders, starts, slots, powers, first, room):
    """The legal orders of a game in CSR form: rows are what can be ordered.

    Args:
        orders: int32, written from index `first`, at most `room` numbers.
        starts, slots, powers: int32 [N_UNITS + N_CENTERS + 1]; where each row begins in `orders`, its slot (see
            `engine.Legal`) and its power.

    Returns:
        The number of rows, and where `orders` ends; or (-1, needed) if there may be no room.
    """
    occupy(T, s, w)
    n, rows = first, ZERO
    if s[DONE]:
        starts[0] = n
        return rows, n
    phase = s[PHASE]
    if phase == WINTER:
        return _legal_winter(T, R, s, w, orders, starts, slots, powers, first, room)
    if phase == SPRING_MOVES or phase == FALL_MOVES:
        _list_units(T, s, w)
        armies, fleets = _reach_by_convoy(T, M, s, w, x)
        _fill_buckets(T, M, s, w, b, x, fleets)
        rows = s[UNITS]
        if rows * T[MAX_LEGAL] + MOVES_AT_ONCE > room:
            return -1, rows * T[MAX_LEGAL] + MOVES_AT_ONCE
        for u in range(rows):
            slots[u], powers[u] = u, w[W_POWER, u]
        return rows, _movement_orders(T, s, w, b, x, armies, fleets, orders, starts, first)
    else:
        if s[DISLODGED] * (T[N_OPTIONS] + 1) > room:
            return -1, s[DISLODGED] * (T[N_OPTIONS] + 1)
        for d in range(s[DISLODGED]):
            starts[rows], slots[rows], powers[rows] = n, d, s[T[LOST_POWER] + d]
            n = _retreat_orders(T, s, w, d, orders, n)
            rows += 1
    starts[rows] = n
    return rows, n


@kernel
def legal_flat(T, M, R, s, w, b, x, orders, starts, slots, powers, order_slots, order_powers):
    """`legal`, and for every order its slot and its power; int32, as long as `orders`. Returns how many orders."""
    rows, end = legal(T, M, R, s, w, b, x, orders, starts, slots, powers, ZERO, len(orders))
    for r in range(rows):
        for i in range(starts[r], starts[r + 1]):
            order_slots[i], order_powers[i] = slots[r], powers[r]
    return end


@kernel
def _legal_winter(T, R, s, w, orders, starts, slots, powers, first, room):
    n, rows = first, 0
    most = s[UNITS] + T[N_CENTERS] * PIECES_HERE
    if most > room:
        return -1, most
    limit(T, R, s, w)
    for u in range(s[UNITS]):
        power = w[W_POWER, u]
        if R[IS_WELFARE] or w[W_DISBANDS, power] > 0:
            starts[rows], slots[rows], powers[rows] = n, u, power
            orders[n] = T[T[DISBAND_ID] + w[W_PIECE, u]]
            n += 1
            rows += 1
    for c in range(T[N_CENTERS]):
        power = s[T[OWNER] + c]
        if w[W_SITE_OPEN, c] and w[W_BUILDS, power] > 0:
            starts[rows], slots[rows], powers[rows] = n, s[UNITS] + c, power
            for i in range(T[T[BUILD_START] + c], T[T[BUILD_START] + c + 1]):
                orders[n] = T[T[BUILD_ORDER] + i]
                n += 1
            rows += 1
    starts[rows] = n
    return rows, n


# Adjudication of movement. Units are taken in the sequence of the state row, as the package takes its own.


@kernel
def _read_orders(T, s, w, orders, first, last):
    """Decode orders[first:last] into W_COMMAND, W_VIA, W_DEST (location), W_TARGET (unit), W_TARGET_DEST (location).

    W_DEST_PROVINCE and W_SITE (the province that a support is about) follow from them. Units that move, support and
    convoy are listed, in their sequence, in W_MOVERS, W_SUPPORTERS and W_CARRIERS. Returns how many of each.
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
        w[W_MOVERS, movers] = u  # overwritten by the next one if it does something else
        movers += command == MOVES
        w[W_SUPPORTERS, supporters] = u
        supporters += command == SUPPORTS
        w[W_CARRIERS, carriers] = u
        carriers += command == CONVOYS
    return movers, supporters, carriers


@kernel
def _by_convoy(w, u):
    """Whether a unit moves by convoy: it has a route left."""
    return w[W_COMMAND, u] == MOVES and w[W_PATHS, u] > 0


@kernel
def _drop_stranded_supports(T, M, s, w):
    """The package lists, but then refuses, supports of armies that could only be convoyed the other way."""
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


@kernel
def _complete_coast(T, w, u, t):
    """A support of a fleet's move that names no coast takes the coast of that move; a fleet's support always does.

    The package's `_add_coasts` and `_expand_coast`.
    """
    dest = w[W_TARGET_DEST, u]
    if dest < 0 or w[W_TYPE, t] != 1 or w[W_COMMAND, t] != MOVES:
        return
    by_fleet = w[W_TYPE, u] == 1
    if (by_fleet or T[T[LOCATION_COAST] + dest] == 0) and T[T[LOCATION_PROVINCE] + dest] == w[W_DEST_PROVINCE, t]:
        w[W_TARGET_DEST, u] = w[W_DEST, t]


@kernel
def _find_routes(T, M, s, w, b, movers, carriers):
    """Step 1A: which moves have a convoy, and which convoys are part of none. Returns whether there is any."""
    coasts, locations = T[N_COASTS], T[N_LOCATIONS]
    can_support, province_coast = T[CAN_SUPPORT], T[PROVINCE_COAST]
    present, found = np.int64(0), False
    if carriers:
        for u in range(s[UNITS]):
            if w[W_TYPE, u] == 1 and w[W_SEA, u] >= 0:
                present |= np.int64(1) << w[W_SEA, u]
    for j in range(movers):
        u = w[W_MOVERS, j]
        if w[W_TYPE, u] == 1:
            continue
        adjacent = T[can_support + w[W_PIECE, u] * locations + w[W_DEST, u]] == 1
        helping, own, used = np.int64(0), np.int64(0), np.int64(0)
        for i in range(carriers):
            v = w[W_CARRIERS, i]
            if _carries(w, v, u) and w[W_SEA, v] >= 0:
                helping |= np.int64(1) << w[W_SEA, v]
                if w[W_POWER, v] == w[W_POWER, u]:
                    own |= np.int64(1) << w[W_SEA, v]
        start, end = T[province_coast + w[W_PROVINCE, u]], T[province_coast + w[W_DEST_PROVINCE, u]]
        if helping and start >= 0 and end >= 0:
            used = _list_paths(T, M, s, w, b, u, start * coasts + end, helping, own, present, adjacent)
        if used and T[T[PROVINCE_SEA] + w[W_DEST_PROVINCE, u]] >= 0:  # a port: the route's end counts as a part
            used |= np.int64(1) << T[T[PROVINCE_SEA] + w[W_DEST_PROVINCE, u]]
        for i in range(carriers if helping else 0):
            v = w[W_CARRIERS, i]
            if _carries(w, v, u):
                if w[W_SEA, v] >= 0 and used >> w[W_SEA, v] & 1:
                    w[W_CONVOYS, v] = 1
                else:
                    w[W_RESULT, v] = NO_CONVOY
        if used:
            w[W_CUTTER, u] = BY_SEA
            found = True
        else:
            w[W_VIA, u] = 0
            if not adjacent:
                w[W_RESULT, u] |= NO_CONVOY
    return found


@kernel
def _carries(w, v, u):
    """Whether v was ordered to convoy u on the move that u was ordered to make."""
    return w[W_COMMAND, v] == CONVOYS and w[W_TARGET, v] == u and w[W_TARGET_DEST, v] == w[W_DEST, u]


@kernel
def _list_paths(T, M, s, w, b, u, pair, helping, own, present, adjacent):
    """List the routes that the helping fleets make: W_PATHS, b[N_LOCATIONS + u] (at most MAX_PATHS, all of the pair).

    Without VIA, an army that could walk goes by sea only if a fleet of its own power helps that could be on a route.
    Returns the mask of the fleets in any route.
    """
    first, last = T[T[PAIR_START] + pair], T[T[PAIR_START] + pair + 1]
    if adjacent and not w[W_VIA, u]:
        meant = False
        for i in range(first, last):
            fleets = M[T[PAIR_MASK] + i]
            meant |= fleets & ~present == 0 and fleets & own != 0
        if not meant:
            return np.int64(0)
    used, n = np.int64(0), 0
    paths = T[N_LOCATIONS] + u
    for i in range(first, last):
        fleets = M[T[PAIR_MASK] + i]
        if fleets & ~helping == 0:
            used |= fleets
            b[paths, n] = i
            n += 1
    w[W_PATHS, u] = n
    return used


@kernel
def _void_convoys(w, carriers):
    """Step 1B: convoys that carry nobody."""
    for i in range(carriers):
        u = w[W_CARRIERS, i]
        t = w[W_TARGET, u]
        if t < 0 or w[W_TYPE, t] == 1:
            w[W_COMMAND, u] = HOLDS
        elif not w[W_CONVOYS, u]:
            w[W_RESULT, u] |= VOID


@kernel
def _count_supports(T, w, supporters):
    """Step 2: cancel supports that do not fit, count the others."""
    for i in range(supporters):
        u = w[W_SUPPORTERS, i]
        if w[W_COMMAND, u] != SUPPORTS:
            continue
        t = w[W_TARGET, u]
        if t < 0:
            w[W_COMMAND, u] = HOLDS
            w[W_RESULT, u] |= VOID
            continue
        _complete_coast(T, w, u, t)
        wanted = w[W_TARGET_DEST, u]
        moves = w[W_COMMAND, t] == MOVES
        if (w[W_DEST, t] if moves else -1) != wanted or (w[W_RESULT, t] & NO_CONVOY and w[W_TYPE, t] == 0):
            w[W_RESULT, u] |= VOID
            continue
        w[W_SUPPORT, t] += 1
        # Help against a unit of one's own does not count towards dislodging it. With VIA the package does not see that.
        if moves and not w[W_VIA, t]:
            victim = w[W_OCCUPANT, w[W_DEST_PROVINCE, t]]
            if victim >= 0 and w[W_POWER, victim] == w[W_POWER, u]:
                w[W_NO_HELP, t] += 1
                w[W_HELPS_NOT, u] = t


@kernel
def _drop_no_help(T, w, u):
    """A support is gone: it is no longer among those that do not help its unit."""
    t = w[W_HELPS_NOT, u]
    if t >= 0:
        w[W_NO_HELP, t] -= 1
        w[W_HELPS_NOT, u] = -1


@kernel
def _cut_support(T, M, s, w, b, u, direct):
    """Cut the support given by the unit that u moves against, if the rules let it."""
    if w[W_COMMAND, u] != MOVES or (direct and _by_convoy(w, u)):
        return
    v = w[W_OCCUPANT, w[W_DEST_PROVINCE, u]]
    if v < 0 or w[W_COMMAND, v] != SUPPORTS or w[W_RESULT, v] & (CUT | VOID):
        return
    if w[W_POWER, u] == w[W_POWER, v]:
        return
    site = w[W_SITE, v]
    if site == w[W_PROVINCE, u]:
        return
    if _by_convoy(w, u):
        # A convoyed attack does not cut a support for or against a fleet of its convoy, unless there is another route.
        fleet = w[W_OCCUPANT, site]
        if fleet >= 0 and w[W_COMMAND, fleet] == CONVOYS and not w[W_RESULT, fleet] & VOID:
            f = T[T[PROVINCE_SEA] + site]
            other_route = False
            for i in range(w[W_PATHS, u]):
                fleets = M[T[PAIR_MASK] + b[T[N_LOCATIONS] + u, i]]
                other_route |= not fleets >> f & 1
            if not other_route:
                return
    w[W_RESULT, v] |= CUT
    w[W_SUPPORT, w[W_TARGET, v]] -= 1
    _drop_no_help(T, w, v)


# The combat table: for every province the units that want to be there, with their strengths. Entry u is where unit u
# wants to be, entry N_UNITS + u its place after a bounce. The entries of a province are a linked list.


@kernel
def _rank_entry(w, e, place, strength):
    """Count an entry: W_BEST is the highest strength, W_MANY have it, W_FIRST is one of them, W_SECOND is the next."""
    if strength > w[W_BEST, place]:
        w[W_SECOND, place] = w[W_BEST, place]
        w[W_BEST, place] = strength
        w[W_MANY, place] = 1
        w[W_FIRST, place] = e
    elif strength == w[W_BEST, place]:
        w[W_MANY, place] += 1
    elif strength > w[W_SECOND, place]:
        w[W_SECOND, place] = strength


@kernel
def _add_entry(w, e, place, strength):
    w[W_STRENGTH, e] = strength
    w[W_ALIVE, e] = 1
    w[W_NEXT, e] = w[W_HEAD, place]
    w[W_HEAD, place] = e
    _rank_entry(w, e, place, strength)


@kernel
def _rank_anew(w, place):
    """After an entry of a province has become weaker or gone."""
    w[W_BEST, place] = 0
    w[W_MANY, place] = 0
    w[W_SECOND, place] = 0
    e = w[W_HEAD, place]
    while e >= 0:
        if w[W_ALIVE, e]:
            _rank_entry(w, np.int64(e), place, np.int64(w[W_STRENGTH, e]))
        e = w[W_NEXT, e]


@kernel
def _strengths(T, s, w):
    for p in range(T[N_PROVINCES]):
        w[W_HEAD, p] = -1
        w[W_BEST, p] = 0
        w[W_MANY, p] = 0
        w[W_SECOND, p] = 0
    for u in range(s[UNITS]):
        stays = w[W_COMMAND, u] != MOVES or w[W_RESULT, u] != 0
        place = w[W_PROVINCE, u] if stays else w[W_DEST_PROVINCE, u]
        _add_entry(w, np.int64(u), place, 1 + w[W_SUPPORT, u])


@kernel
def _unit_of(T, e):
    return e if e < T[N_UNITS] else e - T[N_UNITS]


@kernel
def _bounce(T, w, u):
    """Unit u stays where it is after all."""
    w[W_RESULT, u] |= BOUNCE
    _add_entry(w, T[N_UNITS] + u, w[W_PROVINCE, u], ONE)


@kernel
def _paradox_at(T, s, w, start, area, of_move):
    """Follow supports and convoys from a province: does one support the fleet in `area`, or a move against it?

    At most as many steps as there are units: a chain that returns to itself ends.
    """
    u = w[W_OCCUPANT, start]
    location = -1
    for _ in range(s[UNITS]):
        if u < 0:
            return False
        if (
            location >= 0
            and T[T[LOCATION_COAST] + location]
            and T[T[PIECE_LOCATION] + s[T[UNIT_PIECE] + u]] != location
        ):
            return False
        command = w[W_COMMAND, u]
        dest = w[W_TARGET_DEST, u]
        if command == SUPPORTS:
            if of_move:
                if dest >= 0 and dest == T[T[PROVINCE_LOCATION] + area]:
                    return True
            elif dest < 0 and w[W_TARGET, u] == w[W_OCCUPANT, area]:
                return True
        if command != SUPPORTS and command != CONVOYS:
            return False
        t = w[W_TARGET, u]
        location = dest if dest >= 0 else T[T[PIECE_LOCATION] + s[T[UNIT_PIECE] + t]]
        u = w[W_OCCUPANT, T[T[LOCATION_PROVINCE] + location]]
    return False


@kernel
def _remove_routes(T, M, w, b, u, f):
    """Take the routes over sea f off the list, as the package does: the one after a removed one is not looked at."""
    paths, n = T[N_LOCATIONS] + u, w[W_PATHS, u]
    ends_here = T[T[PROVINCE_SEA] + w[W_DEST_PROVINCE, u]] == f  # a port; the package counts a route's ends as parts
    i = 0
    while i < n:
        if ends_here or M[T[PAIR_MASK] + b[paths, i]] >> f & 1:
            for j in range(i, n - 1):
                b[paths, j] = b[paths, j + 1]
            n -= 1
        i += 1
    w[W_PATHS, u] = n


@kernel
def _check_disruptions(T, M, s, w, b, final):
    """Which convoys fail because a fleet would be dislodged, and by no paradox stays."""
    for u in range(s[UNITS]):
        if not w[W_CUTTER, u] & BY_SEA:
            continue
        end = w[W_DEST_PROVINCE, u]
        guard = w[W_OCCUPANT, end]
        adjacent = T[T[CAN_MOVE] + s[T[UNIT_PIECE] + u] * T[N_LOCATIONS] + w[W_DEST, u]] == 1
        for v in range(s[UNITS]):
            if not (w[W_COMMAND, v] == CONVOYS and w[W_CONVOYS, v] and w[W_TARGET, v] == u):
                continue
            area = w[W_PROVINCE, v]
            best, many = w[W_BEST, area], w[W_MANY, area]
            attacked, stands = False, False
            e = w[W_HEAD, area]
            while e >= 0:
                if w[W_ALIVE, e] and w[W_STRENGTH, e] == best:
                    strong = _unit_of(T, e)
                    attacked |= w[W_POWER, strong] != w[W_POWER, v]
                    stands |= strong == v
                e = w[W_NEXT, e]
            if not attacked:
                continue
            paradox = _paradox_at(T, s, w, end, area, NO)
            if stands and not paradox:
                continue
            if many >= 2 and not paradox and not _goes_for(w, guard, area):
                continue
            _remove_routes(T, M, w, b, u, T[T[PROVINCE_SEA] + area])
            cuts_attack = adjacent and _paradox_at(T, s, w, end, area, YES)
            if w[W_PATHS, u] == 0 and (cuts_attack or not adjacent or w[W_VIA, u]):
                w[W_RESULT, u] = NO_CONVOY if final else MAYBE
            if final:
                w[W_RESULT, v] = DISRUPTED


@kernel
def _goes_for(w, u, area):
    """Whether a unit moves to a province or supports there (its order's last word is the province)."""
    if u < 0:
        return False
    if w[W_COMMAND, u] == MOVES:
        return not w[W_VIA, u] and w[W_DEST_PROVINCE, u] == area
    return w[W_COMMAND, u] == SUPPORTS and w[W_SITE, u] == area


@kernel
def _resolve_convoys(T, M, s, w, b):
    """Steps 4 and 5: convoys are disrupted, convoyed attacks cut supports, until nothing changes."""
    # Every round but the last marks a further cutter, so there are at most as many rounds as units.
    again = True
    while again:
        again = False
        _strengths(T, s, w)
        _check_disruptions(T, M, s, w, b, NO)
        for u in range(s[UNITS]):
            if w[W_CUTTER, u] & BY_SEA and w[W_RESULT, u] == 0 and not w[W_CUTTER, u] & HAS_CUT:
                _cut_support(T, M, s, w, b, u, NO)
                w[W_CUTTER, u] |= HAS_CUT
                again = True
        if again:
            continue
        _check_disruptions(T, M, s, w, b, YES)
        for u in range(s[UNITS]):
            if not w[W_CUTTER, u] & BY_SEA:
                continue
            if w[W_RESULT, u] & NO_CONVOY:
                _strand(s, w, u)
            elif w[W_RESULT, u] & MAYBE and not w[W_CUTTER, u] & HAS_CUT:
                w[W_RESULT, u] = 0
                again = True
                _cut_support(T, M, s, w, b, u, NO)
                w[W_CUTTER, u] |= HAS_CUT


@kernel
def _strand(s, w, u):
    """An army without convoy: those who supported or carried it did so in vain."""
    for v in range(s[UNITS]):
        helps = w[W_COMMAND, v] == SUPPORTS or w[W_COMMAND, v] == CONVOYS
        if helps and w[W_TARGET, v] == u and w[W_RESULT, v] == 0:
            w[W_RESULT, v] = NO_CONVOY
        if w[W_HELPS_NOT, v] == u:
            w[W_HELPS_NOT, v] = -1
    w[W_SUPPORT, u] = 0
    w[W_NO_HELP, u] = 0


@kernel
def _void_own_helpers(s, w, u):
    """Mark supports that would have dislodged a unit of their own power as void."""
    if w[W_NO_HELP, u] == 0:
        return
    for v in range(s[UNITS]):
        if w[W_HELPS_NOT, v] == u:
            w[W_RESULT, v] |= VOID


@kernel
def _list_active(w, units, number):
    """List those of the movers whose move has not failed so far in W_ACTIVE, in sequence. Returns how many."""
    n = 0
    for i in range(number):
        u = w[units, i]
        w[W_ACTIVE, n] = u  # overwritten by the next one if it has failed
        n += w[W_RESULT, u] == 0
    return n


@kernel
def _bounce_swaps(T, s, w, active):
    """Step 6: two units that would trade places."""
    bounced = False
    for i in range(active):
        u = w[W_ACTIVE, i]
        if w[W_RESULT, u] or w[W_PATHS, u]:
            continue
        v = w[W_OCCUPANT, w[W_DEST_PROVINCE, u]]
        if v < 0 or w[W_COMMAND, v] != MOVES or _by_convoy(w, v) or w[W_RESULT, v]:
            continue
        if w[W_DEST_PROVINCE, v] != w[W_PROVINCE, u]:
            continue
        mine = w[W_SUPPORT, u] - w[W_NO_HELP, u]
        his = w[W_SUPPORT, v] - w[W_NO_HELP, v]
        equal = w[W_POWER, u] == w[W_POWER, v] or w[W_SUPPORT, u] == w[W_SUPPORT, v]
        if equal or mine <= his:
            _bounce(T, w, u)
        if equal or his <= mine:
            _bounce(T, w, v)
        _void_own_helpers(s, w, u)
        _void_own_helpers(s, w, v)
        bounced = True
    return bounced


@kernel
def _bounce_outgunned(T, w, active):
    """Step 7: units that are not the only strongest where they want to go. A bounce can only cause further ones.

    Returns how many still move.
    """
    again = True
    while again:
        again = False
        for i in range(active):
            u = w[W_ACTIVE, i]
            place = w[W_DEST_PROVINCE, u]
            if w[W_STRENGTH, u] != w[W_BEST, place] or w[W_MANY, place] != 1:
                _bounce(T, w, u)
                again = True
        if again:
            active = _list_active(w, np.int64(W_ACTIVE), active)
    return active


@kernel
def _bounce_self_dislodgers(T, s, w, active):
    """Step 8: attacks that would dislodge a unit of their own power, or need its power's help to."""
    bounced = False
    for i in range(active):
        u = w[W_ACTIVE, i]
        place = w[W_DEST_PROVINCE, u]
        guard = w[W_OCCUPANT, place]
        if guard < 0 or (w[W_COMMAND, guard] == MOVES and w[W_RESULT, guard] == 0):
            continue
        best, second = w[W_BEST, place], w[W_SECOND, place]
        if w[W_STRENGTH, u] != best or w[W_MANY, place] != 1:
            continue  # something in this pass made it weaker than another: step 7 sees to it
        own = w[W_POWER, guard] == w[W_POWER, u]
        if own or (second > 0 and best - w[W_NO_HELP, u] <= second):
            _bounce(T, w, u)
            _void_own_helpers(s, w, u)
            bounced = True
    return bounced


@kernel
def _cut_by_dislodgement(T, w, active):
    """Step 9: a unit that will be dislodged gives no support."""
    cut = False
    for i in range(active):
        u = w[W_ACTIVE, i]
        v = w[W_OCCUPANT, w[W_DEST_PROVINCE, u]]
        if v < 0 or w[W_COMMAND, v] != SUPPORTS or w[W_RESULT, v]:
            continue
        site = w[W_SITE, v]
        if w[W_VIA, u] and site != w[W_PROVINCE, u]:
            continue
        w[W_RESULT, v] |= CUT
        cut = True
        t = w[W_TARGET, v]
        e = w[W_HEAD, site]
        while e >= 0:
            if w[W_ALIVE, e] and _unit_of(T, e) == t:
                w[W_STRENGTH, e] -= 1
                _rank_anew(w, site)
                if e < T[N_UNITS]:
                    _drop_no_help(T, w, v)
                break
            e = w[W_NEXT, e]
    return cut


@kernel
def _unbounce(T, w, place):
    """A place has become free: its strongest bounced attacker gets in, which may free another place, and so on."""
    # Every turn takes a bounce off a unit, so there are at most as many turns as units.
    while w[W_MANY, place] == 1:
        u = _unit_of(T, w[W_FIRST, place])
        if not w[W_RESULT, u] & BOUNCE:
            return
        w[W_RESULT, u] &= ~BOUNCE
        if w[W_LOST_FROM, u] >= 0:
            w[W_LOST_FROM, u] = -1
            w[W_RESULT, u] &= ~WAS_DISLODGED
            return
        place = w[W_PROVINCE, u]
        w[W_ALIVE, T[N_UNITS] + u] = 0
        _rank_anew(w, place)


@kernel
def _dislodge(T, s, w, movers):
    """Step 10: mark dislodgements (W_LOST_FROM: whence the attacker came), let bounced units into places now free."""
    for i in range(movers):
        u = w[W_MOVERS, i]
        if w[W_RESULT, u]:
            continue
        site = w[W_PROVINCE, u]
        loser = w[W_OCCUPANT, w[W_DEST_PROVINCE, u]]
        if loser >= 0 and (w[W_COMMAND, loser] != MOVES or w[W_RESULT, loser]):
            w[W_RESULT, loser] = (w[W_RESULT, loser] & ~DISRUPTED) | WAS_DISLODGED
            w[W_LOST_FROM, loser] = site
            head_on = w[W_COMMAND, loser] == MOVES and w[W_DEST_PROVINCE, loser] == site
            if head_on and not _by_convoy(w, u) and not _by_convoy(w, loser):
                e = w[W_HEAD, site]
                while e >= 0:
                    if w[W_ALIVE, e] and _unit_of(T, e) == loser:
                        w[W_ALIVE, e] = 0
                        _rank_anew(w, site)
                        break
                    e = w[W_NEXT, e]
            _void_own_helpers(s, w, u)
        _unbounce(T, w, site)


@kernel
def _adjudicate(T, M, s, w, b, movers, supporters, carriers):
    """Resolve the orders that `_read_orders` decoded: W_RESULT, W_LOST_FROM, and the combat table."""
    by_sea = _find_routes(T, M, s, w, b, movers, carriers)
    _void_convoys(w, carriers)
    _count_supports(T, w, supporters)
    for i in range(movers):
        u = w[W_MOVERS, i]
        if w[W_RESULT, u] == 0:
            _cut_support(T, M, s, w, b, u, YES)
    if by_sea:
        _resolve_convoys(T, M, s, w, b)
    _strengths(T, s, w)
    # Each round of the outer loop cuts a further support, each of the inner one bounces a further unit.
    active = _list_active(w, np.int64(W_MOVERS), movers)
    cut = True
    while cut:
        active = _bounce_all(T, s, w, active)
        cut = _cut_by_dislodgement(T, w, active)
    _dislodge(T, s, w, movers)


@kernel
def _bounce_all(T, s, w, active):
    """Steps 6 to 8, the first that finds something to bounce, until none does. Returns how many still move.

    W_ACTIVE holds those that move and no others before each step, so a unit bounces once, and has one entry at home.
    """
    while True:
        if _bounce_swaps(T, s, w, active):
            active = _list_active(w, np.int64(W_ACTIVE), active)
            continue
        left = _bounce_outgunned(T, w, active)
        if left < active:
            active = left
            continue
        if not _bounce_self_dislodgers(T, s, w, active):
            return active
        active = _list_active(w, np.int64(W_ACTIVE), active)


@kernel
def _list_retreats(T, s, w, u, d):
    """Where dislodged unit u may go, into row d of the state. At most N_OPTIONS places: those it could step to."""
    piece = s[T[UNIT_PIECE] + u]
    origin = w[W_LOST_FROM, u]
    attacker = w[W_OCCUPANT, origin]
    convoyed = _by_convoy(w, attacker)  # the package then lets it go anywhere
    n = 0
    for i in range(T[T[MOVE_START] + piece], T[T[MOVE_START] + piece + 1]):
        l = T[T[MOVE_LOCATION] + i]
        p = T[T[LOCATION_PROVINCE] + l]
        if convoyed or (p != origin and w[W_MANY, p] == 0):
            s[T[LOST_OPTION] + d * T[N_OPTIONS] + n] = l
            n += 1
    s[T[LOST_OPTIONS] + d] = n
    return n


@kernel
def _influence(T, s, power, piece):
    s[T[INFLUENCE] + T[T[PIECE_PROVINCE] + piece]] = power


@kernel
def _clear_units(T, s, last):
    """Zeros behind the units up to `last`, so that equal positions have equal rows."""
    for u in range(s[UNITS], last):
        s[T[UNIT_POWER] + u], s[T[UNIT_PIECE] + u] = 0, 0


@kernel
def _clear_dislodged(T, s):
    """No unit is dislodged any more: zeros in its place, as behind the units."""
    for d in range(s[DISLODGED]):
        s[T[LOST_POWER] + d], s[T[LOST_PIECE] + d], s[T[LOST_OPTIONS] + d] = 0, 0, 0
    for i in range(s[DISLODGED] * T[N_OPTIONS]):
        s[T[LOST_OPTION] + i] = 0
    s[DISLODGED] = 0


@kernel
def _move_units(T, s, w, movers):
    """Take dislodged units off and move those that succeeded; these come last in their power, as in the package."""
    unit_power, unit_piece, piece_at, locations = T[UNIT_POWER], T[UNIT_PIECE], T[PIECE_AT], T[N_LOCATIONS]
    d = ZERO
    for u in range(s[UNITS]):
        if w[W_LOST_FROM, u] >= 0 and _list_retreats(T, s, w, u, d) > 0:
            s[T[LOST_POWER] + d] = s[unit_power + u]
            s[T[LOST_PIECE] + d] = s[unit_piece + u]
            d += 1
    n, u, i = 0, 0, 0
    active = _list_active(w, np.int64(W_MOVERS), movers)
    while u < s[UNITS]:
        power = s[unit_power + u]
        while u < s[UNITS] and s[unit_power + u] == power:
            w[W_NEW_POWER, n], w[W_NEW_PIECE, n] = power, s[unit_piece + u]  # overwritten by the next one if it goes
            goes = (w[W_COMMAND, u] == MOVES) & (w[W_RESULT, u] == 0)
            n += (w[W_LOST_FROM, u] < 0) & (not goes)
            u += 1
        while i < active and w[W_ACTIVE, i] < u:
            v = w[W_ACTIVE, i]
            piece = T[piece_at + w[W_TYPE, v] * locations + w[W_DEST, v]]
            w[W_NEW_POWER, n], w[W_NEW_PIECE, n] = power, piece
            _influence(T, s, power, piece)
            n += 1
            i += 1
    for v in range(n):
        s[unit_power + v], s[unit_piece + v] = w[W_NEW_POWER, v], w[W_NEW_PIECE, v]
    before, s[UNITS] = s[UNITS], n
    _clear_units(T, s, np.int64(before))
    s[DISLODGED] = d


# The year.


@kernel
def _gain(T, R, s, w):
    """Welfare points: centres less units, weighted by the year (paper, section 2.2)."""
    count(T, s, w)
    weight, welfare = R[PROGRESSIVE + s[YEAR]], T[WELFARE]
    for power in range(T[N_POWERS]):
        s[welfare + power] += weight * (w[W_CENTERS, power] - w[W_UNITS, power])


@kernel
def _next_year(R, s):
    if s[YEAR] + 1 >= R[YEARS]:
        s[DONE] = 1
    else:
        s[YEAR] += 1
        s[PHASE] = SPRING_MOVES


@kernel
def _after_movement(T, R, s, w):
    """Go to retreats, Fall, Winter, or past a standard Winter that has nothing to adjust."""
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
        _next_year(R, s)


@kernel
def _capture(T, R, s, w):
    """Centres go to those who stand on them. Returns the winner of the standard game, or -1.

    A winner owns enough, more than the year before, and more than anybody else.
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


@kernel
def _step_movement(T, M, R, s, w, b, orders, first, last, flags):
    occupy(T, s, w)
    movers, supporters, carriers = _read_orders(T, s, w, orders, first, last)
    if T[X_BACK] != T[X_REACH]:  # a board with ports
        _drop_stranded_supports(T, M, s, w)
    _adjudicate(T, M, s, w, b, movers, supporters, carriers)
    for u in range(s[UNITS]):
        flags[u] = w[W_RESULT, u]
    _move_units(T, s, w, movers)
    _after_movement(T, R, s, w)


@kernel
def _step_retreats(T, R, s, w, orders, powers, first, last, flags):
    """Units that retreat to one place are all disbanded; so are those without order."""
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
            _influence(T, s, s[T[LOST_POWER] + d], settled)
            n += 1
    s[UNITS] = n
    _clear_dislodged(T, s)
    _group_by_power(T, s, w)
    if R[RETREAT_WELFARE]:
        _gain(T, R, s, w)
    _after_movement(T, R, s, w)


@kernel
def _group_by_power(T, s, w):
    """Put units that were appended at the end behind those of their power, keeping the sequence otherwise."""
    n = 0
    for power in range(T[N_POWERS]):
        for u in range(s[UNITS]):
            if s[T[UNIT_POWER] + u] == power:
                w[W_NEW_POWER, n], w[W_NEW_PIECE, n] = power, s[T[UNIT_PIECE] + u]
                n += 1
    for u in range(n):
        s[T[UNIT_POWER] + u], s[T[UNIT_PIECE] + u] = w[W_NEW_POWER, u], w[W_NEW_PIECE, u]


@kernel
def _step_winter(T, R, s, w, orders, powers, first, last, flags):
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
    _clear_units(T, s, np.int64(n))
    _group_by_power(T, s, w)
    if R[IS_WELFARE]:
        _gain(T, R, s, w)
    _next_year(R, s)


@kernel
def _remove_surplus(T, s, w, power):
    """Remove units beyond the centres: the farthest from home first; of equals fleets, then by name."""
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


@kernel
def step(T, M, R, s, w, b, orders, powers, first, last, flags):
    """Play a phase of one game: orders[first:last], given by powers[first:last], in the sequence they were given.

    Args:
        flags: uint8 [N_UNITS + N_CENTERS]; what became of the orders, see `engine.Engine.step`.
    """
    phase = s[PHASE]
    if phase == WINTER:
        _step_winter(T, R, s, w, orders, powers, first, last, flags)
    elif phase == SPRING_MOVES or phase == FALL_MOVES:
        _step_movement(T, M, R, s, w, b, orders, first, last, flags)
    else:
        _step_retreats(T, R, s, w, orders, powers, first, last, flags)


@kernel
def step_flat(T, M, R, s, w, b, orders, lengths, powers, flags):
    """`step` with the orders of the powers one after the other, so many each. Returns how many flags it has set."""
    n = ZERO
    for power in range(len(lengths)):
        for _ in range(lengths[power]):
            powers[n] = power
            n += 1
    units = s[DISLODGED] if s[PHASE] % 2 else s[UNITS]
    step(T, M, R, s, w, b, orders, powers, ZERO, n, flags)
    return units


# Random legal play, seeded per game: splitmix64 (Steele, Lea, Flood 2014) on two int32 of the state row's head.


@kernel
def draw(rng, g, bound):
    """A number from 0 to bound - 1 from game g's own stream. `rng` is uint64 [games]."""
    rng[g] += np.uint64(0x9E3779B97F4A7C15)
    z = rng[g]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    # Multiply-shift: the bias for bounds below 2**16 is under 2**-15 of a draw's share.
    return np.int64(((z >> np.uint64(32)) * np.uint64(bound)) >> np.uint64(32))


@kernel
def choose(T, R, s, w, rng, g, first, last, starts, slots, powers, choices):
    """Random choices from the legal lists of rows first:last: uniform for every unit; Winters as the random policy's.

    Winter: in the welfare variant each unit is disbanded with probability 1/2 (if none is, or BUILD_AND_DISBAND, the
    power builds); surplus is left to removal by force in both variants; builds go to random sites, as many as are
    allowed.

    Args:
        choices: int32, written at first:last; an index into the row's list, or -1 for no order.
    """
    if s[PHASE] != WINTER:
        for r in range(first, last):
            choices[r] = draw(rng, g, starts[r + 1] - starts[r])
        return
    occupy(T, s, w)
    limit(T, R, s, w)
    for power in range(T[N_POWERS]):
        w[W_UNITS, power] = 0  # from here on: units disbanded
        w[W_CENTERS, power] = 0  # and sites open
    for r in range(first, last):
        choices[r] = -1
        if slots[r] >= s[UNITS]:
            w[W_CENTERS, powers[r]] += 1
        elif R[IS_WELFARE] and draw(rng, g, np.int64(2)) == 0:
            choices[r] = 0
            w[W_UNITS, powers[r]] += 1
    for r in range(first, last):
        power = powers[r]
        if slots[r] < s[UNITS] or (w[W_UNITS, power] > 0 and not R[BUILD_AND_DISBAND]):
            continue
        # Selection sampling: every set of sites is equally likely.
        if draw(rng, g, np.int64(w[W_CENTERS, power])) < w[W_BUILDS, power]:
            choices[r] = draw(rng, g, starts[r + 1] - starts[r])
            w[W_BUILDS, power] -= 1
        w[W_CENTERS, power] -= 1


@kernel
def gather(T, R, s, w, first, last, orders, starts, slots, powers, choices, chosen, chosen_powers):
    """The orders that choices mean: int32 `chosen`, given by `chosen_powers`; returns how many.

    A choice that is not in its list is no order. In Winter a power's first order says whether it builds or disbands;
    orders of the other kind (unless BUILD_AND_DISBAND), and more than it may give, are dropped.
    """
    n = 0
    winter = s[PHASE] == WINTER
    if winter:
        occupy(T, s, w)
        limit(T, R, s, w)
        for power in range(T[N_POWERS]):
            w[W_BEFORE, power] = 0
            if R[IS_WELFARE]:
                w[W_DISBANDS, power] = s[UNITS]
    for r in range(first, last):
        power = powers[r]
        if choices[r] < 0 or choices[r] >= starts[r + 1] - starts[r]:
            continue
        if winter:
            builds = slots[r] >= s[UNITS]
            left, kind = (W_BUILDS, 2) if builds else (W_DISBANDS, 1)
            is_other = w[W_BEFORE, power] != 0 and w[W_BEFORE, power] != kind
            if w[left, power] <= 0 or (is_other and not R[BUILD_AND_DISBAND]):
                continue
            w[left, power] -= 1
            w[W_BEFORE, power] = kind
        chosen[n] = orders[starts[r] + choices[r]]
        chosen_powers[n] = power
        n += 1
    return n


@kernel
def play(T, M, R, s, w, b, x, start, rng, orders, starts, slots, powers, flags, phases):
    """Play `phases` phases of random legal play in one game, beginning anew from row `start` whenever it is over.

    `orders` has room for every legal order of a position. Returns how many games ended.
    """
    ended = 0
    choices, chosen, chosen_powers = w[W_CHOICES], w[W_CHOICE], w[W_CHOICE_POWER]
    for _ in range(phases):
        rows, _ = legal(T, M, R, s, w, b, x, orders, starts, slots, powers, ZERO, len(orders))
        choose(T, R, s, w, rng, ZERO, ZERO, rows, starts, slots, powers, choices)
        n = gather(T, R, s, w, ZERO, rows, orders, starts, slots, powers, choices, chosen, chosen_powers)
        step(T, M, R, s, w, b, chosen, chosen_powers, ZERO, n, flags)
        if s[DONE]:
            ended += 1
            s[:] = start
    return ended


# Many games at once. Row S[g] is game g; rows first_row[g]:first_row[g + 1] of the legal lists are its own.


@kernel
def legal_games(T, M, R, S, w, b, x, g, last, orders, starts, games, slots, powers, first_row):
    """The legal lists of games g:last, appended behind those that are there already.

    Returns the first game for which there was no room in `orders`, or `last`.
    """
    while g < last:
        row = first_row[g]
        first = np.int64(starts[row])
        rows, _ = legal(
            T, M, R, S[g], w, b, x, orders, starts[row:], slots[row:], powers[row:], first, len(orders) - first
        )
        if rows < 0:
            return g
        for r in range(row, row + rows):
            games[r] = g
        g += 1
        first_row[g] = row + rows
    return last


@kernel
def sample_games(T, R, S, w, rng, g, last, starts, slots, powers, first_row, choices):
    """Random choices for games g:last, each from its own stream."""
    while g < last:
        rows = np.int64(first_row[g]), np.int64(first_row[g + 1])
        choose(T, R, S[g], w, rng, g, rows[0], rows[1], starts, slots, powers, choices)
        g += 1


@kernel
def step_games(T, M, R, S, w, b, g, last, orders, starts, slots, powers, first_row, choices, flags, final, gains, done):
    """Play a phase of games g:last; a game that ends begins anew from row final[len(S)], its last row is in final[g].

    Args:
        final: int32 [games + 1, state size].
        gains: int32 [games, powers], the welfare points of the phase.
        done: bool [games].

    Returns how many games ended.
    """
    ended, welfare, chosen, chosen_powers = 0, T[WELFARE], w[W_CHOICE], w[W_CHOICE_POWER]
    while g < last:
        s = S[g]
        for power in range(T[N_POWERS]):
            gains[g, power] = -s[welfare + power]
        rows = np.int64(first_row[g]), np.int64(first_row[g + 1])
        n = gather(T, R, s, w, rows[0], rows[1], orders, starts, slots, powers, choices, chosen, chosen_powers)
        step(T, M, R, s, w, b, chosen, chosen_powers, ZERO, n, flags)
        for power in range(T[N_POWERS]):
            gains[g, power] += s[welfare + power]
        done[g] = s[DONE] == 1
        if done[g]:
            ended += 1
            final[g] = s
            s[:] = final[len(S)]
        g += 1
    return ended
