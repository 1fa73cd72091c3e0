"""The logs of trainings, as rows of a table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from agents.runtime.files import parse_json, read_file, reason, shown
from agents.runtime.table_files import Row
from training.errors import TrainingError
from training.run_folder import CONFIG, LOG, read_config

Line = Mapping[str, Any]


def log_rows(folders: Sequence[str | Path]) -> list[Row]:
    """One row per iteration of each training: its folder, seed, iteration, and what was logged (docs/results.md).

    Raises:
        TrainingError: a folder without a training, or with a damaged log.
    """
    logs = [(str(folder), _seed(Path(folder)), log_lines(Path(folder))) for folder in folders]
    metrics = metrics_of(line for _, _, lines in logs for line in lines)
    return [row for folder, seed, lines in logs for row in metric_rows(folder, seed, lines, metrics)]


def metric_rows(folder: str, seed: float, lines: Iterable[Line], metrics: Sequence[str]) -> list[Row]:
    """The rows of one training; nan for what was not logged in an iteration."""
    return [
        {"folder": folder, "seed": seed, "iteration": line.get("iteration", number)}
        | {metric: number_of(line.get(metric)) for metric in metrics}
        for number, line in enumerate(lines, 1)
    ]


def metrics_of(lines: Iterable[Line]) -> list[str]:
    """The names of all numbers that were logged, in the order in which they first occur."""
    names = (name for line in lines for name, value in line.items() if isinstance(value, int | float))
    return [name for name in dict.fromkeys(names) if name != "iteration"]


def log_lines(folder: Path) -> list[dict[str, Any]]:
    """The log of a training.

    Raises:
        TrainingError: there is none.
    """
    try:
        return [dict(parse_json(line)) for line in read_file(folder / LOG).decode().splitlines()]
    except (OSError, ValueError, TypeError) as error:
        raise TrainingError(f"{shown(folder)}: no log of a training: {reason(error)}") from error


def number_of(value: object) -> float:
    """A logged value; nan where it is no number."""
    try:
        return float(value) if isinstance(value, int | float) else math.nan
    except OverflowError:
        return math.nan


def _seed(folder: Path) -> float:
    """The seed in a training's config; nan if it has none (version 0.1)."""
    return float(read_config(folder)[1].get("seed", math.nan)) if (folder / CONFIG).exists() else math.nan
