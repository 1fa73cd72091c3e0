"""The status files of this machine's commands (`agents.runtime.status`), treated as untrusted input."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agents.runtime.files import parse_json, read_file
from agents.runtime.status import VERSION, born
from evaluation.web.foundation.journal import is_number

LARGEST = 2**16  # bytes of a status file
MOST_FILES = 200
MOST_STAGES = 20
LONGEST = 400  # characters of a text
SILENT = 60.0  # seconds without a heartbeat
OUTCOMES = ("finished", "interrupted", "failed")


@dataclass(frozen=True)
class Stage:
    """Progress of a part of the work: 12 of 60 games."""

    what: str
    done: int
    total: int
    unit: str


@dataclass(frozen=True)
class Run:
    """A long-running command, from its status file.

    Attributes:
        name: name of the status file.
        state: "running", its outcome ("finished", "interrupted", "failed"), "killed" (its process is gone), or
            "silent" (its process exists or is on another host, but has not updated its file for a minute).
        started, ended: in seconds since 1970; for a killed run, `ended` is the last update.
        store, folder: where its results go; "" for none.
        spent: usage of language models: tokens, dollars, max_tokens, max_dollars, as far as known.
    """

    name: str
    command: str
    state: str
    started: float
    ended: float | None
    stages: tuple[Stage, ...]
    store: str
    folder: str
    spent: Mapping[str, float]


def read_runs(folder: Path) -> list[Run]:
    """The runs in a folder of status files, active runs first, then the latest; damaged files are ignored."""
    found = sorted(folder.glob("*.json"), key=_changed, reverse=True)[:MOST_FILES]
    runs = [run for path in found if (run := read_run(path)) is not None]
    return sorted(runs, key=lambda run: (run.state == "running", run.started), reverse=True)


def _changed(path: Path) -> float:
    try:
        return path.lstat().st_mtime
    except OSError:
        return 0.0


def read_run(path: Path) -> Run | None:
    """The run of a file; None if it is damaged."""
    try:
        given = parse_json(read_file(path, LARGEST))
        return _run(path.stem, given)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def _run(name: str, given: Mapping[str, Any]) -> Run:
    if given["version"] != VERSION:
        raise ValueError("another version")
    updated, outcome = _time(given["updated"]), given["outcome"]
    state = outcome if outcome in OUTCOMES else _state(given, updated)
    return Run(
        plain(name),
        plain(given["command"]),
        state,
        _time(given["started"]),
        None if state in ("running", "silent") else updated,
        tuple(_stage(each) for each in given["progress"][:MOST_STAGES]),
        _path(given["store"]),
        _path(given["folder"]),
        {key: float(given["spent"][key]) for key in SPENT if _is_number(given["spent"].get(key))},
    )


SPENT = ("tokens", "dollars", "max_tokens", "max_dollars")


def _state(given: Mapping[str, Any], updated: float) -> str:
    """The state of a run without a recorded outcome."""
    is_here = given["host"] == socket.gethostname()
    if is_here and not _is_alive(given["pid"], given["born"]):
        return "killed"
    return "running" if time.time() - updated < SILENT else "silent"


def _is_alive(pid: object, since: object) -> bool:
    if isinstance(pid, bool) or not isinstance(pid, int) or not 0 < pid < 2**31:
        raise ValueError("no process")
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # it exists, but belongs to another user
    return not since or born(pid) in ("", since)


def _stage(given: Mapping[str, Any]) -> Stage:
    return Stage(plain(given["what"]), _count(given["done"]), _count(given["total"]), plain(given["unit"]))


def plain(text: object) -> str:
    """A text without control characters (including changes of the writing direction), shortened.

    Raises:
        TypeError: not a string.
    """
    if not isinstance(text, str):
        raise TypeError("not a string")
    shown = "".join(letter if letter.isprintable() else "\ufffd" for letter in text[: LONGEST + 1])
    return shown if len(shown) <= LONGEST else f"{shown[:LONGEST]}…"


def _path(text: object) -> str:
    if not isinstance(text, str) or not text.isprintable() or len(text) > 4 * LONGEST:
        raise ValueError("no path")
    return text


def _count(given: object) -> int:
    if isinstance(given, bool) or not isinstance(given, int) or not 0 <= given < 10**12:
        raise ValueError("no count")
    return given


def _is_number(given: object) -> bool:
    return is_number(given) and given >= 0


def _time(given: object) -> float:
    if not is_number(given) or not 0 <= given <= 10**11:
        raise ValueError("no time")
    return float(given)
