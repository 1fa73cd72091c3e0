"""Kernels of the punishers: the orders that leave a deviator with least, looking one movement phase ahead.

Positions and orders are those of `agents.cliques.kernels`. The rule is a good one, not the best: `evaluation.exact`
says exactly how good.
"""

from __future__ import annotations

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
    TRIED,
    adjacent,
    adjudicate,
    core_of,
    kernel,
)
from agents.cliques.shape import NOBODY, SUPPORT

MOST_REPLIES = 20_000  # of the deviator that are looked at
MOST_PLANS = 2_000  # of the punishers that are looked at before the best of them is improved
MOST_OPTIONS = 128  # of one unit
WORST = 1 << 30

# Whose orders, and which supports. Numba compiles a kernel anew for every literal number that it is called with, and
# for rows of other layouts: hence no plain numbers here, and no rows by unpacking a table.
DEVIATORS, PUNISHERS = np.int64(0), np.int64(1)
OWN, KNOWN, GUESSED, ANY = np.int64(0), np.int64(1), np.int64(2), np.int64(3)

# What a unit, a center and so on is worth to the deviator after a movement phase.
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
def _score(shape, owner, unit, is_fall, w):
    """How well the deviator stands after a movement phase."""
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
    """Holding, then every step of a unit in p. Returns how many."""
    options[0] = p
    count = 1
    for q in range(shape[PROVINCES]):
        if adjacent(shape, p, q):
            options[count] = q
            count += 1
    return count


@kernel
def list_supports(shape, unit, order, p, supports, options):
    """Holding, then the supports of a unit in p that fit the orders of others. Returns how many.

    Args:
        supports: OWN, of its own power's units only; KNOWN, of all units; GUESSED, also of all moves that the
            deviator's units could make; ANY, of its side's units, and of all that the other side's could do.
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
    if supports == GUESSED:
        for q in range(shape[PROVINCES]):
            for target in range(shape[PROVINCES] if unit[q] == shape[DEVIATOR] else 0):
                if target != p and adjacent(shape, q, target) and adjacent(shape, p, target):
                    options[count] = SUPPORT + 16 * q + target
                    count += 1
    return count


@kernel
def counter(number):
    """To count through combinations of orders: the options of each unit, how many it has, and which are chosen."""
    options = np.empty((number, MOST_OPTIONS), np.int16)
    return options, np.zeros(number, np.int64), np.zeros(number, np.int64)


@kernel
def advance(choice, counts, number):
    """The next combination, the last fastest; False after the last one."""
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
    """Where the units of one side stand: int64 [units]."""
    places = np.empty(MOST_PROVINCES, np.int64)
    number = 0
    for p in range(shape[PROVINCES]):
        if unit[p] >= 0 and (unit[p] == shape[DEVIATOR]) == (side == DEVIATORS):
            places[number] = p
            number += 1
    return places[:number]


@kernel
def units_hold(shape, unit):
    """Orders by which every unit holds."""
    order = np.full(shape[PROVINCES], NOBODY, np.int16)
    for p in range(shape[PROVINCES]):
        if unit[p] >= 0:
            order[p] = p
    return order


@kernel
def list_orders(shape, unit, order, side, supports, rows):
    """All joint orders of one side that can make a difference, into `rows` int16 [most, provinces].

    Args:
        order: what the other side does; stands in the rows as well.
        side: DEVIATORS or PUNISHERS. supports: see `list_supports`.

    Returns:
        how many; one more than there is room for if there are too many.
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
    """Whether the deviator stands in a place or next to it."""
    if unit[place] == shape[DEVIATOR]:
        return True
    for q in range(shape[PROVINCES]):
        if unit[q] == shape[DEVIATOR] and adjacent(shape, q, place):
            return True
    return False


@kernel
def _matters(shape, owner, unit, core):
    """Whether a punisher has a reason to go to a core: the deviator owns it or a leaf behind it, or can get there."""
    d = shape[DEVIATOR]
    if owner[core] == d or _is_reached(shape, unit, core):
        return True
    for p in range(shape[CORES], shape[PROVINCES]):
        if core_of(shape, p) == core and (owner[p] == d or unit[p] == d):
            return True
    return False


