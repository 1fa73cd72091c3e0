"""Learning curves: plots of logged metrics over iterations, with bands over seeds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from agents.runtime.colors import LEARNED, LEVEL
from training.errors import TrainingError
from training.run_folder import log_lines, number_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def read(folder: Path, metric: str) -> np.ndarray:
    """A metric's values: float64 [iterations], nan where it was not logged.

    Raises:
        TrainingError: no training in the folder, or no metric of this name in its log.
    """
    lines = log_lines(folder)
    values = np.array([number_of(line.get(metric)) for line in lines], np.float64)
    if np.isnan(values).all():
        known = sorted({name for line in lines for name in line} - {"iteration"})
        raise TrainingError(f"{folder}: no metric {metric!r} in the log; there are {', '.join(known)}")
    return values


def returns(folders: Sequence[Path]) -> list[str]:
    """The names of the logged returns of all networks that occur in all trainings, the learner's first.

    Raises:
        TrainingError: a folder without a training.
    """
    logged = set.intersection(*({name for line in log_lines(folder) for name in line} for folder in folders))
    return ["play/return", *sorted(name for name in logged if re.fullmatch("play/[^/]+/return", name))]


def read_level(text: str) -> tuple[float, str]:
    """Parse a reference line, "VALUE" or "VALUE=NAME".

    Raises:
        TrainingError: VALUE is not a number.
    """
    value, _, name = text.partition("=")
    try:
        return float(value), name or value.strip()
    except ValueError as error:
        raise TrainingError(f"--level {text!r:.80}: give VALUE=NAME, such as '23=exact best response'") from error


def draw(folders: Sequence[Path], metrics: Sequence[str], levels: Sequence[tuple[float, str]] = ()) -> Figure:
    """One panel per metric: the mean over trainings that differ in their seed, and a band from minimum to maximum.

    Args:
        levels: value and name of dashed lines in the first panel, such as another policy's return.

    Raises:
        TrainingError: as `read`.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.8 * len(metrics), 3.6), layout="constrained")  # pyplot would keep every figure
    panels = figure.subplots(1, len(metrics), squeeze=False)[0]
    for panel, metric in zip(panels, metrics, strict=True):
        _panel(panel, [read(folder, metric) for folder in folders])
        panel.set(xlabel="iteration", ylabel=metric)
    for (level, name), dashes in zip(levels, cycle(("--", ":", "-."))):
        panels[0].axhline(level, color=LEVEL, linestyle=dashes, linewidth=1, label=name)
    for panel in panels:
        if panel.dataLim.y0 >= 0:
            panel.set_ylim(bottom=0)
    handles, names = panels[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=len(names), fontsize=8, frameon=False)
    return figure


def _panel(panel: Axes, runs: Sequence[np.ndarray]) -> None:
    """The mean of runs, and their range if there are several."""
    length = min(map(len, runs))
    table = np.array([run[:length] for run in runs])
    logged = ~np.isnan(table).all(axis=0)  # held-out reports are not logged in every iteration
    steps, table = np.flatnonzero(logged) + 1, table[:, logged]
    name = f"mean of {len(runs)} seeds" if len(runs) > 1 else "one training"
    panel.plot(steps, np.nanmean(table, axis=0), color=LEARNED, linewidth=1.6, label=name)
    if len(runs) > 1:
        low, high = np.nanmin(table, axis=0), np.nanmax(table, axis=0)
        panel.fill_between(steps, low, high, color=LEARNED, alpha=0.22, linewidth=0, label="lowest to highest")
    panel.grid(alpha=0.25)
