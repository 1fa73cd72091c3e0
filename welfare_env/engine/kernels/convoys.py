"""Convoys of a movement phase: their routes and disruptions."""

from __future__ import annotations

import numpy as np

from welfare_env.engine.kernels.combat_table import strengths, unit_of
from welfare_env.engine.kernels.state_rows import (
    BY_SEA,
    CONVOYS,
    CUT,
    DISRUPTED,
    HAS_CUT,
    HOLDS,
    MAYBE,
    MOVES,
    NO_CONVOY,
    SUPPORTS,
    VOID,
    kernel,
)
from welfare_env.engine.kernels.supports import cut_support
from welfare_env.engine.tables import *


@kernel
def find_routes(T, M, R, s, w, b, movers, carriers):
    """Step 1A: find the moves that have a convoy route, and mark convoy orders that are on no route.

    Returns whether any move has a route.
    """
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
            used = _list_paths(T, M, R, s, w, b, u, start * coasts + end, helping, own, present, adjacent)
        if used and T[T[PROVINCE_SEA] + w[W_DEST_PROVINCE, u]] >= 0:  # a port: the route's end counts as part of it
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
            # An army that was to go by convoy does not walk instead (DATC 6.G.8); in the package it does.
            if not adjacent or (R[RULEBOOK] and w[W_VIA, u]):
                w[W_RESULT, u] |= NO_CONVOY
            w[W_VIA, u] = 0
    return found


@kernel
def _carries(w, v, u):
    """Whether v has a convoy order that matches u's move."""
    return w[W_COMMAND, v] == CONVOYS and w[W_TARGET, v] == u and w[W_TARGET_DEST, v] == w[W_DEST, u]


@kernel
def _list_paths(T, M, R, s, w, b, u, pair, helping, own, present, adjacent):
    """List the routes that consist of helping fleets, in b[N_LOCATIONS + u]; W_ROUTES is their number, and W_PATHS that
    of those that are not disrupted, which come first.

    MAX_PATHS is the number of all routes of the pair. Without VIA, an army that could walk goes by sea only if a fleet
    of its own power helps and is on a route of fleets that are present; this says as much as VIA (edition of 2000: "the
    convoy is used, the land route is disregarded"). In the package such an army walks if its convoy is disrupted.
    Returns the mask of the fleets on any route.
    """
    first, last = T[T[PAIR_START] + pair], T[T[PAIR_START] + pair + 1]
    if adjacent and not w[W_VIA, u]:
        meant = False
        for i in range(first, last):
            fleets = M[T[PAIR_MASK] + i]
            meant |= fleets & ~present == 0 and fleets & own != 0
        if not meant:
            return np.int64(0)
        w[W_VIA, u] = R[RULEBOOK]
    used, n = np.int64(0), 0
    paths = T[N_LOCATIONS] + u
    for i in range(first, last):
        fleets = M[T[PAIR_MASK] + i]
        if fleets & ~helping == 0:
            used |= fleets
            b[paths, n] = i
            n += 1
    w[W_PATHS, u] = n
    w[W_ROUTES, u] = n
    return used


@kernel
def void_convoys(w, carriers):
    """Step 1B: void convoy orders whose army does not use them."""
    for i in range(carriers):
        u = w[W_CARRIERS, i]
        t = w[W_TARGET, u]
        if t < 0 or w[W_TYPE, t] == 1:
            w[W_COMMAND, u] = HOLDS
        elif not w[W_CONVOYS, u]:
            w[W_RESULT, u] |= VOID


