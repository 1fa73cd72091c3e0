"""Whether a mix remains an equilibrium when more agents may be played, and for which epsilon.

A mix survives a deviant if the deviant's payoff against the mix is not larger than the mix's own. Garrabrant's post
claims this of its good mix against all modal agents; here it is computed for given deviants.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from typing import NamedTuple

from sympy.polys.fields import FracElement

from modal_env.checks import Number, brief
from modal_env.errors import GameError
from modal_env.games.costs import GivenCost
from modal_env.games.game import PAYOFFS, GivenPayoffs, ProgramGame, Shares, dot, meet
from modal_env.games.ranges import Family, Interval, gap
from modal_env.games.rational_functions import Algebraic, affine, between, positive_roots, sign
from modal_env.logic.notation import as_agents
from modal_env.logic.syntax import Agent

Row = tuple[tuple[Fraction, Fraction], ...]
"""An agent's payoffs against each agent of a library: points, and costs in units of epsilon."""


@dataclass(frozen=True)
class Survival:
    """Whether a mix survives deviants.

    Attributes:
        deviant: the deviant with the highest payoff against the mix; the first one in a tie.
        gain: its payoff less that of the mix.
    """

    deviant: Agent
    gain: Fraction

    @property
    def survives(self) -> bool:
        """Whether no deviant is paid more than the mix."""
        return self.gain <= 0


def survives(
    mix: Shares,
    agents: Iterable[Agent | str],
    deviants: Iterable[Agent | str],
    epsilon: Number,
    cost: GivenCost = "depth",
    *,
    payoffs: GivenPayoffs = PAYOFFS,
    against: Shares | None = None,
) -> Survival:
    """The best deviant, in either seat, against a mix that both players play.

    Args:
        mix: of `agents`, see `ProgramGame.mix`.
        against: the column player's mix; by default the same.
        agents, epsilon, cost, payoffs: as for `ProgramGame`.
        deviants: any agents, at least one.

    Raises:
        GameError: as `ProgramGame` and `ProgramGame.mix`; no deviants.
    """
    game = ProgramGame(agents, epsilon, cost, payoffs)
    shares = game.mix(mix)
    other = shares if against is None else game.mix(against)
    entrants = as_agents(deviants, "deviants")
    found = [
        Survival(deviant, dot(theirs, (points - game.epsilon * units for points, units in row)) - paid)
        for seat, own, theirs in ((game, shares, other), (game.turned, other, shares))
        for paid in [seat.utility(own, theirs)]
        for row, deviant in _rows(seat, entrants).items()
    ]
    return max(found, key=lambda survival: survival.gain)


def survival_range(
    family: Family,
    agents: Iterable[Agent | str],
    deviants: Iterable[Agent | str],
    cost: GivenCost = "depth",
    *,
    payoffs: GivenPayoffs = PAYOFFS,
) -> tuple[Interval, ...]:
    """The epsilons at which a family of equilibria survives deviants, ascending; a set survives if all its mixes do.

    Args:
        family: one of the families of `ranges` for these agents, cost and payoffs.
        agents, cost, payoffs: as for `ranges`.
        deviants: any agents, at least one.

    Raises:
        GameError: as `ProgramGame`; no deviants, or a family of other agents.
    """
    game = ProgramGame(agents, 0, cost, payoffs)
    if not isinstance(family, Family) or game.names != family.names:
        raise GameError(f"family={brief(family)}: give one that `ranges` finds for {', '.join(game.names):.300}")
    entrants = as_agents(deviants, "deviants")
    gaps = {
        gap(path.value, path.shares, [affine(points, -units) for points, units in row])
        for seat, paths in ((game, family.columns), (game.turned, family.rows))
        for row in _rows(seat, entrants)
        for path in paths
    }
    safe = groupby(_parts(family.interval, gaps), lambda part: all(sign(one, part.sample) >= 0 for one in gaps))
    runs = [list(run) for is_safe, run in safe if is_safe]
    return tuple(Interval(run[0].low, run[-1].high) for run in runs)


class _Part(NamedTuple):
    """A number, or an open interval without roots, and a number in it."""

    low: Algebraic
    high: Algebraic | None
    sample: Algebraic


def _parts(interval: Interval, functions: Iterable[FracElement]) -> list[_Part]:
    """An interval in parts: its bounds, the numbers inside where a function may change its sign, and those between."""
    low, high = interval
    roots = {root for one in functions for root in positive_roots(one) if low < root and (high is None or root < high)}
    points = sorted({low, *roots})
    ends: list[Algebraic | None] = [*points[1:], high]
    parts = [
        part
        for one, other in zip(points, ends, strict=True)
        for part in (_Part(one, one, one), _Part(one, other, one if one == other else between(one, other)))
    ]
    return parts if high is None else [*parts, _Part(high, high, high)]


def _rows(game: ProgramGame, deviants: Iterable[Agent]) -> dict[Row, Agent]:
    """The payoffs of deviants against the agents of a game -> the first deviant with these payoffs."""
    found: dict[Row, Agent] = {}
    for deviant in deviants:
        meetings = [meet(deviant, agent, game.cost, game.payoffs) for agent in game.agents]
        found.setdefault(tuple((meeting.points[0], meeting.costs[0]) for meeting in meetings), deviant)
    return found
