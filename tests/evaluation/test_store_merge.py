"""Games from one store to another: checked, never in place of what is there, and by any number of processes."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from evaluation import GameStore, StoreError
from evaluation.cli.commands import app
from evaluation.play.store import specification_key
from tests.evaluation.conftest import call
from tests.evaluation.test_store import change


def game(seed: int) -> dict[str, Any]:
    return {"seed": seed, "players": {"FRANCE": "dove"}}


def key(seed: int) -> str:
    return specification_key(game(seed))


def filled(path: Path, seeds: range, note: str = "") -> Path:
    with GameStore(path) as store:
        for seed in seeds:
            store.put(game(seed), {"phases": [], "seed": seed, "note": note})
    return path


def rows(path: Path) -> dict[str, tuple[Any, ...]]:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        return {row[0]: row for row in connection.execute("SELECT * FROM games")}


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    return filled(tmp_path / "theirs.sqlite", range(50))


@pytest.fixture
def ours(tmp_path: Path) -> Iterator[GameStore]:
    with GameStore(filled(tmp_path / "ours.sqlite", range(45, 60))) as store:
        yield store


def test_what_is_missing_is_added_as_it_is(ours: GameStore, theirs: Path) -> None:
    before, source = rows(ours.path), rows(theirs)
    copied = ours.merge(theirs)
    assert set(copied.added) == {key(seed) for seed in range(45)}
    assert set(copied.present) == {key(seed) for seed in range(45, 50)}
    assert copied.differing == []
    assert rows(ours.path) == source | before
    assert rows(theirs) == source
    assert ours.get(game(3)) == {"phases": [], "seed": 3, "note": ""}
    again = ours.merge(theirs)
    assert (again.added, len(again.present)) == ([], 50)


def test_nothing_that_is_there_is_overwritten(ours: GameStore, tmp_path: Path) -> None:
    other = filled(tmp_path / "other.sqlite", range(45, 47), "another reply of the model")
    before = rows(ours.path)
    copied = ours.merge(other)
    assert set(copied.differing) == {key(45), key(46)}
    assert (copied.added, copied.present) == ([], [])
    assert rows(ours.path) == before


@pytest.mark.parametrize(
    ("column", "value"),
    [("record", b"\0"), ("specification", "{}"), ("created", "yesterday"), ("key", "0" * 64), ("key", b"\xff")],
)
def test_a_store_with_a_damaged_game_is_refused(ours: GameStore, theirs: Path, column: str, value: object) -> None:
    change(theirs, f"UPDATE games SET {column} = ? WHERE key = ?", value, key(7))  # noqa: S608 (our own words)
    before = rows(ours.path)
    with pytest.raises(StoreError, match=value if column == "key" and isinstance(value, str) else r"theirs\.sqlite"):
        ours.merge(theirs)
    assert rows(ours.path) == before


def test_some_games_only(ours: GameStore, theirs: Path, tmp_path: Path) -> None:
    assert ours.merge(theirs, [key(3), key(3), key(4)]).added == [key(3), key(4)]
    for wrong in ("", "0" * 64, key(99)):
        with GameStore(tmp_path / "none.sqlite") as new, pytest.raises(StoreError, match="there is no game"):
            new.merge(theirs, [key(3), wrong])
    assert not (tmp_path / "none.sqlite").exists()


def test_files_that_are_no_store(ours: GameStore, tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "text").write_text("agent,score\n" * 100)
    for path, words in {
        tmp_path / "none.sqlite": "there is no store",
        tmp_path / "empty": "not a store",
        tmp_path / "text": "not a database",
        tmp_path: "is a folder",
        Path("a\0b"): "there is no store",
        Path("y" * 5000): "there is no store",
        ours.path: "source and target are the same store",
    }.items():
        with pytest.raises(StoreError, match=words) as caught:
            ours.merge(path)
        assert len(str(caught.value)) < 1000
    for path in (tmp_path / "text", tmp_path):
        with GameStore(path) as other, pytest.raises(StoreError):
            other.merge(ours.path)
    assert (tmp_path / "text").read_text() == "agent,score\n" * 100
    assert not (tmp_path / "none.sqlite").exists()
    assert ours.count() == 15


@pytest.fixture
def read_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a read-only disk."""
    monkeypatch.setattr("agents.runtime.storage.os.access", lambda *_: False)


def test_a_read_only_store_can_be_read(theirs: Path, read_only: None) -> None:
    with GameStore(theirs) as store:
        assert store.get(game(3)) == {"phases": [], "seed": 3, "note": ""}
        assert store.count() == 50
        with pytest.raises(StoreError, match="readonly database"):
            store.put(game(99), {})
        assert store.count() == 50


def test_a_read_only_store_with_a_log_is_not_read_without_it(theirs: Path, read_only: None) -> None:
    Path(f"{theirs}-wal").write_bytes(b"newer games")
    with pytest.raises(StoreError, match="newest entries"), GameStore(theirs) as store:
        store.count()


def test_the_commands(theirs: Path, tmp_path: Path) -> None:
    out, ours, more = (tmp_path / f"{name}.sqlite" for name in ("out", "ours", "more"))
    told = call("store", "export", out, key(3)[:10], key(4)[:10], "--store", theirs)
    assert told == f"{out}: games added: 2, already there: 0\n"
    assert call("store", "export", out, "--store", theirs).endswith("games added: 48, already there: 2\n")
    assert call("store", "merge", out, "--store", ours) == f"{ours}: games added: 50, already there: 0\n"
    filled(more, range(45, 55), "other")
    done = CliRunner().invoke(app, ["store", "merge", str(more), "--store", str(ours), "--json"])
    found = json.loads(done.stdout)
    assert {name: len(found[name]) for name in found} == {"added": 5, "present": 0, "differing": 5}
    assert f"not copied: {key(45)[:8]}: the store has a different record of this game" in done.stderr
    change(more, "UPDATE games SET record = x'00' WHERE key = ?", key(52))
    assert key(52) in call("store", "merge", more, "--store", ours, code=2)
    for store, fault in (("none.sqlite", "there is no store yet"), ("out.sqlite", "are the same store")):
        assert fault in call("store", "export", out, "--store", tmp_path / store, code=2)
