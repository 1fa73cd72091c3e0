"""The columns of tables, as docs/reference/columns describes them."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "reference" / "columns"


class Column(NamedTuple):
    """A column of a table; capitals in its name are placeholders."""

    name: str
    dtype: str
    unit: str
    meaning: str


def columns(table: str) -> list[Column]:
    """The columns of a table, such as "games". That of years begins with those of games up to "deviates"."""
    if table == "years":
        games = columns("games")
        return games[: 1 + [one.name for one in games].index("deviates")] + _described(table)
    return _described(table)


def _described(table: str) -> list[Column]:
    with (FOLDER / f"{table}.csv").open(encoding="utf-8", newline="") as file:
        return [Column(*row) for row in list(csv.reader(file))[1:]]
