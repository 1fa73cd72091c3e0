"""Whether learning curves are flat at the end. The unit of analysis is the training: one value per seed.

A curve is flat if its last 50 iterations and the previous 50 differ by less than 0.05 points a year: with at least five
seeds the 95% interval of the mean change over seeds must be within this tolerance, with fewer the change of every seed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from evaluation.measures.intervals import Estimate, mean_estimate
from evaluation.tables.game_tables import cell

Floats = NDArray[np.float64]

WINDOW = 50  # iterations
TOLERANCE = 0.05  # points a year
SMOOTHED = 5  # iterations
LAST = 10  # iterations averaged for the end of a curve


def over_seeds(values: Sequence[float] | Floats) -> Estimate:
    """The mean over trainings with its interval; with fewer than five, the range."""
    return mean_estimate([float(value) for value in values], 0)


def mean_cell(values: Sequence[float] | Floats) -> str:
    """A cell of a table."""
    return cell(over_seeds(values))


def change(curves: Floats) -> Estimate:
    """The change from the second to last to the last window of each curve; curves are [seeds, iterations]."""
    window = min(WINDOW, curves.shape[1] // 2)
    last, before = curves[:, -window:], curves[:, -2 * window : -window]
    return over_seeds(last.mean(axis=1) - before.mean(axis=1))


def ends(found: Estimate) -> tuple[float, float]:
    """Bounds of a mean over seeds: its interval, else the range of the seeds."""
    return (found.low, found.high) if found.has_interval else (min(found.per_game), max(found.per_game))


def is_flat(found: Estimate) -> bool:
    """Whether a change is within the tolerance."""
    return max(map(abs, ends(found))) < TOLERANCE


def course(curves: Floats) -> str:
    """The end of curves in words: "flat", "still falling (-0.17 over the last 50)", or that seeds differ."""
    found, window = change(curves), min(WINDOW, curves.shape[1] // 2)
    if is_flat(found):
        return "flat"
    low, high = ends(found)
    if low < 0 < high:
        return f"not settled ({low:+.2f} to {high:+.2f} over the last {window})"
    return f"still {'falling' if found.value < 0 else 'rising'} ({found.value:+.2f} over the last {window})"


def peaks(curves: Floats) -> tuple[Floats, int]:
    """Each curve's value at the iteration where the mean of the other curves peaks; and the peak of the overall mean.

    A curve's own maximum would be biased upwards.
    """
    smooth = np.array([smoothed(curve) for curve in curves])
    if len(smooth) == 1:
        return smooth.max(axis=1), int(smooth.argmax()) + 1
    others = (smooth.sum(axis=0) - smooth) / (len(smooth) - 1)
    return smooth[np.arange(len(smooth)), others.argmax(axis=1)], int(smooth.mean(axis=0).argmax()) + 1


def smoothed(values: Floats) -> Floats:
    """Trailing means over five iterations (fewer at the start)."""
    return np.array([values[max(0, at - SMOOTHED + 1) : at + 1].mean() for at in range(len(values))])
