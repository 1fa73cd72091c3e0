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

import agents.toy_boards as boards
from agents.toy_boards.kernels import (
    AFTER,
    CORES,
    DEVIATOR,
    LOST_FROM,
    MAX_PROVINCES,
    POWERS,
    PROVINCES,
    SCRATCH_ROWS,
    adjudicate,
    nobodies,
)
from agents.toy_boards.punishing_kernels import DEVIATORS, KNOWN, advance, can_retreat, list_orders
from agents.toy_boards.shape import NOBODY
from agents.toy_boards.symmetry_kernels import relabel, relabel_lost, relabelling
from welfare_env.compiling import compiler_of

kernel = compiler_of(
    [*Path(boards.__path__[0]).glob("*.py"), *Path(__file__).parent.glob("*_kernels.py")], [], error_model="numpy"
)

MAX_YEARS = 10
STATED, BEST = 1, 0  # values of BREADTH below
COLUMNS = (MAX_YEARS + 1) * (MAX_YEARS + 2) // 2
DISBAND_HERE, BUILD_HERE = 100, 101  # Winter orders

# Phase codes; the last four are for nodes of the path.
SPRING, SPRING_RETREATS, FALL, FALL_RETREATS, WINTER, PATH_SPRING, PATH_FALL, PATH_KEEP, PATH_DISBAND = range(9)
PHASE_OF = np.array([SPRING, SPRING_RETREATS, FALL, FALL_RETREATS, WINTER, SPRING, FALL, WINTER, WINTER])

# Indices into `HashTable.numbers`.
NODES, EDGES, EXPANDED, EXCLUDED, LIMIT, SHORT, STAMP, PLANS, BREADTH = range(9)
REPLIES, ROWS, LISTED = 1, 2, 3  # values of SHORT: scratch memory that did not suffice
# Nodes with fixed numbers: positions of the path as ordinary nodes, then (from OPENING) as nodes of the path. The path
# is armed until the Winter in which all disband, then disarmed.
ARMED, DISARMED, ENTERED, OPENING, SPECIALS = 0, 3, 6, 7, 16
TO_PATH = 8  # offset from an ordinary node to its node of the path; the armed Winter has two


class HashTable(NamedTuple):
    """The memory of a search.

    Attributes:
        shape: int64 [4], see `agents.toy_boards.kernels`.
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
    owner, unit, lost, options = nobodies(), nobodies(), nobodies(), np.zeros(MAX_PROVINCES, np.int64)
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
    """Numbers of the deviator's centers and units, including dislodged units."""
    centers, units, mine = 0, 0, shape[DEVIATOR] + 1
    for p in range(shape[PROVINCES]):
        centers += (key[0] >> (4 + 4 * p) & 15) == mine
        units += (key[1] >> (4 * p) & 15) == mine
    for c in range(shape[CORES]):
        units += (key[2] >> (4 * c) & 15) == mine
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
    seat = np.zeros(MAX_PROVINCES, np.int64)
    relabelling(t.shape, owner, unit, lost, options, seat)
    new_owner, new_unit, new_lost = nobodies(), nobodies(), nobodies()
    new_options, key = np.empty(MAX_PROVINCES, np.int64), np.empty(4, np.int64)
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
    if t.numbers[BREADTH] == BEST and not is_on_path(node):
        return np.int64(to)
    return np.int64(variant(to, years, disarmed))


@kernel
def settle(shape, phase, owner, unit, lost, options, order, w):
    """Play a phase of a position with everybody's orders, in place. Returns the next phase.

    Args:
        order: int16 [provinces], for the units, or in retreats for the cores: where to, or NOBODY.
        w: scratch memory, see `agents.toy_boards.kernels`.
    """
    if phase == WINTER:
        for p in range(shape[PROVINCES]):
            if order[p] == DISBAND_HERE:
                unit[p] = NOBODY
            elif order[p] == BUILD_HERE:
                unit[p] = p - shape[CORES]
        return np.int64(SPRING)
    if phase == SPRING or phase == FALL:
        if _settle_moves(shape, unit, lost, options, order, w):
            return phase + 1
    else:
        _settle_retreats(shape, unit, lost, order)
    lost[:] = NOBODY
    options[:] = 0
    if phase < FALL:
        return np.int64(FALL)
    for p in range(shape[PROVINCES]):
        if unit[p] >= 0:
            owner[p] = unit[p]
    return np.int64(WINTER)


@kernel
def _settle_moves(shape, unit, lost, options, order, w):
    """Move units, in place. Returns whether there are retreats."""
    adjudicate(shape, unit, order, w)
    retreats = False
    for c in range(shape[CORES]):
        lost[c], options[c] = NOBODY, 0
        if w[LOST_FROM, c] >= 0:
            for p in range(shape[PROVINCES]):
                if can_retreat(shape, w, c, p):
                    options[c] |= 1 << p
            if options[c]:
                lost[c] = unit[c]
                retreats = True
    for p in range(shape[PROVINCES]):
        unit[p] = w[AFTER, p]
    return retreats


@kernel
def _settle_retreats(shape, unit, lost, to):
    """Move dislodged units, in place: one arrives if no other retreats to its target."""
    for p in range(shape[PROVINCES]):
        many, who = 0, NOBODY
        for c in range(shape[CORES]):
            if lost[c] >= 0 and to[c] == p:
                many += 1
                who = lost[c]
        if many == 1:
            unit[p] = who


