"""Kernels of the search for the best deviation from a punishing profile on a toy board.

A *node* is a position and a phase, relabelled by `agents.cliques.symmetry`. It has one or more *plans* of the
punishers, and a plan has as *edges* what the deviator can bring about when they play it. Positions of the path have
nodes of their own, where the players follow the path: whether a position is on it follows from the years left
(`variant`). Values are asked for by threshold: `at_most` tells whether the deviator can be kept to so many points, and
remembers what it found as bounds.

Numba's cache looks at one file only: after a change here or in `agents/cliques` delete the `__pycache__` folders.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from agents.cliques.kernels import (
    AFTER,
    CORES,
    DEVIATOR,
    LOST_FROM,
    MOST_PROVINCES,
    POWERS,
    PROVINCES,
    SCRATCH_ROWS,
    adjacent,
    adjudicate,
    kernel,
)
from agents.cliques.punishing_kernels import (
    advance,
    can_retreat,
    list_moves,
    list_replies,
    list_supports,
    punishing_moves,
    punishing_retreats,
    punishing_winter,
    ranked_moves,
)
from agents.cliques.shape import NOBODY, SUPPORT
from agents.cliques.symmetry import relabel, relabel_lost, relabelling

MOST_YEARS = 8
YES, NO, UNKNOWN = 1, 0, -1
FRESH, NONE, BEGIN, FULL_UP, DEEPEST = -2, -1, -3, -4, 48
MOST_KILLERS = 48
MOST_ORDERS = 128  # of one unit
DISBAND_HERE, BUILD_HERE = 100, 101  # in rows of orders, in Winter

# Phases, and the nodes of the path: armed (until the Winter in which all disband) and then disarmed.
SPRING, SPRING_RETREATS, FALL, FALL_RETREATS, WINTER, PATH_SPRING, PATH_FALL, PATH_KEEP, PATH_DISBAND = range(9)
PHASE_OF = np.array([SPRING, SPRING_RETREATS, FALL, FALL_RETREATS, WINTER, SPRING, FALL, WINTER, WINTER])

# Numbers in `Table.numbers`.
NODES, EDGES, EXPANDED, EXCLUDED, LIMIT, FULL, STAMP, PLANS, BREADTH = range(9)
# Nodes with fixed numbers: first positions of the path as others see them, then where the path is followed.
ARMED, DISARMED, ENTERED, OPENING, SPECIALS = 0, 3, 6, 7, 16
TO_PATH = 8  # from a position of the path to the node of the path; ARMED in Winter has two


class Table(NamedTuple):
    """The memory of a search.

    Attributes:
        shape: int64 [4], see `agents.cliques.kernels`.
        numbers: int64 [8], counts and limits.
        keys: int64 [nodes, 4], the positions.
        buckets: int32 [a power of two], node + 1 by hash.
        centres, units: int8 [nodes], the deviator's.
        plan: int32 [nodes], the first plan, -1 before there is one. widened: bool [nodes], whether all plans are there.
        orders: int16 [plans, provinces], what the punishers order. following: int32 [plans], the next plan, or -1.
        first, many: int64, int32 [plans], the edges of a plan; many is -1 before it is expanded.
        best: int32 [plans], the edge that refuted last.
        to: int32 [edges], nodes.
        proof: int32 [nodes, years left, years left after the path disarms], the plan that keeps to `high`, or -1.
        low, high: int8 [nodes, years left, years left after the path disarms], bounds of values; high -1 is unknown.
        bound: int8 [years left, phases, centres, units], what is never exceeded.
        mark: int32 [nodes], the expansion that saw a node last.
    """

    shape: np.ndarray
    numbers: np.ndarray
    keys: np.ndarray
    buckets: np.ndarray
    centres: np.ndarray
    units: np.ndarray
    plan: np.ndarray
    widened: np.ndarray
    orders: np.ndarray
    following: np.ndarray
    first: np.ndarray
    many: np.ndarray
    best: np.ndarray
    to: np.ndarray
    proof: np.ndarray
    low: np.ndarray
    high: np.ndarray
    bound: np.ndarray
    mark: np.ndarray


class Memory(NamedTuple):
    """Scratch memory of `at_most`, by depth, for positions where all movements of the punishers are tried.

    Attributes:
        plans: int16 [DEEPEST, room, provinces]. listed, cursor: int64 [DEEPEST], how many there are (-1: not listed
            yet), and how many were tried.
        killer: int16 [DEEPEST, MOST_KILLERS, provinces], replies that refuted. killers: int64 [DEEPEST], how many.
    """

    plans: np.ndarray
    listed: np.ndarray
    cursor: np.ndarray
    killer: np.ndarray
    killers: np.ndarray


@kernel
def pack(shape, phase, owner, unit, lost, options, key):
    """A position as four numbers."""
    key[0] = phase
    key[1] = key[2] = key[3] = 0
    for p in range(shape[PROVINCES]):
        key[0] |= np.int64(owner[p] + 1) << (4 + 4 * p)
        key[1] |= np.int64(unit[p] + 1) << (4 * p)
    for c in range(shape[CORES]):
        key[2] |= np.int64(lost[c] + 1) << (4 * c)
        if c < 3:
            key[2] |= options[c] << (24 + 13 * c)
        else:
            key[3] |= options[c] << (13 * (c - 3))


@kernel
def unpack(shape, key, owner, unit, lost, options):
    """The position of a key. Returns its phase."""
    for p in range(shape[PROVINCES]):
        owner[p] = (key[0] >> (4 + 4 * p) & 15) - 1
        unit[p] = (key[1] >> (4 * p) & 15) - 1
    for c in range(shape[CORES]):
        lost[c] = (key[2] >> (4 * c) & 15) - 1
        options[c] = (key[2] >> (24 + 13 * c) if c < 3 else key[3] >> (13 * (c - 3))) & 0x1FFF
    return key[0] & 15


@kernel
def _hash(key):
    x = np.int64(0)
    for i in range(4):
        x = (x ^ key[i]) * 0x2545F4914F6CDD1D
        x ^= x >> 31 & 0x1FFFFFFFF
    return x


@kernel
def node_of(t, key):
    """The node of a key, a new one if need be; -1 if there is no room."""
    slot = _hash(key) & (len(t.buckets) - 1)
    while t.buckets[slot]:
        node = t.buckets[slot] - 1
        if (
            t.keys[node, 0] == key[0]
            and t.keys[node, 1] == key[1]
            and t.keys[node, 2] == key[2]
            and t.keys[node, 3] == key[3]
        ):
            return node
        slot = (slot + 1) & (len(t.buckets) - 1)
    node = t.numbers[NODES]
    if node == len(t.keys):
        return -1
    t.numbers[NODES] += 1
    t.buckets[slot] = node + 1
    t.keys[node] = key
    t.plan[node] = -1
    t.widened[node] = False
    t.mark[node] = -1
    t.low[node] = 0
    t.high[node] = -1
    t.proof[node] = -1
    t.centres[node], t.units[node] = _holdings(t.shape, key)
    return node


@kernel
def _holdings(shape, key):
    """Centres and units of the deviator, dislodged ones included."""
    mine, centres, units = shape[DEVIATOR] + 1, 0, 0
    for p in range(shape[PROVINCES]):
        centres += key[0] >> (4 + 4 * p) & 15 == mine
        units += key[1] >> (4 * p) & 15 == mine
    for c in range(shape[CORES]):
        units += key[2] >> (4 * c) & 15 == mine
    return centres, units


@kernel
def rehash(t):
    """Fill the buckets anew."""
    t.buckets[:] = 0
    for node in range(t.numbers[NODES]):
        slot = _hash(t.keys[node]) & (len(t.buckets) - 1)
        while t.buckets[slot]:
            slot = (slot + 1) & (len(t.buckets) - 1)
        t.buckets[slot] = node + 1


@kernel
def insert(t, phase, owner, unit, lost, options):
    """The node of a position, relabelled; -1 if there is no room."""
    seat = np.zeros(MOST_PROVINCES, np.int64)
    relabelling(t.shape, owner, unit, lost, options, seat)
    new_owner, new_unit, new_lost = np.empty((3, MOST_PROVINCES), np.int8)
    new_options, key = np.empty(MOST_PROVINCES, np.int64), np.empty(4, np.int64)
    relabel(t.shape, seat, owner, unit, new_owner, new_unit)
    relabel_lost(t.shape, seat, lost, options, new_lost, new_options)
    pack(t.shape, phase, new_owner, new_unit, new_lost, new_options, key)
    return node_of(t, key)


@kernel
def variant(node, years, disarmed):
    """The node where play goes on: that of the path, if the position is on it.

    Args:
        node: of a position.
        years: left, this one included.
        disarmed: years of the path after the Winter in which all disband.
    """
    if node >= OPENING:
        return node
    if node == ENTERED:
        return node + TO_PATH
    if node < DISARMED:
        if years <= disarmed:
            return node
        return SPECIALS - 1 if node == DISARMED - 1 and years == disarmed + 1 else node + TO_PATH
    return node + TO_PATH if years <= disarmed else node


@kernel
def _settle(shape, phase, owner, unit, lost, options, w):
    """From the results of a movement phase to the next position, in place. Returns its phase."""
    retreats = False
    for c in range(shape[CORES]):
        was = unit[c]
        lost[c], options[c] = NOBODY, 0
        if w[LOST_FROM, c] >= 0:
            for p in range(shape[PROVINCES]):
                if can_retreat(shape, w, c, p):
                    options[c] |= 1 << p
            if options[c]:
                lost[c] = was
                retreats = True
    for p in range(shape[PROVINCES]):
        unit[p] = w[AFTER, p]
    if retreats:
        return phase + 1
    return _after_retreats(shape, phase, owner, unit)


@kernel
def _after_retreats(shape, phase, owner, unit):
    """In Fall the centres go to those who stand on them. Returns the next phase."""
    if phase < FALL:
        return FALL
    for p in range(shape[PROVINCES]):
        if unit[p] >= 0:
            owner[p] = unit[p]
    return WINTER


@kernel
def _add(t, phase, owner, unit, lost, options):
    """An edge to a position. False if there is no room."""
    node = insert(t, phase, owner, unit, lost, options)
    if node < 0 or t.numbers[EDGES] == len(t.to):
        return False
    if t.mark[node] != t.numbers[STAMP]:
        t.mark[node] = t.numbers[STAMP]
        t.to[t.numbers[EDGES]] = node
        t.numbers[EDGES] += 1
    return True


@kernel
def path_moves(t, owner, unit, order):
    """On the path: enter the own core in the first Spring, but for the one without a share; else hold."""
    n = t.shape[CORES]
    is_opening = owner[0] == NOBODY and unit[0] == NOBODY
    for p in range(t.shape[PROVINCES]):
        order[p] = p if unit[p] >= 0 else NOBODY
        if is_opening and p >= n and unit[p] >= 0 and p - n != t.numbers[EXCLUDED]:
            order[p] = p - n if p - n < n else 0


@kernel
def _expand_moves(t, order, code, owner, unit, lost, options, replies):
    shape = t.shape
    number = list_replies(shape, unit, order, True, replies)
    if number > len(replies):
        return False
    w = np.zeros((SCRATCH_ROWS, MOST_PROVINCES), np.int16)
    new_owner, new_unit = np.empty((2, MOST_PROVINCES), np.int8)
    for r in range(number):
        adjudicate(shape, unit, replies[r], w)
        new_owner[:], new_unit[:] = owner, unit
        phase = _settle(shape, PHASE_OF[code], new_owner, new_unit, lost, options, w)
        if not _add(t, phase, new_owner, new_unit, lost, options):
            return False
    return True


@kernel
def _expand_retreats(t, order, phase, owner, unit, lost, options):
    shape = t.shape
    d, n, provinces = shape[DEVIATOR], shape[CORES], shape[PROVINCES]
    to, none = order.copy(), np.zeros(MOST_PROVINCES, np.int64)
    gone = np.full(MOST_PROVINCES, NOBODY, np.int8)
    new_owner, new_unit = np.empty((2, MOST_PROVINCES), np.int8)
    for c in range(n):
        if lost[c] == d:
            to[c] = NOBODY
    while True:
        new_owner[:], new_unit[:] = owner, unit
        for p in range(provinces):
            many, who = 0, NOBODY
            for c in range(n):
                if lost[c] >= 0 and to[c] == p:
                    many += 1
                    who = lost[c]
            if many == 1:
                new_unit[p] = who
        if not _add(t, _after_retreats(shape, phase, new_owner, new_unit), new_owner, new_unit, gone, none):
            return False
        if not _next_retreat(shape, lost, options, to):
            return True


@kernel
def _next_retreat(shape, lost, options, to):
    """The deviator's next choice of retreats; False after the last."""
    for c in range(shape[CORES]):
        if lost[c] != shape[DEVIATOR]:
            continue
        for p in range(to[c] + 1, shape[PROVINCES]):
            if options[c] >> p & 1:
                to[c] = p
                return True
        to[c] = NOBODY
    return False


