"""Saved games: text and bytes of all kinds, and files that are none."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.hostile.doors import Broken, Door
from benchmarks.hostile.text import junk, mangled, nested, nonsense, pick
from welfare_env import Game, Rules
from welfare_env.errors import RecordError, RulesError, YearError
from welfare_env.game.record import digest_of

FOLDER = Path(tempfile.mkdtemp(prefix="welfare-env-hostile-"))


def _played() -> Game:
    game = Game("pure", Rules(years=1, message_rounds=1, transfers=True))
    game.send("FRANCE", "GERMANY", "Munich is yours.")
    game.submit("FRANCE", ["A PAR - BER", "A PAR - MOS"], strict=False)
    while not game.is_done:
        game.advance()
    return game


GAME = _played()
TEXT = json.dumps(GAME.record())
WORDS = (
    "{",
    "}",
    "[",
    "]",
    '"phases"',
    '"state"',
    '"welfare_env"',
    '"map"',
    ":",
    ",",
    "1",
    "null",
    '"pure"',
    '"S1901M"',
    '"units"',
    "NaN",
)
ODD_FILES = ("pipe", "zero", "null", "folder", "nowhere/game.json", "x" * 300, "loop", "\ud800", "a\0b", "")


def _bytes(rng: np.random.Generator) -> bytes:
    kind = rng.random()
    if kind < 0.4:
        return mangled(rng, TEXT).encode("utf-8", "surrogatepass")
    if kind < 0.6:
        raw = bytearray(TEXT.encode())
        for at in rng.integers(len(raw), size=int(rng.integers(1, 4))).tolist():
            raw[at] ^= 1 << int(rng.integers(8))
        return bytes(raw)
    if kind < 0.7:
        return TEXT.replace('"years": 1', f'"years": {nested(rng, "[", "]", "1")}', 1).encode()
    if kind < 0.8:
        return nested(rng, pick(rng, ("[", '{"phases":[')), pick(rng, ("]", "]}")), "1").encode()
    return (
        nonsense(rng, WORDS, 40).encode("utf-8", "surrogatepass") if kind < 0.9 else rng.bytes(int(rng.integers(200)))
    )


def _load(content: bytes) -> None:
    """What is loaded without more ado is the game that was saved."""
    path = FOLDER / f"{os.getpid()}.json"
    path.write_bytes(content)
    if Game.load(path).record() != GAME.record():
        raise Broken("another game was loaded")


def _changed(rng: np.random.Generator) -> tuple[Any, bool]:
    """A record with a few values replaced by junk; and whether its digest is made anew."""
    record = json.loads(TEXT)
    for _ in range(int(rng.integers(1, 4))):
        parent, keys = record, []
        while isinstance(parent, (dict, list)) and parent:
            keys = list(parent) if isinstance(parent, dict) else list(range(len(parent)))
            key = keys[int(rng.integers(len(keys)))]
            if not isinstance(parent[key], (dict, list)) or not parent[key] or rng.random() < 0.1:
                parent[key] = (
                    mangled(rng, parent[key]) if isinstance(parent[key], str) and rng.random() < 0.6 else junk(rng)
                )
                break
            parent = parent[key]
    return record, bool(rng.random() < 0.5)


def _replay(given: tuple[Any, bool]) -> None:
    record, anew = given
    if anew and isinstance(record, dict) and isinstance(record.get("welfare_env"), dict):
        try:
            record["welfare_env"]["sha256"] = digest_of(record)
        except (TypeError, ValueError, RecursionError):
            raise RecordError("no JSON") from None
    Game.from_record(record, allow_edited=not anew).record()


def _odd_file(rng: np.random.Generator) -> tuple[Any, Any, Any]:
    for name, make in (("pipe", os.mkfifo), ("folder", os.mkdir)):
        if not os.path.lexists(FOLDER / name):
            make(FOLDER / name)
    for name, target in (("zero", "/dev/zero"), ("null", "/dev/null"), ("loop", FOLDER / "loop")):
        if not os.path.lexists(FOLDER / name):
            os.symlink(target, FOLDER / name)
    path: Any = str(FOLDER / pick(rng, ODD_FILES)) if rng.random() < 0.6 else junk(rng)
    engine, map_name = (junk(rng) if rng.random() < 0.2 else right for right in ("fast", None))
    return path, engine, map_name


def _load_odd(given: tuple[Any, Any, Any]) -> None:
    Game.load(*given)


def _save_odd(given: tuple[Any, Any, Any]) -> None:
    path = given[0]
    if isinstance(path, str) and not path.startswith(str(FOLDER)):
        path = str(FOLDER / path[:20].replace("/", "").replace("\0", "")) + path[20:300]
    GAME.save(path)


def _year(rng: np.random.Generator) -> object:
    return junk(rng) if rng.random() < 0.8 else int(rng.integers(1899, 1904))


DOORS = [
    Door("Game.load of damaged bytes", _bytes, _load, (RecordError,), 40_000),
    Door("from_record of changed records", _changed, _replay, (RecordError,), 20_000),
    Door("Game.load of odd files", _odd_file, _load_odd, (RecordError, RulesError), 30_000),
    Door("Game.save to odd files", _odd_file, _save_odd, (RecordError,), 5_000),
    Door("Game.after_year", _year, GAME.after_year, (YearError,), 30_000),
]
