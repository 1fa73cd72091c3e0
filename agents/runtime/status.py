"""The progress of long work on this machine, as small files that `welfare-env watch` reads.

A separate thread writes ``runs/status/HOST-PID-N.json``, first after a second, then when something has changed or as a
sign of life. Writes are atomic, the file is readable only by its owner, and the work never waits for it: a full disk or
a read-only folder ends the reports, not the work. The last report says how the work ended; a killed process is
recognized by not writing one.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import socket
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from threading import Event, Thread
from typing import Any

FOLDER = Path("runs", "status")
FIRST = 1.0  # seconds; shorter work leaves no file
EVERY = 1.0  # seconds between checks of the progress
ALIVE = 10.0  # seconds after which a file is written again although nothing has changed
KEPT = 24 * 3600.0  # seconds for which the files of ended work are kept
VERSION = 1

_NUMBERS = count()
_NAMED_SECRET = re.compile(r"(?i)([\w-]*(?:key|token|secret|password|passwd)=)[^\s,;&]+")
_SECRET = re.compile(r"(?<=://)[^/@\s]+(?=@)|\b(?:sk|pk|hf|ghp|gsk|xai)[-_][A-Za-z0-9_-]{8,}")
_SECRET_NAME = re.compile(r"(?i)(key|token|secret|password)$")
_SHORTEST_SECRET = 8


@dataclass(frozen=True)
class Sources:
    """Where the results of some work go, and what it costs.

    Attributes:
        store: the file of its games; "" for none.
        folder: the folder of a training or an experiment; "" for none.
        spent: returns the usage of language models so far: tokens, dollars and their limits; {} for no models.
    """

    store: str = ""
    folder: str = ""
    spent: Callable[[], Mapping[str, Any]] = dict


NO_SOURCES = Sources()


@dataclass
class StatusFile:
    """The status of some work.

    Attributes:
        stages: returns the progress: dictionaries with "what", "done", "total" and "unit".
    """

    stages: Callable[[], list[dict[str, Any]]]
    sources: Sources = NO_SOURCES
    folder: Path = field(default_factory=lambda: FOLDER.absolute())
    started: float = field(default_factory=time.time)
    _written: tuple[float, dict[str, Any]] = (0.0, {})

    def __post_init__(self) -> None:
        host = re.sub(r"[^A-Za-z0-9.]", "-", socket.gethostname())[:60] or "host"
        self.path = self.folder / f"{host}-{os.getpid()}-{next(_NUMBERS)}.json"

    def write(self, outcome: str = "") -> None:
        """Write the file, if there is anything new.

        Args:
            outcome: how the work ended; "" while it lasts.

        Raises:
            OSError: the file cannot be written.
        """
        facts = self._facts(outcome)
        now = time.time()
        if facts == self._written[1] and now - self._written[0] < ALIVE:
            return
        if not self._written[1]:
            self.folder.mkdir(parents=True, exist_ok=True)
            remove_old(self.folder)
        draft = self.path.with_name(f".{self.path.name}.draft")
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        with open(handle, "w", encoding="utf-8") as file:
            json.dump({**facts, "updated": now, "ended": now if outcome else None}, file)
        os.replace(draft, self.path)
        self._written = now, facts

    def _facts(self, outcome: str) -> dict[str, Any]:
        return {
            "version": VERSION,
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "born": born(os.getpid()),
            "command": masked(shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]])),
            "started": self.started,
            "outcome": outcome,
            "progress": self.stages(),
            "store": self.sources.store,
            "folder": self.sources.folder,
            "spent": dict(self.sources.spent()),
        }


@contextlib.contextmanager
def status_written(stages: Callable[[], list[dict[str, Any]]], sources: Sources) -> Iterator[None]:
    """Keep a status file while the block lasts, from a thread of its own."""
    status = StatusFile(stages, sources)
    is_over = Event()

    def write_on() -> None:
        waits = FIRST
        while not is_over.wait(waits):
            waits = EVERY
            with contextlib.suppress(OSError):
                status.write()

    writer = Thread(target=write_on, name="status", daemon=True)
    writer.start()
    outcome = "failed"
    try:
        yield
        outcome = "finished"
    except (KeyboardInterrupt, SystemExit):
        outcome = "interrupted"
        raise
    finally:
        is_over.set()
        writer.join()
        if status.path.exists():
            with contextlib.suppress(OSError):
                status.write(outcome)


def born(pid: int) -> str:
    """The start time of a process, in the system's own unit, since process ids are reused; "" if unknown."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


def remove_old(folder: Path) -> None:
    """Remove files that nobody has written for a day."""
    for path in folder.glob("*.json"):
        with contextlib.suppress(OSError):
            if path.lstat().st_mtime < time.time() - KEPT:
                path.unlink()


def masked(command: str) -> str:
    """A command line without keys: those of options, of addresses, and of the environment."""
    secrets = {value for name, value in os.environ.items() if _SECRET_NAME.search(name)}
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= _SHORTEST_SECRET:
            command = command.replace(secret, "***")
    return _SECRET.sub("***", _NAMED_SECRET.sub(r"\1***", command))
