"""Which strategies of a symmetric game last when players copy what pays: replicator dynamics and alpha-rank."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np

from evaluation.measures.symmetric_game import Floats, GameTableError, SymmetricGame, compositions

INTENSITY = 10.0
POPULATION = 50
SPANS = (50.0, 150.0, 450.0)
"""Times that the replicator dynamics are followed for until they rest; the unit is 1 / (one point a year)."""


RESTING = 1e-5
"""Slower changes of a share a unit of time, as a part of the spread of the payoffs, are none."""


@dataclass(frozen=True)
class RestPoint:
    """Where the replicator dynamics come to.

    Attributes:
        mix: strategy -> its share.
        basin: the part of the starts that lead there.
        is_settled: whether the shares had stopped moving; else the dynamics cycle or crawl, and this is where they
            were last.
    """

    mix: dict[str, float]
    basin: float
    is_settled: bool

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        return {"mix": self.mix, "basin": self.basin, "is_settled": self.is_settled}


def replicator(game: SymmetricGame, start: Floats, span: float) -> Floats:
    """[starts, strategies] where shares are after a time, from [starts, strategies].

    A share grows by (its strategy's payoff - the mean payoff) a unit of time (Taylor and Jonker, "Evolutionarily stable
    strategies and game dynamics", 1978), integrated by scipy's `solve_ivp`.

    Raises:
        GameTableError: shares that are no mixes of the strategies.
    """
    from scipy.integrate import solve_ivp

    start = np.asarray(start, dtype=np.float64)
    if start.ndim != 2 or start.shape[1] != len(game.names) or (start < 0).any() or not _sum_to_one(start):
        raise GameTableError(f"starts: give rows of {len(game.names)} shares that sum to 1")

    def flow(_: float, flat: Floats) -> Floats:
        shares = _normalised(flat.reshape(start.shape))  # or rounding would grow where the mean payoff is below 0
        return np.asarray(shares * game.gains(shares)).ravel()

    solved = solve_ivp(flow, (0.0, span), start.ravel(), method="RK45", rtol=1e-7, atol=1e-12, t_eval=[span])
    return _normalised(solved.y[:, -1].reshape(start.shape))


def rest_points(game: SymmetricGame) -> tuple[RestPoint, ...]:
    """Where the replicator dynamics lead from a lattice of mixes of all strategies, the widest basin first."""
    number = len(game.names)
    lattice = np.array(list(compositions({2: 8, 3: 8, 4: 4}.get(number, 1), number)), dtype=np.float64)
    ends = _normalised(lattice + 0.5)
    speeds = np.full(len(ends), np.inf)
    for span in SPANS:
        if speeds.max() > RESTING * game.scale:
            ends = replicator(game, ends, span)
            speeds = np.abs(ends * game.gains(ends)).max(axis=1)
    groups: list[list[int]] = []
    for row in range(len(ends)):
        near = next((group for group in groups if np.abs(ends[group[0]] - ends[row]).max() < 0.01), None)
        if near is None:
            groups.append([row])
        else:
            near.append(row)
    told = [
        RestPoint(
            dict(zip(game.names, ends[group].mean(axis=0).tolist(), strict=True)),
            len(group) / len(ends),
            bool(speeds[group].max() <= RESTING * game.scale),
        )
        for group in groups
    ]
    return tuple(sorted(told, key=lambda point: -point.basin))


def alpha_rank(game: SymmetricGame, intensity: float = INTENSITY, population: int = POPULATION) -> dict[str, float]:
    """Strategy -> the part of the time in which a finite population plays it (Omidshafiei et al., "alpha-Rank:
    Multi-agent evaluation by evolution", Scientific Reports 2019; one population).

    Mutants are rare, so the population plays one strategy until a mutant of another, drawn evenly, takes it over. In a
    mixed population everybody plays in groups drawn from it without replacement, and copies another player with a
    chance that grows with the difference of their payoffs; the chance of a takeover is that of Traulsen, Nowak and
    Pacheco ("Stochastic dynamics of invasion and fixation", Physical Review E 2006, eq. 5).

    Args:
        intensity: of selection, per point a year: alpha.
        population: how many players; at least as many as the game has.

    Raises:
        GameTableError: a population smaller than the game, or an intensity that is negative or not finite.
    """
    if population < max(2, game.players) or not 0 <= intensity < np.inf:
        raise GameTableError(
            f"population={population!r}, intensity={intensity!r}: {game.players} players or more, >= 0"
        )
    number = len(game.names)
    if number == 1:
        return {game.names[0]: 1.0}
    rates = np.full((number, number), -np.inf)
    for resident in range(number):
        for mutant in range(number):
            if mutant != resident:
                chance = log_fixation(game, mutant, resident, intensity, population)
                rates[resident, mutant] = chance - np.log(number - 1)
    return dict(zip(game.names, stationary(rates).tolist(), strict=True))


def log_fixation(game: SymmetricGame, mutant: int, resident: int, intensity: float, population: int) -> float:
    """Logarithm of the chance that one mutant takes over a population of residents."""
    steps = [
        -intensity * (_in_population(game, mutant, resident, mutants, population) @ np.array([1.0, -1.0]))
        for mutants in range(1, population)
    ]
    return -float(np.logaddexp.reduce([0.0, *np.cumsum(steps)]))


def _in_population(game: SymmetricGame, mutant: int, resident: int, mutants: int, population: int) -> Floats:
    """[2] mean payoffs of a mutant and of a resident, in groups drawn from a population without replacement."""
    others = game.players - 1
    rows = {tuple(row): index for index, row in enumerate(game.others.tolist())}
    paid = np.zeros(2)
    for count in range(others + 1):
        dealt = [0] * len(game.names)
        dealt[mutant], dealt[resident] = count, others - count
        payoffs = game.table[rows[tuple(dealt)]]
        for side, own in enumerate((mutant, resident)):
            left = mutants - (own == mutant)
            ways = comb(left, count) * comb(population - 1 - left, others - count)
            paid[side] += ways / comb(population - 1, others) * payoffs[own]
    return paid


def stationary(log_rates: Floats) -> Floats:
    """[states] the stationary distribution of a chain, from the logarithms of its rates [from, to].

    By elimination of states without any subtraction (Grassmann, Taksar and Heyman, "Regenerative analysis and steady
    state distributions for Markov chains", Operations Research 1985), so that rates may differ by any power of ten.
    """
    rates = log_rates.copy()
    last = len(rates) - 1
    for state in range(last, 0, -1):
        rates[:state, state] -= np.logaddexp.reduce(rates[state, :state])
        through = rates[:state, [state]] + rates[[state], :state]
        rates[:state, :state] = np.logaddexp(rates[:state, :state], through)
    weights = np.zeros(len(rates))
    for state in range(1, len(rates)):
        weights[state] = np.logaddexp.reduce(weights[:state] + rates[:state, state])
    weights = np.exp(weights - weights.max())
    return np.asarray(weights / weights.sum())


def _normalised(shares: Floats) -> Floats:
    shares = np.clip(shares, 0.0, None)
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def _sum_to_one(shares: Floats) -> bool:
    return bool(np.allclose(shares.sum(axis=1), 1.0, rtol=0, atol=1e-9))
