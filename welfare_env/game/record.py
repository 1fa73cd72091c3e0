"""Saved games: JSON, a superset of the `diplomacy` package's format, readable by its viewers.

A record is ``{"id", "map", "rules", "phases": [...], "welfare_env": {...}}``. A phase has the position at its start
(``state``), ``orders``, ``results``, ``messages`` and, in addition to the package's format, ``void`` (refused orders
with reasons); the last entry is the current position. ``welfare_env`` holds the format number, our `Rules`, the number
of centers, years played, scores, the digest of a map file and the SHA-256 of all this; callers may add keys to it,
which the SHA-256 leaves out. Records do not depend on the time or the machine.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from welfare_env.board.maps import is_known, map_digest
from welfare_env.checks import quoted
from welfare_env.engine import ADJUSTMENTS
from welfare_env.errors import RecordError, WelfareEnvError
from welfare_env.game.history import PhaseRecord, Void
from welfare_env.game.position import Position
from welfare_env.game.press import Message
from welfare_env.rules import Rules
from welfare_env.writing import replaced

OURS = "welfare_env"  # the id of games saved by this package
FORMAT = 2
OWN_KEYS = ("format", "rules", "num_centers", "years_played", "scores", "winner", "map_digest")
LARGEST_FILE = 64 * 2**20  # bytes; ten years of full press take one or two MB
COMPLETED = "COMPLETED"


def to_record(
    history: Sequence[PhaseRecord],
    position: Position,
    orders: dict[str, tuple[str, ...]],
    void: dict[str, tuple[Void, ...]],
    messages: tuple[Message, ...],
) -> dict[str, Any]:
    """A game as plain JSON types.

    Args:
        history: the phases played.
        position: the current one, with its orders, refused orders and messages so far.
    """
    clock = itertools.count()  # instead of times: the package's format needs a unique number for each message
    phases = [_phase(past.position, past.orders, past.void, past.results, past.messages, clock) for past in history]
    phases.append(_phase(position, orders, void, {}, messages, clock))
    board, winner = position.board, position.state.winner
    record: dict[str, Any] = {
        "id": OURS,
        "map": board.name,
        "rules": [*([] if position.engine.rules.has_press else ["NO_PRESS"]), "POWER_CHOICE"],  # the package's own
        "phases": phases,
        "welfare_env": {
            "format": FORMAT,
            "rules": position.engine.rules.to_dict(),
            "num_centers": len(board.centers),
            "years_played": _years_played(history, position),
            "scores": dict(position.scores),
            "winner": board.powers[winner] if winner >= 0 else None,
        }
        | ({"map_digest": board.digest} if board.digest else {}),
    }
    record["welfare_env"]["sha256"] = digest_of(record)
    return record


def digest_of(record: dict[str, Any]) -> str:
    """SHA-256 of a record as canonical JSON, without keys that callers added."""
    ours = {key: record.get(key) for key in ("id", "map", "rules", "phases")}
    extra = record["welfare_env"]
    text = json.dumps([ours, {key: extra.get(key) for key in OWN_KEYS}], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _years_played(history: Sequence[PhaseRecord], position: Position) -> int:
    """Years finished since the game began, in whatever year that was."""
    state = position.state
    first = history[0].position.state.year if history else state.year
    return state.year - first + state.done


def _phase(
    position: Position,
    orders: dict[str, tuple[str, ...]],
    void: dict[str, tuple[Void, ...]],
    results: dict[str, list[str]],
    messages: tuple[Message, ...],
    clock: Iterator[int],
) -> dict[str, Any]:
    return {
        "name": position.phase,
        "state": _state(position),
        "orders": {power: list(texts) for power, texts in orders.items()},
        "results": results,
        "messages": [_message(message, next(clock)) for message in messages],
        "void": {
            power: [{"order": order.order, "reason": order.reason} for order in refused]
            for power, refused in void.items()
        },
    }


def _state(position: Position) -> dict[str, Any]:
    board, dislodged = position.board, position.dislodged
    standing = {power: [*units, *(f"*{unit}" for unit in dislodged[power])] for power, units in position.units.items()}
    return {
        "name": position.phase,
        "units": standing,
        "retreats": {p: {unit: list(places) for unit, places in units.items()} for p, units in dislodged.items()},
        "centers": {power: list(centers) for power, centers in position.centers.items()},
        "homes": {power: list(homes) for power, homes in board.homes.items()},
        "influence": {power: list(provinces) for power, provinces in position.influence.items()},
        "civil_disorder": dict.fromkeys(board.powers, 0),
        "builds": _builds(position),
        "welfare": dict(position.welfare),
    }


def _builds(position: Position) -> dict[str, dict[str, Any]]:
    """The package's entry for Winter: number of units to build (negative: to remove) and build sites."""
    builds, disbands = position.adjustments
    counts = {}
    for number, power in enumerate(position.board.powers):
        is_building = position.state.phase_type == ADJUSTMENTS and builds[number] > 0
        names = map(position.slot_name, position.slots(number)) if is_building else ()
        homes = [name for name in names if name in position.board.homes[power]]
        counts[power] = {"count": int(builds[number] - disbands[number]), "homes": homes}
    return counts


