"""For which epsilon equilibria remain equilibria when more agents may be played.

A mix survives a deviant if the deviant's payoff against the mix is not larger than the mix's own. Garrabrant's post
claims this of its good mix against all modal agents; here it is computed for given deviants.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from sympy.polys.rings import PolyElement

from modal_env.checks import brief
from modal_env.errors import GameError
from modal_env.games.costs import GivenCost
from modal_env.games.game import PAYOFFS, GivenPayoffs, ProgramGame, meet
from modal_env.games.ranges import Family, Interval, gap
from modal_env.games.rational_functions import affine, positive_roots, sign
from modal_env.logic.notation import as_agents
from modal_env.logic.syntax import Agent


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
        gap(path.value, path.shares, row)
        for seat, paths in ((game, family.columns), (game.turned, family.rows))
        for row in {tuple(_row(seat, deviant)) for deviant in entrants}
        for path in paths
    }
    low, high = family.interval
    roots = {root for one in gaps for root in positive_roots(one) if low < root and (high is None or root < high)}
    points = sorted({low, *roots})
    ends = [*points[1:], high]
    parts = [part for one, end in zip(points, ends, strict=True) for part in (Interval(one, one), Interval(one, end))]
    parts += [] if high is None else [Interval(high, high)]
    safe = groupby(parts, lambda part: all(sign(one, part.inside) >= 0 for one in gaps))
    runs = [list(run) for is_safe, run in safe if is_safe]
    return tuple(Interval(run[0].low, run[-1].high) for run in runs)


def _row(game: ProgramGame, deviant: Agent) -> Iterator[PolyElement]:
    """What a deviant is paid against each agent of the game."""
    for agent in game.agents:
        meeting = meet(deviant, agent, game.cost, game.payoffs)
        yield affine(meeting.points[0], -meeting.costs[0])
