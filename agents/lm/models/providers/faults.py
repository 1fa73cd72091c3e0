"""The faults of a try, a server's words about them, and the parameter that it has rejected.

Newer models accept only one of temperature and top_p, or neither; some servers do not know schemas, or have another
name for the limit of a reply. Only the server knows, and reports it as an error.
"""

from __future__ import annotations

import email.utils
import math
import re
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from agents.lm.models.prices import Counts

LONGEST_RETRY_AFTER = 600.0  # seconds; if a server wants a longer pause, the call ends
PAID_FOR = frozenset({"malformed", "empty", "too long"})
"""Faults of answers that cost as much as good ones."""

LOST = PAID_FOR | {"timeout", "connection"}
"""Faults after which the server may have charged for an answer that we cannot use or did not get."""

_KIND_OF_STATUS = {
    **{401: "authentication", 403: "authentication", 407: "authentication", 402: "quota", 404: "not found"},
    **{408: "timeout", 409: "server", 413: "too long", 425: "server", 429: "rate limit"},
}
_STATUS_OF_NAME = {
    **{"invalid_request_error": 400, "context_length_exceeded": 400, "request_too_large": 413},
    **{"authentication_error": 401, "invalid_api_key": 401, "permission_error": 403},
    **{"billing_error": 402, "insufficient_quota": 402, "not_found_error": 404, "model_not_found": 404},
    **{"rate_limit_error": 429, "rate_limit_exceeded": 429, "too_many_requests": 429, "overloaded_error": 529},
}
"""OpenAI's and Anthropic's names of errors, and their HTTP statuses."""

_MAY_PASS = {"rate limit", "server", "timeout", "connection", "unreachable", *PAID_FOR}
_PROMPT_TOO_LONG = re.compile(r"context.length|prompt is too long|maximum context|context window", re.IGNORECASE)
_NO_MONEY = re.compile(r"credit balance is too low|insufficient (?:credits|balance)", re.IGNORECASE)
_FLAGGED = re.compile(r"moderation|flagged", re.IGNORECASE)  # OpenRouter's 403 for a single prompt, not for all
_LONGEST_TEXT = 300  # characters kept of a server's error text
_LONGEST_READ = 2000  # characters of it that are searched
_DEEPEST = 4  # levels of its JSON that are searched

SAMPLING = ("top_p", "temperature")
SCHEMA = "schema"
LIMIT = "max_tokens"

_SCHEMAS = re.compile(
    r"response_?format|json_?schema|output_config(?!\.effort)|output_format|text\.format|guided_\w+|structured.?outputs?"
    r"|grammar|ebnf",
    re.IGNORECASE,
)
_UNKNOWN = re.compile(
    r"unsupported|not support|unknown|unrecogni[sz]ed|unexpected|deprecated|not permitted|not allowed|instead",
    re.IGNORECASE,
)
_REFUSING = frozenset({"bad request", "not found", "server"})  # the faults by which servers reject a parameter


class Fault(Exception):
    """The fault of a try. Never leaves this package: a call ends in a reply or in a `ModelError`.

    Attributes:
        kind: one of `agents.lm.errors.FAULT_KINDS`.
        text: a description for people.
        retry_after: the pause that the server wants, in seconds.
        is_final: whether retrying is useless.
        used: the tokens used, if the server reports them.
        about: the server's full words, longer than `text`, starting with the name of a wrong parameter.
    """

    def __init__(
        self,
        kind: str,
        text: str,
        *,
        retry_after: float | None = None,
        final: bool = False,
        used: Counts | None = None,
        about: str = "",
    ) -> None:
        super().__init__(kind, text)
        self.kind, self.text, self.retry_after, self.used = kind, text, retry_after, used
        self.is_final = final or kind not in _MAY_PASS
        self.about = about


class _Said(NamedTuple):
    """A server's error: its words, and its names for the error and the parameter."""

    words: str
    names: tuple[str, ...]
    parameter: str

    @property
    def about(self) -> str:
        return " ".join((self.parameter, *self.names, self.words))


def status_fault(
    status: int, headers: Mapping[str, str], body: Any, hide: Callable[[str], str] = lambda same: same
) -> Fault:
    """The fault for an answer with an error status.

    Args:
        status: HTTP status, 300 to 599.
        headers: headers of the answer; names in lower case.
        body: body of the answer, parsed if it was JSON.
        hide: removes secrets from the server's words.
    """
    if status < 400:
        return _redirect(status, hide(headers.get("location", "")[:_LONGEST_READ]))
    said = _said(body, hide)
    kind = _kind(status, said)
    text = f"HTTP {status}: {clean(said.words)}" if said.words else f"HTTP {status}"
    final = kind == "too long" or headers.get("x-should-retry") == "false"
    pause = _retry_after(headers)
    if pause is not None and pause > LONGEST_RETRY_AFTER:
        text += f" (it wants a pause of {pause:.0f} s)"
    return Fault(kind, text, retry_after=pause, final=final, about=said.about)


