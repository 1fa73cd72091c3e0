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

_SMALLEST = 512  # bytes of the smallest SQLite database that is not empty
_PRIVATE = 0o600  # games and replies are readable by the owner only, unless the owner permits others
_DAMAGED = frozenset(
    {
        sqlite3.SQLITE_ERROR,  # our statements are right, so the tables are wrong
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_NOTADB,
        sqlite3.SQLITE_FORMAT,
        sqlite3.SQLITE_MISMATCH,
        sqlite3.SQLITE_CONSTRAINT,
        sqlite3.SQLITE_TOOBIG,
    }
)
_READ_ONLY = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN)
UNREADABLE = "Could not decode to UTF-8"  # Python's own error, without an SQLite code


def _use_write_ahead_log(connection: sqlite3.Connection, seconds: float) -> None:
    """Switches on the write-ahead log, so that readers and a writer do not wait for each other.

    The switch itself ignores SQLite's busy timeout, so it is retried here.

    Args:
        seconds: time to wait for other processes.

    Raises:
        sqlite3.Error: the file stayed locked, or cannot be used.
    """
    deadline = time.monotonic() + seconds
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL").fetchone()
            return
        except sqlite3.OperationalError as error:
            if not _is_busy(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def _advice(error: sqlite3.Error, seconds: float, damaged: str, safe: str) -> str:
    """What to do about an error.

    Args:
        seconds: how long other processes were waited for.
        damaged: advice for a file that is not ours, or is damaged.
        safe: the contents that are safe even if the disk is full.
    """
    if _is_busy(error):
        return f"Another process has kept it locked for {seconds:.0f} s: end that process and run this again"
    code = _kind(error)
    if code in _DAMAGED or UNREADABLE in str(error):
        return damaged
    if code == sqlite3.SQLITE_FULL:
        return f"Make room on the disk and run this again: {safe} are safe"
    return "See that the path is a file in a folder on a local disk that you may write to, or choose another path"


def _is_busy(error: sqlite3.Error) -> bool:
    return _kind(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def _kind(error: sqlite3.Error) -> int:
    """The kind of an error: the low byte of SQLite's extended code."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


@dataclass(frozen=True)
class Layout:
    """The layout of one kind of our files.

    Attributes:
        application: SQLite's application_id, which distinguishes our files from other programs' databases.
        version: version of the tables, in SQLite's user_version.
        create: the statement that creates the table.
        error: the error class for the file. Messages name the file and say what to do.
        damaged: advice for a file that is not ours, or is damaged.
        safe: the contents that are safe even if the disk is full.
        seconds: time to wait for other processes.
        is_durable: whether writes survive a power cut, not just the end of the process.
    """

    application: int
    version: int
    create: str
    error: type[WelfareEnvError]
    damaged: str
    safe: str
    seconds: float
    is_durable: bool

    def connect(self, path: Path, same_thread: bool = True) -> sqlite3.Connection:
        """Opens a file, in autocommit: each statement is a transaction. A missing file is created, with its folder.

        A file that cannot be written to, for example on a read-only disk, is opened for reading.

        Args:
            path: path of the file.
            same_thread: whether only the thread that opens it may use it; otherwise the caller must serialize access.

        Raises:
            error: the file is another program's or of another version, not a regular file, or cannot be created.
            sqlite3.Error: the file cannot be used.
        """
        self._make_room(path)
        try:
            return self._opened(path, "", same_thread)
        except sqlite3.OperationalError as error:
            if _kind(error) not in _READ_ONLY or not path.stat().st_size:
                raise
        try:
            return self._opened(path, "mode=ro", same_thread)
        except sqlite3.OperationalError as error:  # SQLite may not make its shared memory there
            log = Path(f"{path}-wal")
            if _kind(error) not in _READ_ONLY or (log.exists() and log.stat().st_size):  # the log has newer data
                raise
        return self._opened(path, "immutable=1", same_thread)

    def _opened(self, path: Path, mode: str, same_thread: bool) -> sqlite3.Connection:
        """A connection; `mode` is "" for writing, or SQLite's parameter of a URI for reading."""
        place = f"{path.absolute().as_uri()}?{mode}" if mode else path
        connection = sqlite3.connect(
            place, timeout=self.seconds, isolation_level=None, check_same_thread=same_thread, uri=bool(mode)
        )
        try:
            if not mode:
                self._prepare(connection, path)
            elif self._is_new(connection, path):
                raise self.error(f"{shown(path)}: there is nothing in it yet, and it cannot be written to")
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
            advice = _advice(error, self.seconds, self.damaged, self.safe)
            raise self.error(f"{shown(path)}: {error}. {advice}") from error
        except UnicodeDecodeError as error:  # from a damaged name that SQLite quotes
            raise self.error(f"{shown(path)}: a name in it is not text. {self.damaged}") from error

    def _make_room(self, path: Path) -> None:
        """Creates folder and file if missing; the file, and so SQLite's logs, readable only by the owner.

        Raises:
            error: they cannot be created, or the path is not a regular file.
        """
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except (OSError, ValueError) as error:
            raise self.error(
                f"{shown(path)}: its folder cannot be made ({reason(error)}): choose another path"
            ) from error
        try:
            wrong = irregular(path)
            if not wrong and not path.exists():
                os.close(os.open(path, os.O_CREAT | os.O_RDWR, _PRIVATE))
        except OSError as error:
            raise self.error(f"{shown(path)}: it cannot be made ({reason(error)}): choose another path") from error
        if wrong:  # before SQLite writes a journal next to a device
            raise self.error(f"{path}: it {wrong}: choose another path")
        if 0 < path.stat().st_size < _SMALLEST:  # SQLite would overwrite it
            raise self.error(f"{path}: not an SQLite database. {self.damaged}")

    def _prepare(self, connection: sqlite3.Connection, path: Path) -> None:
        """Checks that the file is ours before anything is written to it; sets up a new one."""
        if self._is_new(connection, path):
            connection.execute("BEGIN IMMEDIATE")
            if self._is_new(connection, path):  # checked again, now that no other process can write to it
                connection.execute(self.create)
                connection.execute(f"PRAGMA application_id = {self.application}")
                connection.execute(f"PRAGMA user_version = {self.version}")
            connection.execute("COMMIT")
        _use_write_ahead_log(connection, self.seconds)
        connection.execute(f"PRAGMA synchronous = {'FULL' if self.is_durable else 'NORMAL'}")

    def _is_new(self, connection: sqlite3.Connection, path: Path) -> bool:
        """Whether the file is still empty."""
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
