"""The store: what is put is found again, by any process, after any crash, or an error says why not."""

import itertools
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evaluation.play import store as module
from evaluation.play.store import GameStore, StoreError, specification_key

SPECIFICATION = {
    "map": "standard",
    "rules": {"years": 10, "variant": "welfare"},
    "players": ["prosocial"] * 7,
    "seed": 3,
}
RECORD = {"id": "3", "phases": [{"name": "COMPLETED", "messages": ["\ud83d \0 Grüße"]}], "score": 4.843}
PACKED = zlib.compress(module._written(RECORD, "record", sort_keys=False))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs" / "evaluation.sqlite"


@pytest.fixture
def store(path: Path) -> Iterator[GameStore]:
    with GameStore(path) as opened:
        yield opened


def change(path: Path, statement: str, *values: object) -> None:
    """Do to the file what our own code never would."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(statement, values)
        connection.commit()


def run_child(source: str, path: Path) -> subprocess.Popen[str]:
    """Python in a fresh process, with `store` open on the path."""
    head = f"import os, signal\nfrom evaluation.play.store import GameStore\nstore = GameStore({str(path)!r})\n"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(
        [sys.executable, "-c", head + textwrap.dedent(source)], stdout=subprocess.PIPE, text=True, env=environment
    )


class TestKey:
    def test_does_not_depend_on_order(self) -> None:
        mixed = dict(reversed(SPECIFICATION.items())) | {"rules": {"variant": "welfare", "years": 10}}
        assert specification_key(mixed) == specification_key(SPECIFICATION)
        assert specification_key({"a": (1, 2)}) == specification_key({"a": [1, 2]})

    def test_is_the_same_for_ever(self) -> None:
        # A change of this digest makes every stored game unfindable: raise RULES_REVISION on purpose instead.
        assert specification_key({"seed": 0}) == "bd0488843468e63c62bb6d1df790f0a83de90616c0906e9dbd3275d3b4100d97"

    def test_depends_on_everything_and_takes_plain_json_only(self) -> None:
        for other in ({"rules": {"years": 10}}, {"more": None}):
            assert specification_key(SPECIFICATION | other) != specification_key(SPECIFICATION)
        for value in (float("nan"), {1, 2}):
            with pytest.raises(StoreError, match="specification of a game must be plain JSON"):
                specification_key({"value": value})


def test_games_come_back_as_they_were_and_outlast_the_store(store: GameStore, path: Path) -> None:
    assert store.get(SPECIFICATION) is None
    store.put(SPECIFICATION, RECORD)
    assert store.get({"seed": 4}) is None
    store.close()
    with GameStore(str(path)) as again:
        assert again.get(SPECIFICATION) == RECORD
    store.put(SPECIFICATION, {"TURKEY": 1, "AUSTRIA": 2})  # a closed store opens again
    assert list((store.get(SPECIFICATION) or {}).items()) == [("TURKEY", 1), ("AUSTRIA", 2)]
    assert store.count() == 1


class TestDamage:
    @pytest.mark.parametrize("record", [zlib.compress(b'{"score": 5}'), PACKED[:-1]])
    def test_a_changed_record_is_found_out(self, store: GameStore, path: Path, record: object) -> None:
        store.put(SPECIFICATION, RECORD)
        change(path, "UPDATE games SET record = ?", record)
        with pytest.raises(StoreError, match=r"evaluation\.sqlite: the record of game \w+ does not match its checksum"):
            store.get(SPECIFICATION)
        store.put(SPECIFICATION, RECORD)
        assert store.get(SPECIFICATION) == RECORD

    def test_pages_that_are_damaged(self, store: GameStore, path: Path) -> None:
        for seed in range(20):
            store.put({"seed": seed}, {"noise": os.urandom(2000).hex()})
        store.close()
        content = bytearray(path.read_bytes())
        content[4096:] = b"\xff" * (len(content) - 4096)
        path.write_bytes(content)
        with pytest.raises(StoreError, match=r"malformed.*move it away or restore it"):
            store.get({"seed": 0})

    def test_another_programs_database_is_left_alone(self, path: Path) -> None:
        path.parent.mkdir()
        change(path, "CREATE TABLE photos (name TEXT)")
        before = path.read_bytes()
        with pytest.raises(StoreError, match="another program's SQLite database; choose another path"):
            GameStore(path).put(SPECIFICATION, RECORD)
        assert path.read_bytes() == before

    def test_a_file_of_another_version(self, store: GameStore, path: Path) -> None:
        store.put(SPECIFICATION, RECORD)
        change(path, "PRAGMA user_version = 99")
        with pytest.raises(StoreError, match=r"layout 99, not 1"):
            GameStore(path).get(SPECIFICATION)

    def test_an_impossible_path(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        os.mkfifo(tmp_path / "pipe")
        for name, fault in {
            "file/evaluation.sqlite": "it cannot be made",
            "": "it is a folder, not a file: choose another path",
            "pipe": "is a pipe or a device",
        }.items():
            with pytest.raises(StoreError, match=fault):
                GameStore(tmp_path / name).count()

    def test_a_store_is_its_owners_alone_and_stays_as_it_was_made(self, store: GameStore, path: Path) -> None:
        store.put(SPECIFICATION, RECORD)
        assert {file.stat().st_mode & 0o777 for file in path.parent.iterdir()} == {0o600}
        store.close()
        path.chmod(0o644)
        store.put({"seed": 5}, RECORD)
        assert path.stat().st_mode & 0o777 == 0o644

    def test_a_full_disk(self, store: GameStore) -> None:
        store.put(SPECIFICATION, RECORD)
        assert store._open_connection is not None
        store._open_connection.execute("PRAGMA max_page_count = 4")
        with pytest.raises(StoreError, match="database or disk is full"):
            store.put({"seed": 5}, {"noise": os.urandom(100_000).hex()})
        assert store.get(SPECIFICATION) == RECORD

    def test_a_bomb_is_not_unfolded(self, store: GameStore, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "LARGEST_FILE", 10_000)
        store.put(SPECIFICATION, RECORD)
        change(path, "UPDATE games SET record = ?", zlib.compress(b" " * 20_000_000))
        with pytest.raises(StoreError, match="checksum"):
            store.get(SPECIFICATION)
        with pytest.raises(StoreError, match="at most 10,000 are allowed"):
            store.put(SPECIFICATION, {"noise": "x" * 10_000})

    @pytest.mark.parametrize(
        ("column", "value"), [("key", "0" * 64), ("specification", "{}"), ("created", float("inf"))]
    )
    def test_rows_that_we_did_not_write(self, store: GameStore, path: Path, column: str, value: object) -> None:
        store.put(SPECIFICATION, RECORD)
        change(path, f"UPDATE games SET {column} = ?", value)  # noqa: S608 (our own words)
        with pytest.raises(StoreError, match="does not match its key"):
            store.games()

    @pytest.mark.parametrize("key", ["\ud800", "0" * 64])
    def test_no_such_key(self, store: GameStore, key: Any) -> None:
        with pytest.raises(StoreError, match="there is no game"):
            store.record(key)

    def test_a_file_locked_for_too_long(self, store: GameStore, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        store.put(SPECIFICATION, RECORD)
        blocker = sqlite3.connect(path, isolation_level=None)
        blocker.execute("BEGIN IMMEDIATE")
        monkeypatch.setattr(module, "_LAYOUT", replace(module._LAYOUT, seconds=0.05))
        with GameStore(path) as waiting:
            assert waiting.get(SPECIFICATION) == RECORD  # readers do not wait
            with pytest.raises(StoreError, match="database is locked"):
                waiting.put(SPECIFICATION, RECORD)
        blocker.close()


class TestProcesses:
    @pytest.mark.slow
    def test_many_write_at_once_to_a_new_file(self, path: Path) -> None:
        source = """
            for seed in range(20):
                store.put({{"seed": seed}}, {{"seed": seed, "padding": "x" * 1000}})
                store.put({{"seed": seed, "worker": {worker}}}, {{}})
        """
        with ExitStack() as running:
            workers = [running.enter_context(run_child(source.format(worker=worker), path)) for worker in range(4)]
            assert [worker.wait() for worker in workers] == [0, 0, 0, 0]
        with GameStore(path) as store:
            assert store.count() == 20 + 4 * 20
            assert all(store.get({"seed": seed}) for seed in range(20))

    @pytest.mark.slow
    def test_killed_at_any_time(self, path: Path) -> None:
        source = """
            for seed in range(100_000):
                store.put({"seed": seed}, {"seed": seed, "noise": os.urandom(20_000).hex()})
                print(seed, flush=True)
        """
        with run_child(source, path) as child:
            assert child.stdout is not None
            told = list(itertools.islice(map(int, child.stdout), 26))
            child.kill()
            told += map(int, child.stdout)
            assert child.wait() == -signal.SIGKILL
        with GameStore(path) as store:
            assert [(store.get({"seed": seed}) or {})["seed"] for seed in told] == list(range(len(told)))
            assert store.count() in (len(told), len(told) + 1)  # the last one may have been stored but not told
            store.put({"seed": -1}, {})
