"""Kernels for the toy boards clique:n and shared-clique:n: adjudication of army movements.

They implement only the rules that these boards need (armies, no convoys, a center in every province).
`tests/agents/test_toy_boards.py` compares them with the engine.

A position is two rows int8 [provinces]: `owner` and `unit`, a power or NOBODY. Province c < n is a core, province
n + j is the leaf of power j. `shape` is int64 [4]: cores n, powers m, provinces n + m, deviator. The leaf of power
j < n is at core j, that of power n (on shared boards) at core 0.

Orders are int16 [provinces], one per unit at its province: its own province to hold, another province to move there, or
SUPPORT + 16 * source + target to support the unit in source moving to target (or holding, if source is target).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from agents.toy_boards.shape import NOBODY, SUPPORT
from welfare_env.compiling import compiler_of

kernel = compiler_of(Path(__file__).parent.glob("*.py"), [], error_model="numpy")

MAX_PROVINCES = 16
CORES, POWERS, PROVINCES, DEVIATOR = range(4)

# Rows of the scratch memory `w`, int16 [SCRATCH_ROWS, MAX_PROVINCES].
# For the unit in a province: MOVING (0 no move, 1 move, 2 bounced); HELP, number of its supports; NO_HELP, those of
# them by the power of the unit at its target, which cannot help to dislodge it; GIVES, whether its own support counts.
# Results: AFTER, the power there at the end; LOST_FROM, where the unit that dislodged this one came from, or -1; TRIED,
# whether a unit bounced here.
# Lists: PLACES, provinces with units; MOVERS, provinces with move orders; MOVED, the movers' MOVING before bounced
# units enter vacated provinces.
MOVING, HELP, NO_HELP, GIVES, AFTER, LOST_FROM, TRIED, PLACES, MOVERS, MOVED = range(10)
SCRATCH_ROWS = 10


@kernel
def nobodies():
    """A row of NOBODY: int8 [MAX_PROVINCES]."""
    return np.full(MAX_PROVINCES, NOBODY, np.int8)


@kernel
def core_of(shape, leaf):
    """The core next to a leaf."""
    j = leaf - shape[CORES]
    return j if j < shape[CORES] else 0


@kernel
def adjacent(shape, a, b):
    """Whether an army can step from one province to another."""
    n = shape[CORES]
    if a < n and b < n:
        return a != b
    if a >= n:
        return b < n and core_of(shape, a) == b
    return core_of(shape, b) == a


@kernel
def adjudicate(shape, unit, order, w):
    """Resolve a movement phase into AFTER, LOST_FROM and TRIED of `w`, with the same steps as the engine's kernels."""
    units, movers = _read(shape[PROVINCES], unit, order, w)
    if movers:
        cut = True
        while cut:
            _bounce_all(unit, order, w, units, movers)
            cut = _cut_by_dislodgement(unit, order, w, movers)
    _move(shape[PROVINCES], unit, order, w, units, movers)


@kernel
def _read(provinces, unit, order, w):
    """Classify the orders, and count valid, uncut supports. Returns the numbers of units and of movers."""
    units, movers = 0, 0
    for p in range(provinces):
        w[LOST_FROM, p] = -1
        w[TRIED, p] = 0
        w[MOVING, p] = 0
        if unit[p] < 0:
            continue
        w[PLACES, units] = p
        units += 1
        w[HELP, p] = 0
        w[NO_HELP, p] = 0
        w[GIVES, p] = 0
        if order[p] < SUPPORT and order[p] != p:
            w[MOVING, p] = 1
            w[MOVERS, movers] = p
            movers += 1
    for i in range(units):
        p = w[PLACES, i]
        if order[p] < SUPPORT:
            continue
        source, target = (order[p] - SUPPORT) >> 4, order[p] & 15
        if unit[source] < 0 or (order[source] if w[MOVING, source] else source) != target:
            continue
        is_cut = False
        for j in range(movers):
            q = w[MOVERS, j]
            is_cut |= order[q] == p and q != target and unit[q] != unit[p]
        if not is_cut:
            w[GIVES, p] = 1
            w[HELP, source] += 1
            w[NO_HELP, source] += target != source and unit[target] == unit[p]
    return units, movers


@kernel
def _rivals(unit, order, w, movers, place, but):
    """The highest strength at `place`, of its unit and all units moving there except `but`; 0 if there are none."""
    best = 0
    for i in range(movers):
        q = w[MOVERS, i]
        if q != but and w[MOVING, q] and order[q] == place:
            best = max(best, 1 + w[HELP, q])
    if unit[place] >= 0 and w[MOVING, place] != 1:
        best = max(best, 1 if w[MOVING, place] else 1 + w[HELP, place])
    return best


