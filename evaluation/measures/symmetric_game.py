"""Symmetric games of n players and a few strategies, as payoff tables, and their symmetric Nash equilibria.

The payoff of a strategy depends only on how many of the others play each strategy. If the payoffs are estimated from
games between policies, the game is called empirical (Wellman, "Methods for empirical game-theoretic analysis", AAAI
2006).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import comb, factorial, prod
from typing import Any

import numpy as np
from numpy.polynomial import Polynomial
from numpy.typing import NDArray

from welfare_env import checks
from welfare_env.errors import WelfareEnvError

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Counts = tuple[int, ...]

TOLERANCE = 1e-9
"""Gains below this, relative to the spread of the payoffs, count as 0."""
SAME = 1e-6
"""Smaller shares count as 0, and mixes that differ by less as equal."""

MAX_PLAYERS = 1000
MAX_PAYOFF = 1e100
"""Maximum absolute payoff; products of larger payoffs overflow."""


class GameTableError(WelfareEnvError, ValueError):
    """An invalid table of a symmetric game, or an invalid mix of its strategies."""


def compositions(total: int, parts: int) -> Iterator[Counts]:
    """All ways to divide `total` seats among `parts` strategies, in descending lexicographic order."""
    if parts == 1:
        yield (total,)
        return
    for first in range(total, -1, -1):
        for rest in compositions(total - first, parts - 1):
            yield (first, *rest)


@dataclass(frozen=True)
class SymmetricEquilibrium:
    """A symmetric Nash equilibrium: nobody gains by deviating if all others play the mixed strategy `mix`.

    Attributes:
        mix: strategy -> share, for all strategies.
        payoff: expected payoff of a player.
        gains: strategy -> gain of a single player who deviates to it; 0 for strategies in the mix, at most 0 for the
            others.
        is_stable: whether the replicator dynamics return to it after a small shift towards any strategy of the game;
            False if a strategy outside the mix has exactly the same payoff. None if it depends on fitted payoffs.
    """

    mix: dict[str, float]
    payoff: float
    gains: dict[str, float]
    is_stable: bool | None

    @property
    def is_fitted(self) -> bool:
        """Whether the equilibrium depends on fitted payoffs."""
        return self.is_stable is None

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        names = ("mix", "payoff", "gains", "is_stable", "is_fitted")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True, eq=False)
class SymmetricGame:
    """A symmetric game as a table.

    Attributes:
        names: the strategies.
        players: number of players.
        table: [compositions(players - 1, strategies), strategies] payoff of each strategy for each composition of the
            other players.
        fitted: [compositions, strategies] True for payoffs that were fitted, not measured; None if all were measured.

    Raises:
        GameTableError: invalid names or number of players, or a table of the wrong shape or with invalid numbers.
    """

    names: tuple[str, ...]
    players: int
    table: Floats
    fitted: Bools | None = None

    def __post_init__(self) -> None:
        checks.whole("players", self.players, 1, MAX_PLAYERS, GameTableError)
        if not isinstance(self.names, tuple) or not self.names or not all(isinstance(name, str) for name in self.names):
            raise GameTableError(
                f"names={checks.quoted(self.names)}: give a tuple of strings, such as ('hawk', 'dove')"
            )
        shape = (comb(self.players + len(self.names) - 2, len(self.names) - 1), len(self.names))
        if not isinstance(self.table, np.ndarray) or self.table.dtype.kind not in "fiu":
            raise GameTableError(f"table={checks.quoted(self.table)}: give an array of numbers of shape {shape}")
        if (np.abs(self.table) > MAX_PAYOFF).any():
            raise GameTableError(f"a payoff exceeds {MAX_PAYOFF:g} in absolute value: divide all by the same number")
        if self.table.shape != shape or not np.isfinite(self.table).all():
            raise GameTableError(
                f"a game of {self.players} players and {len(self.names)} strategies is a table of finite numbers of "
                f"shape {shape}, not {self.table.shape}"
            )

    @classmethod
    def of(cls, names: Sequence[str], payoffs: Mapping[Counts, Sequence[float]]) -> SymmetricGame:
        """Build from a mapping: seats per strategy -> payoff of each strategy. Missing and nan payoffs are fitted.

        The fit of a strategy's payoff is a linear function of the others' counts, by least squares over its known
        payoffs (the minimum-norm solution if it is not unique; Vorobeychik, Wellman and Singh, "Learning payoff
        functions in infinite games", Machine Learning 2007).

        Raises:
            GameTableError: a strategy without any known payoff, or counts with different sums or lengths.
        """
        known = {counts: np.asarray(row, dtype=np.float64) for counts, row in payoffs.items()}
        players = {sum(counts) for counts in known}
        if len(players) != 1 or {len(row) for row in [*known, *known.values()]} != {len(names)}:
            raise GameTableError(f"payoffs of {list(known)!s:.200}: give equal sums for {len(names)} strategies")
        total = players.pop()
        others = np.array(list(compositions(total - 1, len(names))))
        missing = np.full(len(names), np.nan)
        table = np.empty(others.shape)
        fitted = np.zeros(others.shape, dtype=np.bool_)
        for own in range(len(names)):
            seats = others + np.eye(len(names), dtype=int)[own]
            column = np.array([known.get(tuple(counts), missing)[own] for counts in seats.tolist()])
            if np.isnan(column).all():
                raise GameTableError(f"no payoff of {names[own]!r} is known")
            table[:, own] = _filled(np.delete(others, own, axis=1), column)
            fitted[:, own] = np.isnan(column)
        return cls(tuple(names), total, table, fitted if fitted.any() else None)

    @cached_property
    def others(self) -> NDArray[np.int64]:
        """[compositions, strategies] the other players' counts in each row of the table."""
        return np.array(list(compositions(self.players - 1, len(self.names))))

    @cached_property
    def ways(self) -> Floats:
        """[compositions] number of seatings of the other players: multinomial coefficients."""
        ways = [factorial(self.players - 1) // prod(map(factorial, row)) for row in self.others.tolist()]
        return np.array(ways, dtype=np.float64)

    @cached_property
    def _weighted(self) -> Floats:
        return self.ways[:, None] * self.table

    def payoffs(self, mix: Floats) -> Floats:
        """[..., strategies] expected payoff of each strategy when all others play a mix, [..., strategies]."""
        powers = mix[..., None] ** np.arange(self.players)
        chances = powers[..., 0, :][..., self.others[:, 0]]
        for strategy in range(1, len(self.names)):
            chances = chances * powers[..., strategy, :][..., self.others[:, strategy]]
        return chances @ self._weighted

    def gains(self, mix: Floats) -> Floats:
        """[..., strategies] gain of a player who deviates from the mix to each strategy."""
        paid = self.payoffs(mix)
        return paid - np.sum(mix * paid, axis=-1, keepdims=True)

    def regret(self, mix: Floats) -> Floats:
        """[...] the largest gain: 0 in a symmetric Nash equilibrium, otherwise positive."""
        return self.gains(mix).max(axis=-1)

    @cached_property
    def scale(self) -> float:
        """The spread of the payoffs; 1 if all are equal."""
        return float(np.ptp(self.table)) or 1.0

    @cached_property
    def equilibria(self) -> tuple[SymmetricEquilibrium, ...]:
        """The symmetric Nash equilibria, those with fewer strategies first.

        Finds all pure equilibria, and all isolated equilibria of two strategies: the roots of the payoff difference, a
        polynomial of degree players - 1 in the first share. Equilibria of more strategies are searched in every
        support, of any size, by Newton's method (scipy's `root`) from several starts: with two players the equations
        are linear, so none is missed; with more players some may be. Equilibria that are not isolated, such as those of
        `neutral_faces`, are not listed. At least one symmetric equilibrium exists (Nash, "Non-cooperative games", 1951,
        theorem 2).
        """
        sizes = range(1, len(self.names) + 1)
        mixes = self._different(mix for size in sizes for mix in self._of_size(size))
        return tuple(self._equilibrium(mix) for mix in mixes)

    def smallest_equilibria(self) -> list[Floats]:
        """The mixes among `equilibria` with the fewest strategies; empty if `equilibria` is."""
        sizes = range(1, len(self.names) + 1)
        return next((found for size in sizes if (found := self._different(self._of_size(size)))), [])

    def near(self, mix: Floats) -> Floats | None:
        """The nearest mix with the same support in which all strategies of the support have the same payoff.

        None if there is none. For three or more strategies, the mix that Newton's method finds from this mix.
        """
        support = np.flatnonzero(mix).tolist()
        found = self._searched(support, [mix[support][:-1]]) if len(support) > 2 else self._indifferent(support)
        return min(found, key=lambda other: float(np.abs(other - mix).sum()), default=None)

    @cached_property
    def neutral_faces(self) -> tuple[tuple[str, ...], ...]:
        """The largest sets of strategies that have equal payoffs in every mix of them, to within `TOLERANCE`.

        Each such mix is a rest point of the replicator dynamics, so none of them is isolated. With fitted payoffs, only
        measured payoffs are compared, and all payoffs between every two strategies of a set must be measured.
        """

        def is_tie(strategies: list[int]) -> bool:
            return bool(np.nanmax(self.spreads(strategies)) <= TOLERANCE * self.scale)

        pairs = [
            pair
            for pair in combinations(range(len(self.names)), 2)
            if not np.isnan(self.spreads(list(pair))).any() and is_tie(list(pair))
        ]
        faces: list[set[int]] = []
        for pair in pairs:
            if any(set(pair) <= face for face in faces):
                continue
            face = set(pair)
            for other in range(len(self.names)):
                are_pairs = all((min(one, other), max(one, other)) in pairs for one in face)
                if other not in face and are_pairs and is_tie(sorted({*face, other})):
                    face.add(other)
            faces.append(face)
        return tuple(tuple(self.names[strategy] for strategy in sorted(face)) for face in faces)

    def spreads(self, strategies: list[int]) -> Floats:
        """[compositions] largest payoff difference among some strategies when nobody plays others.

        nan if fewer than two of the payoffs are measured.
        """
        game = self.restricted(strategies)
        table = game.table if game.fitted is None else np.where(game.fitted, np.nan, game.table)
        is_known = np.count_nonzero(~np.isnan(table), axis=1) > 1
        low, high = np.where(np.isnan(table), np.inf, table), np.where(np.isnan(table), -np.inf, table)
        return np.where(is_known, high.max(axis=1, initial=-np.inf) - low.min(axis=1, initial=np.inf), np.nan)

    def rows_of(self, strategies: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
        """The rows of the table in which all others play one of these strategies."""
        return np.flatnonzero(np.delete(self.others, strategies, axis=1).sum(axis=1) == 0)

    def is_measured(self, mix: Floats) -> bool:
        """Whether all payoffs against the mix were measured."""
        return self.fitted is None or not self.fitted[self.rows_of(np.flatnonzero(mix))].any()

    def _different(self, mixes: Iterable[Floats]) -> list[Floats]:
        """The distinct equilibria among some mixes; small shares are set to 0."""
        distinct: list[Floats] = []
        for mix in mixes:
            rounded = np.where(mix < SAME, 0.0, mix)
            rounded /= rounded.sum()
            is_new = all(np.abs(rounded - other).max() > SAME for other in distinct)
            if is_new and self.regret(mix) <= TOLERANCE * self.scale and not self._is_neutral(np.flatnonzero(rounded)):
                distinct.append(rounded)
        return distinct

    def _is_neutral(self, support: Iterable[int]) -> bool:
        """Whether the support is two or more strategies of a neutral face."""
        names = {self.names[strategy] for strategy in support}
        return len(names) > 1 and any(names <= set(face) for face in self.neutral_faces)

    def _of_size(self, size: int) -> Iterator[Floats]:
        """Candidate equilibria that mix `size` strategies."""
        for support in combinations(range(len(self.names)), size):
            if not self._is_neutral(support):
                yield from self._indifferent(list(support))

    def _indifferent(self, support: list[int]) -> Iterator[Floats]:
        """Mixes with exactly this support in which all its strategies have the same payoff."""
        if len(support) == 1:
            yield np.eye(len(self.names))[support[0]]
        elif len(support) == 2:
            yield from self._roots(*support)
        else:
            yield from self._searched(support, self._starts(len(support)))

    def _starts(self, size: int) -> Iterator[Floats]:
        """Where the search for mixes of three or more strategies starts: shares of all but the last."""
        if self.players == 2:
            yield np.full(size - 1, 1 / size)
        elif size <= 4:
            yield from ((np.array(counts[:-1]) + 1) / 8 for counts in compositions(8 - size, size))
        else:  # the center, and half-way to every strategy
            yield from ((np.eye(size + 1)[at][:-2] + 1 / size) / (1 + (at < size)) for at in range(size + 1))

    def _roots(self, one: int, two: int) -> Iterator[Floats]:
        """Mixes of two strategies: the roots in (0, 1) of a polynomial in the share of the first."""
        game = self.restricted([one, two])
        difference = Polynomial([0.0])
        weights = game._weighted[:, 0] - game._weighted[:, 1]
        for (count, rest), weight in zip(game.others.tolist(), weights.tolist(), strict=True):
            difference += weight * Polynomial([0.0, 1.0]) ** count * Polynomial([1.0, -1.0]) ** rest
        if np.abs(difference.coef).max() <= TOLERANCE * self.scale:
            return
        roots: list[complex] = np.asarray(difference.trim(TOLERANCE * self.scale).roots(), dtype=complex).tolist()
        for root in roots:
            if abs(root.imag) < 1e-7 and 0 < root.real < 1:
                mix = np.zeros(len(self.names))
                mix[[one, two]] = root.real, 1 - root.real
                yield mix

    def _searched(self, support: list[int], starts: Iterable[Floats]) -> Iterator[Floats]:
        """Isolated mixes of three or more strategies; each start is [strategies - 1] shares of all but the last."""
        from scipy.optimize import root

        game = self.restricted(support)

        def differences(free: Floats) -> Floats:
            paid = game.payoffs(np.append(free, 1 - free.sum()))
            return paid[:-1] - paid[-1]

        for start in starts:
            solved = root(differences, start, tol=1e-13)
            shares = np.append(solved.x, 1 - solved.x.sum())
            is_found = np.abs(solved.fun).max() <= TOLERANCE * self.scale and shares.min() > 0
            if is_found and _is_regular(differences, solved.x, self.scale):
                mix = np.zeros(len(self.names))
                mix[support] = shares
                yield mix

    def restricted(self, strategies: list[int]) -> SymmetricGame:
        """The game restricted to these strategies."""
        rows = np.ix_(self.rows_of(strategies), np.array(strategies))
        names = tuple(self.names[strategy] for strategy in strategies)
        return SymmetricGame(names, self.players, self.table[rows], None if self.fitted is None else self.fitted[rows])

    def _equilibrium(self, mix: Floats) -> SymmetricEquilibrium:
        gains = self.gains(mix)
        return SymmetricEquilibrium(
            dict(zip(self.names, mix.tolist(), strict=True)),
            float(mix @ self.payoffs(mix)),
            dict(zip(self.names, np.where(mix > 0, 0.0, gains).tolist(), strict=True)),
            self._is_stable(mix) if self.is_measured(mix) else None,
        )

    def _is_stable(self, mix: Floats) -> bool:
        """Local stability: eigenvalues of the replicator dynamics at a rest point, on the simplex."""
        inside = np.flatnonzero(mix)
        outside = np.delete(np.arange(len(mix)), inside)
        edge = -TOLERANCE * self.scale
        if (self.gains(mix)[outside] >= edge).any():
            return False
        step = 1e-6
        shifts = [np.eye(len(mix))[i] - np.eye(len(mix))[inside[-1]] for i in inside[:-1]]
        flows = [self._flow(mix + step * shift) - self._flow(mix - step * shift) for shift in shifts]
        if not flows:
            return True
        jacobian = np.array(flows)[:, inside[:-1]].T / (2 * step)
        return bool(np.linalg.eigvals(jacobian).real.max() < -1e-7 * self.scale)

    def _flow(self, mix: Floats) -> Floats:
        return mix * self.gains(mix)


def _is_regular(differences: Callable[[Floats], Floats], point: Floats, scale: float) -> bool:
    """Whether the Jacobian of the differences is regular at a root, so that the root is isolated."""
    step = 1e-6
    shifts = step * np.eye(len(point))
    columns = [(differences(point + shift) - differences(point - shift)) / (2 * step) for shift in shifts]
    return bool(np.linalg.svd(np.array(columns), compute_uv=False).min() > 1e-6 * scale)


def _filled(others: NDArray[np.int64], column: Floats) -> Floats:
    """A column of payoffs with unknown payoffs fitted. `others` omits the own strategy's count (the fit's origin)."""
    terms = np.column_stack([np.ones(len(others)), others])
    known = ~np.isnan(column)
    if known.all():
        return column
    fit = np.linalg.lstsq(terms[known], column[known], rcond=None)[0]
    return np.where(known, column, terms @ fit)
