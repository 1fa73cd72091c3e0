"""Checks of what all evaluations are told."""

from __future__ import annotations

import welfare_env


def check_options(
    games: int, seed: int, workers: int, rules: welfare_env.Rules | None, map_name: str
) -> tuple[welfare_env.Board, welfare_env.Rules]:
    """The board and the rules of an evaluation.

    Raises:
        ValueError: a number of games or workers below 1, or a seed below 0.
        UnknownMapError, MapFormatError: as their names say.
    """
    for name, value, least in (("games", games, 1), ("workers", workers, 1), ("seed", seed, 0)):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise ValueError(f"{name}={value!r}: give a whole number from {least}")
    return welfare_env.load_board(map_name), welfare_env.Rules() if rules is None else rules
