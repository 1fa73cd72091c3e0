"""Confidence bounds of means over games, and of ratios of sums.

The two ends of an interval are computed separately:

- If the rules bound the values of a game on that side: Gaffke's bound, with one additional game at the rules' bound and
  random weights, uniform on the simplex (Learned-Miller and Thomas, "A new confidence interval for the mean of a
  bounded random variable", 2019). Its coverage is conjectured for every distribution. For values 0 and 1 it is the
  Clopper-Pearson bound; for equal values, the rule of three. It allows for events in one of n games that n games may
  have missed, so it is wide if all games are far from the rules' bound.
- Otherwise: Student's bound, moved outward on the side of the longer tail by twice the skewness term of the
  Cornish-Fisher expansion of the t statistic (N. J. Johnson, "Modified t tests and confidence intervals for
  asymmetrical populations", JASA 73, 1978; P. Hall, "The bootstrap and Edgeworth expansion", 1992, section 2.6). Twice,
  since small samples show too little of a long tail. It cannot allow for events that no game shows, such as an attack
  in one game of a hundred.

`python -m research.validation.intervals` measures coverage and width.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

RESAMPLES = 10_000
UNBOUNDED = (-math.inf, math.inf)
_CHUNK_VALUES = 4_000_000  # numbers in memory at a time: 32 MB


class Bounds(NamedTuple):
    """Lower and upper bounds, one per sample; nan for none."""

    low: Floats
    high: Floats


def mean_bounds(samples: Floats, within: tuple[float, float], confidence: float, rng: np.random.Generator) -> Bounds:
    """Bounds of the means of samples; nan if all games of a sample are equal and the rules have no bound.

    Args:
        samples: [samples, games], at least three games.
        within: the rules' bounds of a game's value; infinite for none.
        confidence: confidence level of each interval.
        rng: random numbers; not used if no bound is finite.
    """
    low, high = student_bounds(samples, confidence)
    if any(map(math.isfinite, within)):
        gaffke = weighted_bounds(samples, np.ones((1, samples.shape[1])), within, confidence, rng)
        low = gaffke.low if math.isfinite(within[0]) else low
        high = gaffke.high if math.isfinite(within[1]) else high
    return Bounds(low, high)


def student_bounds(samples: Floats, confidence: float) -> Bounds:
    """Student's bounds of the means of samples, [samples, games], moved outward on the side of the longer tail."""
    from scipy.special import stdtrit  # lazily: not needed for --help

    games = samples.shape[-1]
    mean = samples.mean(axis=-1)
    spread = np.where(alike(samples), np.nan, samples.std(axis=-1, ddof=1))
    scaled = (samples - mean[..., None]) / spread[..., None]
    skewness = games / ((games - 1) * (games - 2)) * (scaled**3).sum(axis=-1)
    student = float(stdtrit(games - 1, (1 + confidence) / 2))
    outward = skewness * (1 + 2 * student**2) / (3 * math.sqrt(games))
    error = spread / math.sqrt(games)
    return Bounds(mean - (student - np.minimum(outward, 0)) * error, mean + (student + np.maximum(outward, 0)) * error)


def weighted_bounds(
    parts: Floats, wholes: Floats, within: tuple[float, float], confidence: float, rng: np.random.Generator
) -> Bounds:
    """Gaffke's bounds of sum(parts) / sum(wholes) (of means, if the wholes are 1); infinite if `within` is.

    The additional game has the mean whole of the sample, and the rules' bound as its ratio.

    Args:
        parts: [samples, games]
        wholes: [samples, games], or [1, games] for all samples.
        within: the rules' bounds of parts / wholes.
        confidence: confidence level of each interval.
        rng: draws the weights, the same for all samples.
    """
    drawn = [_weighted(parts, wholes, weights) for weights in _weights(parts.shape[1], rng)]
    of_parts, of_wholes, unseen = (np.concatenate(each, axis=1) for each in zip(*drawn, strict=True))
    tail = (1 - confidence) / 2
    value = parts.sum(axis=1) / wholes.sum(axis=1)
    low, high = (
        np.quantile((of_parts + unseen * bound) / (of_wholes + unseen), each, axis=1)
        if math.isfinite(bound)
        else np.full_like(value, bound)
        for bound, each in zip(within, (tail, 1 - tail), strict=True)
    )
    return Bounds(np.minimum(low, value), np.maximum(high, value))


def _weighted(parts: Floats, wholes: Floats, weights: Floats) -> tuple[Floats, Floats, Floats]:
    """[samples, weights] weighted sums of parts and of wholes, and the weighted whole of the additional game."""
    of_parts, of_wholes = (
        np.stack([np.einsum("wg,g->w", weights[:, :-1], values) for values in each]) for each in (parts, wholes)
    )
    return of_parts, of_wholes, wholes.mean(axis=1, keepdims=True) * weights[:, -1]


def _weights(games: int, rng: np.random.Generator) -> Iterator[Floats]:
    """[weights, games + 1] unnormalized weights, uniform on the simplex once normalized, in chunks."""
    chunk = max(1, _CHUNK_VALUES // (games + 1))
    for start in range(0, RESAMPLES, chunk):
        yield rng.standard_exponential((min(chunk, RESAMPLES - start), games + 1))


def alike(samples: Floats) -> NDArray[np.bool_]:
    """[...] whether all games of [..., games] are equal, up to rounding errors."""
    return np.asarray(np.ptp(samples, axis=-1) <= 1e-12 * np.abs(samples).max(axis=-1))
