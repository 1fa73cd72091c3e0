"""Damaged files of stores and caches."""

import functools
import tempfile
from pathlib import Path

from hypothesis import strategies as st

from agents.lm import Block, Reply, Request, ScriptedModel
from agents.lm.models.cache import ResponseCache, reply_key
from evaluation import GameStore, StoreError
from tests.fuzz.hunting import damaged, hunt
from welfare_env import WelfareEnvError


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
