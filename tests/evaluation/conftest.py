"""What the tests of games share: stores, a count of what is played, commands, and language models that are scripts."""

import json
import sqlite3
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from typer.testing import CliRunner

from agents.lm import Request, ScriptedModel
from agents.lm.models.shared_models import SharedModels
from evaluation import GameSpec, GameStore
from evaluation.cli.commands import app
from evaluation.play import runner
from tests.playing import as_the_stub

PATIENCE = 600  # seconds after which what never comes is a failure; no machine is so slow


def until(is_so: Callable[[], Any]) -> None:
    """Waits until it is so, however long the machine takes."""
    end = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.01)


def call(*words: object, code: int = 0) -> str:
    """What a command prints on a wide terminal; of one that fails, its error, and it prints nothing else."""
    outcome = CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "300"})
    assert outcome.exit_code == code, outcome.output
    assert not (code and outcome.stdout)
    return outcome.stderr if code else outcome.stdout


def table_rows(text: str) -> list[list[str]]:
    """The cells of every row of the tables that a command prints."""
    return [[cell.strip() for cell in line.split("│")[1:-1]] for line in text.splitlines() if line[:1] == "│"]


class Models(SharedModels):
    """Gives every player the same scripted model, or the one of its name."""

    def __init__(self, answer: Callable[[Request], Any] = as_the_stub, **others: Callable[[Request], Any]) -> None:
        super().__init__()
        self.model = ScriptedModel(answer)
        self.others = {name: ScriptedModel(each, name=name) for name, each in others.items()}

    def get(self, name: str, **settings: object) -> ScriptedModel:
        return self.others.get(name.partition("/")[2], self.model)


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
