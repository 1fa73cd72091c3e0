"""Ratings from pairwise comparisons of points. A secondary measure, since welfare games have no winners."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from evaluation.measures.intervals import FEWEST_GAMES, Estimate, Floats, resampled_bounds

ROUNDS = 1000
RESAMPLES = 1000
ELO = 400 / np.log(10)


def won(points: Mapping[str, float], seats: Mapping[str, str], names: Sequence[str]) -> Floats:
    """[policies, policies] for one game: number of pairs of seats where the first has more points; ties count half."""
    place = {name: index for index, name in enumerate(names)}
    wins = np.zeros((len(names), len(names)))
    for one, mine in points.items():
        for other, theirs in points.items():
            if seats[one] != seats[other]:
                wins[place[seats[one]], place[seats[other]]] += 0.5 * (1 + np.sign(mine - theirs))
    return wins


def ratings(wins: Floats, names: Sequence[str], seed: int) -> dict[str, Estimate]:
    """Policy -> rating, with an interval over samples; the mean is 0, and 400 points are odds of ten to one.

    The model of Bradley and Terry (1952), fitted by the MM algorithm of Hunter ("MM algorithms for generalized
    Bradley-Terry models", Annals of Statistics 2004). One tie is added per pair of policies, so that a policy that
    always wins has a finite rating. `Estimate.per_game` is empty, since a rating needs all games.

    Args:
        wins: [samples, policies, policies] sums of `won` over the games of a sample.
        seed: seed of the intervals.
    """
    games, number = len(wins), len(names)
    drawn = 0.5 * (1 - np.eye(number))
    draws = np.random.default_rng(seed).integers(games, size=(RESAMPLES, games))
    resampled = np.array([wins[sample].mean(axis=0) for sample in draws])
    point = _fitted(wins.sum(axis=0)[None] + drawn)[0]
    bounds = resampled_bounds(_fitted(games * resampled + drawn), games)
    low, high = bounds if games >= FEWEST_GAMES else np.full_like(bounds, np.nan)
    bounded = zip(names, point.tolist(), low.tolist(), high.tolist(), strict=True)
    return {name: Estimate(value, below, above, games, ()) for name, value, below, above in bounded}


def _fitted(wins: Floats) -> Floats:
    """[samples, policies] ratings of [samples, policies, policies] wins."""
    pairs = wins + wins.transpose(0, 2, 1)
    strengths = np.ones(wins.shape[:2])
    for _ in range(ROUNDS):
        expected = (pairs / (strengths[:, :, None] + strengths[:, None, :])).sum(axis=2)
        new = wins.sum(axis=2) / expected
        new /= np.exp(np.log(new).mean(axis=1, keepdims=True))
        done = np.abs(new / strengths - 1).max() < 1e-5
        strengths = new
        if done:
            break
    return np.asarray(ELO * np.log(strengths))