@kernel
def _bounce_all(unit, order, w, units, movers):
    """Bounce units that cannot move, head-on moves first, until all remaining moves succeed."""
    while _bounce_swaps(unit, order, w, movers) or _bounce_outgunned(unit, order, w, movers):
        pass


@kernel
def _bounce_swaps(unit, order, w, movers):
    """Bounce one or both of two units that would trade places; all supports defend. Returns whether any bounced."""
    bounced = False
    for i in range(movers):
        p = w[MOVERS, i]
        if w[MOVING, p] != 1:
            continue
        q = order[p]
        if q < p or w[MOVING, q] != 1 or order[q] != p:
            continue
        mine, his = w[HELP, p] - w[NO_HELP, p], w[HELP, q] - w[NO_HELP, q]
        equal = unit[p] == unit[q] or w[HELP, p] == w[HELP, q]
        if equal or mine <= w[HELP, q]:
            w[MOVING, p] = 2
        if equal or his <= w[HELP, p]:
            w[MOVING, q] = 2
        bounced = True
    return bounced


@kernel
def _bounce_outgunned(unit, order, w, movers):
    """Bounce units that are not the strongest at their target; if there are none, attacks that cannot dislodge.

    These are attacks on a unit of the same power, or attacks that need supports by the attacked unit's power. Returns
    whether any bounced.
    """
    bounced, again = False, True
    while again:
        again = False
        for i in range(movers):
            p = w[MOVERS, i]
            if w[MOVING, p] == 1 and 1 + w[HELP, p] <= _rivals(unit, order, w, movers, order[p], p):
                w[MOVING, p] = 2
                again = True
        bounced |= again
    if bounced:
        return True
    for i in range(movers):
        p = w[MOVERS, i]
        place = order[p]
        if w[MOVING, p] != 1 or unit[place] < 0 or w[MOVING, place] == 1:
            continue
        second = _rivals(unit, order, w, movers, place, p)
        if unit[place] == unit[p] or (second > 0 and 1 + w[HELP, p] - w[NO_HELP, p] <= second):
            w[MOVING, p] = 2
            bounced = True
    return bounced


@kernel
def _cut_by_dislodgement(unit, order, w, movers):
    """Remove the supports of units that will be dislodged. Returns whether there were any."""
    cut = False
    for i in range(movers):
        p = w[MOVERS, i]
        v = order[p]
        if w[MOVING, p] == 1 and unit[v] >= 0 and w[GIVES, v]:
            source, target = (order[v] - SUPPORT) >> 4, order[v] & 15
            w[GIVES, v] = 0
            w[HELP, source] -= 1
            w[NO_HELP, source] -= target != source and unit[target] == unit[v]
            cut = True
    return cut


@kernel
def _move(provinces, unit, order, w, units, movers):
    """Dislodge units, let bounced units enter vacated provinces, and move."""
    for p in range(provinces):
        w[AFTER, p] = NOBODY
    for i in range(movers):
        p = w[MOVERS, i]
        w[MOVED, i] = w[MOVING, p]
    for i in range(movers):
        p = w[MOVERS, i]
        if w[MOVED, i] != 1:
            continue
        place = order[p]
        if unit[place] >= 0 and w[MOVING, place] != 1:
            w[LOST_FROM, place] = p
            if w[MOVING, place] == 2 and order[place] == p:
                w[MOVING, place] = 0  # dislodged head-on: it has no effect on the province its attacker came from
        _enter(order, w, movers, p)
    for i in range(units):
        p = w[PLACES, i]
        if w[MOVING, p] != 1 and w[LOST_FROM, p] < 0:
            w[AFTER, p] = unit[p]
    for i in range(movers):
        p = w[MOVERS, i]
        if w[MOVING, p] == 1:
            w[AFTER, order[p]] = unit[p]
        elif w[MOVING, p] == 2:
            w[TRIED, order[p]] = 1


@kernel
def _enter(order, w, movers, place):
    """Let the strongest bounced attacker of a vacated place enter; this may vacate another place, and so on."""
    while True:
        best, many, first = 0, 0, -1
        for i in range(movers):
            q = w[MOVERS, i]
            if not w[MOVING, q] or order[q] != place:
                continue
            if 1 + w[HELP, q] > best:
                best, many, first = 1 + w[HELP, q], 1, q
            elif 1 + w[HELP, q] == best:
                many += 1
        if many != 1 or w[MOVING, first] != 2:
            return
        w[MOVING, first] = 1
        if w[LOST_FROM, first] >= 0:
            w[LOST_FROM, first] = -1
            return
        place = first
