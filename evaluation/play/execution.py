"""Checks of workers, store, report and language models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from evaluation.checks import EvaluationError, check_whole
from evaluation.play.store import GameStore
from evaluation.play.workers import Workers
from welfare_env.checks import shown

if TYPE_CHECKING:
    from agents.lm.models.shared_models import SharedModels

Models: TypeAlias = "SharedModels | Mapping[str, Any] | None"
"""Cache, budget and models for language-model players; or your own models alone, by their names in specs."""

MOST_WORKERS = 1024


def check_workers(workers: int | Workers) -> None:
    """Check the number of workers.

    Raises:
        EvaluationError: it is below 1 or too large.
    """
    check_whole("workers", workers.count if isinstance(workers, Workers) else workers, 1, MOST_WORKERS)


def check_means(
    *,
    store: GameStore | None,
    report: Any,
    simultaneous: bool = False,
    use_older_games: bool = False,
) -> None:
    """Check the types of these arguments.

    Raises:
        EvaluationError: one has the wrong type.
    """
    if store is not None and not isinstance(store, GameStore):
        raise EvaluationError(f"store={shown(store)}: give evaluation.GameStore(PATH), or None")
    if report is not None and not callable(report):
        raise EvaluationError(f"report={shown(report)}: give a function of a number of games, or None")
    if not isinstance(simultaneous, bool):
        raise EvaluationError(f"simultaneous={shown(simultaneous)}: give True or False")
    if not isinstance(use_older_games, bool) or (use_older_games and store is None):
        raise EvaluationError(f"use_older_games={shown(use_older_games)}: give False, or True together with a store")


def shared(models: Models) -> SharedModels | None:
    """The models that all players of a run share.

    Raises:
        EvaluationError: neither `SharedModels` nor a mapping.
        ConfigError: one of your own models is none, or its name cannot stand in a spec.
    """
    if models is None:
        return None
    from agents.lm.models.shared_models import SharedModels

    if isinstance(models, Mapping):
        return SharedModels(own=models)
    if not isinstance(models, SharedModels):
        raise EvaluationError(
            f"models={shown(models)}: give agents.lm's SharedModels(...), or your own models by name: {{'mine': MODEL}}"
        )
    return models