@kernel
def _expand_winter(t, node, order, owner, unit, lost, options):
    shape = t.shape
    d, n, provinces = shape[DEVIATOR], shape[CORES], shape[PROVINCES]
    new_unit = unit.copy()
    mine = np.int64(0)
    for p in range(provinces):
        if order[p] == DISBAND_HERE:
            new_unit[p] = NOBODY
        elif order[p] == BUILD_HERE:
            new_unit[p] = p - n
        if unit[p] == d:
            mine |= np.int64(1) << p
    kept = mine
    home = n + d
    while True:
        count = 0
        for p in range(provinces):
            if mine >> p & 1:
                new_unit[p] = d if kept >> p & 1 else NOBODY
                count += kept >> p & 1
        if count <= t.centres[node] and not _add(t, SPRING, owner, new_unit, lost, options):
            return False
        if kept == mine and count < t.centres[node] and owner[home] == d and unit[home] == NOBODY:
            new_unit[home] = d
            if not _add(t, SPRING, owner, new_unit, lost, options):
                return False
            new_unit[home] = NOBODY
        if kept == 0:
            return True
        kept = (kept - 1) & mine


@kernel
def expand(t, node, plan, replies):
    """Find the edges of a plan. False if there is no room; nothing is changed then but some nodes that are added."""
    owner, unit, lost = np.full((3, MOST_PROVINCES), NOBODY, np.int8)
    options = np.zeros(MOST_PROVINCES, np.int64)
    code = unpack(t.shape, t.keys[node], owner, unit, lost, options)
    phase = PHASE_OF[code]
    first = t.numbers[EDGES]
    t.numbers[STAMP] += 1
    order = t.orders[plan]
    if phase == WINTER:
        done = _expand_winter(t, node, order, owner, unit, lost, options)
    elif phase == SPRING or phase == FALL:
        done = _expand_moves(t, order, code, owner, unit, lost, options, replies)
    else:
        done = _expand_retreats(t, order, phase, owner, unit, lost, options)
    if not done:
        t.numbers[EDGES] = first
        return False
    t.first[plan] = first
    t.many[plan] = t.numbers[EDGES] - first
    t.numbers[EXPANDED] += 1
    _sort(t, first, t.numbers[EDGES])
    return True


