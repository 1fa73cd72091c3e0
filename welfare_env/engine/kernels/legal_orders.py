"""Legal orders, listed by unit or build site."""

from __future__ import annotations

import numpy as np

from welfare_env.engine import FALL_MOVES, SPRING_MOVES, WINTER
from welfare_env.engine.bits import trailing_zeros
from welfare_env.engine.kernels.state_rows import kernel, limit, occupy
from welfare_env.engine.tables import *


@kernel
def _list_units(T, s, w):
    """Fill W_SORTED (units by province, so that orders come out sorted) and W_LOCAL (the piece in each province)."""
    n, piece_local = 0, T[PIECE_LOCAL]
    for p in range(T[N_PROVINCES]):
        u = w[W_OCCUPANT, p]
        w[W_SORTED, n] = u  # overwritten by the next unit if the province is empty
        n += u >= 0
        w[W_LOCAL, p] = PIECES_HERE
    for u in range(n):
        w[W_LOCAL, w[W_PROVINCE, u]] = T[piece_local + w[W_PIECE, u]]


@kernel
def _reach_by_convoy(T, M, s, w, x):
    """Where armies could be convoyed if all fleets helped: X_REACH; by routes with a given fleet: X_THROUGH; by routes
    without it: X_WITHOUT.

    Each is a mask of coasts per coast of departure; the latter two also per fleet, in row
    ``fleet * (coasts + 1) + coast + 1``. Row ``fleet * (coasts + 1)`` of X_WITHOUT is full, for units that need no
    convoy. Only coasts with an army and seas with a fleet are filled; these are listed in W_ARMIES and W_FLEETS. X_BACK
    .. are the same for reversed routes: the package looks up a supported army's route from its destination, and on
    boards with ports its routes are not symmetric. Returns the numbers of armies and fleets.
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
    """Fill b[location], the bucket of units that could move to a location, sorted by province; W_BUCKET_SIZE.

    A bucket has at most one entry per unit: the mover's number at this location (bits MOVER) and, from bit COAST_SHIFT
    on, one plus the coast of departure if the army needs a convoy, else 0.
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
    """Append the legal orders of all units, sorted per unit, and record where each unit's begin; returns the end.

    The caller ensures room for MAX_LEGAL orders per unit (all orders that a piece can ever have) and MOVES_AT_ONCE
    more. Ending a short loop costs more than its body, so moves, whose numbers are consecutive, are written
    MOVES_AT_ONCE at a time. Support candidates are read READ_AT_ONCE at a time and written; an illegal one is
    overwritten by the next. Entries read beyond a bucket's end are zeros or stale movers of the same location: wrong,
    but valid table indices, and not counted. A bucket's row has READ_AT_ONCE - 1 more entries than there are units.
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
            else:  # a fleet cannot support an army whose convoy needs this fleet
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


@kernel
def legal(T, M, R, s, w, b, x, orders, starts, slots, powers, first, room):
    """The legal orders of a game in CSR form, with a row per slot.

    Args:
        orders: int32, written from index `first`, at most `room` numbers.
        starts, slots, powers: int32 [N_UNITS + N_CENTERS + 1]; each row's start in `orders`, slot (see `engine.Legal`)
            and power.

    Returns:
        The number of rows, and the end in `orders`; or (-1, room needed) if `room` may be too small.
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
    """`legal`, also with the slot and power of every order: int32, as long as `orders`. Returns the order count."""
    rows, end = legal(T, M, R, s, w, b, x, orders, starts, slots, powers, ZERO, len(orders))
    for r in range(rows):
        for i in range(starts[r], starts[r + 1]):
            order_slots[i], order_powers[i] = slots[r], powers[r]
    return end
