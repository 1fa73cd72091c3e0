"""How games are executed: workers, store, progress and language models. None of this affects the games themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from agents.policy import Policy
from agents.specs import Spec
from evaluation.checks import EvaluationError, check_whole
from evaluation.play.store import GameStore
from evaluation.play.turns import check_orders_written
from evaluation.play.workers import Workers
from welfare_env.checks import quoted

if TYPE_CHECKING:
    from agents.lm.models.shared_models import SharedModels

Models: TypeAlias = "SharedModels | Mapping[str, Any] | None"
"""Cache, budget and models for language-model players; or just a mapping of names (as in specs) to your own models."""
Report: TypeAlias = Callable[[int], None]
"""Called with the number of games finished since the last call."""

MOST_WORKERS = 1024


@dataclass(frozen=True)
class Execution:
    """How games are executed; `Execution.checked` builds one from the arguments of an evaluation.

    Attributes:
        workers: number of processes, or a pool of processes.
        store: store of finished games; None stores nothing.
        report: called with the number of games finished since the last call.
        models: cache, budget and models shared by all language-model players.
    """

    workers: int | Workers = 1
    store: GameStore | None = None
    report: Report = lambda count: None
    models: SharedModels | None = None
    _samples: dict[Spec, Policy] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def checked(
        cls,
        workers: int | Workers = 1,
        store: GameStore | None = None,
        report: Report | None = None,
        models: Models = None,
    ) -> Execution:
        """Build from the arguments of a public function.

        Raises:
            EvaluationError: an argument has the wrong type, or `workers` is out of range.
            ConfigError: one of your own models lacks the protocol, or its name cannot be used in a spec.
        """
        check_whole("workers", workers.count if isinstance(workers, Workers) else workers, 1, MOST_WORKERS)
        if store is not None and not isinstance(store, GameStore):
            raise EvaluationError(f"store={quoted(store)}: give evaluation.GameStore(PATH), or None")
        return cls(workers, store, checked_report(report), shared_models(models))

    def sample(self, spec: Spec) -> Policy:
        """A policy instance for inspection, not for play; cached.

        Raises:
            UnknownAgentError: as `agents.make`.
            EvaluationError: the policy writes programs of modal_env.
        """
        if spec not in self._samples:
            policy = spec.make(self.models)
            check_orders_written(spec, policy)
            self._samples[spec] = policy
        return self._samples[spec]

    def check_policies(self, specs: Iterable[Spec]) -> None:
        """Make every policy once, so that errors are raised before the first game; raises as `sample`."""
        for spec in specs:
            self.sample(spec)

    @property
    def pool(self) -> AbstractContextManager[Workers]:
        """The workers for one call: a new pool, or the given pool, which stays open afterwards."""
        return nullcontext(self.workers) if isinstance(self.workers, Workers) else Workers(self.workers)

    @contextmanager
    def pooled(self) -> Iterator[Execution]:
        """The same execution with one pool of processes for several calls."""
        with self.pool as workers:
            yield replace(self, workers=workers)


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
