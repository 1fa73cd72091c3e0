"""The best of several noisy gains, corrected for having been chosen because it is the best.

The maximum of estimated means lies, on average, above the maximum of the true means: the more there are to choose
from, and the fewer games, the further. What chance adds is estimated by resampling the maximum itself, as Chernozhukov,
Lee and Rosen do ("Intersection bounds: estimation and inference", Econometrica 81, 2013): from each gain a multiple of
its own standard error is taken before the maximum, and the multiple is a quantile of the largest error of all gains in
resampled games. Gains that are clearly not the best do not count there, so that one clear best is hardly corrected.
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
    """The greatest of several gains, each of which is the least of its members' means.

    - `value` is too high in half of all cases at most: at ties in just about half of them (median-unbiased), where one
      gain is a little better than others in fewer.
    - `low` is the best of lower bounds that hold for all gains together.
    - `high` is the best of upper bounds that each hold for one gain and all its members: the best gain's bound is among
      them, so it needs no correction for the choice.

    Of a single gain of a single member the value is the mean, and the bounds are quantiles of its resampled means.

    Args:
        means: [members] of all gains, one gain after the other.
        resampled: [resamples, members] the same of resampled games.
        starts: [gains] where the members of each begin.
        tail: what share of resamples is left out at each end.
    """
    gains = np.minimum.reduceat(means, starts)
    drawn = np.minimum.reduceat(resampled, starts, axis=1)
    spread = drawn.std(axis=0)
    errors = _in_units(gains - drawn, spread)
    over_all = np.quantile(errors.max(axis=1), 1 - tail)
    may_be_best = gains + over_all * spread >= (gains - over_all * spread).max()
    gains, spread, errors = gains[may_be_best], spread[may_be_best], errors[:, may_be_best]
    low = float((gains - np.quantile(errors.max(axis=1), 1 - tail) * spread).max())
    # The least of several members is low on average; only what comes from the choice is to be taken away.
    by_choice = np.median((errors - np.median(errors, axis=0)).max(axis=1))
    value = float((gains - by_choice * spread).max())
    return Maximum(max(low, value), low, float(_upper(means, resampled, starts, tail).max()))


def _upper(means: Floats, resampled: Floats, starts: NDArray[np.int64], tail: float) -> Floats:
    """[gains] a bound that lies above the means of all members at once, at the member for whom it is least."""
    spread = resampled.std(axis=0)
    errors = np.maximum.reduceat(_in_units(resampled - means, spread), starts, axis=1)
    reach = np.quantile(errors, 1 - tail, axis=0)
    members = np.diff([*starts, len(means)])
    return np.minimum.reduceat(means + np.repeat(reach, members) * spread, starts)


def _in_units(errors: Floats, spread: Floats) -> Floats:
    """Errors in standard errors; 0 where nothing varies, but for the last bits of sums of equal numbers."""
    varies = spread > 1e-12 * np.maximum(1.0, np.abs(errors).max(axis=0))
    return np.where(varies, errors, 0.0) / np.where(varies, spread, 1.0)
