"""False positives of `evaluation.compare` for equal policies.

    python -m benchmarks.contrasts            # 2,000 repetitions per row
    python -m benchmarks.contrasts --quick

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
from rich.console import Console
from rich.table import Table

from agents.runtime.progress import metered
from evaluation.contrasts.paired import differences, is_clear, pairs_of
from evaluation.measures.intervals import Floats

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
    count = 400 if quick else repetitions
    table = Table(title=f"Repetitions with a false difference between {POLICIES} equal policies", title_justify="left")
    table.add_column("games")
    for games in GAMES:
        table.add_column(f"n={games}", justify="right")
        table.add_column("alone", justify="right")
    cases = [(every, name) for every in (False, True) for name in DRAWS]
    with metered("comparing", len(cases) * len(GAMES), "cells") as meter:
        for every, name in cases:
            cells = []
            for games in GAMES:
                cells += [f"{100 * each:.1f}%" for each in shares(DRAWS[name], games, every, count)]
                meter.advance(1)
            table.add_row(f"{name}, {len(pairs_of(POLICIES, every))} differences", *cells)
    Console().print(table)


if __name__ == "__main__":
    typer.run(main)
