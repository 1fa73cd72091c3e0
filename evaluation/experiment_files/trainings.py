"""Trained policies in an experiment: "trained:NAME" is what the table [train.NAME] of its file trains, once per seed.

Training registers how to do that as the entry point `train` of the group `welfare_env.steps`: an object with the
functions of `Step`. Nothing of it is imported here.
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

Progress = Callable[[str, int, int], None]  # what is trained, iterations that are done, of how many


class Step(Protocol):
    """What the entry point has."""

    def check(self, fields: Mapping[str, Any]) -> None:
        """Raises a WelfareEnvError if the fields do not configure a training."""

    def run(self, fields: Mapping[str, Any], seed: int, folder: Path, on_progress: Callable[[int, int], None]) -> str:
        """Train, or resume what is in the folder; the spec of the trained policy."""


@dataclass(frozen=True)
class Training:
    """The training of one policy.

    Attributes:
        name: the policy is "trained:NAME".
        fields: of `training.TrainConfig`, without seed and folder.
    """

    name: str
    fields: Mapping[str, Any]


def training_step() -> Step:
    """The installed step.

    Raises:
        EvaluationError: none is installed, or it cannot be loaded.
    """
    for point in entry_points(group=GROUP, name=STEP):
        try:
            step: Step = point.load()
        except (ImportError, AttributeError) as error:
            raise EvaluationError(f"[train]: the entry point {point.value} cannot be loaded: {error}") from error
        return step
    raise EvaluationError(
        f"[train]: nothing that trains is installed (no entry point {STEP!r} of the group {GROUP}): install "
        "welfare-env again"
    )


def names_in(text: str) -> list[str]:
    """The trained policies that a spec names."""
    return TRAINED.findall(text)


def readable(text: str) -> str:
    """A spec that can be parsed before the trainings are done: with networks in place of trained policies."""
    return TRAINED.sub(lambda match: f"rl:{match[1]}", text)


def train_all(
    trainings: Iterable[Training], seeds: Iterable[int], folder: Path, on_progress: Progress
) -> dict[tuple[str, int], str]:
    """Run, resume or find all trainings, each in a folder of its own, NAME-SEED.

    Returns:
        (Name, seed) -> spec of the trained policy.

    Raises:
        WelfareEnvError: a training failed, or its folder holds another one; the extra `train` is missing.
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
