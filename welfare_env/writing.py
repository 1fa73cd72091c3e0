"""Files that are there in full or not at all."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def replaced(path: Path) -> Iterator[Path]:
    """The path of a draft, which takes the place of a file once it is written: readers see the old or the new one.

    If it is not written, or not to its end, nothing changes.

    Raises:
        OSError, ValueError: as the writer does, or the draft cannot take its place.
    """
    draft = path.with_name(f".{path.name[:40]}.{os.getpid()}.draft")
    try:
        yield draft
        with draft.open("r+b") as file:
            os.fsync(file.fileno())  # else a power cut could leave an empty file under the new name
        os.replace(draft, path)
    finally:
        with contextlib.suppress(OSError, ValueError):
            draft.unlink()
