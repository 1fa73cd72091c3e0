"""Checks of what all evaluations are told."""

from __future__ import annotations

import welfare_env
from evaluation.workers import Workers


def check_options(
    games: int, seed: int, workers: int | Workers, rules: welfare_env.Rules | None, map_name: str
) -> tuple[welfare_env.Board, welfare_env.Rules]:
    """The board and the rules of an evaluation.

    Raises:
        ValueError: a number of games or workers below 1, or a seed below 0.
        UnknownMapError, MapFormatError, RulesError: as their names say.
    """
    count = workers.count if isinstance(workers, Workers) else workers
    for name, value, least in (("games", games, 1), ("workers", count, 1), ("seed", seed, 0)):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise ValueError(f"{name}={value!r}: give a whole number from {least}")
    played = welfare_env.Rules() if rules is None else rules
    if not isinstance(played, welfare_env.Rules):
        raise welfare_env.RulesError(f"rules={rules!r:.80}: give welfare_env.Rules(...)")
    return welfare_env.load_board(map_name), played
