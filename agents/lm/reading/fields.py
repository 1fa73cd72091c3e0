"""The fields of a reply, extracted from any text of a language model, and the losses: parts that could not be used."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agents.lm.reading.repair import MAX_REPLY, CutText, Pairs, find_objects, without_fences
from agents.lm.reading.thinking import without_thinking

if TYPE_CHECKING:
    from agents.lm.models.protocol import Finish

MAX_LOSSES = 1000
MAX_NESTING = 4  # levels of objects around the one with the reply's keys
SHOWN = 160  # characters of the text that a loss quotes

_PARAMETERS = re.compile(r"<parameter(?: name)?=\"?(\w{1,40})\"?>(.*?)</parameter>", re.DOTALL)
_WIDE = str.maketrans("\uff5b\uff5d\uff3b\uff3d\uff1a\uff0c\uff02", '{}[]:,"')
_OPENED = ("orders", "messages")
_SURROGATE = re.compile("[\ud800-\udfff]")

FORM_LOSSES = {
    "no object": "there is no JSON object with any of the keys",
    "too long": "the reply has more characters than are read",
    "truncated": "the reply's end is missing, and with it whatever was not complete; nothing of it is sent",
    "repaired": "the object is not proper JSON, but could be read",
    "prose": "there is text outside the object",
    "several objects": "more than one object has the reply's keys; the last one counts",
    "doubled key": "a key comes twice in an object; the last one counts",
    "field": "a field, or a part of one, is not of the right form",
}
HARMLESS = frozenset({"prose", "doubled key"})
"""Form losses with which a reply still counts as parsed, as in the paper's own program."""

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
    "word": "messages are words of a vocabulary, and this is not one of them",
    "second word": "messages are words, and the recipient is sent one already",
    "too many messages": "more than are read",
}


@dataclass(frozen=True)
class Loss:
    """A part of a reply that could not be used.

    Attributes:
        kind: a key of `FORM_LOSSES`, `ORDER_LOSSES` or `MESSAGE_LOSSES`.
        what: the beginning of the text, and the reason.
    """

    kind: str
    what: str


@dataclass(frozen=True)
class Fields:
    """The values of a reply for some keys.

    Attributes:
        values: key -> value, of the last object that has any of the keys; private thinking is removed.
        losses: faults in the reply's form.
        is_whole: whether the reply is complete, so that it may be sent to others.
    """

    values: dict[str, Any]
    losses: list[Loss]
    is_whole: bool = False


def is_cut_off(finish: Finish) -> bool:
    """Whether a reply with this ending was cut off."""
    return finish in ("length", "refusal")


def read_fields(text: str, keys: Sequence[str], is_cut: bool = False) -> Fields:
    """The values of some keys in the last object of a reply that has any of them.

    In a reply that is cut off only the unfinished object counts: a complete object with text after it is a draft.

    Args:
        text: the reply.
        keys: in lower case.
        is_cut: whether the reply is known to be cut off; this may also be recognized from the text.
    """
    outside, is_thinking = without_thinking(text)
    read = outside[:MAX_REPLY]
    is_cut = is_cut or is_thinking or bool(outside[MAX_REPLY:].strip())
    losses = [loss_of("too long", text, f"{len(outside)} characters")] if len(outside) > MAX_REPLY else []
    read = _unwrapped(read)
    objects = find_objects(read)
    answers = [(found, answer) for found in objects.found for answer in _answers(found.value, keys, 0)]
    if not answers and (tagged := _of_tags(read)):
        return read_fields(tagged, keys, is_cut)
    if not answers and (plain := _plain(read)) != read:
        again = read_fields(plain, keys, is_cut)
        repaired = [loss_of("repaired", text, FORM_LOSSES["repaired"])] if again.values else []
        return Fields(again.values, [*losses, *again.losses, *repaired], again.is_whole)
    if not answers:
        return Fields({}, [*losses, loss_of("no object", text, "nothing found with a key of a reply")])
    found, answer = ([each for each in answers if not _is_copy(each[1])] or answers)[-1]
    behind = read[found.end :]
    is_cut = is_cut or objects.is_truncated or behind.count("{") > behind.count("}")
    is_draft = is_cut and (is_thinking or bool(without_fences(behind)))
    values = (
        {}
        if is_draft
        else {
            key: _public(key, _opened(value) if key in _OPENED else value)
            for key in keys
            if (value := answer.value_of(key)) is not None
        }
    )
    faults = {
        "prose": objects.has_prose,
        "repaired": found.is_repaired,
        "truncated": is_cut,
        "several objects": sum(not _is_copy(each) for _, each in answers) > 1,
        "doubled key": _has_doubled_key(answer),
    }
    losses += [loss_of(kind, text, FORM_LOSSES[kind]) for kind, is_so in faults.items() if is_so]
    return Fields(values, losses, is_whole=not is_cut)


def is_in_form(losses: Iterable[Loss]) -> bool:
    """Whether a reply with these losses was one JSON object, apart from thinking and prose around it."""
    return not any(loss.kind in FORM_LOSSES and loss.kind not in HARMLESS for loss in losses)


