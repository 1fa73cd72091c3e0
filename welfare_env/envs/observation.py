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
welfare               P         welfare points x, in even shares of all centers a year, as x / sqrt(1 + x²); on
                                every row
round                 2         the number of the message round, divided by their number; this is the last one;
                                on every row
dislodged unit        P + 3     whose it is that waits here; a fleet; on the first or second named coast
retreats              K         it may retreat to the first, second ... place that its unit can reach from here, in
                                the order of ``board.moves``: not to where the attacker came from, for example
own order             1         its number in the order vocabulary plus 1, divided by the vocabulary's length
====================  ========  ==========================================================================

This is all that legal orders and their results depend on, now and later, up to what the others order in this phase.
The networks of `training.train` see an earlier form: no more than the columns up to welfare, which is there the points
per year played and center of the map, clipped.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces

from welfare_env.board.board import Board
from welfare_env.board.orders import BUILD, CONVOY, GIVE, HOLD, WAIVE
from welfare_env.compiling import compiler_of
from welfare_env.engine import DISLODGED, PHASE, UNITS, YEAR, State, layout_of
from welfare_env.engine import tables as t
from welfare_env.engine.tables import tables_of

ENCODING = 2  # version of what environments observe: raise it whenever an entry changes its meaning
ORDER_COLUMNS = BUILD - HOLD + 1
kernel = compiler_of([], [vars(t), globals()])


def num_features(board: Board) -> int:
    """Columns of an observation."""
    return earlier_features(board) + len(board.powers) + 6 + layout_of(board).most_options


def earlier_features(board: Board) -> int:
    """Columns of an observation in the earlier form."""
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
    talk: float = 0.0,
    pending: Sequence[int] = (),
) -> np.ndarray:
    """The board as `power` sees it: float32 [provinces, features].

    Args:
        years: length of the game.
        asked: the province to be ordered, or -1.
        talk: the number of the message round, divided by their number; 0: orders are asked for.
        pending: numbers of the orders that the power has given in this phase.
    """
    seen = np.empty((len(board.provinces), num_features(board)), np.float32)
    ordered = np.array(pending, np.int32)
    fill(tables_of(board).numbers, state.row, years, power, asked, float(talk), len(board.orders), ordered, seen)
    return seen


@kernel
def fill(T, s, years, power, asked, talk, orders, pending, seen):  # type: ignore[no-untyped-def]
    """Write a power's observation into `seen`, float32 [provinces, features]. Other arguments: see `observe`.

    `orders` is the length of the order vocabulary. The width of `seen` says in which form.
    """
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
    whole_end = earlier_end = balance + 2 * powers
    is_earlier = seen.shape[1] == earlier_end
    if not is_earlier:
        whole_end += 2
    lost = whole_end
    retreats = lost + powers + 3
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
        piece = s[T[t.LOST_PIECE] + d]
        province = T[T[t.PIECE_PROVINCE] + piece]
        seen[province, dislodged + (s[T[t.LOST_POWER] + d] != power)] = 1
        if is_earlier:
            continue
        seen[province, lost + (s[T[t.LOST_POWER] + d] - power) % powers] = 1
        seen[province, lost + powers] = T[T[t.PIECE_TYPE] + piece]
        coast = T[T[t.LOCATION_COAST] + T[T[t.PIECE_LOCATION] + piece]]
        if coast == 1 or coast == 2:
            seen[province, lost + powers + coast] = 1
        first, options = T[T[t.MOVE_START] + piece], T[t.LOST_OPTION] + d * T[t.N_OPTIONS]
        for place in range(first, T[T[t.MOVE_START] + piece + 1]):
            for i in range(s[T[t.LOST_OPTIONS] + d]):
                if s[options + i] == T[T[t.MOVE_LOCATION] + place]:
                    seen[province, retreats + place - first] = 1
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
        ordered = T[T[t.PIECE_PROVINCE] + (order >> 4 & 511)]
        seen[ordered, own + what - HOLD] = 1
        if not is_earlier:
            seen[ordered, seen.shape[1] - 1] = (pending[i] + 1) / orders
        if 2 <= what <= 3 or what == 7:  # moves, by convoy or not, and retreats
            seen[T[T[t.LOCATION_PROVINCE] + (order >> 22 & 511)], own + ORDER_COLUMNS] = 1
        elif 4 <= what <= CONVOY:
            seen[T[T[t.PIECE_PROVINCE] + (order >> 13 & 511)], own + ORDER_COLUMNS + 1] = 1
    seen[0, phase_columns + s[PHASE]] = 1
    seen[0, phase_columns + 5] = talk > 0
    seen[0, phase_columns + 6] = 1 - s[YEAR] / years
    for other in range(powers):
        seat = (other - power) % powers
        seen[0, balance + seat] = max(-1.0, min(1.0, seen[0, balance + seat] / centers))
        points = s[T[t.WELFARE] + other] / (centers * (s[YEAR] + 1))
        if is_earlier:
            seen[0, balance + powers + seat] = max(-1.0, min(1.0, points))
        else:
            seen[0, balance + powers + seat] = points * powers / math.sqrt(1 + (points * powers) ** 2)
    if not is_earlier:
        seen[0, earlier_end] = talk
        seen[0, earlier_end + 1] = talk == 1
    for p in range(provinces):
        seen[p, kind + T[T[t.PROVINCE_KIND] + p]] = 1
        for column in range(phase_columns, whole_end):
            seen[p, column] = seen[0, column]


def fill_many(
    board: Board, states: np.ndarray, years: int, games: np.ndarray, powers: np.ndarray, seen: np.ndarray
) -> None:
    """Write the observations of `powers` in `games` to `seen`, in the form of its width. Nothing is checked.

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
    nowhere, no, one, none = (
        np.int64(-1),
        np.float64(0),
        np.int64(1),
        np.zeros(0, np.int32),
    )  # typed, as in `engine.kernels`
    for i in range(len(games)):
        fill(T, S[games[i]], years, powers[i], nowhere, no, one, none, seen[i])
