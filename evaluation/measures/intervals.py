"""Estimates with confidence intervals: of means, of shares, and of exploitability.

`mean_estimate` and `share_estimate` take their bounds from `evaluation.measures.mean_bounds`. Fewer than five games
have no interval: the bounds are nan, and the estimate prints with the range of its games, in round brackets: "4.843
(range 4.612 to 5.001, n=3)". Games that are all alike have bounds only where the rules bound the value of a game, and
print as "4.843 [all 20 alike]".

Games are the unit, never powers, since the powers of one game depend on each other. Samples are arrays whose first
axis is the game. The same numbers and the same seed give the same interval.

The intervals of exploitability are expanded percentile intervals (Hesterberg, "What teachers should know about the
bootstrap", The American Statistician 69, 2015): percentiles of resampled means, at tails chosen so that the interval is
as wide as Student's for normally distributed games.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evaluation.measures.mean_bounds import UNBOUNDED, alike, mean_bounds, weighted_bounds
from evaluation.measures.selection import corrected_maximum
from welfare_env.checks import shown
from welfare_env.errors import WelfareEnvError

RESAMPLES = 10_000
CONFIDENCE = 0.95
FEWEST_GAMES = 5
"""Fewer games have no interval."""
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
        low: lower bound; nan if there is none.
        high: upper bound; nan if there is none.
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
        """Whether there are both bounds."""
        return not (math.isnan(self.low) or math.isnan(self.high))

    @property
    def is_alike(self) -> bool:
        """Whether there are several games, all of the same value."""
        return len(self.per_game) > 1 and bool(alike(np.array(self.per_game)))

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types; nan becomes None."""
        numbers = {"value": self.value, "low": self.low, "high": self.high}
        told: dict[str, Any] = {name: None if math.isnan(number) else number for name, number in numbers.items()}
        return told | {"n": self.n, "per_game": [None if math.isnan(x) else x for x in self.per_game]}

    def around(self, spec: str = ".3f", mark: str = "range ") -> str:
        """What stands beside the value: its interval, else what the games show.

        Returns:
            "[4.612, 5.001]", "[all 20 alike]", "(range 4.612 to 5.001, n=3)", or "" without bounds and games.
        """
        if self.is_alike:
            return f"[all {self.n} alike]"
        if self.has_interval:
            return f"[{self.low:{spec}}, {self.high:{spec}}]"
        if self.n < 2 or not self.per_game or math.isnan(self.value):
            return ""
        return f"({mark}{min(self.per_game):{spec}} to {max(self.per_game):{spec}}, n={self.n})"

    def __format__(self, spec: str) -> str:
        number = spec or ".3f"
        return f"{self.value:{number}} {self.around(number) or f'[no interval, n={self.n}]'}"

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


