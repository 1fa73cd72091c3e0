"""Damaged files of stores, caches, checkpoints and trainings, and odd arguments of evaluations."""

import functools
import hashlib
import json
import shutil
import sqlite3
import tempfile
import zlib
from contextlib import closing, suppress
from dataclasses import fields
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import strategies as st

import agents
import evaluation
from agents.lm.models import Block, Reply, Request, ScriptedModel
from agents.lm.models.cache import ResponseCache, reply_key
from evaluation import GameSpec, GameStore, StoreError
from evaluation.cli.options import read_coalitions as read_option
from evaluation.exact import best_response
from evaluation.measures.gains import coalition_gain
from evaluation.measures.intervals import mean_estimate
from evaluation.play import games
from evaluation.play.store import specification_key
from tests.fuzz.hunting import changed, damaged, encoded, hunt, mangled, odd, plain, words
from welfare_env import Rules, WelfareEnvError, load_board

torch = pytest.importorskip("torch")

from agents.rl import checkpoint  # noqa: E402
from agents.rl.network import BoardNetwork, Size  # noqa: E402
from training import run_folder, state  # noqa: E402
from training.board.config import TrainConfig, read_years  # noqa: E402
from training.board.rewards import Reward  # noqa: E402
from training.board.seats import check_opponents, read_also, read_coalitions  # noqa: E402
from training.cli.curves import read as read_curve  # noqa: E402
from training.runs import config_of  # noqa: E402

RULES = Rules(years=1, press=None)
BOARD = load_board("clique:3")
SPEC = GameSpec(tuple((power, agents.specs.read("hold")) for power in BOARD.powers), 0, RULES, "clique:3", "fast")


def fresh(name: str, content: bytes) -> Path:
    """A file with this content, without what an earlier one of SQLite has left beside it."""
    for end in ("-wal", "-shm", "-journal"):
        Path(f"{name}{end}").unlink(missing_ok=True)
    Path(name).write_bytes(content)
    return Path(name)


# Databases

KEPT = [
    ({"seed": number, "players": {"FRANCE": "dove"}}, {"n": number, "x": "x" * (number * 199)}) for number in range(12)
]
REQUESTS = [Request((), (Block(f"question {number}"),)) for number in range(12)]
REPLIES = [Reply(f"answer {number} " * number) for number in range(12)]
STATEMENTS = [
    "UPDATE games SET created = ?", "UPDATE games SET specification = ?", "UPDATE games SET checksum = ?",
    "PRAGMA user_version = 2", "PRAGMA application_id = 7", "DROP TABLE games", "CREATE TABLE more (x)",
    "ALTER TABLE games RENAME COLUMN record TO records", "DELETE FROM games",
    "CREATE TRIGGER t BEFORE INSERT ON games BEGIN SELECT RAISE(FAIL, 'no'); END",
]  # fmt: skip


@functools.cache
def store_bytes() -> bytes:
    with tempfile.TemporaryDirectory() as place:
        with GameStore(Path(place) / "store") as store:
            for specification, record in KEPT:
                store.put(specification, record)
        return (Path(place) / "store").read_bytes()


@functools.cache
def cache_bytes() -> bytes:
    with tempfile.TemporaryDirectory() as place:
        with ResponseCache(Path(place) / "cache") as cache:
            for request, reply in zip(REQUESTS, REPLIES, strict=True):
                cache.put(reply_key(ScriptedModel([]), request), ScriptedModel([]), reply)
        return (Path(place) / "cache").read_bytes()


@hunt(st.deferred(lambda: st.tuples(damaged(store_bytes()), st.booleans())), StoreError)
def test_damaged_stores(given: tuple[bytes, bool]) -> None:
    """What is read is what was stored."""
    content, writes = given
    with GameStore(fresh("store", content)) as store:
        if writes:
            store.put({"seed": -1}, {"n": 1})
        known = [specification for specification, _ in KEPT] + [{"seed": -1}]
        assert all(game.specification in known for game in store.games())
        for specification, record in KEPT[2:5]:
            assert store.get(specification) in (None, record)


RECORDS = [b"[" * 10**5, b"5", b"{", b'{"n": "x"}', bytes(10**6), b"null", b"\xff"]
VALUES = st.none() | st.text(st.characters(codec="utf-8"), max_size=5) | st.binary(max_size=5) | st.floats()


@st.composite
def edits(draw: Any) -> tuple[str, tuple[Any, ...]]:
    """A statement and its values."""
    if draw(st.booleans()):
        statement = draw(st.sampled_from(STATEMENTS))
        return statement, tuple(draw(VALUES) for _ in range(statement.count("?")))
    key, content = specification_key(KEPT[3][0]), draw(st.sampled_from(RECORDS))
    checksum = hashlib.sha256(key.encode() + b"\n" + content).hexdigest()
    return "UPDATE games SET record = ?, checksum = ? WHERE key = ?", (zlib.compress(content), checksum, key)


