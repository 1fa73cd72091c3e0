"""Files that are there in full or not at all."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def replaced(path: Path) -> Iterator[Path]:
    """The path of a draft, which takes the place of a file once it is written: readers see the old or the new one.

    If it is not written, or not to its end, nothing changes. The draft is in a new folder beside the file, which nobody
    else may enter, so that no other writer and no link can be in its way. A file that is there keeps its permissions
    (but not its owner, nor its other names by hard links), a new one has the usual ones; of a symbolic link, the file
    that it leads to is replaced.

    Raises:
        OSError, ValueError: as the writer does, or there can be no draft, or it cannot take the file's place.
    """
    target = Path(os.path.realpath(path))
    folder = tempfile.mkdtemp(prefix=f".{target.name[:40]}.", suffix=".draft", dir=target.parent)
    try:
        draft = Path(folder, f"{target.name[:40]}.draft")
        yield draft
        with draft.open("r+b") as file:
            os.fsync(file.fileno())  # else a power cut could leave an empty file under the new name
        with contextlib.suppress(FileNotFoundError):
            draft.chmod(stat.S_IMODE(target.stat().st_mode))
        os.replace(draft, target)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
