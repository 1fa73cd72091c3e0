"""Alpha-rank: the policies that a finite population of a symmetric game plays in the long run."""

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
    paid = _in_population(game, mutant, resident, population)
    steps = -intensity * (paid[:, 0] - paid[:, 1])
    return -float(np.logaddexp.reduce([0.0, *np.cumsum(steps)]))


def _in_population(game: SymmetricGame, mutant: int, resident: int, population: int) -> Floats:
    """[population - 1, 2] mean payoffs of mutants and of residents, by the number of mutants from 1 on."""
    paid = game.restricted(sorted([mutant, resident])).table  # from all others of the earlier strategy to none
    paid = paid[::-1] if mutant < resident else paid[:, ::-1]  # by the number of mutants, mutants first
    return np.column_stack([_chances(population, game.players - 1, own) @ paid[:, own] for own in (0, 1)])


@cache
def _chances(population: int, others: int, own: int) -> Floats:
    """[population - 1, others + 1] the chance that so many others of a mutant (own 0) or resident (1) are mutants."""
    left = [mutants - (own == 0) for mutants in range(1, population)]
    ways = comb(population - 1, others)
    return np.array(
        [
            [comb(mutants, n) * comb(population - 1 - mutants, others - n) / ways for n in range(others + 1)]
            for mutants in left
        ]
    )


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
