"""Estimates of means and shares, with confidence intervals.

The bounds of `mean_estimate` and `share_estimate` are from `evaluation.measures.mean_bounds`. With fewer than five
games there is no interval: the bounds are nan, and the estimate prints the range over games instead: "4.843 (range
4.612 to 5.001, n=3)". If all games have the same value, there is none either: "4.843 [identical in 20 games]".

The unit is the game, never the power, since the powers of one game are dependent. Samples are arrays whose first axis
is the game. The same numbers and the same seed give the same interval.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evaluation.measures.mean_bounds import UNBOUNDED, alike, mean_bounds, weighted_bounds
from welfare_env.checks import quoted
from welfare_env.errors import WelfareEnvError

CONFIDENCE = 0.95
FEWEST_GAMES = 5
"""Fewer games have no interval."""

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
        low: lower bound; nan for none.
        high: upper bound; nan for none.
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
    per_game: ArrayLike, rng: Seed, *, within: tuple[float, float] | None = None, confidence: float = CONFIDENCE
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
    """`mean_estimate` of each sample, faster than single calls, since samples of the same size share random draws.

    With a seed, the results equal those of single calls.
    """
    bounds = _checked(within, confidence)
    columns = {key: _sample(per_game) for key, per_game in samples.items()}
    for values in columns.values():
        if values.ndim != 1:
            raise SampleError(f"a mean needs one value per game, not an array of shape {values.shape}")
    estimates: dict[Key, Estimate] = {}
    for games in dict.fromkeys(map(len, columns.values())):
        same = {key: values for key, values in columns.items() if len(values) == games}
        table, generator = np.stack(list(same.values())), _generator(rng)
        _check_within(table, bounds)
        finite = np.where(np.isfinite(table).all(axis=1, keepdims=True), table, np.nan)
        low, high = mean_bounds(finite, bounds, confidence, generator) if games >= FEWEST_GAMES else (None, None)
        estimates |= zip(same, _with_bounds(table.mean(axis=1), low, high, table), strict=True)
    return {key: estimates[key] for key in samples}


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

    Raises:
        SampleError: the arrays are not one-dimensional or differ in shape, or a part is negative, not finite or larger
            than its whole.
    """
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
        weighted_bounds(part, whole, (0, 1), CONFIDENCE, _generator(rng)) if games >= FEWEST_GAMES else (None, None)
    )
    return _with_bounds(part.sum(axis=1) / whole.sum(axis=1), low, high, part / whole)[0]


def resampled_bounds(resampled: ArrayLike, samples: int) -> Floats:
    """[2, ...] lower and upper bounds from values in resampled games, [resamples, ...].

    Expanded percentiles, as wide as Student's interval of normally distributed means (Hesterberg, "What teachers should
    know about the bootstrap", The American Statistician 2015).

    Args:
        samples: number of games, or groups of games, that were resampled.
    """
    from scipy.special import ndtr, stdtrit  # lazily: not needed for --help

    samples = max(2, samples)
    student = stdtrit(samples - 1, (1 + CONFIDENCE) / 2)
    tail = float(ndtr(-np.sqrt(samples / (samples - 1)) * student))
    return np.asarray(np.quantile(np.asarray(resampled, np.float64), [tail, 1 - tail], axis=0))


def _generator(rng: Seed) -> np.random.Generator:
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError) as error:
        raise SampleError(f"rng: give a Generator, or a whole number from 0: {error!s:.200}") from error


def _checked(within: tuple[float, float] | None, confidence: float) -> tuple[float, float]:
    """The rules' bounds of a game's value, infinite if there are none."""
    try:
        low, high = map(float, UNBOUNDED if within is None else within)
    except (TypeError, ValueError):
        low = high = math.nan
    if not low < high:
        raise SampleError(f"within={quoted(within)}: give the smallest and the largest value of a game, in this order")
    if not (isinstance(confidence, int | float) and 0 < confidence < 1):
        raise SampleError(f"confidence={quoted(confidence)}: give a number between 0 and 1, such as 0.95")
    return low, high


def _check_within(values: Floats, bounds: tuple[float, float]) -> None:
    low, high = bounds
    slack = 1e-9 * max([1.0, *(abs(bound) for bound in bounds if math.isfinite(bound))])
    outside = values[(values < low - slack) | (values > high + slack)]
    if outside.size:
        raise SampleError(f"a game has the value {outside[0]:g}, outside the rules' bounds {low:g} and {high:g}")


def _with_bounds(values: Floats, low: Floats | None, high: Floats | None, per_game: Floats) -> list[Estimate]:
    """One estimate per row of [rows, games]. Missing bounds are the object math.nan, so that equal estimates are ==."""
    columns = (
        [math.nan if bounds is None or math.isnan(bounds[row]) else float(bounds[row]) for row in range(len(values))]
        for bounds in (low, high)
    )
    rows = zip(values.tolist(), *columns, per_game.tolist(), strict=True)
    return [Estimate(value, below, above, len(games), tuple(games)) for value, below, above, games in rows]


def _sample(values: ArrayLike) -> Floats:
    try:
        sample = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise SampleError(f"an estimate needs numbers: {error!s:.200}") from error
    if sample.ndim == 0 or sample.size == 0:
        raise SampleError(f"an estimate needs at least one game, not an array of shape {sample.shape}")
    return sample
