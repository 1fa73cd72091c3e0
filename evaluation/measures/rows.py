"""Games as rows of a table: one per game and power, or one per game, power and year.

docs/results.md describes the columns: types, units and meanings. Measures of a whole game are the same in
all its rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from agents.runtime.results import Result
from agents.runtime.table_files import Row, frame
from evaluation.measures.metrics import GameFacts, GameMeasures
from welfare_env.rules import Rules

if TYPE_CHECKING:
    import pandas as pd

CURVES = ("welfare", "centers", "units")
_NAMED_RULES = ("variant", "scoring", "press", "message_rounds", "years")


class GamesResult(Result):
    """A result with one row per game and power, or per game, power and year."""

    def rows(self, by_year: bool = False) -> list[Row]:
        """One row per game and power, or per game, power and year; docs/results.md describes the columns."""
        raise NotImplementedError

    def to_frame(self, by_year: bool = False) -> pd.DataFrame:
        """The rows as a pandas DataFrame.

        Raises:
            TableError: pandas is not installed.
        """
        return frame(self.rows(by_year))


class PlayedResult(GamesResult):
    """A result of games under the same rules, with their settings."""

    seed: int
    rules: Rules
    map_name: str
    notes: tuple[str, ...]

    def played(self, games: int) -> dict[str, Any]:
        """The settings as plain JSON types, with `games` per condition."""
        return {
            "seed": self.seed,
            "games": games,
            "notes": list(self.notes),
            "map": self.map_name,
            "rules": self.rules.to_dict(),
        }


def game_rows(
    games: Sequence[GameMeasures],
    profile: str,
    deviator: str = "",
    evaluation_seed: float = math.nan,
    is_chosen: bool = False,
    by_year: bool = False,
) -> list[Row]:
    """One row per game and power, in the order of the games, all with the same columns.

    Args:
        games: the games of one condition, from game 0.
        profile, deviator: profile and deviator of the condition. The coalition is taken from the games.
        evaluation_seed: the seed of the evaluation, from which the games' seeds are derived.
        is_chosen: whether the condition is the attack selected by an evaluation.
        by_year: one row per game, power and completed year instead.
    """
    rows: list[Row] = []
    for number, game in enumerate(games):
        facts, of_game = game.facts, _of_game(game)
        condition = {
            "profile": profile,
            "deviator": deviator,
            "coalition": "+".join(game.deviators),
            "chosen": is_chosen,
            "evaluation_seed": evaluation_seed,
            "game": number,
            "seed": math.nan if facts.seed is None else facts.seed,
            "key": facts.key,
            "map": facts.map_name,
            **_rules(facts),
        }
        for power, curves in game.power_curves.items():
            policy, deviates = facts.players.get(power, ""), power in game.deviators
            seat = condition | {"power": power, "policy": policy, "deviates": deviates}
            values = {name: getattr(curves, name) for name in CURVES}
            years = list(enumerate(curves.years))
            if by_year:
                rows += [seat | {"year": year, **{name: values[name][at] for name in CURVES}} for at, year in years]
            else:
                by_name = {f"{name}_{year}": values[name][at] for name in CURVES for at, year in years}
                rows.append(seat | _end(game, power) | of_game | by_name)
    return rows if by_year else same_columns(rows)


def same_columns(rows: Iterable[Row]) -> list[Row]:
    """Give rows of games of different lengths the same columns; nan after the end of a game."""
    listed = list(rows)
    fixed = list(dict.fromkeys(name for row in listed for name in row if not _is_of_year(name)))
    years = sorted({name.partition("_")[2] for row in listed for name in row if _is_of_year(name)})
    columns = [*fixed, *(f"{curve}_{year}" for curve in CURVES for year in years)]
    return [{name: row.get(name, math.nan) for name in columns} for row in listed]


def _is_of_year(column: str) -> bool:
    name, _, year = column.partition("_")
    return name in CURVES and year.isdecimal()


def _rules(facts: GameFacts) -> Row:
    usual = Rules(variant=facts.rules["variant"]).to_dict()
    given = usual | facts.rules
    named: Row = {name: given.pop(name) for name in _NAMED_RULES}
    others = [f"{name}: {value}" for name, value in given.items() if value != usual.get(name)]
    return named | {
        "press": named["press"] or "none",
        "simultaneous": facts.simultaneous,
        "other_rules": ", ".join(others),
    }


def _end(game: GameMeasures, power: str) -> Row:
    return {
        "years_played": game.years_played,
        "welfare": game.welfare[power],
        "welfare_per_year": game.welfare_per_year[power],
        "score": game.scores[power],
        "centers": game.centers[power],
        "units": game.units[power],
        **asdict(game.conduct[power]),
    }


def _of_game(game: GameMeasures) -> Row:
    """Measures of the whole game, equal in all its rows."""
    names = ("root_nash_welfare", "root_nash_welfare_smoothed", "nash_welfare", "baseline_root_nash_welfare")
    return {
        **{name: getattr(game, name) for name in (*names, "deviators_root_nash_welfare")},
        "best_score": max(game.scores.values()),
        "stolen_centers": game.stolen_centers.count,
        "stolen_centers_per_year": game.stolen_centers.per_year,
        "conflicts": game.conflicts.count,
        "conflicts_per_phase": game.conflicts.per_movement_phase,
        "proficiency": game.proficiency.score,
        **asdict(game.proficiency),
    }
