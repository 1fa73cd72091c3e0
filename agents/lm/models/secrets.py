"""Checks of settings that may hold secrets, and texts without them. No error here quotes what may be secret."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from agents.lm.errors import ConfigError

_OURS = frozenset({"model", "messages", "system", "stream", "max_tokens", "temperature", "response_format"})
_VARIABLE = re.compile(r"(?=.*(?:^|_)(?:API)?(?:KEY|TOKEN)\d*(?:_|$))[A-Z_a-z]\w{0,63}", re.ASCII | re.IGNORECASE)
_LIKE_A_KEY = re.compile(r"(?=.*[a-z])(?=.*\d).{24,}")  # no variable has a name like gsk_1a2B3c...
_KEYS = re.compile(r"\b(?:sk|gsk|xai|pk|rk)[-_][\w*.-]{6,}")
_FIELD = re.compile(r"""(["'][\w-]*(?:key|token|secret|password|authorization)["']\s*:\s*["'])[^"']*""", re.IGNORECASE)
_USER = re.compile(r"//[^/\s@]+@")
_BEFORE_USER = re.compile(r"//|base_url\s*=")
_QUERY = re.compile(r"(base_url\s*=[^,()?#=]*[?#])[^,()]*")
_KEY_OPTION = re.compile(r"(key_variable\s*=\s*)([^,()]*)")
_MASKED = re.compile(r"[^\s\"']+")


def checked_url(url: str, name: str = "base_url") -> str:
    """Checks an address, which may be logged, and returns it without a trailing slash.

    Args:
        url: address of a server.
        name: of the setting or the environment variable that it comes from, for the error.

    Raises:
        ConfigError: it is not an address, or has a password or a query.
    """
    with suppress(ValueError):  # of parts that are invalid; its text would quote them
        parts = urlsplit(url)
        is_address = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        if is_address and "@" not in parts.netloc and not parts.query and not parts.fragment:
            return url.rstrip("/")
    raise ConfigError(
        f"{name}: give an address such as http://127.0.0.1:8000/v1 or https://HOST, with a path where there is one, "
        "but without a user, a password or a query; the key comes from the variable key_variable"
    )


def checked_extra(extra: Mapping[str, Any] | str) -> dict[str, Any]:
    """Checks further fields of a request's body, and returns them as a dict.

    Args:
        extra: the fields, or the text of a JSON object, which may stand in parentheses.

    Raises:
        ConfigError: not plain JSON, a field that we set ourselves, or one that looks like a key.
    """
    try:
        text = extra.strip() if isinstance(extra, str) else json.dumps(extra, allow_nan=False)
        fields = json.loads(text[1:-1] if text.startswith("(") and text.endswith(")") else text)
    except (ValueError, TypeError, RecursionError):
        fields = None
    if not isinstance(fields, dict):
        written = redacted(hide_secrets(repr(extra)))[:80]
        raise ConfigError(f'extra {written}: give a JSON object, such as {{"top_k": 20}}')
    written = json.dumps(fields)
    if _FIELD.search(written) or _KEYS.search(written):
        raise ConfigError("extra: a field looks like a key: keys come from the environment only, see key_variable")
    if taken := sorted(fields.keys() & _OURS):
        raise ConfigError(f"extra: {taken[0]!r} is set by us; leave it out, or use the option for it")
    return fields


def checked_variable(name: str) -> str:
    """Checks the name of an environment variable that holds a key; the name may be logged.

    KEY or TOKEN must be a word of it, so that a spec written by others cannot leak other variables.

    Raises:
        ConfigError: it is not such a name, or looks like a key itself.
    """
    if not isinstance(name, str) or not _VARIABLE.fullmatch(name) or _LIKE_A_KEY.fullmatch(name):
        raise ConfigError(
            "key_variable: give the name of the environment variable that holds the key, such as MY_SERVER_KEY "
            "(letters, digits and _, with KEY or TOKEN as one of its words), and never the key itself"
        )
    return name


def hide_secrets(text: str) -> str:
    """A spec without the parts that `checked_url`, `checked_variable` and `checked_extra` refuse to quote."""
    text = _FIELD.sub(r"\1[hidden]", text)
    end = text.rfind("@")
    if start := _BEFORE_USER.search(text, 0, max(0, end)):
        text = f"{text[: start.end()]}[hidden]{text[end:]}"
    return _KEY_OPTION.sub(_shown, _QUERY.sub(r"\1[hidden]", text))


def _shown(option: re.Match[str]) -> str:
    with suppress(ConfigError):
        return option[1] + checked_variable(option[2].strip())
    return f"{option[1]}[hidden]"


def redacted(text: str, key: str = "") -> str:
    """A server's text without the key that was sent, and what looks like a key or its masked form ("sk-ab***yz")."""
    text = text.replace(key, "[key]") if key else text
    text = _KEYS.sub("[key]", _USER.sub("//[key]@", text))
    return _MASKED.sub(lambda word: "[key]" if "***" in word[0] else word[0], text)
