"""Kernels of the search graph of a toy board: positions, the punishers' plans, and the deviator's outcomes.

A *node* is a position and a phase, relabeled by `agents.toy_boards.symmetry_kernels`. It has one or more *plans* of the
punishers (`evaluation.exact.value_kernels`). The *edges* of a plan are the nodes that the deviator can reach against
it. A position of the path has a second node, at which the players follow the path; `variant` chooses between the two
from the years left.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

import agents.toy_boards as cliques
from agents.toy_boards.kernels import (
    AFTER,
    CORES,
    DEVIATOR,
    LOST_FROM,
    MOST_PROVINCES,
    PROVINCES,
    SCRATCH_ROWS,
    adjudicate,
    deviates,
    nobodies,
)
from agents.toy_boards.punishing_kernels import DEVIATORS, KNOWN, advance, can_retreat, list_orders
from agents.toy_boards.shape import NOBODY
from agents.toy_boards.symmetry_kernels import relabel, relabel_lost, relabelling
from welfare_env.compiling import compiler_of

kernel = compiler_of(
    [*Path(cliques.__path__[0]).glob("*.py"), *Path(__file__).parent.glob("*_kernels.py")], [], error_model="numpy"
)

MOST_YEARS = 10
COLUMNS = (MOST_YEARS + 1) * (MOST_YEARS + 2) // 2
MOST_SEEN, MOST_PROBES = 1024, 16  # hash set of replies' results while a plan is expanded: size, probes
DISBAND_HERE, BUILD_HERE = 100, 101  # Winter orders

# Phase codes; the last four are for nodes of the path.
SPRING, SPRING_RETREATS, FALL, FALL_RETREATS, WINTER, PATH_SPRING, PATH_FALL, PATH_KEEP, PATH_DISBAND = range(9)
PHASE_OF = np.array([SPRING, SPRING_RETREATS, FALL, FALL_RETREATS, WINTER, SPRING, FALL, WINTER, WINTER])

# Indices into `Table.numbers`.
NODES, EDGES, EXPANDED, EXCLUDED, LIMIT, FULL, STAMP, PLANS, BREADTH = range(9)
# Nodes with fixed numbers: positions of the path as ordinary nodes, then (from OPENING) as nodes of the path. The path
# is armed until the Winter in which all disband, then disarmed.
ARMED, DISARMED, ENTERED, OPENING, SPECIALS = 0, 3, 6, 7, 16
TO_PATH = 8  # offset from an ordinary node to its node of the path; the armed Winter has two


class Table(NamedTuple):
    """The memory of a search.

    Attributes:
        shape: int64 [5], see `agents.toy_boards.kernels`.
        numbers: int64 [16], counts and limits.
        keys: int64 [nodes, 4], packed positions.
        buckets: int32 [a power of two], hash table of node + 1; 0 is empty.
        centers, units: int8 [nodes], the deviator's.
        plan: int64 [nodes], the first plan, or -1. widened: bool [nodes], whether all plans have been added.
        orders: int16 [plans, provinces], the punishers' orders. following: int64 [plans], the node's next plan, or -1.
        first, many: int64 [plans], a plan's first edge and number of edges; many is -1 before expansion.
        best: int64 [plans], the edge that last refuted the plan, or -1.
        to: int32 [edges], the edges' nodes.
        proof: int32 [nodes, COLUMNS], the plan that proves `high`, or -1; see `column`.
        low, high: int16 [nodes, COLUMNS], bounds on values; high is -1 if not set.
        bound: int16 [years left, phases, centers, units], loose upper bounds.
        mark: int32 [nodes], the last expansion that reached the node.
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
    """Pack a position into four numbers, in place.

    4 bits for each owner, unit and dislodged unit, n + 2 for each core's retreats: to cores, its leaf, and the second
    leaf of a shared core. This suffices for seven cores.
    """
    n = shape[CORES]
    key[0] = phase
    key[1] = key[2] = key[3] = 0
    for p in range(shape[PROVINCES]):
        key[0] |= np.int64(owner[p] + 1) << (4 + 4 * p)
        key[1] |= np.int64(unit[p] + 1) << (4 * p)
    for c in range(n):
        key[2] |= np.int64(lost[c] + 1) << (4 * c)
        if options[c]:
            near = options[c] & ((1 << n) - 1) | (options[c] >> (n + c) & 1) << n | (options[c] >> 2 * n & 1) << (n + 1)
            key[3] |= near << ((n + 2) * c)


