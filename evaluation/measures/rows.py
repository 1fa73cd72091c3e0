"""Games as rows of a table: one a game and power, or one a game, power and year.

| column | what it holds |
|---|---|
| profile, deviator, coalition | the condition: the profile as given, what deviates from it, and who ("ENGLAND+TURKEY"); the last two are "" where nobody deviates |
| game, seed, key | which game of its condition (from 0), its seed, and its key in the store; games of the same seed are paired |
| older_code | whether the game was found in the store, played by code that has changed since |
| map, variant, scoring, press, message_rounds, years, simultaneous, other_rules | what was played; other_rules tells the rules that are not as usual |
| power, policy, deviates | the seat, who plays in it, and whether it is of the coalition |
| years_played, welfare, welfare_per_year, score, centers, units | how the game ended for the power; welfare is nan in variant "standard" |
| welfare_1901, centers_1901, units_1901, ... | the same after the Winter of each year; nan after the end of a game |

Rows by year have year, welfare, centers and units in place of the last two lines.
"""  # noqa: E501 (a table)

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from evaluation.measures.metrics import GameFacts, GameMeasures, YearlyCurves
from welfare_env.errors import WelfareEnvError
from welfare_env.rules import Rules

if TYPE_CHECKING:
    import pandas as pd

Row = dict[str, str | int | float | bool]

CURVES = ("welfare", "centers", "units")
_NAMED_RULES = ("variant", "scoring", "press", "message_rounds", "years")


class TableError(WelfareEnvError):
    """A table cannot be made or written. The message says what is missing."""


def game_rows(games: Sequence[GameMeasures], profile: str, deviator: str = "") -> list[Row]:
    """A row a game and power, in the sequence of the games; all have the same columns.

    Args:
        games: of one condition; the first is game 0.
        profile, deviator: of the condition. The coalition is told by the games.
    """
    return same_columns(
        condition | _seat(game, power) | _end(game, power) | _by_year(curves)
        for game, condition in _conditions(games, profile, deviator)
        for power, curves in game.power_curves.items()
    )


def year_rows(games: Sequence[GameMeasures], profile: str, deviator: str = "") -> list[Row]:
    """A row a game, power and year that was played to its end; as `game_rows`."""
    return [
        condition | _seat(game, power) | {"year": year} | {name: getattr(curves, name)[place] for name in CURVES}
        for game, condition in _conditions(games, profile, deviator)
        for power, curves in game.power_curves.items()
        for place, year in enumerate(curves.years)
    ]


def same_columns(rows: Iterable[Row]) -> list[Row]:
    """Rows of games of different lengths, all with the same columns: nan where a game had ended."""
    found = list(rows)
    fixed = list(dict.fromkeys(name for row in found for name in row if not _is_of_year(name)))
    years = sorted({name.partition("_")[2] for row in found for name in row if _is_of_year(name)})
    columns = [*fixed, *(f"{curve}_{year}" for curve in CURVES for year in years)]
    return [{name: row.get(name, math.nan) for name in columns} for row in found]


def frame(rows: Sequence[Row]) -> pd.DataFrame:
    """Rows as a table of pandas.

    Raises:
        TableError: pandas is not installed.
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise TableError(missing("to_frame()", "pandas")) from error
    return pd.DataFrame(list(rows))


def missing(what: str, package: str) -> str:
    """What to install."""
    return (
        f"{what} needs {package}: pip install {package}, or the extra tables: in the clone, pip install -e '.[tables]'"
    )


def _is_of_year(column: str) -> bool:
    name, _, year = column.partition("_")
    return name in CURVES and year.isdecimal()


def _conditions(games: Sequence[GameMeasures], profile: str, deviator: str) -> Iterator[tuple[GameMeasures, Row]]:
    """Each game with the columns that all its rows share."""
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
