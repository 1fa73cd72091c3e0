"""Basins of attraction of the replicator dynamics: the share of random starts that ends at each pure equilibrium.

Starts are uniform over all populations (Dirichlet with all parameters 1). All are integrated together in the logarithms
of the shares, each with its own step size, and each stops as soon as its limit is known:

* Once `populations.is_trapped` holds, it provably ends at that strict pure equilibrium.
* In the post's game (CooperateBot, DefectBot, FairBot, PrudentBot at a cost of epsilon < 1/4 per level of depth), once
  it is in the region of `_escapes_the_post`, it provably does not end at DefectBot.

In other games a start that no agent takes over stays undecided until the time is up, however small the shares of the
pure equilibria are: in larger libraries a share of 1e-100 can grow again while others dominate for a long time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from modal_env.checks import brief, real, seed_of, whole
from modal_env.dynamics.populations import Bools, Floats, Matrix, Payoffs, is_trapped, payoffs_of, shares_of
from modal_env.errors import GameError
from modal_env.frames import Row, Tabular
from modal_env.games.game import ProgramGame
from modal_env.progress import Report, check_report, no_report

Z95 = 1.959963984540054
"""97.5% quantile of the normal distribution."""

MAX_STARTS = 10**9
_CHUNK = 1 << 15  # starts integrated together: few enough for the CPU cache; results do not depend on it
_ELSEWHERE = -1
_UNDECIDED = -2


@dataclass(frozen=True)
class IntervalEstimate:
    """A share and its 95% interval (Wilson, 1927)."""

    value: float
    low: float
    high: float

    def __format__(self, spec: str) -> str:
        number = spec or ".4g"
        return f"{self.value:{number}} [{self.low:{number}}, {self.high:{number}}]"

    def __str__(self) -> str:
        return format(self)


@dataclass(frozen=True)
class Basins(Tabular):
    """The limits of random starts.

    Attributes:
        starts: number of starts.
        ends: agent that is a strict pure equilibrium -> number of starts that it takes over.
        elsewhere: number of starts proven to end at none of these; nonzero only for the game of the post.
        undecided: number of starts that were not taken over when the time was up.
    """

    starts: int
    ends: dict[str, int]
    elsewhere: int
    undecided: int

    def rows(self) -> list[Row]:
        """One row per end: an agent, "elsewhere" or "undecided"."""
        counts = {**self.ends, "elsewhere": self.elsewhere, "undecided": self.undecided}
        intervals = {end: (count / self.starts, *wilson(count, self.starts)) for end, count in counts.items()}
        return [
            {"end": end, "starts": counts[end], "share": share, "low": low, "high": high}
            for end, (share, low, high) in intervals.items()
        ]

    @property
    def is_proven(self) -> bool:
        """Whether the limit of every start is known."""
        return self.undecided == 0

    def share(self, agent: str) -> IntervalEstimate:
        """The share of all starts known to be taken over by `agent` when the time was up.

        Raises:
            GameError: the agent is not a strict pure equilibrium of the game.
        """
        if not isinstance(agent, str) or agent not in self.ends:
            raise GameError(f"agent {brief(agent)}: strict pure equilibria are {', '.join(self.ends) or 'none'}")
        return IntervalEstimate(self.ends[agent] / self.starts, *wilson(self.ends[agent], self.starts))


def basins(
    game: ProgramGame | Matrix,
    starts: int = 100_000,
    seed: int | np.random.Generator = 0,
    *,
    time: float = 1e4,
    tolerance: float = 1e-6,
    report: Report = no_report,
) -> Basins:
    """Evolve uniformly random populations, and count how many end at each strict pure equilibrium.

    Args:
        game: a `ProgramGame`, or a square matrix of exact payoffs.
        starts: number of starts, at most 10^9.
        seed: a seed or a Generator.
        time: after which a start counts as undecided.
        tolerance: absolute error of the logarithms of shares in one step.
        report: see `modal_env.progress`.

    Raises:
        GameError: payoffs that are not square and exact, or have no strict pure equilibrium; an invalid number of
            starts or seed; a time that is not above 0; or a tolerance outside [1e-13, 0.1].
    """
    check_report(report)
    payoffs = payoffs_of(game)
    if not payoffs.strict_pure:
        raise GameError(f"no agent of {', '.join(payoffs.names)} is the only best reply to itself: no basins to count")
    starts = whole("starts", starts, 1, MAX_STARTS)
    if not 0 < real(time) < math.inf:
        raise GameError(f"time={brief(time)}: give a number above 0")
    if not 1e-13 <= real(tolerance) <= 0.1:
        raise GameError(f"tolerance={brief(tolerance)}: give a number above 0, from 1e-13 to 0.1")
    generator = seed if isinstance(seed, np.random.Generator) else np.random.default_rng(seed_of(seed))
    counts = np.zeros(payoffs.size + 2, np.int64)  # of the two negative codes and of the agents
    for done in range(0, starts, _CHUNK):
        count = min(_CHUNK, starts - done)
        logs = np.log(np.ascontiguousarray(generator.standard_exponential((count, payoffs.size)).T))
        counts += np.bincount(fates(payoffs, logs, float(time), float(tolerance)) + 2, minlength=len(counts))
        report((done + count) / starts)
    ends = {payoffs.names[agent]: int(counts[agent + 2]) for agent in payoffs.strict_pure}
    return Basins(starts, ends, int(counts[_ELSEWHERE + 2]), int(counts[_UNDECIDED + 2]))


def wilson(count: int, total: int) -> tuple[float, float]:
    """The 95% score interval of a probability, given `count` of `total` (Wilson, 1927)."""
    share, spread = count / total, Z95**2 / total
    middle = share + spread / 2
    half = math.sqrt(share * (1 - share) * spread + spread**2 / 4)
    return max(0.0, (middle - half) / (1 + spread)), min(1.0, (middle + half) / (1 + spread))


def epsilon_of_the_post(payoffs: Payoffs) -> Fraction | None:
    """The epsilon below 1/4 for which this is the post's game, its agents in the sequence CB, DB, FB, PB; else None."""
    if payoffs.size != 4:
        return None
    epsilon = payoffs.exact[0][0] - payoffs.exact[2][0]
    base = ((2, 0, 2, 0), (3, 1, 1, 1), (2, 1, 2, 2), (3, 1, 2, 2))
    matrix = tuple(
        tuple(value - depth * epsilon for value in row) for row, depth in zip(base, (0, 0, 1, 2), strict=True)
    )
    return epsilon if payoffs.exact == matrix and 0 < epsilon < Fraction(1, 4) else None


