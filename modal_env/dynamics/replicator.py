"""Replicator dynamics: how the shares of agents change when each grows in proportion to what it is paid.

x_i' = x_i (u_i - mean u), where u_i is agent i's payoff against a random member (the post's first evolutionary model).
`replicator` follows one population. Stability of rest points (`stability`), many random starts (`basins`) and the
post's second model (`growth`) have modules of their own.

Everything is computed in the logarithms of the shares, where the equations are (ln x_i)' = u_i - mean u. The right-hand
side and its derivative are bounded by the spread of the payoffs, so they are not stiff; a share can neither become
negative nor vanish, and exp(-100,000) is as accurate as any other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from modal_env.checks import brief, items, real
from modal_env.dynamics.populations import (
    Floats,
    Matrix,
    Numbers,
    Payoffs,
    is_trapped,
    payoffs_of,
    read_shares,
    shares_of,
)
from modal_env.errors import GameError
from modal_env.frames import Row, Tabular
from modal_env.games.game import ProgramGame, position
from modal_env.logic.tournaments import listed
from modal_env.progress import Report, check_report, no_report

REST = 1e-9
"""A population is at rest if no agent is paid more than the mean by more than this."""

MAX_RATES = 5_000_000
"""Evaluations of the rates in one run: takes minutes and gigabytes."""

_BISECTIONS = 60
_PARTS = 8  # per step of the solver, so that straight lines between them look like the curve
_ROUNDS = 3  # a sequence of stays repeated this often is a cycle


@dataclass(frozen=True)
class Stay:
    """A period in which one agent has more than half of the population.

    Attributes:
        agent: its name.
        start: when its share passed 1/2, or the beginning of the run.
        stop: when its share fell below 1/2, or the end of the run.
        is_whole: whether both ends lie within the run.
    """

    agent: str
    start: float
    stop: float
    is_whole: bool

    @property
    def length(self) -> float:
        """Its duration."""
        return self.stop - self.start


@dataclass(frozen=True)
class Limit:
    """How a trajectory behaves in the long run, as far as it was computed.

    Attributes:
        kind: "taken over": one agent tends to share 1, by the argument of `populations.is_trapped`.
            "at rest": over the last tenth of the time nobody was paid more than the mean by more than `REST`. The point
            may be unstable: a start at an equilibrium stays there until rounding errors have grown.
            "cycle": at the end two or more agents had a majority in turn, in the same sequence, three times.
            "undecided": none of these.
        agents: the winner; at rest, those with a share above `REST`; the sequence of the cycle; or empty.
    """

    kind: str
    agents: tuple[str, ...]

    def __str__(self) -> str:
        arrow = " -> " if self.kind == "cycle" else ", "
        return f"{self.kind}: {arrow.join(self.agents)}" if self.agents else self.kind


@dataclass(frozen=True, eq=False)
class Trajectory(Tabular):
    """A population under replicator dynamics.

    Attributes:
        names: [n] the agents.
        times: [T] from 0 on.
        log_shares: [T, n] natural logarithms of the shares; -inf for an agent that was absent at the start.
        stays: sorted by start.
        limit: how it ends.
        terms: of the game, see `ProgramGame.terms`; "" for a bare matrix.
    """

    names: tuple[str, ...]
    times: Floats
    log_shares: Floats
    stays: tuple[Stay, ...]
    limit: Limit
    terms: str = ""

    def __repr__(self) -> str:
        return f"Trajectory(to time {self.times[-1]:g}, {self.limit}; {listed(self.names)})"

    def rows(self) -> list[Row]:
        """One row per time and agent."""
        logs = self.log_shares.tolist()
        return [
            {"time": time, "agent": agent, "share": math.exp(log), "log_share": log}
            for time, at in zip(self.times.tolist(), logs, strict=True)
            for agent, log in zip(self.names, at, strict=True)
        ]

    @property
    def shares(self) -> Floats:
        """[T, n]; shares below 1e-308 or so come out as 0."""
        return np.exp(self.log_shares)

    def lengths(self, agent: str) -> Floats:
        """[stays] the durations of all complete stays of `agent`.

        Raises:
            GameError: there is no agent of this name.
        """
        name = self.names[position(self.names, agent)]
        return np.array([stay.length for stay in self.stays if stay.agent == name and stay.is_whole])


def replicator(
    game: ProgramGame | Matrix,
    start: Numbers,
    time: float,
    *,
    times: Sequence[float] | None = None,
    tolerance: float = 1e-10,
    report: Report = no_report,
) -> Trajectory:
    """Follow a population under replicator dynamics (scipy's DOP853).

    Args:
        game: a `ProgramGame`, or a square matrix of exact payoffs, the row agent's against the column agent.
        start: [n] shares, or name -> share. An agent with share 0 never appears.
        time: duration. In one unit an agent paid 1 above the mean grows e-fold.
        times: times to report; by default the solver's steps and seven times between any two.
        tolerance: of the logarithms of shares in one step, absolute and relative.
        report: see `modal_env.progress`.

    Raises:
        GameError: payoffs that are not square and exact; shares that are negative or do not add up to 1; a time that is
            not above 0; times outside [0, time] or not in order; a tolerance outside [1e-13, 1e-3]; more than
            `MAX_RATES` evaluations.
    """
    check_report(report)
    payoffs = payoffs_of(game)
    shares = read_shares(payoffs, start)
    _check_options(time, tolerance)
    wanted = None if times is None else _read_times(times, float(time))
    there = np.flatnonzero(shares)
    here = Payoffs(
        tuple(payoffs.names[i] for i in there), tuple(tuple(payoffs.exact[i][j] for j in there) for i in there)
    )
    solution = _solve(here.floats, np.log(shares[there]), float(time), float(tolerance), report)
    stays = _stays(here.names, solution)
    reported = _finer(solution.t) if wanted is None else wanted
    log_shares = np.full((len(reported), payoffs.size), -np.inf)
    log_shares[:, there] = _normalized(solution.sol(reported)).T
    return Trajectory(payoffs.names, reported, log_shares, stays, _limit(here, solution, stays), payoffs.terms)


def _check_options(time: float, tolerance: float) -> None:
    if not 0 < real(time) < math.inf:
        raise GameError(f"time={brief(time)}: give a number above 0")
    if not 1e-13 <= real(tolerance) <= 1e-3:
        raise GameError(f"tolerance={brief(tolerance)}: give a number from 1e-13 to 1e-3")


def _read_times(times: Sequence[float], end: float) -> Floats:
    found = np.array([real(time) for time in items(times) or ()])
    if len(found) == 0 or not (np.diff([0, *found, end]) >= 0).all():
        raise GameError(f"times {brief(times)}: give a list of one at least, in order, from 0 to {end:g}")
    return found


def _finer(steps: Floats) -> Floats:
    """The ends of steps, and `_PARTS` - 1 times between each two."""
    return np.append(np.linspace(steps[:-1], steps[1:], _PARTS, endpoint=False).T.ravel(), steps[-1])


def _solve(matrix: Floats, start: Floats, time: float, tolerance: float, report: Report) -> Any:
    """scipy's dense solution for the logarithms of shares."""
    from scipy.integrate import solve_ivp

    left = iter(range(MAX_RATES))

    def rates(now: float, log_shares: Floats) -> Floats:
        if next(left, None) is None:
            raise GameError(f"the solver gave up at time {now:g} of {time:g}, after {MAX_RATES:,} evaluations")
        report(now / time)
        shares = shares_of(log_shares)
        paid = matrix @ shares
        return paid - shares @ paid

    precision = {"rtol": tolerance, "atol": tolerance}
    with np.errstate(all="ignore"):  # payoffs of 1e300 overflow: the solver fails, which is told below
        solution = solve_ivp(rates, (0, time), start, method="DOP853", dense_output=True, **precision)
    if not solution.success:
        raise GameError(f"the solver gave up at time {solution.t[-1]} of {time}: {solution.message}")
    return solution


def _normalized(log_shares: Floats) -> Floats:
    """[n, T] without the tiny drift of the sum of shares away from 1."""
    top = log_shares.max(axis=0)
    return log_shares - top - np.log(np.exp(log_shares - top).sum(axis=0))


def _stays(names: tuple[str, ...], solution: Any) -> tuple[Stay, ...]:
    """The periods in which a share is above 1/2, cut off at the ends of the run."""
    above = shares_of(solution.y) > 0.5
    found = []
    for agent, name in enumerate(names):
        changes = np.flatnonzero(above[agent, 1:] != above[agent, :-1]).tolist()
        moments = [_moment(solution, agent, step) for step in changes]
        seen = [-math.inf] * bool(above[agent, 0]) + moments + [math.inf] * bool(above[agent, -1])
        for start, stop in zip(seen[::2], seen[1::2], strict=True):
            is_whole = math.isfinite(start) and math.isfinite(stop)
            found.append(Stay(name, max(start, 0.0), min(stop, float(solution.t[-1])), is_whole))
    return tuple(sorted(found, key=lambda stay: stay.start))


def _moment(solution: Any, agent: int, step: int) -> float:
    """The time at which the agent's share crosses 1/2 in a step of the solver, by bisection."""
    low, high = float(solution.t[step]), float(solution.t[step + 1])
    rises = shares_of(solution.y[:, step + 1])[agent] > 0.5
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        if (shares_of(solution.sol(middle))[agent] > 0.5) == rises:
            high = middle
        else:
            low = middle
    return high


def _limit(payoffs: Payoffs, solution: Any, stays: tuple[Stay, ...]) -> Limit:
    shares = shares_of(solution.y)
    for agent in payoffs.strict_pure:
        if is_trapped(payoffs.floats, shares[:, -1:], agent)[0]:
            return Limit("taken over", (payoffs.names[agent],))
    late = shares[:, solution.t >= 0.9 * solution.t[-1]]
    paid = payoffs.floats @ late
    if (paid - (late * paid).sum(axis=0)).max() <= REST:
        return Limit("at rest", tuple(n for n, share in zip(payoffs.names, late[:, -1], strict=True) if share > REST))
    return _cycle(payoffs.names, tuple(stay.agent for stay in stays))


def _cycle(names: tuple[str, ...], visits: tuple[str, ...]) -> Limit:
    """The shortest sequence that ends the visits `_ROUNDS` times over, starting at its first agent in `names`."""
    for period in range(2, len(visits) // _ROUNDS + 1):
        around = visits[-period:]
        if around * _ROUNDS == visits[-period * _ROUNDS :]:
            first = min(range(period), key=lambda i: names.index(around[i]))
            return Limit("cycle", around[first:] + around[:first])
    return Limit("undecided", ())
