"""Kernels of a deviator's value on a toy board: threshold queries, and the punishers' plans that they try.

`at_most` answers whether the punishers can hold the deviator to a number of points from a node of
`evaluation.exact.graph_kernels` on, and stores the result as bounds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from agents.toy_boards.kernels import DEVIATOR, MAX_PROVINCES, PROVINCES, SCRATCH_ROWS
from agents.toy_boards.punishing_kernels import (
    ANY,
    DEVIATORS,
    KNOWN,
    PUNISHERS,
    punishing_moves,
    punishing_retreats,
    punishing_winter,
    ranked_moves,
    units_hold,
)
from agents.toy_boards.shape import NOBODY
from evaluation.exact.graph_kernels import (
    BEST,
    BREADTH,
    BUILD_HERE,
    DISBAND_HERE,
    EXPANDED,
    FALL,
    FALL_RETREATS,
    LIMIT,
    LISTED,
    MAX_YEARS,
    PATH_DISBAND,
    PATH_FALL,
    PATH_SPRING,
    PHASE_OF,
    PLANS,
    ROWS,
    SHORT,
    SPRING,
    SPRING_RETREATS,
    STATED,
    WINTER,
    column,
    expand,
    following,
    has_room,
    kernel,
    list_joint,
    next_node,
    path_moves,
    position,
)

YES, NO, UNKNOWN = 1, 0, -1
FRESH, NONE, BEGIN, STOPPED, REFUTED = -2, -1, -3, -4, -5
DEEPEST = 5 * MAX_YEARS  # phases of a game
MAX_KILLERS = 48


class Memory(NamedTuple):
    """Scratch memory of `at_most`, by depth, for positions where all movements of the punishers are tried.

    Attributes:
        plans: int16 [DEEPEST, room, provinces]. listed, cursor: int64 [DEEPEST], the numbers of listed plans (-1: not
            listed yet) and of tried plans.
        killer: int16 [DEEPEST, MAX_KILLERS, provinces], replies that refuted plans. killers: int64 [DEEPEST], their
            number.
    """

    plans: np.ndarray
    listed: np.ndarray
    cursor: np.ndarray
    killer: np.ndarray
    killers: np.ndarray


@kernel
def at_most(t, node, years, disarmed, bound, replies, rows, scores, memory):
    """Whether the deviator can be held to `bound` points from a node on: YES, NO, or UNKNOWN.

    UNKNOWN: there is no room, or the limit of expansions is reached; call it again. The search has no recursion, since
    numba cannot cache recursive kernels; `stack` has node, years, bound, and the current plan and edge.

    Args:
        node: a node, see `following`. years, disarmed: as for `variant`.
        replies, rows, scores, memory: scratch memory.
    """
    stack = np.zeros((DEEPEST, 5), np.int64)
    depth = np.int64(0)  # not a literal, see `agents.toy_boards.punishing_kernels`
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = node, years, bound, FRESH
    while True:
        node, years, bound, plan, i = stack[depth]
        found, edge = UNKNOWN, np.int64(NONE)
        if plan == FRESH:
            memory.listed[depth] = -1
            memory.killers[depth] = 0
            found = _known(t, node, years, disarmed, bound)
            if found == UNKNOWN:
                if t.plan[node] < 0:
                    add_first_plan(t, node)
                plan, i = t.plan[node], BEGIN
        elif i == REFUTED:
            edge, i = t.best[plan], BEGIN
        else:
            i += 1
        while found == UNKNOWN and i == BEGIN:
            if not has_room(t, replies, rows) or t.numbers[EXPANDED] >= t.numbers[LIMIT]:
                return UNKNOWN
            if edge < 0:
                if t.many[plan] < 0 and not expand(t, node, plan, replies):
                    return UNKNOWN
                edge = _too_much(t, node, plan, years, disarmed, bound)
            if edge < 0:
                i = -1 if t.best[plan] >= 0 else 0
                continue
            plan = _next_plan(t, node, plan, edge, years, disarmed, bound, replies, rows, scores, memory, depth)
            edge = np.int64(NONE)
            if plan == STOPPED:
                return UNKNOWN
            if plan == NONE:
                t.low[node, column(years, disarmed)] = bound + 1
                found = NO
        if found == UNKNOWN:
            is_winter = PHASE_OF[t.keys[node, 0] & 15] == WINTER
            left = years - is_winter
            if i == t.many[plan] or left == 0:
                t.high[node, column(years, disarmed)] = bound
                t.proof[node, column(years, disarmed)] = plan
                found = YES
        if found == UNKNOWN:
            stack[depth, 3], stack[depth, 4] = plan, i
            to = np.int64(t.to[t.first[plan] + (i if i >= 0 else t.best[plan])])
            bound -= t.centers[to] - t.units[to] if is_winter else 0
            depth += 1
            stack[depth, 0], stack[depth, 1], stack[depth, 2] = following(t, node, to, left, disarmed), left, bound
            stack[depth, 3] = FRESH
            continue
        if depth == 0:
            return found
        depth -= 1
        if found == NO:
            plan, i = stack[depth, 3], stack[depth, 4]
            if i >= 0:
                t.best[plan] = i
            stack[depth, 4] = REFUTED


@kernel
def _next_plan(t, node, plan, edge, years, disarmed, bound, replies, rows, scores, memory, depth):
    """The next plan to try after an edge refuted `plan`; NONE if there is none, STOPPED if there is no room.

    If all movements are tried, plans that a stored reply refutes are skipped without being added.
    """
    code = t.keys[node, 0] & 15
    is_movement = code == SPRING or code == FALL
    if t.numbers[BREADTH] != BEST or not is_movement:
        if t.following[plan] < 0 and not t.widened[node] and not widen(t, node, rows, scores):
            return STOPPED
        return t.following[plan]
    _remember_reply(t, node, plan, np.int64(t.to[t.first[plan] + edge]), replies, memory, depth)
    if t.following[plan] >= 0:
        return t.following[plan]
    code, owner, unit, _, _ = position(t, node)
    if memory.listed[depth] < 0:
        standing = units_hold(t.shape, unit)
        memory.listed[depth] = list_joint(t, node, standing, PUNISHERS, ANY, memory.plans[depth])
        memory.cursor[depth] = 0
        if memory.listed[depth] > memory.plans.shape[1]:
            t.numbers[SHORT] = LISTED
            return STOPPED
    while memory.cursor[depth] < memory.listed[depth]:
        if not has_room(t, replies, rows):
            return STOPPED
        row = memory.plans[depth, memory.cursor[depth]]
        memory.cursor[depth] += 1
        if not _is_refuted(t, node, code, row, years, disarmed, bound, owner, unit, memory, depth):
            return _new_plan(t, node, plan, row)
    return NONE


@kernel
def _remember_reply(t, node, plan, to, replies, memory, depth):
    """Store the reply that leads from a plan to a node, to try it against other plans."""
    number = memory.killers[depth]
    if number == memory.killer.shape[1]:
        return
    code, owner, unit, _, _ = position(t, node)
    w = np.zeros((SCRATCH_ROWS, MAX_PROVINCES), np.int16)
    for r in range(list_joint(t, node, t.orders[plan], DEVIATORS, KNOWN, replies)):
        if next_node(t, code, owner, unit, replies[r], w) == to:
            memory.killer[depth, number] = replies[r]
            memory.killers[depth] += 1
            return


@kernel
def _is_refuted(t, node, code, row, years, disarmed, bound, owner, unit, memory, depth):
    """Whether a stored reply is known to bring the deviator above the bound."""
    provinces, d = t.shape[PROVINCES], t.shape[DEVIATOR]
    order, w = row.copy(), np.zeros((SCRATCH_ROWS, MAX_PROVINCES), np.int16)
    for number in range(memory.killers[depth]):
        for p in range(provinces):
            if unit[p] == d:
                order[p] = memory.killer[depth, number, p]
        to = next_node(t, code, owner, unit, order, w)
        if t.low[following(t, node, to, years, disarmed), column(years, disarmed)] > bound:
            for p in range(provinces):
                memory.killer[depth, number, p], memory.killer[depth, 0, p] = (
                    memory.killer[depth, 0, p],
                    memory.killer[depth, number, p],
                )
            return True
    return False


@kernel
def _known(t, node, years, disarmed, bound):
    """Answer a query from a node's stored bounds: YES, NO or UNKNOWN."""
    at = column(years, disarmed)
    if t.high[node, at] < 0:
        t.high[node, at] = t.bound[years, PHASE_OF[t.keys[node, 0] & 15], t.centers[node], t.units[node]]
    if t.high[node, at] <= bound:
        return YES
    return NO if t.low[node, at] > bound else UNKNOWN


