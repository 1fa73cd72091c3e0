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
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evaluation.measures.selection import corrected_maximum
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
    per_game: tuple[float, ...] = field(repr=False)

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


@dataclass(frozen=True)
class CoalitionGain:
    """The gain of a coalition that deviates.

    Attributes:
        coalition: its members.
        deviator: what they play; "" if there is only one.
        gain: of the member who gains least. `per_game` is the least gain in each game; the mean of these is at most
            `gain.value`, the least of the members' means.
        members: member -> its own gain. `per_game` is relative to the self-play game of the same seed.
    """

    coalition: Coalition
    gain: Estimate
    members: dict[str, Estimate]
    deviator: str = ""


@dataclass(frozen=True)
class ExploitabilityEstimate:
    """The gain of the best of several coalitions.

    Attributes:
        total: the largest gain (plug-in estimate). `per_game` is that of the best coalition.
        corrected: the same, corrected for the choice among several (`evaluation.measures.selection`); nan if there are
            several with only one game each.
        best: the coalition with the largest gain (the first of equals). deviator: what it plays.
        coalitions: the gain of every coalition, deviator by deviator, in the order given.
    """

    total: Estimate
    corrected: Estimate
    best: Coalition
    deviator: str
    coalitions: tuple[CoalitionGain, ...]


def mean_estimate(per_game: ArrayLike, rng: Seed) -> Estimate:
    """The mean over games and its interval (the error bars in section 5).

    Args:
        per_game: [games] one value per game. If one is nan, the value and the bounds are nan.
        rng: a Generator, or a seed.

    Raises:
        SampleError: there are no games, or the array has another shape.
    """
    return mean_estimates({"": per_game}, rng)[""]


def mean_estimates(samples: Mapping[Key, ArrayLike], rng: Seed) -> dict[Key, Estimate]:
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
            estimates[key] = _estimates(column.mean(axis=0), resampled, column)[0]
    return {key: estimates[key] for key in samples}


def exploitability_estimate(
    baseline: Mapping[str, ArrayLike], deviating: Mapping[Coalition, Mapping[str, ArrayLike]], rng: Seed
) -> ExploitabilityEstimate:
    """Exploitability by coalitions (section 5.1, footnote 6; the paper's coalitions are in appendix B.3).

    The maximum over coalitions C of the minimum over members i of C of the mean points of i in the games in which C
    deviates, minus its mean in self-play. It is positive if and only if all members of some coalition gain.

    Game i has the same seed in every condition, so games of self-play and of all coalitions are resampled in pairs.

    The maximum of sample means is biased upwards (and the minimum downwards), more so for many coalitions and few
    games. `total` is the plug-in estimate with its interval, and has this bias; `corrected` removes it. `coalitions`
    has all gains; those of single members are unbiased.

    Args:
        baseline: power -> [games] its points a year in self-play.
        deviating: coalition -> power -> [games] its points a year when the coalition deviates. Powers outside the
            coalition are ignored.
        rng: a Generator, or a seed.

    Raises:
        SampleError: there is no coalition, a coalition is empty, a member's points are missing or not finite, or a
            coalition has another number of games than self-play.
    """
    return portfolio_estimate(baseline, {"": deviating}, rng)


def portfolio_estimate(
    baseline: Mapping[str, ArrayLike],
    deviating: Mapping[str, Mapping[Coalition, Mapping[str, ArrayLike]]],
    rng: Seed,
) -> ExploitabilityEstimate:
    """As `exploitability_estimate`, with the maximum also over several deviators.

    Args:
        baseline: power -> [games] its points a year in self-play.
        deviating: deviator -> coalition -> power -> [games] its points a year.
        rng: a Generator, or a seed.

    Raises:
        SampleError: as `exploitability_estimate`.
    """
    gains = {
        (deviator, coalition): members
        for deviator, played in deviating.items()
        for coalition, members in _member_gains(baseline, played).items()
    }
    if not gains:
        raise SampleError("exploitability needs one or more deviators")
    columns = np.concatenate(list(gains.values()), axis=1)
    sizes = [len(coalition) for _, coalition in gains]
    starts = np.cumsum([0, *sizes])[:-1]  # first column of each coalition
    of_members = columns.mean(axis=0), resampled_means(columns, rng), columns
    point, resampled, per_game = (np.minimum.reduceat(of, starts, axis=-1) for of in of_members)
    best = int(point.argmax())
    (total,) = _estimates(point[[best]], resampled.max(axis=1, keepdims=True), per_game[:, [best]])
    members = iter(_estimates(*of_members))
    coalition_gains = tuple(
        CoalitionGain(coalition, gain, {power: next(members) for power in coalition}, deviator)
        for (deviator, coalition), gain in zip(gains, _estimates(point, resampled, per_game), strict=True)
    )
    return ExploitabilityEstimate(
        total,
        _corrected(total, *of_members[:2], starts),
        coalition_gains[best].coalition,
        coalition_gains[best].deviator,
        coalition_gains,
    )


