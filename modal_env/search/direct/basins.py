"""Random starts of large populations of all direct agents of depth up to 2, and where they end."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from modal_env.checks import Number, choice, seed_of, whole
from modal_env.dynamics.basins import integrate
from modal_env.dynamics.noisy import REST as SETTLED
from modal_env.dynamics.noisy import STEP, NoisyBasins
from modal_env.games.game import check_epsilon
from modal_env.games.payoffs import PAYOFFS, PayoffTable, as_table
from modal_env.progress import Report, no_report, part
from modal_env.search.direct.dynamics import (
    Payments,
    checked,
    moved,
    names,
    payments,
    slopes,
    split,
    target,
)
from modal_env.search.direct.equal import EQUAL
from modal_env.search.direct.mixes import (
    COUNT,
    DEPTH,
    ENTRIES,
    NEVER,
    SHALLOW,
    Bools,
    Floats,
    Mixes,
    best_payoffs,
    blocks,
    mixes,
    paid_by_outcome,
)

REST = 1e-9
"""At rest under replicator dynamics: nobody in the class is paid more than the mean by more than this."""
MAX_STARTS = 100_000
TOLERANCE = 1e-6  # error of a logarithm in one step
_CHUNK = 256  # starts followed together; results do not depend on it
_CHECKED = 50  # revisions between two tests for rest


@dataclass(frozen=True, eq=False)
class DirectBasins(NoisyBasins):
    """The final states of random starts, see `NoisyBasins`; the agents are those of `direct_course`.

    Attributes:
        cooperation: [starts] the share of pairs that both cooperate in the end.
    """

    cooperation: Floats


def direct_basins(
    epsilon: Number,
    rule: str = "replicator",
    *,
    noise: float = 0.1,
    start: str = "agents",
    starts: int = 1000,
    seed: int = 0,
    time: float = 10_000.0,
    payoffs: str | PayoffTable = PAYOFFS,
    report: Report = no_report,
) -> DirectBasins:
    """Follow random starts of all direct agents of depth up to 2 until they are at rest.

    At rest: no agent of the class is paid more than the mean by more than `REST`, or an agent of depth 0 provably takes
    over (replicator); shares change at most at the rate `noisy.REST` (revisions).

    Random starts: every agent of depth up to 1 has an exponentially distributed weight, and so has, with "depths",
    every depth. The weights of agents of depth 2 are lognormal: exp of the sum of four normal potentials with standard
    deviation 1/2 each. (Independent weights of two million agents would average out to equal shares.)

    Args:
        epsilon, rule, noise, start, payoffs, report: as of `direct_course`.
        starts: number of starts.
        seed: of the random starts.
        time: after which a start that is not at rest counts as moving.

    Raises:
        GameError: as `direct_course`; a number of starts or a seed out of bounds.
    """
    paid, (level, until) = payments(epsilon, payoffs), checked(rule, noise, time)
    count = whole("starts", starts, 1, MAX_STARTS)
    begun = random_weights(start, count, np.random.default_rng(seed_of(seed)))
    parts = []
    for first in range(0, count, _CHUNK):
        some = begun[:, first : first + _CHUNK]
        inner = part(report, first / count, min(1.0, (first + _CHUNK) / count))
        if rule == "replicator":
            parts.append(_replicator_ends(paid, ConstantAgents.of(epsilon, payoffs), some, until, inner))
        else:
            parts.append(_revision_ends(paid, mixes(*split(some)), rule, level, until, inner))
    groups, both, is_rest = (np.concatenate(each, axis=-1) for each in zip(*parts, strict=True))
    return _counted(groups.T, both, is_rest)


def random_weights(start: str, starts: int, rng: np.random.Generator) -> Floats:
    """[entries + 16, starts] logarithms of the weights of random starts, see `direct_basins`.

    Raises:
        GameError: an unknown start.
    """
    choice("start", start, EQUAL)
    potentials = rng.standard_normal((ENTRIES, starts)) / 2
    deep = mixes(potentials, np.full((SHALLOW, starts), 4 * NEVER)).log_sums
    own = np.log(rng.standard_exponential((SHALLOW, starts)))
    if start == "agents":
        return np.vstack([potentials, own + deep - np.log(COUNT - SHALLOW)])
    depths = np.log(rng.standard_exponential((DEPTH + 1, starts)))
    for depth in range(DEPTH):
        here = blocks().depths == depth
        own[here] += depths[depth] - depths[DEPTH] + deep - np.log(np.exp(own[here]).sum(axis=0))
    return np.vstack([potentials, own])


@dataclass(frozen=True)
class ConstantAgents:
    """The agents of depth 0 that are strict equilibria: they take over if their share is large.

    Attributes:
        places: of these agents in `Blocks.shallow`.
        losses: what the other agent of depth 0 loses against each.
        price: of a level of depth.
        spread: the largest payoff less the smallest.
    """

    places: tuple[int, ...]
    losses: tuple[float, ...]
    price: float
    spread: float

    @classmethod
    def of(cls, epsilon: Number, payoffs: str | PayoffTable) -> ConstantAgents:
        """Those of a game."""
        paid = paid_by_outcome(as_table(payoffs))
        both = np.flatnonzero(blocks().depths == 0).tolist()
        moves = [int(blocks().shallow[place] & 1) for place in both]
        losses = [float(paid[3 * move] - paid[2 - move]) for move in moves]
        strict = [(place, loss) for place, loss in zip(both, losses, strict=True) if loss > 0]
        places, losses = [place for place, _ in strict], [loss for _, loss in strict]
        return cls(tuple(places), tuple(losses), float(check_epsilon(epsilon)), float(np.ptp(paid)))

    def winners(self, mix: Mixes) -> NDArray[np.int64]:
        """[N] the place of the one that is sure to take over under replicator dynamics; -1 if that is not known.

        Let x be its share. Against it, an agent of depth d >= 1 is paid less by d times the price at least, and against
        others more by the spread at most, less d times the price. So the agent's ratio to x falls if spread (1 - x) <
        price. The other agent of depth 0 falls if spread (1 - x) < x loss. If both hold, x rises, and they still hold.
        """
        found = np.full(mix.shallow.shape[1], -1)
        for place, loss in zip(self.places, self.losses, strict=True):
            share = mix.shallow[place]
            found[self.spread * (1 - share) < np.minimum(self.price, share * loss)] = place
        return found


Ends = tuple[Floats, Floats, Bools]
"""[18, starts] final shares, [starts] cooperation, and whether the start is at rest."""


def _replicator_ends(paid: Payments, constants: ConstantAgents, begun: Floats, time: float, report: Report) -> Ends:
    """Each start until it is at rest or the time is up."""
    count = begun.shape[1]
    groups, both, is_rest = np.empty((len(names()), count)), np.empty(count), np.zeros(count, np.bool_)

    def stops(going: NDArray[np.int64], logs: Floats, rates: Floats, clock: Floats) -> Bools:
        mix = mixes(*split(logs))
        winners = constants.winners(mix)
        is_rest[going] = (best_payoffs(*split(rates)) <= REST) | (winners >= 0)
        is_over = is_rest[going] | (clock >= time)
        ended, won = going[is_over], winners[is_over]
        groups[:, ended], both[ended] = mix.groups[:, is_over], mix.cooperation[is_over]
        for place in constants.places:  # what the winner tends to
            groups[:, ended[won == place]] = np.eye(len(groups))[:, [place]]
            both[ended[won == place]] = blocks().shallow[place] & 1
        report(1 - (1 - np.minimum(clock[~is_over] / time, 1)).sum() / count)
        return is_over

    integrate(lambda logs, going: slopes(paid, logs), begun, stops, TOLERANCE)
    return groups, both, is_rest


def _revision_ends(paid: Payments, mix: Mixes, rule: str, noise: float, time: float, report: Report) -> Ends:
    """Each start until it is at rest or the time is up."""
    going = np.arange(mix.shallow.shape[1])
    groups, both, is_rest = np.empty((len(names()), len(going))), np.empty(len(going)), np.zeros(len(going), np.bool_)
    clock = 0.0
    while len(going):
        for _ in range(_CHECKED):
            mix = moved(mix, target(paid, mix, rule, noise))
        clock += _CHECKED * STEP
        speeds = np.abs(target(paid, mix, rule, noise).entries - mix.entries).max(axis=0)
        is_over = (speeds <= SETTLED) | (clock >= time)
        ended = going[is_over]
        groups[:, ended], both[ended] = mix.groups[:, is_over], mix.cooperation[is_over]
        is_rest[ended] = speeds[is_over] <= SETTLED
        going, mix = going[~is_over], Mixes(*(each[..., ~is_over] for each in (mix.entries, mix.shallow, mix.log_sums)))
        report(1 - len(going) / len(both) * (1 - min(clock / time, 1)))
    return groups, both, is_rest


def _counted(groups: Floats, both: Floats, is_rest: Bools) -> DirectBasins:
    """The result, from [starts, 18] final shares."""
    largest = groups[is_rest].argmax(axis=1)
    ends = {name: int((largest == place).sum()) for place, name in enumerate(names())}
    points, times = np.unique(groups[is_rest].round(3) + 0.0, axis=0, return_counts=True)
    rests = tuple(tuple(points[place].tolist()) for place in np.argsort(-times, kind="stable"))
    return DirectBasins(len(both), ends, int((~is_rest).sum()), rests, both)
