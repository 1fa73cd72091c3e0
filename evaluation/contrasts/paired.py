"""Paired contrasts: the difference of two conditions in a measure, over the same games.

Game i has the same seed in both conditions, so differences are taken game by game, and common randomness cancels. The
unit is the whole game.

The intervals of several differences hold simultaneously with 95% confidence. Each is the interval of a mean
(`evaluation.measures.intervals`) at Bonferroni's level, 0.05 divided by the number of differences (Dunn, "Multiple
comparisons among means", Journal of the American Statistical Association 56, 1961), whatever their dependence.
`python -m research.validation.contrasts` measures how often equal policies seem to differ.

If all games have the same difference, there is no interval. For two equal conditions, a difference is as likely as its
negative, so n equal nonzero differences have a probability of at most 2 / 2**n (the sign test).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from agents.runtime.results import Result
from agents.runtime.table_files import Row
from evaluation.measures.intervals import CONFIDENCE, Estimate, Seed, mean_estimates, plain

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class Contrast:
    """The difference of two conditions in one measure: second - first.

    Attributes:
        measure: name of the measure, as in `result.to_dict()`; "welfare_per_year:FRANCE" for one power.
        first, second: names of the conditions.
        first_value, second_value: the measure in each condition, with its own interval.
        difference: mean over games of second - first; the intervals of all contrasts of a `Comparison` hold
            simultaneously. `per_game` has the difference in each game.
        is_clear: whether 0 is outside the interval; if all games have the same difference, by the sign test.
    """

    measure: str
    first: str
    second: str
    first_value: Estimate
    second_value: Estimate
    difference: Estimate
    is_clear: bool

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        return dict(plain(vars(self)))


@dataclass(frozen=True, repr=False)
class Comparison(Result):
    """Paired contrasts over the same games.

    Attributes:
        contrasts: one per measure and pair of conditions; their intervals hold simultaneously.
        seed: seed of the evaluation.
        games: games per condition.
        shared: settings that are the same in all conditions: fields of `welfare_env.Rules`, and "map".
        varied: names of settings that differ.
        notes: caveats of the games.
    """

    contrasts: tuple[Contrast, ...]
    seed: int
    games: int
    shared: Mapping[str, Any]
    varied: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def baseline(self) -> str:
        """The first condition of all contrasts; "" if they have different ones."""
        first = {each.first for each in self.contrasts}
        return first.pop() if len(first) == 1 else ""

    @property
    def measures(self) -> tuple[str, ...]:
        """The compared measures."""
        return tuple(dict.fromkeys(each.measure for each in self.contrasts))

    def rows(self) -> list[Row]:
        """One row per contrast; its interval holds simultaneously with the others (columns: docs/results.md)."""
        return [
            {
                "measure": each.measure,
                "first": each.first,
                "second": each.second,
                "first_value": each.first_value.value,
                "second_value": each.second_value.value,
                "difference": each.difference.value,
                "low": each.difference.low,
                "high": each.difference.high,
                "is_clear": each.is_clear,
                "games": each.difference.n,
                "evaluation_seed": self.seed,
                "comparisons": len(self.contrasts),
            }
            for each in self.contrasts
        ]

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        return {
            **{name: plain(getattr(self, name)) for name in ("seed", "games", "shared", "varied", "notes")},
            "confidence": CONFIDENCE,
            "contrasts": plain(self.contrasts),
        }


def differences(
    first: Mapping[Key, ArrayLike], second: Mapping[Key, ArrayLike], rng: Seed, comparisons: int
) -> dict[Key, Estimate]:
    """The mean of second - first for each key, with intervals that hold simultaneously.

    Args:
        first, second: key -> [games] one finite value per game, with the same keys and numbers of games.
        rng: a Generator, or a seed.
        comparisons: number of intervals that hold simultaneously.

    Raises:
        SampleError: as `mean_estimate`.
    """
    per_game = {key: _subtracted(second[key], first[key]) for key in first}
    return mean_estimates(per_game, rng, confidence=1 - (1 - CONFIDENCE) / max(comparisons, 1))


def is_clear(difference: Estimate, comparisons: int) -> bool:
    """Whether a difference is significantly different from 0.

    Args:
        difference: the difference, with a simultaneous interval.
        comparisons: number of simultaneous intervals.
    """
    if difference.is_alike:
        return difference.value != 0 and difference.n >= fewest_alike(comparisons)
    return difference.low > 0 or difference.high < 0  # nan is neither


def fewest_alike(comparisons: int) -> int:
    """Minimum number of games with the same nonzero difference for `is_clear`."""
    return 1 + math.ceil(math.log2(comparisons / (1 - CONFIDENCE)))


def pairs_of(count: int, every: bool) -> list[tuple[int, int]]:
    """Pairs of condition numbers to compare: all with the first, or every pair."""
    return [(first, second) for first in range(count if every else 1) for second in range(first + 1, count)]


def contrasts(
    conditions: Sequence[tuple[str, Mapping[str, Estimate]]],
    pairs: Sequence[tuple[int, int]],
    seed: int,
) -> tuple[Contrast, ...]:
    """The contrasts of conditions in all of their measures, with simultaneous intervals.

    Args:
        conditions: (label, measure -> estimate); all with the same measures and numbers of games.
        pairs: for each contrast, the numbers of the first and second condition.
        seed: seed of the intervals.

    Raises:
        SampleError: as `mean_estimate`.
    """
    keys = [(measure, *pair) for measure in conditions[0][1] for pair in pairs] if conditions else []
    found = differences(
        {key: conditions[key[1]][1][key[0]].per_game for key in keys},
        {key: conditions[key[2]][1][key[0]].per_game for key in keys},
        seed,
        len(keys),
    )
    return tuple(
        Contrast(
            measure,
            conditions[first][0],
            conditions[second][0],
            conditions[first][1][measure],
            conditions[second][1][measure],
            found[measure, first, second],
            is_clear(found[measure, first, second], len(keys)),
        )
        for measure, first, second in keys
    )


def _subtracted(second: ArrayLike, first: ArrayLike) -> NDArray[np.float64]:
    """second - first, with rounding errors set to 0."""
    difference = np.subtract(second, first, dtype=np.float64)
    return np.where(np.abs(difference) <= 1e-12 * np.abs(first), 0.0, difference)
