"""Kernels of the punishing policy: orders that minimize a deviator's score one movement phase ahead.

Positions and orders are those of `agents.toy_boards.kernels`. The policy is a heuristic; `evaluation.exact` computes
how good it is.
"""

from __future__ import annotations

import numpy as np

from agents.toy_boards.kernels import (
    AFTER,
    CORES,
    DEVIATOR,
    LOST_FROM,
    MAX_PROVINCES,
    POWERS,
    PROVINCES,
    SCRATCH_ROWS,
    TRIED,
    adjacent,
    adjudicate,
    core_of,
    kernel,
)
from agents.toy_boards.shape import NOBODY, SUPPORT

MAX_REPLIES = 20_000  # the deviator's replies that are tried
MAX_PLANS = 2_000  # the punishers' plans that are tried before the best is improved
MAX_OPTIONS = 128  # orders of one unit
WORST = 1 << 30

# Sides, and kinds of supports. Numba recompiles a kernel for every literal argument and array layout, so these are not
# plain numbers, and kernels do not unpack rows from tables.
DEVIATORS, PUNISHERS = np.int64(0), np.int64(1)
OWN, KNOWN, ANY = np.int64(0), np.int64(1), np.int64(2)

# Weights of the deviator's score after a movement phase.
UNIT, UNIT_IN_CORE, ON_OWN = 30, 25, 60
ON_OTHERS_SPRING, ON_OTHERS_FALL = 80, 100
EMPTY_CENTER = 80
PUNISHER_IN_CORE, ON_DEVIATORS_SPRING, ON_DEVIATORS_FALL = -12, -15, -20
LOST_UNIT, LOST_BUT_RETREATS, PUNISHER_LOST, WATCHED_LEAF = 20, 15, 25, -10


@kernel
def can_retreat(shape, w, lost, place):
    """Whether the unit dislodged from `lost` may retreat to `place`, after `adjudicate`."""
    return (
        adjacent(shape, lost, place)
        and place != w[LOST_FROM, lost]
        and w[AFTER, place] == NOBODY
        and w[TRIED, place] == 0
    )


@kernel
def score_position(shape, owner, unit, is_fall, w):
    """The deviator's score after a movement phase."""
    n, d = shape[CORES], shape[DEVIATOR]
    total = 0
    for p in range(shape[PROVINCES]):
        here = w[AFTER, p]
        if here == d:
            total += UNIT + (UNIT_IN_CORE if p < n else 0)
            if owner[p] == d:
                total += ON_OWN
            else:
                total += ON_OTHERS_FALL if is_fall else ON_OTHERS_SPRING
        elif here >= 0:
            if p < n:
                total += PUNISHER_IN_CORE
            if owner[p] == d:
                total += ON_DEVIATORS_FALL if is_fall else ON_DEVIATORS_SPRING
        elif owner[p] == d:
            total += EMPTY_CENTER
        if p >= n and (here == d or owner[p] == d):
            guard = w[AFTER, core_of(shape, p)]
            if guard >= 0 and guard != d:
                total += WATCHED_LEAF
        if w[LOST_FROM, p] >= 0:
            if unit[p] != d:
                total += PUNISHER_LOST
            else:
                total += LOST_UNIT
                for q in range(shape[PROVINCES]):
                    if can_retreat(shape, w, p, q):
                        total += LOST_BUT_RETREATS
                        break
    return total


@kernel
def list_moves(shape, p, options):
    """List a hold, then all moves of a unit in p. Returns their number."""
    options[0] = p
    count = 1
    for q in range(shape[PROVINCES]):
        if adjacent(shape, p, q):
            options[count] = q
            count += 1
    return count


@kernel
def list_supports(shape, unit, order, p, supports, options):
    """List a hold, then the supports of a unit in p that match the others' orders. Returns their number.

    Args:
        supports: the supported units. OWN: its own power's. KNOWN: all. ANY: its side's, plus all possible moves and
            holds of the other side's units.
    """
    options[0] = p
    count = 1
    for q in range(shape[PROVINCES]):
        if q == p or unit[q] < 0 or (unit[q] != unit[p] and supports == OWN):
            continue
        if supports == ANY and (unit[q] == shape[DEVIATOR]) != (unit[p] == shape[DEVIATOR]):
            for target in range(shape[PROVINCES]):
                if target != p and (target == q or adjacent(shape, q, target)) and adjacent(shape, p, target):
                    options[count] = SUPPORT + 16 * q + target
                    count += 1
            continue
        target = order[q] if order[q] < SUPPORT else q
        if target != p and adjacent(shape, p, target):
            options[count] = SUPPORT + 16 * q + target
            count += 1
    return count


