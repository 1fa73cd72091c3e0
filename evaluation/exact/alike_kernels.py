"""Kernel of positions in which the names of players who are alike do not count."""

from __future__ import annotations

import numpy as np

from agents.cliques.kernels import DEVIATOR, MOST_PROVINCES, POWERS, PROVINCES, kernel
from agents.cliques.shape import NOBODY
from agents.cliques.symmetry import new_place, relabelling
from welfare_env.engine import DISLODGED, DONE, UNITS

IMPORTS_DIGEST = "1e8d84bfcdf3ff3b"  # of the kernels that those below call; see `agents.cliques.kernels`

# Columns of `at`: offsets and sizes of a state's row, as `welfare_env.engine.Layout`.
POWER, PIECE, LOST_POWER, LOST_PIECE, LOST_OPTIONS, LOST_OPTION, MOST_OPTIONS, OWNER = range(8)
# Rows of `maps`: piece -> our place, our place -> piece, centre -> place, location -> place. Toy boards have one of
# each in every province.
OF_PIECE, TO_PIECE, OF_CENTRE, OF_LOCATION = range(4)


@kernel
def relabel_rows(rows, shape, at, maps):
    """Relabel positions by `agents.cliques.symmetry`, in place.

    Args:
        rows: int32 [n, state size], canonical but for the names.
        shape: see `agents.cliques.kernels`.
        at: int64 [8], where what is in a row. maps: int64 [4, provinces], the board's numbers as ours.
    """
    owner, unit, lost = np.empty((3, MOST_PROVINCES), np.int8)
    options, seat = np.zeros((2, MOST_PROVINCES), np.int64)
    names = np.empty(MOST_PROVINCES, np.int64)
    for row in rows:
        if row[DONE]:
            continue
        owner[:], unit[:], lost[:], options[:] = NOBODY, NOBODY, NOBODY, 0
        for c in range(shape[PROVINCES]):
            owner[maps[OF_CENTRE, c]] = row[at[OWNER] + c]
        for i in range(row[UNITS]):
            unit[maps[OF_PIECE, row[at[PIECE] + i]]] = row[at[POWER] + i]
        for i in range(row[DISLODGED]):
            place = maps[OF_PIECE, row[at[LOST_PIECE] + i]]
            lost[place] = row[at[LOST_POWER] + i]
            for k in range(row[at[LOST_OPTIONS] + i]):
                options[place] |= 1 << maps[OF_LOCATION, row[at[LOST_OPTION] + i * at[MOST_OPTIONS] + k]]
        _keep(shape, relabelling(shape, owner, unit, lost, options, seat), seat)
        _write_owners(row, shape, at, maps, seat, owner)
        count = np.int64(row[UNITS])
        for i in range(count):
            names[i] = _name(row[at[POWER] + i], row[at[PIECE] + i], shape, maps, seat)
        found = np.sort(names[:count])
        for i in range(count):
            row[at[POWER] + i], row[at[PIECE] + i] = found[i] >> 16, found[i] & 0xFFFF
        if row[DISLODGED]:
            _write_lost(row, shape, at, maps, seat)


@kernel
def _keep(shape, front, seat):
    """Let the deviator, which got the first seat of its kind, keep its own."""
    for power in range(shape[POWERS]):
        if seat[power] == shape[DEVIATOR]:
            seat[power] = front
    seat[shape[DEVIATOR]] = shape[DEVIATOR]


@kernel
def _name(power, piece, shape, maps, seat):
    """A unit after relabelling, as one number that sorts by power and piece."""
    return seat[power] << 16 | maps[TO_PIECE, new_place(shape, seat, maps[OF_PIECE, piece])]


@kernel
def _write_owners(row, shape, at, maps, seat, owner):
    for c in range(shape[PROVINCES]):
        old = maps[OF_CENTRE, c]
        new = new_place(shape, seat, old)
        for other in range(shape[PROVINCES]):
            if maps[OF_CENTRE, other] == new:
                row[at[OWNER] + other] = seat[owner[old]] if owner[old] >= 0 else NOBODY


@kernel
def _write_lost(row, shape, at, maps, seat):
    """The dislodged units, by power and piece, with their options in the sequence of the board's locations."""
    count, width = np.int64(row[DISLODGED]), at[MOST_OPTIONS]
    names = np.empty(count, np.int64)
    before = row[at[LOST_OPTION] : at[LOST_OPTION] + count * width].copy()
    numbers = row[at[LOST_OPTIONS] : at[LOST_OPTIONS] + count].copy()
    for i in range(count):
        names[i] = _name(row[at[LOST_POWER] + i], row[at[LOST_PIECE] + i], shape, maps, seat)
    for at_row, i in enumerate(np.argsort(names)):
        row[at[LOST_POWER] + at_row], row[at[LOST_PIECE] + at_row] = names[i] >> 16, names[i] & 0xFFFF
        row[at[LOST_OPTIONS] + at_row] = numbers[i]
        places = np.zeros(MOST_PROVINCES, np.int64)
        for k in range(numbers[i]):
            places[new_place(shape, seat, maps[OF_LOCATION, before[i * width + k]])] = 1
        written = 0
        for location in range(shape[PROVINCES]):
            if written < numbers[i] and places[maps[OF_LOCATION, location]]:
                row[at[LOST_OPTION] + at_row * width + written] = location
                written += 1
        for k in range(numbers[i], width):
            row[at[LOST_OPTION] + at_row * width + k] = before[i * width + k]
