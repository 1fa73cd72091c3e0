"""The combat table: for every province the units that move or hold there, with their strengths.

Entry u is unit u at its destination (or at home if it holds), entry N_UNITS + u is unit u at home after a bounce. The
entries of a province are a linked list.
"""

from __future__ import annotations

import numpy as np

from welfare_env.engine.kernels.state_rows import BOUNCE, MOVES, kernel
from welfare_env.engine.tables import *


@kernel
def _rank_entry(w, e, place, strength):
    """Add an entry to its province's ranking.

    W_BEST is the highest strength, W_MANY the number of entries that have it, W_FIRST one of these, W_SECOND the next
    lower strength.
    """
    if strength > w[W_BEST, place]:
        w[W_SECOND, place] = w[W_BEST, place]
        w[W_BEST, place] = strength
        w[W_MANY, place] = 1
        w[W_FIRST, place] = e
    elif strength == w[W_BEST, place]:
        w[W_MANY, place] += 1
    elif strength > w[W_SECOND, place]:
        w[W_SECOND, place] = strength


@kernel
def _add_entry(w, e, place, strength):
    w[W_STRENGTH, e] = strength
    w[W_ALIVE, e] = 1
    w[W_NEXT, e] = w[W_HEAD, place]
    w[W_HEAD, place] = e
    _rank_entry(w, e, place, strength)


@kernel
def rank_anew(w, place):
    """Recompute a province's ranking after an entry has become weaker or was removed."""
    w[W_BEST, place] = 0
    w[W_MANY, place] = 0
    w[W_SECOND, place] = 0
    e = w[W_HEAD, place]
    while e >= 0:
        if w[W_ALIVE, e]:
            _rank_entry(w, np.int64(e), place, np.int64(w[W_STRENGTH, e]))
        e = w[W_NEXT, e]


@kernel
def strengths(T, s, w):
    for p in range(T[N_PROVINCES]):
        w[W_HEAD, p] = -1
        w[W_BEST, p] = 0
        w[W_MANY, p] = 0
        w[W_SECOND, p] = 0
    for u in range(s[UNITS]):
        stays = w[W_COMMAND, u] != MOVES or w[W_RESULT, u] != 0
        place = w[W_PROVINCE, u] if stays else w[W_DEST_PROVINCE, u]
        _add_entry(w, np.int64(u), place, 1 + w[W_SUPPORT, u])


@kernel
def unit_of(T, e):
    return e if e < T[N_UNITS] else e - T[N_UNITS]


@kernel
def bounce(T, w, u):
    """Unit u bounces: it stays in its province."""
    w[W_RESULT, u] |= BOUNCE
    _add_entry(w, T[N_UNITS] + u, w[W_PROVINCE, u], ONE)
