"""Means and shares over games, with confidence intervals.

The unit is the game, never the power, since the powers of one game are dependent. With fewer than five games there is
no interval: the bounds are nan, and the estimate prints the range over games instead: "4.843 (range 4.612 to 5.001,
n=3)". If all games have the same value, there is none either: "4.843 [identical in 20 games]".

The two ends of an interval are computed separately:

- Student's bound, moved outward on the side of the longer tail by twice the skewness term of the Cornish-Fisher
  expansion of the t statistic (N. J. Johnson, "Modified t tests and confidence intervals for asymmetrical populations",
  JASA 73, 1978; P. Hall, "The bootstrap and Edgeworth expansion", 1992, section 2.6). Twice, since small samples show
  too little of a long tail. It cannot allow for events that no game shows, such as an attack in one game of a hundred.
- On request (`within`), where the rules bound the values of a game: Gaffke's bound, with one additional game at the
  rules' bound and random weights, uniform on the simplex (Learned-Miller and Thomas, "A new confidence interval for the
  mean of a bounded random variable", 2019). Its coverage is conjectured for every distribution. For values 0 and 1 it
  is the Clopper-Pearson bound; for equal values, the rule of three. It allows for events in one of n games that n games
  may have missed, so it is wide if all games are far from the rules' bound.

The same numbers and the same seed give the same interval. `python -m research.validation.intervals` measures coverage
and width.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from welfare_env.checks import quoted
from welfare_env.errors import WelfareEnvError

CONFIDENCE = 0.95
FEWEST_GAMES = 5
"""Fewer games have no interval."""
UNBOUNDED = (-math.inf, math.inf)
RESAMPLES = 10_000
BLOCK = 100  # of the resamples whose weights are in memory at a time

Floats = NDArray[np.float64]
Seed = np.random.Generator | int
Coalition = tuple[str, ...]
Key = TypeVar("Key", bound=Hashable)


class SampleError(WelfareEnvError, ValueError):
    """Invalid samples: empty, of unequal length, or missing a member's games."""


@dataclass(frozen=True)
class Estimate:
    """A value with its confidence interval.

    `str` and `format` give "4.843 [4.612, 5.001]"; a format specification applies to each number: f"{estimate:.1f}".

    Attributes:
        value: the point estimate.
        low, high: bounds; nan for none.
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
        """Whether both bounds exist."""
        return not (math.isnan(self.low) or math.isnan(self.high))

    @property
    def is_alike(self) -> bool:
        """Whether there are several games, all with the same value."""
        return len(self.per_game) > 1 and math.isfinite(self.value) and bool(alike(np.array(self.per_game)))

    def within(self, least: float, most: float = math.inf) -> Estimate:
        """The same, with the interval cut off at the smallest and largest value of a game."""
        return replace(self, low=max(self.low, least), high=min(self.high, most))

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types; nan becomes None."""
        numbers = {"value": self.value, "low": self.low, "high": self.high}
        plain: dict[str, Any] = {name: None if math.isnan(number) else number for name, number in numbers.items()}
        return plain | {"n": self.n, "per_game": [None if math.isnan(x) else x for x in self.per_game]}

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> Estimate:
        """The inverse of `to_dict`."""
        value, low, high = (math.nan if facts[name] is None else facts[name] for name in ("value", "low", "high"))
        return cls(value, low, high, facts["n"], tuple(math.nan if x is None else x for x in facts["per_game"]))

    def around(self, spec: str = ".3f", in_table: bool = False) -> str:
        """The text printed after the value: the interval, or else the range over games.

        Returns:
            "[4.612, 5.001]", "[identical in 20 games]", "(range 4.612 to 5.001, n=3)", or "" without bounds and games;
            in a table, whose caption explains them, "[identical]" and "(4.612 to 5.001, n=3)".
        """
        if self.is_alike and not (self.has_interval and self.low < self.high):
            return "[identical]" if in_table else f"[identical in {self.n} games]"
        if self.has_interval:
            return f"[{self.low:{spec}}, {self.high:{spec}}]"
        if self.n < 2 or not self.per_game or math.isnan(self.value):
            return ""
        least, most = min(self.per_game), max(self.per_game)
        if self.value > most:  # an exploitability of 0, if no game has a positive gain
            return f"(n={self.n})"
        return f"({'' if in_table else 'range '}{least:{spec}} to {most:{spec}}, n={self.n})"

    def __format__(self, spec: str) -> str:
        number = spec or ".3f"
        return f"{self.value:{number}} {self.around(number) or f'[no interval, n={self.n}]'}"

    def __str__(self) -> str:
        return format(self)


def plain(value: Any) -> Any:
    """As plain JSON types: calls `to_dict` of values, also within mappings (keys become strings) and tuples."""
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, tuple):
        return [plain(each) for each in value]
    return value.to_dict() if hasattr(value, "to_dict") else value


