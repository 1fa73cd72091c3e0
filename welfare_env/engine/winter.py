"""Winter: how many units a power may build and must disband, and where."""

from __future__ import annotations

import numpy as np

from welfare_env.board.board import Board
from welfare_env.engine import State
from welfare_env.rules import Rules


def balance(board: Board, state: State) -> np.ndarray:
    """Centers owned minus units on the board, int64 [powers]."""
    number = len(board.powers)
    owned = np.bincount(state.owners[state.owners >= 0], minlength=number)
    return owned - np.bincount(state.units[:, 0], minlength=number)


def build_sites(board: Board, state: State) -> np.ndarray:
    """Centers where the owner may build: empty home centers (on some maps, any empty center). bool [centers]."""
    occupied = np.zeros(len(board.provinces), bool)
    occupied[board.piece_province[state.units[:, 1]]] = True
    is_home = (state.owners == board.home_power) | board.build_anywhere
    return (state.owners >= 0) & is_home & ~occupied[board.center_province]


def adjustments(board: Board, rules: Rules, state: State) -> tuple[np.ndarray, np.ndarray]:
    """How many units each power may build and how many it must disband in Winter: two int64 [powers]."""
    room = balance(board, state)
    sites = np.bincount(state.owners[build_sites(board, state)], minlength=len(board.powers))
    if rules.overmilitarise:
        return sites, np.zeros_like(room)
    return np.minimum(sites, np.maximum(room, 0)), np.maximum(-room, 0)
