"""Kernels of the positions of a toy board and of what a deviator can make of each against a plan of the punishers.

A *node* is a position and a phase, relabelled by `agents.cliques.symmetry_kernels`. It has one or more *plans* of the
punishers (`evaluation.exact.value_kernels`), and a plan has as *edges* what the deviator can bring about when they play
it. Positions of the path have nodes of their own, where the players follow the path: whether a position is on it
follows from the years left (`variant`).
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

import agents.cliques as cliques
from agents.cliques.kernels import (
    AFTER,
    CORES,
    DEVIATOR,
    LOST_FROM,
    MOST_PROVINCES,
    PROVINCES,
    SCRATCH_ROWS,
    adjudicate,
    nobodies,
)
from agents.cliques.punishing_kernels import DEVIATORS, KNOWN, advance, can_retreat, list_orders
from agents.cliques.shape import NOBODY
from agents.cliques.symmetry_kernels import relabel, relabel_lost, relabelling
from welfare_env.compiling import compiler_of

kernel = compiler_of(
    [*Path(cliques.__path__[0]).glob("*.py"), *Path(__file__).parent.glob("*_kernels.py")], [], error_model="numpy"
)

MOST_YEARS = 8
MOST_SEEN, MOST_PROBES = 1024, 16  # results of replies that are remembered while a plan is expanded
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
        centers, units: int8 [nodes], the deviator's.
        plan: int64 [nodes], the first plan, -1 before there is one. widened: bool [nodes], whether all plans are there.
        orders: int16 [plans, provinces], what the punishers order. following: int64 [plans], the next plan, or -1.
        first, many: int64 [plans], the edges of a plan; many is -1 before it is expanded.
        best: int64 [plans], the edge that refuted last.
        to: int32 [edges], nodes.
        proof: int32 [nodes, years left, years left after the path disarms], the plan that keeps to `high`, or -1.
        low, high: int8 [nodes, years left, years left after the path disarms], bounds of values; high -1 is unknown.
        bound: int8 [years left, phases, centers, units], what is never exceeded.
        mark: int32 [nodes], the expansion that saw a node last.
    """

    shape: np.ndarray
    numbers: np.ndarray
    keys: np.ndarray
    buckets: np.ndarray
    centers: np.ndarray
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
def position(t, node):
    """Its phase (or node of the path), owners, units, dislodged units, and where these may go."""
    owner, unit, lost, options = nobodies(), nobodies(), nobodies(), np.zeros(MOST_PROVINCES, np.int64)
    code = unpack(t.shape, t.keys[node], owner, unit, lost, options)
    return code, owner, unit, lost, options


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
    t.centers[node], t.units[node] = _holdings(t.shape, key)
    return node


@kernel
def _holdings(shape, key):
    """Centres and units of the deviator, dislodged ones included."""
    mine, centers, units = shape[DEVIATOR] + 1, 0, 0
    for p in range(shape[PROVINCES]):
        centers += key[0] >> (4 + 4 * p) & 15 == mine
        units += key[1] >> (4 * p) & 15 == mine
    for c in range(shape[CORES]):
        units += key[2] >> (4 * c) & 15 == mine
    return centers, units


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
    new_owner, new_unit, new_lost = nobodies(), nobodies(), nobodies()
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
def is_on_path(node):
    """Whether a node is one of the path, where it is followed."""
    return OPENING <= node < SPECIALS


@kernel
def following(t, node, to, years, disarmed):
    """The node where play goes on when it comes to a position from another node.

    The stated and ranked punishers follow the path wherever the position is one of it. The best ones remember who left
    the path, so they follow it only as long as everybody has.

    Args:
        node: where play was. to: of the position. years, disarmed: as for `variant`.
    """
    if t.numbers[BREADTH] <= 0 and not is_on_path(node):
        return np.int64(to)
    return np.int64(variant(to, years, disarmed))


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
    """In Fall the centers go to those who stand on them. Returns the next phase."""
    if phase < FALL:
        return FALL
    for p in range(shape[PROVINCES]):
        if unit[p] >= 0:
            owner[p] = unit[p]
    return WINTER


@kernel
def next_node(t, code, order, owner, unit):
    """The node to which orders lead in a movement phase; -1 if there is no room."""
    w = np.zeros((SCRATCH_ROWS, MOST_PROVINCES), np.int16)
    lost, options = nobodies(), np.zeros(MOST_PROVINCES, np.int64)
    new_owner, new_unit = owner.copy(), unit.copy()
    adjudicate(t.shape, unit, order, w)
    phase = _settle(t.shape, PHASE_OF[code], new_owner, new_unit, lost, options, w)
    return insert(t, phase, new_owner, new_unit, lost, options)


