"""Sequential stopping: play until an interval has the wanted width.

An interval that is checked repeatedly, and accepted once it is narrow, covers a little less than its nominal level: it
is narrow sooner where games happen to be alike. Therefore the first check is after ten games, and each further step
adds as many games as the current width calls for: a half more at least, twice as many at most.
`python -m benchmarks.calibration` measures the error that remains.
"""

from __future__ import annotations

import math

from evaluation.checks import MOST_GAMES, EvaluationError, check_games, check_whole
from evaluation.measures.intervals import Estimate
from welfare_env.checks import quoted

FIRST_LOOK = 10


def first_games(games: int, precision: float, most: int) -> int:
    """Number of games before the first check.

    Raises:
        EvaluationError: numbers out of range.
    """
    is_number = isinstance(precision, int | float) and not isinstance(precision, bool)
    if not is_number or not 0 < precision < math.inf:
        raise EvaluationError(f"precision={quoted(precision)}: give the width of an interval, a number above 0")
    check_games(games)
    check_whole("most_games", most, 1, MOST_GAMES)
    if games > most:
        raise EvaluationError(f"games={games}, most_games={most}: give at least as many most_games as games")
    return min(max(games, FIRST_LOOK), most)


def further_games(estimate: Estimate, precision: float, most: int) -> int:
    """Number of games to add; 0 if the interval is narrow enough, all games are alike, or the maximum is reached."""
    width = estimate.high - estimate.low
    if estimate.is_alike or width <= precision or estimate.n >= most:
        return 0
    ratio = (width / precision) ** 2 if estimate.has_interval else 2.0
    wanted = math.ceil(estimate.n * min(max(ratio, 1.5), 2.0))
    return min(wanted, most) - estimate.n
