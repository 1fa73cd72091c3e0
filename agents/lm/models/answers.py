"""What an answer says: its text, how it ended, and what it has used."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from agents.lm.models.faults import Fault, clean
from agents.lm.models.prices import Counts
from agents.lm.models.protocol import Finish

MOST_TOKENS = 10**9  # of one answer
_LONGEST_NUMBER = 30  # digits
_DIALECTS = ("text", "output_text", None)  # what parts of text are called; some servers do not name them


@dataclass(frozen=True)
class Answer:
    """What a server has answered. `counts` is None where it does not say, or nothing that can be so."""

    text: str
    finish: Finish
    model: str
    counts: Counts | None


def parsed(content: bytes) -> Any:
    """The JSON of an answer.

    Raises:
        Fault: it is none.
    """
    try:
        return json.loads(content, parse_int=_integer)
    except (ValueError, RecursionError) as error:
        raise Fault("malformed", f"the answer of {len(content)} bytes is no JSON: {clean(str(error))}") from None


def texts(content: Any) -> Iterator[str]:
    """The texts of an answer's content: it is one itself, or a list of parts, some of which are texts.

    What a model was thinking is no part of what it says.

    Raises:
        TypeError: it is neither.
    """
    if isinstance(content, str):
        yield content
    for part in _parts(content):
        if isinstance(part, str):
            yield part
        elif isinstance(part, dict) and part.get("type") in _DIALECTS and not part.get("thought"):
            yield from _text(part.get("text"))


def refusals(content: Any) -> Iterator[str]:
    """The texts of the parts of an answer's content in which the model says that it does not want to answer.

    Raises:
        TypeError: it is neither a text nor a list of parts.
    """
    for part in _parts(content):
        if isinstance(part, dict) and part.get("type") == "refusal":
            yield from _text(part.get("refusal"))


def joined(said: Iterable[str]) -> str:
    """Texts of an answer as one, with what UTF-8 cannot hold replaced, so that it can be written down and sent on."""
    text = "".join(said)
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def finish_of(reason: Any, finishes: Mapping[Any, Finish]) -> Finish:
    """How an answer ended, in our words."""
    return finishes.get(reason, "other") if reason is None or isinstance(reason, str) else "other"


def field(value: Any, name: str) -> Any:
    """What an object of JSON has under a name; None where it has nothing, or is none."""
    return value.get(name) if isinstance(value, dict) else None


def count(number: Any) -> int | None:
    """A number of tokens; None for what is no such number."""
    if isinstance(number, float) and number.is_integer():
        number = int(number)  # JSON has one kind of numbers, and some servers write 12.0
    is_one = isinstance(number, int) and not isinstance(number, bool) and 0 <= number <= MOST_TOKENS
    return number if is_one else None


def _parts(content: Any) -> list[Any]:
    if content is None or isinstance(content, str):
        return []
    if not isinstance(content, list):
        raise TypeError(f"content is a {type(content).__name__}, neither a text nor a list of parts")
    return content


def _text(text: Any) -> Iterator[str]:
    if isinstance(text, str):
        yield text


def _integer(digits: str) -> int | float:
    """A whole number of any length; Python refuses to read those of thousands of digits as such."""
    return int(digits) if len(digits) <= _LONGEST_NUMBER else float(digits)
