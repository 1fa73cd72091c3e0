"""Large populations of all 2,097,152 direct agents of depth up to 2: replicator dynamics, and revisions with noise.

Every agent is there from the start. A population is represented exactly by 400 numbers, see
`modal_env.search.direct.mixes`:

* "replicator": x' = x (payoff - mean payoff). Potentials grow at the rate of the payoffs' terms.
* "logit", "best-response": x' = target(x) - x, as in `modal_env.dynamics.noisy`. The target depends on the marginals m
  only, and so m' = m(target) - m.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from modal_env.checks import Number, brief, choice, real
from modal_env.dynamics.courses import Course
from modal_env.dynamics.noisy import RULES as REVISIONS
from modal_env.dynamics.noisy import STEP, checked_noise
from modal_env.errors import GameError
from modal_env.games.game import check_epsilon
from modal_env.games.payoffs import PAYOFFS, PayoffTable, as_table
from modal_env.progress import Report, no_report
from modal_env.search.direct.equal import EQUAL
from modal_env.search.direct.mixes import (
    COUNT,
    DEPTH,
    ENTRIES,
    SHALLOW,
    Floats,
    Mixes,
    best_payoffs,
    best_replies,
    blocks,
    mixes,
    paid_by_outcome,
)
from modal_env.search.direct_agents import codes_up_to, shallow_names

RULES = ("replicator", *REVISIONS)
POINTS = 400  # times of a course
WITHIN = 8  # and times in each step of an integration, since cooperation may collapse for a moment
MAX_TIME = 1e7
_FIRST = 0.01  # time of a course after 0
_TOLERANCE = 1e-10
_TIE = 1e-12


@dataclass(frozen=True)
class Payments:
    """What agents are paid, less twice the price: so the price of an agent of depth 2 does not occur.

    Attributes:
        matrix: [entries, entries] the term of the payoff of agents with the first entry against the second.
        saved: [16] the price that each agent of depth up to 1 saves.
    """

    matrix: Floats
    saved: Floats

    def terms(self, mix: Mixes) -> tuple[Floats, Floats]:
        """[entries, N] the terms of the payoffs of agents of depth 2, and [16, N] the payoffs of the others."""
        values = self.matrix @ mix.entries
        return values, blocks().has @ values + self.saved[:, None]

    def mean(self, mix: Mixes, values: Floats) -> Floats:
        """[N] the mean payoff."""
        return np.asarray((mix.entries * values).sum(axis=0) + self.saved @ mix.shallow)

    def gains(self, mix: Mixes) -> Floats:
        """[N] how much more than the mean the best reply is paid."""
        values, own = self.terms(mix)
        return best_payoffs(values, own) - self.mean(mix, values)


def payments(epsilon: Number, payoffs: str | PayoffTable = PAYOFFS) -> Payments:
    """The payments of a game, both seats equally often.

    Raises:
        GameError: a price out of bounds, an unknown game.
    """
    price, paid = float(check_epsilon(epsilon)), paid_by_outcome(as_table(payoffs))
    saved: Floats = price * (DEPTH - blocks().depths).astype(np.float64)
    return Payments(np.tensordot(paid, blocks().outcomes, 1), saved)


def names() -> tuple[str, ...]:
    """[18] the agents of depth up to 1, and the two groups of the others."""
    known = shallow_names()
    return (*(known[code] for code in codes_up_to(1, 1)), f"depth {DEPTH}, CC", f"depth {DEPTH}, DD")


def direct_course(
    epsilon: Number,
    rule: str = "replicator",
    *,
    noise: float = 0.1,
    start: str = "agents",
    time: float = 1000.0,
    payoffs: str | PayoffTable = PAYOFFS,
    report: Report = no_report,
) -> Course:
    """Follow a population of all direct agents of depth up to 2 from equal shares.

    Args:
        epsilon: price of a level of depth.
        rule: one of `RULES`.
        noise: of logit and best response, see `modal_env.dynamics.noisy`.
        start: "agents": equal shares of all agents; "depths": of all depths, and of the agents of each depth.
        time: duration.
        payoffs: a game, see `modal_env.games.payoffs.as_table`; in an asymmetric one everyone has each seat equally
            often.
        report: see `modal_env.progress`.

    Returns:
        The shares of the 16 agents of depth up to 1; of "depth 2, CC", those of depth 2 that cooperate with themselves;
        and of "depth 2, DD", the others of depth 2.

    Raises:
        GameError: an argument out of bounds; an unknown rule, start or game.
    """
    paid, begun = payments(epsilon, payoffs), equal_shares(start)
    level, until = checked(rule, noise, time)
    if rule == "replicator":
        times, mix = _replicator_course(paid, begun, until, report)
    else:
        times, mix = _revision_course(paid, mixes(*split(begun)), rule, level, until, report)
    of = rule if rule == "replicator" else f"{rule}, noise {level:g}"
    terms = f"{of}, epsilon {check_epsilon(epsilon)}, every {start[:-1]} equally often"
    return Course(rule, names(), times, mix.groups.T, mix.cooperation, paid.gains(mix), terms)


def checked(rule: object, noise: object, time: object) -> tuple[float, float]:
    """Noise and duration.

    Raises:
        GameError: an unknown rule; numbers out of bounds.
    """
    known = choice("rule", rule, RULES)
    level = checked_noise(known if known in REVISIONS else "logit", noise)
    if not 0 < real(time) <= MAX_TIME:
        raise GameError(f"time={brief(time)}: give a number above 0, to {MAX_TIME:,.0f}")
    return level, real(time)


def equal_shares(start: str) -> Floats:
    """[entries + 16, 1] logarithms of weights: potentials, and those of the agents of depth up to 1.

    Raises:
        GameError: an unknown start.
    """
    choice("start", start, EQUAL)
    own = np.zeros(SHALLOW)
    if start == "depths":
        depths = blocks().depths
        own = np.log(COUNT - SHALLOW) - np.log(np.bincount(depths))[depths]
    return np.concatenate([np.zeros(ENTRIES), own])[:, None]


def split(logs: Floats) -> tuple[Floats, Floats]:
    return logs[:ENTRIES], logs[ENTRIES:]


def slopes(paid: Payments, logs: Floats) -> Floats:
    """The slopes of logarithms of weights under replicator dynamics: payoffs less the mean."""
    mix = mixes(*split(logs))
    values, own = paid.terms(mix)
    mean = paid.mean(mix, values)
    return np.vstack([values - mean / 4, own - mean])  # an agent has four potentials


def _replicator_course(paid: Payments, begun: Floats, time: float, report: Report) -> tuple[Floats, Mixes]:
    """`POINTS` times and `WITHIN` in each step of scipy's DOP853, and the mixes then."""
    from scipy.integrate import solve_ivp

    def rates(now: float, logs: Floats) -> Floats:
        report(now / time)
        return slopes(paid, logs[:, None])[:, 0]

    found = solve_ivp(
        rates, (0, time), begun[:, 0], method="DOP853", dense_output=True, rtol=_TOLERANCE, atol=_TOLERANCE
    )
    if not found.success:
        raise GameError(f"the solver gave up at time {found.t[-1]} of {time}: {found.message}")
    within = np.linspace(found.t[:-1], found.t[1:], WITHIN, endpoint=False)
    times = np.union1d(np.geomspace(min(_FIRST, time / 2), time, POINTS), within)
    return times, mixes(*split(found.sol(times)))