@kernel
def _paradox_at(T, R, s, w, army, area, of_move):
    """Follow the chain of supports and convoys that begins at an army's destination: does it reach a support of the
    fleet in `area` (or, with `of_move`, of a move to `area`)?

    At most as many steps as units, so that a cyclic chain ends. A support that others have cut, or that the army cannot
    cut because it is by its own power, ends it; not in the package.
    """
    u = w[W_OCCUPANT, w[W_DEST_PROVINCE, army]]
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
            if R[RULEBOOK] and not _can_cut(w, army, u):
                return False
            if of_move:
                if dest >= 0 and dest == T[T[PROVINCE_LOCATION] + area]:
                    return True
            elif dest < 0 and w[W_TARGET, u] == w[W_OCCUPANT, area]:
                return True
        if command != SUPPORTS and (command != CONVOYS or (R[RULEBOOK] and not w[W_CONVOYS, u])):
            return False
        t = w[W_TARGET, u]
        army = t if command == CONVOYS else army
        location = dest if dest >= 0 else T[T[PIECE_LOCATION] + s[T[UNIT_PIECE] + t]]
        u = w[W_OCCUPANT, T[T[LOCATION_PROVINCE] + location]]
    return False


@kernel
def _can_cut(w, army, u):
    """Whether u gives a support that an attack by the army could cut."""
    counts = w[W_COMMAND, u] == SUPPORTS and not w[W_RESULT, u] & (CUT | VOID)
    return counts and w[W_POWER, army] != w[W_POWER, u]


@kernel
def _falls(T, R, s, w, army, v):
    """Whether the fleet v would be dislodged, be it with or without the support that its army's attack could cut.

    If either, the convoy fails: if both, it is disrupted; if one, this is a paradox (Szykman's rule, DATC 4.A.2).
    """
    area = w[W_PROVINCE, v]
    guard = w[W_OCCUPANT, w[W_DEST_PROVINCE, army]]
    helped = -1
    if guard >= 0 and _can_cut(w, army, guard) and w[W_SITE, guard] == area:
        helped = w[W_TARGET, guard]
    weakens = helped == v or _paradox_at(T, R, s, w, army, area, NO)
    for cut in range(2):
        e = w[W_HEAD, area]
        while e >= 0:
            x = unit_of(T, e)
            if w[W_ALIVE, e] and w[W_POWER, x] != w[W_POWER, v]:
                lost = cut and helped == x and w[W_HELPS_NOT, guard] != x
                mine = w[W_STRENGTH, e] - w[W_NO_HELP, x] - lost
                wins = True
                other = w[W_HEAD, area]
                while other >= 0:
                    y = unit_of(T, other)
                    if w[W_ALIVE, other] and y != x:
                        weaker = cut and (weakens if y == v else helped == y)
                        wins &= mine > w[W_STRENGTH, other] - weaker
                    other = w[W_NEXT, other]
                if wins:
                    return True
            e = w[W_NEXT, e]
    return False


@kernel
def _falls_in_package(T, R, s, w, army, v):
    """The package's question in place of `_falls`. It also counts supports that do not help to dislodge."""
    area = w[W_PROVINCE, v]
    best = w[W_BEST, area]
    attacked = False
    e = w[W_HEAD, area]
    while e >= 0:
        attacked |= w[W_ALIVE, e] and w[W_STRENGTH, e] == best and w[W_POWER, unit_of(T, e)] != w[W_POWER, v]
        e = w[W_NEXT, e]
    if not attacked or _paradox_at(T, R, s, w, army, area, NO):
        return attacked
    guard = w[W_OCCUPANT, w[W_DEST_PROVINCE, army]]
    return w[W_STRENGTH, v] != best and (w[W_MANY, area] == 1 or _goes_for(w, guard, area))


@kernel
def _remove_routes(T, M, R, w, b, u, f):
    """Put the routes over sea f behind those that are left. The package skips the route after a removed one."""
    paths, n = T[N_LOCATIONS] + u, w[W_PATHS, u]
    ends_here = T[T[PROVINCE_SEA] + w[W_DEST_PROVINCE, u]] == f  # a port; the package counts it as part of the route
    i = 0
    while i < n:
        if ends_here or M[T[PAIR_MASK] + b[paths, i]] >> f & 1:
            removed = b[paths, i]
            for j in range(i, n - 1):
                b[paths, j] = b[paths, j + 1]
            n -= 1
            b[paths, n] = removed
            i -= R[RULEBOOK]
        i += 1
    w[W_PATHS, u] = n


