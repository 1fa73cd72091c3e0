"""How sure a number from a few games is: bootstrap intervals of means, differences and exploitability.

The unit that is resampled is always the game: the powers of one game depend on each other. Nothing here knows what a
game is; samples are arrays whose first axis is the game. The same numbers and the same seed give the same interval.

A sample of one game has no interval: its bounds are nan, and it prints as "4.843 [no interval, n=1]". Two to five games
(the paper plays five, section 5) have one, but bootstrap intervals of so few are too narrow: nominal 95% cover the true
mean of normally distributed games about 50%, 74%, 79%, 84% of the time for n = 2, 3, 4, 5, by either method, and 92%
for n = 20. Samples that do not vary have an interval of width zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from welfare_env.errors import WelfareEnvError

RESAMPLES = 10_000
CONFIDENCE = 0.95
# Resampled values held in memory at a time: 32 MB of them.
_CHUNK_VALUES = 4_000_000
_SCIPY_METHODS = {"percentile": "percentile", "bca": "BCa"}

Floats = NDArray[np.float64]
Seed = np.random.Generator | int
Coalition = tuple[str, ...]


class SampleError(WelfareEnvError, ValueError):
    """Samples of which the estimate asked for cannot be made: empty, unequal where paired, without a member's games."""


@dataclass(frozen=True)
class Estimate:
    """A value with the bounds of its interval.

    `str` and `format` give "4.843 [4.612, 5.001]"; a format specification applies to each number: f"{estimate:.1f}".

    Attributes:
        value: the plug-in estimate.
        low: lower bound; nan where there is no interval.
        high: upper bound; nan where there is no interval.
        n: games; of several samples those of the smallest.
        per_game: one value a game, where the statistic has such.
    """

    value: float
    low: float
    high: float
    n: int
    per_game: tuple[float, ...] = ()

    @property
    def has_interval(self) -> bool:
        """Whether there are bounds at all."""
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


@dataclass(frozen=True)
class CoalitionGain:
    """What a coalition gains by deviating.

    Attributes:
        coalition: its members.
        gain: that of its member who gains least. `per_game` holds the least gain in each deviating game; the mean of
            those is at most `gain.value`, which takes the means of each member first.
        members: member -> its own gain. `per_game` is against the same member's mean in self-play, or, paired, against
            its points in the self-play game of the same seed.
    """

    coalition: Coalition
    gain: Estimate
    members: dict[str, Estimate]


@dataclass(frozen=True)
class ExploitabilityEstimate:
    """How much the best of some coalitions gains by deviating.

    Attributes:
        total: the exploitability.
        best: the coalition that attains it (the first of equals).
        coalitions: the gain of every coalition, in the order given.
    """

    total: Estimate
    best: Coalition
    coalitions: tuple[CoalitionGain, ...]

    def __str__(self) -> str:
        return f"{self.total} by {' + '.join(self.best)}"


def mean_estimate(
    per_game: ArrayLike,
    rng: Seed,
    *,
    method: Literal["percentile", "bca"] = "percentile",
    resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
) -> Estimate:
    """The mean over games and its bootstrap interval (the error bars of section 5).

    Args:
        per_game: [games] one value a game. A nan among them makes the value and the bounds nan.
        rng: a Generator, or a seed.
        method: "percentile", as the paper's figures have it, or "bca": bias-corrected and accelerated (Efron, "Better
            bootstrap confidence intervals", 1987), for skewed samples.
        resamples: how many resampled means the interval is made of.
        confidence: how often the interval should cover the true mean.

    Raises:
        SampleError: there is no game, the array has another shape, or there is no such method.
    """
    if method not in _SCIPY_METHODS:
        raise SampleError(f"method={method!r}: choose one of {', '.join(_SCIPY_METHODS)}")
    values = _sample(per_game)
    if values.ndim != 1:
        raise SampleError(f"a mean is over one value a game, not over an array of shape {values.shape}")
    value = float(values.mean())
    if len(values) == 1 or math.isnan(value):
        low = high = math.nan
    elif _is_constant(values, value):
        low = high = value  # BCa would divide by the variance
    else:
        low, high = _interval_of_mean(values, np.random.default_rng(rng), method, resamples, confidence)
    return Estimate(value, low, high, len(values), tuple(values.tolist()))


