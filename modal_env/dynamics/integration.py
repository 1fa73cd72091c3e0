"""Steps of the replicator dynamics in the logarithms of shares, for many populations at once, each with its own size.

The pair of order 5 and 4 of Dormand and Prince (1980).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from modal_env.dynamics.populations import Bools, Floats, shares_of

# Weights of earlier slopes for each stage, the last of which is the step itself.
_STAGES = (
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
# The difference between the formulas of order 5 and 4.
_ERROR = (71 / 57600, 0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40)
EVALUATIONS = len(_STAGES)
"""Slopes that are computed in a step."""

Numbers = NDArray[np.int64]
SlopesOf = Callable[[Floats, Numbers], Floats]


def integrate(
    slopes_of: SlopesOf,
    logs: Floats,
    stops: Callable[[Numbers, Floats, Floats, Floats], Bools],
    tolerance: float,
) -> None:
    """Integrate the dynamics of many populations at once, each until it stops.

    Args:
        slopes_of: [n, going] the slopes at [n, going] logarithms, given the numbers of the starts that still go on.
        logs: [n, starts] logarithms of the shares, up to a constant for each start.
        stops: [going] which starts stop here. It is called before the first step and after each, with the numbers of
            those still going, their [n, going] shares and slopes, and [going] the time since the start.
        tolerance: largest error of a logarithm in one step; a step with a larger one is tried again, smaller.
    """
    going = np.arange(logs.shape[1])
    clock, step = np.zeros(len(going)), np.full(len(going), 0.1)
    slopes = slopes_of(logs, going)
    while True:
        left = ~stops(going, shares_of(logs), slopes, clock)
        going, clock, step, logs, slopes = going[left], clock[left], step[left], logs[:, left], slopes[:, left]
        if not len(going):
            return
        tried, tried_slopes, error = _stepped(slopes_of, going, logs, slopes, step)
        good = error <= tolerance
        logs, slopes = np.where(good, tried, logs), np.where(good, tried_slopes, slopes)
        clock = clock + step * good
        factor = 0.9 * (tolerance / np.maximum(error, 1e-300)) ** 0.2
        step = step * np.clip(factor, 0.2, 5)


def _stepped(
    slopes_of: SlopesOf, going: Numbers, logs: Floats, slopes: Floats, step: Floats
) -> tuple[Floats, Floats, Floats]:
    """One step of each start: the logarithms after it, the slopes there, and the largest error [going]."""
    stages = [slopes]
    reached = logs
    for weights in _STAGES:
        reached = logs + step * _weighted(weights, stages)
        stages.append(slopes_of(reached, going))
    return reached, stages[-1], np.abs(step * _weighted(_ERROR, stages)).max(axis=0, initial=0.0)


def _weighted(weights: Sequence[float], slopes: Sequence[Floats]) -> Floats:
    return sum((weight * slope for weight, slope in zip(weights, slopes, strict=True) if weight), np.zeros(1))
