"""Symmetric games whose payoffs are means over samples, with bootstrap intervals of the analysis.

Equilibria of the mean payoffs are recomputed for bootstrap resamples of the samples (`RESAMPLES`) to get intervals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from evaluation.measures.intervals import FEWEST_GAMES, Estimate, mean_estimates, plain, resampled_bounds
from evaluation.measures.symmetric_game import (
    TOLERANCE,
    Counts,
    Floats,
    GameTableError,
    SymmetricEquilibrium,
    SymmetricGame,
)

RESAMPLES = 200


@dataclass(frozen=True)
class SampledEquilibrium(SymmetricEquilibrium):
    """An equilibrium of the mean payoffs.

    Attributes:
        held: fraction of the resampled games that have an equilibrium with the same support.
        shares: strategy in the mix -> share, with its interval over the resampled games in which a mix of these
            strategies equalizes their payoffs.
        gain_estimates: strategy -> gain of a single player who deviates to it, with its interval over samples.
    """

    held: float
    shares: dict[str, Estimate]
    gain_estimates: dict[str, Estimate]

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        estimates = plain({"gains": self.gain_estimates, "shares": self.shares})
        return super().to_dict() | estimates | {"held": None if np.isnan(self.held) else self.held}


@dataclass(frozen=True, eq=False)
class SampledGame:
    """A symmetric game estimated from samples.

    Attributes:
        game: the game with the mean payoffs.
        tables: [samples, compositions, strategies] payoffs in each sample.
        seed: seed of the intervals.
    """

    game: SymmetricGame
    tables: Floats
    seed: int

    @classmethod
    def of(cls, names: Sequence[str], samples: Sequence[Mapping[Counts, Sequence[float]]], seed: int) -> SampledGame:
        """Build from the payoffs of each sample, as for `SymmetricGame.of`, with the same payoffs known in all samples.

        Raises:
            GameTableError: as `SymmetricGame.of`, or there are no samples.
        """
        if not samples:
            raise GameTableError("a sampled game needs one sample or more")
        games = [SymmetricGame.of(names, sample) for sample in samples]
        tables = np.array([game.table for game in games])
        first = games[0]
        return cls(SymmetricGame(first.names, first.players, tables.mean(axis=0), first.fitted), tables, seed)

    @property
    def samples(self) -> int:
        """Number of samples."""
        return len(self.tables)

    @cached_property
    def resampled(self) -> Floats:
        """[RESAMPLES, compositions, strategies] mean payoffs of samples drawn with replacement.

        Strategies that tie in every mix (`neutral_faces`) tie by the rules of the game, even if a resample favors the
        seats of one of them; their payoffs are replaced by their mean.
        """
        rng = np.random.default_rng([self.seed, 1])
        drawn = rng.multinomial(self.samples, np.full(self.samples, 1 / self.samples), size=RESAMPLES)
        tables = np.tensordot(drawn / self.samples, self.tables, axes=1)
        for face in self.game.neutral_faces:
            strategies = np.array([self.game.names.index(name) for name in face])
            rows = self.game.rows_of(strategies)[:, None]
            tables[:, rows, strategies] = tables[:, rows, strategies].mean(axis=2, keepdims=True)
        return tables

    @cached_property
    def _resampled_games(self) -> list[SymmetricGame]:
        game = self.game
        return [SymmetricGame(game.names, game.players, table, game.fitted) for table in self.resampled]

    @cached_property
    def equilibria(self) -> tuple[SampledEquilibrium, ...]:
        """Equilibria of the mean payoffs, each with its estimates from the resampled games."""
        return tuple(self._followed(equilibrium) for equilibrium in self.game.equilibria)

    @cached_property
    def invasion(self) -> dict[tuple[str, str], Estimate]:
        """(resident, mutant) -> payoff of a single mutant among residents, minus that of a resident among residents.

        With intervals over samples. Pairs with fitted payoffs are left out.
        """
        names, pure = self.game.names, np.eye(len(self.game.names))
        gains = np.array([self._gains(table, pure) for table in self.tables])
        columns = {}
        for at, resident in enumerate(names):
            row = self.game.others[:, at] == self.game.players - 1
            fitted = np.zeros(len(names)) if self.game.fitted is None else self.game.fitted[row][0]
            for of, mutant in enumerate(names):
                if of != at and not fitted[of]:
                    columns[resident, mutant] = gains[:, at, of]
        return mean_estimates(columns, self.seed)

    def _gains(self, table: Floats, mix: Floats) -> Floats:
        return SymmetricGame(self.game.names, self.game.players, table).gains(mix)

    @property
    def _has_intervals(self) -> bool:
        return self.samples >= FEWEST_GAMES

    def _estimate(self, value: float, resampled: Sequence[float]) -> Estimate:
        """A value with its interval over resampled games."""
        if not len(resampled) or not self._has_intervals:
            return Estimate(value, np.nan, np.nan, self.samples, ())
        low, high = resampled_bounds(resampled, self.samples).tolist()
        return Estimate(value, min(low, value), max(high, value), self.samples, ())

    def _followed(self, equilibrium: SymmetricEquilibrium) -> SampledEquilibrium:
        """An equilibrium with its estimates from the resampled games."""
        mix = np.array(list(equilibrium.mix.values()))
        games = self._resampled_games if self._has_intervals else []
        near = [(game, found) for game in games if (found := game.near(mix)) is not None]
        # Strategies outside the mix that tie exactly do so by the rules of the game; in resamples they may gain.
        rivals = np.array(list(equilibrium.gains.values())) < -TOLERANCE * self.game.scale
        held = [bool((game.gains(found)[rivals] <= TOLERANCE * game.scale).all()) for game, found in near]
        by_sample = np.array([self._gains(table, mix) for table in self.tables])
        return SampledEquilibrium(
            equilibrium.mix,
            equilibrium.payoff,
            equilibrium.gains,
            equilibrium.is_stable,
            sum(held) / len(games) if games else np.nan,
            {
                name: self._estimate(share, [found[at] for _, found in near])
                for at, (name, share) in enumerate(equilibrium.mix.items())
                if share
            },
            mean_estimates(dict(zip(self.game.names, by_sample.T, strict=True)), self.seed),
        )