def difference_estimate(
    first: ArrayLike,
    second: ArrayLike,
    rng: Seed,
    *,
    paired: bool = False,
    resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
) -> Estimate:
    """The mean of `first` minus the mean of `second`, with a percentile interval.

    Args:
        first: [games] one value a game.
        second: [games] one value a game; as many as in `first` if paired.
        rng: a Generator, or a seed.
        paired: game i of both was played with the same seed, so games are resampled as pairs.
        resamples: how many resampled differences the interval is made of.
        confidence: how often the interval should cover the true difference.

    Returns:
        The estimate. Its `per_game` is `first` minus the mean of `second`, or, paired, the differences.

    Raises:
        SampleError: a sample is empty, or they are paired and of unequal length.
    """
    a, b = _sample(first), _sample(second)
    estimate = statistic_estimate(
        lambda x, y: x.mean(axis=1) - y.mean(axis=1),
        (a, b),
        rng,
        paired=paired,
        resamples=resamples,
        confidence=confidence,
    )
    per_game = a - (b if paired else b.mean())
    return Estimate(estimate.value, estimate.low, estimate.high, estimate.n, tuple(per_game.tolist()))


def statistic_estimate(
    statistic: Callable[..., Floats],
    samples: Sequence[ArrayLike],
    rng: Seed,
    *,
    paired: bool = False,
    resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
) -> Estimate:
    """Any statistic of one or more samples, with a percentile interval.

    Args:
        statistic: of arrays [batch, games_k, ...], one a sample, to [batch].
        samples: arrays [games_k, ...].
        rng: a Generator, or a seed.
        paired: resample the same games of every sample, instead of each sample on its own.
        resamples: how many resampled statistics the interval is made of.
        confidence: how often the interval should cover the true value.

    Raises:
        SampleError: a sample is empty, or they are paired and of unequal length.
    """
    arrays = [_sample(sample) for sample in samples]
    point = statistic(*(array[None] for array in arrays))
    distribution = bootstrap_distribution(statistic, arrays, rng, paired=paired, resamples=resamples)
    low, high = _percentile_interval(point, distribution, confidence)[:, 0]
    n = min(map(len, arrays))
    return _estimate(float(point[0]), low, high, n)