@kernel
def counter(number):
    """Arrays to enumerate combinations of orders: each unit's options, their number, and the chosen index."""
    options = np.empty((number, MAX_OPTIONS), np.int16)
    return options, np.zeros(number, np.int64), np.zeros(number, np.int64)


@kernel
def advance(choice, counts, number):
    """Advance to the next combination, the last unit fastest; False after the last combination."""
    i = number - 1
    while i >= 0:
        choice[i] += 1
        if choice[i] < counts[i]:
            return True
        choice[i] = 0
        i -= 1
    return False


@kernel
def places_of(shape, unit, side):
    """The provinces of one side's units: int64 [units]."""
    places = np.empty(MAX_PROVINCES, np.int64)
    number = 0
    for p in range(shape[PROVINCES]):
        if unit[p] >= 0 and (unit[p] == shape[DEVIATOR]) == (side == DEVIATORS):
            places[number] = p
            number += 1
    return places[:number]


@kernel
def units_hold(shape, unit):
    """Orders with every unit holding."""
    order = np.full(shape[PROVINCES], NOBODY, np.int16)
    for p in range(shape[PROVINCES]):
        if unit[p] >= 0:
            order[p] = p
    return order


@kernel
def list_orders(shape, unit, order, side, supports, rows):
    """Write all joint orders of one side, without redundant supports, into `rows` int16 [most, provinces].

    Args:
        order: the other side's orders; copied to every row.
        side: DEVIATORS or PUNISHERS. supports: see `list_supports`.

    Returns:
        their number; `most` + 1 if there are more than `most`.
    """
    provinces, places, plan = shape[PROVINCES], places_of(shape, unit, side), order.copy()
    number = len(places)
    moves, counts, choice = counter(number)
    helps, held, helped = counter(number)
    for i in range(number):
        counts[i] = list_moves(shape, places[i], moves[i])
    found = 0
    while True:
        for i in range(number):
            plan[places[i]] = moves[i, choice[i]]
        for i in range(number):
            held[i], helped[i] = 1, 0
            if plan[places[i]] == places[i]:
                held[i] = list_supports(shape, unit, plan, places[i], supports, helps[i])
        while True:
            if found == len(rows):
                return found + 1
            for p in range(provinces):
                rows[found, p] = plan[p]
            for i in range(number):
                if helped[i]:
                    rows[found, places[i]] = helps[i, helped[i]]
            found += 1
            if not advance(helped, held, number):
                break
        if not advance(choice, counts, number):
            return found


@kernel
def _is_reached(shape, unit, place):
    """Whether the deviator has a unit in a place or next to it."""
    if unit[place] == shape[DEVIATOR]:
        return True
    for q in range(shape[PROVINCES]):
        if unit[q] == shape[DEVIATOR] and adjacent(shape, q, place):
            return True
    return False


@kernel
def _matters(shape, owner, unit, core):
    """Whether a core is worth moving to: the deviator can reach it, or owns it, or owns or occupies a leaf of it."""
    d = shape[DEVIATOR]
    if owner[core] == d or _is_reached(shape, unit, core):
        return True
    for p in range(shape[CORES], shape[PROVINCES]):
        if core_of(shape, p) == core and (owner[p] == d or unit[p] == d):
            return True
    return False


@kernel
def _list_steps(shape, owner, unit, p, options):
    """List the sensible moves of a punisher's unit, and a hold. Returns their number.

    Ties go to the first plan, so a unit in a core lists its hold first, and a unit in a leaf lists it last, preferring
    to enter its core.
    """
    d, n = shape[DEVIATOR], shape[CORES]
    count = 0
    if p < n:
        options[0] = p
        count = 1
    for q in range(shape[PROVINCES]):
        if not adjacent(shape, p, q):
            continue
        if (q >= n and (owner[q] == d or unit[q] == d)) or (q < n and (p >= n or _matters(shape, owner, unit, q))):
            options[count] = q
            count += 1
    if p >= n:
        options[count] = p
        count += 1
    return count