@kernel
def unpack(shape, key, owner, unit, lost, options):
    """Unpack the position of a key, in place. Returns its phase code."""
    for p in range(shape[PROVINCES]):
        owner[p] = (key[0] >> (4 + 4 * p) & 15) - 1
        unit[p] = (key[1] >> (4 * p) & 15) - 1
    n = shape[CORES]
    for c in range(n):
        lost[c] = (key[2] >> (4 * c) & 15) - 1
        near = key[3] >> ((n + 2) * c)
        options[c] = near & ((1 << n) - 1) | (near >> n & 1) << (n + c) | (near >> (n + 1) & 1) << 2 * n
    return key[0] & 15


@kernel
def position(t, node):
    """A node's phase code, owners, units, dislodged units, and their retreat options."""
    owner, unit, lost, options = nobodies(), nobodies(), nobodies(), np.zeros(MOST_PROVINCES, np.int64)
    code = unpack(t.shape, t.keys[node], owner, unit, lost, options)
    return code, owner, unit, lost, options


@kernel
def hash_of(key):
    """A hash of a position's key, int64 [4]."""
    x = np.int64(0)
    for i in range(4):
        x = (x ^ key[i]) * 0x2545F4914F6CDD1D
        x ^= x >> 31 & 0x1FFFFFFFF
    return x


@kernel
def node_of(t, key):
    """The node of a key, added if it is new; -1 if there is no room."""
    slot = hash_of(key) & (len(t.buckets) - 1)
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
    """Numbers of the deviators' centers and units, including dislodged units."""
    centers, units = 0, 0
    for p in range(shape[PROVINCES]):
        centers += deviates(shape, (key[0] >> (4 + 4 * p) & 15) - 1)
        units += deviates(shape, (key[1] >> (4 * p) & 15) - 1)
    for c in range(shape[CORES]):
        units += deviates(shape, (key[2] >> (4 * c) & 15) - 1)
    return centers, units


@kernel
def rehash(t):
    """Rebuild the hash table."""
    t.buckets[:] = 0
    for node in range(t.numbers[NODES]):
        slot = hash_of(t.keys[node]) & (len(t.buckets) - 1)
        while t.buckets[slot]:
            slot = (slot + 1) & (len(t.buckets) - 1)
        t.buckets[slot] = node + 1


@kernel
def insert(t, phase, owner, unit, lost, options):
    """The node of a position, which is relabeled first; -1 if there is no room."""
    seat = np.zeros(MOST_PROVINCES, np.int64)
    relabelling(t.shape, owner, unit, lost, options, seat)
    new_owner, new_unit, new_lost = nobodies(), nobodies(), nobodies()
    new_options, key = np.empty(MOST_PROVINCES, np.int64), np.empty(4, np.int64)
    relabel(t.shape, seat, owner, unit, new_owner, new_unit)
    relabel_lost(t.shape, seat, lost, options, new_lost, new_options)
    pack(t.shape, phase, new_owner, new_unit, new_lost, new_options, key)
    return node_of(t, key)


@kernel
def column(years, disarmed):
    """The column of `low`, `high` and `proof` for years left and years of the path after it disarms."""
    return years * (years + 1) // 2 + min(years, disarmed)