def bootstrap_distribution(
    statistic: Callable[..., Floats],
    samples: Sequence[ArrayLike],
    rng: Seed,
    *,
    paired: bool = False,
    resamples: int = RESAMPLES,
) -> Floats:
    """A statistic of resampled samples.

    Args:
        statistic: of arrays [batch, games_k, ...], one a sample, to [batch, ...].
        samples: arrays [games_k, ...]; games are drawn with replacement, whatever they hold.
        rng: a Generator, or a seed.
        paired: resample the same games of every sample, instead of each sample on its own.
        resamples: how often.

    Returns:
        [resamples, ...]

    Raises:
        SampleError: a sample is empty, or they are paired and of unequal length.
    """
    arrays = [_sample(sample) for sample in samples]
    if paired and len({len(array) for array in arrays}) > 1:
        raise SampleError(
            f"paired samples must have one game a seed each, not {[len(array) for array in arrays]} games"
        )
    generator = np.random.default_rng(rng)
    # The chunk depends on the samples alone, so the draws do too.
    chunk = max(1, _CHUNK_VALUES // sum(array.size for array in arrays))
    sizes = [min(chunk, resamples - start) for start in range(0, resamples, chunk)]
    return np.concatenate([statistic(*_resample(arrays, size, generator, paired)) for size in sizes])


def exploitability_estimate(
    baseline: Mapping[str, ArrayLike],
    deviating: Mapping[Coalition, Mapping[str, ArrayLike]],
    rng: Seed,
    *,
    paired: bool = False,
    resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
) -> ExploitabilityEstimate:
    """Exploitability by coalitions (section 5.1, footnote 6; the paper's coalitions are in appendix B.3).

    The maximum over coalitions C of the minimum over members i of C of the mean points of i in the games in which C
    deviates, less its mean in self-play. It is above 0 if and only if some coalition gains in all its members.

    The self-play games and the games of each coalition are resampled independently, whole games at a time; the interval
    is the percentile one.

    The maximum of means of few games lies, on average, above the maximum of the true means (and the minimum below): the
    more coalitions and the fewer games, the more so. The value is the plug-in estimate, without correction, and the
    interval is that of the plug-in estimate, so it shares the bias. `coalitions` has the gain of each coalition; those
    of a single member are unbiased. Where a sample is of one game (as the paper's coalitions are) there is no interval.

    Args:
        baseline: power -> [games] its points a year in self-play.
        deviating: coalition -> power -> [games] its points a year where the coalition deviates. Powers outside the
            coalition are not looked at.
        rng: a Generator, or a seed.
        paired: game i was played with the same seed in self-play and by every coalition, so the same games of all are
            resampled. Narrower when games of one seed resemble each other.
        resamples: how many resampled estimates the intervals are made of.
        confidence: how often an interval should cover.

    Raises:
        SampleError: there is no coalition, a coalition is empty, a member's points are missing or not finite, or
            samples differ in length where they must not.
    """
    coalitions = tuple(tuple(coalition) for coalition in deviating)
    if not coalitions or not all(coalitions):
        raise SampleError(
            f"exploitability is over one or more coalitions of one or more members, not over {coalitions}"
        )
    members = sorted({member for coalition in coalitions for member in coalition})
    samples = [_by_game(baseline, members, "self-play")]
    samples += [_by_game(points, coalition, f"the games of {coalition}") for coalition, points in deviating.items()]
    columns = [[members.index(member) for member in coalition] for coalition in coalitions]

    def statistic(self_play: Floats, *deviations: Floats) -> Floats:
        return _exploitability(self_play, deviations, columns)

    point = statistic(*(sample[None] for sample in samples))
    distribution = bootstrap_distribution(statistic, samples, rng, paired=paired, resamples=resamples)
    bounds = _percentile_interval(point, distribution, confidence)
    gains = _coalition_gains(coalitions, columns, samples, point[0, 1:], bounds[:, 1:], paired)
    best = max(gains, key=lambda gain: gain.gain.value)
    n = min(map(len, samples))
    return ExploitabilityEstimate(
        total=_estimate(float(point[0, 0]), bounds[0, 0], bounds[1, 0], n, best.gain.per_game),
        best=best.coalition,
        coalitions=gains,
    )


def _exploitability(self_play: Floats, deviations: Sequence[Floats], columns: Sequence[Sequence[int]]) -> Floats:
    """All statistics at once, of the same resamples.

    Args:
        self_play: [batch, games, powers]
        deviations: for each coalition [batch, games, members]
        columns: for each coalition the members' indices among the powers

    Returns:
        [batch, 1 + sum over coalitions of (1 + members)]: the exploitability, then for each coalition its gain and
        those of its members.
    """
    expected = self_play.mean(axis=1)
    blocks: list[Floats] = []
    for points, column in zip(deviations, columns, strict=True):
        gains = points.mean(axis=1) - expected[:, column]
        blocks += [gains.min(axis=1, keepdims=True), gains]
    total = np.max(np.concatenate(blocks[::2], axis=1), axis=1, keepdims=True)
    return np.concatenate([total, *blocks], axis=1)


def _coalition_gains(
    coalitions: Sequence[Coalition],
    columns: Sequence[Sequence[int]],
    samples: Sequence[Floats],
    values: Floats,
    bounds: Floats,
    paired: bool,
) -> tuple[CoalitionGain, ...]:
    """The flat numbers of `_exploitability` (without the first) as objects; bounds are [2, numbers]."""
    self_play, *deviations = samples
    gains: list[CoalitionGain] = []
    start = 0
    for coalition, column, points in zip(coalitions, columns, deviations, strict=True):
        n = min(len(self_play), len(points))
        reference = self_play[:, column] if paired else self_play[:, column].mean(axis=0)
        per_game = points - reference
        series = [per_game.min(axis=1), *per_game.T]
        estimates = [
            _estimate(float(values[k]), bounds[0, k], bounds[1, k], n, tuple(series[k - start].tolist()))
            for k in range(start, start + 1 + len(coalition))
        ]
        gains.append(CoalitionGain(coalition, estimates[0], dict(zip(coalition, estimates[1:], strict=True))))
        start += 1 + len(coalition)
    return tuple(gains)


def _by_game(points: Mapping[str, ArrayLike], powers: Sequence[str], where: str) -> Floats:
    """[games, powers] of power -> [games]."""
    missing = [power for power in powers if power not in points]
    if missing:
        raise SampleError(f"{where}: no points of {missing}, only of {sorted(points)}")
    samples = [_sample(points[power]) for power in powers]
    shapes = {sample.shape for sample in samples}
    if len(shapes) > 1 or samples[0].ndim != 1:
        raise SampleError(
            f"{where}: every power needs one number a game, in as many games; shapes are {sorted(shapes)}"
        )
    if not np.isfinite(samples).all():
        raise SampleError(f"{where}: points must be finite numbers (a standard game has no welfare)")
    return np.stack(samples, axis=1)


def _sample(values: ArrayLike) -> Floats:
    sample = np.asarray(values, dtype=np.float64)
    if sample.ndim == 0 or sample.size == 0:
        raise SampleError(f"an estimate needs one game at least, not an array of shape {sample.shape}")
    return sample


def _resample(arrays: Sequence[Floats], size: int, generator: np.random.Generator, paired: bool) -> list[Floats]:
    """Each [games, ...] as [size, games, ...]: games drawn with replacement."""
    if paired:
        drawn = generator.integers(len(arrays[0]), size=(size, len(arrays[0])))
        return [array[drawn] for array in arrays]
    return [array[generator.integers(len(array), size=(size, len(array)))] for array in arrays]


def _interval_of_mean(
    values: Floats, generator: np.random.Generator, method: str, resamples: int, confidence: float
) -> tuple[float, float]:
    from scipy import stats  # takes most of a second to import

    center, spread = float(values.mean()), float(np.ptp(values))

    def mean(sample: Floats, axis: int) -> Floats:
        # BCa counts the resamples below the mean, and games often tie with it: rounding errors must not decide.
        means: Floats = np.round(sample.mean(axis=axis), 12)
        return means

    interval: Any = stats.bootstrap(
        ((values - center) / spread,),
        mean,
        n_resamples=resamples,
        batch=max(1, _CHUNK_VALUES // len(values)),
        confidence_level=confidence,
        method=_SCIPY_METHODS[method],
        rng=generator,
    ).confidence_interval
    least, most = float(values.min()), float(values.max())  # rounding must not take a bound past the sample
    return max(least, center + spread * float(interval.low)), min(most, center + spread * float(interval.high))


def _percentile_interval(point: Floats, distribution: Floats, confidence: float) -> Floats:
    """[2, ...] the lower and upper bounds of point [1, ...] from distribution [resamples, ...]."""
    tail = (1 - confidence) / 2
    bounds = np.quantile(distribution, [tail, 1 - tail], axis=0)
    result: Floats = np.where(_is_constant(distribution, point[0]), point, bounds).reshape(2, -1)
    return result


def _is_constant(values: Floats, size: ArrayLike) -> NDArray[np.bool_]:
    """Along the first axis. Sums of one and the same number may differ in the last bits: that is no spread."""
    result: NDArray[np.bool_] = np.ptp(values, axis=0) <= 1e-12 * np.maximum(1.0, np.abs(size))
    return result


def _estimate(value: float, low: float, high: float, n: int, per_game: tuple[float, ...] = ()) -> Estimate:
    """Without bounds where a sample is of one game: resampling it would only repeat it."""
    if n == 1:
        low = high = math.nan
    return Estimate(value, float(low), float(high), n, per_game)
