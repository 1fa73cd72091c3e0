"""The content of an answer: its text, how it ended, and what it used."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from agents.lm.models.prices import Counts
from agents.lm.models.protocol import Finish

MOST_TOKENS = 10**9  # of one answer
_DEEPEST = 4  # levels of a part of thinking
_THINKING = re.compile(r"thinking|reasoning|thought|summary_text")  # the types of parts that are not answer text
_THOUGHT_FIELDS = ("thinking", "text", "summary", "content", "reasoning")
INPUTS = ("arguments", "input", "parameters")  # where servers put the input of a tool call
_DIALECTS = ("text", "output_text", None)  # the types of text parts; some servers leave the type out


def field(value: Any, name: str) -> Any:
    """A field of a JSON object; None if it is missing, or the value is not an object."""
    return value.get(name) if isinstance(value, dict) else None


@dataclass(frozen=True)
class Answer:
    """A server's answer, with its thinking kept apart. `counts` is None if they are missing or impossible."""

    text: str
    finish: Finish
    model: str
    counts: Counts | None
    reasoning: str = ""


def texts(content: Any) -> Iterator[str]:
    """The texts of an answer's content, which is a text, or a list of parts of which some are texts.

    The model's thinking is left out.

    Raises:
        TypeError: the content is neither a text nor a list.
    """
    if isinstance(content, str):
        yield content
    if isinstance(content, dict) and content and "type" not in content:
        yield json.dumps(content)  # the reply's own JSON, already read
        return
    for part in _parts(content):
        if isinstance(part, str):
            yield part
        elif isinstance(part, dict) and part.get("type") in _DIALECTS and not part.get("thought"):
            yield from _text(part.get("text"))


def thoughts(content: Any, is_own: bool = False) -> Iterator[str]:
    """The texts of the model's thinking in an answer's content; unknown shapes are skipped.

    Args:
        content: a list of parts, of which only thinking parts count.
        is_own: whether all of it is thinking, e.g. in a separate field.
    """
    if isinstance(content, str) and is_own:
        yield content
    for part in content if isinstance(content, list) else []:
        kind = part.get("type") if isinstance(part, dict) else None
        if (
            is_own
            or (isinstance(kind, str) and _THINKING.match(kind))
            or (isinstance(part, dict) and part.get("thought"))
        ):
            yield from _within(part, _DEEPEST)


def _within(part: Any, levels: int) -> Iterator[str]:
    """The texts in a part of thinking, which servers put in different places."""
    if isinstance(part, str):
        yield part
    elif isinstance(part, list) and levels:
        for each in part:
            yield from _within(each, levels - 1)
    elif isinstance(part, dict) and levels:
        found = (part[name] for name in _THOUGHT_FIELDS if part.get(name))
        yield from _within(next(found, None), levels - 1)


def refusals(content: Any) -> Iterator[str]:
    """The texts of the parts of an answer's content in which the model refuses to answer.

    Raises:
        TypeError: the content is neither a text nor a list of parts.
    """
    for part in _parts(content):
        if isinstance(part, dict) and part.get("type") == "refusal":
            yield from _text(part.get("refusal"))


def called(calls: Any) -> Iterator[str]:
    """The inputs of the tool calls in an answer, each on its own lines: some models answer with a tool call although no
    tool was offered.

    Args:
        calls: a list of tool calls, in any of the shapes that servers use; unknown shapes are skipped.
    """
    for call in calls if isinstance(calls, list) else []:
        inner = field(call, "function") or call
        for name in INPUTS:
            given = field(inner, name)
            if given and isinstance(given, (str, dict)):
                yield f"\n{given if isinstance(given, str) else json.dumps(given)}\n"
                break


def joined(said: Iterable[str]) -> str:
    """The texts of an answer joined, with characters that UTF-8 cannot encode replaced."""
    text = "".join(said)
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def finish_of(reason: Any, finishes: Mapping[Any, Finish]) -> Finish:
    """How an answer ended, as one of our `Finish` words."""
    return finishes.get(reason, "other") if reason is None or isinstance(reason, str) else "other"


def count(number: Any) -> int | None:
    """A number of tokens; None if it is not a valid one."""
    if isinstance(number, float) and number.is_integer():
        number = int(number)  # JSON has only one type of numbers, and some servers write 12.0
    is_one = isinstance(number, int) and not isinstance(number, bool) and 0 <= number <= MOST_TOKENS
    return number if is_one else None


def _parts(content: Any) -> list[Any]:
    if content is None or isinstance(content, str):
        return []
    if isinstance(content, dict) and content:
        return [content]  # a part without a list around it
    if not isinstance(content, list):
        raise TypeError(f"content is a {type(content).__name__}, neither a text nor a list of parts")
    return content


def _text(text: Any) -> Iterator[str]:
    if isinstance(text, str):
        yield text