def _message(message: Message, number: int) -> dict[str, Any]:
    return {
        "sender": message.sender,
        "recipient": message.recipient,
        "message": message.text,
        "phase": message.phase,
        "time_sent": number,
        "round": message.round,
    }


# Files.


def save_record(record: dict[str, Any], path: str | os.PathLike[str]) -> None:
    """Write a record. Writes are atomic.

    Raises:
        RecordError: the file cannot be written.
    """
    save_text(json.dumps(record, ensure_ascii=False), path)


def save_text(text: str, path: str | os.PathLike[str]) -> None:
    """Write a text to a file as UTF-8. Writes are atomic.

    Raises:
        RecordError: the file cannot be written.
    """
    target = file_path(path)
    try:
        if target.exists() and not target.is_file():  # a folder, or a device or pipe: do not replace it
            raise RecordError(f"cannot write {str(target)!r:.300}: it is not a regular file")
        with replaced(target) as draft:
            draft.write_bytes(text.encode())
    except (OSError, UnicodeError) as error:
        raise RecordError(f"cannot write {str(target)!r:.300}: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return "the name or the text is not valid Unicode"


def file_path(path: object) -> Path:
    """The path of a file.

    Raises:
        RecordError: not a path.
    """
    name = os.fspath(path) if isinstance(path, (str, os.PathLike)) else None
    if isinstance(name, str) and "\0" not in name and Path(name).name:
        return Path(name)
    raise RecordError(f"path {quoted(path)}: give the path of a file")


def load_record(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read a record.

    Raises:
        RecordError: the file is missing, not a regular file, too large, or not the JSON of a saved game.
    """
    name, content = repr(str(file_path(path)))[:300], read_content(path)
    try:
        record = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise RecordError(f"{name} is damaged or not a saved game (JSON expected): {error!s:.200}") from error
    if not isinstance(record, dict) or not isinstance(record.get("phases"), list) or not record["phases"]:
        raise RecordError(f'{name} is not a saved game: it has no list of "phases"')
    return record


@contextlib.contextmanager
def opened(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file that may contain saved games, to be read within the block.

    Raises:
        RecordError: the file is missing, not a regular file, or (within the block) not text.
    """
    source = file_path(path)
    name = repr(str(source))[:300]
    try:
        if source.exists() and not source.is_file():  # checked before opening: a pipe would wait for a writer
            raise RecordError(f"cannot read {name}: it is not a regular file")
        with source.open("rb") as file:
            yield file
    except (OSError, UnicodeError) as error:
        raise RecordError(f"cannot read {name}: {_reason(error)}") from error


def read_content(path: str | os.PathLike[str]) -> str:
    """The text of a file that may be a saved game.

    Raises:
        RecordError: the file is missing, not a regular file, too large, or not text.
    """
    with opened(path) as file:
        content = file.read(LARGEST_FILE + 1)
        if len(content) > LARGEST_FILE:
            name = repr(str(path))[:300]
            raise RecordError(f"{name} has more than {LARGEST_FILE} bytes: no saved game is that large")
        return content.decode()


# Replaying a record.


@contextlib.contextmanager
def checked(record: dict[str, Any], allow_edited: bool) -> Iterator[None]:
    """Check a record's SHA-256; within the block, errors of the replay become a `RecordError`.

    Raises:
        RecordError: a part is missing, malformed or (unless allowed) edited.
    """
    try:
        if "welfare_env" not in record:
            raise RecordError("not a saved game of welfare_env: see import_game for those of other programs")
        if record["welfare_env"]["format"] != FORMAT:
            raise RecordError(f"format {record['welfare_env']['format']!r:.40}; this version reads {FORMAT}")
        if not allow_edited and record["welfare_env"].get("sha256") != digest_of(record):
            raise RecordError(
                "it was edited, or does not match its SHA-256. To replay it nevertheless, pass allow_edited=True"
            )
        yield
    except WelfareEnvError as error:
        raise RecordError(f"saved game is damaged: {error}") from error
    except (KeyError, TypeError, AttributeError, ValueError, IndexError, RecursionError) as error:
        raise RecordError(f"saved game is damaged: {type(error).__name__}: {error!s:.200}") from error


def opening(record: dict[str, Any], map_name: str | None) -> dict[str, Any]:
    """The first position of a record, as the arguments of `Game.from_position`."""
    name = _map_name(record, map_name)
    then, now = record["welfare_env"].get("map_digest", ""), map_digest(name)
    if then != now:
        reason = f"its digest was {then!s:.16}..., that of {name!r} is {now[:16] or 'none, it is known by name'}"
        raise RecordError(f"the map is not that of the saved game, or has changed since: {reason}")
    state = record["phases"][0]["state"]
    return {
        "phase": record["phases"][0]["name"],
        "units": {power: [unit for unit in units if unit[0] != "*"] for power, units in state["units"].items()},
        "centers": state["centers"],
        "dislodged": {power: retreats for power, retreats in state["retreats"].items() if retreats},
        "welfare": state["welfare"],
        "rules": Rules.from_dict(record["welfare_env"]["rules"]),
        "map_name": name,
    }


def _map_name(record: dict[str, Any], map_name: str | None) -> str:
    """A record's map: an installed map or a toy board; or a map file, if the caller gives its path."""
    name = map_name if map_name is not None else record["map"]
    if map_name is None and not (isinstance(name, str) and is_known(name)):
        raise RecordError(f"it is on the map {name!r:.100}: to read a map file, give map_name=PATH")
    return name


def compare(replayed: dict[str, Any], record: dict[str, Any]) -> None:
    """Check that the replayed game has the same record, except for keys that callers added to "welfare_env".

    Raises:
        RecordError: the records differ.
    """
    ours = json.loads(json.dumps(replayed))
    extra = {key: value for key, value in ours["welfare_env"].items() if key not in ("sha256", "map_digest")}
    for mine, theirs in zip(ours["phases"], record["phases"], strict=True):
        _compare_parts(mine, theirs, f"phase {mine['name']}")
    _compare_parts(extra, record["welfare_env"], "welfare_env")


def _compare_parts(ours: dict[str, Any], theirs: dict[str, Any], where: str) -> None:
    for key, value in ours.items():
        if json.loads(json.dumps(theirs[key])) != value:
            raise RecordError(f"{key} of {where}: recorded {theirs[key]!r:.200}, replayed {value!r:.200}")
