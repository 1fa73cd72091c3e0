"""The faults of a try: what the errors of the SDKs mean to us, and which parameter a server has refused.

Newer models accept only one of temperature and top_p, or neither; some servers do not know schemas, or have another
name for the limit of a reply. Only the server knows, and reports it as an error.
"""

from __future__ import annotations

import email.utils
import math
import re
import time
from collections.abc import Callable, Mapping
from typing import Any

from agents.lm.models.prices import Counts

MAX_RETRY_AFTER = 600.0  # seconds; if a server wants a longer pause, the call ends
PAID_FOR = frozenset({"malformed", "empty", "timeout", "connection"})
"""Faults after which the server may have charged for an answer that we cannot use or did not get."""

_KIND_OF_STATUS = {
    **{401: "authentication", 403: "authentication", 407: "authentication", 402: "quota", 404: "not found"},
    **{408: "timeout", 409: "server", 413: "too long", 425: "server", 429: "rate limit"},
}
_KIND_OF_NAME = {"rate_limit_error": "rate limit", "rate_limit_exceeded": "rate limit", "insufficient_quota": "quota"}
_FINAL = frozenset({"bad request", "authentication", "not found", "quota", "too long"})
_PROMPT_TOO_LONG = re.compile(r"context.length|prompt is too long|maximum context|context window", re.IGNORECASE)
_NO_MONEY = re.compile(r"insufficient_quota|credit balance is too low|insufficient (?:credits|balance)", re.IGNORECASE)
_FLAGGED = re.compile(r"moderation|flagged", re.IGNORECASE)  # OpenRouter's 403 for a single prompt, not for all
_MAX_TEXT = 300  # characters kept of a server's words
_MAX_READ = 2000  # characters of them that are searched

SAMPLING = ("top_p", "temperature")
SCHEMA = "schema"
LIMIT = "max_tokens"

_SCHEMAS = re.compile(
    r"response_?format|json_?schema|output_config(?!\.effort)|output_format|text\.format|structured.?outputs?|schema"
    r"|grammar|ebnf",
    re.IGNORECASE,
)
_UNKNOWN = re.compile(
    r"unsupported|not support|unknown|unrecogni[sz]ed|unexpected|deprecated|not permitted|not allowed|instead",
    re.IGNORECASE,
)


class Fault(Exception):
    """The fault of a try. Never leaves this package: a call ends in a reply, `ModelError` or `AccessError`.

    Attributes:
        kind: one of `agents.lm.errors.FAULT_KINDS`.
        text: a description for people.
        retry_after: the pause that the server wants, in seconds.
        is_final: whether retrying is useless.
        used: the tokens used, if the server reports them.
        about: the server's full words, longer than `text`, starting with the name of a wrong parameter.
    """

    def __init__(
        self, kind: str, text: str, *, retry_after: float | None = None, used: Counts | None = None, about: str = ""
    ) -> None:
        super().__init__(kind, text)
        self.kind, self.text, self.retry_after, self.used, self.about = kind, text, retry_after, used, about
        self.is_final = kind in _FINAL or (retry_after or 0.0) > MAX_RETRY_AFTER


def status_fault(status: int, headers: Mapping[str, str], body: Any, hide: Callable[[str], str]) -> Fault:
    """The fault for an answer with an error status.

    Args:
        status: HTTP status, 300 to 599.
        headers: headers of the answer; names in lower case.
        body: body of the answer, parsed if it was JSON.
        hide: removes secrets from the server's words.
    """
    if status < 400:
        target = clean(hide(headers.get("location", "")[:_MAX_READ]))
        return Fault("not found", f"HTTP {status}: the server sends us on to {target}; if right, name it in base_url")
    words, names = _words(body, hide)
    text = f"HTTP {status}: {clean(words)}" if words else f"HTTP {status}"
    pause = _retry_after(headers)
    if pause is not None and pause > MAX_RETRY_AFTER:
        text += f" (it wants a pause of {pause:.0f} s)"
    return Fault(_kind(status, f"{names} {words}"), text, retry_after=pause, about=f"{names} {words}")


