"""A cache for results that take long to compute even from stored games: red teams and exact gains."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from agents.specs import Spec
from evaluation.measures.intervals import Estimate
from evaluation.measures.lm_usage import without_transcripts
from evaluation.play.answer_sources import answered_by
from evaluation.play.game_settings import GameSettings
from evaluation.play.games import Record, code_of
from evaluation.play.sources import SOURCES, own_code
from evaluation.play.store import GameStore

ROOMS = ("exact", "experiment_files", "experiments", "measures")  # packages whose code affects these results


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
    whole = {**specification, "code": _code()}
    stored = None if store is None else store.result(whole)
    if stored is None:
        result = measure()
        estimates = {name: estimate.to_dict() for name, estimate in result.estimates.items()}
        witness = None if result.witness is None else without_transcripts(result.witness)
        # Through JSON, so that fresh and cached results are identical.
        stored = dict(json.loads(json.dumps({"estimates": estimates, "content": result.content, "witness": witness})))
        if store is not None:
            store.put_result(whole, stored)
    read = {name: Estimate.from_dict(values) for name, values in stored["estimates"].items()}
    return CachedResult(read, stored["content"], stored["witness"])


def code_behind(policies: Iterable[Spec], setting: GameSettings) -> dict[str, Any]:
    """Everything that policies depend on: specs, code, checkpoints and models.

    Raises:
        ConfigError, CacheError: as `GameSpec.to_dict`.
    """
    listed = sorted(policies, key=lambda policy: policy.text)
    code, own = code_of(listed)
    shared = setting.execution.models
    own_models = {} if shared is None else shared.own
    models = sorted({model for policy in listed for model in policy.models})
    answers = [answered_by(*model, own=own_models.get(model[0])) for model in models]
    return {"policies": [each.text for each in listed], "code": code, "own_code": own, "language_models": answers}


@cache
def code_of_imports(room: str) -> str:
    """SHA-256 of the code of agents and rules imported by a package of evaluation."""
    _, ours = own_code(list((Path(__file__).parents[1] / room).rglob("*.py")))
    # agents.specs imports every policy; the code of those that play is in the game's specification.
    return SOURCES.digest(name for name in ours if name != "agents" and not name.startswith("agents.specs."))


@cache
def _code() -> str:
    """SHA-256 of the code of evaluation that affects these results; the code of policies is in the specification."""
    folder = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for path in sorted(path for room in ROOMS for path in (folder / room).rglob("*.py")):
        digest.update(f"\0{path.relative_to(folder).as_posix()}\0".encode() + path.read_bytes())
    return digest.hexdigest()
