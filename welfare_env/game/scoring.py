"""Scores of a position: welfare points, or a scoring system of the standard game (paper, appendix A).

Welfare points are earned in the engine, at the end of a Winter: `gain` in `engine/kernels/year.py`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from welfare_env.board.board import Board
from welfare_env.engine import State
from welfare_env.rules import Rules


def scores(board: Board, rules: Rules, state: State) -> np.ndarray:
    """Score of every power if the game ended in this position: float64 [powers].

    "welfare": the points. "sum-of-squares": 1 is divided in proportion to squared centers. "draw-size": 1 is divided
    equally among the powers that still own a center. In both a solo winner gets 1. "concave" (SD'): the square root of
    the number of centers owned, which is not constant-sum.
    """
    if rules.scoring == "welfare":
        return state.welfare.astype(np.float64)
    centers = np.bincount(state.owners[state.owners >= 0], minlength=len(board.powers)).astype(np.float64)
    if rules.has_victory and state.winner >= 0:
        return np.eye(len(board.powers))[state.winner]
    return OF_CENTERS[rules.scoring](centers)


def _shared(weights: np.ndarray) -> np.ndarray:
    """1, divided in proportion to weights."""
    return weights / max(weights.sum(), 1.0)


# Scoring of the standard game -> scores by the number of centers of each power, float64 [powers].
OF_CENTERS: dict[str | None, Callable[[np.ndarray], np.ndarray]] = {
    "sum-of-squares": lambda centers: _shared(centers**2),
    "draw-size": lambda centers: _shared((centers > 0).astype(np.float64)),
    "concave": np.sqrt,
}
