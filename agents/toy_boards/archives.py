"""Files of certificates and of points of the frontier, read as untrusted input."""

from __future__ import annotations

import struct
import zipfile
import zlib
from pathlib import Path

from agents.runtime.files import read_file, reason

DAMAGE = (
    *(OSError, ValueError, KeyError, IndexError, TypeError, AttributeError, EOFError, MemoryError, OverflowError),
    *(NotImplementedError, RuntimeError, SyntaxError, zipfile.BadZipFile, zlib.error, struct.error),
)
"""Errors that numpy, zipfile and a reader raise for a damaged file, or one of another format."""


def content(path: Path, name: str) -> bytes:
    """The bytes of a file given as option `name`. Readers cache by them: a file may change under its path.

    Raises:
        ValueError: the file cannot be read.
    """
    try:
        return read_file(path)
    except OSError as error:
        raise ValueError(f"{name}={str(path)!r:.200}: the file cannot be read: {reason(error)}") from error