@hunt(edits(), StoreError)
def test_edited_stores(given: Any) -> None:
    """By hand, with the right checksum."""
    path = fresh("store", store_bytes())
    with closing(sqlite3.connect(path)) as connection, suppress(sqlite3.IntegrityError):  # not every value fits
        connection.execute(*given)
        connection.commit()
    with GameStore(path) as store:
        store.games()
        store.get(KEPT[3][0])


@hunt(st.deferred(lambda: damaged(cache_bytes())), WelfareEnvError)
def test_damaged_caches(content: bytes) -> None:
    with ResponseCache(fresh("cache", content)) as cache:
        assert cache.get(reply_key(ScriptedModel([]), REQUESTS[3])) in (None, REPLIES[3])
        cache.models()
        cache.forget_passing()


# What a training keeps

ABOUT, WEIGHTS = "checkpoint.json", "weights.safetensors"


@functools.cache
def checkpoint_files() -> dict[str, bytes]:
    """Name -> contents."""
    network = BoardNetwork(BOARD, Size(4, 1))
    weights = {name: value.numpy() for name, value in network.state_dict().items()}
    made = checkpoint.Checkpoint(weights, network.size, "clique:3", RULES, checkpoint.vocabulary(BOARD))
    with tempfile.TemporaryDirectory() as place:
        checkpoint.save(Path(place) / "made", made)
        return {file.name: file.read_bytes() for file in (Path(place) / "made").iterdir()}


def checkpoints() -> st.SearchStrategy[Any]:
    files = checkpoint_files()
    about = changed(json.loads(files[ABOUT])).map(encoded) | damaged(files[ABOUT])
    return st.tuples(about, st.just(files[WEIGHTS])) | st.tuples(st.just(files[ABOUT]), damaged(files[WEIGHTS]))


@hunt(st.deferred(checkpoints), WelfareEnvError)
def test_damaged_checkpoints(given: tuple[bytes, bytes]) -> None:
    Path("checkpoint").mkdir(exist_ok=True)
    for name, content in zip((ABOUT, WEIGHTS), given, strict=True):
        (Path("checkpoint") / name).write_bytes(content)
    checkpoint.load("checkpoint").network()


def new_network() -> Any:
    network = torch.nn.Linear(3, 2)
    return network, torch.optim.Adam(network.parameters())


@functools.cache
def state_bytes() -> bytes:
    with tempfile.TemporaryDirectory() as place:
        state.save(Path(place), *new_network(), 4, json.dumps({"seed": 0}))
        return (Path(place) / state.STATE).read_bytes()


@hunt(st.deferred(lambda: damaged(state_bytes())), WelfareEnvError)
def test_damaged_states(content: bytes) -> None:
    """A refusal leaves the network as it was; what is read is what was saved."""
    Path("state").mkdir(exist_ok=True)
    (Path("state") / state.STATE).write_bytes(content)
    network, optimizer = new_network()
    before = network.weight.tolist()
    try:
        state.load(Path("state"), network, optimizer, json.dumps({"seed": 0}), 10)
    except WelfareEnvError:
        assert network.weight.tolist() == before
        raise
    assert content == state_bytes()


LOG = "\n".join(json.dumps({"iteration": number, "gain": 0.5}) for number in range(1, 5)) + "\n"
CONFIG = {"kind": "board", **TrainConfig(map_name="clique:3").to_dict()}


@hunt(mangled(LOG, 5) | st.just("[" * 10**5), WelfareEnvError)
def test_damaged_logs(text: str) -> None:
    Path("log").mkdir(exist_ok=True)
    (Path("log") / "log.jsonl").write_bytes(encoded(text))
    run_folder.read_log(Path("log"), 3)
    read_curve(Path("log"), "gain")


@hunt(mangled(json.dumps(CONFIG), 5) | changed(CONFIG) | st.just("[" * 10**5), WelfareEnvError)
def test_damaged_configs(config: Any) -> None:
    Path("config").mkdir(exist_ok=True)
    (Path("config") / "config.json").write_bytes(encoded(config))
    config_of(Path("config"))


PATHS = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/proc/self/mem",
    "/",
    "/etc/passwd/x",
    "y" * 300,
    "y/" * 3000,
    "a\0b",
    "\ud800",
]
DOORS = [lambda path: GameStore(path).count(), lambda path: ResponseCache(path).count(), checkpoint.load,
         lambda path: read_curve(Path(path), "gain"), lambda path: config_of(Path(path))]  # fmt: skip


