"""What the tests of games share: stores on disk, their raw contents, and a count of what is played."""

import json
import sqlite3
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from evaluation import GameSpec, GameStore
from evaluation.play import runner


class Row(NamedTuple):
    """A finished game as it lies in the file."""

    key: str
    specification: dict[str, Any]
    record: dict[str, Any]
    created: float


@pytest.fixture
def store_path(tmp_path: Path) -> Path:
    return tmp_path / "games.sqlite"


@pytest.fixture
def kept(store_path: Path) -> Iterator[GameStore]:
    with GameStore(store_path) as store:
        yield store


@pytest.fixture
def rows_of() -> Callable[[Path], list[Row]]:
    """All games of a store, in order of their keys, read without any code of ours."""

    def read(path: Path) -> list[Row]:
        connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        try:
            found = connection.execute("SELECT key, specification, record, created FROM games ORDER BY key").fetchall()
        finally:
            connection.close()
        return [
            Row(key, json.loads(specification), json.loads(zlib.decompress(record)), created)
            for key, specification, record, created in found
        ]

    return read


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> list[GameSpec]:
    """Grows by each game that this process plays; those found in a store are not played."""
    specs: list[GameSpec] = []
    play = runner.play_game

    def counted(spec: GameSpec, models: Any = None) -> dict[str, Any]:
        specs.append(spec)
        return play(spec, models)

    monkeypatch.setattr(runner, "play_game", counted)
    return specs
