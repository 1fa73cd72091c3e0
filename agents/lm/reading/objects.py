"""JSON objects in any text, however damaged: `find_objects`.

Proper JSON is read by `json`, all else by `json-repair`. What the end of a text cuts off is marked as such (`CutText`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import json_repair

MAX_REPLY = 100_000  # characters of a reply without its thinking; the rest is not read
MAX_DEPTH = 20
_MAX_REPAIRED = (
    20_000  # characters of damaged JSON, with at most so many signs: the time to repair them may be quadratic
)
_MAX_SIGNS = {"{": 300, "[": 300, "(": 300, '"': 2000}

_MARKS = "`\"\u201c\u201d'\u2018\u2019"
_OPENING = re.compile(
    r"\{(?=[\s,\ufeff\u200b]*+(?>(?://|\#)[^\n]*+[\s,]*+|/\*(?>[^*]|\*(?!/)){0,80}+\*/[\s,]*+){0,9}+"
    rf"[{_MARKS}]?[^:=,{{}}\[\]\n{_MARKS}]{{0,60}}+[{_MARKS}]?\s{{0,60}}+(?:[:=]|\Z))"
)
"""The start of an object, as opposed to a brace in prose: followed by a key, or the end of the text."""
_FENCE = re.compile(r"```\w*|~~~\w*")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*+"', re.DOTALL)
_HALF_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?\Z")
_END = "\ua66e"  # a letter of no use, in place of what a reply that is cut off lacks


class CutText(str):
    """A text cut off by the end of the reply."""

    __slots__ = ()


class Object(dict[str, Any]):
    """A JSON object. If a key comes twice, ignoring case, the last one counts, as usual in JSON.

    Attributes:
        by_key: key without case and blanks around it -> value.
        is_doubled: whether a key came twice.
    """

    def __init__(self, pairs: Iterable[tuple[str, Any]] = ()) -> None:
        given, last = list(pairs), dict[str, tuple[str, Any]]()
        for pair in given:
            last.pop(key := folded(pair[0]), None)
            last[key] = pair
        super().__init__(last.values())
        self.by_key = {key: value for key, (_, value) in last.items()}
        self.is_doubled = len(self) < len(given)


def folded(name: str) -> str:
    """A key without case and blanks around it."""
    return name.strip().casefold()


class FoundObject(NamedTuple):
    """An object found in a text, or within one: its content, the end of the whole, and whether it was repaired."""

    value: Object
    end: int
    is_repaired: bool = False


def find_objects(text: str) -> tuple[list[FoundObject], str, bool]:
    """The outermost JSON objects of a text, the text outside them, and whether the end cuts one off.

    From the first damaged object on, all is repaired.
    """
    found: list[FoundObject] = []
    outside: list[str] = []
    at = 0
    while (start := _OPENING.search(text, at)) is not None:
        outside.append(text[at : start.start()])
        value, end = strict_object(text, start.start())
        if value is None:
            values, is_cut = _repaired(text[start.start() :])
            found += (FoundObject(each, len(text), is_repaired=not is_cut) for each in values)
            return found, "".join(outside), is_cut
        found.append(FoundObject(value, end))
        at = end
    return found, "".join([*outside, text[at:]]), False


def without_fences(text: str) -> str:
    """The text without code fences and surrounding white space."""
    return _FENCE.sub("", text).strip()


def strict_object(text: str, start: int) -> tuple[Object | None, int]:
    """The object of proper JSON at `start` and its end, or None and the first fault; texts may have line breaks."""
    try:
        value, end = _DECODER.raw_decode(text, start)
    except json.JSONDecodeError as error:
        return None, error.pos
    except (ValueError, RecursionError):  # e.g. a number with thousands of digits, or absurd nesting
        return None, len(text)
    return None if _is_deep(value) else value, end


_DECODER = json.JSONDecoder(strict=False, object_pairs_hook=Object)


def _is_deep(value: Any) -> bool:
    """Whether lists and objects are nested deeper than `MAX_DEPTH`."""
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [part for outer in level if isinstance(outer, list | dict) for part in parts_of(outer)]
    return any(isinstance(part, list | dict) for part in level)


def parts_of(value: list[Any] | dict[str, Any]) -> Iterable[Any]:
    """The items of a list, or the values of an object."""
    return value.values() if isinstance(value, dict) else value


def _repaired(text: str) -> tuple[list[Object], bool]:
    """The objects of a text that begins with a damaged one, and whether its end is missing."""
    outside = _STRING.sub("", text)
    is_cut, is_open = outside.count("{") > outside.count("}"), '"' in outside  # open: ends within a text
    if is_open or text.rstrip()[-1] not in "{}[],:" + _MARKS:
        text = _HALF_ESCAPE.sub("", text) + _END + '"' * is_open
    if len(text) > _MAX_REPAIRED or any(text.count(sign) > most for sign, most in _MAX_SIGNS.items()):
        return [], is_cut
    try:
        value = json_repair.loads(text, skip_json_loads=True)
    except (ValueError, RecursionError):
        return [], is_cut
    values = [_marked(each) for each in (value if isinstance(value, list) else [value]) if isinstance(each, dict)]
    return ([], True) if _is_deep(values) else (values, is_cut or _END in json.dumps(values, ensure_ascii=False))


def _marked(value: Any) -> Any:
    """A repaired value with its objects as `Object`, and with the text that is cut off marked."""
    if isinstance(value, dict):
        return Object((name, _marked(part)) for name, part in value.items() if _END not in name)
    if isinstance(value, list):
        return [_marked(part) for part in value]
    if not isinstance(value, str):
        return value
    text = value.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")  # joins surrogate pairs
    return CutText(text.replace(_END, "")) if _END in text else text
