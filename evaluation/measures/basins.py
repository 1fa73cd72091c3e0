"""Rest points of the replicator dynamics of symmetric games, and their basins: the fraction of starts that lead there.

Starts are uniform over all mixes (Dirichlet with all parameters 1). The growth rate of a share is its strategy's payoff
minus the mean payoff (Taylor and Jonker, "Evolutionarily stable strategies and game dynamics", 1978). All starts are
integrated together in the logarithms of the shares (`modal_env.dynamics.basins`).

Where strategies tie, all mixes of them are at rest. End states connected by mixes at rest count as one rest point,
which lists the strategies whose shares vary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.measures.intervals import FEWEST_GAMES, Estimate, plain, resampled_bounds
from evaluation.measures.symmetric_game import Bools, Floats, GameTableError, SymmetricGame
from modal_env.dynamics.basins import EVALUATIONS, integrate, wilson
from modal_env.dynamics.populations import shares_of
from welfare_env import checks

STARTS = 500
MOST_STARTS = 10**6
STEPS = 500
"""Maximum number of integration steps; a start that moves afterwards counts as not settled."""
ERROR = 1e-5
"""Tolerated error of the logarithms of shares per step."""
RESTING, INVADING = 1e-6, 1e-4
"""At rest, shares change at most at the first rate, and no strategy gains more than the second."""
PRESENT = 0.005
"""Strategies with smaller shares do not count as part of a rest point."""
NEAR = 0.02
"""End states closer than this (total variation distance) are the same."""
WORK, LEAST_STARTS, LEAST_RESAMPLES = 3e8, 20, 50
"""For the intervals: maximum number of composition probabilities, and minimum numbers of starts and of resamples."""
OVERHEAD = 50  # cost of a step, in composition probabilities
CHUNK = 2_000_000  # composition probabilities in memory at a time


@dataclass(frozen=True)
class RestPoint:
    """A rest point of the replicator dynamics, or a connected set of rest points.

    Attributes:
        mix: strategy -> share; the mean over the starts that lead there.
        basin: fraction of the starts that lead there, with its interval over starts and, if the payoffs are means over
            samples, also over samples.
        is_settled: whether the shares have stopped moving; otherwise the dynamics cycle or are slow, and `mix` is the
            mean of the last states.
        varying: the strategies whose shares depend on the start; empty for an isolated rest point.
        shares: strategy in the mix -> share, with its interval over samples; empty if any share varies or has not
            stopped moving.
    """

    mix: dict[str, float]
    basin: Estimate
    is_settled: bool
    varying: tuple[str, ...] = ()
    shares: dict[str, Estimate] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        return dict(plain(vars(self)))


@dataclass(frozen=True)
class Ends:
    """End states of the dynamics.

    Attributes:
        shares: [starts, strategies] final shares.
        is_settled: [starts] whether the end state is at rest.
        work: number of composition probabilities computed.
    """

    shares: Floats
    is_settled: Bools
    work: int


def rest_points(
    game: SymmetricGame,
    rng: np.random.Generator | int = 0,
    *,
    starts: int = STARTS,
    resampled: Floats | None = None,
    samples: int = 1,
) -> tuple[RestPoint, ...]:
    """Rest points that random starts lead to, largest basin first.

    Args:
        rng: draws the starts.
        starts: number of starts.
        resampled: [resamples, compositions, strategies] payoff tables from resampled samples, for the intervals; None
            if the payoffs are exact.
        samples: number of samples. Intervals need at least five.

    Raises:
        GameTableError: the number of starts is out of range.
    """
    checks.whole("starts", starts, 1, MOST_STARTS, GameTableError)
    rng = np.random.default_rng(rng)
    begun = rng.dirichlet(np.ones(len(game.names)), size=starts)
    ends = ends_of(game, game.table[None], begun)
    groups = _groups(game, ends)
    kinds = [_Kind.of(ends, group) for group in groups]
    counts = [len(group) for group in groups]
    shares = [np.empty((0, len(game.names)))] * len(groups)
    if resampled is None:
        bounds = np.array([wilson(count, starts) for count in counts])
    elif samples < FEWEST_GAMES:
        bounds = np.full((len(groups), 2), np.nan)
    else:
        bounds, shares = _of_samples(game, begun, kinds, resampled, ends.work, rng, samples)
    basins = [
        Estimate(at / starts, *_around(at / starts, bound), samples, ())
        for at, bound in zip(counts, bounds, strict=True)
    ]
    points = [kind.point(game.names, basin, each) for kind, basin, each in zip(kinds, basins, shares, strict=True)]
    return tuple(sorted(points, key=lambda point: -point.basin.value))


def ends_of(game: SymmetricGame, tables: Floats, starts: Floats) -> Ends:
    """End states of the dynamics from each start in each table.

    Args:
        game: provides the compositions; its own table is not used.
        tables: [tables, compositions, strategies] payoffs.
        starts: [starts, strategies] positive shares.

    Returns:
        End states of all tables and starts, table by table.
    """
    spread = np.ptp(tables, axis=(1, 2), keepdims=True)
    tables = tables / np.where(spread > 0, spread, 1.0)
    a_chunk = max(1, CHUNK // (len(starts) * len(game.others)))
    parts = [_integrated(game, tables[first : first + a_chunk], starts) for first in range(0, len(tables), a_chunk)]
    return Ends(
        np.concatenate([part.shares for part in parts]),
        np.concatenate([part.is_settled for part in parts]),
        sum(part.work for part in parts),
    )


def _integrated(game: SymmetricGame, tables: Floats, starts: Floats) -> Ends:
    """`ends_of` for tables normalized to a spread of 1."""
    others, log_ways = game.others.astype(np.float64), np.log(game.ways)[:, None]
    logs = np.tile(np.log(starts).T, len(tables))
    table_of = np.repeat(np.arange(len(tables)), len(starts))
    ends, is_settled = np.empty(logs.shape), np.zeros(logs.shape[1], dtype=np.bool_)
    calls = work = 0

    def slopes_of(logs: Floats, going: NDArray[np.int64]) -> Floats:
        chances = np.exp(others @ np.log(np.maximum(shares_of(logs), 1e-300)) + log_ways)
        first = np.searchsorted(table_of[going], np.arange(len(tables) + 1))
        paid = np.empty(logs.shape)
        for table, (begin, end) in enumerate(pairwise(first)):
            paid[:, begin:end] = tables[table].T @ chances[:, begin:end]
        return paid - paid[0]

    def stops(going: NDArray[np.int64], logs: Floats, slopes: Floats, clock: Floats) -> Bools:
        nonlocal calls, work
        shares = shares_of(logs)
        gains = slopes - (shares * slopes).sum(axis=0)  # slopes of logarithms, up to a constant
        is_slow = np.abs(shares * gains).max(axis=0) <= RESTING
        is_settled[going] = rests = is_slow & (gains.max(axis=0) <= INVADING)
        ends[:, going] = shares
        work += EVALUATIONS * int((~rests).sum()) * (len(others) + OVERHEAD)
        calls += 1
        return np.asarray(rests | (calls > STEPS))

    integrate(slopes_of, logs, stops, ERROR)
    return Ends(ends.T.copy(), is_settled, work)


def _groups(game: SymmetricGame, ends: Ends) -> list[NDArray[np.int64]]:
    """The starts that lead to each rest point; starts that have not settled form the last group."""
    groups = []
    left = np.flatnonzero(ends.is_settled)
    for face in game.neutral_faces:
        outside = [strategy for strategy, name in enumerate(game.names) if name not in face]
        is_there = (ends.shares[left][:, outside] < PRESENT).all(axis=1)
        groups.append(left[is_there])
        left = left[~is_there]
    while len(left):
        one, all_left = ends.shares[left[0]], ends.shares[left]
        is_same = np.abs(all_left - one).sum(axis=1) / 2 < NEAR
        is_between = np.all([_is_rest(game, part * one + (1 - part) * all_left) for part in (0.25, 0.5, 0.75)], axis=0)
        groups.append(left[is_same | is_between])
        left = left[~(is_same | is_between)]
    return [group for group in (*groups, np.flatnonzero(~ends.is_settled)) if len(group)]


def _is_rest(game: SymmetricGame, mixes: Floats) -> Bools:
    """[mixes] whether a mix is at rest, with a larger tolerance than for end states."""
    speeds = np.abs(mixes * game.gains(mixes)).max(axis=1)
    return np.asarray(speeds <= 100 * RESTING * game.scale)


@dataclass(frozen=True)
class _Kind:
    """The pattern of a group of end states: which strategies are present, and which shares vary."""

    mean: Floats
    present: Bools
    varying: Bools
    is_settled: bool

    @classmethod
    def of(cls, ends: Ends, group: NDArray[np.int64]) -> _Kind:
        shares, is_settled = ends.shares[group], bool(ends.is_settled[group].all())
        varying = np.logical_and(np.ptp(shares, axis=0) > 2 * NEAR, is_settled)
        return cls(shares.mean(axis=0), np.asarray((shares >= PRESENT).any(axis=0)), np.asarray(varying), is_settled)

    def distances(self, ends: Ends) -> Floats:
        """[ends] distance of each end state; infinite if its pattern differs (other strategies, or not settled)."""
        present = ends.shares >= PRESENT
        if self.varying.any():
            is_alike = ~(present & ~self.present).any(axis=1)
        elif self.is_settled:
            is_alike = (present == self.present).all(axis=1) & ends.is_settled
        else:
            is_alike = ~ends.is_settled
        return np.where(is_alike, np.abs(ends.shares - self.mean).sum(axis=1), np.inf)

    def point(self, names: Sequence[str], basin: Estimate, resampled: Floats) -> RestPoint:
        """The rest point, given its mean shares in resampled games, [resamples, strategies]."""
        shares = {}
        if self.is_settled and not self.varying.any():
            for at in np.flatnonzero(self.present).tolist():
                bounds = resampled_bounds(resampled[:, at], basin.n) if len(resampled) else (np.nan, np.nan)
                value = float(self.mean[at])
                shares[names[at]] = Estimate(value, *_around(value, bounds), basin.n, ())
        varying = tuple(names[at] for at in np.flatnonzero(self.varying).tolist())
        return RestPoint(dict(zip(names, self.mean.tolist(), strict=True)), basin, self.is_settled, varying, shares)


def _around(value: float, bounds: Sequence[float] | Floats) -> tuple[float, float]:
    """The bounds, widened to include the value."""
    low, high = map(float, bounds)
    return min(low, value), max(high, value)


def _of_samples(
    game: SymmetricGame,
    begun: Floats,
    kinds: Sequence[_Kind],
    resampled: Floats,
    work: int,
    rng: np.random.Generator,
    samples: int,
) -> tuple[Floats, list[Floats]]:
    """[rest points, 2] intervals of basins over resampled games and starts, and the shares in each resampled game."""
    # All resampled games use the same starts, and each basin is drawn from the Jeffreys posterior of its count of
    # starts, so the quantiles include the uncertainty from samples and from starts, once each.
    allowed = int(WORK * len(begun) / max(1, work))  # number of starts in all games together
    resampled = resampled[: max(LEAST_RESAMPLES, allowed // LEAST_STARTS)]
    starts = min(len(begun), max(LEAST_STARTS, allowed // len(resampled)))
    ends = ends_of(game, resampled, begun[:starts])
    distances = np.array([kind.distances(ends) for kind in kinds])
    nearest = np.where(np.isfinite(distances.min(axis=0)), distances.argmin(axis=0), -1).reshape(-1, starts)
    shares = ends.shares.reshape(len(resampled), starts, -1)
    bounds, of_kinds = [], []
    for number in range(len(kinds)):
        is_there = nearest == number
        counts = is_there.sum(axis=1)
        drawn = rng.beta(counts + 0.5, starts - counts + 0.5)
        bounds.append(resampled_bounds(drawn, samples))
        found = counts > 0
        of_kinds.append((shares * is_there[:, :, None]).sum(axis=1)[found] / counts[found, None])
    return np.array(bounds), of_kinds