@kernel
def _new_plan(t, node, after, order):
    """Give a node a plan, behind another one of it. Returns the plan; -1 if there is no room."""
    plan = t.numbers[PLANS]
    if plan == len(t.orders):
        return -1
    t.numbers[PLANS] += 1
    for p in range(t.shape[PROVINCES]):
        t.orders[plan, p] = order[p]
    t.many[plan] = t.best[plan] = -1
    if after < 0:
        t.following[plan] = t.plan[node]
        t.plan[node] = plan
    else:
        t.following[plan] = t.following[after]
        t.following[after] = plan
    return plan


@kernel
def add_first_plan(t, node):
    """Give a node what the path says, or else the stated punishing policy. False if there is no room."""
    owner, unit, lost = np.full((3, MOST_PROVINCES), NOBODY, np.int8)
    options = np.zeros(MOST_PROVINCES, np.int64)
    code = unpack(t.shape, t.keys[node], owner, unit, lost, options)
    order = np.full(t.shape[PROVINCES], NOBODY, np.int16)
    phase = PHASE_OF[code]
    if code == PATH_SPRING or code == PATH_FALL:
        path_moves(t, owner, unit, order)
    elif phase == SPRING or phase == FALL:
        punishing_moves(t.shape, owner, unit, code == FALL, order)
    elif phase == WINTER:
        _winter_orders(t.shape, code, owner, unit, order)
    else:
        punishing_retreats(t.shape, lost, options, order)
    t.widened[node] = code >= PATH_SPRING or t.numbers[BREADTH] == 1
    return _new_plan(t, node, -1, order) >= 0