@kernel
def next_node(t, code, owner, unit, order, w):
    """The node after a movement phase with everybody's orders."""
    new_owner, new_unit, lost, options = owner.copy(), unit.copy(), nobodies(), np.zeros(MAX_PROVINCES, np.int64)
    phase = settle(t.shape, PHASE_OF[code], new_owner, new_unit, lost, options, order, w)
    return insert(t, phase, new_owner, new_unit, lost, options)


@kernel
def list_joint(t, node, order, side, supports, rows):
    """Write all joint orders of one side at a node into `rows` int16 [room, provinces].

    Args:
        order: the other side's orders; copied to every row.
        side: DEVIATORS or PUNISHERS. supports: see `agents.toy_boards.punishing_kernels.list_supports`.

    Returns:
        their number; `room` + 1 if there are more than `room`.
    """
    code, owner, unit, lost, options = position(t, node)
    phase = PHASE_OF[code]
    if phase == WINTER:
        return _list_winters(t.shape, owner, unit, order, side, rows)
    if phase == SPRING or phase == FALL:
        return list_orders(t.shape, unit, order, side, supports, rows)
    return _list_retreats(t.shape, lost, options, order, side, rows)


@kernel
def _list_retreats(shape, lost, options, order, side, rows):
    places = np.full((MAX_PROVINCES, MAX_PROVINCES), NOBODY, np.int64)  # the first is a disband
    counts, choice = np.ones(MAX_PROVINCES, np.int64), np.zeros(MAX_PROVINCES, np.int64)
    for c in range(shape[CORES]):
        if lost[c] >= 0 and _is_of(shape, lost[c], side):
            for p in range(shape[PROVINCES]):
                if options[c] >> p & 1:
                    places[c, counts[c]] = p
                    counts[c] += 1
    found = 0
    while True:
        if found == len(rows):
            return found + 1
        rows[found] = order
        for c in range(shape[CORES]):
            if counts[c] > 1:
                rows[found, c] = places[c, choice[c]]
        found += 1
        if not advance(choice, counts, shape[CORES]):
            return found


@kernel
def _list_winters(shape, owner, unit, order, side, rows):
    """Each power disbands or builds, and ends with no more units than centers."""
    n, provinces, powers = shape[CORES], shape[PROVINCES], shape[POWERS]
    counts, choice = np.ones(MAX_PROVINCES, np.int64), np.zeros(MAX_PROVINCES, np.int64)
    room, builds, disbands = np.zeros(powers, np.int64), np.zeros(powers, np.int64), np.zeros(powers, np.int64)
    for p in range(provinces):
        if owner[p] >= 0:
            room[owner[p]] += 1
        if unit[p] >= 0:
            room[unit[p]] -= 1
            counts[p] = 1 + _is_of(shape, unit[p], side)
        elif p >= n and owner[p] == p - n:
            counts[p] = 1 + _is_of(shape, owner[p], side)
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
        for x in range(powers):
            fits &= not _is_of(shape, x, side) or (
                room[x] + disbands[x] >= builds[x] and not (builds[x] and disbands[x])
            )
        if fits:
            if found == len(rows):
                return found + 1
            for p in range(provinces):
                rows[found, p] = order[p]
                if counts[p] > 1:
                    rows[found, p] = p if unit[p] >= 0 else NOBODY
                    if choice[p]:
                        rows[found, p] = DISBAND_HERE if unit[p] >= 0 else BUILD_HERE
            found += 1
        if not advance(choice, counts, provinces):
            return found


@kernel
def _is_of(shape, who, side):
    """Whether a power belongs to a side."""
    return (who == shape[DEVIATOR]) == (side == DEVIATORS)


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
def has_room(t, replies, rows):
    """Whether there is room for all that an expansion, or the plans of a node, may add."""
    nodes, edges, plans = t.numbers[NODES], t.numbers[EDGES], t.numbers[PLANS]
    fits = nodes + len(replies) < len(t.keys) and edges + len(replies) <= len(t.to)
    return fits and plans + len(rows) + 1 < len(t.orders)


@kernel
def expand(t, node, plan, replies):
    """Find the edges of a plan, if there is room for them. False if the replies exceed their memory."""
    number = list_joint(t, node, t.orders[plan], DEVIATORS, KNOWN, replies)
    if number > len(replies):
        t.numbers[SHORT] = REPLIES
        return False
    first = t.numbers[EDGES]
    t.numbers[STAMP] += 1
    code, owner, unit, lost, options = position(t, node)
    w = np.zeros((SCRATCH_ROWS, MAX_PROVINCES), np.int16)
    new_owner, new_unit, new_lost, new_options = owner.copy(), unit.copy(), lost.copy(), options.copy()
    for r in range(number):
        new_owner[:], new_unit[:], new_lost[:], new_options[:] = owner, unit, lost, options
        phase = settle(t.shape, PHASE_OF[code], new_owner, new_unit, new_lost, new_options, replies[r], w)
        to = insert(t, phase, new_owner, new_unit, new_lost, new_options)
        if t.mark[to] != t.numbers[STAMP]:
            t.mark[to] = t.numbers[STAMP]
            t.to[t.numbers[EDGES]] = to
            t.numbers[EDGES] += 1
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