def _corrected(total: Estimate, means: Floats, resampled: Floats, starts: NDArray[np.int64]) -> Estimate:
    """The maximum corrected for the choice; nan for several gains with one game each."""
    if total.n == 1:
        return total if len(starts) == 1 else replace(total, value=math.nan)
    return replace(total, **corrected_maximum(means, resampled, starts, tail_of(total.n))._asdict())


def tail_of(games: int) -> float:
    """The fraction of resampled means below the lower bound, and above the upper one, for two or more games."""
    from scipy.special import ndtr, stdtrit  # lazily: not needed for --help

    student = stdtrit(games - 1, (1 + CONFIDENCE) / 2)
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


def _member_gains(
    baseline: Mapping[str, ArrayLike], deviating: Mapping[Coalition, Mapping[str, ArrayLike]]
) -> dict[Coalition, Floats]:
    """Coalition -> [games, members] gain of each member over the self-play game of the same seed."""
    if not deviating or not all(deviating):
        raise SampleError(f"exploitability needs one or more coalitions of one or more members, not {tuple(deviating)}")
    gains = {}
    for coalition, points in deviating.items():
        there = _by_game(points, coalition, f"the games of {coalition}")
        here = _by_game(baseline, coalition, "self-play")
        if len(there) != len(here):
            raise SampleError(f"{coalition}: {len(there)} games, but {len(here)} of self-play: play the same seeds")
        gains[coalition] = there - here
    return gains


def _by_game(points: Mapping[str, ArrayLike], powers: Coalition, where: str) -> Floats:
    """[games, powers] of power -> [games]."""
    missing = [power for power in powers if power not in points]
    if missing:
        raise SampleError(f"{where}: no points of {missing}, only of {sorted(points)}")
    samples = [_sample(points[power]) for power in powers]
    shapes = {sample.shape for sample in samples}
    if len(shapes) > 1 or samples[0].ndim != 1:
        raise SampleError(
            f"{where}: every power needs one number per game, and equally many games; shapes are {sorted(shapes)}"
        )
    if not np.isfinite(samples).all():
        raise SampleError(f"{where}: points must be finite numbers (a standard game has no welfare)")
    return np.stack(samples, axis=1)


def _sample(values: ArrayLike) -> Floats:
    try:
        sample = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise SampleError(f"an estimate needs numbers: {error!s:.200}") from error
    if sample.ndim == 0 or sample.size == 0:
        raise SampleError(f"an estimate needs at least one game, not an array of shape {sample.shape}")
    return sample


def _estimates(point: Floats, resampled: Floats, per_game: Floats) -> list[Estimate]:
    """One estimate per column of [columns], [RESAMPLES, columns] and [games, columns].

    With one game there are no bounds: resampling would only repeat it.
    """
    tail = tail_of(len(per_game)) if len(per_game) > 1 else 0.5
    bounds = np.quantile(resampled, [tail, 1 - tail], axis=0)
    # Sums of equal numbers may differ in the last bits; that is not variation.
    is_constant = np.ptp(resampled, axis=0) <= 1e-12 * np.maximum(1.0, np.abs(point))
    bounds = np.full_like(bounds, np.nan) if len(per_game) == 1 else np.where(is_constant, point, bounds)
    columns = zip(point.tolist(), *bounds.tolist(), per_game.T.tolist(), strict=True)
    return [Estimate(value, low, high, len(per_game), tuple(games)) for value, low, high, games in columns]