@kernel
def _winter_orders(shape, code, owner, unit, order):
    gone, built = np.int64(0), np.int64(0)
    if code == WINTER:
        gone, built = punishing_winter(shape, owner, unit)
    for p in range(shape[PROVINCES]):
        order[p] = p if unit[p] >= 0 else NOBODY
        if gone >> p & 1 or (code == PATH_DISBAND and unit[p] >= 0 and unit[p] != shape[DEVIATOR]):
            order[p] = DISBAND_HERE
        elif built >> p & 1:
            order[p] = BUILD_HERE


@kernel
def widen(t, node, rows, scores):
    """Give a node its other plans. False if there is no room; then none is added.

    Args:
        rows, scores: scratch memory for as many plans as are wanted, see `ranked_moves`.
    """
    owner, unit, lost = np.full((3, MOST_PROVINCES), NOBODY, np.int8)
    options = np.zeros(MOST_PROVINCES, np.int64)
    code = unpack(t.shape, t.keys[node], owner, unit, lost, options)
    if t.numbers[BREADTH] == 0:
        found = list_all(t, code, owner, unit, lost, options, rows)
    elif t.numbers[BREADTH] < 0 and (code == SPRING_RETREATS or code == FALL_RETREATS):
        found = _list_all_retreats(t.shape, lost, options, rows)
    elif t.numbers[BREADTH] > 1 and (code == SPRING or code == FALL):
        found = ranked_moves(t.shape, owner, unit, code == FALL, rows, scores)
    else:
        found = 0
    if found > len(rows) or t.numbers[PLANS] + found > len(t.orders):
        return False
    after = t.plan[node]
    known = after
    for r in range(found):
        is_new = False
        for p in range(t.shape[PROVINCES]):
            is_new |= rows[r, p] != t.orders[known, p]
        if is_new:
            after = _new_plan(t, node, after, rows[r])
    t.widened[node] = True
    return True


