"""Alpha-rank: the long-run distribution of policies in a finite population that plays a symmetric game."""

from __future__ import annotations

from functools import cache
from math import comb

import numpy as np

from evaluation.measures.symmetric_game import Floats, GameTableError, SymmetricGame

INTENSITY = 10.0
POPULATION = 50


def alpha_rank(game: SymmetricGame, intensity: float = INTENSITY, population: int = POPULATION) -> dict[str, float]:
    """Strategy -> the fraction of time in which a finite population plays it (Omidshafiei et al., "alpha-Rank:
    Multi-agent evaluation by evolution", Scientific Reports 2019; one population).

    Mutations are rare, so the population plays one strategy until a mutant strategy, drawn uniformly, takes over. In a
    mixed population, groups of players are drawn without replacement, and players copy others with a probability that
    increases with the payoff difference; for the fixation probability see Traulsen, Nowak and Pacheco ("Stochastic
    dynamics of invasion and fixation", Physical Review E 2006, eq. 5).

    Args:
        intensity: selection intensity (alpha), per point a year.
        population: size of the population, at least the number of players of the game.

    Raises:
        GameTableError: the population is smaller than the game, or the intensity is negative or not finite.
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
    paid = _in_population(game, mutant, resident, population)
    steps = -intensity * (paid[:, 0] - paid[:, 1])
    return -float(np.logaddexp.reduce([0.0, *np.cumsum(steps)]))


def _in_population(game: SymmetricGame, mutant: int, resident: int, population: int) -> Floats:
    """[population - 1, 2] mean payoffs of a mutant and of a resident, for 1, 2, ... mutants."""
    paid = game.restricted(sorted([mutant, resident])).table  # rows: others all of the lower-numbered strategy, ...
    paid = paid[::-1] if mutant < resident else paid[:, ::-1]  # rows: 0, 1, ... mutants; columns: mutant, resident
    return np.column_stack([_chances(population, game.players - 1, own) @ paid[:, own] for own in (0, 1)])


@cache
def _chances(population: int, others: int, own: int) -> Floats:
    """Probabilities that 0, 1, ... of the co-players of a mutant (own 0) or resident (own 1) are mutants.

    Returns:
        [population - 1, others + 1], one row per number of mutants in the population, from 1.
    """
    left = [mutants - (own == 0) for mutants in range(1, population)]
    ways = comb(population - 1, others)
    return np.array(
        [
            [comb(mutants, n) * comb(population - 1 - mutants, others - n) / ways for n in range(others + 1)]
            for mutants in left
        ]
    )


def stationary(log_rates: Floats) -> Floats:
    """[states] the stationary distribution of a Markov chain, given the logarithms of its rates [from, to].

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