@kernel
def _list_steps(shape, owner, unit, p, options):
    """What a punisher's unit may do but support: go where it matters, or hold. Returns how many.

    Of plans that are equally good the first is taken, so a unit in a leaf rather enters its core, in case that becomes
    free, and one in a core rather stays.
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
    """That no punisher runs into a friend who stays, or trades places with one."""
    for p in places:
        q = order[p]
        if q >= SUPPORT or q == p or unit[q] < 0 or unit[q] == shape[DEVIATOR]:
            continue
        if order[q] == q or order[q] >= SUPPORT or order[q] == p:
            return False
    return True


@kernel
def _list_help(shape, unit, order, p, options):
    """The supports of a punisher's unit that can matter: for friends whom the deviator can oppose."""
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
    """The highest score that a reply reaches against a plan, or one of at least `bound`.

    The reply that shows that a plan is bad comes to the front: it is bad for others as well.
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
        most = max(most, _score(shape, owner, unit, is_fall, w))
        if most >= bound:
            front = r // 2
            for p in range(provinces):
                replies[r, p], replies[front, p] = replies[front, p], replies[r, p]
            return most
    return most


@kernel
def punishing_moves(shape, owner, unit, is_fall, best):
    """The punishers' orders in a movement phase, into `best` int16 [provinces]; the deviator's units hold there.

    The plan whose worst reply is least bad, the first of equals. If there are more than MOST_PLANS, the best of the
    first ones, improved as far as `_improve` gets.
    """
    rows, scores = np.empty((1, shape[PROVINCES]), np.int16), np.empty(1, np.int64)
    ranked_moves(shape, owner, unit, is_fall, rows, scores)
    best[:] = rows[0]


@kernel
def ranked_moves(shape, owner, unit, is_fall, rows, scores):
    """The best plans of the punishers, the best first, and their scores.

    Args:
        rows: int16 [room, provinces]. scores: int64 [room].

    Returns:
        how many there are: `room`, or all.
    """
    provinces, places = shape[PROVINCES], places_of(shape, unit, PUNISHERS)
    number = len(places)
    plan, order = units_hold(shape, unit), np.empty(provinces, np.int16)
    replies = np.empty((MOST_REPLIES, provinces), np.int16)
    answers = min(list_orders(shape, unit, plan, DEVIATORS, OWN, replies), MOST_REPLIES)
    w = np.zeros((SCRATCH_ROWS, MOST_PROVINCES), np.int16)
    steps, counts, choice = counter(number)
    helps, held, helped = counter(number)
    for i in range(number):
        counts[i] = _list_steps(shape, owner, unit, places[i], steps[i])
    found, looked = np.int64(0), 0
    while looked < MOST_PLANS:
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
                if looked == MOST_PLANS or not advance(helped, held, number):
                    break
        if not advance(choice, counts, number):
            return found
    plan[:] = rows[0]
    score = _improve(shape, owner, unit, is_fall, plan, scores[0], places, steps, counts, replies[:answers], order, w)
    return _rank(plan, score, rows, scores, found) if score < scores[0] else found


@kernel
def _improve(shape, owner, unit, is_fall, plan, score, places, steps, counts, replies, order, w):
    """Change a unit's order, or order a step with all the support there is, while that makes a plan better.

    Returns the score of the plan.
    """
    tried, helps = plan.copy(), np.empty(MOST_OPTIONS, np.int16)
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
    """Punishers who stay support what the unit in p does, where they can."""
    target = np.int64(order[p])
    for q in places:
        if q != p and q != target and (order[q] == q or order[q] >= SUPPORT) and adjacent(shape, q, target):
            order[q] = SUPPORT + 16 * p + target


@kernel
def _rank(plan, score, rows, scores, found):
    """Put a plan behind those that are as good; the last one goes if there is no room. Returns how many there are."""
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
    """Where the punishers' dislodged units go, into `to` int16 [cores]; NOBODY disbands.

    The own leaf, else the first leaf, else the first core, that no friend has taken.

    Args:
        lost: int8 [cores], whose unit was dislodged there, or NOBODY.
        options: int64 [cores], a bit for each province that it may go to.
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
    """Provinces in which the punishers disband, and in which they build, as bits.

    They build at home whenever they may, and disband only what they must: in others' leaves first, then at home, then
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
