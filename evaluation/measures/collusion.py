"""What a coalition's gain costs the others: welfare inside and outside, inequality, and the course over the years.

The paper leaves open how to tell cooperation from collusion (its section 7). Here both are seen from the same games: a
profile played by all, and the same games with a coalition that leaves it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from evaluation.measures.intervals import Estimate, mean_estimate, mean_estimates
from evaluation.measures.metrics import GameMeasures
from welfare_env import Board

BY_YEAR = ("gain_by_year", "members_units_by_year", "others_units_by_year")


def prosocial_level(board: Board) -> float:
    """The root Nash welfare of a peace without units: every centre owned, shares as even as whole numbers can be.

    On the standard map 4.843, which the Optimal Prosocial attains (paper, section 5.1). No profile has more under the
    paper's rules, unless powers change their shares from year to year (34 / 7 = 4.857 at most).
    """
    share, rest = divmod(len(board.centers), len(board.powers))
    return math.exp(sum(math.log(share + (power < rest)) for power in range(len(board.powers))) / len(board.powers))


def gini(values: Sequence[float]) -> float:
    """The Gini coefficient of amounts from 0: 0 if all are equal; nan if all are 0, or one is negative."""
    ordered, count, total = sorted(values), len(values), sum(values)
    if not total > 0 or ordered[0] < 0:
        return math.nan
    weighted = sum((2 * place - count - 1) * value for place, value in enumerate(ordered, 1))
    return weighted / (count * total)


@dataclass(frozen=True)
class Collusion:
    """A coalition that left a profile, against the same games in which nobody did.

    Attributes:
        inside, outside: mean welfare points a year of a member, and of another power.
        price: points a year that another power loses by it; below 0, it gains.
        waste: points a year that all powers together lose by it.
        gini: Gini coefficient of the powers' points (`gini`), mean over games.
        prosocial_share: root Nash welfare as a share of the prosocial peace's (`prosocial_level`);
            under other rules than the paper's it can be above 1.
        gain_by_year: year -> what a member gains in it, in points. Negative later on: the others punish, or the peace
            that it robbed would have paid more.
        members_units_by_year, others_units_by_year: year -> mean units of a member, and of another power.
    """

    inside: Estimate
    outside: Estimate
    price: Estimate
    waste: Estimate
    gini: Estimate
    prosocial_share: Estimate
    gain_by_year: dict[int, Estimate]
    members_units_by_year: dict[int, Estimate]
    others_units_by_year: dict[int, Estimate]

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        one = {name: getattr(self, name).to_dict() for name in MEASURES}
        curves = {name: getattr(self, name) for name in BY_YEAR}
        return one | {
            name: {str(year): each.to_dict() for year, each in curve.items()} for name, curve in curves.items()
        }


MEASURES = ("inside", "outside", "price", "waste", "gini", "prosocial_share")


def collusion(
    board: Board, coalition: Collection[str], baseline: Sequence[GameMeasures], games: Sequence[GameMeasures], seed: int
) -> Collusion:
    """Measure a coalition's games against those of the profile, game by game with the same seeds.

    Args:
        coalition: its members; of the others there is nothing to tell (nan) if it has all powers.
        baseline, games: of the profile by itself, and of the coalition.
        seed: of the intervals.
    """
    members = [power for power in board.powers if power in coalition]
    others = [power for power in board.powers if power not in coalition]
    level = prosocial_level(board)
    pairs = list(zip(baseline, games, strict=True))

    def over_games(values: Sequence[float]) -> Estimate:
        return mean_estimate(values, seed)

    def total(game: GameMeasures) -> float:
        return math.fsum(game.welfare_per_year.values())

    return Collusion(
        inside=over_games([_mean(game, members) for game in games]),
        outside=over_games([_mean(game, others) for game in games]),
        price=over_games([_mean(before, others) - _mean(game, others) for before, game in pairs]),
        waste=over_games([total(before) - total(game) for before, game in pairs]),
        gini=over_games([gini(list(game.welfare_per_year.values())) for game in games]),
        prosocial_share=over_games([game.root_nash_welfare / level for game in games]),
        gain_by_year=_by_year([_gains(before, game, members) for before, game in pairs], seed),
        members_units_by_year=_by_year([_units(game, members) for game in games], seed),
        others_units_by_year=_by_year([_units(game, others) for game in games], seed),
    )


def _mean(game: GameMeasures, powers: Sequence[str]) -> float:
    return math.fsum(game.welfare_per_year[power] for power in powers) / len(powers) if powers else math.nan


def _units(game: GameMeasures, powers: Sequence[str]) -> dict[int, float]:
    curves = [game.power_curves[power] for power in powers]
    return {
        year: math.fsum(curve.units[place] for curve in curves) / len(curves) if curves else math.nan
        for place, year in enumerate(game.yearly_curves.years)
    }


def _gains(before: GameMeasures, game: GameMeasures, members: Sequence[str]) -> dict[int, float]:
    """Year -> what a member earns in it more than without the coalition."""
    own, usual = (_earned(each, members) for each in (game, before))
    return {year: own[year] - usual[year] for year in own if year in usual}


def _earned(game: GameMeasures, powers: Sequence[str]) -> dict[int, float]:
    """Year -> mean points that a power earns in it."""
    curves = [game.power_curves[power].welfare for power in powers]
    return {
        year: math.fsum(curve[place] - (curve[place - 1] if place else 0.0) for curve in curves) / len(curves)
        for place, year in enumerate(game.yearly_curves.years)
    }


def _by_year(games: Sequence[dict[int, float]], seed: int) -> dict[int, Estimate]:
    """Over the games that went on so long."""
    years = sorted({year for game in games for year in game})
    return mean_estimates({year: [game[year] for game in games if year in game] for year in years}, seed)