@kernel
def _check_disruptions(T, M, R, s, w, b, final):
    """Mark convoys that fail because one of their fleets would be dislodged and no paradox keeps it in place.

    Every check looks at all routes of the armies still on their way: a fleet that seemed lost may be safe once a
    support has been cut. In the package a route once removed stays so, and the army arrives as if by land.
    """
    for u in range(s[UNITS]):
        if not w[W_CUTTER, u] & BY_SEA:
            continue
        if R[RULEBOOK] and not w[W_RESULT, u] & NO_CONVOY:
            w[W_PATHS, u] = w[W_ROUTES, u]
        adjacent = T[T[CAN_MOVE] + s[T[UNIT_PIECE] + u] * T[N_LOCATIONS] + w[W_DEST, u]] == 1
        for v in range(s[UNITS]):
            if not (w[W_COMMAND, v] == CONVOYS and w[W_CONVOYS, v] and w[W_TARGET, v] == u):
                continue
            if not (_falls(T, R, s, w, u, v) if R[RULEBOOK] else _falls_in_package(T, R, s, w, u, v)):
                continue
            area = w[W_PROVINCE, v]
            _remove_routes(T, M, R, w, b, u, T[T[PROVINCE_SEA] + area])
            cuts_attack = adjacent and _paradox_at(T, R, s, w, u, area, YES)
            if w[W_PATHS, u] == 0 and (cuts_attack or not adjacent or w[W_VIA, u]):
                w[W_RESULT, u] = NO_CONVOY if final else MAYBE
            if final:
                w[W_RESULT, v] = DISRUPTED


@kernel
def _goes_for(w, u, area):
    """Whether a unit moves to a province or gives support there (the last word of its order is the province)."""
    if u < 0:
        return False
    if w[W_COMMAND, u] == MOVES:
        return not w[W_VIA, u] and w[W_DEST_PROVINCE, u] == area
    return w[W_COMMAND, u] == SUPPORTS and w[W_SITE, u] == area


@kernel
def resolve_convoys(T, M, R, s, w, b):
    """Steps 4 and 5: disrupt convoys and let convoyed attacks cut supports, until nothing changes."""
    # Every round but the last sets HAS_CUT for at least one more unit, so there are at most as many rounds as units.
    again = True
    while again:
        again = False
        strengths(T, s, w)
        _check_disruptions(T, M, R, s, w, b, NO)
        for u in range(s[UNITS]):
            if w[W_CUTTER, u] & BY_SEA and w[W_RESULT, u] == 0 and not w[W_CUTTER, u] & HAS_CUT:
                cut_support(T, M, s, w, b, u, NO)
                w[W_CUTTER, u] |= HAS_CUT
                again = True
        if again:
            continue
        _check_disruptions(T, M, R, s, w, b, YES)
        for u in range(s[UNITS]):
            if not w[W_CUTTER, u] & BY_SEA:
                continue
            if w[W_RESULT, u] & NO_CONVOY:
                _strand(s, w, u)
            elif w[W_RESULT, u] & MAYBE and not w[W_CUTTER, u] & HAS_CUT:
                w[W_RESULT, u] = 0
                again = True
                cut_support(T, M, s, w, b, u, NO)
                w[W_CUTTER, u] |= HAS_CUT


@kernel
def _strand(s, w, u):
    """An army has lost its convoy: its supports and convoy orders get the result "no convoy"."""
    for v in range(s[UNITS]):
        helps = w[W_COMMAND, v] == SUPPORTS or w[W_COMMAND, v] == CONVOYS
        if helps and w[W_TARGET, v] == u and w[W_RESULT, v] == 0:
            w[W_RESULT, v] = NO_CONVOY
        if w[W_HELPS_NOT, v] == u:
            w[W_HELPS_NOT, v] = -1
    w[W_SUPPORT, u] = 0
    w[W_NO_HELP, u] = 0
