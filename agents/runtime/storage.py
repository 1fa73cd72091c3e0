"""SQLite files that several processes write at once: replies of models, finished games."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from agents.runtime.files import irregular, reason, shown
from welfare_env.errors import WelfareEnvError

_PRIVATE = 0o600  # games and replies are readable by the owner only, unless the owner permits others
_SMALLEST = 512  # bytes of the smallest SQLite database that is not empty; SQLite would overwrite a smaller file
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_UNUSABLE = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_PERM)
_OUTSIDE = (0, sqlite3.SQLITE_FULL, *_BUSY, *_UNUSABLE)  # not of the file's contents; 0 if Python has raised it


def _kind(error: sqlite3.Error) -> int:
    """The kind of an error: the low byte of SQLite's extended code; 0 if Python has raised it."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


@dataclass(frozen=True)
class FileLayout:
    """The layout of one kind of our files.

    Attributes:
        application: SQLite's application_id, which distinguishes our files from other programs' databases.
        version: version of the tables, in SQLite's user_version.
        create: the statement that creates the table.
        error: the error class for the file. Messages name the file and say what to do.
        damaged: advice for a file that is not ours, or is damaged.
        seconds: time to wait for other processes.
        is_durable: whether writes survive a power cut, not just the end of the process.
    """

    application: int
    version: int
    create: str
    error: type[WelfareEnvError]
    damaged: str
    seconds: float
    is_durable: bool

    def connect(self, path: Path, same_thread: bool = True) -> sqlite3.Connection:
        """Opens a file, in autocommit: each statement is a transaction. A missing file is created, with its folder.

        A file on a read-only disk is opened for reading.

        Args:
            path: path of the file.
            same_thread: whether only the thread that opens it may use it; otherwise the caller must serialize access.

        Raises:
            error: the file is another program's or of another version, not a regular file, or cannot be created.
            sqlite3.Error: the file cannot be used.
        """
        self._make(path)
        is_fixed = not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK))
        log = Path(f"{path}-wal")
        if is_fixed and log.exists() and log.stat().st_size:
            raise self.error(f"{shown(path)}: its newest entries are in {log.name}: copy both to where you may write")
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?{'immutable=1' if is_fixed else 'mode=rw'}",
            timeout=self.seconds,
            isolation_level=None,
            check_same_thread=same_thread,
            uri=True,
        )
        try:
            is_new = self._is_new(connection, path)
            if is_fixed and is_new:
                raise self.error(f"{shown(path)}: there is nothing in it yet, and it cannot be written to")
            if not is_fixed:
                self._prepare(connection, path, is_new)
        except BaseException:
            connection.close()
            raise
        return connection

    @contextmanager
    def guard(self, path: Path) -> Iterator[None]:
        """Turns all errors in the use of a file into `error`."""
        try:
            yield
        except sqlite3.Error as error:
            advice = "" if _kind(error) in _OUTSIDE else f". {self.damaged}"  # our statements are right
            raise self.error(f"{shown(path)}: {error}{advice}") from error
        except UnicodeDecodeError as error:  # from a damaged name that SQLite quotes
            raise self.error(f"{shown(path)}: a name in it is not text. {self.damaged}") from error

    def _make(self, path: Path) -> None:
        """Creates folder and file if missing; the file, and so SQLite's logs, readable only by the owner."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            wrong = irregular(path)
            if not wrong and not path.exists():
                os.close(os.open(path, os.O_CREAT | os.O_RDWR, _PRIVATE))
        except (OSError, ValueError) as error:
            raise self.error(f"{shown(path)}: it cannot be made ({reason(error)}): choose another path") from error
        if wrong:  # before SQLite writes a journal next to a device
            raise self.error(f"{path}: it {wrong}: choose another path")
        if 0 < path.stat().st_size < _SMALLEST:
            raise self.error(f"{path}: not an SQLite database. {self.damaged}")

    def _prepare(self, connection: sqlite3.Connection, path: Path, is_new: bool) -> None:
        """Sets up a new file; switches on the write-ahead log, so that readers and a writer need not wait."""
        if is_new:
            connection.execute("BEGIN IMMEDIATE")
            if self._is_new(connection, path):  # checked again, now that no other process can write to it
                connection.execute(self.create)
                connection.execute(f"PRAGMA application_id = {self.application}")
                connection.execute(f"PRAGMA user_version = {self.version}")
            connection.execute("COMMIT")
        deadline = time.monotonic() + self.seconds
        while True:  # the switch ignores SQLite's busy timeout
            try:
                connection.execute("PRAGMA journal_mode = WAL").fetchone()
                break
            except sqlite3.OperationalError as error:
                if _kind(error) not in _BUSY or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)
        connection.execute(f"PRAGMA synchronous = {'FULL' if self.is_durable else 'NORMAL'}")

    def _is_new(self, connection: sqlite3.Connection, path: Path) -> bool:
        """Whether the file is still empty; an error if it is not ours."""
        # One statement, since another process could set up the file between two.
        application, version, tables = connection.execute(
            "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_master)"
            " FROM pragma_application_id, pragma_user_version"
        ).fetchone()
        if (application, version) == (self.application, self.version):
            return False
        if application == self.application:
            raise self.error(
                f"{path}: the file has layout {version}, not {self.version}; use the version of welfare-env that wrote "
                "it, or choose another path"
            )
        if application or version or tables:
            raise self.error(f"{path}: the file is another program's SQLite database; choose another path")
        return True