@kernel
def _sort(t, first, last):
    """The most promising edges first."""
    for i in range(first + 1, last):
        node = t.to[i]
        worth = _promise(t, node)
        j = i
        while j > first and _promise(t, t.to[j - 1]) < worth:
            t.to[j] = t.to[j - 1]
            j -= 1
        t.to[j] = node


@kernel
def _promise(t, node):
    return 4 * t.centres[node] + t.units[node]


@kernel
def at_most(t, node, years, disarmed, bound, replies, rows, scores, memory):
    """Whether the deviator can be kept to `bound` from here to the end: YES, NO, or UNKNOWN if there is no room.

    Without recursion, whose compiled form numba cannot keep: `stack` has node, years, bound, the plan and the edge in
    question.

    Args:
        node: of a position. years, disarmed: as for `variant`.
        replies, rows, scores, memory: scratch memory.
    """
    stack = np.zeros((DEEPEST, 5), np.int64)
    depth = 0
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = variant(node, years, disarmed), years, bound, FRESH
    while True:
        node, years, bound, plan, i = stack[depth]
        found = UNKNOWN
        if plan == FRESH:
            memory.listed[depth] = -1
            memory.killers[depth] = 0
            found = _known(t, node, years, disarmed, bound)
            if found == UNKNOWN:
                if t.plan[node] < 0 and not add_first_plan(t, node):
                    return UNKNOWN
                plan = t.plan[node]
                i = BEGIN
        elif plan != NONE:
            i += 1
        while found == UNKNOWN and (plan == NONE or i == BEGIN):
            if plan == NONE:
                t.low[node, years, min(years, disarmed)] = bound + 1
                found = NO
                break
            if t.many[plan] < 0 and (t.numbers[EXPANDED] >= t.numbers[LIMIT] or not expand(t, node, plan, replies)):
                return UNKNOWN
            edge = _too_much(t, node, plan, years, disarmed, bound)
            if edge < 0:
                i = -1 if t.best[plan] >= 0 else 0
            else:
                plan = _next_plan(t, node, plan, edge, years, disarmed, bound, replies, rows, scores, memory, depth)
                if plan == FULL_UP:
                    return UNKNOWN
        if found == UNKNOWN:
            is_winter = PHASE_OF[t.keys[node, 0] & 15] == WINTER
            left = years - is_winter
            if i == t.many[plan] or left == 0:
                t.high[node, years, min(years, disarmed)] = bound
                t.proof[node, years, min(years, disarmed)] = plan
                found = YES
        if found == UNKNOWN:
            stack[depth, 3], stack[depth, 4] = plan, i
            to = t.to[t.first[plan] + (i if i >= 0 else t.best[plan])]
            bound -= t.centres[to] - t.units[to] if is_winter else 0
            depth += 1
            stack[depth, 0], stack[depth, 1], stack[depth, 2] = variant(to, left, disarmed), left, bound
            stack[depth, 3] = FRESH
            continue
        if depth == 0:
            return found
        depth -= 1
        if found == NO:
            node, years, bound, plan, i = stack[depth]
            if i >= 0:
                t.best[plan] = i
            plan = _next_plan(t, node, plan, t.best[plan], years, disarmed, bound, replies, rows, scores, memory, depth)
            if plan == FULL_UP:
                return UNKNOWN
            stack[depth, 3], stack[depth, 4] = plan, BEGIN - 1


