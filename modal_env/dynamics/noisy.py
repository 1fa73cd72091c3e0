"""Large populations whose members revise with noise: logit and best-response dynamics.

Members revise at rate 1, so shares move towards a target: x' = target(x) - x.

* "logit": agent j has the share exp(payoff / noise), up to a factor (Fudenberg and Levine 1998, chapter 4).
* "best-response": a share 1 - noise takes a best reply, drawn uniformly from equally good ones; the rest takes an agent
  drawn uniformly (Gilboa and Matsui 1991, with mistakes).

A step of length h leads to target + exp(-h) (x - target), with the target at the start of the step; so rest points are
exact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import softmax

from modal_env.checks import brief, choice, real, seed_of, whole
from modal_env.dynamics.basins import Estimate, wilson
from modal_env.dynamics.populations import Floats, Matrix, best_shares, payoffs_of
from modal_env.errors import GameError
from modal_env.frames import Row, Tabular
from modal_env.games.game import Game, position
from modal_env.progress import Report, no_report

RULES = ("logit", "best-response")
STEP = 0.02
REST = 1e-6  # rate of change below which a population is at rest
LEAST_NOISE = 1e-9
MAX_NOISE = {"logit": 1e6, "best-response": 1.0}
_TIE = 1e-12


@dataclass(frozen=True)
class NoisyBasins(Tabular):
    """The final states of random starts.

    Attributes:
        starts: number of starts.
        ends: agent -> number of starts that come to rest where this agent has the largest share.
        moving: number of starts that still move.
        rests: [k, n] the different rest points, the most frequent first (equal to three digits).
    """

    starts: int
    ends: dict[str, int]
    moving: int
    rests: tuple[tuple[float, ...], ...]

    def share(self, agent: str) -> Estimate:
        """The share of starts that come to rest where this agent has the largest share, with its 95% interval.

        Raises:
            GameError: there is no agent of this name.
        """
        count = self.ends[[*self.ends][position([*self.ends], agent)]]
        return Estimate(count / self.starts, *wilson(count, self.starts))

    def rows(self) -> list[Row]:
        """One row per agent, and one for the starts that still move."""
        counts = {**self.ends, "moving": self.moving}
        intervals = {end: wilson(count, self.starts) for end, count in counts.items()}
        return [
            {"end": end, "starts": count, "share": count / self.starts, "low": low, "high": high}
            for (end, count), (low, high) in zip(counts.items(), intervals.values(), strict=True)
        ]


def noisy_basins(
    game: Game | Matrix,
    rule: str = "logit",
    noise: float = 0.1,
    *,
    starts: int = 10_000,
    seed: int = 0,
    time: float = 200.0,
    report: Report = no_report,
) -> NoisyBasins:
    """Follow random starts, uniform over all mixes, under logit or best response with noise.

    Args:
        game: a `Game`, or a square matrix of exact payoffs.
        rule: one of `RULES`.
        noise: from `LEAST_NOISE`; of best response at most 1.
        time: duration; members revise once in a unit of time on average.

    Raises:
        GameError: payoffs that are not square and exact; another rule; numbers out of bounds.
    """
    payoffs = payoffs_of(game)
    choice("rule", rule, RULES)
    level = checked_noise(rule, noise)
    if not 0 < real(time) <= 1e6:
        raise GameError(f"time={brief(time)}: give a number above 0, to 10^6")
    count = whole("starts", starts, 1, 1_000_000)
    shares = np.random.default_rng(seed_of(seed)).dirichlet(np.ones(payoffs.size), count)
    steps = math.ceil(time / STEP)
    for step in range(steps):
        report(step / steps)
        goal = target(payoffs.floats, shares, rule, level)
        shares = goal + math.exp(-STEP) * (shares - goal)
    at_rest = np.abs(target(payoffs.floats, shares, rule, level) - shares).max(axis=1) < REST
    largest = shares[at_rest].argmax(axis=1)
    ends = {name: int((largest == place).sum()) for place, name in enumerate(payoffs.names)}
    points, times = np.unique(shares[at_rest].round(3) + 0.0, axis=0, return_counts=True)
    rests = tuple(tuple(points[place].tolist()) for place in np.argsort(-times, kind="stable"))
    return NoisyBasins(count, ends, int((~at_rest).sum()), rests)


def checked_noise(rule: str, noise: object) -> float:
    """The noise of one of `RULES`.

    Raises:
        GameError: it is out of bounds.
    """
    if not LEAST_NOISE <= real(noise) <= MAX_NOISE[rule]:
        raise GameError(f"noise={brief(noise)}: give a number from {LEAST_NOISE:g} to {MAX_NOISE[rule]:g}")
    return real(noise)


def target(paid: Floats, shares: Floats, rule: str, noise: float) -> Floats:
    """[starts, n] where populations move to, given [n, n] payoffs and [starts, n] shares."""
    prospects = shares @ paid.T
    if rule == "logit":
        return np.asarray(softmax(prospects / noise, axis=1))
    return np.asarray((1 - noise) * best_shares(prospects, _TIE) + noise / len(paid))
