"""Damaged files of stores, caches, checkpoints and trainings, and odd options of trainings."""

import functools
import json
import tempfile
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from agents.lm import Block, Reply, Request, ScriptedModel
from agents.lm.models.cache import ResponseCache, reply_key
from evaluation import GameStore, StoreError
from tests.fuzz.hunting import changed, damaged, encoded, hunt, mangled, odd, plain
from welfare_env import Rules, WelfareEnvError, load_board

torch = pytest.importorskip("torch")

from agents.rl import checkpoint  # noqa: E402
from agents.rl.network import BoardNetwork, Size  # noqa: E402
from training.board.config import TrainConfig  # noqa: E402
from training.runs import config_of  # noqa: E402

RULES = Rules(years=1, press=None)
BOARD = load_board("clique:3")


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
                cache.put(reply_key(ScriptedModel([]), request), reply)
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


@hunt(st.deferred(lambda: damaged(cache_bytes())), WelfareEnvError)
def test_damaged_caches(content: bytes) -> None:
    with ResponseCache(fresh("cache", content)) as cache:
        assert cache.get(reply_key(ScriptedModel([]), REQUESTS[3])) in (None, REPLIES[3])
        cache.count()


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
    checkpoint.load("checkpoint").network_for(BOARD, RULES)


CONFIG = {"kind": "board", **TrainConfig(map_name="clique:3").to_dict()}


@hunt(mangled(json.dumps(CONFIG), 5) | changed(CONFIG) | st.just("[" * 10**5), WelfareEnvError)
def test_damaged_configs(config: Any) -> None:
    Path("config").mkdir(exist_ok=True)
    (Path("config") / "config.json").write_bytes(encoded(config))
    config_of(Path("config"))


@hunt(st.tuples(st.sampled_from([field.name for field in fields(TrainConfig)]), odd | plain), WelfareEnvError)
def test_options_of_trainings(given: Any) -> None:
    config = TrainConfig(**{"map_name": "clique:3", given[0]: given[1]})
    json.dumps(config.to_dict())
    config.folder.name.encode("utf-8", "surrogatepass")
    if given[0] != "map_name":
        _ = config.lineup
