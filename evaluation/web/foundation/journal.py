"""A journal: one JSON object a line, on disk before `append` returns.

A process that is killed while it writes leaves a line without its end; nobody was told that it was accepted, and the
next opening cuts it off. Two processes cannot write the same journal.

>>> with Journal(path) as journal:
...     journal.append({"kind": "submit", "seat": "FRANCE"})
...     journal.entries
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from evaluation.checks import EvaluationError

LARGEST = 2**28  # bytes


class JournalError(EvaluationError):
    """A journal cannot be read or written, is damaged, or another process has it open.

    Attributes:
        reason: without the path, which is for the host alone.
    """

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.reason = reason


class Journal:
    """A journal that is open for writing.

    Args:
        path: of the file; it is made if it is not there, readable by its owner alone.
        waits: for another process that has it open: for journals that are open for moments.

    Attributes:
        entries: all of it, in the sequence written.

    Raises:
        JournalError: see there.
    """

    def __init__(self, path: str | os.PathLike[str], waits: bool = False) -> None:
        self.path = Path(path)
        try:
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise JournalError(self.path, str(error.strerror)) from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | (0 if waits else fcntl.LOCK_NB))
            self.entries = self._read()
        except BlockingIOError as error:
            os.close(self._file)
            raise JournalError(self.path, "another process has this game open; stop it first") from error
        except JournalError:
            os.close(self._file)
            raise
        if not self._size:  # it may have just been made; whoever wrote the first line has done this
            _sync_folder(self.path.parent)

    def append(self, entry: Mapping[str, Any]) -> None:
        """Write an entry; it is on disk when this returns.

        Raises:
            JournalError: it cannot be written (a full disk). The journal then ends as before.
        """
        line = json.dumps(entry, ensure_ascii=True, separators=(",", ":"), allow_nan=False).encode() + b"\n"
        try:
            if os.write(self._file, line) != len(line):
                raise OSError("the disk is full")
            os.fsync(self._file)
        except OSError as error:
            os.ftruncate(self._file, self._size)
            os.lseek(self._file, self._size, os.SEEK_SET)
            raise JournalError(self.path, str(error)) from error
        self._size += len(line)
        self.entries.append(dict(entry))

    def close(self) -> None:
        """Let other processes open it."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _read(self) -> list[dict[str, Any]]:
        if os.fstat(self._file).st_size > LARGEST:
            raise JournalError(self.path, f"more than {LARGEST:,} bytes: no journal of a game")
        with open(os.dup(self._file), "rb") as file:
            whole = file.read()
        kept = whole[: whole.rfind(b"\n") + 1]
        if kept != whole:
            os.ftruncate(self._file, len(kept))
            os.fsync(self._file)
        self._size = len(kept)
        os.lseek(self._file, self._size, os.SEEK_SET)
        return [self._parsed(number, line) for number, line in enumerate(kept.splitlines(), 1)]

    def _parsed(self, number: int, line: bytes) -> dict[str, Any]:
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise JournalError(self.path, f"line {number}: damaged: {error}") from error
        if not isinstance(entry, dict):
            raise JournalError(self.path, f"line {number}: damaged: not an object")
        return entry


def _sync_folder(folder: Path) -> None:
    """The name of a new file is on disk when its folder is."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
