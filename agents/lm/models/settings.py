"""Checks of the settings of models."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from agents.lm.errors import ConfigError

MOST = 10**9
"""Upper limit of all numbers in settings."""

_OUR_FIELDS = frozenset(
    (
        "model", "messages", "input", "system", "instructions", "stream", "stream_options", "n", "max_tokens",
        "max_completion_tokens", "max_output_tokens", "temperature", "top_p", "tools", "tool_choice", "response_format",
        "text", "output_config", "store", "background", "seed",
    )
)  # fmt: skip
_VARIABLE = re.compile(r"[A-Za-z_]\w{0,63}", re.ASCII)
_LIKE_A_KEY = re.compile(r"(?=.*[a-z])(?=.*\d).{24,}")  # no variable has a name like gsk_1a2B3c...
_OF_A_KEY = re.compile(r"(?:^|_)(?:API)?(?:KEY|TOKEN)\d*(?:_|$)", re.IGNORECASE)  # no other variable is ever sent
_ADDRESS = "give an address such as http://127.0.0.1:8000/v1 or https://HOST, with a path where there is one"
_HIDDEN = "[key]"
_SHORTEST_IN_PIECES = 12  # characters of a key; pieces of a shorter one may be ordinary words
_KEYS = re.compile(r"\b(?:sk|gsk|xai|pk|rk)[-_][\w*.-]{6,}")
_SECRET_FIELD = re.compile(r"(?:key|token|secret|password|authorization)$", re.IGNORECASE)
_IN_EXTRA = re.compile(
    r"""(["'][\w-]*(?:key|token|secret|password|authorization)["']\s*:\s*["'])[^"']*""", re.IGNORECASE
)
_WORD = re.compile(r"[^\s\"']+")
_NAME = re.compile(r"[\w*.-]+")
_MASK = "***"
_ANY_USER = re.compile(r"//[^/\s@]+@")
_BEFORE_USER = re.compile(r"//|base_url\s*=")
_SERVER = re.compile(r"base_url\s*=[^,()]*")
_QUERY = re.compile(r"([?#]).*", re.DOTALL)
_KEY_OPTION = re.compile(r"(key_variable\s*=\s*)([^,()]*)")

USUAL_TOKENS = 2000
"""Limit of a reply of a model that answers at once."""

THINKING_TOKENS = 16_000
"""Limit of a reply of a model that thinks first, which counts in the limit."""

_THINKERS = re.compile(
    r"\bo[134]\b|claude-(?:[a-z]+-)?(?:4-[6-9]|[5-9])(?!\d)|claude-mythos|gpt-?(?:[5-9]|oss)|deepseek-(?:r|v[4-9])"
    r"|reasoner|\br1\b|qwq|qwen-?[3-9]|magistral|grok-[3-9]|gemini-(?:2\.5|[3-9])|glm-(?:4\.[5-9]|[5-9])|kimi-k[2-9]|minimax-m|nemotron|thinking|reasoning",
    re.IGNORECASE,
)
_AT_ONCE = frozenset({"none", "minimal"})  # efforts without thinking


def check_number(name: str, value: Any, above: float = -1.0, whole: bool = False) -> None:
    """Checks that a setting is a number above a bound.

    Raises:
        ConfigError: it is not a number, not above the bound, or not whole although `whole`.
    """
    kinds = int if whole else int | float
    if isinstance(value, bool) or not isinstance(value, kinds) or not above < value <= MOST:  # NaN fails, too
        bound = "from 0" if above < 0 else f"above {above:g}"
        raise ConfigError(f"{name} {value!r:.40}: give a {'whole ' if whole else ''}number {bound}, up to {MOST:,}")


def check_kind(name: str, value: Any, kind: type) -> None:
    """Checks the type of a setting.

    Raises:
        ConfigError: it has another type.
    """
    if not isinstance(value, kind):
        raise ConfigError(f"{name} {value!r}: give a {kind.__name__}")