@kernel
def _next_plan(t, node, plan, edge, years, disarmed, bound, replies, rows, scores, memory, depth):
    """The plan to try after one that an edge has refuted; NONE, or FULL_UP if there is no room for it.

    Where all movements are wanted, those are not even kept that fail against a reply against which other plans of this
    node have failed.
    """
    code = t.keys[node, 0] & 15
    is_movement = code == SPRING or code == FALL
    if t.numbers[BREADTH] > 0 or not is_movement:
        if t.following[plan] < 0 and not t.widened[node] and not widen(t, node, rows, scores):
            return FULL_UP
        return t.following[plan]
    _remember_reply(t, node, plan, t.to[t.first[plan] + edge], replies, memory, depth)
    if t.following[plan] >= 0:
        return t.following[plan]
    owner, unit, lost = np.full((3, MOST_PROVINCES), NOBODY, np.int8)
    options = np.zeros(MOST_PROVINCES, np.int64)
    unpack(t.shape, t.keys[node], owner, unit, lost, options)
    if memory.listed[depth] < 0:
        memory.listed[depth] = _list_all_moves(t.shape, unit, memory.plans[depth])
        memory.cursor[depth] = 0
        if memory.listed[depth] > memory.plans.shape[1]:
            t.numbers[FULL] = 1
            return FULL_UP
    while memory.cursor[depth] < memory.listed[depth]:
        row = memory.plans[depth, memory.cursor[depth]]
        memory.cursor[depth] += 1
        refuted = _is_refuted(t, code, row, years, disarmed, bound, owner, unit, memory, depth)
        if refuted == UNKNOWN:
            return FULL_UP
        if not refuted:
            new = _new_plan(t, node, plan, row)
            return new if new >= 0 else FULL_UP
    return NONE