def _escapes_the_post(epsilon: float, shares: Floats) -> Bools:
    """A region of the post's game from which DefectBot dies out: d <= 1 - q and c d <= k p^2.

    Here c, d, f, p are the shares of CB, DB, FB, PB, s = f + p, e = epsilon < 1/4, q^2 = 2 e, k = (1 - q)^2 / (1 + q).

    No trajectory leaves it. (1) ln(c d / p^2) has the derivative 4 e - 1 - 2 p < 0, everywhere. (2) d'/d =
    c (1 + p) - s (1 - d) + e (s + p). Where d = 1 - q, s <= q, c <= k p^2 / d <= k s q / (1 - q), so d'/d <=
    c (1 + s) - s (q - 2 e) <= s (k q (1 + q) / (1 - q) - q (1 - q)) = 0, and d' < 0 as s < q where c > 0.

    There d tends to 0: by (1) c d / p^2 does, so while d is above some bound b > 0, c tends to 0, and d'/d <=
    c (1 + s) - s (1 - d - 2 e) with 1 - d - 2 e >= q - q^2 > 0 and s >= q - c is eventually below a negative number.
    """
    q = math.sqrt(2 * epsilon)
    k = (1 - q) ** 2 / (1 + q)
    c, d, _, p = shares
    return (d <= 1 - q) & (c * d <= k * p**2)


def fates(payoffs: Payoffs, logs: Floats, time: float, tolerance: float) -> NDArray[np.int64]:
    """[starts] the agent that takes over, or a number below 0, from [n, starts] logarithms of weights.

    All starts are integrated at once, each with its own step size, until its limit is known or the time is up.

    Args:
        tolerance: largest error of a logarithm in one step; a step with a larger one is tried again, smaller.
    """
    epsilon = epsilon_of_the_post(payoffs)
    found = np.full(logs.shape[1], _UNDECIDED)
    going = np.arange(logs.shape[1])
    clock, step = np.zeros(len(going)), np.full(len(going), 0.1)
    slopes = _slopes(payoffs, logs)
    while True:
        found[going] = _limits(payoffs, shares_of(logs), epsilon)
        left = (found[going] == _UNDECIDED) & (clock < time)
        going, clock, step, logs, slopes = going[left], clock[left], step[left], logs[:, left], slopes[:, left]
        if not len(going):
            return found
        tried, tried_slopes, error = _stepped(payoffs, logs, slopes, step)
        good = error <= tolerance
        logs, slopes = np.where(good, tried, logs), np.where(good, tried_slopes, slopes)
        clock = clock + step * good
        step = step * np.clip(0.9 * (tolerance / np.maximum(error, 1e-300)) ** 0.2, 0.2, 5)


def _limits(payoffs: Payoffs, shares: Floats, epsilon: Fraction | None) -> NDArray[np.int64]:
    """[starts] the limit of each start, or `_UNDECIDED`, given [n, starts] shares."""
    known = np.full(shares.shape[1], _UNDECIDED)
    if epsilon is not None:
        known[_escapes_the_post(float(epsilon), shares)] = _ELSEWHERE
    for agent in payoffs.strict_pure:
        known[is_trapped(payoffs.floats, shares, agent)] = agent
    return known


def _slopes(payoffs: Payoffs, logs: Floats) -> Floats:
    """[n, going] the slopes of the logarithms, up to a constant for each start."""
    paid = payoffs.floats @ shares_of(logs)
    return paid - paid[0]


def _stepped(payoffs: Payoffs, logs: Floats, slopes: Floats, step: Floats) -> tuple[Floats, Floats, Floats]:
    """One step of Dormand and Prince for each start: logarithms after it, slopes there, and the largest error."""
    from scipy.integrate import RK45  # its coefficients

    stages, reached = [slopes], logs
    for weights in (*RK45.A[1:], RK45.B):
        reached = logs + step * _weighted(weights, stages)
        stages.append(_slopes(payoffs, reached))
    return reached, stages[-1], np.abs(step * _weighted(RK45.E, stages)).max(axis=0, initial=0.0)


def _weighted(weights: Floats, slopes: Sequence[Floats]) -> Floats:
    return sum((weight * slope for weight, slope in zip(weights, slopes, strict=False) if weight), np.zeros(1))