@kernel
def _add(t, node):
    """An edge to a node. False if there is no room, or was none for the node."""
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
def _is_new(seen, key):
    """Whether a key was not met before, as far as there is room to remember; it is remembered now.

    Args:
        seen: int64 [MOST_SEEN, 4], zeros at first.
    """
    slot = _hash(key) & (MOST_SEEN - 1)
    for _ in range(MOST_PROBES):
        row = seen[slot]
        if row[0] == 0:  # free: the phase after a movement is not 0
            row[:] = key
            return True
        if row[0] == key[0] and row[1] == key[1] and row[2] == key[2] and row[3] == key[3]:
            return False
        slot = (slot + 1) & (MOST_SEEN - 1)
    return True


@kernel
def _expand_moves(t, order, code, owner, unit, replies):
    """Most replies lead to few positions: only those not met before are relabelled and looked up."""
    number = list_orders(t.shape, unit, order, DEVIATORS, KNOWN, replies)
    if number > len(replies):
        return False
    w, seen = np.zeros((SCRATCH_ROWS, MOST_PROVINCES), np.int16), np.zeros((MOST_SEEN, 4), np.int64)
    lost, options, key = nobodies(), np.zeros(MOST_PROVINCES, np.int64), np.empty(4, np.int64)
    new_owner, new_unit = owner.copy(), unit.copy()
    for r in range(number):
        new_owner[:], new_unit[:] = owner, unit
        adjudicate(t.shape, unit, replies[r], w)
        phase = _settle(t.shape, PHASE_OF[code], new_owner, new_unit, lost, options, w)
        pack(t.shape, phase, new_owner, new_unit, lost, options, key)
        if _is_new(seen, key) and not _add(t, insert(t, phase, new_owner, new_unit, lost, options)):
            return False
    return True


@kernel
def _expand_retreats(t, order, phase, owner, unit, lost, options):
    shape = t.shape
    d, n, provinces = shape[DEVIATOR], shape[CORES], shape[PROVINCES]
    to, gone, none = order.copy(), nobodies(), np.zeros(MOST_PROVINCES, np.int64)
    new_owner, new_unit = nobodies(), nobodies()
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
        after = _after_retreats(shape, phase, new_owner, new_unit)
        if not _add(t, insert(t, after, new_owner, new_unit, gone, none)):
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
    new_unit, spring = unit.copy(), np.int64(SPRING)
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
        if count <= t.centers[node] and not _add(t, insert(t, spring, owner, new_unit, lost, options)):
            return False
        if kept == mine and count < t.centers[node] and owner[home] == d and unit[home] == NOBODY:
            new_unit[home] = d
            if not _add(t, insert(t, spring, owner, new_unit, lost, options)):
                return False
            new_unit[home] = NOBODY
        if kept == 0:
            return True
        kept = (kept - 1) & mine


@kernel
def expand(t, node, plan, replies):
    """Find the edges of a plan. False if there is no room; nothing is changed then but some nodes that are added."""
    code, owner, unit, lost, options = position(t, node)
    phase = PHASE_OF[code]
    first = t.numbers[EDGES]
    t.numbers[STAMP] += 1
    order = t.orders[plan]
    if phase == WINTER:
        done = _expand_winter(t, node, order, owner, unit, lost, options)
    elif phase == SPRING or phase == FALL:
        done = _expand_moves(t, order, code, owner, unit, replies)
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
    return 4 * t.centers[node] + t.units[node]


@kernel
def is_mine(shape, who, side):
    """Whether a power is of a side, DEVIATORS or PUNISHERS."""
    return (who == shape[DEVIATOR]) == (side == DEVIATORS)


@kernel
def list_retreats(shape, lost, options, side, rows):
    """Every choice of a side's dislodged units, into `rows`; NOBODY disbands. Returns how many, as `list_orders`."""
    n, provinces = shape[CORES], shape[PROVINCES]
    places = np.full((MOST_PROVINCES, MOST_PROVINCES), NOBODY, np.int64)
    counts, choice = np.ones(MOST_PROVINCES, np.int64), np.zeros(MOST_PROVINCES, np.int64)
    for c in range(n):
        if lost[c] >= 0 and is_mine(shape, lost[c], side):
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
