"""Finite populations with rare mutations: fixation probabilities, and the share of time of each agent, exactly.

A population of `size` members; every member plays every other, and a member's payoff is the mean. Under the Moran
process (Moran 1958) a member drawn in proportion to exp(intensity * payoff) has offspring, which replaces a member
drawn uniformly (exponential fitness: Traulsen, Shoresh and Nowak 2008). Under pairwise imitation a member takes the
agent of another with the chance 1 / (1 + exp(-intensity * difference of payoffs)), the Fermi function (Traulsen, Nowak
and Pacheco 2006). Both have the same ratio of the chances to lose and to gain a member, so the same results.

As the mutation rate tends to 0 nearly all time is spent in populations of one agent, and what remains is a chain
between these, with fixation probabilities (Fudenberg and Imhof 2006).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.special import logsumexp

from modal_env.checks import brief, real, whole
from modal_env.dynamics.populations import Floats, Matrix, payoffs_of
from modal_env.errors import GameError
from modal_env.frames import Row, Tabular
from modal_env.games.game import ProgramGame
from modal_env.logic.tournaments import listed

MAX_SIZE = 1_000_000
Pair = tuple[float, float]


@dataclass(frozen=True)
class Shares(Tabular):
    """The share of time in the long run.

    Attributes:
        names: [n] the agents.
        means: [n] the share of time with each agent.
        cooperation: share of pairs of members in which both cooperate; nan for a bare matrix.
        size: of the population.
    """

    names: tuple[str, ...]
    means: tuple[float, ...]
    cooperation: float
    size: int

    def __repr__(self) -> str:
        return f"Shares({self.size} members, cooperation {self.cooperation:.4g}; {listed(self.names)})"

    def rows(self) -> list[Row]:
        """One row per agent."""
        return [
            {"agent": name, "share": mean, "size": self.size} for name, mean in zip(self.names, self.means, strict=True)
        ]


def fixation(game: ProgramGame | Matrix, size: int, *, intensity: float = 1.0) -> Floats:
    """[n, n] the probability that one member of the column's agent takes over a population of the row's.

    rho = 1 / (1 + sum over k = 1 ... size - 1 of the product over i = 1 ... k of (chance to lose) / (chance to gain)).
    The diagonal is 1 / size, as for any neutral mutant.

    Args:
        game: a `ProgramGame`, or a square matrix of exact payoffs.
        size: number of members, from 2.
        intensity: of selection, from 0 to 10^6.

    Raises:
        GameError: payoffs that are not square and exact; a size or intensity out of bounds.
    """
    payoffs = payoffs_of(game)
    members = whole("size", size, 2, MAX_SIZE)
    if not 0 <= real(intensity) <= 1e6:
        raise GameError(f"intensity={brief(intensity)}: give a number from 0 to 10^6")
    paid = payoffs.floats
    found = np.full((payoffs.size, payoffs.size), 1 / members)
    for resident, mutant in product(range(payoffs.size), repeat=2):
        if resident != mutant:
            of_mutant = paid[mutant, mutant], paid[mutant, resident]
            of_resident = paid[resident, mutant], paid[resident, resident]
            found[resident, mutant] = _takeover(of_mutant, of_resident, members, float(intensity))
    return found


def _takeover(of_mutant: Pair, of_resident: Pair, members: int, weight: float) -> float:
    """The chance that one mutant takes over, given what each of the two is paid against a mutant and a resident."""
    count = np.arange(1, members)
    mutants = (of_mutant[0] * (count - 1) + of_mutant[1] * (members - count)) / (members - 1)
    residents = (of_resident[0] * count + of_resident[1] * (members - count - 1)) / (members - 1)
    falls = np.cumsum(weight * (residents - mutants))
    return math.exp(-float(logsumexp(np.append(falls, 0.0))))


def rare_mutations(game: ProgramGame | Matrix, size: int, *, intensity: float = 1.0) -> Shares:
    """The share of time in the limit of rare mutations: the chain between populations of one agent each.

    Args and errors: as of `fixation`; also if some agents are left with a chance below 1e-300.
    """
    payoffs = payoffs_of(game)
    moves = fixation(game, size, intensity=intensity)
    means = _stationary(moves)
    both = np.full(payoffs.size, np.nan)
    if isinstance(game, ProgramGame):
        both = np.array([float(row[agent]) for agent, row in enumerate(game.mutual)])
    return Shares(payoffs.names, tuple(means.tolist()), float(means @ both), size)


def _stationary(moves: Floats) -> Floats:
    """[n] the stationary distribution of a small chain, without subtractions (Grassmann, Taksar and Heyman 1985).

    So even chances of 1e-300 are right to 12 digits.

    Args:
        moves: [n, n] the chances or rates to go from the row's state to the column's; the diagonal is not read.

    Raises:
        GameError: some states cannot be left.
    """
    left = moves.copy()
    for last in range(len(left) - 1, 0, -1):
        away = left[last, :last].sum()
        if away == 0:
            raise GameError("an agent is left with a chance below 1e-300: give fewer members or a smaller intensity")
        left[:last, last] /= away
        left[:last, :last] += np.outer(left[:last, last], left[last, :last])
    weights = np.zeros(len(left))
    weights[0] = 1.0
    for state in range(1, len(left)):
        weights[state] = weights[:state] @ left[:state, state]
    return weights / weights.sum()
