"""A journal: entries in an SQLite file, which several processes may use; each is on disk before it is confirmed.

>>> journal = Journal(path)
>>> journal.append({"kind": "enter", "seat": "FRANCE"})
>>> with journal.open() as entries:  # nobody else writes meanwhile
...     if not entries[1:]:
...         entries.append({"kind": "answer"})  # written as the block ends
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from agents.runtime.files import parse_json
from agents.runtime.storage import FileLayout
from evaluation.web.settings import SeatedGameError

_LAYOUT = FileLayout(
    application=0x57504C59,  # "WPLY"
    version=1,
    create="CREATE TABLE entries (number INTEGER PRIMARY KEY, entry TEXT NOT NULL)",
    error=SeatedGameError,
    damaged="The game is damaged: restore the file from a backup",
    seconds=60.0,
    is_durable=True,
)
_INSERT = "INSERT INTO entries (entry) VALUES (?)"


class Journal:
    """The journal in a file. All methods raise SeatedGameError if it cannot be used, or is damaged."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def entries(self) -> list[dict[str, Any]]:
        """All entries, in order."""
        with self.open() as entries:
            return entries

    def append(self, entry: Mapping[str, Any]) -> None:
        """Write an entry; it is on disk when this returns."""
        with _LAYOUT.guard(self.path), closing(_LAYOUT.connect(self.path)) as connection:
            connection.execute(_INSERT, (json.dumps(entry, allow_nan=False),))

    @contextmanager
    def open(self) -> Iterator[list[dict[str, Any]]]:
        """All entries, while nobody else writes; those that the block appends are written together at its end."""
        with _LAYOUT.guard(self.path), closing(_LAYOUT.connect(self.path)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            rows = connection.execute("SELECT number, entry FROM entries ORDER BY number").fetchall()
            entries = [self._entry(*row) for row in rows]
            yield entries
            new = [(json.dumps(entry, allow_nan=False),) for entry in entries[len(rows) :]]
            connection.executemany(_INSERT, new)
            connection.execute("COMMIT")

    def _entry(self, number: int, text: Any) -> dict[str, Any]:
        try:
            return dict(parse_json(text))
        except (ValueError, TypeError) as error:
            raise SeatedGameError(f"{self.path}: entry {number} is damaged: {error}") from error