def checked_url(url: str, name: str = "base_url") -> str:
    """Checks an address, which may be logged, and returns it without a trailing slash.

    Args:
        url: address of a server.
        name: of the setting or the environment variable that it comes from, for the error.

    Raises:
        ConfigError: it is not an address, or has a password or a query. Not quoted, since both may be secret.
    """
    try:
        parts = urlsplit(url)
        _ = parts.port  # parsed only now; may be invalid
    except ValueError:
        raise ConfigError(f"{name}: {_ADDRESS}") from None  # its text would quote parts of the address
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise ConfigError(
            f"{name} with a user, a password or a query: leave them out, and give the key by key_variable"
        )
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(f"{name}: {_ADDRESS}")
    return url.rstrip("/")


def checked_extra(extra: Mapping[str, Any] | str) -> dict[str, Any]:
    """Checks further fields of a request's body, and returns them as a dict.

    Args:
        extra: the fields, or the text of a JSON object, which may stand in parentheses.

    Raises:
        ConfigError: not plain JSON, a field that we set ourselves, or one that looks like a key. Values are not quoted.
    """
    try:
        text = extra.strip() if isinstance(extra, str) else json.dumps(extra, allow_nan=False)
        fields = json.loads(text[1:-1] if text.startswith("(") and text.endswith(")") else text)
    except (ValueError, TypeError, RecursionError) as error:
        written = redacted(hide_secrets(repr(extra)))[:80]
        raise ConfigError(f'extra {written}: give a JSON object, such as {{"top_k": 20}}: {error}') from error
    if not isinstance(fields, dict):
        raise ConfigError(f'extra {redacted(repr(extra))[:80]}: give a JSON object, such as {{"top_k": 20}}')
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
    if not isinstance(fields, dict):
        return None
    for name, value in fields.items():
        if isinstance(value, str) and (_SECRET_FIELD.search(name) or _KEYS.search(value)):
            return str(name)
        if found := _key_field(value):
            return found
    return None


def checked_variable(name: str) -> str:
    """Checks the name of an environment variable that holds a key; the name may be logged.

    KEY or TOKEN must be a word of it, so that a spec written by others cannot leak other variables.

    Raises:
        ConfigError: it is not such a name, or looks like a key itself. The text does not quote it.
    """
    if not isinstance(name, str) or not _VARIABLE.fullmatch(name) or _LIKE_A_KEY.fullmatch(name):
        raise ConfigError(
            "key_variable: give the name of the environment variable that holds the key, such as MY_SERVER_KEY "
            "(letters, digits and _, at most 64), and never the key itself"
        )
    if not _OF_A_KEY.search(name):
        raise ConfigError(
            "key_variable: give a name with KEY or TOKEN as one of its words, such as MY_SERVER_KEY; other variables "
            "are never sent to a server"
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


def without_key(text: str, key: str) -> str:
    """A text without the key, unless the key is so short that it may be an ordinary word ("EMPTY")."""
    return text.replace(key, _HIDDEN) if len(key) >= _SHORTEST_IN_PIECES else text


def redacted(text: str, key: str = "") -> str:
    """A server's text without the key, pieces of it, and what looks like a key or its masked form ("sk-ab***yz").

    Args:
        text: of any length.
        key: the key that was sent; "" for none.
    """
    if key:
        text = text.replace(key, _HIDDEN)
    text = _KEYS.sub(_HIDDEN, _ANY_USER.sub(rf"//{_HIDDEN}@", text))
    text = _WORD.sub(lambda word: _HIDDEN if _MASK in word[0] else word[0], text)
    if len(key) < _SHORTEST_IN_PIECES:
        return text
    piece = re.compile(rf"{re.escape(key[:6])}|{re.escape(key[-4:])}(?![\w-])")
    return _NAME.sub(lambda name: _HIDDEN if piece.search(name[0]) else name[0], text)


def _named(option: re.Match[str]) -> str:
    try:
        return option[1] + checked_variable(option[2].strip())
    except ConfigError:
        return f"{option[1]}[hidden]"


def usual_tokens(model: str, effort: str | None = None, thinking: int | None = None) -> int:
    """The usual limit of a reply, by the kind of model.

    Args:
        model: the model's name.
        effort, thinking: its settings.
    """
    if thinking is not None:
        return thinking + USUAL_TOKENS
    thinks = effort not in _AT_ONCE if effort else _THINKERS.search(model) is not None
    return THINKING_TOKENS if thinks else USUAL_TOKENS