def _answers(value: Any, keys: Sequence[str], depth: int) -> Iterator[Pairs]:
    """The objects with a key of a reply, nested ones included, except thoughts, schemas and copied examples."""
    if isinstance(value, Pairs):
        names = {name.strip().casefold() for name, _ in value}
        if not names.isdisjoint(keys):
            if not _is_example(value, keys):
                yield value
        elif depth < MAX_NESTING and not names >= _SCHEMA:
            for name, part in value:
                if name.strip().casefold() not in _THOUGHTS:
                    yield from _answers(part, keys, depth + 1)
    elif isinstance(value, list) and depth < MAX_NESTING:
        for part in value:
            yield from _answers(part, keys, depth + 1)
    elif isinstance(value, str) and not isinstance(value, CutText) and (inner := _opened(value)) is not value:
        yield from _answers(inner, keys, depth + 1)


def _unwrapped(text: str) -> str:
    """The content of a reply that is a JSON string; other replies unchanged."""
    bare = without_fences(text)
    if bare[:1] == bare[-1:] == '"' and len(bare) > 1:
        inner = _loaded(bare)
        return inner if isinstance(inner, str) else text
    return text


def _plain(text: str) -> str:
    """A text without HTML and JSON escapes, and with full-width punctuation (as in Chinese) replaced."""
    return html.unescape(text).replace('\\"', '"').translate(_WIDE)


def _of_tags(text: str) -> str:
    """The parameters of a tool call in tags, as the text of one object; "" if there are none."""
    pairs = [
        f"{json.dumps(name)}: {given if _loaded(given) is not None else json.dumps(given.strip())}"
        for name, given in _PARAMETERS.findall(text)
    ]
    return f"{{{', '.join(pairs)}}}" if pairs else ""


def _opened(value: Any) -> Any:
    """Decodes a text that is itself a JSON object or list: some models encode twice."""
    if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "["):
        return value
    inner = _loaded(value)
    return value if inner is None else inner


def _loaded(text: str) -> Any:
    """The value of JSON, with objects as `Pairs`; None for anything else."""
    try:
        return json.loads(text, object_pairs_hook=Pairs)
    except (ValueError, RecursionError):
        return None


_SCHEMA = {"type", "properties"}
_THOUGHTS = {"think", "thinking", "thought", "thoughts", "reasoning", "reasoning_content", "analysis", "scratchpad"}
_PLACEHOLDERS = {"...", "\u2026"}
_NEUTRAL = (" H", " D", "WAIVE")  # ends of the orders in the example


def _is_example(answer: Pairs, keys: Sequence[str]) -> bool:
    """Whether an object is the example in the prompt, in which all texts are dots."""
    texts = [text for key in keys if key != "reasoning" for text in texts_of(answer.value_of(key))]
    return bool(texts) and _PLACEHOLDERS.issuperset(text.strip() for text in texts)


def _is_copy(answer: Pairs) -> bool:
    """Whether an object looks like the prompt's example for a phase: no thoughts, no messages, and nothing changes."""
    thought, said = ("".join(texts_of(answer.value_of(key))) for key in ("reasoning", "messages"))
    orders = texts_of(answer.value_of("orders"))
    return thought in _PLACEHOLDERS and not said.strip() and all(order.endswith(_NEUTRAL) for order in orders)


def _public(key: str, value: Any) -> Any:
    """A value without the thoughts in its texts; private reasoning stays as it is."""
    return value if key == "reasoning" else _without_thoughts(value)


def _without_thoughts(value: Any) -> Any:
    """A value without thoughts; a text with an unfinished thought counts as cut off."""
    if isinstance(value, Pairs):
        return Pairs((without_thinking(name).text, _without_thoughts(part)) for name, part in value)
    if isinstance(value, list):
        return [_without_thoughts(part) for part in value]
    if not isinstance(value, str):
        return value
    outside = without_thinking(value)
    return CutText(outside.text) if outside.is_open or isinstance(value, CutText) else outside.text


def _has_doubled_key(value: Any) -> bool:
    if isinstance(value, Pairs):
        return value.is_doubled or any(_has_doubled_key(part) for _, part in value)
    return isinstance(value, list) and any(map(_has_doubled_key, value))


def texts_of(value: Any) -> Iterator[str]:
    """All texts in a value, in sequence; `CutText` texts stay `CutText`."""
    if isinstance(value, list):
        for part in value:
            yield from texts_of(part[1] if isinstance(part, tuple) else part)
    elif value is not None:
        yield value if isinstance(value, str) else str(value)


def joined_texts(value: Any, whole: bool = False) -> str:
    """All texts in a value joined; if `whole`, only those that were not cut off."""
    return without_surrogates("\n".join(text for text in texts_of(value) if not (whole and isinstance(text, CutText))))


def lose(losses: list[Loss], kind: str, text: Any, reason: str) -> None:
    """Records a loss, unless there are too many already."""
    if len(losses) < MAX_LOSSES:
        losses.append(loss_of(kind, text, reason))


def loss_of(kind: str, text: Any, reason: str) -> Loss:
    """A loss that quotes the beginning of a text."""
    shown = f"{str(text)[:SHOWN]!r}{'...' * (len(str(text)) > SHOWN)}: {reason}"
    return Loss(kind, without_surrogates(shown))


def without_surrogates(text: str) -> str:
    """The text with lone surrogates, which UTF-8 cannot encode, replaced."""
    return _SURROGATE.sub("\ufffd", text)
