"""Games as rows of a table: one per game and power, or one per game, power and year.

| column | meaning |
|---|---|
| profile, deviator, coalition | the condition: the profile as given, the deviating policy, and the powers that play it ("ENGLAND+TURKEY"); the last two are "" in self-play |
| game, seed, key | the number of the game in its condition (from 0), its seed, and its key in the store; games with the same seed are paired |
| older_code | whether the game came from the store and was played by an older version of the code |
| map, variant, scoring, press, message_rounds, years, simultaneous, other_rules | what was played; other_rules lists rules that differ from their default |
| power, policy, deviates | the seat, its policy, and whether it belongs to the coalition |
| years_played, welfare, welfare_per_year, score, centers, units | the power's result at the end; welfare is nan in variant "standard" |
| welfare_1901, centers_1901, units_1901, ... | the same after the Winter of each year; nan after the end of a game |

Rows by year have year, welfare, centers and units instead of the last two lines.
"""  # noqa: E501 (a table)

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from evaluation.measures.metrics import GameFacts, GameMeasures, YearlyCurves
from welfare_env.errors import WelfareEnvError
from welfare_env.extras import install_extra
from welfare_env.rules import Rules

if TYPE_CHECKING:
    import pandas as pd

Row = dict[str, str | int | float | bool]

CURVES = ("welfare", "centers", "units")
_NAMED_RULES = ("variant", "scoring", "press", "message_rounds", "years")


class TableError(WelfareEnvError):
    """A table cannot be made or written; the message says why."""


def game_rows(games: Sequence[GameMeasures], profile: str, deviator: str = "") -> list[Row]:
    """One row per game and power, in the order of the games; all have the same columns.

    Args:
        games: of one condition, from game 0.
        profile, deviator: of the condition. The coalition is taken from the games.
    """
    return same_columns(
        condition | _seat(game, power) | _end(game, power) | _by_year(curves)
        for game, condition in _conditions(games, profile, deviator)
        for power, curves in game.power_curves.items()
    )


def year_rows(games: Sequence[GameMeasures], profile: str, deviator: str = "") -> list[Row]:
    """One row per game, power and completed year; arguments as for `game_rows`."""
    return [
        condition | _seat(game, power) | {"year": year} | {name: getattr(curves, name)[place] for name in CURVES}
        for game, condition in _conditions(games, profile, deviator)
        for power, curves in game.power_curves.items()
        for place, year in enumerate(curves.years)
    ]


def same_columns(rows: Iterable[Row]) -> list[Row]:
    """Give rows of games of different lengths the same columns; nan after the end of a game."""
    listed = list(rows)
    fixed = list(dict.fromkeys(name for row in listed for name in row if not _is_of_year(name)))
    years = sorted({name.partition("_")[2] for row in listed for name in row if _is_of_year(name)})
    columns = [*fixed, *(f"{curve}_{year}" for curve in CURVES for year in years)]
    return [{name: row.get(name, math.nan) for name in columns} for row in listed]


def frame(rows: Sequence[Row]) -> pd.DataFrame:
    """Rows as a pandas DataFrame.

    Raises:
        TableError: pandas is not installed.
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise TableError(missing("to_frame()", "pandas")) from error
    return pd.DataFrame(list(rows))


def missing(what: str, package: str) -> str:
    """An error message that says what to install."""
    return f"{what} needs {package}: pip install {package}, or {install_extra('tables')}"


def _is_of_year(column: str) -> bool:
    name, _, year = column.partition("_")
    return name in CURVES and year.isdecimal()


def _conditions(games: Sequence[GameMeasures], profile: str, deviator: str) -> Iterator[tuple[GameMeasures, Row]]:
    """Each game with the columns that are equal in all its rows."""
    for number, game in enumerate(games):
        facts = game.facts
        yield (
            game,
            {
                "profile": profile,
                "deviator": deviator,
                "coalition": "+".join(game.deviators),
                "game": number,
                "seed": math.nan if facts.seed is None else facts.seed,
                "key": facts.key,
                "older_code": facts.is_older,
                "map": facts.map_name,
                **_rules(facts),
            },
        )


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


def _seat(game: GameMeasures, power: str) -> Row:
    return {"power": power, "policy": game.facts.players.get(power, ""), "deviates": power in game.deviators}


def _end(game: GameMeasures, power: str) -> Row:
    return {
        "years_played": game.years_played,
        "welfare": game.welfare[power],
        "welfare_per_year": game.welfare_per_year[power],
        "score": game.scores[power],
        "centers": game.centers[power],
        "units": game.units[power],
    }


def _by_year(curves: YearlyCurves) -> Row:
    return {
        f"{name}_{year}": value
        for name in CURVES
        for year, value in zip(curves.years, getattr(curves, name), strict=True)
    }
