"""The texts of maps, by name or path: maps of the `diplomacy` package, toy boards, and `.map` files."""

from __future__ import annotations

import functools
import hashlib
import importlib.util
from pathlib import Path

from welfare_env.board.toy_boards import SHAPES, is_toy, toy_map
from welfare_env.checks import quoted
from welfare_env.errors import MapFormatError, UnknownMapError, did_you_mean

LARGEST_FILE = 2**18  # bytes of a .map file; the largest installed one has a tenth of this


def map_names() -> tuple[str, ...]:
    """Names of all installed maps, without toy boards (see `welfare_env.board.toy_boards`)."""
    return tuple(_installed())


@functools.cache
def _installed() -> dict[str, Path]:
    """Name -> file of every installed map."""
    package = importlib.util.find_spec("diplomacy")  # only located: importing it is slow
    if package is None or not package.submodule_search_locations:
        raise ModuleNotFoundError("the diplomacy package, which contains the maps, is not installed")
    folder = Path(package.submodule_search_locations[0], "maps")
    return {path.stem: path for path in sorted(folder.glob("*.map"))}


def is_known(name: str) -> bool:
    """Whether this is the name of an installed map or a toy board."""
    return is_toy(name) or name in _installed()


def map_text(name: str) -> str:
    """The text of a map.

    Raises:
        UnknownMapError: neither a known name nor a file.
        MapFormatError: the file is too large or is not text.
    """
    if not isinstance(name, str) or not name:
        raise UnknownMapError(f"map name {quoted(name)}: give a name such as 'standard', or the path of a .map file")
    if is_toy(name):
        return toy_map(name)
    if name in _installed():
        return _installed()[name].read_text(encoding="utf-8")
    if not name.endswith(".map"):
        known = [*map_names(), *(f"{shape}:N" for shape in SHAPES)]
        given = f"{quoted(name)}{did_you_mean(name, known)}"
        raise UnknownMapError(f"unknown map {given}: give the path of a .map file or one of {', '.join(known)}")
    return _file_text(name)


def _file_text(name: str) -> str:
    try:
        if not Path(name).is_file():  # a pipe would wait for a writer
            raise UnknownMapError(f"unknown map {quoted(name)}: no such file")
        with Path(name).open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
    except (OSError, ValueError) as error:  # e.g. a name that no file can have
        if isinstance(error, UnknownMapError):
            raise
        raise UnknownMapError(f"unknown map {quoted(name)}: {error!s:.200}") from error
    if len(content) > LARGEST_FILE:
        raise MapFormatError(f"map {name!r} has more than {LARGEST_FILE} bytes: no map is that large")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise MapFormatError(f"map {name!r} is not text: {error}") from error


def map_digest(name: str) -> str:
    """SHA-256 of the map file at this path; "" for maps given by name.

    Raises:
        UnknownMapError: neither a known name nor a file.
    """
    text = map_text(name)
    return "" if is_known(name) else hashlib.sha256(text.encode()).hexdigest()


def check_unchanged(name: str, digest: str) -> None:
    """Check that a map still has this digest.

    Raises:
        UnknownMapError: neither a known name nor a file.
        MapFormatError: the file has changed since.
    """
    now = map_digest(name)
    if now != digest:
        raise MapFormatError(f"map {name!r} has changed: its digest was {digest[:16]}..., now {now[:16]}...")
