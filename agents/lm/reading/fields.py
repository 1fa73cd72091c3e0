"""The fields of a reply, out of whatever text a language model has written, and what of it is lost."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from agents.lm.reading.repair import Cut, Pairs, find_objects

MAX_REPLY = 100_000  # characters; what lies behind is not read
MAX_LOSSES = 1000
MAX_NESTING = 4  # of objects around the one that has the reply's keys
SHOWN = 160  # characters of what a loss is about

_SURROGATE = re.compile("[\ud800-\udfff]")

FORM_LOSSES = {
    "no object": "there is no JSON object with any of the keys",
    "too long": "the reply has more characters than are read",
    "truncated": "the reply's end is missing, and with it whatever was not complete",
    "repaired": "the object is no proper JSON, but could be read",
    "prose": "there is text outside the object",
    "several objects": "more than one object has the reply's keys",
    "field": "a field, or a part of one, is not of the right form",
}
ORDER_LOSSES = {
    "order syntax": "the text is not understood",
    "order not legal": "understood, but not legal in this phase",
    "order coast": "right but for a coast",
    "order unclear": "several legal orders may be meant",
    "order of others": "the unit is another power's",
    "second order": "the unit has an order already",
    "builds and disbands": "a build behind a disband or a disband behind a build",
    "too many": "more builds, disbands, gifts or texts than are allowed",
}
MESSAGE_LOSSES = {
    "recipient": "there is no such recipient",
    "message to itself": "the recipient is the sender",
    "message too long": "the end of a message is cut off",
    "no messages now": "messages, where none are sent",
    "message text": "the text is cut off, or not valid Unicode",
    "word": "messages are words of a vocabulary, and this is none of them",
    "second word": "messages are words, and the recipient is sent one already",
    "too many messages": "more than are read",
}


@dataclass(frozen=True)
class Loss:
    """Something of a reply that could not be used.

    Attributes:
        kind: a key of `FORM_LOSSES`, `ORDER_LOSSES` or `MESSAGE_LOSSES`.
        what: the beginning of the text concerned, and why.
    """

    kind: str
    what: str


def read_fields(text: str, keys: Sequence[str]) -> tuple[dict[str, list[Any]], list[Loss]]:
    """The values of some keys in the objects of a reply: of each key those of the last object that has it."""
    losses = [loss_of("too long", text, f"{len(text)} characters")] if len(text) > MAX_REPLY else []
    objects = find_objects(text[:MAX_REPLY])
    answers = [answer for found in objects.found for answer in _answers(found, keys, 0)]
    if not answers:
        return {}, [*losses, loss_of("no object", text, "nothing found with a key of a reply")]
    faults = {
        "prose": objects.has_prose,
        "repaired": objects.is_repaired,
        "truncated": objects.is_truncated,
        "several objects": len(answers) > 1,
    }
    losses += [loss_of(kind, text, FORM_LOSSES[kind]) for kind, is_so in faults.items() if is_so]
    fields = {key: values for answer in answers for key in keys if (values := answer.values_of(key))}
    return fields, losses


def _answers(value: Any, keys: Sequence[str], depth: int) -> Iterator[Pairs]:
    """The objects that have a key of a reply; those in others, too."""
    if isinstance(value, Pairs):
        if any(name.strip().casefold() in keys for name, _ in value):
            yield value
        elif depth < MAX_NESTING:
            for _, part in value:
                yield from _answers(part, keys, depth + 1)
    elif isinstance(value, list) and depth < MAX_NESTING:
        for part in value:
            yield from _answers(part, keys, depth + 1)


def texts_of(value: Any) -> Iterator[str]:
    """All texts in a value, in their sequence; a `Cut` stays one."""
    if isinstance(value, list):
        for part in value:
            yield from texts_of(part[1] if isinstance(part, tuple) else part)
    elif value is not None:
        yield value if isinstance(value, str) else str(value)


def joined_texts(value: Any, whole: bool = False) -> str:
    """All texts in a value as one; if `whole`, only those that were not cut off."""
    return without_surrogates("\n".join(text for text in texts_of(value) if not (whole and isinstance(text, Cut))))


def lose(losses: list[Loss], kind: str, text: Any, reason: str) -> None:
    """Notes a loss, unless there are too many already."""
    if len(losses) < MAX_LOSSES:
        losses.append(loss_of(kind, text, reason))


def loss_of(kind: str, text: Any, reason: str) -> Loss:
    """A loss about a text, of which it shows the beginning."""
    shown = f"{str(text)[:SHOWN]!r}{'...' * (len(str(text)) > SHOWN)}: {reason}"
    return Loss(kind, without_surrogates(shown))


def without_surrogates(text: str) -> str:
    """The text with a sign in place of every half of a surrogate pair, which UTF-8 cannot have."""
    return _SURROGATE.sub("\ufffd", text)
