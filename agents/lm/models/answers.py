"""What comes back from a server: an answer, or a fault, and what it says about either."""

from __future__ import annotations

import email.utils
import math
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from agents.lm.models.limits import Clock
from agents.lm.models.prices import Price
from agents.lm.models.protocol import Finish, Usage

MAX_REPLY_BYTES = 4 * 2**20
"""Of a whole answer, several times what the longest reply of any model takes up; what goes on longer is cut off."""

LONGEST_RETRY_AFTER = 600.0  # seconds; a server that wants a longer pause ends the call
MOST_TOKENS = 10**9  # of one answer
PAID_FOR = frozenset({"malformed", "empty", "too long"})
"""Kinds of faults of answers that cost as much as good ones."""

LOST = PAID_FOR | {"timeout", "connection"}
"""Kinds of faults after which the server may have answered, and charged for it, whether or not we have seen it."""

_KIND_OF_STATUS = {
    **{401: "authentication", 403: "authentication", 407: "authentication", 402: "quota", 404: "not found"},
    **{408: "timeout", 409: "server", 413: "too long", 425: "server", 429: "rate limit"},
}
_MAY_PASS = {"rate limit", "server", "timeout", "connection", "unreachable", *PAID_FOR}
_PROMPT_TOO_LONG = re.compile(r"context.length|prompt is too long|maximum context|context window", re.IGNORECASE)
_NO_MONEY = re.compile(r"credit balance is too low|insufficient (?:credits|balance)", re.IGNORECASE)
_FLAGGED = re.compile(r"moderation|flagged", re.IGNORECASE)  # what OpenRouter says with a 403: this prompt, not all
_LONGEST_TEXT = 300  # characters of what a server says about an error


class Counts(NamedTuple):
    """Tokens as the provider bills them."""

    plain: int  # of the prompt, neither of the next two
    cached: int  # of the prompt, read from the provider's cache
    written: int  # of the prompt, written to it
    output: int  # of the reply

    def usage(self, price: Price | None) -> Usage:
        """With what they cost."""
        dollars = None if price is None else price.dollars(*self)
        return Usage(self.plain + self.cached + self.written, self.cached, self.output, dollars)


@dataclass(frozen=True)
class Answer:
    """What a server has answered. `counts` is None where it does not say."""

    text: str
    finish: Finish
    model: str
    counts: Counts | None


class Fault(Exception):
    """What was wrong with a try. Never leaves this package: a call ends in a reply or in a `ModelError`."""

    def __init__(
        self, kind: str, text: str, *, retry_after: float | None = None, final: bool = False, used: Counts | None = None
    ) -> None:
        super().__init__(kind, text)
        self.kind, self.text, self.retry_after, self.used = kind, text, retry_after, used
        self.is_final = final or kind not in _MAY_PASS


def status_fault(status: int, headers: Mapping[str, str], body: Any) -> Fault:
    """What an answer that is an error means.

    Args:
        status: of HTTP, 400 to 599.
        headers: of the answer; names in small letters.
        body: of the answer, JSON where it was that.
    """
    said, code = _message(body)
    kind = _kind(status, said, code)
    text = f"HTTP {status}: {said}" if said else f"HTTP {status}"
    final = kind == "too long" or headers.get("x-should-retry") == "false"
    pause = _retry_after(headers)
    if pause is not None and pause > LONGEST_RETRY_AFTER:
        text += f" (it wants a pause of {pause:.0f} s)"
    return Fault(kind, text, retry_after=pause, final=final)


def _kind(status: int, said: str, code: str) -> str:
    """The kind of fault: by the status, and where that says too little by the server's words."""
    kind = "server" if status >= 500 else _KIND_OF_STATUS.get(status, "bad request")
    if kind == "bad request" and (code == "context_length_exceeded" or _PROMPT_TOO_LONG.search(said)):
        return "too long"
    if status < 500 and (code == "insufficient_quota" or _NO_MONEY.search(said)):
        return "quota"
    return "bad request" if status == 403 and _FLAGGED.search(said) else kind


def _message(body: Any) -> tuple[str, str]:
    """What a server says is wrong, cleaned and shortened, and its code for it."""
    inner = body.get("error", body) if isinstance(body, dict) else body
    if not isinstance(inner, dict):
        return clean(inner), ""
    return clean(inner.get("message")), str(inner.get("code") or inner.get("type") or "")


def clean(text: Any) -> str:
    """A server's words in one line of ordinary length; empty for what is no text."""
    if not isinstance(text, str):
        return ""
    words = " ".join("".join(sign if sign.isprintable() else " " for sign in text[: 4 * _LONGEST_TEXT]).split())
    return words if len(words) <= _LONGEST_TEXT else words[:_LONGEST_TEXT] + "..."


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """The pause that a server asks for, in seconds; None for none, or none that can be read."""
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) / unit
        except ValueError:
            continue
        return max(0.0, seconds) if math.isfinite(seconds) else None
    date = email.utils.parsedate_tz(headers.get("retry-after", ""))
    return None if date is None else max(0.0, email.utils.mktime_tz(date) - time.time())


class Collected:
    """The body of an answer as it comes in.

    Args:
        clock: what time it is.
        timeout: seconds from now until which it must be there.
    """

    def __init__(self, clock: Clock, timeout: float) -> None:
        self._clock, self._timeout, self._deadline = clock, timeout, clock.now() + timeout
        self._pieces: list[bytes] = []
        self._size = 0

    @property
    def content(self) -> bytes:
        """All of it so far."""
        return b"".join(self._pieces)

    def add(self, piece: bytes) -> None:
        """The next piece.

        Raises:
            Fault: it is too long, or has taken too long.
        """
        self._pieces.append(piece)
        self._size += len(piece)
        if self._size > MAX_REPLY_BYTES:
            raise Fault("too long", f"the answer is longer than {MAX_REPLY_BYTES} bytes")
        if self._clock.now() > self._deadline:
            raise Fault("timeout", f"no whole answer within {self._timeout:g} s")


def joined(texts: Iterable[str]) -> str:
    """Texts of an answer as one, with what UTF-8 cannot hold replaced, so that it can be written down and sent on."""
    text = "".join(texts)
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def count(number: Any) -> int:
    """A number of tokens; none is 0.

    Raises:
        TypeError, ValueError: it is no such number.
    """
    if number is None:
        return 0
    if not isinstance(number, int):
        raise TypeError(f"{number!r} is no number of tokens")
    if not 0 <= number <= MOST_TOKENS:
        raise ValueError("no number of tokens that an answer can have used")
    return number
