"""Pareto efficiency of payoffs, by enumerating all games.

This works for small boards and short games. For larger ones a bound often suffices: total points are at most centers
times years, so payoffs with that total are efficient (`is_total_the_most`).
"""

from __future__ import annotations

from evaluation.checks import EvaluationError, board_of, check_whole
from evaluation.exact.best_responses import check_land
from evaluation.exact.planner import Planner
from welfare_env import Rules
from welfare_env.engine import DONE

Payoffs = tuple[int, ...]  # points of the whole game, in the board's sequence of powers
MOST_POSITIONS = 20_000


def reachable_payoffs(map_name: str, years: int, most_positions: int = MOST_POSITIONS) -> frozenset[Payoffs]:
    """The payoffs of all possible games, over all legal orders.

    Raises:
        EvaluationError: more than `most_positions` positions, or a board with convoys.
        UnknownMapError: no such board.
    """
    board = board_of(map_name)
    check_land(board)
    check_whole("years", years, 1, 8)
    planner = Planner(board, Rules(press=None, years=years), tuple(range(len(board.powers))), lambda position: {})
    found: dict[bytes, frozenset[Payoffs]] = {}

    def payoffs(key: bytes) -> frozenset[Payoffs]:
        if key not in found:
            if len(found) >= most_positions:
                raise EvaluationError(
                    f"map {map_name}, {years} years: more than {most_positions:,} positions; too many to enumerate"
                )
            _, _, rows, points = planner.plays(planner.position(key))
            ways = {(to.tobytes(), tuple(paid)) for to, paid in zip(rows, points.tolist(), strict=True)}
            is_over = bool(rows[0, DONE])
            found[key] = frozenset(
                tuple(now + later for now, later in zip(paid, rest, strict=True))
                for to, paid in ways
                for rest in ([(0,) * len(paid)] if is_over else payoffs(to))
            )
        return found[key]

    return payoffs(planner.key(planner.engine.initial()))


def dominates(one: Payoffs, other: Payoffs) -> bool:
    """Whether `one` Pareto-dominates `other`: no power gets less, and some power gets more."""
    return one != other and all(mine >= theirs for mine, theirs in zip(one, other, strict=True))


def is_efficient(payoffs: Payoffs, reachable: frozenset[Payoffs]) -> bool:
    """Whether no reachable payoffs dominate `payoffs`."""
    return not any(dominates(other, payoffs) for other in reachable)


def is_total_the_most(map_name: str, years: int, payoffs: Payoffs) -> bool:
    """Whether the total equals centers times years; then nothing can dominate `payoffs`."""
    return sum(payoffs) == len(board_of(map_name).centers) * years