def _revision_course(
    paid: Payments, mix: Mixes, rule: str, noise: float, time: float, report: Report
) -> tuple[Floats, Mixes]:
    """Times of revisions and the mixes then: `POINTS` of them, or all."""
    steps = math.ceil(time / STEP)
    wanted = {*np.unique(np.geomspace(1, steps, POINTS).round().astype(int)).tolist()}
    places, found = [0], [mix]
    for step in range(1, steps + 1):
        report(step / steps)
        mix = moved(mix, target(paid, mix, rule, noise))
        if step in wanted:
            places.append(step)
            found.append(mix)
    parts = zip(*((each.entries, each.shallow, each.log_sums) for each in found), strict=True)
    entries, shallow, log_sums = (np.concatenate(part, axis=-1) for part in parts)
    return np.array(places) * STEP, Mixes(entries, shallow, log_sums)


def moved(mix: Mixes, goal: Mixes) -> Mixes:
    """The population after `STEP`, if it moves to this target."""
    left = math.exp(-STEP)
    entries = goal.entries + left * (mix.entries - goal.entries)
    return Mixes(entries, goal.shallow + left * (mix.shallow - goal.shallow), goal.log_sums)


def target(paid: Payments, mix: Mixes, rule: str, noise: float) -> Mixes:
    """Where populations move to under revisions."""
    values, own = paid.terms(mix)
    if rule == "logit":
        return mixes(values / noise, own / noise)
    best = best_replies(values, own, _TIE)
    every = mixes(np.zeros((ENTRIES, 1)), np.zeros((SHALLOW, 1)))
    entries = (1 - noise) * best.entries + noise * every.entries
    return Mixes(entries, (1 - noise) * best.shallow + noise * every.shallow, best.log_sums)
