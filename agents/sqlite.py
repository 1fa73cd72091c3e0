"""What files of SQLite that several processes write to at once have in common: replies of models, finished games."""

from __future__ import annotations

import sqlite3
import time


def use_write_ahead_log(connection: sqlite3.Connection, seconds: float) -> None:
    """Readers and a writer do not wait for each other then. The change itself does not heed SQLite's busy timeout.

    Args:
        seconds: how long to wait for other processes.

    Raises:
        sqlite3.Error: they have kept the file locked, or it cannot be used.
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


def advice(error: sqlite3.Error, seconds: float, damaged: str, safe: str) -> str:
    """What to do about an error.

    Args:
        seconds: how long other processes were waited for.
        damaged: what to do about a file that is none of ours, or is broken.
        safe: what a full disk does not endanger.
    """
    if _is_busy(error):
        return f"Another process has kept it locked for {seconds:.0f} s: end that process and run this again"
    code = _kind(error)
    if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
        return damaged
    if code == sqlite3.SQLITE_FULL:
        return f"Make room on the disk and run this again: {safe} are safe"
    return "See that the path is a file in a folder on a local disk that you may write to, or choose another path"


def _is_busy(error: sqlite3.Error) -> bool:
    return _kind(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def _kind(error: sqlite3.Error) -> int:
    """The low byte is the kind of error, the rest its variety."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF
