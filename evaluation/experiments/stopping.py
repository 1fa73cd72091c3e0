"""Sequential stopping: play until an interval is narrow enough.

An interval that is checked repeatedly and accepted once it is narrow covers slightly less than its nominal level, since
it is narrower if games happen to be similar. Therefore the first check is after ten games, and each step multiplies the
number of games by a factor from 1.5 to 2, according to the current width. `python -m research.validation.intervals`
measures the remaining error.
"""

from __future__ import annotations

import math

from evaluation.checks import MAX_GAMES, EvaluationError, check_games, check_whole
from evaluation.measures.intervals import Estimate
from welfare_env.checks import quoted

FIRST_LOOK = 10


def first_games(games: int, precision: float, most: int) -> int:
    """Number of games before the first check.

    Raises:
        EvaluationError: a number is out of range, or `games` exceeds `most`.
    """
    is_number = isinstance(precision, int | float) and not isinstance(precision, bool)
    if not is_number or not 0 < precision < math.inf:
        raise EvaluationError(f"precision={quoted(precision)}: give the width of an interval, a positive number")
    check_games(games)
    check_whole("max_games", most, 1, MAX_GAMES)
    if games > most:
        raise EvaluationError(f"games={games}, max_games={most}: give a maximum of at least that many games")
    return min(max(games, FIRST_LOOK), most)


def further_games(estimate: Estimate, precision: float, most: int) -> int:
    """Number of games to add; 0 if the interval is narrow enough, all games are alike, or the maximum is reached."""
    width = estimate.high - estimate.low
    if estimate.is_alike or width <= precision or estimate.n >= most:
        return 0
    ratio = (width / precision) ** 2 if estimate.has_interval else 2.0
    wanted = math.ceil(estimate.n * min(max(ratio, 1.5), 2.0))
    return min(wanted, most) - estimate.n
