"""The columns of tables, as docs/results.md describes them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

PAGE = Path(__file__).resolve().parents[1] / "docs" / "results.md"


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
    page = PAGE.read_text(encoding="utf-8")
    found = re.search(rf"<!-- columns:{table} -->\n(.*?)<!-- columns:end -->", page, re.DOTALL)
    assert found is not None, table
    rows = [line.strip("|").split("|") for line in found[1].strip().splitlines()[2:]]
    return [Column(*(cell.strip() for cell in row)) for row in rows]