@kernel
def _next_position(t, code, order, owner, unit):
    """The node to which a movement phase leads; -1 if there is no room."""
    w = np.zeros((SCRATCH_ROWS, MOST_PROVINCES), np.int16)
    lost, options = np.full(MOST_PROVINCES, NOBODY, np.int8), np.zeros(MOST_PROVINCES, np.int64)
    new_owner, new_unit = owner.copy(), unit.copy()
    adjudicate(t.shape, unit, order, w)
    phase = _settle(t.shape, PHASE_OF[code], new_owner, new_unit, lost, options, w)
    return insert(t, phase, new_owner, new_unit, lost, options)


@kernel
def _remember_reply(t, node, plan, to, replies, memory, depth):
    """Keep the reply that leads from a plan to a node, to try it on other plans."""
    number = memory.killers[depth]
    if number == memory.killer.shape[1]:
        return
    owner, unit, lost = np.full((3, MOST_PROVINCES), NOBODY, np.int8)
    options = np.zeros(MOST_PROVINCES, np.int64)
    code = unpack(t.shape, t.keys[node], owner, unit, lost, options)
    for r in range(list_replies(t.shape, unit, t.orders[plan], True, replies)):
        if _next_position(t, code, replies[r], owner, unit) == to:
            memory.killer[depth, number] = replies[r]
            memory.killers[depth] += 1
            return


@kernel
def _is_refuted(t, code, row, years, disarmed, bound, owner, unit, memory, depth):
    """Whether a reply that was kept is known to bring the deviator above the bound; UNKNOWN if there is no room."""
    provinces, d = t.shape[PROVINCES], t.shape[DEVIATOR]
    order = row.copy()
    for number in range(memory.killers[depth]):
        for p in range(provinces):
            if unit[p] == d:
                order[p] = memory.killer[depth, number, p]
        to = _next_position(t, code, order, owner, unit)
        if to < 0:
            return UNKNOWN
        if t.low[variant(to, years, disarmed), years, min(years, disarmed)] > bound:
            for p in range(provinces):
                memory.killer[depth, number, p], memory.killer[depth, 0, p] = (
                    memory.killer[depth, 0, p],
                    memory.killer[depth, number, p],
                )
            return YES
    return NO


@kernel
def _known(t, node, years, disarmed, bound):
    """What the bounds of a node say."""
    after = min(years, disarmed)
    if t.high[node, years, after] < 0:
        t.high[node, years, after] = t.bound[years, PHASE_OF[t.keys[node, 0] & 15], t.centres[node], t.units[node]]
    if t.high[node, years, after] <= bound:
        return YES
    return NO if t.low[node, years, after] > bound else UNKNOWN


@kernel
def _too_much(t, node, plan, years, disarmed, bound):
    """An edge that leads to more than `bound`, as is known already; or -1."""
    is_winter = PHASE_OF[t.keys[node, 0] & 15] == WINTER
    left = years - is_winter
    for edge in range(t.many[plan]):
        to = t.to[t.first[plan] + edge]
        room = bound - (t.centres[to] - t.units[to] if is_winter else 0)
        if room < 0 or (left and t.low[variant(to, left, disarmed), left, min(left, disarmed)] > room):
            return edge
    return -1


# All that the punishers can do


@kernel
def list_all(t, code, owner, unit, lost, options, rows):
    """Every joint order of the punishers, into `rows`. Returns how many; more than there is room for if too many."""
    if code == SPRING or code == FALL:
        return _list_all_moves(t.shape, unit, rows)
    if code == WINTER:
        return _list_all_winters(t.shape, owner, unit, rows)
    return _list_all_retreats(t.shape, lost, options, rows)


