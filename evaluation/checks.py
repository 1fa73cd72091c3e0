"""Checks of what all evaluations are told."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import welfare_env
from evaluation.play.store import GameStore
from evaluation.play.workers import Workers
from welfare_env import checks
from welfare_env.checks import shown
from welfare_env.engine.engines import ENGINES
from welfare_env.errors import UnknownMapError

if TYPE_CHECKING:
    from agents.lm.models.shared_models import SharedModels

MOST_GAMES = 1_000_000
MOST_WORKERS = 1024
MOST_SEED = 2**63 - 1


class EvaluationError(welfare_env.WelfareEnvError, ValueError):
    """An evaluation cannot be done as asked: wrong games, seed, workers, coalitions or players."""


check_whole = partial(checks.check_whole, error=EvaluationError)


def check_rules(rules: welfare_env.Rules | None) -> welfare_env.Rules:
    """The rules of an evaluation: the paper's for None.

    Raises:
        RulesError: something else.
    """
    if rules is not None and not isinstance(rules, welfare_env.Rules):
        raise welfare_env.RulesError(f"rules={shown(rules)}: give welfare_env.Rules(...)")
    return welfare_env.Rules() if rules is None else rules


def check_engine(engine: str) -> None:
    """That there is such an engine.

    Raises:
        RulesError: there is not.
    """
    if not isinstance(engine, str) or engine not in ENGINES:
        raise welfare_env.RulesError(f"engine={shown(engine)}: choose one of {', '.join(map(repr, ENGINES))}")


def board_of(map_name: str) -> welfare_env.Board:
    """The board of a map.

    Raises:
        UnknownMapError, MapFormatError: as `welfare_env.load_board`.
    """
    if not isinstance(map_name, str):
        raise UnknownMapError(f"map_name={shown(map_name)}: give a name such as 'standard', or the path of a .map file")
    return welfare_env.load_board(map_name)


def check_games(games: int) -> None:
    """How many games.

    Raises:
        EvaluationError: a number out of range.
    """
    check_whole("games", games, 1, MOST_GAMES)


def check_seed(seed: int) -> None:
    """The seed of an evaluation.

    Raises:
        EvaluationError: it is out of range.
    """
    check_whole("seed", seed, 0, MOST_SEED)


def check_workers(workers: int | Workers) -> None:
    """That there is one at least.

    Raises:
        EvaluationError: there is not.
    """
    check_whole("workers", workers.count if isinstance(workers, Workers) else workers, 1, MOST_WORKERS)


def check_means(
    *,
    store: GameStore | None,
    report: Any,
    simultaneous: bool = False,
    models: SharedModels | None = None,
    use_older_games: bool = False,
) -> None:
    """What an evaluation plays with.

    Raises:
        EvaluationError: something is of another kind.
    """
    if store is not None and not isinstance(store, GameStore):
        raise EvaluationError(f"store={shown(store)}: give evaluation.GameStore(PATH), or None")
    if report is not None and not callable(report):
        raise EvaluationError(f"report={shown(report)}: give a function of a number of games, or None")
    if not isinstance(simultaneous, bool):
        raise EvaluationError(f"simultaneous={shown(simultaneous)}: give True or False")
    if not isinstance(use_older_games, bool) or (use_older_games and store is None):
        raise EvaluationError(f"use_older_games={shown(use_older_games)}: give False, or with a store True")
    if models is not None:
        from agents.lm.models.shared_models import SharedModels

        if not isinstance(models, SharedModels):
            raise EvaluationError(f"models={shown(models)}: give agents.lm's SharedModels(...), or None")
