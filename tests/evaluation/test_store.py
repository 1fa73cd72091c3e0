"""The store: what is put is found again, by any process, after any crash, and of no other players; or an error says why
not. Games go from one store to another checked, and never in place of what is there."""

import itertools
import json
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
from typer.testing import CliRunner

import agents
import evaluation
from agents.lm.errors import ConfigError
from agents.lm.models.shared_models import SharedModels
from agents.lm.stub import StubServer
from agents.specs import read
from evaluation.cli.commands import app
from evaluation.play import sources
from evaluation.play import store as module
from evaluation.play.sources import code_of, digest_of
from evaluation.play.store import GameStore, StoreError, specification_key
from tests.evaluation.conftest import call
from welfare_env import Rules

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


# From one store to another


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


# Which changes give a game another key, so that the store does not answer with games of other players

TOY = {"rules": Rules(years=1, press=None), "map_name": "clique:3"}


def told(policy: str) -> dict[str, Any]:
    """All that decides a game."""
    return evaluation.Setting(**TOY).games(agents.specs.read_profile(policy), 1)[0].to_dict()


def key_of(policy: str) -> str:
    return specification_key(told(policy))


@pytest.fixture
def player(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of a player of the user's, in the current folder."""
    file = tmp_path / "player_of_test.py"
    file.write_text(
        "from agents import HoldPolicy\n\nclass Mine(HoldPolicy):\n"
        "    def __init__(self, path='', k=1):\n        super().__init__()\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return file


def test_a_changed_class_of_the_users_has_another_key(player: Path) -> None:
    policy = "import:player_of_test.Mine"
    before, others = key_of(policy), key_of("dove")
    player.write_text(player.read_text() + "# changed\n")
    assert key_of(policy) != before
    assert key_of("dove") == others


def test_a_changed_file_that_an_option_names_has_another_key(player: Path) -> None:
    policy, file = "import:player_of_test.Mine,path=ck", player.parent / "ck"
    missing = key_of(policy)
    file.write_bytes(b"weights")
    before = key_of(policy)
    file.write_bytes(b"other weights")
    assert len({missing, before, key_of(policy), key_of("import:player_of_test.Mine")}) == 4
    nested = "exploiter:nice=(import:player_of_test.Mine,path=ck),attack=dumbbot"
    before = key_of(nested)
    file.write_bytes(b"weights again")
    assert key_of(nested) != before


def test_every_file_of_a_folder_counts_by_its_name_and_content(player: Path) -> None:
    policy, folder = "import:player_of_test.Mine,path=ck", player.parent / "ck"
    (folder / "deep").mkdir(parents=True)
    keys = [key_of(policy)]
    (folder / "deep" / "weights").write_bytes(b"1")
    keys.append(key_of(policy))
    (folder / "deep" / "weights").write_bytes(b"12")
    keys.append(key_of(policy))
    (folder / "deep" / "weights").rename(folder / "deep" / "other")
    keys.append(key_of(policy))
    assert len(set(keys)) == 4
    here = digest_of([folder])
    assert digest_of([folder.rename(player.parent / "moved")]) == here


def test_a_checkpoint_of_ours_counts_byte_by_byte(player: Path) -> None:
    pytest.importorskip("safetensors")
    folder = player.parent / "trained"
    folder.mkdir()
    for name in ("checkpoint.json", "weights.safetensors"):
        (folder / name).write_bytes(b"1")
    before = code_of([read("rl:trained")])
    (folder / "weights.safetensors").write_bytes(b"12")
    assert code_of([read("rl:trained")]) != before
    assert code_of([read("dove")])["own_files"] == ""


def test_versions_and_the_revision_of_the_rules_count(monkeypatch: pytest.MonkeyPatch) -> None:
    before = key_of("dove")
    monkeypatch.setattr(sources, "RULES_REVISION", sources.RULES_REVISION + 1)
    raised = key_of("dove")
    monkeypatch.setitem(sources.VERSIONS, "welfare-env", "0.0.1")
    assert len({before, raised, key_of("dove")}) == 3


# Servers of language models


@pytest.fixture
def servers(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Names servers in the environment, which has none."""
    for name in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


def test_the_server_that_the_environment_names_counts(servers: pytest.MonkeyPatch) -> None:
    without = told("dove")
    assert told("lm:openai/x")["language_models"] == [{"model": "openai/x", "server": "https://api.openai.com/v1"}]
    servers.setenv("OPENAI_BASE_URL", "http://one:8000/v1/")
    assert told("lm:openai/x")["language_models"] == [{"model": "openai/x", "server": "http://one:8000/v1"}]
    assert told("dove") == without
    assert "language_models" not in without
    assert told("lm:scripted/stub")["language_models"] == [{"model": "scripted/stub"}]


def test_the_environment_does_not_count_where_the_spec_names_the_server(servers: pytest.MonkeyPatch) -> None:
    spec = "exploiter:nice=(lm:openai/x,base_url=http://here/v1,summariser=anthropic/y),attack=dumbbot"
    before = told(spec)
    assert before["language_models"] == [
        {"model": "anthropic/y", "server": "https://api.anthropic.com"},
        {"model": "openai/x", "server": "http://here/v1"},
    ]
    servers.setenv("OPENAI_BASE_URL", "http://elsewhere/v1")
    assert told(spec) == before
    servers.setenv("ANTHROPIC_BASE_URL", "http://elsewhere")
    assert told(spec) != before


@pytest.mark.parametrize("address", ["http://user:hunter2@host/v1", "http://host/v1?key=hunter2", "hunter2"])
def test_a_secret_in_the_environment_is_in_no_key_and_no_error(address: str, servers: pytest.MonkeyPatch) -> None:
    servers.setenv("OPENAI_BASE_URL", address)
    with pytest.raises(ConfigError, match="OPENAI_BASE_URL") as caught:
        told("lm:openai/x")
    assert "hunter2" not in str(caught.value)
    assert "hunter2" not in json.dumps(told("lm:anthropic/x"))


def test_models_that_are_shared_ask_the_server_named_now(tmp_path: Path, servers: pytest.MonkeyPatch) -> None:
    """And a game of one server is not taken for one of the other."""
    models = SharedModels()
    servers.setenv("OPENAI_API_KEY", "none")
    with StubServer() as one, StubServer() as two, evaluation.GameStore(tmp_path / "games.sqlite") as store:
        for server, other in ((one, two), (two, one)):
            servers.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
            before = other.stats["requests"]
            evaluation.self_play("PLAYERA*lm:openai/any + 2*hold", 1, store=store, models=models, **TOY)
            assert server.stats["requests"] > 0
            assert other.stats["requests"] == before
        assert store.count() == 2
