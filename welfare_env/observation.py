"""Observations: what a power may see, as arrays for learners.

The board is a float32 array [provinces, features] with values in [-1, 1]. Powers are rotated so that the observer is
first: the same network plays every seat. Features, in this sequence (P powers):

====================  ========  ==========================================================================
name                  columns   meaning
====================  ========  ==========================================================================
unit                  P         a unit of this power stands here
fleet                 1         the unit is a fleet
coast                 2         the unit is on the province's first or second named coast
dislodged             2         a dislodged unit of the observer / of another power waits here
owner                 P         this power owns the centre here
center                1         there is a supply centre
home                  P         the province is a home of this power
land, coast, sea      3         kind of province (a port counts as coast)
asked                 1         the order asked for now is for what stands here (or may be built here)
phase                 5         Spring moves, Spring retreats, Fall moves, Fall retreats, Winter; on every row
messages              1         messages are asked for, not orders; on every row
years left            1         share of the game's years still to play; on every row
balance               P         centres less units, divided by the centres of the map; on every row
welfare               P         welfare points a year played and centre of the map, clipped; on every row
====================  ========  ==========================================================================
"""

from __future__ import annotations

import functools

import numpy as np
from gymnasium import spaces

from welfare_env.board import Board
from welfare_env.engine import State, balance

LAND, COAST, SEA = range(3)


def num_features(board: Board) -> int:
    """Columns of an observation."""
    return 5 * len(board.powers) + 17


def board_space(board: Board) -> spaces.Box:
    """The space of `observe`."""
    return spaces.Box(-1, 1, (len(board.provinces), num_features(board)), np.float32)


@functools.lru_cache(maxsize=32)
def _fixed(board: Board) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Per board: homes [provinces, P], kinds [provinces, 3], is-centre [provinces], coast number of locations."""
    homes = np.zeros((len(board.provinces), len(board.powers)), np.float32)
    for center, power in zip(board.center_province, board.home_power, strict=True):
        if power >= 0:
            homes[center, power] = 1
    column = {"land": LAND, "coast": COAST, "port": COAST, "sea": SEA}
    kinds = np.eye(3, dtype=np.float32)[[column[board.kind[province]] for province in board.provinces]]
    coasts = np.zeros(len(board.locations), np.int64)
    for province in board.provinces:
        named = [place for place in board.locations if place.startswith(f"{province}/")]
        for number, place in enumerate(named[:2], start=1):
            coasts[board.location_index[place]] = number
    return homes, kinds, (board.province_center >= 0).astype(np.float32), coasts


def observe(
    board: Board, state: State, years: int, power: int, asked: int = -1, asked_messages: bool = False
) -> np.ndarray:
    """The board as `power` sees it: float32 [provinces, features].

    Args:
        years: length of the game.
        asked: the province asked about, or -1.
        asked_messages: whether messages are asked for.
    """
    homes, kinds, centers, coasts = _fixed(board)
    number = len(board.powers)
    seats = (np.arange(number) - power) % number  # column of each power
    seen = np.zeros((len(board.provinces), num_features(board)), np.float32)
    column = 0
    where = board.piece_province[state.units[:, 1]]
    seen[where, seats[state.units[:, 0]]] = 1
    column += number
    seen[where, column] = board.piece_type[state.units[:, 1]]
    coast = coasts[board.piece_location[state.units[:, 1]]]
    seen[where[coast > 0], column + coast[coast > 0]] = 1
    column += 3
    seen[board.piece_province[state.dislodged[:, 1]], column + (state.dislodged[:, 0] != power)] = 1
    column += 2
    owned = state.owners >= 0
    seen[board.center_province[owned], column + seats[state.owners[owned]]] = 1
    column += number
    seen[:, column] = centers
    seen[:, column + 1 + seats] = homes
    column += 1 + number
    seen[:, column : column + 3] = kinds
    column += 3
    if asked >= 0:
        seen[asked, column] = 1
    seen[:, column + 1 :] = _everywhere(board, state, years, seats, asked_messages)
    return seen


def _everywhere(board: Board, state: State, years: int, seats: np.ndarray, asked_messages: bool) -> np.ndarray:
    """The features that are the same in every province: float32 [7 + 2 P]."""
    number, most = len(board.powers), len(board.centers)
    told = np.zeros(7 + 2 * number, np.float32)
    told[state.phase] = 1
    told[5] = asked_messages
    told[6] = 1 - state.year / years
    told[7 + seats] = np.clip(balance(board, state) / most, -1, 1)
    told[7 + number + seats] = np.clip(state.welfare / (most * (state.year + 1)), -1, 1)
    return told
