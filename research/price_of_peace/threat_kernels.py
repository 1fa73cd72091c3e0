"""The next node for each pair of joint orders of the deviator and of the punishers, as a numba kernel."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import agents.toy_boards as boards
import evaluation.exact as exact
from agents.toy_boards.kernels import MAX_PROVINCES, PROVINCES, SCRATCH_ROWS
from agents.toy_boards.shape import NOBODY
from evaluation.exact.graph_kernels import PHASE_OF, hash_of, insert, pack, position, settle
from welfare_env.compiling import compiler_of

SOURCES = [*Path(boards.__path__[0]).glob("*.py"), *Path(exact.__path__[0]).glob("*_kernels.py"), Path(__file__)]
kernel = compiler_of(SOURCES, [], error_model="numpy")
CACHED = 1 << 14  # size of the cache of positions before relabeling, for one call of `fill`
PROBES = 8


@kernel
def fill(t, node, mine, theirs, to):
    """Write the next node for each pair of joint orders into `to` int32 [deviator's, punishers'].

    Args:
        t: the table of a `PunisherSearch`.
        mine, theirs: int16 [n, provinces] and [m, provinces], joint orders, with NOBODY for the other side's.

    Returns:
        False if there is no room for new nodes.
    """
    code, owner, unit, lost, options = position(t, node)
    w, order = np.zeros((SCRATCH_ROWS, MAX_PROVINCES), np.int16), np.empty(MAX_PROVINCES, np.int16)
    seen, known = np.zeros((CACHED, 4), np.int64), np.zeros(CACHED, np.int32)
    key = np.empty(4, np.int64)
    new_owner, new_unit, new_lost, new_options = owner.copy(), unit.copy(), lost.copy(), options.copy()
    for i in range(len(mine)):
        for j in range(len(theirs)):
            for p in range(t.shape[PROVINCES]):
                order[p] = mine[i, p] if mine[i, p] != NOBODY else theirs[j, p]
            new_owner[:], new_unit[:], new_lost[:], new_options[:] = owner, unit, lost, options
            phase = settle(t.shape, PHASE_OF[code], new_owner, new_unit, new_lost, new_options, order, w)
            pack(t.shape, phase, new_owner, new_unit, new_lost, new_options, key)
            slot = _slot(seen, key)
            if slot >= 0 and known[slot]:
                to[i, j] = known[slot] - 1
                continue
            found = insert(t, phase, new_owner, new_unit, new_lost, new_options)
            if found < 0:
                return False
            to[i, j] = found
            if slot >= 0:
                seen[slot] = key
                known[slot] = found + 1
    return True


@kernel
def _slot(seen, key):
    """The slot of a key, or a free slot for it; -1 if there is none."""
    slot = hash_of(key) & (CACHED - 1)
    for _ in range(PROBES):
        row = seen[slot]
        if row[0] == 0 and row[1] == 0:
            return slot
        if row[0] == key[0] and row[1] == key[1] and row[2] == key[2] and row[3] == key[3]:
            return slot
        slot = (slot + 1) & (CACHED - 1)
    return -1
