"""False positives of `evaluation.compare` for equal policies.

    python -m research.validation.contrasts            # 2,000 repetitions per row
    python -m research.validation.contrasts --quick

Each repetition samples games of ten equal policies and compares nine with the first ("9 differences"), or all pairs
("45 differences"). It counts the repetitions in which at least one interval excludes the true difference, 0; this
familywise error should be at most 5%. "alone" uses separate intervals without correction. Half of the variance of
"normal" games is common to all policies, as in games paired by seed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Annotated

import numpy as np
import typer

from evaluation.experiments.compare import differences, is_clear, pairs_of
from evaluation.measures.intervals import Floats
from research.games import track
from research.tables import show

POLICIES = 10
GAMES = (5, 10, 20)

Draw = Callable[[np.random.Generator, tuple[int, int]], Floats]
DRAWS: dict[str, Draw] = {
    "normal": lambda rng, shape: rng.normal(size=(shape[0], 1)) + rng.normal(size=shape),
    "yes or no, 50%": lambda rng, shape: (rng.random(shape) < 0.5).astype(float),
    "yes or no, 10%": lambda rng, shape: (rng.random(shape) < 0.1).astype(float),
    "lognormal": lambda rng, shape: np.exp(rng.normal(size=shape)),
    "root Nash welfare, 13% of games 0": lambda rng, shape: np.where(
        rng.random(shape) < 0.13, 0.0, rng.normal(4, 0.5, shape)
    ),
}
"""Samples values [games, policies] of equal policies."""


def shares(draw: Draw, games: int, every: bool, repetitions: int, seed: int = 0) -> Iterator[float]:
    """The fractions of repetitions with a false positive: with simultaneous intervals, and with separate intervals.

    Args:
        every: whether to compare all pairs of policies; otherwise all with the first.
    """
    rng = np.random.default_rng(seed)
    samples = [draw(rng, (games, POLICIES)).T for _ in range(repetitions)]
    pairs = pairs_of(POLICIES, every)
    first, second = (
        {(number, pair): sample[pair[side]] for number, sample in enumerate(samples) for pair in pairs}
        for side in (0, 1)
    )
    for comparisons in (len(pairs), 1):
        found = differences(first, second, rng, comparisons)
        yield len({number for (number, _), each in found.items() if is_clear(each, comparisons)}) / repetitions


def main(
    repetitions: Annotated[int, typer.Option(min=1, help="Repetitions per row.")] = 2000,
    quick: Annotated[bool, typer.Option("--quick", help="400 repetitions.")] = False,
) -> None:
    """Print the share of repetitions with a false difference between ten equal policies."""
    rows = []
    for every, name in track([(every, name) for every in (False, True) for name in DRAWS], "comparing"):
        found = [shares(DRAWS[name], games, every, 400 if quick else repetitions) for games in GAMES]
        cells = [f"{together:.1%} ({alone:.0%})" for together, alone in found]
        rows.append([f"{name}, {len(pairs_of(POLICIES, every))} differences", *cells])
    show(None, "", ("games", *(f"n={games} (alone)" for games in GAMES)), rows)


if __name__ == "__main__":
    typer.run(main)
