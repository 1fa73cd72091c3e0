"""Checks of settings that may hold secrets, and texts without them. No error here quotes what may be secret."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from agents.lm.errors import ConfigError

_OUR_FIELDS = frozenset(
    (
        "model", "messages", "input", "system", "instructions", "stream", "stream_options", "n", "max_tokens",
        "max_completion_tokens", "max_output_tokens", "temperature", "top_p", "tools", "tool_choice", "response_format",
        "text", "output_config", "store", "background",
    )
)  # fmt: skip
_VARIABLE = re.compile(r"[A-Za-z_]\w{0,63}", re.ASCII)
_LIKE_A_KEY = re.compile(r"(?=.*[a-z])(?=.*\d).{24,}")  # no variable has a name like gsk_1a2B3c...
_OF_A_KEY = re.compile(r"(?:^|_)(?:API)?(?:KEY|TOKEN)\d*(?:_|$)", re.IGNORECASE)  # no other variable is ever sent
_HIDDEN = "[key]"
_KEYS = re.compile(r"\b(?:sk|gsk|xai|pk|rk)[-_][\w*.-]{6,}")
_SECRET = "(?:key|token|secret|password|authorization)"
_SECRET_FIELD = re.compile(rf"{_SECRET}$", re.IGNORECASE)
_IN_EXTRA = re.compile(rf"""(["'][\w-]*{_SECRET}["']\s*:\s*["'])[^"']*""", re.IGNORECASE)
_WORD = re.compile(r"[^\s\"']+")
_ANY_USER = re.compile(r"//[^/\s@]+@")
_BEFORE_USER = re.compile(r"//|base_url\s*=")
_SERVER = re.compile(r"base_url\s*=[^,()]*")
_QUERY = re.compile(r"([?#]).*", re.DOTALL)
_KEY_OPTION = re.compile(r"(key_variable\s*=\s*)([^,()]*)")


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
    if secret := _key_field(fields):
        raise ConfigError(
            f"extra: {secret!r:.40} looks like a key: keys come from the environment only, see key_variable"
        )
    if taken := sorted(fields.keys() & _OUR_FIELDS):
        raise ConfigError(f"extra: {taken[0]!r} is set by us; leave it out, or use the option for it")
    return fields


def _key_field(fields: Any) -> str | None:
    """The name of a field, at any depth, whose text looks like a key; None if there is none."""
    if isinstance(fields, list):
        return next((found for each in fields if (found := _key_field(each))), None)
    for name, value in fields.items() if isinstance(fields, dict) else ():
        if isinstance(value, str) and (_SECRET_FIELD.search(name) or _KEYS.search(value)):
            return str(name)
        if found := _key_field(value):
            return found
    return None


def checked_variable(name: str) -> str:
    """Checks the name of an environment variable that holds a key; the name may be logged.

    KEY or TOKEN must be a word of it, so that a spec written by others cannot leak other variables.

    Raises:
        ConfigError: it is not such a name, or looks like a key itself.
    """
    is_name = isinstance(name, str) and _VARIABLE.fullmatch(name) and not _LIKE_A_KEY.fullmatch(name)
    if not is_name or not _OF_A_KEY.search(name):
        raise ConfigError(
            "key_variable: give the name of the environment variable that holds the key, such as MY_SERVER_KEY "
            "(letters, digits and _, with KEY or TOKEN as one of its words), and never the key itself"
        )
    return name


def hide_secrets(text: str) -> str:
    """A spec without the parts that `checked_url`, `checked_variable` and `checked_extra` refuse to quote."""
    text = _IN_EXTRA.sub(r"\1[hidden]", text)
    end = text.rfind("@")
    if start := _BEFORE_USER.search(text, 0, max(0, end)):
        text = f"{text[: start.end()]}[hidden]{text[end:]}"
    text = _SERVER.sub(lambda option: _QUERY.sub(r"\1[hidden]", option[0]), text)  # in linear time
    return _KEY_OPTION.sub(_named, text)


def redacted(text: str, key: str = "") -> str:
    """A server's text without the key that was sent, and what looks like a key or its masked form ("sk-ab***yz")."""
    text = text.replace(key, _HIDDEN) if key else text
    text = _KEYS.sub(_HIDDEN, _ANY_USER.sub(rf"//{_HIDDEN}@", text))
    return _WORD.sub(lambda word: _HIDDEN if "***" in word[0] else word[0], text)


def _named(option: re.Match[str]) -> str:
    try:
        return option[1] + checked_variable(option[2].strip())
    except ConfigError:
        return f"{option[1]}[hidden]"
