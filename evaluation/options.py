"""Checks of what all evaluations are told."""

from __future__ import annotations

import welfare_env
from evaluation.workers import Workers


class EvaluationError(welfare_env.WelfareEnvError, ValueError):
    """An evaluation cannot be done as asked: wrong games, seed, workers, coalitions or players."""


def check_options(
    *, games: int, seed: int, rules: welfare_env.Rules | None, map_name: str, workers: int | Workers
) -> tuple[welfare_env.Board, welfare_env.Rules]:
    """The board and the rules of an evaluation.

    Raises:
        EvaluationError: a number of games or workers below 1, or a seed below 0.
        UnknownMapError, MapFormatError, RulesError: as their names say.
    """
    check_whole("games", games, 1)
    check_whole("seed", seed, 0)
    check_workers(workers)
    played = welfare_env.Rules() if rules is None else rules
    if not isinstance(played, welfare_env.Rules):
        raise welfare_env.RulesError(f"rules={rules!r:.80}: give welfare_env.Rules(...)")
    return welfare_env.load_board(map_name), played


def check_workers(workers: int | Workers) -> None:
    """That there is one at least.

    Raises:
        EvaluationError: there is not.
    """
    check_whole("workers", workers.count if isinstance(workers, Workers) else workers, 1)


def check_whole(name: str, value: int, least: int) -> None:
    """That a value is a whole number from `least`.

    Raises:
        EvaluationError: it is not.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise EvaluationError(f"{name}={value!r}: give a whole number from {least}")
