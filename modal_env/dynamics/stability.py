"""Whether a rest point of the replicator dynamics is stable: its exact Jacobian.

At a rest point x the Jacobian of x_i' = x_i (u_i - mean u) is d_ij (u_i - mean u) + x_i (U_ij - u_j - (x U)_j). On the
directions that keep the sum of shares (one agent's share is 1 minus the others) it is block triangular: an agent with
share 0 has the eigenvalue u_i - mean u, the rate at which it invades; the others have the eigenvalues of their block.
(Hofbauer and Sigmund, Evolutionary Games and Population Dynamics, 1998, chapter 7.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from modal_env.dynamics.populations import Matrix, Numbers, Payoffs, payoffs_of, read_mix
from modal_env.errors import GameError
from modal_env.games.game import ProgramGame, dot

Square = tuple[tuple[Fraction, ...], ...]


@dataclass(frozen=True)
class Stability:
    """The linear part of the replicator dynamics at a rest point, in exact fractions.

    Attributes:
        names: [n] the agents.
        mix: [n] the rest point.
        jacobian: [n - 1][n - 1] rows and columns are the agents without `left_out`, in their sequence.
        left_out: the agent whose share is 1 minus the others: the last of the mix.
        inner: [m - 1][m - 1] the block of the m agents of the mix without `left_out`.
        invasion: agent with share 0 -> the rate at which it grows there, an eigenvalue.
    """

    names: tuple[str, ...]
    mix: tuple[Fraction, ...]
    jacobian: Square
    left_out: str
    inner: Square
    invasion: dict[str, Fraction]

    @property
    def trace(self) -> Fraction:
        """The trace of the inner block: the sum of its eigenvalues, or twice the real part of a conjugate pair."""
        return sum((row[i] for i, row in enumerate(self.inner)), Fraction(0))

    @property
    def determinant(self) -> Fraction:
        """The determinant of the inner block: the product of its eigenvalues."""
        return characteristic(self.inner)[-1] * (-1) ** len(self.inner)

    @cached_property
    def eigenvalues(self) -> NDArray[np.complex128]:
        """[n - 1] all eigenvalues, as floats, the largest real part first."""
        inner = np.linalg.eigvals(np.array(self.inner, dtype=np.float64)) if self.inner else np.array([])
        values = np.concatenate([inner, [float(rate) for rate in self.invasion.values()]]).astype(np.complex128)
        return values[np.lexsort((-values.imag, -values.real))]

    @cached_property
    def kind(self) -> str:
        """ "stable" if all eigenvalues have real parts below 0, "unstable" if one is above 0, else "undecided".

        Computed in fractions, so that even a real part of 1e-30 counts. "undecided" means that the linear part does not
        decide: the largest real part is 0, or the Routh array breaks off first.
        """
        signs = [*routh(characteristic(self.inner)), *(-rate for rate in self.invasion.values())]
        if any(sign < 0 for sign in signs):
            return "unstable"
        return "stable" if all(sign > 0 for sign in signs) else "undecided"


def jacobian(game: ProgramGame | Matrix, mix: Numbers) -> Stability:
    """The Jacobian of the replicator dynamics at a rest point, such as a symmetric equilibrium.

    Args:
        game: a `ProgramGame`, or a square matrix of exact payoffs.
        mix: [n] shares, or name -> share; floats are read as the decimal number they print as.

    Raises:
        GameError: payoffs that are not square and exact, shares that are negative or do not add up to 1, or the mix is
            not a rest point: two of its agents are paid differently.
    """
    payoffs = payoffs_of(game)
    shares = read_mix(payoffs, mix)
    paid = [dot(row, shares) for row in payoffs.exact]
    inside = [i for i, share in enumerate(shares) if share]
    if len({paid[i] for i in inside}) > 1:
        payments = ", ".join(f"{payoffs.names[i]} {paid[i]}" for i in inside)
        raise GameError(f"mix {[str(share) for share in shares]} is not a rest point: its agents are paid {payments}")
    last = inside[-1]
    full = _full_jacobian(payoffs, shares, paid, mean=paid[last])
    others = [i for i in range(payoffs.size) if i != last]
    reduced = {i: {j: full[i][j] - full[i][last] for j in others} for i in others}
    return Stability(
        payoffs.names,
        shares,
        tuple(tuple(reduced[i].values()) for i in others),
        payoffs.names[last],
        tuple(tuple(reduced[i][j] for j in inside[:-1]) for i in inside[:-1]),
        {payoffs.names[i]: paid[i] - paid[last] for i in others if i not in inside},
    )


def _full_jacobian(
    payoffs: Payoffs, shares: tuple[Fraction, ...], paid: list[Fraction], mean: Fraction
) -> list[list[Fraction]]:
    """[n][n] before it is restricted to the shares that add up to 1."""
    columns = [dot(column, shares) for column in zip(*payoffs.exact, strict=True)]
    agents = range(payoffs.size)
    return [
        [shares[i] * (payoffs.exact[i][j] - paid[j] - columns[j]) + (paid[i] - mean) * (i == j) for j in agents]
        for i in agents
    ]


def characteristic(matrix: Square) -> list[Fraction]:
    """Coefficients of det(x - matrix), the highest power first (Faddeev and LeVerrier)."""
    size = len(matrix)
    coefficients = [Fraction(1)]
    power = [[Fraction(0)] * size for _ in range(size)]
    for k in range(1, size + 1):
        for i in range(size):
            power[i][i] += coefficients[-1]
        power = [[dot(row, column) for column in zip(*power, strict=True)] for row in matrix]
        coefficients.append(-sum((power[i][i] for i in range(size)), Fraction(0)) / k)
    return coefficients


def routh(coefficients: Sequence[Fraction]) -> list[Fraction]:
    """First column of the Routh array of a polynomial with leading coefficient 1; it ends at the first 0.

    If no entry is 0, the number of sign changes is the number of roots with positive real part, and none has 0.
    """
    upper, lower = list(coefficients[::2]), list(coefficients[1::2])
    column = [upper[0]]
    while lower:
        column.append(lower[0])
        if lower[0] == 0:
            break
        padded = [*lower[1:], Fraction(0)]
        factor = upper[0] / lower[0]
        following = [a - factor * b for a, b in zip(upper[1:], padded, strict=False)]
        upper, lower = lower, following
    return column
