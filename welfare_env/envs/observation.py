"""Observations: a power's view of the board as arrays, for learners.

The board is a float32 array [provinces, features] with values in [-1, 1]. Powers are rotated so that the observer comes
first: the same network can play every seat. Features, in this order (P powers):

====================  ========  ==========================================================================
name                  columns   meaning
====================  ========  ==========================================================================
unit                  P         a unit of this power stands here
fleet                 1         the unit is a fleet
coast                 2         the unit is on the province's first or second named coast
dislodged             2         a dislodged unit of the observer / of another power waits here
owner                 P         this power owns the center here
center                1         there is a supply center
home                  P         the province is a home of this power
land, coast, sea      3         kind of province (a port counts as coast)
asked                 1         the unit here is to be ordered now (movement and retreats)
own order             9         what the observer has ordered here in this phase: hold, move, move by convoy, support
                                of a unit, support of a move, convoy, retreat, disband, build
own destination       1         an own unit was ordered to move or retreat to here
own help              1         an own unit was ordered to support or convoy what stands here
phase                 5         Spring moves, Spring retreats, Fall moves, Fall retreats, Winter; on every row
messages              1         this is a message round; on every row
years left            1         fraction of the game's years still to play; on every row
balance               P         centers minus units, divided by the centers of the map; on every row
welfare               P         welfare points per year played and center of the map, clipped; on every row
====================  ========  ==========================================================================
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces

from welfare_env.board.board import Board
from welfare_env.board.orders import BUILD, CONVOY, GIVE, HOLD, WAIVE
from welfare_env.compiling import compiler_of
from welfare_env.engine import DISLODGED, PHASE, UNITS, YEAR, State
from welfare_env.engine import tables as t
from welfare_env.engine.tables import tables_of

ENCODING = 1  # version of what environments observe: raise it whenever an entry changes its meaning
ORDER_COLUMNS = BUILD - HOLD + 1
kernel = compiler_of([], [vars(t), globals()])


def num_features(board: Board) -> int:
    """Columns of an observation."""
    return 5 * len(board.powers) + 28


class MaskedSpace(spaces.Dict):
    """Observations with an action mask.

    Libraries that cannot use it show it in their error, or look for a key that it lacks: both say what to write.
    """

    def __getitem__(self, key: str) -> spaces.Space[Any]:
        if key == "observations" and key not in self.spaces:
            raise KeyError(f"no {key!r} among {sorted(self.spaces)}: make the environment with flat=True")
        return super().__getitem__(key)

    def __repr__(self) -> str:
        return f"{super().__repr__()} (RLlib: for a network that keeps to the mask give training.LegalOrdersModule)"


def board_space(board: Board) -> spaces.Box:
    """The space of `observe`."""
    return spaces.Box(-1, 1, (len(board.provinces), num_features(board)), np.float32)


def observe(
    board: Board,
    state: State,
    years: int,
    power: int,
    asked: int = -1,
    asked_messages: bool = False,
    pending: Sequence[int] = (),
) -> np.ndarray:
    """The board as `power` sees it: float32 [provinces, features].

    Args:
        years: length of the game.
        asked: the province to be ordered, or -1.
        asked_messages: whether this is a message round.
        pending: numbers of the orders that the power has given in this phase.
    """
    seen = np.empty((len(board.provinces), num_features(board)), np.float32)
    ordered = np.array(pending, np.int32)
    fill(tables_of(board).numbers, state.row, years, power, asked, asked_messages, ordered, seen)
    return seen


@kernel
def fill(T, s, years, power, asked, asked_messages, pending, seen):  # type: ignore[no-untyped-def]
    """Write a power's observation into `seen`, float32 [provinces, features]. Other arguments: see `observe`."""
    powers, provinces, centers = T[t.N_POWERS], T[t.N_PROVINCES], T[t.N_CENTERS]
    seen[:] = 0
    fleet = powers
    dislodged = fleet + 3
    owner = dislodged + 2
    center = owner + powers
    home = center + 1
    kind = home + powers
    own = kind + 4
    phase_columns = own + ORDER_COLUMNS + 2
    balance = phase_columns + 7
    for u in range(s[UNITS]):
        piece = s[T[t.UNIT_PIECE] + u]
        province, seat = T[T[t.PIECE_PROVINCE] + piece], (s[T[t.UNIT_POWER] + u] - power) % powers
        seen[province, seat] = 1
        seen[0, balance + seat] -= 1
        seen[province, fleet] = T[T[t.PIECE_TYPE] + piece]
        coast = T[T[t.LOCATION_COAST] + T[T[t.PIECE_LOCATION] + piece]]
        if coast == 1 or coast == 2:
            seen[province, fleet + coast] = 1
    for d in range(s[DISLODGED]):
        province = T[T[t.PIECE_PROVINCE] + s[T[t.LOST_PIECE] + d]]
        seen[province, dislodged + (s[T[t.LOST_POWER] + d] != power)] = 1
    for c in range(centers):
        province = T[T[t.CENTER_PROVINCE] + c]
        holder, native = s[T[t.OWNER] + c], T[T[t.HOME_POWER] + c]
        seen[province, center] = 1
        if holder >= 0:
            seen[province, owner + (holder - power) % powers] = 1
            seen[0, balance + (holder - power) % powers] += 1
        if native >= 0:
            seen[province, home + (native - power) % powers] = 1
    if asked >= 0:
        seen[asked, kind + 3] = 1
    for i in range(len(pending)):
        order = T[T[t.ORDER_PACKED] + pending[i]]
        what = order & 15
        if what == WAIVE or what == GIVE:
            continue
        seen[T[T[t.PIECE_PROVINCE] + (order >> 4 & 511)], own + what - HOLD] = 1
        if 2 <= what <= 3 or what == 7:  # moves, by convoy or not, and retreats
            seen[T[T[t.LOCATION_PROVINCE] + (order >> 22 & 511)], own + ORDER_COLUMNS] = 1
        elif 4 <= what <= CONVOY:
            seen[T[T[t.PIECE_PROVINCE] + (order >> 13 & 511)], own + ORDER_COLUMNS + 1] = 1
    seen[0, phase_columns + s[PHASE]] = 1
    seen[0, phase_columns + 5] = asked_messages
    seen[0, phase_columns + 6] = 1 - s[YEAR] / years
    for other in range(powers):
        seat = (other - power) % powers
        seen[0, balance + seat] = max(-1.0, min(1.0, seen[0, balance + seat] / centers))
        points = s[T[t.WELFARE] + other] / (centers * (s[YEAR] + 1))
        seen[0, balance + powers + seat] = max(-1.0, min(1.0, points))
    for p in range(provinces):
        seen[p, kind + T[T[t.PROVINCE_KIND] + p]] = 1
        for column in range(phase_columns, seen.shape[1]):
            seen[p, column] = seen[0, column]


def fill_many(
    board: Board, states: np.ndarray, years: int, games: np.ndarray, powers: np.ndarray, seen: np.ndarray
) -> None:
    """Write the observations of `powers` in `games` to `seen`. Nothing is checked.

    Args:
        states: int32 [n, state size], C-contiguous.
        games, powers: int64 [k].
        seen: float32 [k, provinces, features], C-contiguous.
    """
    rows = states.view()
    rows.setflags(write=False)  # always, or numba would compile the kernels a second time for writable rows
    _fill_many(tables_of(board).numbers, rows, years, games, powers, seen)


@kernel
def _fill_many(T, S, years, games, powers, seen):  # type: ignore[no-untyped-def]
    """`fill` for many: the observation of powers[i] in state S[games[i]], into seen[i]."""
    nowhere, no, none = np.int64(-1), np.bool_(False), np.zeros(0, np.int32)  # typed, as in `engine.kernels`
    for i in range(len(games)):
        fill(T, S[games[i]], years, powers[i], nowhere, no, none, seen[i])
