"""Kernels of threat values: all joint orders of either side of a toy board, and the next node for each pair of them.

Positions, nodes and rows of orders are those of `evaluation.exact.graph_kernels`. Both sides order simultaneously, so
each may also support any possible order of the other side.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import agents.toy_boards as cliques
from agents.toy_boards.kernels import (
    CORES,
    MOST_PROVINCES,
    POWERS,
    PROVINCES,
    SCRATCH_ROWS,
    adjudicate,
    nobodies,
)
from agents.toy_boards.punishing_kernels import ANY, advance, list_orders
from agents.toy_boards.shape import NOBODY
from evaluation.exact.graph_kernels import (
    BUILD_HERE,
    DISBAND_HERE,
    FALL,
    PHASE_OF,
    SPRING,
    WINTER,
    hash_of,
    insert,
    is_mine,
    list_retreats,
    pack,
    position,
    settle_moves,
    settle_owners,
)
from welfare_env.compiling import compiler_of

kernel = compiler_of(
    [
        *Path(cliques.__path__[0]).glob("*.py"),
        *Path(__file__).parents[1].glob("*_kernels.py"),
        Path(__file__),
    ],
    [],
    error_model="numpy",
)
CACHED = 1 << 14  # size of the cache of positions before relabeling, for one call of `fill`
PROBES = 8


@kernel
def list_joint(t, node, side, rows):
    """Write all joint orders of one side at a node into `rows` int16 [room, provinces]; elsewhere NOBODY.

    Returns:
        their number; `room` + 1 if there are more than `room`.
    """
    code, owner, unit, lost, options = position(t, node)
    phase = PHASE_OF[code]
    if phase == SPRING or phase == FALL:
        order = np.full(t.shape[PROVINCES], NOBODY, np.int16)
        return list_orders(t.shape, unit, order, side, ANY, rows)
    if phase == WINTER:
        return _list_winters(t.shape, owner, unit, side, rows)
    return list_retreats(t.shape, lost, options, side, rows)


@kernel
def _list_winters(shape, owner, unit, side, rows):
    """Joint Winter orders of a side: each power disbands or builds, and ends with no more units than centers."""
    n, provinces, powers = shape[CORES], shape[PROVINCES], shape[POWERS]
    counts, choice = np.ones(MOST_PROVINCES, np.int64), np.zeros(MOST_PROVINCES, np.int64)
    room, change = np.zeros(powers, np.int64), np.zeros((2, powers), np.int64)
    for p in range(provinces):
        if owner[p] >= 0:
            room[owner[p]] += 1
        if unit[p] >= 0:
            room[unit[p]] -= 1
            counts[p] = 1 + is_mine(shape, unit[p], side)
        elif p >= n and owner[p] == p - n and is_mine(shape, p - n, side):
            counts[p] = 2
    found = 0
    while True:
        change[:] = 0
        for p in range(provinces):
            if choice[p]:
                change[0 if unit[p] >= 0 else 1, unit[p] if unit[p] >= 0 else p - n] += 1
        fits = True
        for x in range(powers):
            enough = room[x] + change[0, x] - change[1, x] >= 0 and not (change[0, x] and change[1, x])
            fits &= enough or not is_mine(shape, x, side)
        if fits:
            if found == len(rows):
                return found + 1
            for p in range(provinces):
                rows[found, p] = p if counts[p] == 2 and unit[p] >= 0 else NOBODY
                if choice[p]:
                    rows[found, p] = DISBAND_HERE if unit[p] >= 0 else BUILD_HERE
            found += 1
        if not advance(choice, counts, provinces):
            return found


@kernel
def fill(t, node, mine, theirs, to):
    """Write the next node for each pair of joint orders into `to` int32 [deviator's, punishers'].

    Args:
        mine, theirs: int16 [n, provinces] and [m, provinces], joint orders of the deviator and of the punishers.

    Returns:
        False if there is no room for new nodes.
    """
    code, owner, unit, lost, options = position(t, node)
    phase = PHASE_OF[code]
    w, order = np.zeros((SCRATCH_ROWS, MOST_PROVINCES), np.int16), np.empty(MOST_PROVINCES, np.int16)
    seen, known = np.zeros((CACHED, 4), np.int64), np.zeros(CACHED, np.int32)
    key = np.empty(4, np.int64)
    for i in range(len(mine)):
        for j in range(len(theirs)):
            for p in range(t.shape[PROVINCES]):
                order[p] = mine[i, p] if mine[i, p] != NOBODY else theirs[j, p]
            new_owner, new_unit, new_lost, new_options = owner.copy(), unit.copy(), nobodies(), np.zeros_like(options)
            if phase == SPRING or phase == FALL:
                adjudicate(t.shape, unit, order, w)
                after = settle_moves(t.shape, phase, new_owner, new_unit, new_lost, new_options, w)
            elif phase == WINTER:
                after = _settle_winter(t.shape, order, new_unit)
            else:
                after = _settle_retreats(t.shape, phase, lost, order, new_owner, new_unit)
            pack(t.shape, after, new_owner, new_unit, new_lost, new_options, key)
            slot = _slot(seen, key)
            if slot >= 0 and known[slot]:
                to[i, j] = known[slot] - 1
                continue
            found = insert(t, after, new_owner, new_unit, new_lost, new_options)
            if found < 0:
                return False
            to[i, j] = found
            if slot >= 0:
                seen[slot] = key
                known[slot] = found + 1
    return True


@kernel
def _slot(seen, key):
    """The slot of a key, or a free slot for it; -1 if there is none."""
    slot = hash_of(key) & (CACHED - 1)
    for _ in range(PROBES):
        row = seen[slot]
        if row[0] == 0 and row[1] == 0:
            return slot
        if row[0] == key[0] and row[1] == key[1] and row[2] == key[2] and row[3] == key[3]:
            return slot
        slot = (slot + 1) & (CACHED - 1)
    return -1


@kernel
def _settle_winter(shape, order, unit):
    """Apply disbands and builds, in place. Returns the next phase."""
    for p in range(shape[PROVINCES]):
        if order[p] == DISBAND_HERE:
            unit[p] = NOBODY
        elif order[p] == BUILD_HERE:
            unit[p] = p - shape[CORES]
    return np.int64(SPRING)


@kernel
def _settle_retreats(shape, phase, lost, to, owner, unit):
    """Apply retreats, in place: a unit arrives if no other retreats to its target. Returns the next phase."""
    for p in range(shape[PROVINCES]):
        many, who = 0, NOBODY
        for c in range(shape[CORES]):
            if lost[c] >= 0 and to[c] == p:
                many += 1
                who = lost[c]
        if many == 1:
            unit[p] = who
    return settle_owners(shape, phase, owner, unit)