def mean_estimate(
    per_game: ArrayLike, rng: Seed, *, within: tuple[float, float] | None = None, confidence: float = CONFIDENCE
) -> Estimate:
    """The mean over games and its interval (the error bars in section 5); fewer than five games have none.

    Args:
        per_game: [games] one value per game. If one is nan, the value and the bounds are nan.
        rng: a Generator, or a seed; used only with `within`.
        within: the least and the greatest value that the rules allow a game, infinite where they have no bound. The
            interval then takes into account games at the bound that were not met, and is wider the farther the bound
            is: give a bound that games do reach.
        confidence: of the interval.

    Raises:
        SampleError: there are no games, the array has another shape, a game is not `within`, or the confidence is not
            between 0 and 1.
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
    bounds = _checked(within, confidence)
    columns = {key: _sample(per_game) for key, per_game in samples.items()}
    for values in columns.values():
        if values.ndim != 1:
            raise SampleError(f"a mean needs one value per game, not an array of shape {values.shape}")
        _check_within(values, bounds)
    estimates: dict[Key, Estimate] = {}
    for games in dict.fromkeys(map(len, columns.values())):
        same = {key: values for key, values in columns.items() if len(values) == games}
        table, generator = np.stack(list(same.values())), _generator(rng)
        low, high = mean_bounds(table, bounds, confidence, generator) if games >= FEWEST_GAMES else (None, None)
        estimates |= zip(same, _with_bounds(table.mean(axis=1), low, high, table), strict=True)
    return {key: estimates[key] for key in samples}


def share_estimate(parts: ArrayLike, wholes: ArrayLike, rng: Seed, *, confidence: float = CONFIDENCE) -> Estimate:
    """sum(parts) / sum(wholes), such as kept / judged promises, and its interval over games.

    It differs from the mean of the games' shares: games count by their wholes. Games whose whole is 0 are left out, and
    without any other, the value is nan.

    Args:
        parts: [games] at least 0.
        wholes: [games] at least as large as the parts.
        rng: a Generator, or a seed.
        confidence: of the interval.

    Returns:
        The share. `n` and `per_game` are of the games with a whole.

    Raises:
        SampleError: arrays of different or other shapes, or a part that is negative, not finite or above its whole.
    """
    _checked(None, confidence)
    table = np.stack([_sample(parts), _sample(wholes)]) if np.shape(parts) == np.shape(wholes) else np.empty((2, 0, 0))
    if table.ndim != 2:
        raise SampleError(f"a share needs a part and a whole per game, not {np.shape(parts)} and {np.shape(wholes)}")
    if not (np.isfinite(table).all() and (table[0] >= 0).all() and (table[0] <= table[1]).all()):
        raise SampleError("a share needs finite parts from 0 to their wholes")
    part, whole = table[:, table[1] > 0][:, None]
    games = part.shape[1]
    if not games:
        return Estimate(math.nan, math.nan, math.nan, 0, ())
    low, high = (
        weighted_bounds(part, whole, (0, 1), confidence, _generator(rng)) if games >= FEWEST_GAMES else (None, None)
    )
    return _with_bounds(part.sum(axis=1) / whole.sum(axis=1), low, high, part / whole)[0]


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
    generator = _generator(rng)
    chunk = max(1, _CHUNK_VALUES // (games * values))
    for start in range(0, RESAMPLES, chunk):
        yield generator.integers(games, size=(min(chunk, RESAMPLES - start), games))


def _generator(rng: Seed) -> np.random.Generator:
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError) as error:
        raise SampleError(f"rng: give a Generator, or a whole number from 0: {error!s:.200}") from error


def _checked(within: tuple[float, float] | None, confidence: float) -> tuple[float, float]:
    """The rules' bounds of a game's value, infinite where there are none."""
    if not 0 < confidence < 1:
        raise SampleError(f"confidence={shown(confidence)}: give a number between 0 and 1, such as 0.95")
    low, high = UNBOUNDED if within is None else within
    if not low < high:
        raise SampleError(f"within={shown(within)}: give the least and the greatest value of a game, in this order")
    return low, high


def _check_within(values: Floats, bounds: tuple[float, float]) -> None:
    low, high = bounds
    slack = 1e-9 * max([1.0, *(abs(bound) for bound in bounds if math.isfinite(bound))])
    outside = values[(values < low - slack) | (values > high + slack)]
    if outside.size:
        raise SampleError(f"a game of {outside[0]:g} is not within the rules' bounds, {low:g} and {high:g}")


def _with_bounds(values: Floats, low: Floats | None, high: Floats | None, per_game: Floats) -> list[Estimate]:
    """One estimate per row of [rows, games]; no bounds are nan."""
    nothing = np.full(len(values), np.nan)
    rows = zip(
        values.tolist(),
        (nothing if low is None else low).tolist(),
        (nothing if high is None else high).tolist(),
        per_game.tolist(),
        strict=True,
    )
    return [Estimate(value, below, above, len(games), tuple(games)) for value, below, above, games in rows]


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
