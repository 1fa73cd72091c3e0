"""The source of a language model's replies (server or replay file): part of a game's key."""

from __future__ import annotations

import functools
import hashlib
import os
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agents.lm.errors import CacheError
from agents.runtime.files import irregular, reason, shown

if TYPE_CHECKING:
    from agents.lm.models.protocol import Model


def answered_by(model: str, base_url: str = "", own: Model | None = None) -> dict[str, Any]:
    """A model and its server, the digest of its replay file, or the distribution (package) that provides it.

    Args:
        model: "openai/NAME", "anthropic/NAME", "replay/PATH", "scripted/stub", or the name of a user's model.
        base_url: address of the server; "" uses the environment variable or the provider's default.
        own: the user's model of this name, if any.

    Raises:
        ConfigError: the server address is invalid, or must not be stored.
        CacheError: the replay file cannot be read.
    """
    from agents.lm.models.make import distribution_of, remote_provider
    from agents.lm.models.settings import checked_url

    if own is not None:
        return {"model": model, "name": own.name, "settings": dict(own.settings)}
    provider, _, rest = model.partition("/")
    if provider == "replay":
        return {"model": model, "replies": replies_digest(rest)}
    maker = remote_provider(provider)
    if maker is None:
        return {"model": model} | ({"distribution": found} if (found := distribution_of(provider)) else {})
    given = base_url or os.environ.get(maker.URL_VARIABLE) or maker.URL
    return {"model": model, "server": checked_url(given, "base_url" if base_url else maker.URL_VARIABLE)}


def replies_digest(path: str | os.PathLike[str]) -> str:
    """SHA-256 of the contents of a replay file, independent of its layout on disk.

    Raises:
        CacheError: the file cannot be read.
    """
    try:
        if wrong := irregular(path):
            raise CacheError(f"{shown(path)}: it {wrong}")
        parts = [Path(f"{Path(path).absolute()}{end}") for end in ("", "-wal")]
        state = tuple((part.stat().st_size, part.stat().st_mtime_ns) if part.exists() else None for part in parts)
        return _digest(parts[0], state)
    except (OSError, sqlite3.Error, ValueError, TypeError) as error:  # damaged files also cause the last two
        raise CacheError(f"{shown(path)}: the replay file cannot be read: {reason(error)}") from error


@functools.lru_cache(maxsize=16)
def _digest(path: Path, state: object) -> str:
    """The digest, cached until the file changes (`state` is its size and time)."""
    digest = hashlib.sha256()
    connection = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)
    try:
        for line in connection.iterdump():
            digest.update(line.encode() + b"\0")
    finally:
        connection.close()
    return digest.hexdigest()
