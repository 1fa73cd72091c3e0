"""Simulated finite populations, if there are too many states to solve; see `modal_env.dynamics.finite`."""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from scipy.stats import t as student

from modal_env.checks import choice, whole
from modal_env.dynamics.basins import Estimate
from modal_env.dynamics.finite import (
    MAX_SIZE,
    PROCESSES,
    Shares,
    both_cooperate,
    checked_intensity,
    checked_mutation,
)
from modal_env.dynamics.populations import Matrix, payoffs_of
from modal_env.games.game import Game
from modal_env.progress import Report, no_report

RUNS = 10  # of a simulation


def simulated_shares(
    game: Game | Matrix,
    size: int,
    mutation: float,
    process: str = "moran",
    *,
    intensity: float = 1.0,
    steps: int = 1_000_000,
    seed: int = 0,
    report: Report = no_report,
) -> Shares:
    """The share of time in `RUNS` independent runs from random populations, with 95% intervals (Student's t).

    Args:
        game, size, mutation, process, intensity: as of `solved_shares`, with any number of states.
        steps: of each run; the first tenth is not counted.
        seed: of the random numbers.

    Raises:
        GameError: as `solved_shares`; fewer than 1,000 steps.
    """
    payoffs = payoffs_of(game)
    place = PROCESSES.index(choice("process", process, PROCESSES))
    members, weight = whole("size", size, 2, MAX_SIZE), checked_intensity(intensity)
    rate, count = checked_mutation(mutation, process), whole("steps", steps, 1000)
    both = both_cooperate(game, payoffs.size)
    found = []
    for run, rng in enumerate(np.random.default_rng(whole("seed", seed, 0)).spawn(RUNS)):
        start = np.bincount(rng.integers(payoffs.size, size=members), minlength=payoffs.size)
        found.append(_walk(payoffs.floats, both, start, rate, place, weight, count, rng))
        report((run + 1) / RUNS)
    values = np.array(found)
    middle = values.mean(axis=0)
    half = student.ppf(0.975, RUNS - 1) * values.std(axis=0, ddof=1) / math.sqrt(RUNS)
    bounds = np.clip([middle - half, middle + half], 0, 1)  # leaves nan as it is
    each = [Estimate(float(m), float(low), float(high)) for m, low, high in zip(middle, *bounds, strict=True)]
    return Shares(payoffs.names, tuple(each[:-1]), each[-1], members, process, rate, "simulated")


@njit(cache=True, nogil=True)
def _walk(paid, both, start, mutation, process, weight, steps, rng):  # type: ignore[no-untyped-def]
    """[n + 1] the mean share of each agent, and of pairs that both cooperate, without the first tenth of the steps."""
    number, size = len(paid), start.sum()
    counts, found = start.astype(np.float64), np.zeros(len(paid) + 1)
    sums, pairs = paid @ counts, both @ counts
    chances = np.empty(number)
    for step in range(steps):
        lost = _drawn(counts, size, rng)
        won = lost
        if rng.random() < mutation:
            won = int(rng.random() * number)
        elif process == 0:
            top = -np.inf
            for j in range(number):
                if counts[j] > 0:
                    top = max(top, sums[j] - paid[j, j])
            for j in range(number):
                chances[j] = 0.0
                if counts[j] > 0:
                    chances[j] = counts[j] * np.exp(weight * (sums[j] - paid[j, j] - top) / (size - 1))
            won = _drawn(chances, chances.sum(), rng)
        elif process == 1:
            counts[lost] -= 1
            model = _drawn(counts, size - 1, rng)
            counts[lost] += 1
            gap = (sums[model] - paid[model, model] - sums[lost] + paid[lost, lost]) / (size - 1)
            if rng.random() < 1 / (1 + np.exp(-weight * gap)):
                won = model
        else:
            top = -np.inf
            for j in range(number):
                chances[j] = (sums[j] - paid[j, lost]) / (size - 1)
                top = max(top, chances[j])
            for j in range(number):
                if process == 2:
                    chances[j] = np.exp(weight * (chances[j] - top))
                else:
                    chances[j] = 1.0 if chances[j] >= top - 1e-9 else 0.0
            won = _drawn(chances, chances.sum(), rng)
        if won != lost:
            counts[lost] -= 1
            counts[won] += 1
            sums += paid[:, won] - paid[:, lost]
            pairs += both[:, won] - both[:, lost]
        if step >= steps // 10:
            for j in range(number):
                found[j] += counts[j] / size
                found[number] += counts[j] * (pairs[j] - both[j, j]) / (size * (size - 1))
    return found / (steps - steps // 10)


@njit(cache=True, nogil=True)
def _drawn(weights, total, rng):  # type: ignore[no-untyped-def]
    """A place drawn in proportion to weights."""
    left = rng.random() * total
    last = 0
    for place in range(len(weights)):
        if weights[place] > 0:
            last = place
            left -= weights[place]
            if left < 0:
                break
    return last
