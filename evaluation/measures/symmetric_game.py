"""Symmetric games of n players and a few strategies, with payoffs from samples, and their symmetric Nash equilibria.

The payoff of a strategy depends only on how many of the others play each strategy. If the payoffs are estimated from
games between policies, the game is called empirical (Wellman, "Methods for empirical game-theoretic analysis", AAAI
2006). Equilibria are those of the mean payoffs; their intervals come from the equilibria of bootstrap resamples.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import factorial, prod
from typing import Any

import numpy as np
from numpy.polynomial import Polynomial
from numpy.typing import NDArray

from evaluation.measures.intervals import FEWEST_GAMES, Estimate, Floats, mean_estimates, plain, resampled_bounds

Counts = tuple[int, ...]

TOLERANCE = 1e-9
"""Gains below this, relative to the spread of the payoffs, count as 0."""
SAME = 1e-6
"""Smaller shares count as 0, and mixes that differ by less as equal."""
STEP = 1e-6  # of numerical derivatives
RESAMPLES = 200


def compositions(total: int, parts: int) -> Iterator[Counts]:
    """All ways to divide `total` seats among `parts` strategies, in descending lexicographic order."""
    if parts == 1:
        yield (total,)
        return
    for first in range(total, -1, -1):
        yield from ((first, *rest) for rest in compositions(total - first, parts - 1))


@dataclass(frozen=True)
class Equilibrium:
    """A symmetric Nash equilibrium: nobody gains by deviating if all others play the mixed strategy `mix`.

    Attributes:
        mix: strategy -> share, for all strategies.
        payoff: expected payoff of a player.
        gains: strategy -> gain of a single player who deviates to it, with its interval over samples.
        shares: strategy in the mix -> share, with its interval over the resampled games in which a mix of these
            strategies equalizes their payoffs.
        held: fraction of the resampled games that have an equilibrium with the same support; nan without intervals.
        is_stable: whether the replicator dynamics return to it after a small shift towards any strategy of the game;
            False if a strategy outside the mix has exactly the same payoff. None if it depends on fitted payoffs.
    """

    mix: dict[str, float]
    payoff: float
    gains: dict[str, Estimate]
    shares: dict[str, Estimate]
    held: float
    is_stable: bool | None

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        held = None if np.isnan(self.held) else self.held
        return {**plain(vars(self)), "held": held, "is_fitted": self.is_stable is None}


@dataclass(frozen=True, eq=False)
class SymmetricGame:
    """A symmetric game, with the payoffs of each sample of its games.

    Attributes:
        names: the strategies.
        players: number of players.
        tables: [samples, compositions(players - 1, strategies), strategies] payoff of each strategy for each
            composition of the other players.
        fitted: [compositions, strategies] True for payoffs that were fitted, not measured.
        seed: seed of the intervals.
    """

    names: tuple[str, ...]
    players: int
    tables: Floats
    fitted: NDArray[np.bool_]
    seed: int = 0

    @classmethod
    def of(
        cls, names: Sequence[str], samples: Sequence[Mapping[Counts, Sequence[float]]], seed: int = 0
    ) -> SymmetricGame:
        """Build from samples: seats per strategy -> payoff of each. Missing and nan payoffs are fitted.

        The fit of a strategy's payoff is a linear function of the others' counts, by least squares over its known
        payoffs (the minimum-norm solution if it is not unique; Vorobeychik, Wellman and Singh, "Learning payoff
        functions in infinite games", Machine Learning 2007). All samples have the same known payoffs, and every
        strategy has one.
        """
        players, number = sum(next(iter(samples[0]))), len(names)
        others, missing = np.array(list(compositions(players - 1, number))), [np.nan] * number
        seats = [
            [(own, tuple(row)) for own, row in enumerate((counts + np.eye(number, dtype=int)).tolist())]
            for counts in others
        ]
        tables = np.array(
            [[[sample.get(row, missing)[own] for own, row in each] for each in seats] for sample in samples]
        )
        fitted = np.isnan(tables[0])
        for own in range(number):
            terms = np.column_stack([np.ones(len(others)), np.delete(others, own, axis=1)])
            known = ~fitted[:, own]
            fit = np.linalg.lstsq(terms[known], tables[:, known, own].T, rcond=None)[0]
            tables[:, ~known, own] = (terms[~known] @ fit).T
        return cls(tuple(names), players, tables, fitted, seed)

    @cached_property
    def table(self) -> Floats:
        """[compositions, strategies] mean payoffs over samples."""
        mean: Floats = self.tables.mean(axis=0)
        return mean

    @cached_property
    def others(self) -> NDArray[np.int64]:
        """[compositions, strategies] the other players' counts in each row of the table."""
        return np.array(list(compositions(self.players - 1, len(self.names))))

    @cached_property
    def _ways(self) -> Floats:
        """[compositions] number of seatings of the other players: multinomial coefficients."""
        ways = [factorial(self.players - 1) // prod(map(factorial, row)) for row in self.others.tolist()]
        return np.array(ways, dtype=np.float64)

    @cached_property
    def scale(self) -> float:
        """The spread of the payoffs; 1 if all are equal."""
        return float(np.ptp(self.table)) or 1.0

    def payoffs(self, mix: Floats) -> Floats:
        """[strategies] expected payoff of each strategy when all others play a mix, [strategies]."""
        return self._chances(mix) @ self.table

    def gains(self, mix: Floats) -> Floats:
        """[strategies] gain of a player who deviates from the mix to each strategy."""
        paid = self.payoffs(mix)
        return paid - mix @ paid

    def _chances(self, mix: Floats) -> Floats:
        """[compositions] the probability of each composition of the others when all play a mix."""
        return self._ways * np.prod(mix**self.others, axis=1)

    # Equilibria

    def mixes(self) -> Iterator[list[Floats]]:
        """The mixes [strategies] of the symmetric Nash equilibria: for 1, 2, ... strategies, those with this support.

        Finds all pure equilibria, and all isolated equilibria of two strategies: the roots of the payoff difference, a
        polynomial of degree players - 1 in the first share. Equilibria of more strategies are searched in every
        support, of any size, by Newton's method (scipy's `root`) from several starts: with two players the equations
        are linear, so none is missed; with more players some may be. Equilibria that are not isolated, such as those of
        `neutral_faces`, are not listed. At least one symmetric equilibrium exists (Nash, "Non-cooperative games", 1951,
        theorem 2).
        """
        found: list[Floats] = []
        for size in range(1, len(self.names) + 1):
            before = len(found)
            for support in combinations(range(len(self.names)), size):
                for mix in self._indifferent(list(support)) if not self._is_neutral(support) else ():
                    rounded = np.where(mix < SAME, 0.0, mix)
                    rounded /= rounded.sum()
                    is_new = all(np.abs(rounded - other).max() > SAME for other in found)
                    is_best = self.gains(mix).max() <= TOLERANCE * self.scale
                    if is_new and is_best and not self._is_neutral(np.flatnonzero(rounded)):
                        found.append(rounded)
            yield found[before:]

    @cached_property
    def equilibria(self) -> tuple[Equilibrium, ...]:
        """The symmetric Nash equilibria, those with fewer strategies first (see `mixes`)."""
        return tuple(self._equilibrium(mix) for found in self.mixes() for mix in found)

    def _indifferent(self, support: list[int], near: Floats | None = None) -> Iterator[Floats]:
        """Mixes with exactly this support in which all its strategies have the same payoff.

        Args:
            near: where Newton's method starts; default: at several mixes.
        """
        if len(support) == 1:
            yield np.eye(len(self.names))[support[0]]
            return
        game = self.restricted(support)
        starts = game._starts() if near is None else [near[support][:-1]]
        found = game._roots(self.scale) if len(support) == 2 else game._searched(starts, self.scale)
        for shares in found:
            mix = np.zeros(len(self.names))
            mix[support] = shares
            yield mix

    def _roots(self, scale: float) -> Iterator[Floats]:
        """Mixes of both strategies: the roots in (0, 1) of a polynomial in the share of the first."""
        difference = Polynomial([0.0])
        weights = self._ways * (self.table[:, 0] - self.table[:, 1])
        for (count, rest), weight in zip(self.others.tolist(), weights.tolist(), strict=True):
            difference += weight * Polynomial([0.0, 1.0]) ** count * Polynomial([1.0, -1.0]) ** rest
        if np.abs(difference.coef).max() > TOLERANCE * scale:
            for root in np.asarray(difference.trim(TOLERANCE * scale).roots(), dtype=complex).tolist():
                if abs(root.imag) < 1e-7 and 0 < root.real < 1:
                    yield np.array([root.real, 1 - root.real])

    def _starts(self) -> Iterator[Floats]:
        """Where the search for mixes of all strategies starts: shares of all but the last."""
        size = len(self.names)
        if self.players == 2:
            yield np.full(size - 1, 1 / size)
        elif size <= 4:
            yield from ((np.array(counts[:-1]) + 1) / 8 for counts in compositions(8 - size, size))
        else:  # the center, and half-way to every strategy
            yield from ((np.eye(size + 1)[at][:-2] + 1 / size) / (1 + (at < size)) for at in range(size + 1))

    def _searched(self, starts: Iterable[Floats], scale: float) -> Iterator[Floats]:
        """Isolated mixes of all strategies; each start is [strategies - 1] shares of all but the last."""
        from scipy.optimize import root

        def differences(free: Floats) -> Floats:
            paid = self.payoffs(np.append(free, 1 - free.sum()))
            return paid[:-1] - paid[-1]

        for start in starts:
            solved = root(differences, start, tol=1e-13)
            shares = np.append(solved.x, 1 - solved.x.sum())
            if np.abs(solved.fun).max() > TOLERANCE * scale or shares.min() <= 0:
                continue
            shifts = STEP * np.eye(len(start))
            slopes = [(differences(solved.x + each) - differences(solved.x - each)) / (2 * STEP) for each in shifts]
            if np.linalg.svd(np.array(slopes), compute_uv=False).min() > 1e-6 * scale:  # else it is not isolated
                yield shares

    def restricted(self, strategies: Sequence[int]) -> SymmetricGame:
        """The game restricted to these strategies."""
        rows = np.ix_(self._rows_of(strategies), np.array(strategies))
        names = tuple(self.names[strategy] for strategy in strategies)
        return SymmetricGame(names, self.players, self.table[rows][None], self.fitted[rows])

    def _rows_of(self, strategies: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
        """The rows of the table in which all others play one of these strategies."""
        return np.flatnonzero(np.delete(self.others, strategies, axis=1).sum(axis=1) == 0)

    def is_stable(self, mix: Floats) -> bool | None:
        """See `Equilibrium`: by the eigenvalues of the replicator dynamics, on the simplex."""
        inside = np.flatnonzero(mix)
        if self.fitted[self._rows_of(inside)].any():
            return None
        if (np.delete(self.gains(mix), inside) >= -TOLERANCE * self.scale).any():
            return False
        shifts = [STEP * (np.eye(len(mix))[each] - np.eye(len(mix))[inside[-1]]) for each in inside[:-1]]
        flows = [self._flow(mix + shift) - self._flow(mix - shift) for shift in shifts]
        jacobian = np.array(flows).reshape(len(shifts), len(mix))[:, inside[:-1]].T / (2 * STEP)
        return bool(np.linalg.eigvals(jacobian).real.max(initial=-np.inf) < -1e-7 * self.scale)

    def _flow(self, mix: Floats) -> Floats:
        return mix * self.gains(mix)

    # Ties

    @cached_property
    def neutral_faces(self) -> tuple[tuple[str, ...], ...]:
        """The largest sets of strategies that have equal payoffs in every mix of them, to within `TOLERANCE`.

        Each such mix is a rest point of the replicator dynamics, so none of them is isolated. With fitted payoffs, only
        measured payoffs are compared, and all payoffs between every two strategies of a set must be measured.
        """
        numbers = range(len(self.names))
        pairs = {pair for pair in combinations(numbers, 2) if self._tie(pair)}
        faces: list[tuple[int, ...]] = []
        for size in range(len(self.names), 1, -1):
            for face in combinations(numbers, size):
                is_part = any(set(face) <= set(other) for other in faces)
                if not is_part and pairs.issuperset(combinations(face, 2)) and self._tie(face):
                    faces.append(face)
        return tuple(tuple(self.names[strategy] for strategy in face) for face in sorted(faces))

    def _tie(self, strategies: Sequence[int]) -> bool:
        """Whether some strategies get the same when nobody plays others, as far as measured (for two: everywhere)."""
        game = self.restricted(strategies)
        if len(strategies) == 2 and game.fitted.any():
            return False
        low, high = (np.where(game.fitted, without, game.table) for without in (np.inf, -np.inf))
        return bool((high.max(axis=1) - low.min(axis=1)).max() <= TOLERANCE * self.scale)

    def _is_neutral(self, support: Iterable[int]) -> bool:
        """Whether the support is two or more strategies of a neutral face."""
        names = {self.names[strategy] for strategy in support}
        return len(names) > 1 and any(names <= set(face) for face in self.neutral_faces)

    # What varies with the samples

    @cached_property
    def invasion(self) -> dict[tuple[str, str], Estimate]:
        """(resident, mutant) -> payoff of a single mutant among residents, minus that of a resident among residents.

        With intervals over samples. Pairs with fitted payoffs are left out.
        """
        columns = {}
        for at, resident in enumerate(self.names):
            (row,) = self._rows_of([at])
            for of, mutant in enumerate(self.names):
                if of != at and not self.fitted[row, of]:
                    columns[resident, mutant] = self.tables[:, row, of] - self.tables[:, row, at]
        return mean_estimates(columns, self.seed)

    @cached_property
    def _resampled(self) -> list[SymmetricGame]:
        """Games with the mean payoffs of samples drawn with replacement; none with too few samples for intervals.

        Strategies that tie in every mix (`neutral_faces`) tie by the rules of the game, even if a resample favors the
        seats of one of them; their payoffs are replaced by their mean.
        """
        samples = len(self.tables)
        if samples < FEWEST_GAMES:
            return []
        drawn = np.random.default_rng([self.seed, 1]).multinomial(
            samples, np.full(samples, 1 / samples), size=RESAMPLES
        )
        tables = np.tensordot(drawn / samples, self.tables, axes=1)
        for face in self.neutral_faces:
            strategies = np.array([self.names.index(name) for name in face])
            rows = self._rows_of(strategies)[:, None]
            tables[:, rows, strategies] = tables[:, rows, strategies].mean(axis=2, keepdims=True)
        return [SymmetricGame(self.names, self.players, table[None], self.fitted) for table in tables]

    def _equilibrium(self, mix: Floats) -> Equilibrium:
        """An equilibrium with its estimates from the resampled games."""
        support = np.flatnonzero(mix)
        near: list[tuple[SymmetricGame, Floats]] = []
        for game in self._resampled:
            found = game._indifferent(support.tolist(), mix)
            near += [(game, min(each, key=lambda one: np.abs(one - mix).sum())) for each in [list(found)] if each]
        # Strategies outside the mix that tie exactly do so by the rules of the game; in resamples they may gain.
        rivals = (mix == 0) & (self.gains(mix) < -TOLERANCE * self.scale)
        held = [bool((game.gains(found)[rivals] <= TOLERANCE * game.scale).all()) for game, found in near]
        paid = self._chances(mix) @ self.tables
        gains = paid - (paid @ mix)[:, None]
        return Equilibrium(
            dict(zip(self.names, mix.tolist(), strict=True)),
            float(mix @ self.payoffs(mix)),
            mean_estimates(dict(zip(self.names, gains.T, strict=True)), self.seed),
            {self.names[at]: self._share(float(mix[at]), [found[at] for _, found in near]) for at in support},
            sum(held) / len(self._resampled) if self._resampled else np.nan,
            self.is_stable(mix),
        )

    def _share(self, value: float, resampled: Sequence[float]) -> Estimate:
        """A share with its interval over resampled games."""
        samples = len(self.tables)
        if not resampled:
            return Estimate(value, np.nan, np.nan, samples, ())
        low, high = resampled_bounds(resampled, samples).tolist()
        return Estimate(value, min(low, value), max(high, value), samples, ())
