"""The maximum of several noisy gains, corrected for the selection (the "winner's curse").

The maximum of estimated means is biased upwards, more so with many candidates and few games. The bias is estimated by
resampling, following Chernozhukov, Lee and Rosen ("Intersection bounds: estimation and inference", Econometrica 81,
2013): before the maximum is taken, a multiple of its own standard error is subtracted from each gain, where the
multiple is a quantile of the largest error of all gains in resampled games. Gains that are clearly not the best are
left out there, so a clear maximum is hardly corrected.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Maximum(NamedTuple):
    """The corrected maximum and its bounds."""

    value: float
    low: float
    high: float


def corrected_maximum(means: Floats, resampled: Floats, starts: NDArray[np.int64], tail: float) -> Maximum:
    """The largest of several gains, each of which is the least of its members' means.

    - `value` is too high in at most half of all cases: in about half of them if gains are tied (median-unbiased), in
      fewer if one gain is a little better than the others.
    - `low` is the largest of lower bounds that hold for all gains simultaneously.
    - `high` is the largest of upper bounds that each hold for one gain and all its members: the bound of the best gain
      is among them, so it needs no correction for the selection.

    For a single gain of a single member, the value is the mean and the bounds are quantiles of its resampled means.

    Args:
        means: [members] of all gains, gain by gain.
        resampled: [resamples, members] the same for resampled games.
        starts: [gains] index of the first member of each gain.
        tail: fraction of resamples beyond each bound.
    """
    gains = np.minimum.reduceat(means, starts)
    drawn = np.minimum.reduceat(resampled, starts, axis=1)
    spread = drawn.std(axis=0)
    errors = _in_units(gains - drawn, spread)
    over_all = np.quantile(errors.max(axis=1), 1 - tail)
    may_be_best = gains + over_all * spread >= (gains - over_all * spread).max()
    gains, spread, errors = gains[may_be_best], spread[may_be_best], errors[:, may_be_best]
    low = float((gains - np.quantile(errors.max(axis=1), 1 - tail) * spread).max())
    # The least of several members is biased downwards; correct only for the selection.
    by_choice = np.median((errors - np.median(errors, axis=0)).max(axis=1))
    value = float((gains - by_choice * spread).max())
    return Maximum(max(low, value), low, float(_upper(means, resampled, starts, tail).max()))


def _upper(means: Floats, resampled: Floats, starts: NDArray[np.int64], tail: float) -> Floats:
    """[gains] the least of upper bounds that hold simultaneously for all members of a gain."""
    spread = resampled.std(axis=0)
    errors = np.maximum.reduceat(_in_units(resampled - means, spread), starts, axis=1)
    reach = np.quantile(errors, 1 - tail, axis=0)
    members = np.diff([*starts, len(means)])
    return np.minimum.reduceat(means + np.repeat(reach, members) * spread, starts)


def _in_units(errors: Floats, spread: Floats) -> Floats:
    """Errors in units of the standard error; 0 without variation beyond rounding errors."""
    varies = spread > 1e-12 * np.maximum(1.0, np.abs(errors).max(axis=0))
    return np.where(varies, errors, 0.0) / np.where(varies, spread, 1.0)
