"""How sure a number from a few games is: percentile bootstrap intervals of means and of exploitability.

The unit that is resampled is always the game: the powers of one game depend on each other. Nothing here knows what a
game is; samples are arrays whose first axis is the game. The same numbers and the same seed give the same interval.

A sample of one game has no interval: its bounds are nan, and it prints as "4.843 [no interval, n=1]". Two to five games
(the paper plays five, section 5) have one, but bootstrap intervals of so few are too narrow: nominal 95% cover the true
mean of normally distributed games about 50%, 74%, 79%, 84% of the time for n = 2, 3, 4, 5, and 92% for n = 20. Samples
that do not vary have an interval of width zero.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from welfare_env.errors import WelfareEnvError

RESAMPLES = 10_000
CONFIDENCE = 0.95
# Resampled values held in memory at a time: 32 MB of them.
_CHUNK_VALUES = 4_000_000

Floats = NDArray[np.float64]
Seed = np.random.Generator | int
Coalition = tuple[str, ...]


class SampleError(WelfareEnvError, ValueError):
    """Samples of which the estimate asked for cannot be made: empty, of unequal length, without a member's games."""


@dataclass(frozen=True)
class Estimate:
    """A value with the bounds of its interval.

    `str` and `format` give "4.843 [4.612, 5.001]"; a format specification applies to each number: f"{estimate:.1f}".

    Attributes:
        value: the plug-in estimate.
        low: lower bound; nan where there is no interval.
        high: upper bound; nan where there is no interval.
        n: games.
        per_game: one value a game.
    """

    value: float
    low: float
    high: float
    n: int
    per_game: tuple[float, ...]

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
        gain: that of its member who gains least. `per_game` holds the least gain in each game; the mean of those is at
            most `gain.value`, which takes the mean of each member first.
        members: member -> its own gain. `per_game` is against its points in the self-play game of the same seed.
    """

    coalition: Coalition
    gain: Estimate
    members: dict[str, Estimate]


@dataclass(frozen=True)
class ExploitabilityEstimate:
    """How much the best of some coalitions gains by deviating.

    Attributes:
        total: the exploitability. `per_game` is that of the best coalition's gain.
        best: the coalition that attains it (the first of equals).
        coalitions: the gain of every coalition, in the order given.
    """

    total: Estimate
    best: Coalition
    coalitions: tuple[CoalitionGain, ...]


def mean_estimate(per_game: ArrayLike, rng: Seed) -> Estimate:
    """The mean over games and its interval (the error bars of section 5).

    Args:
        per_game: [games] one value a game. A nan among them makes the value and the bounds nan.
        rng: a Generator, or a seed.

    Raises:
        SampleError: there is no game, or the array has another shape.
    """
    values = _sample(per_game)
    if values.ndim != 1:
        raise SampleError(f"a mean is over one value a game, not over an array of shape {values.shape}")
    column = values[:, None]
    return _estimates(column.mean(axis=0), resampled_means(column, rng), column)[0]


def exploitability_estimate(
    baseline: Mapping[str, ArrayLike], deviating: Mapping[Coalition, Mapping[str, ArrayLike]], rng: Seed
) -> ExploitabilityEstimate:
    """Exploitability by coalitions (section 5.1, footnote 6; the paper's coalitions are in appendix B.3).

    The maximum over coalitions C of the minimum over members i of C of the mean points of i in the games in which C
    deviates, less its mean in self-play. It is above 0 if and only if some coalition gains in all its members.

    Game i has one seed everywhere, so the same games of self-play and of all coalitions are resampled together.

    The maximum of means of few games lies, on average, above the maximum of the true means (and the minimum below): the
    more coalitions and the fewer games, the more so. The value is the plug-in estimate and the interval is that of the
    plug-in estimate, so both have the bias. `coalitions` has all gains; those of a single member are unbiased.

    Args:
        baseline: power -> [games] its points a year in self-play.
        deviating: coalition -> power -> [games] its points a year where the coalition deviates. Powers outside the
            coalition are not looked at.
        rng: a Generator, or a seed.

    Raises:
        SampleError: there is no coalition, a coalition is empty, a member's points are missing or not finite, or there
            are not as many games of each coalition as of self-play.
    """
    gains = _member_gains(baseline, deviating)
    columns = np.concatenate(list(gains.values()), axis=1)
    starts = np.cumsum([0, *map(len, gains)])[:-1]  # of each coalition's columns
    of_members = columns.mean(axis=0), resampled_means(columns, rng), columns
    point, resampled, per_game = (np.minimum.reduceat(of, starts, axis=-1) for of in of_members)
    best = int(point.argmax())
    (total,) = _estimates(point[[best]], resampled.max(axis=1, keepdims=True), per_game[:, [best]])
    members = iter(_estimates(*of_members))
    told = tuple(
        CoalitionGain(coalition, gain, {power: next(members) for power in coalition})
        for coalition, gain in zip(gains, _estimates(point, resampled, per_game), strict=True)
    )
    return ExploitabilityEstimate(total, told[best].coalition, told)


def resampled_means(sample: Floats, rng: Seed) -> Floats:
    """Means over games that are drawn with replacement, whatever they hold.

    Args:
        sample: [games, values]
        rng: a Generator, or a seed.

    Returns:
        [RESAMPLES, values]
    """
    try:
        generator = np.random.default_rng(rng)
    except (TypeError, ValueError) as error:
        raise SampleError(f"rng: give a Generator, or a whole number from 0: {error!s:.200}") from error
    # The chunk depends on the sample alone, so the draws do too.
    chunk = max(1, _CHUNK_VALUES // sample.size)
    sizes = [min(chunk, RESAMPLES - start) for start in range(0, RESAMPLES, chunk)]
    games = len(sample)
    return np.concatenate([sample[generator.integers(games, size=(size, games))].mean(axis=1) for size in sizes])


def _member_gains(
    baseline: Mapping[str, ArrayLike], deviating: Mapping[Coalition, Mapping[str, ArrayLike]]
) -> dict[Coalition, Floats]:
    """Coalition -> [games, members] what each member has more than in the self-play game of the same seed."""
    if not deviating or not all(deviating):
        raise SampleError(
            f"exploitability is over one or more coalitions of one or more members, not over {tuple(deviating)}"
        )
    gains = {}
    for coalition, points in deviating.items():
        there = _by_game(points, coalition, f"the games of {coalition}")
        here = _by_game(baseline, coalition, "self-play")
        if len(there) != len(here):
            raise SampleError(f"{coalition}: {len(there)} games, and {len(here)} of self-play: play one a seed of each")
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
            f"{where}: every power needs one number a game, in as many games; shapes are {sorted(shapes)}"
        )
    if not np.isfinite(samples).all():
        raise SampleError(f"{where}: points must be finite numbers (a standard game has no welfare)")
    return np.stack(samples, axis=1)


def _sample(values: ArrayLike) -> Floats:
    try:
        sample = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise SampleError(f"an estimate is over numbers: {error!s:.200}") from error
    if sample.ndim == 0 or sample.size == 0:
        raise SampleError(f"an estimate needs one game at least, not an array of shape {sample.shape}")
    return sample


def _estimates(point: Floats, resampled: Floats, per_game: Floats) -> list[Estimate]:
    """One estimate a column, of [columns], [RESAMPLES, columns] and [games, columns].

    Without bounds where there is one game: resampling it would only repeat it.
    """
    tail = (1 - CONFIDENCE) / 2
    bounds = np.quantile(resampled, [tail, 1 - tail], axis=0)
    # Sums of one and the same number may differ in the last bits: that is no spread.
    is_constant = np.ptp(resampled, axis=0) <= 1e-12 * np.maximum(1.0, np.abs(point))
    bounds = np.full_like(bounds, np.nan) if len(per_game) == 1 else np.where(is_constant, point, bounds)
    columns = zip(point.tolist(), *bounds.tolist(), per_game.T.tolist(), strict=True)
    return [Estimate(value, low, high, len(per_game), tuple(games)) for value, low, high, games in columns]
