"""Many games at once. Row S[g] is game g; its legal lists are rows first_row[g]:first_row[g + 1]."""

from __future__ import annotations

import numpy as np

from welfare_env.engine.kernels.legal_orders import legal
from welfare_env.engine.kernels.random_play import choose, gather
from welfare_env.engine.kernels.state_rows import kernel
from welfare_env.engine.kernels.stepping import step
from welfare_env.engine.tables import *


@kernel
def legal_games(T, M, R, S, w, b, x, g, last, orders, starts, games, slots, powers, first_row):
    """Append the legal lists of games g:last.

    Returns the first game for which there is no room in `orders`, or `last`.
    """
    while g < last:
        row = first_row[g]
        first = np.int64(starts[row])
        rows, _ = legal(
            T, M, R, S[g], w, b, x, orders, starts[row:], slots[row:], powers[row:], first, len(orders) - first
        )
        if rows < 0:
            return g
        for r in range(row, row + rows):
            games[r] = g
        g += 1
        first_row[g] = row + rows
    return last


@kernel
def sample_games(T, R, S, w, rng, g, last, starts, slots, powers, first_row, choices):
    """Random choices for games g:last, each from its own random stream."""
    while g < last:
        rows = np.int64(first_row[g]), np.int64(first_row[g + 1])
        choose(T, R, S[g], w, rng, g, rows[0], rows[1], starts, slots, powers, choices)
        g += 1


@kernel
def step_games(T, M, R, S, w, b, g, last, orders, starts, slots, powers, first_row, choices, flags, final, gains, done):
    """Play a phase of games g:last. A game that ends has its last state copied to final[g] and restarts from
    final[len(S)].

    Args:
        final: int32 [games + 1, state size].
        gains: int32 [games, powers], the welfare points of the phase.
        done: bool [games].

    Returns the number of games that ended.
    """
    ended, welfare, chosen, chosen_powers = 0, T[WELFARE], w[W_CHOICE], w[W_CHOICE_POWER]
    while g < last:
        s = S[g]
        for power in range(T[N_POWERS]):
            gains[g, power] = -s[welfare + power]
        rows = np.int64(first_row[g]), np.int64(first_row[g + 1])
        n = gather(T, R, s, w, rows[0], rows[1], orders, starts, slots, powers, choices, chosen, chosen_powers)
        step(T, M, R, s, w, b, chosen, chosen_powers, ZERO, n, flags)
        for power in range(T[N_POWERS]):
            gains[g, power] += s[welfare + power]
        done[g] = s[DONE] == 1
        if done[g]:
            ended += 1
            final[g] = s
            s[:] = final[len(S)]
        g += 1
    return ended