@kernel
def _are_apart(shape, unit, order, places):
    """Whether no punisher moves against another punisher that stays, or trades places with one."""
    for p in places:
        q = order[p]
        if q >= SUPPORT or q == p or unit[q] < 0 or unit[q] == shape[DEVIATOR]:
            continue
        if order[q] == q or order[q] >= SUPPORT or order[q] == p:
            return False
    return True


@kernel
def _list_help(shape, unit, order, p, options):
    """List a hold, then the useful supports of a punisher's unit. Returns their number.

    A support is useful if the deviator can reach the supported unit's target, a core.
    """
    d = shape[DEVIATOR]
    options[0] = p
    count = 1
    for q in range(shape[PROVINCES]):
        if q == p or unit[q] < 0 or unit[q] == d:
            continue
        target = np.int64(order[q]) if order[q] < SUPPORT else q
        if target == p or not adjacent(shape, p, target):
            continue
        if target < shape[CORES] and _is_reached(shape, unit, target):
            options[count] = SUPPORT + 16 * q + target
            count += 1
    return count


@kernel
def _worst(shape, owner, unit, is_fall, plan, replies, number, bound, order, w):
    """The highest score of any reply to a plan; stops early at a score of at least `bound`.

    A refuting reply moves toward the front of `replies`, since it often refutes other plans, too.
    """
    d, provinces = shape[DEVIATOR], shape[PROVINCES]
    for p in range(provinces):
        order[p] = plan[p]
    most = -WORST
    for r in range(number):
        for p in range(provinces):
            if unit[p] == d:
                order[p] = replies[r, p]
        adjudicate(shape, unit, order, w)
        most = max(most, score_position(shape, owner, unit, is_fall, w))
        if most >= bound:
            front = r // 2
            for p in range(provinces):
                replies[r, p], replies[front, p] = replies[front, p], replies[r, p]
            return most
    return most


@kernel
def punishing_moves(shape, owner, unit, is_fall, best):
    """Write the punishers' orders in a movement phase into `best` int16 [provinces]; the deviator's units hold in it.

    The plan with the lowest best-reply score, the first of equals. If there are more than MAX_PLANS plans, the best of
    the first MAX_PLANS, improved by `_improve`.
    """
    rows, scores = np.empty((1, shape[PROVINCES]), np.int16), np.empty(1, np.int64)
    ranked_moves(shape, owner, unit, is_fall, rows, scores)
    best[:] = rows[0]


@kernel
def ranked_moves(shape, owner, unit, is_fall, rows, scores):
    """Write the punishers' best plans and their scores, best first.

    Args:
        rows: int16 [room, provinces]. scores: int64 [room].

    Returns:
        the number of plans, at most `room`.
    """
    provinces, places = shape[PROVINCES], places_of(shape, unit, PUNISHERS)
    number = len(places)
    plan, order = units_hold(shape, unit), np.empty(provinces, np.int16)
    replies = np.empty((MAX_REPLIES, provinces), np.int16)
    answers = min(list_orders(shape, unit, plan, DEVIATORS, OWN, replies), MAX_REPLIES)
    w = np.zeros((SCRATCH_ROWS, MAX_PROVINCES), np.int16)
    steps, counts, choice = counter(number)
    helps, held, helped = counter(number)
    for i in range(number):
        counts[i] = _list_steps(shape, owner, unit, places[i], steps[i])
    found, looked = np.int64(0), 0
    while looked < MAX_PLANS:
        for i in range(number):
            plan[places[i]] = steps[i, choice[i]]
        if _are_apart(shape, unit, plan, places):
            for i in range(number):
                p = places[i]
                held[i] = _list_help(shape, unit, plan, p, helps[i]) if plan[p] == p else 1
                helped[i] = 0
            while True:
                for i in range(number):
                    if held[i] > 1:
                        plan[places[i]] = helps[i, helped[i]]
                bound = WORST if found < len(rows) else scores[found - 1]
                worst = _worst(shape, owner, unit, is_fall, plan, replies, answers, bound, order, w)
                looked += 1
                if worst < bound:
                    found = _rank(plan, worst, rows, scores, found)
                if looked == MAX_PLANS or not advance(helped, held, number):
                    break
        if not advance(choice, counts, number):
            return found
    plan[:] = rows[0]
    score = _improve(shape, owner, unit, is_fall, plan, scores[0], places, steps, counts, replies[:answers], order, w)
    return _rank(plan, score, rows, scores, found) if score < scores[0] else found


