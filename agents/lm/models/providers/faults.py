"""The faults of a try: what the errors of the SDKs mean to us."""

from __future__ import annotations

import email.utils
import math
import re
import time
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from agents.lm.models.prices import Counts

MAX_RETRY_AFTER = 600.0  # seconds; if a server wants a longer pause, the call ends
PAID_FOR = frozenset({"malformed", "empty", "timeout"})
"""Faults of answers that were most likely paid for."""
LOST = PAID_FOR | {"connection"}
"""Faults after which the server may have charged for an answer that we cannot use or did not get."""
MALFORMED = (LookupError, TypeError, AttributeError, ValueError, AssertionError, RecursionError)
"""What reading an answer of another form raises, here and in the SDKs."""

_KIND_OF_STATUS = {
    **{401: "authentication", 403: "authentication", 407: "authentication", 402: "quota", 404: "not found"},
    **{408: "timeout", 409: "server", 413: "too long", 425: "server", 429: "rate limit"},
}
_KIND_OF_NAME = {"rate_limit_error": "rate limit", "rate_limit_exceeded": "rate limit", "insufficient_quota": "quota"}
_FINAL = frozenset({"bad request", "authentication", "not found", "quota", "too long"})
_PROMPT_TOO_LONG = re.compile(r"context.length|prompt is too long|maximum context|context window", re.IGNORECASE)
_NO_MONEY = re.compile(r"insufficient_quota|credit balance is too low|insufficient (?:credits|balance)", re.IGNORECASE)
_FLAGGED = re.compile(r"moderation|flagged", re.IGNORECASE)  # OpenRouter's 403 for a single prompt, not for all
_NEVER_SENT = ("ConnectError", "ConnectTimeout", "ProxyError", "UnsupportedProtocol")  # of httpx
_MAX_TEXT = 300  # characters kept of a server's words
_MAX_READ = 2000  # characters of them that are searched


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


def fault_of(error: Exception, sdk: ModuleType, hide: Callable[[str], str]) -> Fault:
    """The fault for an exception that a call of an SDK, or the reading of its answer, has raised.

    Args:
        error: the exception.
        sdk: the SDK's module.
        hide: removes secrets from a text.
    """
    if isinstance(error, Fault):
        return error
    if isinstance(error, sdk.APIStatusError):
        return status_fault(error.status_code, error.response.headers, error.body, hide)
    cause = error.__cause__ or error
    said = clean(hide(f"{type(cause).__name__} {cause}"))
    if isinstance(error, sdk.APITimeoutError) and "Connect" not in type(cause).__name__:
        return Fault("timeout", "no answer in time; a larger `timeout` waits longer")
    if isinstance(error, sdk.APIConnectionError):
        return Fault("unreachable" if type(cause).__name__ in _NEVER_SENT else "connection", said)
    if isinstance(error, (sdk.APIError, *MALFORMED)):
        return Fault("malformed", f"the answer is not what the interface promises: {said}")
    return Fault("connection", said)  # httpx's: broken off while it was streamed


def whole(answer: Any) -> Any:
    """An SDK's answer.

    Raises:
        Fault: it is a page, e.g. of a proxy, and not the interface's JSON.
    """
    if isinstance(answer, str):
        raise Fault("server", f"HTTP 200, but the answer is a page: {clean(answer, 80)}")
    return answer


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