@kernel
def _list_all_moves(shape, unit, rows):
    """Moves, holds, and supports that fit what a friend does, or may fit what the deviator does."""
    d, provinces = shape[DEVIATOR], shape[PROVINCES]
    places = np.empty(MOST_PROVINCES, np.int64)
    number = 0
    plan = np.full(provinces, NOBODY, np.int16)
    for p in range(provinces):
        if unit[p] >= 0:
            plan[p] = p
            if unit[p] != d:
                places[number] = p
                number += 1
    moves, helps = np.empty((2, MOST_PROVINCES, MOST_ORDERS), np.int16)
    counts, choice, held, helped = np.zeros((4, MOST_PROVINCES), np.int64)
    for i in range(number):
        counts[i] = list_moves(shape, places[i], moves[i])
    found = 0
    while True:
        for i in range(number):
            plan[places[i]] = moves[i, choice[i]]
        for i in range(number):
            p = places[i]
            held[i], helped[i] = 1, 0
            if plan[p] == p:
                held[i] = list_supports(shape, unit, plan, p, True, helps[i])
                for q in range(provinces):
                    if unit[q] != d:
                        continue
                    for target in range(provinces):
                        if target != p and adjacent(shape, q, target) and adjacent(shape, p, target):
                            helps[i, held[i]] = SUPPORT + 16 * q + target
                            held[i] += 1
        while True:
            if found == len(rows):
                return found + 1
            for p in range(provinces):
                rows[found, p] = plan[p]
            for i in range(number):
                if held[i] > 1:
                    rows[found, places[i]] = helps[i, helped[i]]
            found += 1
            if not advance(helped, held, number):
                break
        if not advance(choice, counts, number):
            return found


@kernel
def _list_all_winters(shape, owner, unit, rows):
    """Every set of disbands, or a build, of each punisher, that leaves nobody with more units than centres."""
    n, d, provinces = shape[CORES], shape[DEVIATOR], shape[PROVINCES]
    counts, choice = np.ones(MOST_PROVINCES, np.int64), np.zeros(MOST_PROVINCES, np.int64)
    room, builds, disbands = np.zeros((3, MOST_PROVINCES), np.int64)
    for p in range(provinces):
        if owner[p] >= 0:
            room[owner[p]] += 1
        if unit[p] >= 0:
            room[unit[p]] -= 1
            counts[p] = 1 + (unit[p] != d)
        elif p >= n and owner[p] == p - n and p - n != d:
            counts[p] = 2
    found = 0
    while True:
        builds[:] = 0
        disbands[:] = 0
        for p in range(provinces):
            if choice[p] and unit[p] >= 0:
                disbands[unit[p]] += 1
            elif choice[p]:
                builds[p - n] += 1
        fits = True
        for x in range(shape[POWERS]):
            fits &= x == d or (room[x] + disbands[x] - builds[x] >= 0 and not (builds[x] and disbands[x]))
        if fits:
            if found == len(rows):
                return found + 1
            for p in range(provinces):
                rows[found, p] = p if unit[p] >= 0 else NOBODY
                if choice[p]:
                    rows[found, p] = DISBAND_HERE if unit[p] >= 0 else BUILD_HERE
            found += 1
        if not advance(choice, counts, provinces):
            return found


@kernel
def _list_all_retreats(shape, lost, options, rows):
    """Every choice of the punishers' dislodged units."""
    n, d, provinces = shape[CORES], shape[DEVIATOR], shape[PROVINCES]
    places = np.full((MOST_PROVINCES, MOST_PROVINCES), NOBODY, np.int64)
    counts, choice = np.ones(MOST_PROVINCES, np.int64), np.zeros(MOST_PROVINCES, np.int64)
    for c in range(n):
        if lost[c] >= 0 and lost[c] != d:
            for p in range(provinces):
                if options[c] >> p & 1:
                    places[c, counts[c]] = p
                    counts[c] += 1
    found = 0
    while True:
        if found == len(rows):
            return found + 1
        rows[found] = NOBODY
        for c in range(n):
            rows[found, c] = places[c, choice[c]]
        found += 1
        if not advance(choice, counts, n):
            return found
