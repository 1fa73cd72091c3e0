"""A cache for results that take long to compute even from stored games: red teams and exact gains."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from agents.specs import Spec
from evaluation.measures.intervals import Estimate
from evaluation.measures.lm_usage import without_transcripts
from evaluation.play.answer_sources import answered_by
from evaluation.play.game_settings import GameSettings
from evaluation.play.games import Record
from evaluation.play.sources import code_of
from evaluation.play.store import GameStore


@dataclass(frozen=True)
class CachedResult:
    """A result as cached in the store.

    Attributes:
        estimates: measure -> estimate.
        content: the full result, as plain JSON types.
        witness: the record of a typical game; None if there is none.
    """

    estimates: Mapping[str, Estimate]
    content: Mapping[str, Any]
    witness: Record | None = None

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        return dict(self.content)


def cached_result(
    store: GameStore | None, specification: Mapping[str, Any], measure: Callable[[], CachedResult]
) -> CachedResult:
    """The cached result of a specification; if there is none, call `measure` and cache its result.

    Raises:
        StoreError: the store cannot be read or written.
    """
    stored = None if store is None else store.result(specification)
    if stored is None:
        result = measure()
        estimates = {name: estimate.to_dict() for name, estimate in result.estimates.items()}
        witness = None if result.witness is None else without_transcripts(result.witness)
        # Through JSON, so that fresh and cached results are identical.
        stored = dict(json.loads(json.dumps({"estimates": estimates, "content": result.content, "witness": witness})))
        if store is not None:
            store.put_result(specification, stored)
    read = {name: Estimate.from_dict(values) for name, values in stored["estimates"].items()}
    return CachedResult(read, stored["content"], stored["witness"])


def code_behind(policies: Iterable[Spec], setting: GameSettings) -> dict[str, Any]:
    """Everything that policies depend on: specs, versions, files and models.

    Raises:
        ConfigError, CacheError: as `GameSpec.to_dict`.
    """
    listed = sorted(policies, key=lambda policy: policy.text)
    shared = setting.shared_models
    own_models = {} if shared is None else shared.own
    models = sorted({model for policy in listed for model in policy.models})
    answers = [answered_by(*model, own=own_models.get(model[0])) for model in models]
    return {"policies": [each.text for each in listed], **code_of(listed), "language_models": answers}
