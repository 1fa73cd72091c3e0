"""Steps of the replicator dynamics in the logarithms of shares, for many populations at once, each with its own size.

The pair of order 5 and 4 of Dormand and Prince (1980).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from modal_env.dynamics.populations import Floats

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


def stepped(
    slopes_of: Callable[[Floats], Floats], logs: Floats, slopes: Floats, step: Floats
) -> tuple[Floats, Floats, Floats]:
    """One step of each start: the logarithms after it, the slopes there, and the largest error [starts].

    Args:
        slopes_of: [n, starts] slopes at [n, starts] logarithms.
        logs: [n, starts]
        slopes: [n, starts] at `logs`.
        step: [starts]
    """
    found = [slopes]
    reached = logs
    for stage in _STAGES:
        reached = logs + step * sum(weight * slope for weight, slope in zip(stage, found, strict=True) if weight)
        found.append(slopes_of(reached))
    error = step * sum(weight * slope for weight, slope in zip(_ERROR, found, strict=True) if weight)
    return reached, found[-1], np.abs(error).max(axis=0, initial=0.0)


def next_step(step: Floats, error: Floats, tolerance: float) -> Floats:
    """[starts] the next size of a step, given the last one and its error."""
    return np.asarray(step * np.clip(0.9 * (tolerance / np.maximum(error, 1e-300)) ** 0.2, 0.2, 5))
