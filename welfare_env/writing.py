"""Atomic file writes."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ABANDONED = 3600  # seconds after which a draft is not one of a process at work


@contextlib.contextmanager
def replaced(path: Path) -> Iterator[Path]:
    """Yields the path of a draft, which replaces the file when the block ends: readers see the old or the new content.

    If the block raises, nothing changes. The draft is in a new private folder next to the file, so that no other writer
    or link can interfere. An existing file keeps its permissions (but not its owner or other hard links); a new file
    gets the default permissions. For a symbolic link, its target is replaced.

    Raises:
        OSError, ValueError: the block raised it, or the draft cannot be made or cannot replace the file, such as on a
            full disk. An OSError names the file.
    """
    target = Path(os.path.realpath(path))
    folder = ""
    try:
        folder = tempfile.mkdtemp(prefix=f".{target.name[:40]}.", suffix=".draft", dir=target.parent)
        draft = Path(folder, f"{target.name[:40]}.draft")
        yield draft
        with draft.open("r+b") as file:
            os.fsync(file.fileno())  # else a power cut could leave an empty file under the new name
        with contextlib.suppress(FileNotFoundError):
            draft.chmod(stat.S_IMODE(target.stat().st_mode))
        os.replace(draft, target)
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), os.fspath(path)) from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def remove_abandoned(folder: Path) -> None:
    """Remove the drafts of `replaced` that killed processes left in a folder, an hour after they were last written."""
    for draft in folder.glob(f".*.{'[a-z0-9_]' * 8}.draft/*.draft"):
        with contextlib.suppress(FileNotFoundError):  # of a writer that is done by now
            if time.time() - draft.stat(follow_symlinks=False).st_mtime > ABANDONED:
                shutil.rmtree(draft.parent, ignore_errors=True)
