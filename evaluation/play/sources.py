"""What decides a game besides its settings: the version of this package, files of the user, and language models.

They are part of a game's key, so that the store never answers with a game of other players: of a class that was changed
since, of a network that was trained again into the same folder, or of another server's model.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import welfare_env
from agents.specs import Spec, named_files
from welfare_env.rules import RULES_REVISION

if TYPE_CHECKING:
    from agents.lm.models.protocol import Model

VERSIONS = {
    "welfare-env": welfare_env.__version__,
    **{name: version(name) for name in ("diplomacy", "numba", "numpy", "scipy")},
}
"""Versions of this package and of the libraries that affect games."""


def code_of(policies: Iterable[Spec]) -> dict[str, Any]:
    """The versions that games of these policies depend on, and a digest of the user's files that the policies name.

    Such files are the modules of the user's classes, checkpoints, and everything in a file or folder that an option
    names.

    Raises:
        UnknownAgentError: the package of a user's module cannot be imported.
        OSError: a file cannot be read.
    """
    files = {path for policy in policies for path in named_files(policy)}
    return {"rules_revision": RULES_REVISION, "versions": VERSIONS, "own_files": digest_of(files)}


def digest_of(paths: Iterable[Path]) -> str:
    """SHA-256 of the contents of files, and of all files in folders; "" for no paths.

    Folders count by the names of the files in them, not by where they are: another machine finds the same digest.
    """
    found = [f"{name} {_content(file)}" for path in sorted(set(paths)) for name, file in _files(path)]
    return hashlib.sha256("\n".join(found).encode("utf-8", "surrogateescape")).hexdigest() if found else ""


def _files(path: Path) -> list[tuple[str, Path]]:
    if not path.is_dir():
        return [(path.name, path)]
    return [(file.relative_to(path).as_posix(), file) for file in sorted(path.rglob("*")) if file.is_file()]


def _content(path: Path) -> str:
    state = path.stat()
    return _digest(path, (state.st_ino, state.st_size, state.st_mtime_ns))


@functools.lru_cache(maxsize=4096)
def _digest(path: Path, state: object) -> str:
    """The digest of a file, cached until the file changes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def answered_by(model: str, base_url: str = "", own: Model | None = None) -> dict[str, Any]:
    """A model and its server.

    Args:
        model: "openai/NAME", "anthropic/NAME", "scripted/stub", or the name of a user's model.
        base_url: address of the server; "" uses the environment variable or the provider's default.
        own: the user's model of this name, if any.

    Raises:
        ConfigError: the server address is invalid, or must not be stored.
    """
    from agents.lm.models.remote import REMOTE, server_of

    if own is not None:
        return {"model": model, "name": own.name, "settings": dict(own.settings)}
    provider = model.partition("/")[0]
    return {"model": model} | ({"server": server_of(provider, base_url)} if provider in REMOTE else {})