@kernel
def _improve(shape, owner, unit, is_fall, plan, score, places, steps, counts, replies, order, w):
    """Improve a plan by local search, in place: change one unit's order, or add all possible supports to a move.

    Returns the plan's score.
    """
    tried, helps = plan.copy(), np.empty(MAX_OPTIONS, np.int16)
    again = True
    while again:
        again = False
        for i in range(len(places)):
            p = places[i]
            tried[:] = plan
            tried[p] = p
            number = _list_help(shape, unit, tried, p, helps)
            for option in range(2 * counts[i] + number):
                tried[:] = plan
                if option < 2 * counts[i]:
                    tried[p] = steps[i, option // 2]
                    if option % 2:
                        _all_support(shape, tried, places, p)
                else:
                    tried[p] = helps[option - 2 * counts[i]]
                if not _are_apart(shape, unit, tried, places):
                    continue
                worst = _worst(shape, owner, unit, is_fall, tried, replies, len(replies), score, order, w)
                if worst < score:
                    score, again = worst, True
                    plan[:] = tried
    return score


@kernel
def _all_support(shape, order, places, p):
    """Let all holding or supporting punishers support the unit in p, if they can."""
    target = np.int64(order[p])
    for q in places:
        if q != p and q != target and (order[q] == q or order[q] >= SUPPORT) and adjacent(shape, q, target):
            order[q] = SUPPORT + 16 * p + target


@kernel
def _rank(plan, score, rows, scores, found):
    """Insert a plan by score, after equals; if full, it replaces the last. Returns the number of plans."""
    at = min(found, len(rows) - 1)
    while at > 0 and scores[at - 1] > score:
        scores[at] = scores[at - 1]
        rows[at] = rows[at - 1]
        at -= 1
    scores[at] = score
    for p in range(rows.shape[1]):
        rows[at, p] = plan[p]
    return min(found + 1, len(rows))


@kernel
def punishing_retreats(shape, lost, options, to):
    """Write the punishers' retreats into `to` int16 [cores]; NOBODY is a disband.

    Each unit retreats to its own leaf, else the first leaf, else the first core, that no other punisher has taken.

    Args:
        lost: int8 [cores], the power of the dislodged unit, or NOBODY.
        options: int64 [cores], its possible retreats as bits.
    """
    n = shape[CORES]
    taken = 0
    for c in range(n):
        to[c] = NOBODY
        if lost[c] == NOBODY or lost[c] == shape[DEVIATOR]:
            continue
        free = options[c] & ~taken
        if free >> (n + lost[c]) & 1:
            to[c] = n + lost[c]
        else:
            for i in range(shape[PROVINCES]):
                p = (i + n) % shape[PROVINCES]
                if free >> p & 1:
                    to[c] = p
                    break
        if to[c] >= 0:
            taken |= 1 << to[c]


@kernel
def punishing_winter(shape, owner, unit):
    """The provinces in which the punishers disband and build, as bits.

    They build at home whenever they may. They disband only what they must: first in others' leaves, then at home, then
    in cores.
    """
    n = shape[CORES]
    gone, built = 0, 0
    for power in range(shape[POWERS]):
        if power == shape[DEVIATOR]:
            continue
        home = n + power
        room = 0
        for p in range(shape[PROVINCES]):
            room += (owner[p] == power) - (unit[p] == power)
        if room > 0 and owner[home] == power and unit[home] == NOBODY:
            built |= 1 << home
        for stage in range(3):
            for p in range(shape[PROVINCES]):
                is_turn = (stage == 0 and p >= n and p != home) or (stage == 1 and p == home) or (stage == 2 and p < n)
                if room < 0 and unit[p] == power and is_turn:
                    gone |= 1 << p
                    room += 1
    return gone, built
