"""The fields of a reply, extracted from any text of a language model.

Which object is the reply?
    - The one with the most of the reply's keys, of several the last: a model drafts before it decides, and quotes a
      part of somebody's words after it has. An object with only other keys completes it.
    - Never an object with only messages that another player wrote: that is a quotation.
    - Of a reply that is cut off, only the unfinished object: a whole one with text after it is a draft.
    - Not what stands in thoughts (`agents.lm.reading.thinking`), the prompt's examples, or a schema.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agents.lm.reading.issues import ParseIssue, note, without_surrogates
from agents.lm.reading.objects import (
    MAX_REPLY,
    CutText,
    FoundObject,
    Object,
    find_objects,
    folded,
    parts_of,
    without_fences,
)
from agents.lm.reading.thinking import without_thinking

if TYPE_CHECKING:
    from agents.lm.models.protocol import Finish

MAX_NESTING = 4  # levels of objects around the one with the reply's keys

_WIDE = str.maketrans("\uff5b\uff5d\uff3b\uff3d\uff1a\uff0c\uff02", '{}[]:,"')
_THOUGHTS = frozenset(
    {"think", "thinking", "thought", "thoughts", "reasoning", "reasoning_content", "analysis", "scratchpad"}
    | {"draft", "drafts"}
)
"""Keys of what a model says to itself."""
_PLACEHOLDERS = {"...", "\u2026"}
_NEUTRAL = (" H", " D", "WAIVE")  # ends of the orders in the example


@dataclass(frozen=True)
class Fields:
    """The values of a reply for some keys.

    Attributes:
        values: key -> value; private thinking is removed.
        issues: faults in the reply's form.
        is_whole: whether the reply is complete, so that it may be sent to others.
    """

    values: dict[str, Any]
    issues: list[ParseIssue]
    is_whole: bool = False


def is_cut_off(finish: Finish) -> bool:
    """Whether a reply with this ending was cut off."""
    return finish in ("length", "refusal")


def read_fields(
    text: str,
    keys: Sequence[str],
    is_cut: bool = False,
    is_quotation: Callable[[Object, bool], bool] = lambda value, is_alone: False,
) -> Fields:
    """The values of some keys in a reply.

    Args:
        text: the reply.
        keys: those of a whole reply, in lower case.
        is_cut: whether the reply is known to be cut off; this may also be recognized from the text.
        is_quotation: whether an object has only words of other players, beside an own one or alone.
    """
    outside, is_thinking = without_thinking(text)
    issues: list[ParseIssue] = []
    if len(outside) > MAX_REPLY:
        note(issues, "too long", text, f"{len(outside)} characters")
    whole = _unwrapped(outside[:MAX_REPLY])
    for read in (whole, _plain(whole)):
        found, prose, lacks_end = find_objects(read)
        answers = [each._replace(value=value) for each in found for value in _answers(each.value, keys, 0)]
        if answers:
            break
    own = [each for each in answers if not _is_copy(each.value)] or answers
    own = [each for each in own if not is_quotation(each.value, False)] or own
    own = [each for each in own if not is_quotation(each.value, True)]
    if not own:
        note(issues, "quotation" if answers else "no object", text)
        return Fields({}, issues)
    behind = read[own[-1].end :]
    is_cut = is_cut or is_thinking or lacks_end or bool(outside[MAX_REPLY:].strip())
    is_cut = is_cut or behind.count("{") > behind.count("}")
    is_draft = is_cut and (is_thinking or bool(without_fences(behind)))
    chosen = own[-1:] if is_cut else _chosen(own, keys)
    faults = {
        "prose": bool(without_fences(prose)),
        "repaired": any(each.is_repaired for each in chosen) or read != whole,
        "truncated": is_cut,
        "several objects": sum(not _is_copy(each.value) for each in answers) > 1,
        "doubled key": any(_has_doubled_key(each.value) for each in chosen),
    }
    for kind, is_so in faults.items():
        if is_so:
            note(issues, kind, text)
    for name, value in (pair for each in chosen for pair in each.value.items()):
        if folded(name) not in keys and value is not None:
            note(issues, "unused", f"{name}: {value}")
    return Fields({} if is_draft else _values(chosen, keys), issues, is_whole=not is_cut)


def _chosen(answers: Sequence[FoundObject], keys: Sequence[str]) -> list[FoundObject]:
    """The object with the most keys, of several the last; and one that has only others of the keys."""
    owned = [{key for key in keys if each.value.by_key.get(key) is not None} for each in answers]
    latest = range(len(answers) - 1, -1, -1)
    best = max(latest, key=lambda number: len(owned[number]))
    others = [number for number in latest if owned[number] and owned[number].isdisjoint(owned[best])]
    return [answers[number] for number in (best, *sorted(others, key=lambda number: -len(owned[number]))[:1])]


def _values(answers: Sequence[FoundObject], keys: Sequence[str]) -> dict[str, Any]:
    """key -> value, without the thoughts in its texts; private reasoning stays as it is."""
    values = {}
    for key in keys:
        for given in (each.value.by_key.get(key) for each in answers):
            if given is not None and key not in values:
                values[key] = given if key == "reasoning" else _without_thoughts(_opened(given, key))
    return values


def _answers(value: Any, keys: Sequence[str], depth: int) -> Iterator[Object]:
    """The objects with a key of a reply, nested ones included, except thoughts, schemas and copied examples."""
    if isinstance(value, str) and not isinstance(value, CutText):
        value = _loaded(value)
    if isinstance(value, Object) and not value.by_key.keys().isdisjoint(keys):
        if not _is_example(value, keys):
            yield value
    elif isinstance(value, list | Object) and depth < MAX_NESTING and not {"type", "properties"} <= {*map(str, value)}:
        for name, part in value.items() if isinstance(value, Object) else (("", part) for part in value):
            if folded(name) not in _THOUGHTS:
                yield from _answers(part, keys, depth + 1)


def _unwrapped(text: str) -> str:
    """The content of a reply that is a JSON string; other replies unchanged."""
    bare = without_fences(text)
    inner = _loaded(bare, "") if bare[:1] == bare[-1:] == '"' else None
    return inner if isinstance(inner, str) else text


def _plain(text: str) -> str:
    """A text without JSON escapes, and with full-width punctuation (as in Chinese) replaced."""
    return text.replace('\\"', '"').translate(_WIDE)


def _opened(value: Any, key: str) -> Any:
    """The orders or messages in a text that is itself a JSON object or list: some models encode twice."""
    inner = _loaded(value) if isinstance(value, str) and key in ("orders", "messages") else None
    return value if inner is None else inner


def _loaded(text: str, starts: str = "{[") -> Any:
    """The value of JSON that begins with one of some signs; None for anything else."""
    if starts and text.lstrip()[:1] not in tuple(starts):
        return None
    try:
        return json.loads(text, object_pairs_hook=Object)
    except (ValueError, RecursionError):
        return None


def _is_example(answer: Object, keys: Sequence[str]) -> bool:
    """Whether an object is the example in the prompt, in which all texts are dots."""
    texts = [text for key in keys if key != "reasoning" for text in texts_of(answer.by_key.get(key))]
    return bool(texts) and _PLACEHOLDERS.issuperset(text.strip() for text in texts)


def _is_copy(answer: Object) -> bool:
    """Whether an object looks like the prompt's example for a phase: no thoughts, no messages, and nothing changes."""
    thought, said = ("".join(texts_of(answer.by_key.get(key))) for key in ("reasoning", "messages"))
    orders = texts_of(answer.by_key.get("orders"))
    return thought in _PLACEHOLDERS and not said.strip() and all(order.endswith(_NEUTRAL) for order in orders)


def _without_thoughts(value: Any) -> Any:
    """A value without thoughts; a text with an unfinished thought counts as cut off."""
    if isinstance(value, Object):
        return Object((without_thinking(name).text, _without_thoughts(part)) for name, part in value.items())
    if isinstance(value, list):
        return [_without_thoughts(part) for part in value]
    if not isinstance(value, str):
        return value
    outside = without_thinking(value)
    return CutText(outside.text) if outside.is_open or isinstance(value, CutText) else outside.text


def _has_doubled_key(value: Any) -> bool:
    if isinstance(value, Object) and value.is_doubled:
        return True
    return isinstance(value, list | dict) and any(map(_has_doubled_key, parts_of(value)))


def texts_of(value: Any) -> Iterator[str]:
    """All texts in a value, in sequence; `CutText` texts stay `CutText`."""
    if isinstance(value, list | dict):
        for part in parts_of(value):
            yield from texts_of(part)
    elif value is not None:
        yield value if isinstance(value, str) else str(value)


def joined_texts(value: Any, whole: bool = False) -> str:
    """All texts in a value joined; if `whole`, only those that were not cut off."""
    return without_surrogates("\n".join(text for text in texts_of(value) if not (whole and isinstance(text, CutText))))
