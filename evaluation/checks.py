"""Checks of arguments shared by all evaluations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from itertools import islice
from typing import Any

import welfare_env
from welfare_env import checks
from welfare_env.checks import quoted
from welfare_env.engine.engines import ENGINES
from welfare_env.errors import UnknownMapError

MAX_GAMES = 1_000_000
MAX_SEED = 2**63 - 1
MAX_LISTED = 10_000


ESTIMATE = "estimate it with evaluation.exploitability (the command: welfare-env exploitability)"
PROGRAMS = (
    "writes programs of modal_env, not orders of Diplomacy. Programs play in `welfare-env modal play` and `modal "
    "tournament`; in Python modal_env.play, and evaluation.exploitability(..., environment=modal_env.make(...))"
)


class EvaluationError(welfare_env.WelfareEnvError, ValueError):
    """Invalid arguments of an evaluation: games, seed, workers, coalitions or players."""


check_whole = partial(checks.check_whole, error=EvaluationError)


def check_rules(rules: welfare_env.Rules | None) -> welfare_env.Rules:
    """The rules of an evaluation; None for the paper's rules.

    Raises:
        RulesError: not a `Rules` object.
    """
    if rules is not None and not isinstance(rules, welfare_env.Rules):
        raise welfare_env.RulesError(f"rules={quoted(rules)}: give welfare_env.Rules(...)")
    return welfare_env.Rules() if rules is None else rules


def check_engine(engine: str) -> None:
    """Check the name of an engine.

    Raises:
        RulesError: unknown engine.
    """
    if not isinstance(engine, str) or engine not in ENGINES:
        raise welfare_env.RulesError(f"engine={quoted(engine)}: choose one of {', '.join(map(repr, ENGINES))}")


def board_of(map_name: str) -> welfare_env.Board:
    """The board of a map.

    Raises:
        UnknownMapError, MapFormatError: as `welfare_env.load_board`.
    """
    if not isinstance(map_name, str):
        raise UnknownMapError(
            f"map_name={quoted(map_name)}: give a name such as 'standard', or the path of a .map file"
        )
    return welfare_env.load_board(map_name)


def check_games(games: int) -> None:
    """Check a number of games.

    Raises:
        EvaluationError: not a whole number, or out of range.
    """
    check_whole("games", games, 1, MAX_GAMES)


def check_seed(seed: int) -> None:
    """Check the seed of an evaluation.

    Raises:
        EvaluationError: not a whole number, or out of range.
    """
    check_whole("seed", seed, 0, MAX_SEED)


def listed(name: str, values: object, example: str, most: int | None = MAX_LISTED) -> list[Any]:
    """The elements of a list or another iterable, except text and mappings.

    Raises:
        EvaluationError: another type, or more than `most` elements; the message shows `example`.
    """
    if isinstance(values, Iterable) and not isinstance(values, (str, bytes, Mapping)):
        try:
            found = list(islice(values, None if most is None else most + 1))
        except TypeError:  # an array without dimensions
            found = None
        if found is not None and (most is None or len(found) <= most):
            return found
    raise EvaluationError(f"{name}={quoted(values)}: give a list, such as {example}")