@kernel
def _too_much(t, node, plan, years, disarmed, bound):
    """An edge already known to lead to more than `bound`; -1 if there is none."""
    is_winter = PHASE_OF[t.keys[node, 0] & 15] == WINTER
    left = years - is_winter
    for edge in range(t.many[plan]):
        to = np.int64(t.to[t.first[plan] + edge])
        room = bound - (t.centers[to] - t.units[to] if is_winter else 0)
        if room < 0 or (left and t.low[following(t, node, to, left, disarmed), column(left, disarmed)] > room):
            return edge
    return -1


# The punishers' plans


@kernel
def _new_plan(t, node, after, order):
    """Insert a plan after another of the same node (first if `after` is negative). Returns the plan."""
    plan = t.numbers[PLANS]
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
    """Add a node's first plan: the path's orders, or else the stated punishing policy's."""
    code, owner, unit, lost, options = position(t, node)
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
    t.widened[node] = code >= PATH_SPRING or t.numbers[BREADTH] == STATED
    _new_plan(t, node, t.plan[node], order)


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
    """Add a node's other plans. False if they exceed their memory; then none is added.

    Args:
        rows, scores: scratch memory; its length limits the number of plans, see `ranked_moves`.
    """
    code, owner, unit, _, _ = position(t, node)
    found = np.int64(0)
    if t.numbers[BREADTH] == BEST and (code == SPRING_RETREATS or code == FALL_RETREATS):
        found = list_joint(t, node, np.full(t.shape[PROVINCES], NOBODY, np.int16), PUNISHERS, ANY, rows)
    elif t.numbers[BREADTH] > STATED and (code == SPRING or code == FALL):
        found = ranked_moves(t.shape, owner, unit, code == FALL, rows, scores)
    if found > len(rows):
        t.numbers[SHORT] = ROWS
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
