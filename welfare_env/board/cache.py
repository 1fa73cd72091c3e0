"""Arrays kept in the user's cache folder, so that later starts neither read a map again nor import `diplomacy`.

File names are digests of the map, of the version of the `diplomacy` package and of our code, so a stale file is never
read. A damaged file counts as missing; if the folder cannot be written, everything is made at every start.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from welfare_env.writing import replaced

Arrays = dict[str, np.ndarray]


def cached(what: str, made_from: Sequence[str], make: Callable[[], Arrays]) -> Arrays:
    """The arrays that an earlier process kept; else those of `make`, kept from now on.

    Args:
        what: the file name's first word.
        made_from: the inputs of `make`, all of them.
    """
    key = hashlib.sha256(repr((_code_digest(), *made_from)).encode()).hexdigest()[:24]
    file = _folder() / f"{what}-{key}.npz"
    with contextlib.suppress(OSError, ValueError, EOFError, zipfile.BadZipFile), np.load(file) as kept:
        return dict(kept)
    arrays = make()
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        with replaced(file) as draft, draft.open("wb") as new:
            np.savez(new, **arrays)  # type: ignore[arg-type]
    return arrays


def _folder() -> Path:
    """The user's cache folder, by the system's conventions."""
    given = os.environ.get("LOCALAPPDATA" if os.name == "nt" else "XDG_CACHE_HOME", "")
    return Path(given if os.path.isabs(given) else os.path.expanduser("~/.cache"), "welfare_env")


@functools.cache
def _code_digest() -> str:
    """Of what makes boards and tables."""
    from importlib.metadata import version

    room = Path(__file__).parents[1]
    files = [*sorted((room / "board").glob("*.py")), room / "engine" / "__init__.py", room / "engine" / "tables.py"]
    return hashlib.sha256(
        b"\0".join([version("diplomacy").encode(), *(file.read_bytes() for file in files)])
    ).hexdigest()