@hunt(st.tuples(st.sampled_from(DOORS), st.sampled_from(PATHS)), WelfareEnvError)
def test_odd_paths(given: Any) -> None:
    given[0](given[1])
    shutil.rmtree("y", ignore_errors=True)


# Arguments

SELF_PLAY: dict[str, Any] = {
    "policy": "exploiter:nice=(dove:share=0.5),attack=hold", "games": 1, "seed": 0, "rules": RULES,
    "map_name": "clique:3", "engine": "fast", "workers": 1, "store": None, "simultaneous": False, "models": None,
}  # fmt: skip
COALITIONS = st.lists(st.sampled_from([*BOARD.powers, "NOBODY", "singles", "all-pairs"]) | odd, max_size=3)


def options(usual: dict[str, Any], **more: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """One or two of the usual arguments replaced."""
    known = {
        name: more.get(name, odd) | (mangled(value) if isinstance(value, str) else st.just(value))
        for name, value in usual.items()
    }
    names = st.lists(st.sampled_from(sorted(known)), min_size=1, max_size=2, unique=True)
    chosen = names.flatmap(lambda some: st.fixed_dictionaries({name: known[name] for name in some}))
    return chosen.map(lambda new: usual | new)


class PlaysError(Exception):
    """All arguments were accepted, and the first game begins."""


def play_nothing(*_: object, **__: object) -> None:
    raise PlaysError


@hunt(options(SELF_PLAY), WelfareEnvError, PlaysError)
def test_arguments_of_self_play(given: dict[str, Any]) -> None:
    with mock.patch.object(games, "_played", play_nothing):
        evaluation.self_play(**given)


@hunt(options(SELF_PLAY | {"deviator": "random", "coalitions": "singles"}, coalitions=COALITIONS | odd),
      WelfareEnvError, PlaysError)  # fmt: skip
def test_arguments_of_exploitability(given: dict[str, Any]) -> None:
    with mock.patch.object(games, "_played", play_nothing):
        evaluation.exploitability(**given)


GAME = {
    "players": SPEC.players,
    "seed": 0,
    "rules": RULES,
    "map_name": "clique:3",
    "engine": "fast",
    "simultaneous": False,
}
EXACT: dict[str, Any] = {"map_name": "clique:3", "profile": "hold", "powers": "PLAYERA", "years": 1, "rules": RULES}


@hunt(options(GAME), WelfareEnvError)
def test_specifications_of_games(given: dict[str, Any]) -> None:
    GameSpec(**given)


@hunt(options(EXACT), WelfareEnvError, slow=10)
def test_arguments_of_exact_best_responses(given: dict[str, Any]) -> None:
    best_response(**given)


@functools.cache
def record() -> dict[str, Any]:
    return json.loads(json.dumps(evaluation.self_play("random", 1, rules=RULES, map_name="clique:3").records[0]))


@hunt(st.deferred(lambda: changed(record(), odd)), WelfareEnvError)
def test_measuring_odd_records(given: Any) -> None:
    evaluation.measure(given)


POWERS = load_board("standard").powers
READERS = {
    "FRANCE,ENGLAND+TURKEY": lambda text: (read_option(text, POWERS), read_coalitions(text, POWERS)),
    "2,5": lambda text: read_years(text, 10),
    "inequity:0.5,0.2": Reward.parse,
    "others=inequity:1,0.5": lambda text: read_also((text,)),
    "3*others + 2*learner + 2*(mix:dove=1/2,hold=1/2)": lambda text: check_opponents(("others",), (text,), 0.0),
}  # fmt: skip


@hunt(st.sampled_from(list(READERS)).flatmap(
    lambda text: st.tuples(st.just(READERS[text]), mangled(text) | words([text, "singles", "own", "12", "+"]))),
    WelfareEnvError)  # fmt: skip
def test_texts_of_options(given: Any) -> None:
    given[0](given[1])


@hunt(st.tuples(st.lists(st.just(1.0) | odd, max_size=3) | odd, st.just(0) | odd), WelfareEnvError)
def test_intervals(given: Any) -> None:
    values, rng = given
    mean_estimate(values, rng)
    coalition_gain({"A": [1.0, 2.0]}, {"A": values}, ("A",), rng)


@hunt(st.tuples(st.sampled_from([field.name for field in fields(TrainConfig)]), odd | plain), WelfareEnvError)
def test_options_of_trainings(given: Any) -> None:
    config = TrainConfig(**{"map_name": "clique:3", given[0]: given[1]})
    json.dumps(config.to_dict())
    config.folder.name.encode("utf-8", "surrogatepass")
    if given[0] != "map_name":
        _ = config.lineup
