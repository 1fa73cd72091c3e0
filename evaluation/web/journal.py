"""A journal: one JSON object per line, on disk before `append` returns.

If a process is killed while writing, the incomplete line (which was never confirmed) is removed when the journal is
opened again. Only one process can have a journal open.

>>> with Journal(path) as journal:
...     journal.append({"kind": "submit", "seat": "FRANCE"})
...     journal.entries
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from evaluation.checks import EvaluationError

LARGEST = 2**28  # maximum bytes


class JournalError(EvaluationError):
    """A journal cannot be read or written, is damaged, or is open in another process.

    Attributes:
        reason: the message without the path, which only the host may see.
    """

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.reason = reason


class Journal:
    """A journal, open for writing.

    Args:
        path: the file; created if missing, readable only by its owner.
        waits: wait for another process that has it open (for journals that are open only briefly).

    Attributes:
        entries: all entries, in order.

    Raises:
        JournalError: the file cannot be opened or read, is damaged, or is open in another process.
    """

    def __init__(self, path: str | os.PathLike[str], waits: bool = False) -> None:
        self.path = Path(path)
        try:
            with ExitStack() as opened:
                self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
                opened.callback(self.close)
                fcntl.flock(self._file, fcntl.LOCK_EX | (0 if waits else fcntl.LOCK_NB))
                self.entries = self._read()
                if not self._size:  # the file may be new; otherwise this was done before its first line
                    _sync_folder(self.path.parent)
                opened.pop_all()
        except BlockingIOError as error:
            raise JournalError(self.path, "another process has this file open; stop it first") from error
        except OSError as error:
            raise JournalError(self.path, str(error.strerror)) from error

    def append(self, entry: Mapping[str, Any]) -> None:
        """Write an entry; it is on disk when this returns.

        Raises:
            JournalError: the entry cannot be written (a full disk). The journal is then unchanged.
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
        """Close the journal, so that other processes can open it."""
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
            raise JournalError(self.path, f"more than {LARGEST:,} bytes: not a journal of a game")
        with open(os.dup(self._file), "rb") as file:
            whole = file.read()
        kept = whole[: whole.rfind(b"\n") + 1]
        if kept != whole:
            os.ftruncate(self._file, len(kept))
            os.fsync(self._file)
        self._size = len(kept)
        os.lseek(self._file, self._size, os.SEEK_SET)
        return [self._entry(number, line) for number, line in enumerate(kept.splitlines(), 1)]

    def _entry(self, number: int, line: bytes) -> dict[str, Any]:
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise JournalError(self.path, f"line {number}: damaged: {error}") from error
        if not isinstance(entry, dict):
            raise JournalError(self.path, f"line {number}: damaged: not an object")
        return entry


def _sync_folder(folder: Path) -> None:
    """Write a folder to disk, so that the name of a new file in it survives a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
