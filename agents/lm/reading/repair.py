"""JSON objects in any text, however damaged: prose, trailing commas, single quotes, comments, a missing end.

The text of a reply is untrusted, so the time is proportional to its length, and a text that the end of the reply cuts
off is marked as such (`CutText`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

MAX_REPLY = 100_000  # characters of a reply without its thinking; the rest is not read
MAX_DEPTH = 20
_DOUBLE, _SINGLE = '"\u201c\u201d', "'\u2018\u2019"
# Opening quotation mark -> marks that may close it.
QUOTES = {'"': '"', "'": "'", "`": "`", **dict.fromkeys(_DOUBLE[1:], _DOUBLE), **dict.fromkeys(_SINGLE[1:], _SINGLE)}

_BLANKS = r"[\s\ufeff\u200b]*+"
_SKIPPED = re.compile(r"(?:[\s\ufeff\u200b]++|(?://|#)[^\n]*+|/\*(?:[^*]|\*(?!/))*+(?:\*/|\Z))*+")  # blanks, comments
_MARKS = f"`{_DOUBLE}{_SINGLE}"
_IN_KEY = rf"[^\s:=,{{}}\[\]{_MARKS}]+"
_BARE_KEY = re.compile(f"{_IN_KEY}(?: {_IN_KEY})*")
_BARE_VALUE = re.compile(r"[^,}\]\n]*")
# The start of an object, as opposed to a brace in prose: followed by a key, or the end of the text.
_OPENING = re.compile(
    r"\{(?=[\s,\ufeff\u200b]*+(?>(?://|\#)[^\n]*+[\s,]*+|/\*(?>[^*]|\*(?!/)){0,80}+\*/[\s,]*+){0,9}+"
    rf"[{_MARKS}]?[^:=,{{}}\[\]\n{_MARKS}]{{0,60}}+[{_MARKS}]?\s{{0,60}}+(?:[:=]|\Z))"
)
_FENCE = re.compile(r"```\w*|~~~\w*")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.?))", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "u": ""}


def _behind(signs: str, more: str = "") -> str:
    """What follows a quotation mark that ends a text; any other one is part of the text."""
    starts = rf"(?:\Z|[{{}}\[\]/#{_MARKS}]|\w{{1,40}}\s*[:=])"
    return rf"{_BLANKS}(?:\Z|[{signs}]|,{_BLANKS}{starts}|//|/\*|\#{more})|[\s\ufeff\u200b]++[{_MARKS}]"


_ROLES = {
    "key": _behind(":="),
    "value": _behind(r"}\]"),
    "item": _behind(r"}\]", rf"|:{_BLANKS}(?:\Z|[{{\[{_MARKS}])"),  # or a key behind a list that was not closed
}
_STRINGS = {
    (mark, role): re.compile(rf"((?:[^\\{ends}]++|\\.|\\\Z|[{ends}](?!{behind}))*+)([{ends}])?", re.DOTALL)
    for mark, ends in QUOTES.items()
    for role, behind in _ROLES.items()
}
"""The text from an opening quotation mark on, and the mark that closes it."""


class CutText(str):
    """A text cut off by the end of the reply."""

    __slots__ = ()


class Object(dict[str, Any]):
    """A JSON object. If a key comes twice, ignoring case, the last one counts, as usual in JSON.

    Attributes:
        is_doubled: whether a key came twice.
    """

    def __init__(self, pairs: Iterable[tuple[str, Any]] = ()) -> None:
        given = list(pairs)
        last = {_folded(name): number for number, (name, _) in enumerate(given)}
        super().__init__(pair for number, pair in enumerate(given) if last[_folded(pair[0])] == number)
        self.is_doubled = len(self) < len(given)

    def value_of(self, key: str) -> Any:
        """The value of a key in lower case, ignoring case; None if there is none."""
        return next((value for name, value in self.items() if _folded(name) == key), None)


def _folded(name: str) -> str:
    return name.strip().casefold()


class FoundObject(NamedTuple):
    """An object found in a text.

    Attributes:
        value: its content.
        end: the position after it.
        is_repaired: whether it is whole, but no proper JSON.
        is_cut: whether the text ends before the object does.
    """

    value: Object
    end: int
    is_repaired: bool = False
    is_cut: bool = False


def find_objects(text: str) -> tuple[list[FoundObject], str]:
    """The outermost JSON objects of a text, and the text outside them. Only the last object can be cut off."""
    found: list[FoundObject] = []
    outside: list[str] = []
    at = 0
    while (start := _OPENING.search(text, at)) is not None:
        outside.append(text[at : start.start()])
        found.append(_object_at(text, start.start()))
        at = found[-1].end
    return found, "".join([*outside, text[at:]])


def without_fences(text: str) -> str:
    """The text without code fences and surrounding white space."""
    return _FENCE.sub("", text).strip()


def _object_at(text: str, start: int) -> FoundObject:
    value, end = strict_object(text, start)
    if value is not None:
        return FoundObject(value, end)
    reader = _Reader(text, start)
    value = reader.object(0)
    return FoundObject(value, reader.at, not reader.is_cut, reader.is_cut)


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


class _Reader:
    """Reads values at `at`, and moves `at` past them. Every step goes forward."""

    def __init__(self, text: str, at: int) -> None:
        self.text = text
        self.at = at
        self.is_cut = False
        self._open_arrays = 0

    def object(self, depth: int) -> Object:
        """Reads an object from its { on."""
        self.at += 1
        pairs: list[tuple[str, Any]] = []
        while (sign := self._next_sign()) not in ("", "}"):
            if sign == "]" and self._open_arrays:
                return Object(pairs)  # its } is missing
            if sign in ("]", ","):
                self.at += 1
            else:
                pairs.append(self._pair(sign, depth))
        self._close(sign)
        return Object(pairs)

    def _pair(self, sign: str, depth: int) -> tuple[str, Any]:
        key = self._key(sign)
        if self._next_sign() not in (":", "="):
            return (key, None) if key else ("", self.value(depth))
        self.at += 2 if self.text.startswith("=>", self.at) else 1
        return key, self.value(depth)

    def _key(self, sign: str) -> str:
        return self._string(sign, "key") if sign in QUOTES else self._take(_BARE_KEY)  # "" for a value without a key

    def array(self, depth: int) -> list[Any]:
        """Reads an array from its [ on."""
        self.at += 1
        self._open_arrays += 1
        values: list[Any] = []
        while (sign := self._next_sign()) not in ("", "]", "}"):
            start = self.at
            if sign == ",":
                self.at += 1
                continue
            value = self.value(depth, in_array=True)
            if self._next_sign() == ":" and sign in QUOTES:
                self.at = start  # a key: its ] is missing
                break
            values.append(value)
        if sign in ("", "]"):  # a } shows that its ] is missing
            self._close(sign)
        self._open_arrays -= 1
        return values

    def _close(self, sign: str) -> None:
        self.is_cut |= not sign
        self.at += len(sign)

    def value(self, depth: int, in_array: bool = False) -> Any:
        """Reads the next value: a text, a list, an `Object`; None for null and if there is none."""
        sign = self._next_sign()
        if sign in ("{", "["):
            if depth < MAX_DEPTH:
                return self.object(depth + 1) if sign == "{" else self.array(depth + 1)
            self.at, self.is_cut = len(self.text), True  # absurdly deep
            return None
        if sign in QUOTES:
            return self._string(sign, "item" if in_array else "value")
        if sign == ":":
            self.at += 1
            return None
        return self._bare()

    def _bare(self) -> str | None:
        """Reads a number or a word without quotation marks."""
        word = self._take(_BARE_VALUE).strip()
        if self.at >= len(self.text):
            self.is_cut = True
            return CutText(word)
        return None if word in ("", "null", "None", "undefined") else word

    def _string(self, quote: str, role: str) -> str:
        """Reads a text; quotation marks that cannot end it count as part of it."""
        self.at += 1
        match = _STRINGS[quote, role].match(self.text, self.at)
        text, closing = match.groups() if match else ("", None)
        self.at += len(text) + len(closing or "")
        self.is_cut |= closing is None
        return _unescaped(text) if closing else CutText(_unescaped(text))

    def _next_sign(self) -> str:
        """Skips white space and comments. Returns the next character; "" at the end of the text."""
        self._take(_SKIPPED)
        return self.text[self.at : self.at + 1]

    def _take(self, pattern: re.Pattern[str]) -> str:
        """Reads what a pattern matches here; "" if it does not."""
        match = pattern.match(self.text, self.at)
        self.at = match.end() if match else self.at
        return match.group() if match else ""


def _unescaped(text: str) -> str:
    """A text with its escape sequences replaced; an unknown one stands for its character."""
    plain = _ESCAPE.sub(lambda match: chr(int(match[1], 16)) if match[1] else _ESCAPES.get(match[2], match[2]), text)
    return plain.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")  # joins surrogate pairs
