"""Supports of a movement phase: which are valid, and which are cut."""

from __future__ import annotations

from welfare_env.engine.kernels.decoding import by_convoy
from welfare_env.engine.kernels.state_rows import CONVOYS, CUT, HOLDS, MOVES, NO_CONVOY, SUPPORTS, VOID, kernel
from welfare_env.engine.tables import *


@kernel
def _complete_coast(T, R, w, u, t):
    """Give the support of a fleet's move the coast of that move, if the support names no coast (DATC 4.B.4).

    The package does so for supports by fleets, too, if they name another coast (`_add_coasts`, `_expand_coast`).
    """
    dest = w[W_TARGET_DEST, u]
    if dest < 0 or w[W_TYPE, t] != 1 or w[W_COMMAND, t] != MOVES:
        return
    by_fleet = w[W_TYPE, u] == 1 and not R[RULEBOOK]
    if (by_fleet or T[T[LOCATION_COAST] + dest] == 0) and T[T[LOCATION_PROVINCE] + dest] == w[W_DEST_PROVINCE, t]:
        w[W_TARGET_DEST, u] = w[W_DEST, t]


@kernel
def count_supports(T, R, w, supporters):
    """Step 2: void supports that do not match the order of the supported unit, count the others."""
    for i in range(supporters):
        u = w[W_SUPPORTERS, i]
        if w[W_COMMAND, u] != SUPPORTS:
            continue
        t = w[W_TARGET, u]
        if t < 0:
            w[W_COMMAND, u] = HOLDS
            w[W_RESULT, u] |= VOID
            continue
        _complete_coast(T, R, w, u, t)
        wanted = w[W_TARGET_DEST, u]
        moves = w[W_COMMAND, t] == MOVES
        if (w[W_DEST, t] if moves else -1) != wanted or (w[W_RESULT, t] & NO_CONVOY and w[W_TYPE, t] == 0):
            w[W_RESULT, u] |= VOID
            continue
        w[W_SUPPORT, t] += 1
        # A support against the supporter's own unit does not help to dislodge it. The package ignores this with VIA.
        if moves and (R[RULEBOOK] or not w[W_VIA, t]):
            victim = w[W_OCCUPANT, w[W_DEST_PROVINCE, t]]
            if victim >= 0 and w[W_POWER, victim] == w[W_POWER, u]:
                w[W_NO_HELP, t] += 1
                w[W_HELPS_NOT, u] = t


@kernel
def drop_no_help(T, w, u):
    """A support has been cut: no longer count it among the supports that cannot help to dislodge."""
    t = w[W_HELPS_NOT, u]
    if t >= 0:
        w[W_NO_HELP, t] -= 1
        w[W_HELPS_NOT, u] = -1


@kernel
def cut_support(T, M, s, w, b, u, direct):
    """Cut the support given by the unit that u attacks, if the rules allow it."""
    if w[W_COMMAND, u] != MOVES or (direct and by_convoy(w, u)):
        return
    v = w[W_OCCUPANT, w[W_DEST_PROVINCE, u]]
    if v < 0 or w[W_COMMAND, v] != SUPPORTS or w[W_RESULT, v] & (CUT | VOID):
        return
    if w[W_POWER, u] == w[W_POWER, v]:
        return
    site = w[W_SITE, v]
    if site == w[W_PROVINCE, u]:
        return
    if by_convoy(w, u):
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
    drop_no_help(T, w, v)


@kernel
def void_own_helpers(s, w, u):
    """Mark supports that would have dislodged a unit of their own power as void."""
    if w[W_NO_HELP, u] == 0:
        return
    for v in range(s[UNITS]):
        if w[W_HELPS_NOT, v] == u:
            w[W_RESULT, v] |= VOID
