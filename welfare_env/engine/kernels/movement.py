"""A movement phase: moves, bounces and dislodgements, in the steps of the package."""

from __future__ import annotations

import numpy as np

from welfare_env.engine.kernels.combat_table import bounce, rank_anew, strengths, unit_of
from welfare_env.engine.kernels.convoys import find_routes, resolve_convoys, void_convoys
from welfare_env.engine.kernels.decoding import by_convoy, drop_stranded_supports, read_orders
from welfare_env.engine.kernels.retreats import list_retreats
from welfare_env.engine.kernels.state_rows import (
    BOUNCE,
    CUT,
    DISRUPTED,
    MOVES,
    SUPPORTS,
    WAS_DISLODGED,
    clear_units,
    influence,
    kernel,
    occupy,
)
from welfare_env.engine.kernels.supports import count_supports, cut_support, drop_no_help, void_own_helpers
from welfare_env.engine.kernels.year import after_movement
from welfare_env.engine.tables import *


@kernel
def _adjudicate(T, M, R, s, w, b, movers, supporters, carriers):
    """Resolve the orders that `read_orders` decoded: W_RESULT, W_LOST_FROM, and the combat table."""
    by_sea = find_routes(T, M, R, s, w, b, movers, carriers)
    void_convoys(w, carriers)
    count_supports(T, R, w, supporters)
    for i in range(movers):
        u = w[W_MOVERS, i]
        if w[W_RESULT, u] == 0:
            cut_support(T, M, s, w, b, u, YES)
    if by_sea:
        resolve_convoys(T, M, R, s, w, b)
    strengths(T, s, w)
    # Each round of the loop cuts a support, each round in `_bounce_all` bounces a unit, so both end.
    active = _list_active(w, np.int64(W_MOVERS), movers)
    cut = True
    while cut:
        active = _bounce_all(T, R, s, w, active)
        cut = _cut_by_dislodgement(T, w, active)
    _dislodge(T, s, w, movers)


@kernel
def _bounce_all(T, R, s, w, active):
    """Repeat steps 6 to 8, always the first that bounces a unit, until none does. Returns the number of active movers.

    Before each step W_ACTIVE lists exactly the units that still move, so a unit bounces once and has one home entry.
    """
    while True:
        if _bounce_swaps(T, R, s, w, active):
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
def _list_active(w, units, number):
    """List in W_ACTIVE the movers whose move has not failed so far. Returns their number."""
    n = 0
    for i in range(number):
        u = w[units, i]
        w[W_ACTIVE, n] = u  # overwritten by the next unit if this one has failed
        n += w[W_RESULT, u] == 0
    return n


@kernel
def _bounce_swaps(T, R, s, w, active):
    """Step 6: bounce units that would swap places.

    All supports defend in such a battle, also those that do not help to dislodge; the package leaves these out.
    """
    bounced = False
    for i in range(active):
        u = w[W_ACTIVE, i]
        if w[W_RESULT, u] or w[W_PATHS, u]:
            continue
        v = w[W_OCCUPANT, w[W_DEST_PROVINCE, u]]
        if v < 0 or w[W_COMMAND, v] != MOVES or by_convoy(w, v) or w[W_RESULT, v]:
            continue
        if w[W_DEST_PROVINCE, v] != w[W_PROVINCE, u]:
            continue
        mine = w[W_SUPPORT, u] - w[W_NO_HELP, u]
        his = w[W_SUPPORT, v] - w[W_NO_HELP, v]
        equal = w[W_POWER, u] == w[W_POWER, v] or w[W_SUPPORT, u] == w[W_SUPPORT, v]
        my_defense = w[W_SUPPORT, u] if R[RULEBOOK] else mine
        his_defense = w[W_SUPPORT, v] if R[RULEBOOK] else his
        if equal or mine <= his_defense:
            bounce(T, w, u)
        if equal or his <= my_defense:
            bounce(T, w, v)
        void_own_helpers(s, w, u)
        void_own_helpers(s, w, v)
        bounced = True
    return bounced


@kernel
def _bounce_outgunned(T, w, active):
    """Step 7: bounce units that are not the single strongest at their destination, until none is left.

    Returns the number of active movers.
    """
    again = True
    while again:
        again = False
        for i in range(active):
            u = w[W_ACTIVE, i]
            place = w[W_DEST_PROVINCE, u]
            if w[W_STRENGTH, u] != w[W_BEST, place] or w[W_MANY, place] != 1:
                bounce(T, w, u)
                again = True
        if again:
            active = _list_active(w, np.int64(W_ACTIVE), active)
    return active


