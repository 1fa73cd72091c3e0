"""Files that were damaged or put in the place of ours, and odd arguments of evaluations and trainings."""

from __future__ import annotations

import atexit
import functools
import hashlib
import json
import shutil
import sqlite3
import tempfile
import zlib
from dataclasses import fields, replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import agents
import evaluation
from agents.lm.models import Block, Reply, Request, ScriptedModel
from agents.lm.models.cache import ResponseCache, reply_key
from benchmarks.hostile.doors import Broken, Door
from benchmarks.hostile.text import junk, mangled, nonsense, pick
from evaluation import GameSpec, GameStore, StoreError
from evaluation.cli.options import read_coalitions as read_option
from evaluation.exact.best_responses import best_response
from evaluation.measures.gains import coalition_gain
from evaluation.measures.intervals import mean_estimate
from evaluation.play import games
from evaluation.play.answer_sources import replies_digest
from evaluation.play.store import specification_key
from evaluation.play.stored_games import conditions, numbered, saved_games, told
from training.board.config import TrainConfig, read_years
from training.board.rewards import Reward
from training.board.seats import check_opponents, read_also, read_coalitions
from training.cli.curves import read as read_curve
from training.files import STATE, saved_iterations
from training.runs import config_of
from welfare_env import Rules, WelfareEnvError, load_board

RULES = Rules(years=1, press=None)
BOARD = load_board("clique:3")
SPEC = GameSpec(tuple((power, agents.specs.read("hold")) for power in BOARD.powers), 0, RULES, "clique:3", "fast")
KEPT = [
    ({"seed": number, "players": {"FRANCE": "dove"}}, {"n": number, "noise": "x" * (number * 199)})
    for number in range(12)
]
REQUESTS = [Request((), (Block(f"question {number}"),)) for number in range(12)]
REPLIES = [Reply(f"answer {number} " * number) for number in range(12)]
Damage = tuple[str, Any]


