"""Learning curves: plots of logged metrics over iterations, with bands over seeds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from agents.files import parse_json, read_file, reason, shown
from training.errors import TrainingError
from training.files import LOG

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH = 50  # characters of the title that fit above a panel


def read(folder: Path, metric: str) -> np.ndarray:
    """A metric's values: float64 [iterations], nan where it was not logged.

    Raises:
        TrainingError: no training, or nothing of that name in its log.
    """
    lines = _lines(folder)
    values = np.array([_number(line.get(metric)) for line in lines], np.float64)
    if np.isnan(values).all():
        known = sorted({name for line in lines for name in line} - {"iteration"})
        raise TrainingError(f"{folder}: nothing logged as {metric!r}; there are {', '.join(known)}")
    return values


def returns(folders: Sequence[Path]) -> list[str]:
    """What the returns of networks that all trainings have are logged as, the learner's first.

    Raises:
        TrainingError: no training.
    """
    logged = set.intersection(*({name for line in _lines(folder) for name in line} for folder in folders))
    return ["play/return", *sorted(name for name in logged if re.fullmatch("play/[^/]+/return", name))]


def _lines(folder: Path) -> list[dict[str, Any]]:
    """The log of a training.

    Raises:
        TrainingError: there is none.
    """
    try:
        return [dict(parse_json(line)) for line in read_file(folder / LOG).decode().splitlines()]
    except (OSError, ValueError, TypeError) as error:
        raise TrainingError(f"{shown(folder)}: no log of a training: {reason(error)}") from error


def _number(value: object) -> float:
    """A logged value; nan where it is no number."""
    try:
        return float(value) if isinstance(value, int | float) else np.nan
    except OverflowError:
        return np.nan


def draw(folders: Sequence[Path], metrics: Sequence[str], title: str = "", levels: Sequence[float] = ()) -> Figure:
    """One panel per metric: the mean over trainings that differ in their seed, and a band from minimum to maximum.

    Args:
        levels: values to draw as dashed lines in the first panel, such as another policy's return.

    Raises:
        TrainingError: as `read`.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.8 * len(metrics), 3.4), layout="constrained")  # not of pyplot, which keeps every figure
    panels = figure.subplots(1, len(metrics), squeeze=False)
    for panel, metric in zip(panels[0], metrics, strict=True):
        runs = [read(folder, metric) for folder in folders]
        length = min(map(len, runs))
        table = np.array([run[:length] for run in runs])
        logged = ~np.isnan(table).all(axis=0)  # held-out reports are not logged in every iteration
        steps, table = np.flatnonzero(logged) + 1, table[:, logged]
        panel.plot(steps, np.nanmean(table, axis=0), color="#20639b", linewidth=1.6)
        if len(runs) > 1:
            panel.fill_between(steps, np.nanmin(table, axis=0), np.nanmax(table, axis=0), color="#20639b", alpha=0.22)
        panel.set_xlabel("iteration")
        panel.set_title(metric, fontsize=10)
        panel.grid(alpha=0.25)
    for level in levels:
        panels[0][0].axhline(level, color="#555555", linestyle="--", linewidth=1)
    seeds = f"mean and range of {len(folders)} trainings" if len(folders) > 1 else "one training"
    figure.suptitle(fill(f"{title} ({seeds})" if title else seeds, WIDTH * len(metrics)), fontsize=11)
    return figure
