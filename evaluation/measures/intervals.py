"""Bootstrap confidence intervals of means and of exploitability.

These are expanded percentile intervals (Hesterberg, "What teachers should know about the bootstrap", The American
Statistician 69, 2015): percentiles of resampled means, at tails smaller than the nominal 2.5%, chosen so that the
interval is as wide as Student's for normally distributed games. Plain percentile intervals are too narrow.

Games are resampled, never powers, since the powers of one game depend on each other. Samples are arrays whose first
axis is the game. The same numbers and the same seed give the same interval.

A sample of one game has no interval: its bounds are nan, and it prints as "4.843 [no interval, n=1]". Bounds never lie
outside the range of the sample, so for two to four games (the paper plays five, section 5) the interval is from the
minimum to the maximum, and still too narrow: nominal 95% intervals cover the true mean of normally distributed games
about 50%, 75%, 88%, 92% of the time for n = 2, 3, 4, 5, and 95% from about ten. Samples without variation have an
interval of width zero. `python -m benchmarks.calibration` measures the coverage.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from welfare_env.errors import WelfareEnvError

RESAMPLES = 10_000
CONFIDENCE = 0.95
# Resampled values in memory at a time: 32 MB.
_CHUNK_VALUES = 4_000_000

Floats = NDArray[np.float64]
Seed = np.random.Generator | int
Coalition = tuple[str, ...]
Key = TypeVar("Key", bound=Hashable)


class SampleError(WelfareEnvError, ValueError):
    """Invalid samples: empty, of unequal length, or without the games of a member."""


@dataclass(frozen=True)
class Estimate:
    """A value with its confidence interval.

    `str` and `format` give "4.843 [4.612, 5.001]"; a format specification applies to each number: f"{estimate:.1f}".

    Attributes:
        value: the plug-in estimate.
        low: lower bound; nan if there is no interval.
        high: upper bound; nan if there is no interval.
        n: number of games.
        per_game: one value per game.
    """

    value: float
    low: float
    high: float
    n: int
    per_game: tuple[float, ...]

    @property
    def has_interval(self) -> bool:
        """Whether there are bounds."""
        return not (math.isnan(self.low) or math.isnan(self.high))

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types; nan becomes None."""
        numbers = {"value": self.value, "low": self.low, "high": self.high}
        told: dict[str, Any] = {name: None if math.isnan(number) else number for name, number in numbers.items()}
        return told | {"n": self.n, "per_game": [None if math.isnan(x) else x for x in self.per_game]}

    def __format__(self, spec: str) -> str:
        number = spec or ".3f"
        if not self.has_interval:
            return f"{self.value:{number}} [no interval, n={self.n}]"
        return f"{self.value:{number}} [{self.low:{number}}, {self.high:{number}}]"

    def __str__(self) -> str:
        return format(self)


def mean_estimate(
    per_game: ArrayLike, rng: Seed, *, within: tuple[float, float] | None = None, confidence: float = CONFIDENCE
) -> Estimate:
    """The mean over games and its interval (the error bars in section 5).

    Args:
        per_game: [games] one value per game. If one is nan, the value and the bounds are nan.
        rng: a Generator, or a seed.
        within: bounds of a game's value by the rules, if there are any.
        confidence: nominal coverage.

    Raises:
        SampleError: there are no games, or the array has another shape.
    """
    return mean_estimates({"": per_game}, rng, within=within, confidence=confidence)[""]


def mean_estimates(
    samples: Mapping[Key, ArrayLike],
    rng: Seed,
    *,
    within: tuple[float, float] | None = None,
    confidence: float = CONFIDENCE,
) -> dict[Key, Estimate]:
    """`mean_estimate` of each sample. Samples of the same size share draws; with a seed, results equal single calls.

    Drawing takes longer than averaging, so this is faster than single calls.
    """
    columns = {key: _sample(per_game) for key, per_game in samples.items()}
    for values in columns.values():
        if values.ndim != 1:
            raise SampleError(f"a mean needs one value per game, not an array of shape {values.shape}")
    estimates: dict[Key, Estimate] = {}
    for games in dict.fromkeys(map(len, columns.values())):
        alike = {key: values for key, values in columns.items() if len(values) == games}
        means: dict[Key, list[Floats]] = {key: [] for key in alike}
        for drawn in _draws(games, 1, rng):
            for key, values in alike.items():
                means[key].append(values.take(drawn).mean(axis=1))
        for key, values in alike.items():
            column, resampled = values[:, None], np.concatenate(means[key])[:, None]
            estimates[key] = _estimate(column.mean(axis=0), resampled, column, confidence)
    return {key: estimates[key] for key in samples}


def tail_of(games: int, confidence: float = CONFIDENCE) -> float:
    """The fraction of resampled means below the lower bound, and above the upper one, for two or more games."""
    from scipy.special import ndtr, stdtrit  # lazily: not needed for --help

    student = stdtrit(games - 1, (1 + confidence) / 2)
    return float(ndtr(-math.sqrt(games / (games - 1)) * student))


def resampled_means(sample: Floats, rng: Seed) -> Floats:
    """Means over games drawn with replacement.

    Args:
        sample: [games, values]
        rng: a Generator, or a seed.

    Returns:
        [RESAMPLES, values]
    """
    games, values = sample.shape
    return np.concatenate([sample[drawn].mean(axis=1) for drawn in _draws(games, values, rng)])


def _draws(games: int, values: int, rng: Seed) -> Iterator[NDArray[np.int64]]:
    """The game indices of all resamples, [resamples, games], in chunks that fit memory (`values` per game)."""
    try:
        generator = np.random.default_rng(rng)
    except (TypeError, ValueError) as error:
        raise SampleError(f"rng: give a Generator, or a whole number from 0: {error!s:.200}") from error
    chunk = max(1, _CHUNK_VALUES // (games * values))
    for start in range(0, RESAMPLES, chunk):
        yield generator.integers(games, size=(min(chunk, RESAMPLES - start), games))


def _sample(values: ArrayLike) -> Floats:
    try:
        sample = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise SampleError(f"an estimate needs numbers: {error!s:.200}") from error
    if sample.ndim == 0 or sample.size == 0:
        raise SampleError(f"an estimate needs at least one game, not an array of shape {sample.shape}")
    return sample


def _estimate(point: Floats, resampled: Floats, per_game: Floats, confidence: float) -> Estimate:
    """The estimate of a column of [1], [RESAMPLES, 1] and [games, 1].

    With one game there are no bounds: resampling would only repeat it.
    """
    tail = tail_of(len(per_game), confidence) if len(per_game) > 1 else 0.5
    bounds = np.quantile(resampled, [tail, 1 - tail], axis=0)
    # Sums of equal numbers may differ in the last bits; that is not variation.
    is_constant = np.ptp(resampled, axis=0) <= 1e-12 * np.maximum(1.0, np.abs(point))
    bounds = np.full_like(bounds, np.nan) if len(per_game) == 1 else np.where(is_constant, point, bounds)
    low, high = bounds[:, 0].tolist()
    return Estimate(float(point[0]), low, high, len(per_game), tuple(per_game[:, 0].tolist()))
