"""Whether a mix remains an equilibrium when more agents may be played, and for which epsilon.

A mix survives a deviant if the deviant's payoff against the mix is not larger than the mix's own. Garrabrant's post
claims this of its good mix against all modal agents; here it is computed for given deviants.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby

from modal_env.checks import Number, brief
from modal_env.errors import GameError
from modal_env.games.algebraic import Algebraic, Ratio, between, positive_roots
from modal_env.games.costs import GivenCost
from modal_env.games.game import PAYOFFS, GivenPayoffs, ProgramGame, Shares, dot, meet
from modal_env.games.ranges import Family, Interval
from modal_env.games.vertex_paths import Path, gap
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
        GameError: as `ProgramGame`; no deviants, or a family of another game.
    """
    game = ProgramGame(agents, 0, cost, payoffs)
    if not isinstance(family, Family):
        raise GameError(f"family={brief(family)}: give one of the families that `ranges` finds")
    seats = [(game, dict.fromkeys(family.columns)), (game.turned, dict.fromkeys(family.rows))]
    if game.names != family.names or not all(_is_of(seat, path, family.interval) for seat, ps in seats for path in ps):
        raise GameError(f"family {family}: it is of another game; give the agents, cost and payoffs of its `ranges`")
    entrants = as_agents(deviants, "deviants")
    gains = [
        -gap(path.value, path.shares, row) for seat, paths in seats for row in _rows(seat, entrants) for path in paths
    ]
    parts = _parts(family.interval, gains)
    safe = groupby(parts, lambda part: all(gain.sign(part[1]) <= 0 for gain in gains))
    runs = [[interval for interval, _ in run] for is_safe, run in safe if is_safe]
    return tuple(Interval(run[0].low, run[-1].high) for run in runs)


def _is_of(game: ProgramGame, path: Path, interval: Interval) -> bool:
    """Whether a path has the right payoffs of the game's agents against its mix."""
    rows = (tuple(zip(points, units, strict=True)) for points, units in zip(*game.affine, strict=True))
    wrong = [-gap(path.value, path.shares, row) + told for row, told in zip(rows, path.gaps, strict=True)]
    return not any(ratio.sign(interval.low) if interval.is_point else ratio for ratio in wrong)


def _rows(game: ProgramGame, deviants: Iterable[Agent]) -> dict[Row, Agent]:
    """The payoffs of deviants against the agents of a game -> the first deviant with these payoffs."""
    found: dict[Row, Agent] = {}
    for deviant in deviants:
        meetings = [meet(deviant, agent, game.cost, game.payoffs) for agent in game.agents]
        found.setdefault(tuple((meeting.points[0], meeting.costs[0]) for meeting in meetings), deviant)
    return found


def _parts(interval: Interval, gains: Sequence[Ratio]) -> list[tuple[Interval, Algebraic]]:
    """An interval in parts, each with a sample epsilon.

    These are its bounds, the numbers inside at which a gain may change its sign, and the open intervals in between.
    """
    low, high = interval
    if interval.is_point:
        return [(interval, low)]
    roots = sorted(root for gain in gains for ratio in (gain.top, gain.bottom) for root in positive_roots(ratio))
    points = [low]
    for root in roots:
        if root > points[-1] and (high is None or root < high):
            points.append(root)
    parts: list[tuple[Interval, Algebraic]] = []
    for one, other in zip(points, [*points[1:], high], strict=True):
        parts += [(Interval(one, one), one), (Interval(one, other), between(one, other))]
    return parts if high is None else [*parts, (Interval(high, high), high)]
