"""Safe reading of files that may be damaged, or may not be regular files.

A pipe would make its reader wait, a device has no end, and a small file can hold JSON that is nested too deeply. Here
each of these is an OSError or a ValueError, like a missing file or invalid JSON.
"""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

LARGEST = 2**30  # bytes
_SHOWN = 200  # characters of a path in an error


def irregular(path: str | os.PathLike[str]) -> str:
    """Why a path cannot be a file; "" for a regular file, or if nothing is there yet.

    Raises:
        OSError: the path cannot be inspected, or is not valid.
    """
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return ""
    except ValueError as error:  # a NUL, or half a surrogate pair
        raise OSError(f"no path: {error}") from error
    if stat.S_ISDIR(mode):
        return "is a folder, not a file"
    return "" if stat.S_ISREG(mode) else "is a pipe or a device, not a file"


def no_folder(path: str | os.PathLike[str]) -> str:
    """Why a path cannot be a folder; "" for a folder, or if nothing is there."""
    return "is a file, not a folder" if os.path.exists(path) and not os.path.isdir(path) else ""


def read_file(path: str | os.PathLike[str], most: int = LARGEST) -> bytes:
    """The contents of a file.

    Raises:
        OSError: the file cannot be read, is not a regular file, or is larger than `most` bytes.
    """
    if wrong := irregular(path):
        raise OSError(f"it {wrong}")
    if (size := os.stat(path).st_size) > most:
        raise OSError(f"its {size:,} bytes are more than the {most:,} that can be right")
    return Path(path).read_bytes()


def parse_json(text: str | bytes) -> Any:
    """Parse JSON.

    Raises:
        ValueError: the text is not JSON, or is nested too deeply.
    """
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def shown(path: str | os.PathLike[str]) -> str:
    """A path for an error message; very long ones are cut off."""
    text = os.fspath(path)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def reason(error: Exception) -> str:
    """Why a file cannot be used, in a few words; without its name, but with the path that blocks it, if any."""
    if isinstance(error, IsADirectoryError):
        return "it is a folder, not a file"
    if isinstance(error, NotADirectoryError | FileExistsError) and isinstance(error.filename, str):
        path = Path(error.filename)
        blocking = (f"{shown(part)} {wrong}" for part in (path, *path.parents) if (wrong := no_folder(part)))
        return next(blocking, str(error.strerror))
    return getattr(error, "strerror", None) or str(error)
