"""How games are played: workers, store, progress and language models. None of this affects the games themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, TypeAlias

from evaluation.checks import EvaluationError, check_whole
from evaluation.play.store import GameStore
from evaluation.play.workers import Workers
from welfare_env.checks import quoted

if TYPE_CHECKING:
    from agents.lm.models.shared_models import SharedModels

Models: TypeAlias = "SharedModels | Mapping[str, Any] | None"
"""Cache, budget and models for language-model players; or just a mapping of names (as in specs) to your own models."""
Report: TypeAlias = Callable[[int], None]
"""Called with the number of games finished since the last call."""

MAX_WORKERS = 1024


def check_run(workers: int | Workers, store: GameStore | None) -> None:
    """Check the workers and the store of a call.

    Raises:
        EvaluationError: the wrong type, or `workers` is out of range.
    """
    check_whole("workers", workers.count if isinstance(workers, Workers) else workers, 1, MAX_WORKERS)
    if store is not None and not isinstance(store, GameStore):
        raise EvaluationError(f"store={quoted(store)}: give evaluation.GameStore(PATH), or None")


def pool_of(workers: int | Workers) -> AbstractContextManager[Workers]:
    """The workers for one call: a new pool, or the given pool, which stays open afterwards."""
    return nullcontext(workers) if isinstance(workers, Workers) else Workers(workers)


def checked_report(report: Report | None) -> Report:
    """The progress callback; None for one that does nothing.

    Raises:
        EvaluationError: not callable.
    """
    if report is not None and not callable(report):
        raise EvaluationError(f"report={quoted(report)}: give a function of a number of games, or None")
    return report or (lambda count: None)


def shared_models(models: Models) -> SharedModels | None:
    """The models shared by all players of a run.

    Raises:
        EvaluationError: neither `SharedModels` nor a mapping.
        ConfigError: one of your own models lacks the protocol, or its name cannot be used in a spec.
    """
    if models is None:
        return None
    from agents.lm.models.shared_models import SharedModels

    if isinstance(models, Mapping):
        return SharedModels(own=models)
    if not isinstance(models, SharedModels):
        raise EvaluationError(
            f"models={quoted(models)}: give agents.lm's SharedModels(...), "
            "or your own models by name: {'mine': MODEL}"
        )
    return models
