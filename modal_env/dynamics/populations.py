"""A population whose members play a game in random pairs: its payoffs, its shares, and when an agent must take over.

The dynamics (`replicator`, `basins`, `growth`) read their arguments through this module, so they work for every library
of agents: a `ProgramGame`, or a square matrix of exact payoffs. In an asymmetric game every member has each seat half
of the time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from numbers import Rational

import numpy as np
from numpy.typing import NDArray

from modal_env.checks import MAX_DIGITS, NO_NUMBERS, Number, brief, exact, integer, items
from modal_env.errors import GameError
from modal_env.games.game import ProgramGame, arranged, position

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Matrix = Sequence[Sequence[Fraction | int]]
Numbers = Sequence[Number] | Mapping[str, Number]
"""A number for every agent in sequence, or name -> number (see `game.position`); agents left out have 0."""

MOST = 10**MAX_DIGITS
"""Largest number of members of a population."""

_SUM_SLACK = 1e-9  # how far the sum of shares given as floats may be from 1


@dataclass(frozen=True)
class Payoffs:
    """The payoffs of every agent against every other, costs deducted.

    Attributes:
        names: [n] the agents' names; for a bare matrix, their positions.
        exact: [n][n] the row agent's payoff against the column agent.
        terms: of the game, see `ProgramGame.terms`; "" for a bare matrix.
    """

    names: tuple[str, ...]
    exact: tuple[tuple[Fraction, ...], ...]
    terms: str = ""

    @cached_property
    def floats(self) -> Floats:
        """[n, n] the payoffs as floats."""
        return np.array([[float(value) for value in row] for row in self.exact])

    @cached_property
    def strict_pure(self) -> tuple[int, ...]:
        """The agents that are the only best reply to themselves: the strict pure equilibria."""
        diagonal = [row[i] for i, row in enumerate(self.exact)]
        beaten = [all(row[j] < best for i, row in enumerate(self.exact) if i != j) for j, best in enumerate(diagonal)]
        return tuple(j for j, is_strict in enumerate(beaten) if is_strict)

    @property
    def size(self) -> int:
        """Number of agents."""
        return len(self.names)

    def index(self, agent: str) -> int:
        """The agent's position, see `game.position`.

        Raises:
            GameError: there is no agent of this name.
        """
        return position(self.names, agent)


def payoffs_of(game: ProgramGame | Matrix) -> Payoffs:
    """The payoffs of a game, or of a square matrix of integers and fractions.

    Raises:
        GameError: it is neither a game nor a matrix, the matrix is empty or not square, or an entry is not exact (a
            float).
    """
    if isinstance(game, ProgramGame):
        return Payoffs(game.names, in_both_seats(game), game.terms)
    rows = [items(row) for row in items(game) or ()]
    if not rows or any(row is None or len(row) != len(rows) for row in rows):
        raise GameError(f"payoffs {brief(game)}: give a ProgramGame, or a square matrix of integers and Fractions")
    for i, row in enumerate(rows):
        for j, value in enumerate(row or ()):
            if isinstance(value, NO_NUMBERS) or not isinstance(value, Rational):
                raise GameError(f"payoff [{i}][{j}] is {brief(value)}: give an integer or a Fraction")
    names = tuple(map(str, range(len(rows))))
    return Payoffs(names, tuple(tuple(exact(value, "a payoff") for value in row or ()) for row in rows))


def in_both_seats(game: ProgramGame) -> tuple[tuple[Fraction, ...], ...]:
    """[n][n] the mean payoff of the row agent against the column agent over the two seats."""
    if game.payoffs.is_symmetric:
        return game.utilities
    return tuple(
        tuple((a + b) / 2 for a, b in zip(*rows, strict=True))
        for rows in zip(game.utilities, game.turned.utilities, strict=True)
    )


def read_shares(payoffs: Payoffs, shares: Numbers) -> Floats:
    """[n] shares as floats, from 0, with sum 1.

    Raises:
        GameError: unknown agents, wrong number of shares, a share that is not a number from 0, or wrong sum.
    """
    values = np.array([float(exact(share, "a share")) for share in _in_sequence(payoffs, shares)])
    if not ((values >= 0).all() and abs(values.sum() - 1) <= _SUM_SLACK):
        text = f"{values.tolist()} add up to {values.sum()}"
        raise GameError(f"shares {text:.300}: give numbers from 0 that add up to 1")
    return values / values.sum()


def read_mix(payoffs: Payoffs, mix: Numbers) -> tuple[Fraction, ...]:
    """[n] exact shares, from 0, with sum 1; floats are read as the decimal number they print as.

    Raises:
        GameError: unknown agents, wrong number of shares, a share that is not a number from 0, or wrong sum.
    """
    shares = tuple(exact(share, "a share") for share in _in_sequence(payoffs, mix))
    if min(shares) < 0 or sum(shares) != 1:
        raise GameError(f"mix {', '.join(map(str, shares)):.300}: give numbers from 0 that add up to 1")
    return shares


def read_counts(payoffs: Payoffs, counts: Numbers) -> tuple[int, ...]:
    """[n] numbers of members, at least one in total.

    Raises:
        GameError: unknown agents, wrong number of counts, a count that is not an integer from 0 to `MOST`, or all 0.
    """
    given = _in_sequence(payoffs, counts)
    found = [count for count in map(integer, given) if count is not None and 0 <= count <= MOST]
    if len(found) != len(given) or not any(found):
        raise GameError(f"counts {brief(given)}: give integers from 0 to 10^{MAX_DIGITS}, and one member at least")
    return tuple(found)


def shares_of(logs: Floats) -> Floats:
    """[n, ...] shares, from their logarithms up to a common constant."""
    weights = np.exp(logs - logs.max(axis=0))
    return weights / weights.sum(axis=0)


def is_trapped(payoffs: Floats, shares: Floats, agent: int) -> Bools:
    """Where `agent` is sure to take over the population under replicator dynamics, up to rounding.

    Write r_k = x_k / x_agent and let i be another agent. Its ratio r_i falls at the relative rate
    u_agent - u_i = sum_k x_k (U[agent, k] - U[i, k]) >= x_agent (gap_i - sum_k r_k more_ik), where gap_i is how much
    less i gets than `agent` against `agent`, and more_ik is how much more it gets against k, or 0. If the bracket is
    positive for every i, all ratios fall; then the brackets rise, so this stays true, and all ratios tend to 0.

    Args:
        payoffs: [n, n]
        shares: [n, starts]
        agent: position of an agent in `Payoffs.strict_pure`: its column has its only maximum on the diagonal.

    Returns:
        [starts]
    """
    others = np.arange(len(payoffs)) != agent
    gaps = payoffs[agent, agent] - payoffs[others, agent]
    more = np.maximum(0, payoffs[others] - payoffs[agent])
    return (gaps[:, None] * shares[agent] > more @ shares).all(axis=0)


def _in_sequence(payoffs: Payoffs, given: Numbers) -> list[object]:
    """[n] the numbers of all agents; 0 for those that a mapping leaves out."""
    if isinstance(given, Mapping):
        return list(arranged(payoffs.names, given, 0))
    numbers = items(given)
    if numbers is None or len(numbers) != payoffs.size:
        text = brief(given) if numbers is None else f"{len(numbers)} numbers"
        raise GameError(f"{text} for {payoffs.size} agents: give one for each of {', '.join(payoffs.names):.300}")
    return list(numbers)