@kernel
def _bounce_self_dislodgers(T, s, w, active):
    """Step 8: bounce attacks that would dislodge a unit of the same power, or succeed only with support by the power of
    the attacked unit.
    """
    bounced = False
    for i in range(active):
        u = w[W_ACTIVE, i]
        place = w[W_DEST_PROVINCE, u]
        guard = w[W_OCCUPANT, place]
        if guard < 0 or (w[W_COMMAND, guard] == MOVES and w[W_RESULT, guard] == 0):
            continue
        best, second = w[W_BEST, place], w[W_SECOND, place]
        if w[W_STRENGTH, u] != best or w[W_MANY, place] != 1:
            continue  # a bounce in this pass made it lose its lead: step 7 handles it
        own = w[W_POWER, guard] == w[W_POWER, u]
        if own or (second > 0 and best - w[W_NO_HELP, u] <= second):
            bounce(T, w, u)
            void_own_helpers(s, w, u)
            bounced = True
    return bounced


@kernel
def _cut_by_dislodgement(T, w, active):
    """Step 9: cut the supports of units that will be dislodged."""
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
            if w[W_ALIVE, e] and unit_of(T, e) == t:
                w[W_STRENGTH, e] -= 1
                rank_anew(w, site)
                if e < T[N_UNITS]:
                    drop_no_help(T, w, v)
                break
            e = w[W_NEXT, e]
    return cut


@kernel
def _unbounce(T, w, place):
    """A province has become free: its single strongest bounced attacker moves in, which may free another, and so on."""
    # Every turn clears the bounce of a unit, so there are at most as many turns as units.
    while w[W_MANY, place] == 1:
        u = unit_of(T, w[W_FIRST, place])
        if not w[W_RESULT, u] & BOUNCE:
            return
        w[W_RESULT, u] &= ~BOUNCE
        if w[W_LOST_FROM, u] >= 0:
            w[W_LOST_FROM, u] = -1
            w[W_RESULT, u] &= ~WAS_DISLODGED
            return
        place = w[W_PROVINCE, u]
        w[W_ALIVE, T[N_UNITS] + u] = 0
        rank_anew(w, place)


@kernel
def _dislodge(T, s, w, movers):
    """Step 10: mark dislodgements (W_LOST_FROM: the attacker's origin), move bounced units into provinces now free."""
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
            if head_on and not by_convoy(w, u) and not by_convoy(w, loser):
                e = w[W_HEAD, site]
                while e >= 0:
                    if w[W_ALIVE, e] and unit_of(T, e) == loser:
                        w[W_ALIVE, e] = 0
                        rank_anew(w, site)
                        break
                    e = w[W_NEXT, e]
            void_own_helpers(s, w, u)
        _unbounce(T, w, site)


@kernel
def move_units(T, R, s, w, movers):
    """Remove dislodged units and carry out successful moves; moved units go last in their power, as in the package."""
    unit_power, unit_piece, piece_at, locations = T[UNIT_POWER], T[UNIT_PIECE], T[PIECE_AT], T[N_LOCATIONS]
    d = ZERO
    for u in range(s[UNITS]):
        if w[W_LOST_FROM, u] >= 0 and list_retreats(T, R, s, w, u, d) > 0:
            s[T[LOST_POWER] + d] = s[unit_power + u]
            s[T[LOST_PIECE] + d] = s[unit_piece + u]
            d += 1
    n, u, i = 0, 0, 0
    active = _list_active(w, np.int64(W_MOVERS), movers)
    while u < s[UNITS]:
        power = s[unit_power + u]
        while u < s[UNITS] and s[unit_power + u] == power:
            w[W_NEW_POWER, n], w[W_NEW_PIECE, n] = power, s[unit_piece + u]  # overwritten if it moved or is dislodged
            goes = (w[W_COMMAND, u] == MOVES) & (w[W_RESULT, u] == 0)
            n += (w[W_LOST_FROM, u] < 0) & (not goes)
            u += 1
        while i < active and w[W_ACTIVE, i] < u:
            v = w[W_ACTIVE, i]
            piece = T[piece_at + w[W_TYPE, v] * locations + w[W_DEST, v]]
            w[W_NEW_POWER, n], w[W_NEW_PIECE, n] = power, piece
            influence(T, s, power, piece)
            n += 1
            i += 1
    for v in range(n):
        s[unit_power + v], s[unit_piece + v] = w[W_NEW_POWER, v], w[W_NEW_PIECE, v]
    before, s[UNITS] = s[UNITS], n
    clear_units(T, s, np.int64(before))
    s[DISLODGED] = d


@kernel
def step_movement(T, M, R, s, w, b, orders, first, last, flags):
    occupy(T, s, w)
    movers, supporters, carriers = read_orders(T, s, w, orders, first, last)
    if T[X_BACK] != T[X_REACH]:  # a board with ports
        drop_stranded_supports(T, M, s, w)
    _adjudicate(T, M, R, s, w, b, movers, supporters, carriers)
    for u in range(s[UNITS]):
        flags[u] = w[W_RESULT, u]
    move_units(T, R, s, w, movers)
    after_movement(T, R, s, w)
