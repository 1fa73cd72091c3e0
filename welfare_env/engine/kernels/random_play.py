"""Random legal play with one random stream per game: splitmix64 (Steele, Lea, Flood 2014)."""

from __future__ import annotations

import numpy as np

from welfare_env.engine import WINTER
from welfare_env.engine.kernels.legal_orders import legal
from welfare_env.engine.kernels.state_rows import kernel, limit, occupy
from welfare_env.engine.kernels.stepping import step
from welfare_env.engine.tables import *


@kernel
def draw(rng, g, bound):
    """A number from 0 to bound - 1 from game g's own stream. `rng` is uint64 [games]."""
    rng[g] += np.uint64(0x9E3779B97F4A7C15)
    z = rng[g]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    # Multiply-shift: the bias for bounds below 2**16 is under 2**-15 of a draw's share.
    return np.int64(((z >> np.uint64(32)) * np.uint64(bound)) >> np.uint64(32))


@kernel
def choose(T, R, s, w, rng, g, first, last, starts, slots, powers, choices):
    """Random choices for rows first:last of the legal lists: uniform for every unit; in Winter as the random policy.

    Winter: in the welfare variant each unit is disbanded with probability 1/2; if none is, or with BUILD_AND_DISBAND,
    the power builds as many units as allowed, at random sites. In both variants surplus units are left to forced
    removal.

    Args:
        choices: int32, written at first:last; an index into the row's list, or -1 for no order.
    """
    if s[PHASE] != WINTER:
        for r in range(first, last):
            choices[r] = draw(rng, g, starts[r + 1] - starts[r])
        return
    occupy(T, s, w)
    limit(T, R, s, w)
    for power in range(T[N_POWERS]):
        w[W_UNITS, power] = 0  # from here on: units disbanded
        w[W_CENTERS, power] = 0  # and open build sites
    for r in range(first, last):
        choices[r] = -1
        if slots[r] >= s[UNITS]:
            w[W_CENTERS, powers[r]] += 1
        elif R[IS_WELFARE] and draw(rng, g, np.int64(2)) == 0:
            choices[r] = 0
            w[W_UNITS, powers[r]] += 1
    for r in range(first, last):
        power = powers[r]
        if slots[r] < s[UNITS] or (w[W_UNITS, power] > 0 and not R[BUILD_AND_DISBAND]):
            continue
        # Selection sampling: every set of sites is equally likely.
        if draw(rng, g, np.int64(w[W_CENTERS, power])) < w[W_BUILDS, power]:
            choices[r] = draw(rng, g, starts[r + 1] - starts[r])
            w[W_BUILDS, power] -= 1
        w[W_CENTERS, power] -= 1


@kernel
def gather(T, R, s, w, first, last, orders, starts, slots, powers, choices, chosen, chosen_powers):
    """Convert choices to orders: int32 `chosen` and their powers `chosen_powers`. Returns their number.

    A choice outside its list gives no order. In Winter a power's first order decides whether it builds or disbands;
    orders of the other kind (unless BUILD_AND_DISBAND) and surplus orders are dropped.
    """
    n = 0
    winter = s[PHASE] == WINTER
    if winter:
        occupy(T, s, w)
        limit(T, R, s, w)
        for power in range(T[N_POWERS]):
            w[W_BEFORE, power] = 0
            if R[IS_WELFARE]:
                w[W_DISBANDS, power] = s[UNITS]
    for r in range(first, last):
        power = powers[r]
        if choices[r] < 0 or choices[r] >= starts[r + 1] - starts[r]:
            continue
        if winter:
            builds = slots[r] >= s[UNITS]
            left, kind = (W_BUILDS, 2) if builds else (W_DISBANDS, 1)
            is_other = w[W_BEFORE, power] != 0 and w[W_BEFORE, power] != kind
            if w[left, power] <= 0 or (is_other and not R[BUILD_AND_DISBAND]):
                continue
            w[left, power] -= 1
            w[W_BEFORE, power] = kind
        chosen[n] = orders[starts[r] + choices[r]]
        chosen_powers[n] = power
        n += 1
    return n


@kernel
def play(T, M, R, s, w, b, x, start, rng, orders, starts, slots, powers, flags, phases):
    """Play `phases` phases of random legal play in one game, restarting from row `start` whenever it is over.

    `orders` has room for all legal orders of a position. Returns the number of games that ended.
    """
    ended = 0
    choices, chosen, chosen_powers = w[W_CHOICES], w[W_CHOICE], w[W_CHOICE_POWER]
    for _ in range(phases):
        rows, _ = legal(T, M, R, s, w, b, x, orders, starts, slots, powers, ZERO, len(orders))
        choose(T, R, s, w, rng, ZERO, ZERO, rows, starts, slots, powers, choices)
        n = gather(T, R, s, w, ZERO, rows, orders, starts, slots, powers, choices, chosen, chosen_powers)
        step(T, M, R, s, w, b, chosen, chosen_powers, ZERO, n, flags)
        if s[DONE]:
            ended += 1
            s[:] = start
    return ended