@functools.cache
def _folder() -> Path:
    """Of this process."""
    folder = Path(tempfile.mkdtemp(prefix="hostile-stores-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


# Databases

STATEMENTS = (
    "UPDATE games SET created = ?", "UPDATE games SET key = ? WHERE rowid_of", "UPDATE games SET specification = ?",
    "UPDATE games SET checksum = ?", "PRAGMA user_version = 2", "PRAGMA application_id = 7", "DROP TABLE games",
    "ALTER TABLE games RENAME COLUMN record TO records", "CREATE TABLE more (x)", "DELETE FROM games",
    "CREATE TRIGGER t BEFORE INSERT ON games BEGIN SELECT RAISE(FAIL, 'no'); END",
)  # fmt: skip


def _damage(rng: np.random.Generator) -> Damage:
    """What to do to a file: a kind, and numbers or a value for it."""
    kind = pick(rng, ("flip", "flip", "flip", "cut", "swap", "zero", "other", "schema", "right", "statement"))
    return kind, (rng.random(8).tolist(), junk(rng), int(rng.integers(2**31)))


def _damaged(content: bytes, damage: Damage) -> bytes:
    kind, (places, _, number) = damage
    size = len(content)
    spots = [int(place * size) for place in places]
    data, page = bytearray(content), 4096
    match kind:
        case "flip":
            for spot in spots[: 1 + number % len(spots)]:
                data[spot] ^= 1 << number % 8
        case "schema":
            first = data.find(b"CREATE TABLE")
            data[first + number % 300 if first >= 0 else spots[0]] ^= 1 << number % 8
        case "cut":
            del data[spots[0] :]
        case "swap":
            pages = [bytes(data[start : start + page]) for start in range(0, size, page)]
            one, other = (int(place * len(pages)) for place in places[:2])
            pages[one], pages[other] = pages[other], pages[one]
            data = bytearray(b"".join(pages))
        case "zero":
            low, high = sorted(spots[:2])
            data[low:high] = bytes(high - low)
        case "other":
            data = bytearray(np.random.default_rng(number).bytes(number % 9000))
    return bytes(data)


def _bindable(value: object) -> Any:
    return value if isinstance(value, str | bytes | float | None) and value != "\ud800" else 7


@functools.cache
def _store_bytes() -> bytes:
    path = _folder() / "whole.sqlite"
    with GameStore(path) as store:
        for specification, record in KEPT:
            store.put(specification, record)
    return path.read_bytes()


def _fresh(name: str) -> Path:
    path = _folder() / name
    for end in ("", "-wal", "-shm", "-journal"):
        Path(f"{path}{end}").unlink(missing_ok=True)
    return path


def _edited(path: Path, kind: str, value: object, number: int) -> None:
    """Does to a store what our own code never would."""
    key = specification_key(KEPT[3][0])
    connection = sqlite3.connect(path)
    try:
        if kind == "right":
            texts = (
                b"[" * 10**5,
                b"5",
                b"{",
                json.dumps({"n": repr(value)[:50]}).encode(),
                bytes(10**6),
                b"null",
                b"\xff",
            )
            text = texts[number % len(texts)]
            checksum = hashlib.sha256(key.encode() + b"\n" + text).hexdigest()
            row = (zlib.compress(text), checksum, key)
            connection.execute("UPDATE games SET record = ?, checksum = ? WHERE key = ?", row)
        else:
            statement = STATEMENTS[number % len(STATEMENTS)]
            statement = statement.replace("rowid_of", f"key = '{key}'")
            connection.execute(statement, (_bindable(value),) * statement.count("?"))
        connection.commit()
    except (sqlite3.Error, UnicodeEncodeError):
        pass  # not every value can be written there
    finally:
        connection.close()


def _open_store(damage: Damage) -> None:
    kind, (_, value, number) = damage
    path = _fresh("store.sqlite")
    path.write_bytes(_damaged(_store_bytes(), damage))
    if kind in ("right", "statement"):
        _edited(path, kind, value, number)
    refused: list[StoreError] = []
    with GameStore(path) as store:
        for specification, record in KEPT[2:5]:
            try:
                found = store.get(specification)
            except StoreError as error:
                refused.append(error)
                continue
            if found not in (None, record) and kind != "right":
                raise Broken(f"another record came back: {found!r:.80}")
        if number % 8 == 0:
            store.put({"seed": -1}, {"n": 1})
        listed = store.games()
        if (
            not all(game.specification in [specification for specification, _ in KEPT] for game in listed)
            and number % 8
        ):
            raise Broken("another specification came back")
    if refused:
        raise refused[0]


@functools.cache
def _cache_bytes() -> bytes:
    path = _folder() / "whole-replies.sqlite"
    with ResponseCache(path) as cache:
        for request, reply in zip(REQUESTS, REPLIES, strict=True):
            cache.put(reply_key(ScriptedModel([]), request), ScriptedModel([]), reply)
    return path.read_bytes()


def _open_cache(damage: Damage) -> None:
    kind, (_, value, number) = damage
    path = _fresh("replies.sqlite")
    path.write_bytes(_damaged(_cache_bytes(), damage))
    key = reply_key(ScriptedModel([]), REQUESTS[3])
    if kind in ("right", "statement"):
        text = json.dumps(value if number % 2 else {"text": value, "usage": None, "faults": []}, default=repr)
        checksum = hashlib.sha256(f"{key}\n{text}".encode()).hexdigest()
        connection = sqlite3.connect(path)
        connection.execute(
            "UPDATE replies SET model = ?, reply = ?, checksum = ? WHERE key = ?", (text, text, checksum, key)
        )
        connection.commit()
        connection.close()
    with ResponseCache(path) as cache:
        found = cache.get(key)
        if kind not in ("right", "statement") and found not in (None, REPLIES[3]):
            raise Broken(f"another reply came back: {found!r:.80}")
        cache.models()
        if number % 8 == 0:
            cache.forget_passing()
    replies_digest(path)


# What a training keeps


@functools.cache
def _checkpoint() -> dict[str, bytes]:
    """Name -> contents of a checkpoint's files."""
    from agents.rl import checkpoint
    from agents.rl.network import BoardNetwork, Size

    network = BoardNetwork(BOARD, Size(4, 1))
    weights = {name: value.numpy() for name, value in network.state_dict().items()}
    made = checkpoint.Checkpoint(weights, network.size, "clique:3", RULES, checkpoint.vocabulary(BOARD))
    checkpoint.save(_folder() / "whole", made)
    return {file.name: file.read_bytes() for file in (_folder() / "whole").iterdir()}


def _checkpoint_damage(rng: np.random.Generator) -> Damage:
    _checkpoint()  # torch takes its time when it is first imported
    return _damage(rng)


def _open_checkpoint(damage: Damage) -> None:
    from agents.rl import checkpoint

    kind, (places, value, number) = damage
    files = dict(_checkpoint())
    about, weights = "checkpoint.json", "weights.safetensors"
    if kind in ("right", "statement", "swap"):
        values = json.loads(files[about])
        name = sorted(values)[int(places[0] * len(values))]
        if kind == "statement" and isinstance(values[name], dict):
            inner = sorted(values[name]) or [""]
            values[name] = values[name] | {inner[int(places[1] * len(inner))]: value}
        else:
            values[name] = value
        if number % 4 == 0:
            files[weights] = _damaged(files[weights], ("flip", damage[1]))
            values["weights"] = hashlib.sha256(files[weights]).hexdigest()
        files[about] = json.dumps(values, default=repr).encode("utf-8", "replace")
    else:
        name = (about, weights)[number % 2]
        files[name] = _damaged(files[name], damage)
    folder = _folder() / "checkpoint"
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    checkpoint.load(folder).network()


@functools.cache
def _state() -> bytes:
    import torch

    from training import run_folder as state

    network = torch.nn.Linear(3, 2)
    folder = _folder() / "whole-state"
    folder.mkdir()
    state.save(folder, network, torch.optim.Adam(network.parameters()), 4, json.dumps({"seed": 0}))
    return (folder / STATE).read_bytes()


def _state_damage(rng: np.random.Generator) -> Damage:
    _state()
    return _damage(rng)


def _open_state(damage: Damage) -> None:
    import torch

    from training import run_folder as state

    content = _state()
    after = _damaged(content, damage)
    folder = _folder() / "state"
    folder.mkdir(exist_ok=True)
    (folder / STATE).write_bytes(after)
    saved_iterations(folder)
    network = torch.nn.Linear(3, 2)
    before = network.weight.tolist()
    try:
        state.load(folder, network, torch.optim.Adam(network.parameters()), json.dumps({"seed": 0}), 10)
    except WelfareEnvError:
        if network.weight.tolist() != before:
            raise Broken("the network has changed") from None
        raise
    if after != content:
        raise Broken("a damaged state was read")


def _log(rng: np.random.Generator) -> str:
    _state()
    lines = [json.dumps({"iteration": number, "gain": 0.5}) for number in range(1, 5)]
    return mangled(rng, "\n".join(lines) + "\n", 5) if rng.random() < 0.9 else "[" * 10**5


def _open_log(text: str) -> None:
    from training import run_folder as state

    folder = _folder() / "log"
    folder.mkdir(exist_ok=True)
    (folder / "log.jsonl").write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        read_curve(folder, "gain")
    finally:
        state.read_log(folder, 3)


def _config_text(rng: np.random.Generator) -> str:
    text = json.dumps({"kind": "board", **TrainConfig(map_name="clique:3").to_dict()})
    return mangled(rng, text, 5) if rng.random() < 0.9 else "[" * 10**5


def _open_config(text: str) -> None:
    folder = _folder() / "config"
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_bytes(text.encode("utf-8", "surrogatepass"))
    config_of(folder)


# Paths


def _path(rng: np.random.Generator) -> str:
    _checkpoint()
    kinds = (
        "/dev/null",
        "/dev/zero",
        "/dev/full",
        "/proc/self/mem",
        "/",
        "/etc/passwd/x",
        "y" * 300,
        "y/" * 3000,
        "y" * 5000,
    )
    text = pick(rng, kinds) if rng.random() < 0.3 else mangled(rng, "runs/some/games.sqlite")
    return text.replace("..", "x")


def _open_path(text: str) -> None:
    from agents.rl import checkpoint

    place = _folder() / text if not text.startswith(("/dev", "/proc", "/etc")) else Path(text)
    doors = (
        lambda: GameStore(place).count(), lambda: ResponseCache(place).count(), lambda: saved_games([text], place),
        lambda: replies_digest(place), lambda: checkpoint.load(text), lambda: read_curve(place, "gain"),
        lambda: saved_iterations(place),
    )  # fmt: skip
    refused: list[WelfareEnvError] = []
    for door in doors:
        try:
            door()
        except WelfareEnvError as error:
            refused.append(error)
    if refused:
        raise refused[0]


# Arguments


class _Plays(Exception):
    """All was taken, and a game begins."""


def _begin(*_: object) -> None:
    raise _Plays


def _odd(rng: np.random.Generator, usual: dict[str, Any], texts: dict[str, str]) -> dict[str, Any]:
    """One or two of the usual arguments replaced."""
    given = dict(usual)
    for _ in range(1 + int(rng.integers(2))):
        name = pick(rng, tuple(usual))
        numbers = (10**5000, -(10**5000), 10**30, 2**63, -1, 0, 1, 0.5, float("nan"), [10**5000])
        if name in texts and rng.random() < 0.6:
            given[name] = mangled(rng, texts[name])
        elif rng.random() < 0.5:
            given[name] = numbers[int(rng.integers(len(numbers)))]
        else:
            given[name] = junk(rng)
    if callable(given.get("report")):
        given["report"] = None  # the errors of a caller's own function are its own
    return given


SELF_PLAY: dict[str, Any] = {
    "policy": "hold", "games": 1, "seed": 0, "rules": RULES, "map_name": "clique:3", "engine": "fast", "workers": 1,
    "store": None, "report": None, "simultaneous": False, "models": None,
}  # fmt: skip
TEXTS = {
    "policy": "exploiter:nice=(dove:share=0.5),attack=hold",
    "map_name": "clique:3",
    "engine": "fast",
    "deviator": "random",
}
GAME = {
    "players": SPEC.players,
    "seed": 0,
    "rules": RULES,
    "map_name": "clique:3",
    "engine": "fast",
    "simultaneous": False,
}
EXACT: dict[str, Any] = {"map_name": "clique:3", "profile": "hold", "power": "PLAYERA", "years": 1, "rules": RULES}


@functools.cache
def _warm() -> None:
    best_response(**EXACT)  # loads the kernels


def _odd_exact(rng: np.random.Generator) -> dict[str, Any]:
    _warm()
    return _odd(rng, EXACT, TEXTS)


def _some_coalitions(rng: np.random.Generator) -> Any:
    words = (*BOARD.powers, "NOBODY", "singles", "all-singles", "all-pairs")
    if rng.random() < 0.4:
        return mangled(rng, pick(rng, words))
    some = [pick(rng, words) if rng.random() < 0.8 else junk(rng) for _ in range(int(rng.integers(4)))]
    return [some] if rng.random() < 0.5 else some


def _self_play(given: dict[str, Any]) -> None:
    with mock.patch.object(games, "play", _begin), mock.patch.object(games, "_played", _begin):
        evaluation.self_play(**given)


def _exploitability(given: dict[str, Any]) -> None:
    with mock.patch.object(games, "play", _begin), mock.patch.object(games, "_played", _begin):
        evaluation.exploitability(**given)


def _exploited(rng: np.random.Generator) -> dict[str, Any]:
    given = _odd(rng, SELF_PLAY | {"deviator": "random"}, TEXTS) if rng.random() < 0.6 else dict(SELF_PLAY)
    return given | {"coalitions": _some_coalitions(rng)}


@functools.cache
def _record() -> str:
    return json.dumps(
        evaluation.play_game(
            replace(SPEC, players=tuple((power, agents.specs.read("random")) for power in BOARD.powers))
        )
    )


def _odd_record(rng: np.random.Generator) -> Any:
    """A record in which a value, somewhere, is replaced."""
    record = json.loads(_record())
    at, depth = record, int(rng.integers(1, 7))
    for step in range(depth):
        names = list(at) if isinstance(at, dict) else list(range(len(at)))
        if not names:
            break
        name = names[int(rng.integers(len(names)))]
        if step == depth - 1 or not isinstance(at[name], dict | list):
            at[name] = junk(rng)
            break
        at = at[name]
    return record


def _stored_condition(rng: np.random.Generator) -> dict[str, Any]:
    specification = SPEC.to_dict()
    name = pick(rng, tuple(specification))
    return (
        specification | {name: junk(rng)}
        if rng.random() < 0.7
        else {k: v for k, v in specification.items() if k != name}
    )


def _list_stored(specification: dict[str, Any]) -> None:
    from evaluation.play.store import StoredGame
    from evaluation.tables.game_tables import stored_table

    found = [StoredGame("0" * 64, specification, 0.0)]
    numbers = numbered(found)
    stored_table(conditions(found), numbers)
    told(found[0], numbers)


def _text(rng: np.random.Generator) -> tuple[str, str]:
    texts = {
        "cli": "FRANCE,ENGLAND+TURKEY",
        "training": "FRANCE,RUSSIA",
        "years": "2,5",
        "reward": "inequity:0.5,0.2",
        "also": "others=inequity:1,0.5",
        "against": "3*others + 2*learner + 2*(mix:dove=1/2,hold=1/2)",
    }
    kind = pick(rng, tuple(texts))
    good = texts[kind]
    return kind, mangled(rng, good) if rng.random() < 0.8 else nonsense(rng, [good, "singles", "own", "12", "+"])


def _read_text(given: tuple[str, str]) -> None:
    kind, text = given
    powers = load_board("standard").powers
    match kind:
        case "cli":
            read_option(text, powers)
        case "training":
            read_coalitions(text, powers)
        case "years":
            read_years(text, 10)
        case "also":
            read_also((text,))
        case "against":
            check_opponents(("others",), (text,), 0.0)
        case _:
            Reward.parse(text)


def _sample(rng: np.random.Generator) -> tuple[Any, Any]:
    values = (
        junk(rng)
        if rng.random() < 0.5
        else [junk(rng) if rng.random() < 0.3 else 1.0 for _ in range(int(rng.integers(4)))]
    )
    return values, junk(rng) if rng.random() < 0.3 else 0


def _estimate(given: tuple[Any, Any]) -> None:
    values, rng = given
    mean_estimate(values, rng)
    coalition_gain({"A": [1.0, 2.0]}, {"A": values}, ("A",), rng)


CONFIG = tuple(field.name for field in fields(TrainConfig))


def _option(rng: np.random.Generator) -> tuple[str, Any]:
    numbers = (10**5000, -(10**5000), 10**30, -1, 0, 1, 0.5, float("nan"), float("inf"))
    return pick(rng, CONFIG), numbers[int(rng.integers(len(numbers)))] if rng.random() < 0.5 else junk(rng)


def _check_option(given: tuple[str, Any]) -> None:
    name, value = given
    values: dict[str, Any] = {"map_name": "clique:3", name: value}
    config = TrainConfig(**values)
    json.dumps(config.to_dict())
    config.place.name.encode("utf-8", "surrogatepass")
    if name != "map_name":
        _ = config.lineup


REFUSALS = (WelfareEnvError,)
DOORS = [
    Door("a damaged store", _damage, _open_store, (StoreError,), 12_000),
    Door("a damaged cache of replies", _damage, _open_cache, REFUSALS, 8_000),
    Door("a damaged checkpoint", _checkpoint_damage, _open_checkpoint, REFUSALS, 6_000),
    Door("a damaged state of a training", _state_damage, _open_state, REFUSALS, 4_000),
    Door("a damaged config of a training", _config_text, _open_config, REFUSALS, 3_000),
    Door("a damaged log of a training", _log, _open_log, REFUSALS, 3_000),
    Door("paths of stores and checkpoints", _path, _open_path, REFUSALS, 600),
    Door("evaluation.self_play", lambda rng: _odd(rng, SELF_PLAY, TEXTS), _self_play, (WelfareEnvError, _Plays), 8_000),
    Door("evaluation.exploitability", _exploited, _exploitability, (WelfareEnvError, _Plays), 6_000),
    Door("evaluation.GameSpec", lambda rng: _odd(rng, GAME, TEXTS), lambda given: GameSpec(**given), REFUSALS, 3_000),
    Door("evaluation.exact", _odd_exact, lambda given: best_response(**given), REFUSALS, 1_000),
    Door("evaluation.measure", _odd_record, evaluation.measure, REFUSALS, 5_000),
    Door("what a store lists", _stored_condition, _list_stored, REFUSALS, 2_000),
    Door("texts of evaluation's and training's options", _text, _read_text, REFUSALS, 6_000),
    Door("evaluation.measures.intervals", _sample, _estimate, REFUSALS, 1_000),
    Door("options of a training", _option, _check_option, REFUSALS, 2_000),
]