def body_fault(error: Any, hide: Callable[[str], str]) -> Fault:
    """The fault for an error in an answer of status 200, as OpenRouter sends them."""
    words, names = _words(error, hide)
    code = error.get("code") if isinstance(error, dict) else None
    status = code if isinstance(code, int) and 400 <= code <= 599 else 500
    named = (kind for name, kind in _KIND_OF_NAME.items() if name in names)
    kind = next(named, _kind(status, f"{names} {words}"))
    return Fault(kind, f"HTTP 200, but the answer is an error: {clean(words)}", about=f"{names} {words}")


def clean(text: Any, longest: int = _MAX_TEXT) -> str:
    """A server's words on one line of ordinary length; "" if they are not a text."""
    if not isinstance(text, str):
        return ""
    words = " ".join("".join(sign if sign.isprintable() else " " for sign in text[: 4 * longest]).split())
    return words if len(words) <= longest else words[:longest] + "..."


def _kind(status: int, said: str) -> str:
    """The kind of fault, by the status and, if that is not enough, by the server's words."""
    kind = "server" if status >= 500 else _KIND_OF_STATUS.get(status, "bad request")
    if kind == "bad request" and _PROMPT_TOO_LONG.search(said):
        return "too long"
    if status < 500 and _NO_MONEY.search(said):
        return "quota"
    return "bad request" if status == 403 and _FLAGGED.search(said) else kind


def _words(body: Any, hide: Callable[[str], str]) -> tuple[str, str]:
    """A server's words about an error, and its names for the parameter and the error."""
    inner = (body.get("error") or body) if isinstance(body, dict) else body
    if not isinstance(inner, dict):
        return clean(hide(str(inner or "")[:_MAX_READ]), _MAX_READ), ""
    said = inner.get("message") or inner.get("detail") or ""
    names = " ".join(str(inner[name])[:_MAX_TEXT] for name in ("param", "code", "type") if inner.get(name))
    return clean(hide(str(said)[:_MAX_READ]), _MAX_READ), clean(hide(names))


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """The pause that a server asks for, in seconds; None if it is missing or cannot be parsed."""
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) / unit
        except ValueError:
            continue
        return max(0.0, seconds) if math.isfinite(seconds) else None
    try:
        date = email.utils.parsedate_to_datetime(headers.get("retry-after", ""))
        return max(0.0, date.timestamp() - time.time())
    except (ValueError, OverflowError):  # an impossible date, or one that Python cannot parse
        return None


def refused(fault: Fault, sent: Mapping[str, str]) -> str | None:
    """The parameter that a server has refused, or None.

    Args:
        fault: the server's fault.
        sent: the optional parameters -> their names on that server, in the sequence in which they are left out.
    """
    if fault.kind in ("bad request", "not found", "server"):
        return next((parameter for parameter, name in sent.items() if _is_about(parameter, name, fault)), None)
    return None


def _is_about(parameter: str, name: str, fault: Fault) -> bool:
    if parameter == SCHEMA:
        return _SCHEMAS.search(fault.about) is not None
    if re.search(rf"\b{name}\b", fault.about) is None:
        return False
    # A limit may just have a wrong value; a sampling parameter is left out whatever is wrong with it.
    return _UNKNOWN.search(fault.about) is not None if parameter == LIMIT else fault.kind == "bad request"


def shape(schema: Any) -> str:
    """What a schema has in common with those that a server refuses for the same reason: its form, and about its size.

    The names of properties and the values of enums are left out, and alternatives of one form count once.
    """
    return f"{_form(schema)} of {len(str(schema)).bit_length()} bits"


def _form(schema: Any) -> str:
    if not isinstance(schema, Mapping):
        return "any"
    alternatives = sorted({_form(each) for each in schema.get("anyOf", ())})
    parts = sorted({_form(each) for each in schema.get("properties", {}).values()})
    inner = [*alternatives, *parts, *([_form(schema["items"])] if "items" in schema else [])]
    words = sorted(word for word in schema if word not in ("properties", "required"))
    return f"{schema.get('type', '')}[{' '.join(words)}]({', '.join(inner)})"
