"""Evolutionary dynamics of symmetric games: replicator dynamics and alpha-rank."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np

from evaluation.measures.symmetric_game import Floats, GameTableError, SymmetricGame, compositions

INTENSITY = 10.0
POPULATION = 50
LARGE = 100.0  # a spread of payoffs, in points a year, that needs no scaling
SPANS = (50.0, 150.0, 450.0)
"""Durations for which to integrate the replicator dynamics until they rest; the unit is 1 / (one point a year)."""


RESTING = 1e-5
"""Shares that change by less than this per unit of time (relative to the spread of the payoffs) are at rest."""


@dataclass(frozen=True)
class RestPoint:
    """A rest point of the replicator dynamics.

    Attributes:
        mix: strategy -> its share.
        basin: fraction of the starting points that lead there.
        is_settled: whether the shares have stopped moving; if not, the dynamics cycle or are slow, and `mix` is the
            last state.
    """

    mix: dict[str, float]
    basin: float
    is_settled: bool

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        return {"mix": self.mix, "basin": self.basin, "is_settled": self.is_settled}


def replicator(game: SymmetricGame, start: Floats, span: float) -> Floats:
    """Integrate the replicator dynamics: the shares after time `span`, [starts, strategies].

    A share grows by (its strategy's payoff - the mean payoff) a unit of time (Taylor and Jonker, "Evolutionarily stable
    strategies and game dynamics", 1978), integrated by scipy's `solve_ivp`.

    Raises:
        GameTableError: `start` has rows that are not mixes of the strategies.
    """
    from scipy.integrate import solve_ivp

    start = np.asarray(start, dtype=np.float64)
    if start.ndim != 2 or start.shape[1] != len(game.names) or (start < 0).any() or not _sum_to_one(start):
        raise GameTableError(f"starts: give rows of {len(game.names)} shares that sum to 1")

    def flow(_: float, flat: Floats) -> Floats:
        shares = _normalised(flat.reshape(start.shape))  # else rounding errors grow where the mean payoff is negative
        return np.asarray(shares * game.gains(shares)).ravel()

    solved = solve_ivp(flow, (0.0, span), start.ravel(), method="RK45", rtol=1e-7, atol=1e-12, t_eval=[span])
    return _normalised(solved.y[:, -1].reshape(start.shape))


def rest_points(game: SymmetricGame) -> tuple[RestPoint, ...]:
    """Rest points reached from a lattice of interior mixes, largest basin first."""
    number = len(game.names)
    if game.scale > LARGE:  # other payoffs only change how fast the rest points are reached
        game = SymmetricGame(game.names, game.players, game.table / (game.scale / LARGE))
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
    points = [
        RestPoint(
            dict(zip(game.names, ends[group].mean(axis=0).tolist(), strict=True)),
            len(group) / len(ends),
            bool(speeds[group].max() <= RESTING * game.scale),
        )
        for group in groups
    ]
    return tuple(sorted(points, key=lambda point: -point.basin))


def alpha_rank(game: SymmetricGame, intensity: float = INTENSITY, population: int = POPULATION) -> dict[str, float]:
    """Strategy -> the fraction of time in which a finite population plays it (Omidshafiei et al., "alpha-Rank:
    Multi-agent evaluation by evolution", Scientific Reports 2019; one population).

    Mutations are rare, so the population plays one strategy until a mutant with another one, drawn uniformly, takes
    over. In a mixed population, players play in groups drawn without replacement, and copy another player with a
    probability that grows with the difference of their payoffs; the fixation probability is that of Traulsen, Nowak
    and Pacheco ("Stochastic dynamics of invasion and fixation", Physical Review E 2006, eq. 5).

    Args:
        intensity: of selection (alpha), per point a year.
        population: its size, at least the number of players of the game.

    Raises:
        GameTableError: a population smaller than the game, or an intensity that is negative or not finite.
    """
    if population < max(2, game.players) or not 0 <= intensity < np.inf:
        raise GameTableError(f"population={population!r}, intensity={intensity!r}: give at least {game.players} and 0")
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
    """Logarithm of the fixation probability of one mutant in a population of residents."""
    steps = [
        -intensity * (_in_population(game, mutant, resident, mutants, population) @ np.array([1.0, -1.0]))
        for mutants in range(1, population)
    ]
    return -float(np.logaddexp.reduce([0.0, *np.cumsum(steps)]))


def _in_population(game: SymmetricGame, mutant: int, resident: int, mutants: int, population: int) -> Floats:
    """[2] mean payoffs of mutants and of residents, in groups drawn from the population without replacement."""
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
    """[states] the stationary distribution of a Markov chain, from the logarithms of its rates [from, to].

    By state elimination without subtractions (Grassmann, Taksar and Heyman, "Regenerative analysis and steady
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
