"""Whether a mix remains an equilibrium when more agents may be played, and for which epsilon.

A mix survives a deviant if the deviant's payoff against the mix is not larger than the mix's own. Garrabrant's post
claims this of its good mix against all modal agents; here it is computed for given deviants.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import groupby

from modal_env.checks import Number, brief
from modal_env.errors import GameError
from modal_env.games.algebraic import Algebraic, Ratio, between, positive_roots
from modal_env.games.costs import GivenCost
from modal_env.games.game import PAYOFFS, Game, GivenPayoffs, Shares, dot, meet
from modal_env.games.ranges import Family, Interval
from modal_env.games.vertex_paths import Path, gap
from modal_env.logic.notation import Agent, as_agents

Row = tuple[tuple[Fraction, Fraction | int], ...]
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


@dataclass(frozen=True)
class Threat:
    """A deviant, and the epsilons at which its payoff exceeds that of a mix.

    Attributes:
        deviant: the first of the deviants with the same payoff at every epsilon.
        intervals: where it gains: strictly inside each. At a bound inside the family's range its gain is 0.
    """

    deviant: Agent
    intervals: tuple[Interval, ...]


@dataclass(frozen=True)
class SurvivalRange:
    """The epsilons at which a family of equilibria survives deviants.

    Attributes:
        intervals: these epsilons, ascending; bounds included.
        threats: the deviants that gain somewhere.
    """

    intervals: tuple[Interval, ...]
    threats: tuple[Threat, ...]


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
        mix: of `agents`, see `Game.mix`.
        against: the column player's mix; by default the same.
        agents, epsilon, cost, payoffs: as for `Game`.
        deviants: any agents, at least one.

    Raises:
        GameError: as `Game` and `Game.mix`; no deviants.
    """
    game = Game(agents, epsilon, cost, payoffs)
    shares = game.mix(mix)
    other = shares if against is None else game.mix(against)
    seats = [(game, shares, other), (game.turned, other, shares)]
    if game.payoffs.is_symmetric and shares == other:
        seats.pop()
    entrants = as_agents(deviants, "deviants")
    found = [
        Survival(deviant, dot(theirs, (points - game.epsilon * units for points, units in row)) - paid)
        for seat, theirs, paid in ((seat, theirs, seat.utility(own, theirs)) for seat, own, theirs in seats)
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
) -> SurvivalRange:
    """The epsilons at which a family of equilibria survives deviants; a set survives if all its mixes do.

    Args:
        family: one of the families of `ranges` for these agents, cost and payoffs.
        agents, cost, payoffs: as for `ranges`.
        deviants: any agents, at least one.

    Raises:
        GameError: as `Game`; no deviants, or a family of another game.
    """
    game = Game(agents, 0, cost, payoffs)
    if not isinstance(family, Family):
        raise GameError(f"family={brief(family)}: give one of the families that `ranges` finds")
    seats = [(game, dict.fromkeys(family.columns)), (game.turned, dict.fromkeys(family.rows))]
    if game.names != family.names or not all(
        _is_path_of(seat, path, family.interval) for seat, paths in seats for path in paths
    ):
        raise GameError(f"family {family}: it is of another game; give the agents, cost and payoffs of its `ranges`")
    if game.payoffs.is_symmetric:
        seats = [(game, dict.fromkeys((*family.rows, *family.columns)))]
    entrants = as_agents(deviants, "deviants")
    gains = [
        (deviant, [_gain(path, row) for path in paths])
        for seat, paths in seats
        for row, deviant in _rows(seat, entrants).items()
    ]
    parts = _parts(family.interval, [gain for _, each in gains for gain in each])
    threats = [Threat(deviant, _where(parts, partial(_gains, each))) for deviant, each in gains]
    safe = _where(parts, lambda epsilon: not any(_gains(each, epsilon) for _, each in gains))
    return SurvivalRange(safe, tuple(threat for threat in threats if threat.intervals))


def _is_path_of(game: Game, path: Path, interval: Interval) -> bool:
    """Whether a path has the right payoffs of the game's agents against its mix."""
    rows = (tuple(zip(points, units, strict=True)) for points, units in zip(*game.affine, strict=True))
    wrong = [_gain(path, row) + gap for row, gap in zip(rows, path.gaps, strict=True)]
    return not any(ratio.sign(interval.low) if interval.is_point else ratio for ratio in wrong)


def _gains(each: Iterable[Ratio], epsilon: Algebraic) -> bool:
    return any(gain.sign(epsilon) > 0 for gain in each)


def _rows(game: Game, deviants: Iterable[Agent]) -> dict[Row, Agent]:
    """The payoffs of deviants against the agents of a game -> the first deviant with these payoffs."""
    found: dict[Row, Agent] = {}
    for deviant in deviants:
        meetings = [meet(deviant, agent, game.cost, game.payoffs) for agent in game.agents]
        found.setdefault(tuple((meeting.points[0], meeting.costs[0]) for meeting in meetings), deviant)
    return found


def _gain(path: Path, row: Row) -> Ratio:
    """A deviant's payoff against a mix that moves with epsilon, less that of a best reply of the library."""
    return -gap(path.value, path.shares, row)


def _parts(interval: Interval, gains: Iterable[Ratio]) -> list[tuple[Interval, Algebraic]]:
    """An interval in parts, each with a sample epsilon.

    These are its bounds, the numbers inside at which a gain may change its sign, and the open intervals in between.
    """
    if interval.is_point:
        return [(interval, interval.low)]
    roots = [root for gain in gains for ratio in (gain.top, gain.bottom) for root in positive_roots(ratio)]
    points: list[Algebraic] = [interval.low]
    for root in sorted(roots):
        if root > points[-1] and (interval.high is None or root < interval.high):
            points.append(root)
    ends = [*points[1:], interval.high]
    parts = [part for low, high in zip(points, ends, strict=True) for part in _from(low, high)]
    return parts if interval.high is None else [*parts, (Interval(interval.high, interval.high), interval.high)]


def _from(low: Algebraic, high: Algebraic | None) -> list[tuple[Interval, Algebraic]]:
    """A number, and the open interval up to the next."""
    return [(Interval(low, low), low), (Interval(low, high), between(low, high))]


def _where(parts: Sequence[tuple[Interval, Algebraic]], holds: Callable[[Algebraic], bool]) -> tuple[Interval, ...]:
    """The parts in which a condition holds, adjacent ones joined."""
    runs = [list(run) for truth, run in groupby(parts, lambda part: holds(part[1])) if truth]
    return tuple(Interval(run[0][0].low, run[-1][0].high) for run in runs)
