"""Trained policies in an experiment: the table [train.NAME] of its file trains "trained:NAME", once per seed.

The package `training` is not imported here: it registers an object with the methods of `TrainingStep` as the entry
point `train` of the group `welfare_env.steps`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Protocol

from evaluation.checks import EvaluationError

GROUP, STEP = "welfare_env.steps", "train"
TRAINED = re.compile(r"\btrained:([\w-]+)")
LONGEST_NAME = 40

Progress = Callable[[str, int, int], None]  # description of the training, finished iterations, total iterations


class TrainingStep(Protocol):
    """The interface of the entry point."""

    def check(self, fields: Mapping[str, Any]) -> None:
        """Raise a WelfareEnvError if the fields are not a valid configuration."""

    def run(self, fields: Mapping[str, Any], seed: int, folder: Path, on_progress: Callable[[int, int], None]) -> str:
        """Train, or resume a training in the folder; return the spec of the trained policy."""


@dataclass(frozen=True)
class Training:
    """The training of one policy.

    Attributes:
        name: NAME in "trained:NAME".
        fields: fields of `training.TrainConfig`, without seed and folder.
    """

    name: str
    fields: Mapping[str, Any]


def training_step() -> TrainingStep:
    """The installed step.

    Raises:
        EvaluationError: no entry point is installed, or it cannot be loaded.
    """
    for point in entry_points(group=GROUP, name=STEP):
        try:
            step: TrainingStep = point.load()
        except (ImportError, AttributeError) as error:
            raise EvaluationError(f"[train]: the entry point {point.value} cannot be loaded: {error}") from error
        return step
    raise EvaluationError(
        f"[train]: the package `training` is not installed (no entry point {STEP!r} of the group {GROUP}): install "
        "welfare-env again"
    )


def names_in(text: str) -> list[str]:
    """The names of the trained policies in a spec."""
    return TRAINED.findall(text)


def readable(text: str) -> str:
    """A spec that can be parsed before the trainings, with "rl:NAME" for "trained:NAME"."""
    return TRAINED.sub(lambda match: f"rl:{match[1]}", text)


def train_all(
    trainings: Iterable[Training], seeds: Iterable[int], folder: Path, on_progress: Progress
) -> dict[tuple[str, int], str]:
    """Run, resume or load all trainings, each in its own folder, NAME-SEED.

    Returns:
        (Name, seed) -> spec of the trained policy.

    Raises:
        WelfareEnvError: a training failed, its folder has a different training, or the extra `train` is not installed.
    """
    step, done, listed = training_step(), {}, list(seeds)
    for each in trainings:
        for seed in listed:
            what = f"training {each.name}, seed {seed}"
            spec = step.run(
                each.fields,
                seed,
                folder / f"{each.name}-{seed}",
                lambda iteration, total, what=what: on_progress(what, iteration, total),  # type: ignore[misc]
            )
            done[each.name, seed] = spec
    return done
