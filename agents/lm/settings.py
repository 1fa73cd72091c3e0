"""Settings of models: what makes sense."""

from __future__ import annotations

import math
from typing import Any
from urllib.parse import urlsplit

from agents.lm.errors import ConfigError


def check_number(name: str, value: Any, above: float = -1.0, whole: bool = False) -> None:
    """Checks that a setting is a number above a bound.

    Raises:
        ConfigError: it is not, or it is not whole where it must be.
    """
    kinds = int if whole else int | float
    if isinstance(value, bool) or not isinstance(value, kinds) or not math.isfinite(value) or not value > above:
        bound = "from 0" if above < 0 else f"above {above:g}"
        raise ConfigError(f"{name} {value!r}: give a {'whole ' if whole else ''}number {bound}")


def check_kind(name: str, value: Any, kind: type) -> None:
    """Checks that a setting is of a kind.

    Raises:
        ConfigError: it is not.
    """
    if not isinstance(value, kind):
        raise ConfigError(f"{name} {value!r}: give a {kind.__name__}")


def checked_url(url: str) -> str:
    """An address that may be written down, without the slash at its end.

    Raises:
        ConfigError: it is none, or has a password or a query.
    """
    try:
        parts = urlsplit(url)
        _ = parts.port  # which is read now, and may be none
    except ValueError as error:
        raise ConfigError(f"base_url {url!r}: {error}") from error
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ConfigError(f"base_url with a password or a query, for {parts.hostname}: give the key by key_variable")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(f"base_url {url!r}: give http://HOST or https://HOST, with a path where there is one")
    return url.rstrip("/")
