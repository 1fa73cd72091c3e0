"""Relabels the players of a toy board, so that positions that differ only in names become equal.

The deviator gets the first seat of its kind (0, or 1 if two others share a core). The other players follow, sorted by a
color from a few rounds of refinement that does not depend on names; ties keep the given sequence. A policy that orders
in the relabeled position is then symmetric between players, up to ties. See `agents.toy_boards.kernels` for positions.
"""

from __future__ import annotations

import numpy as np

from agents.toy_boards.kernels import CORES, DEVIATOR, MAX_PROVINCES, POWERS, PROVINCES, kernel
from agents.toy_boards.shape import NOBODY

ROUNDS = 2
FACTOR = 0x2545F4914F6CDD1D


@kernel
def _mix(a, b):
    x = (a ^ (b + 0x1B873593)) * FACTOR
    return x ^ (x >> 29 & 0x7FFFFFFFF)


@kernel
def _color(who, me, colors):
    """The color of `who` as seen by `me`: 0 for nobody, 1 for itself."""
    if who == NOBODY:
        return 0
    return 1 if who == me else colors[who]


@kernel
def _colors(shape, owner, unit, lost, options, colors):
    """Write a color for each power, independent of names, into `colors` int64 [powers]."""
    n, m, d = shape[CORES], shape[POWERS], shape[DEVIATOR]
    fresh = np.zeros(MAX_PROVINCES, np.int64)
    for x in range(m):
        shares = m > n and (x == 0 or x == n)
        colors[x] = 2 if x == d else (3 if shares else 4)
    for _ in range(ROUNDS):
        for x in range(m):
            core, leaf = (x if x < n else 0), n + x
            found = _mix(colors[x], _color(owner[leaf], x, colors))
            found = _mix(found, _color(unit[leaf], x, colors))
            found = _mix(found, _color(owner[core], x, colors))
            found = _mix(found, _color(unit[core], x, colors))
            found = _mix(found, _color(lost[core], x, colors))
            seen = 0
            for p in range(shape[PROVINCES]):
                host = p if p < n else p - n
                place = colors[0] + colors[n] if m > n and p == 0 else colors[host] + (p >= n)
                if owner[p] == x:
                    seen += _mix(place, 5)
                if unit[p] == x:
                    seen += _mix(place, 6)
                if p < n and lost[p] == x:
                    seen += _mix(place, 7)
                if lost[core] != NOBODY and options[core] >> p & 1:
                    seen += _mix(place, 8)
                if p < n and lost[p] != NOBODY and (options[p] >> (n + x) & 1 or options[p] >> core & 1):
                    seen += _mix(place, 9 + (options[p] >> core & 1))
            fresh[x] = _mix(found, seen)
        for x in range(m):
            colors[x] = fresh[x]


@kernel
def relabelling(shape, owner, unit, lost, options, seat):
    """Write each power's new number into `seat` int64 [powers]. Returns the deviator's new number."""
    n, m, d = shape[CORES], shape[POWERS], shape[DEVIATOR]
    colors = np.zeros(MAX_PROVINCES, np.int64)
    _colors(shape, owner, unit, lost, options, colors)
    for x in range(m):
        seat[x] = -1
    front = 0
    if m > n:
        if d == 0 or d == n:
            seat[n - d] = n
        else:
            front = 1
            swapped = colors[n] < colors[0]
            seat[0], seat[n] = (n, 0) if swapped else (0, n)
    seat[d] = front
    following = front + 1
    while True:
        first = -1
        for x in range(m):
            if seat[x] < 0 and (first < 0 or colors[x] < colors[first]):
                first = x
        if first < 0:
            return front
        seat[first] = following
        following += 1


@kernel
def new_place(shape, seat, p):
    """The new number of a province."""
    n = shape[CORES]
    if p >= n:
        return n + seat[p - n]
    return seat[p] if seat[p] < n else 0


@kernel
def relabel(shape, seat, owner, unit, new_owner, new_unit):
    """Write the relabeled position into `new_owner` and `new_unit`."""
    for p in range(shape[PROVINCES]):
        q = new_place(shape, seat, p)
        new_owner[q] = seat[owner[p]] if owner[p] >= 0 else NOBODY
        new_unit[q] = seat[unit[p]] if unit[p] >= 0 else NOBODY


@kernel
def relabel_lost(shape, seat, lost, options, new_lost, new_options):
    """Write the relabeled dislodged units into `new_lost` and `new_options`."""
    for c in range(shape[CORES]):
        q = new_place(shape, seat, c)
        new_lost[q] = seat[lost[c]] if lost[c] >= 0 else NOBODY
        new_options[q] = 0
        for p in range(shape[PROVINCES]):
            if options[c] >> p & 1:
                new_options[q] |= 1 << new_place(shape, seat, p)