def mean_estimate(
    per_game: ArrayLike, rng: Seed, *, within: tuple[float, float] = UNBOUNDED, confidence: float = CONFIDENCE
) -> Estimate:
    """The mean over games with its confidence interval (the error bars in section 5); none below five games.

    Args:
        per_game: [games] one value per game. If any is nan, so are the value and the bounds.
        rng: a Generator, or a seed; used only with `within`.
        within: the smallest and largest value of a game under the rules, infinite if unbounded. If given, the interval
            allows for games at the bound that these games may have missed, and widens with the distance of the bound:
            give a bound that games actually reach.
        confidence: confidence level of the interval.

    Raises:
        SampleError: there are no games, the array has another shape, a game is not `within`, or no such confidence.
    """
    if not 0 < confidence < 1:
        raise SampleError(f"confidence={quoted(confidence)}: give a number between 0 and 1, such as 0.95")
    games = _sample(per_game)
    outside = games[(games < within[0] - 1e-9) | (games > within[1] + 1e-9)]
    if outside.size:
        raise SampleError(f"a game has the value {outside[0]:g}, outside within={quoted(within)}: give the bounds")
    bounds = None
    if len(games) >= FEWEST_GAMES and np.isfinite(games).all():
        bounds = mean_bounds(games[None], within, confidence, np.random.default_rng(rng))
    return _with_bounds(float(games.mean()), bounds, games)


def mean_estimates(samples: Mapping[Key, ArrayLike], rng: Seed, confidence: float = CONFIDENCE) -> dict[Key, Estimate]:
    """`mean_estimate` of each sample."""
    return {key: mean_estimate(per_game, rng, confidence=confidence) for key, per_game in samples.items()}


def share_estimate(parts: ArrayLike, wholes: ArrayLike, rng: Seed) -> Estimate:
    """sum(parts) / sum(wholes), such as kept / judged promises, with its interval over games.

    Unlike in the mean of the games' shares, games are weighted by their wholes. Games whose whole is 0 are left out;
    if no game remains, the value is nan.

    Args:
        parts: [games] at least 0.
        wholes: [games] at least as large as the parts.
        rng: a Generator, or a seed.

    Returns:
        The share. `n` and `per_game` count only games with a positive whole.
    """
    table = np.stack([_sample(parts), _sample(wholes)])
    part, whole = table[:, table[1] > 0]
    if not part.size:
        return Estimate(math.nan, math.nan, math.nan, 0, ())
    bounds = None
    if len(part) >= FEWEST_GAMES:
        bounds = weighted_bounds(part[None], whole[None], (0, 1), CONFIDENCE, np.random.default_rng(rng))
    return _with_bounds(float(part.sum() / whole.sum()), bounds, part / whole)


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
    drawn: list[tuple[Floats, Floats, Floats]] = []
    for _ in range(RESAMPLES // BLOCK):
        weights = rng.standard_exponential((BLOCK, parts.shape[1] + 1))  # uniform on the simplex once normalized
        of_parts, of_wholes = (
            np.stack([np.einsum("wg,g->w", weights[:, :-1], values) for values in each]) for each in (parts, wholes)
        )
        drawn.append((of_parts, of_wholes, wholes.mean(axis=1, keepdims=True) * weights[:, -1]))
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


def resampled_bounds(resampled: ArrayLike, samples: int) -> Floats:
    """[2, ...] lower and upper bounds from values in resampled games, [resamples, ...].

    Expanded percentiles, as wide as Student's interval of normally distributed means (Hesterberg, "What teachers should
    know about the bootstrap", The American Statistician 2015).

    Args:
        samples: number of games, or groups of games, that were resampled.
    """
    from scipy.special import ndtr, stdtrit  # lazily: not needed for --help

    student = stdtrit(samples - 1, (1 + CONFIDENCE) / 2)
    tail = float(ndtr(-np.sqrt(samples / (samples - 1)) * student))
    return np.asarray(np.quantile(np.asarray(resampled, np.float64), [tail, 1 - tail], axis=0))


def alike(samples: Floats) -> NDArray[np.bool_]:
    """[...] whether all games of [..., games] are equal, up to rounding errors."""
    return np.asarray(np.ptp(samples, axis=-1) <= 1e-12 * np.abs(samples).max(axis=-1))


def _with_bounds(value: float, bounds: Bounds | None, games: Floats) -> Estimate:
    """An estimate. Missing bounds are the object math.nan, so that equal estimates are ==."""
    low, high = (math.nan if math.isnan(each[0]) else float(each[0]) for each in bounds or ([math.nan], [math.nan]))
    return Estimate(value, low, high, len(games), tuple(games.tolist()))


def _sample(values: ArrayLike) -> Floats:
    """One number per game, float64 [games]."""
    try:
        sample = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise SampleError(f"an estimate needs numbers: {error!s:.200}") from error
    if sample.ndim != 1 or sample.size == 0:
        raise SampleError(f"an estimate needs one number per game, not an array of shape {sample.shape}")
    return sample


def nearest_to_mean(values: Sequence[float]) -> int:
    """The number of the value nearest to the mean, the first of several: a typical game."""
    mean = sum(values) / len(values)
    return min(range(len(values)), key=lambda number: abs(values[number] - mean))
