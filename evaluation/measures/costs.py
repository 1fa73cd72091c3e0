"""The cost of an attack by one or more powers to the others: welfare inside and outside, inequality, curves by year.

Compares self-play of a profile with games in which a coalition deviates from it, on the same seeds. For what several
powers gain beyond each alone see `evaluation.measures.gains.Surplus`.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from agents.runtime.results import Printable
from evaluation.measures.intervals import Estimate, mean_estimates, plain
from evaluation.measures.metrics import GameMeasures
from welfare_env import Board

MEASURES = ("inside", "outside", "price", "waste", "gini", "prosocial_share")
BY_YEAR = ("gain_by_year", "members_units_by_year", "others_units_by_year")


def prosocial_level(board: Board) -> float:
    """The root Nash welfare of a peace without units in which every center is owned, as evenly as possible.

    On the standard map 4.843, as attained by the Optimal Prosocial (paper, section 5.1): the maximum under the paper's
    rules, unless powers change their shares from year to year (then at most 34 / 7 = 4.857).
    """
    share, rest = divmod(len(board.centers), len(board.powers))
    return math.exp(sum(math.log(share + (power < rest)) for power in range(len(board.powers))) / len(board.powers))


def gini(values: Sequence[float]) -> float:
    """The Gini coefficient of non-negative amounts: 0 if all are equal; nan if all are 0 or one is negative."""
    ordered, count, total = sorted(values), len(values), sum(values)
    if not total > 0 or ordered[0] < 0:
        return math.nan
    weighted = sum((2 * place - count - 1) * value for place, value in enumerate(ordered, 1))
    return weighted / (count * total)


@dataclass(frozen=True, repr=False)
class Costs(Printable):
    """Games in which a coalition deviates, compared with the self-play games of the same seeds.

    Attributes:
        inside, outside: mean welfare points a year of members, and of the other powers.
        price: mean loss of the other powers, in points a year; negative if they gain.
        waste: total loss of all powers, in points a year.
        gini: Gini coefficient of all powers' points (`gini`), mean over games.
        prosocial_share: root Nash welfare divided by `prosocial_level`; can exceed 1 under other rules than the
            paper's.
        gain_by_year: year -> mean gain of a member in that year, in points. Negative in later years if the others
            punish, or if peace would have paid more.
        members_units_by_year, others_units_by_year: year -> mean units of members, and of the other powers.
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
        return dict(plain(vars(self)))


def costs(
    board: Board, coalition: Collection[str], baseline: Sequence[GameMeasures], games: Sequence[GameMeasures], seed: int
) -> Costs:
    """Measure a coalition's games against those of the profile, game by game with the same seeds.

    Args:
        coalition: the deviating powers. If these are all powers, measures of the others are nan.
        baseline, games: measures of self-play, and of the coalition's games.
        seed: seed of the intervals.
    """
    members = [power for power in board.powers if power in coalition]
    others = [power for power in board.powers if power not in coalition]
    level = prosocial_level(board)
    pairs = list(zip(baseline, games, strict=True))
    means = {
        "inside": [_mean(game, members) for game in games],
        "outside": [_mean(game, others) for game in games],
        "price": [_mean(before, others) - _mean(game, others) for before, game in pairs],
        "waste": [_total(before) - _total(game) for before, game in pairs],
    }
    positive = {
        "gini": [gini(list(game.welfare_per_year.values())) for game in games],
        "prosocial_share": [game.root_nash_welfare / level for game in games],
    }
    return Costs(
        **mean_estimates(means, seed),
        **{name: each.within(0) for name, each in mean_estimates(positive, seed).items()},
        gain_by_year=_by_year([_gains(before, game, members) for before, game in pairs], seed),
        members_units_by_year=_by_year([_units(game, members) for game in games], seed),
        others_units_by_year=_by_year([_units(game, others) for game in games], seed),
    )


def _total(game: GameMeasures) -> float:
    return math.fsum(game.welfare_per_year.values())


def _mean(game: GameMeasures, powers: Sequence[str]) -> float:
    return math.fsum(game.welfare_per_year[power] for power in powers) / len(powers) if powers else math.nan


def _units(game: GameMeasures, powers: Sequence[str]) -> dict[int, float]:
    """Year -> mean units of these powers."""
    curves = [game.power_curves[power].units for power in powers]
    return {
        year: math.fsum(curve[place] for curve in curves) / len(curves) if curves else math.nan
        for place, year in enumerate(game.yearly_curves.years)
    }


def _gains(before: GameMeasures, game: GameMeasures, members: Sequence[str]) -> dict[int, float]:
    """Year -> mean points that a member earns in that year, minus those in self-play."""
    own, usual = (_earned(each, members) for each in (game, before))
    return {year: own[year] - usual[year] for year in own if year in usual}


def _earned(game: GameMeasures, powers: Sequence[str]) -> dict[int, float]:
    """Year -> mean points that these powers earn in that year."""
    curves = [game.power_curves[power].welfare for power in powers]
    return {
        year: math.fsum(curve[place] - (curve[place - 1] if place else 0.0) for curve in curves) / len(curves)
        for place, year in enumerate(game.yearly_curves.years)
    }


def _by_year(games: Sequence[dict[int, float]], seed: int) -> dict[int, Estimate]:
    """Year -> the mean over the games that reached that year."""
    years = sorted({year for game in games for year in game})
    return mean_estimates({year: [game[year] for game in games if year in game] for year in years}, seed)