def body_fault(payload: Any, hide: Callable[[str], str] = lambda same: same) -> Fault | None:
    """The fault for an error in an answer of status 200; None if there is none."""
    error = _error_in(payload)
    if not error:
        return None
    said = _said(error, hide)
    kind = _kind(_status_in(error, said.names), said)
    words = f": {clean(said.words)}" if said.words else ""
    return Fault(kind, f"HTTP 200, but the answer is an error{words}", final=kind == "too long", about=said.about)


def clean(text: Any, longest: int = _LONGEST_TEXT) -> str:
    """A server's words on one line of ordinary length; "" if they are not a text."""
    if not isinstance(text, str):
        return ""
    words = " ".join("".join(sign if sign.isprintable() else " " for sign in text[: 4 * longest]).split())
    return words if len(words) <= longest else words[:longest] + "..."


def _redirect(status: int, target: str) -> Fault:
    """The fault for a redirect: prompts and keys only go to servers that the user has named."""
    there = f": the server sends us on to {clean(target)}; if that is right, name it in base_url" if target else ""
    return Fault("not found", f"HTTP {status}{there}")


def _kind(status: int, said: _Said) -> str:
    """The kind of fault, by the status and, if that is not enough, by the server's words."""
    kind = "server" if status >= 500 else _KIND_OF_STATUS.get(status, "bad request")
    if kind == "bad request" and ("context_length_exceeded" in said.names or _PROMPT_TOO_LONG.search(said.words)):
        return "too long"
    if status < 500 and ("insufficient_quota" in said.names or _NO_MONEY.search(said.words)):
        return "quota"
    return "bad request" if status == 403 and _FLAGGED.search(said.words) else kind


def _error_in(payload: Any) -> Any:
    """The error in an answer, or in its first choice; a false value if there is none."""
    if not isinstance(payload, dict):
        return None
    if payload.get("object") == "error" and not payload.get("error"):
        return payload
    choices = payload.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    errors = (payload.get("error"), first.get("error") if isinstance(first, dict) else None)
    return next((error for error in errors if (any(error.values()) if isinstance(error, dict) else error)), None)


def _status_in(error: Any, names: tuple[str, ...]) -> int:
    """The status that an error should have been sent with; 500 if unknown."""
    code = error.get("code") if isinstance(error, dict) else None
    for name in (code, *names):
        number = int(name) if isinstance(name, str) and re.fullmatch("[45][0-9][0-9]", name) else name
        if isinstance(number, int) and 400 <= number <= 599:
            return number
        if isinstance(name, str) and name in _STATUS_OF_NAME:
            return _STATUS_OF_NAME[name]
    return 500


def _said(body: Any, hide: Callable[[str], str]) -> _Said:
    inner = (body.get("error") or body) if isinstance(body, dict) else body
    words = clean(hide(_words(inner)[:_LONGEST_READ]), _LONGEST_READ)
    if not isinstance(inner, dict):
        return _Said(words, (), "")
    code, kind, parameter = (clean(hide(_short(inner.get(name)))) for name in ("code", "type", "param"))
    return _Said(words, tuple(name for name in (code, kind) if name), parameter)


def _short(text: Any) -> str:
    return text[:_LONGEST_TEXT] if isinstance(text, str) else ""


def _words(error: Any, level: int = 0) -> str:
    """The words of an error: a text, or found in its JSON, where servers put them in different places."""
    if isinstance(error, str):
        return error
    if level > _DEEPEST:
        return ""
    if isinstance(error, list):
        return "; ".join(words for part in error[:_DEEPEST] if (words := _words(part, level + 1)))
    if not isinstance(error, dict):
        return ""
    names = ("message", "detail", "msg", "error")
    words = next((words for name in names if (words := _words(error.get(name), level + 1))), "")
    place = error.get("loc")  # pydantic's path of the wrong parameter
    return f"{'.'.join(map(_words, place))}: {words}" if words and isinstance(place, list) else words


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """The pause that a server asks for, in seconds; None if it is missing or cannot be parsed."""
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) / unit
        except ValueError:
            continue
        return max(0.0, seconds) if math.isfinite(seconds) else None
    try:
        date = email.utils.parsedate_tz(headers.get("retry-after", ""))
        return None if date is None else max(0.0, email.utils.mktime_tz(date) - time.time())
    except (ValueError, OverflowError, IndexError, TypeError):  # an impossible date, or one that Python cannot parse
        return None


def refused(fault: Fault, sent: Mapping[str, str]) -> str | None:
    """The parameter that a server has rejected, or None.

    Args:
        fault: the server's fault.
        sent: the optional parameters -> their names on that server, in the sequence in which they are dropped.
    """
    if fault.kind not in _REFUSING:
        return None
    return next((parameter for parameter, name in sent.items() if _is_about(parameter, name, fault)), None)


def _is_about(parameter: str, name: str, fault: Fault) -> bool:
    if parameter == SCHEMA:
        return _SCHEMAS.search(fault.about) is not None
    if re.search(rf"\b{name}\b", fault.about) is None:
        return False
    # A limit may just have a wrong value; a sampling parameter is left out whatever is wrong with it.
    return _UNKNOWN.search(fault.about) is not None if parameter == LIMIT else fault.kind == "bad request"
