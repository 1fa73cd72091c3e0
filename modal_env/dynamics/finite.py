"""Finite populations: fixation probabilities, and the long-run share of each agent, exactly if states can be listed.

A population of `size` members; every member plays every other, and a member's payoff is the mean. In a step one member
is replaced:

* "moran": by the offspring of a member drawn in proportion to exp(intensity * payoff); who is replaced is drawn
  uniformly (Moran 1958; exponential fitness: Traulsen, Shoresh and Nowak 2008).
* "imitation": a member compares itself with another and takes its agent with probability 1 / (1 + exp(-intensity *
  difference)), the Fermi function (Traulsen, Nowak and Pacheco 2006).
* "logit": a member takes agent j with a probability in proportion to exp(intensity * payoff of j) (Blume 1993).
* "best-reply": a member takes a best reply to the others, drawn uniformly from equally good ones (Kandori, Mailath and
  Rob 1993).

With probability `mutation` it takes an agent drawn uniformly instead. With two agents, "moran" and "imitation" have the
same ratio of the chances to lose and to gain a member of one of them, exp(-intensity * difference of payoffs), and so
the same fixation probabilities.

The states are the numbers of members of each agent, and the chain's stationary distribution is solved for directly. If
there are too many states: as the mutation rate tends to 0 nearly all time is spent in populations of one agent, and
what remains is a chain between these, with fixation probabilities (Fudenberg and Imhof 2006).
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_matrix, identity
from scipy.sparse.linalg import MatrixRankWarning, spsolve
from scipy.special import expit, logsumexp, softmax

from modal_env.checks import brief, choice, real, whole
from modal_env.dynamics.basins import Estimate
from modal_env.dynamics.growth import compositions
from modal_env.dynamics.populations import Floats, Matrix, Payoffs, best_shares, payoffs_of
from modal_env.errors import GameError
from modal_env.frames import Row, Tabular
from modal_env.games.game import Game
from modal_env.logic.tournaments import listed

PROCESSES = ("moran", "imitation", "logit", "best-reply")
MAX_STATES = 30_000
MAX_SIZE = 1_000_000
MAX_CHANCES = 10_000_000  # states times pairs of agents: 80 MB per table of this size
Pair = tuple[float, float]
_TIE = 1e-9  # difference of payoffs below which two replies are equally good
_SLACK = 1e-6  # between two solutions for the shares of time


@dataclass(frozen=True)
class Shares(Tabular):
    """The share of time, in the long run.

    Attributes:
        names: [n] the agents.
        means: [n] mean share of each agent.
        cooperation: share of pairs of members in which both cooperate; nan for a bare matrix.
        size, process: of the population.
        mutation: 0 for the limit of rare mutations.
        how: "solved" or "rare mutations".
    """

    names: tuple[str, ...]
    means: tuple[Estimate, ...]
    cooperation: Estimate
    size: int
    process: str
    mutation: float
    how: str

    def __repr__(self) -> str:
        terms = f"{self.how}, {self.process}, {self.size} members, cooperation {self.cooperation}"
        return f"Shares({terms}; {listed(self.names)})"

    def rows(self) -> list[Row]:
        """One row per agent."""
        terms: Row = {"process": self.process, "size": self.size, "mutation": self.mutation, "how": self.how}
        return [
            {"agent": name, "share": mean.value, "low": mean.low, "high": mean.high, **terms}
            for name, mean in zip(self.names, self.means, strict=True)
        ]


def fixation(game: Game | Matrix, size: int, process: str = "moran", *, intensity: float = 1.0) -> Floats:
    """[n, n] the probability that one member of the column's agent takes over a population of the row's.

    rho = 1 / (1 + sum over k = 1 ... size - 1 of the product over i = 1 ... k of (chance to lose) / (chance to gain)).
    The diagonal is 1 / size, as for any neutral mutant.

    Args:
        game: a `Game`, or a square matrix of exact payoffs.
        size: number of members, from 2.
        process: "moran" or "imitation", which give the same.
        intensity: of selection, from 0.

    Raises:
        GameError: payoffs that are not square and exact; another process; a size or intensity out of bounds.
    """
    payoffs = payoffs_of(game)
    choice("process", process, PROCESSES[:2])
    members, weight = whole("size", size, 2, MAX_SIZE), checked_intensity(intensity)
    paid = payoffs.floats
    found = np.full((payoffs.size, payoffs.size), 1 / members)
    for resident, mutant in product(range(payoffs.size), repeat=2):
        if resident != mutant:
            of_mutant = paid[mutant, mutant], paid[mutant, resident]
            of_resident = paid[resident, mutant], paid[resident, resident]
            found[resident, mutant] = takeover(of_mutant, of_resident, members, weight)
    return found


def takeover(of_mutant: Pair, of_resident: Pair, members: int, weight: float) -> float:
    """The chance that one mutant takes over, given what each of the two is paid against a mutant and a resident."""
    count = np.arange(1, members)
    mutants = (of_mutant[0] * (count - 1) + of_mutant[1] * (members - count)) / (members - 1)
    residents = (of_resident[0] * count + of_resident[1] * (members - count - 1)) / (members - 1)
    falls = np.cumsum(weight * (residents - mutants))
    return math.exp(-float(logsumexp(np.append(falls, 0.0))))


def rare_mutations(game: Game | Matrix, size: int, process: str = "moran", *, intensity: float = 1.0) -> Shares:
    """The share of time in the limit of rare mutations: the chain between populations of one agent each.

    Args and errors: as of `fixation`.
    """
    payoffs = payoffs_of(game)
    rho = fixation(game, size, process, intensity=intensity)
    number = payoffs.size
    if number == 1:
        return _exact(payoffs, np.ones(1), game, size, process, 0.0, "rare mutations", np.eye(1))
    moves = rho / (number - 1)
    np.fill_diagonal(moves, 0)
    moves += np.diag(1 - moves.sum(axis=1))
    means = stationary(moves)
    return _exact(payoffs, means, game, size, process, 0.0, "rare mutations", np.diag(means))


def stationary(moves: Floats) -> Floats:
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


def solved_shares(
    game: Game | Matrix, size: int, mutation: float, process: str = "moran", *, intensity: float = 1.0
) -> Shares:
    """The share of time, from the stationary distribution of all states, solved for directly.

    Args:
        game, size, intensity: as of `fixation`.
        mutation: above 0, to 1; from 0 under "logit", where every move is possible anyway.
        process: one of `PROCESSES`.

    Raises:
        GameError: as `fixation`; a mutation rate out of bounds; more than `MAX_STATES` states, or
            `MAX_CHANCES` chances; moves between some states too rare for a solution in floats.
    """
    payoffs = payoffs_of(game)
    choice("process", process, PROCESSES)
    members, weight = whole("size", size, 2, MAX_SIZE), checked_intensity(intensity)
    rate = checked_mutation(mutation, process)
    count = math.comb(members + payoffs.size - 1, payoffs.size - 1)
    if count > MAX_STATES:
        text = f"{payoffs.size} agents and {members} members have {count:,} states"
        raise GameError(f"{text}, more than {MAX_STATES:,}: take rare_mutations")
    if count * payoffs.size**2 > MAX_CHANCES:
        text = f"{count:,} states and {payoffs.size} agents have {count * payoffs.size**2:,} chances"
        raise GameError(f"{text}, more than {MAX_CHANCES:,}: take rare_mutations")
    states = np.array(list(compositions(members, payoffs.size)))
    weights = _stationary(states, _changes(payoffs.floats, states, rate, process, weight))
    means = weights @ states / members
    pairs = (states.T * weights) @ states - np.diag(weights @ states)
    return _exact(payoffs, means, game, members, process, rate, "solved", pairs / (members * (members - 1)))


def _stationary(states: NDArray[np.int64], changes: Floats) -> Floats:
    """[states] the stationary distribution, given the chances [states, n, n] that a member of i becomes one of j."""
    numbers = {tuple(state): place for place, state in enumerate(states.tolist())}
    rows, columns, values = [], [], []
    for place, lost, won in zip(*np.nonzero(changes), strict=True):
        if lost != won:
            after = states[place].copy()
            after[lost] -= 1
            after[won] += 1
            rows.append(place)
            columns.append(numbers[tuple(after.tolist())])
            values.append(changes[place, lost, won])
    size = len(states)
    flow = csc_matrix((values, (columns, rows)), shape=(size, size))
    balance = flow - csc_matrix(identity(size).multiply(np.asarray(flow.sum(axis=0)).ravel()))
    found, again = _balanced(balance, 0), _balanced(balance, size - 1)
    if not np.abs(found - again).max() <= _SLACK:  # or nan
        text = "moves between some states are too rare to solve for the time spent in each"
        raise GameError(f"{text}: give a larger mutation rate, a smaller intensity or fewer members")
    found = np.maximum(found, 0)
    return np.asarray(found / found.sum())


def _balanced(balance: csc_matrix, place: int) -> Floats:
    """[states] the solution, with sum 1 instead of one state's balance equation; nan if the system is singular.

    The choice of this state does not matter, unless rounding errors decide the solution.
    """
    system, right = balance.tolil(), np.zeros(balance.shape[0])
    system[place] = right[place] = 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MatrixRankWarning)
        return np.asarray(spsolve(system.tocsc(), right))


def _changes(paid: Floats, states: NDArray[np.int64], mutation: float, process: str, weight: float) -> Floats:
    """[states, n, n] the chance that in a step a member of agent i is replaced by one of agent j."""
    members, number = states.sum(axis=1)[:, None], paid.shape[0]
    payoff = (states @ paid.T - np.diag(paid)) / (members - 1)  # of a member of each agent
    share = states / members
    if process == "moran":
        logs = np.where(states > 0, np.log(np.maximum(states, 1)) + weight * payoff, -np.inf)
        takes = np.repeat(softmax(logs, axis=1)[:, None, :], number, axis=1)
    elif process == "imitation":
        gap = payoff[:, None, :] - payoff[:, :, None]
        takes = states[:, None, :] / (members - 1)[:, :, None] * expit(weight * gap)
        takes[:, np.arange(number), np.arange(number)] = 0  # stays as it is; filled up below
        takes[:, np.arange(number), np.arange(number)] = 1 - takes.sum(axis=2)
    else:
        others = states[:, None, :] - np.eye(number, dtype=int)  # seen by a member of agent i
        prospects = np.einsum("sij,kj->sik", others, paid) / (members - 1)[:, :, None]
        takes = softmax(weight * prospects, axis=2) if process == "logit" else best_shares(prospects, _TIE)
    return np.asarray(share[:, :, None] * ((1 - mutation) * takes + mutation / number))


def both_cooperate(game: Game | Matrix, number: int) -> Floats:
    """[n, n] the probability that both cooperate; nan for a bare matrix."""
    if not isinstance(game, Game):
        return np.full((number, number), np.nan)
    return np.array([[float(chance) for chance in row] for row in game.mutual])


def _exact(
    payoffs: Payoffs,
    means: Floats,
    game: Game | Matrix,
    size: int,
    process: str,
    mutation: float,
    how: str,
    pairs: Floats,
) -> Shares:
    each = tuple(Estimate(float(mean), float(mean), float(mean)) for mean in means)
    both = float((pairs * both_cooperate(game, payoffs.size)).sum())
    return Shares(payoffs.names, each, Estimate(both, both, both), size, process, mutation, how)


def checked_intensity(given: float) -> float:
    """Check an intensity of selection.

    Raises:
        GameError: it is not a number from 0 to 10^6.
    """
    if not 0 <= real(given) <= 1e6:
        raise GameError(f"intensity={brief(given)}: give a number from 0 to 10^6")
    return float(given)


def checked_mutation(given: float, process: str) -> float:
    """Check a mutation rate.

    Raises:
        GameError: it is not above 0, to 1; under "logit" it may be 0.
    """
    if not 0 <= real(given) <= 1 or (given == 0 and process != "logit"):
        raise GameError(f"mutation={brief(given)}: give a rate above 0, to 1 (or rare_mutations)")
    return float(given)
