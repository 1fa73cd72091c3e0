"""The faults of a try: what the errors of the SDKs mean to us, and which parameter a server has refused."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from agents.lm.models.protocol import Request

MAX_RETRY_AFTER = 600.0  # seconds; if a server wants a longer pause, the call ends
PAID_FOR = frozenset({"malformed", "empty", "timeout"})
"""Faults of answers that were most likely paid for."""
LOST = PAID_FOR | {"connection"}
"""Faults after which the server may have charged for an answer that we cannot use or did not get."""
MALFORMED = (LookupError, TypeError, AttributeError, ValueError, AssertionError, RuntimeError, ImportError)
"""What reading an answer of another form raises, here and in the SDKs, or what finds a cloud's credentials."""
SCHEMA, LIMIT = "schema", "max_tokens"

_KIND_OF_STATUS = {
    **{401: "authentication", 403: "authentication", 407: "authentication", 402: "quota", 404: "not found"},
    **{408: "timeout", 409: "server", 413: "too long", 425: "server", 429: "rate limit"},
}
_FINAL = frozenset({"bad request", "authentication", "not found", "quota", "too long"})
_PROMPT_TOO_LONG = re.compile(r"context.length|prompt is too long|maximum context|context window", re.IGNORECASE)
_NO_MONEY = re.compile(r"insufficient_quota|credit balance is too low|insufficient (?:credits|balance)", re.IGNORECASE)
_FLAGGED = re.compile(r"moderation|flagged", re.IGNORECASE)  # OpenRouter's 403 for a single prompt, not for all
_NEVER_SENT = ("ConnectError", "ConnectTimeout", "ProxyError", "UnsupportedProtocol")  # of httpx
_SCHEMAS = re.compile(r"response_?format|output_config(?!\.effort)|output_format|structured.?outputs?|schema", re.I)
_GRAMMARS = re.compile(r"grammar|ebnf", re.IGNORECASE)
_UNKNOWN = re.compile(r"support|unknown|unrecogni[sz]ed|unexpected|deprecated|not permitted|not allowed|instead", re.I)
_MAX_TEXT, _MAX_READ = 300, 2000  # characters kept of a server's words, and searched


class Fault(Exception):
    """The fault of a try. Never leaves this package: a call ends in a reply, `ModelError` or `AccessError`.

    Attributes:
        kind: one of `agents.lm.errors.FAULT_KINDS`, or "credentials" if a cloud's cannot be found.
        text: a description for people.
        retry_after: the pause that the server wants, in seconds.
        about: the server's full words, longer than `text`, starting with the name of a wrong parameter.
        is_final: whether retrying is useless.
    """

    def __init__(self, kind: str, text: str, retry_after: float = 0.0, about: str = "") -> None:
        super().__init__(kind, text)
        self.kind, self.text, self.retry_after, self.about = kind, text, retry_after, about
        self.is_final = kind in _FINAL or retry_after > MAX_RETRY_AFTER

    def refused(self, sent: Request, limit_name: str) -> str | None:
        """The parameter that a server has refused, or None; only the server's words tell.

        Args:
            sent: the request as it was sent.
            limit_name: the name of the reply's limit that was sent, if the server may have another.
        """
        if self.kind not in ("bad request", "not found", "server"):
            return None
        for name in ("top_p", "temperature") if self.kind == "bad request" else ():
            if getattr(sent, name) is not None and re.search(rf"\b{name}\b", self.about):
                return name
        if sent.schema is not None and (_SCHEMAS.search(self.about) or _GRAMMARS.search(self.about)):
            return SCHEMA
        is_limit = limit_name and re.search(rf"\b{limit_name}\b", self.about)
        return LIMIT if is_limit and _UNKNOWN.search(self.about) else None  # else its value may just be wrong


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
        return said_fault(error.status_code, error.response.headers, error.body, hide)
    cause = error.__cause__ or error
    said = clean(hide(f"{type(cause).__name__} {cause}"))
    if isinstance(error, sdk.APITimeoutError) and "Connect" not in type(cause).__name__:
        return Fault("timeout", "no answer in time; a larger `timeout` waits longer")
    if isinstance(error, sdk.APIConnectionError):
        return Fault("unreachable" if type(cause).__name__ in _NEVER_SENT else "connection", said)
    if isinstance(error, sdk.APIError) and error.body:
        return said_fault(200, {}, error.body, hide)
    if isinstance(error, ImportError | RuntimeError) and not isinstance(error, RecursionError):
        return Fault("credentials", said)  # of the libraries that find a cloud's
    if type(error).__module__.startswith("httpx"):  # broken off while it was streamed
        return Fault("connection", said)
    return Fault("malformed", f"the answer is not what the interface promises: {said}")


def said_fault(status: int, headers: Mapping[str, str], body: Any, hide: Callable[[str], str]) -> Fault:
    """The fault for an answer with an error status, or with an error in a body of status 200 (OpenRouter, streams).

    Args:
        status: HTTP status.
        headers: headers of the answer; names in lower case.
        body: body of the answer, parsed if it was JSON.
        hide: removes secrets from the server's words.
    """
    if 300 <= status < 400:
        target = clean(hide(headers.get("location", "")[:_MAX_READ]))
        return Fault("not found", f"HTTP {status}: the server sends us on to {target}; if right, name it in base_url")
    inner = (body.get("error") or body) if isinstance(body, dict) else body
    known = inner if isinstance(inner, dict) else {"message": inner}
    known = {"message": known.get("detail")} | known  # FastAPI's servers
    told = [clean(hide(str(known.get(name) or "")[:_MAX_READ]), _MAX_READ) for name in ("param", "code", "message")]
    about = " ".join((*told[:2], clean(str(known.get("type") or "")), told[2]))
    pause, text = _retry_after(headers), f"HTTP {status}: {clean(told[2]) or 'without words'}"
    if pause > MAX_RETRY_AFTER:
        text += f" (it wants a pause of {pause:.0f} s)"
    if status < 300:
        code = known.get("code")
        status = code if isinstance(code, int) and 400 <= code <= 599 else 429 if "rate_limit" in about else 500
    return Fault(_kind(status, about), text, pause, about)


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


def _retry_after(headers: Mapping[str, str]) -> float:
    """The pause that a server asks for, in seconds; 0 if there is none."""
    try:
        seconds = float(headers.get("retry-after", ""))
    except ValueError:
        return 0.0
    return seconds if math.isfinite(seconds) else 0.0