@kernel
def variant(node, years, disarmed):
    """The node of the path if the position is on the path; else the same node.

    Args:
        node: the position's node.
        years: years left, including this one.
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
    """Whether a node is a node of the path."""
    return OPENING <= node < SPECIALS


@kernel
def following(t, node, to, years, disarmed):
    """The node at which play continues after moving from one node to another.

    The stated and ranked punishers follow the path in every position of the path. The best punishers remember who left
    the path, so they follow it only as long as nobody has left.

    Args:
        node: the previous node. to: the new position's node. years, disarmed: as for `variant`.
    """
    if t.numbers[BREADTH] <= 0 and not is_on_path(node):
        return np.int64(to)
    return np.int64(variant(to, years, disarmed))


@kernel
def settle_moves(shape, phase, owner, unit, lost, options, w):
    """Turn the results of a movement phase into the next position, in place. Returns its phase."""
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
    return settle_owners(shape, phase, owner, unit)


@kernel
def settle_owners(shape, phase, owner, unit):
    """In Fall, give each occupied center to the power of its unit. Returns the next phase."""
    if phase < FALL:
        return FALL
    for p in range(shape[PROVINCES]):
        if unit[p] >= 0:
            owner[p] = unit[p]
    return WINTER


@kernel
def next_node(t, code, order, owner, unit):
    """The node after a movement phase with the given orders; -1 if there is no room."""
    w = np.zeros((SCRATCH_ROWS, MOST_PROVINCES), np.int16)
    lost, options = nobodies(), np.zeros(MOST_PROVINCES, np.int64)
    new_owner, new_unit = owner.copy(), unit.copy()
    adjudicate(t.shape, unit, order, w)
    phase = settle_moves(t.shape, PHASE_OF[code], new_owner, new_unit, lost, options, w)
    return insert(t, phase, new_owner, new_unit, lost, options)


@kernel
def _add(t, node):
    """Add an edge to a node, unless the plan has it. False if there is no room; `node` is -1 if there was none."""
    if node < 0 or t.numbers[EDGES] == len(t.to):
        return False
    if t.mark[node] != t.numbers[STAMP]:
        t.mark[node] = t.numbers[STAMP]
        t.to[t.numbers[EDGES]] = node
        t.numbers[EDGES] += 1
    return True


@kernel
def path_moves(t, owner, unit, order):
    """Orders on the path: in the first Spring all but the excluded player enter their cores; later all hold."""
    n = t.shape[CORES]
    is_opening = owner[0] == NOBODY and unit[0] == NOBODY
    for p in range(t.shape[PROVINCES]):
        order[p] = p if unit[p] >= 0 else NOBODY
        if is_opening and p >= n and unit[p] >= 0 and p - n != t.numbers[EXCLUDED]:
            order[p] = p - n if p - n < n else 0


@kernel
def _is_new(seen, key):
    """Whether a key is new; it is stored if there is room. Keys without room count as new every time.

    Args:
        seen: hash set, int64 [MOST_SEEN, 4], initially zeros.
    """
    slot = hash_of(key) & (MOST_SEEN - 1)
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
    """Add the edges of a movement phase. False if there is no room.

    Most replies lead to few distinct positions, so only new positions are relabeled and looked up.
    """
    number = list_orders(t.shape, unit, order, DEVIATORS, KNOWN, replies)
    if number > len(replies):
        return False
    w, seen = np.zeros((SCRATCH_ROWS, MOST_PROVINCES), np.int16), np.zeros((MOST_SEEN, 4), np.int64)
    lost, options, key = nobodies(), np.zeros(MOST_PROVINCES, np.int64), np.empty(4, np.int64)
    new_owner, new_unit = owner.copy(), unit.copy()
    for r in range(number):
        new_owner[:], new_unit[:] = owner, unit
        adjudicate(t.shape, unit, replies[r], w)
        phase = settle_moves(t.shape, PHASE_OF[code], new_owner, new_unit, lost, options, w)
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
        after = settle_owners(shape, phase, new_owner, new_unit)
        if not _add(t, insert(t, after, new_owner, new_unit, gone, none)):
            return False
        if not _next_retreat(shape, lost, options, to):
            return True


@kernel
def _next_retreat(shape, lost, options, to):
    """Advance to the deviator's next choice of retreats; False after the last."""
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
    """Find the edges of a plan. False if there is no room; then only some new nodes may have been added."""
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
    """Sort edges by promise, highest first."""
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
    """Whether a power belongs to a side, DEVIATORS or PUNISHERS."""
    return deviates(shape, who) == (side == DEVIATORS)


@kernel
def list_retreats(shape, lost, options, side, rows):
    """Write all joint retreats of a side into `rows`; NOBODY is a disband. Returns their number, as `list_orders`."""
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
