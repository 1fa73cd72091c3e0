"""Training as a step of an experiment: the entry point `train` of the group `welfare_env.steps`.

`evaluation.experiment_files.trainings` defines the interface of such a step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from training.board.config import TrainConfig
from training.config import Config, from_dict
from training.errors import TrainingError
from welfare_env.extras import install_extra

NEEDED = ("torch", "ray", "safetensors", "tensorboardX")


def check(fields: Mapping[str, Any]) -> None:
    """Check the fields of a `TrainConfig`; the experiment sets its seed and folder.

    Raises:
        TrainingError: an unknown field, or a value out of bounds. Others as `TrainConfig` and its `lineup`.
    """
    _config(fields, 0, Path())


def run(fields: Mapping[str, Any], seed: int, folder: Path, on_progress: Callable[[int, int], None]) -> str:
    """Train, or resume the training in a folder; returns the spec of its last checkpoint.

    Args:
        on_progress: called with the numbers of finished and of all iterations.

    Raises:
        TrainingError: the extra `train` is missing. Others as `training.train`.
    """
    if not all(find_spec(name) for name in NEEDED):
        raise TrainingError(f"training needs {install_extra('train')}")
    from training.runs import train

    config = _config(fields, seed, folder)
    path = train(config, lambda progress: on_progress(progress.iteration, config.iterations))
    text = str(path)
    return f"rl:({text})" if any(sign in text for sign in ",=+*() ") else f"rl:{text}"


def _config(fields: Mapping[str, Any], seed: int, folder: Path) -> TrainConfig:
    if "seed" in fields:
        raise TrainingError("seed: give the seeds of all trainings as seeds = [0, 1, 2] in [train]")
    config: Config = from_dict(TrainConfig, {**fields, "seed": seed}, folder)
    if not isinstance(config, TrainConfig):
        raise TrainingError(f"{config!r:.80}: not a TrainConfig")
    _ = config.lineup  # raises for invalid opponents and seats
    return config
