"""Finds JSON objects in any text, however damaged: prose, trailing commas, single quotes, comments, a missing end.

`find_objects` goes through the text once, from left to right; the time is proportional to its length.
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

_BLANKS = re.compile(r"[\s\ufeff\u200b]*")
_PLAIN = {opening: re.compile(f"[^\\\\{closing}]*") for opening, closing in QUOTES.items()}
_IN_KEY = rf"[^\s:=,{{}}\[\]`{_DOUBLE}{_SINGLE}]+"
_BARE_KEY = re.compile(f"{_IN_KEY}(?: {_IN_KEY})*")
_BARE_VALUE = re.compile(r"[^,}\]\n]*")
_NEXT_KEY = re.compile(r"\w{1,40}\s*[:=]")
_HEX = re.compile(r"[0-9a-fA-F]{4}")
_LITERAL = re.compile(r"true|false|null|-?\d+(\.\d+)?([eE][+-]?\d+)?")
_QUOTE = f"[`{_DOUBLE}{_SINGLE}]?"
# The start of an object, as opposed to a brace in prose: followed by a key, or the end of the text.
_OPENING = re.compile(
    r"\{(?=[\s,\ufeff\u200b]*+(?>(?://|\#)[^\n]*+[\s,]*+|/\*(?>[^*]|\*(?!/)){0,80}+\*/[\s,]*+){0,9}+"
    rf"{_QUOTE}[^:=,{{}}\[\]\n`{_DOUBLE}{_SINGLE}]{{0,60}}+{_QUOTE}\s{{0,60}}+(?:[:=]|\Z))"
)
_FENCE = re.compile(r"```\w*|~~~\w*")
_KEY, _VALUE, _ITEM = "key", "value", "item"  # the role of a text: a key, the value of a key, or an item of an array
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", '"': '"', "\\": "\\", "/": "/"}


class CutText(str):
    """A text cut off by the end of the reply."""

    __slots__ = ()


class Pairs(list[tuple[str, Any]]):
    """An object's keys and values, in sequence. If a key comes twice, the last one counts, as usual in JSON.

    Attributes:
        is_doubled: whether a key came twice, ignoring case.
    """

    def __init__(self, pairs: Iterable[tuple[str, Any]] = ()) -> None:
        given = list(pairs)
        last = {name.strip().casefold(): number for number, (name, _) in enumerate(given)}
        super().__init__(
            pair for number, pair in enumerate(given) if last[key := pair[0].strip().casefold()] == number or not key
        )
        self.is_doubled = len(self) < len(given)

    def value_of(self, key: str) -> Any:
        """The value of a key, ignoring case; None if there is none."""
        return next((value for name, value in self if name.strip().casefold() == key), None)


class StrictResult(NamedTuple):
    """The result of strict parsing: the object or None, and the position after it or of the first fault."""

    value: Pairs | None
    end: int


class FoundObject(NamedTuple):
    """An object found in a text.

    Attributes:
        value: its content.
        end: the position after it.
        is_repaired: whether it is not proper JSON.
        is_cut: whether the text ends before the object does.
    """

    value: Pairs
    end: int
    is_repaired: bool = False
    is_cut: bool = False


class Objects(NamedTuple):
    """The result of `find_objects`.

    Attributes:
        found: the outermost objects of the text. Only the last of them can be cut off.
        has_prose: whether there is text outside them, apart from code fences.
    """

    found: list[FoundObject]
    has_prose: bool

    @property
    def is_truncated(self) -> bool:
        """Whether the last object is cut off."""
        return bool(self.found) and self.found[-1].is_cut


def find_objects(text: str) -> Objects:
    """All JSON objects of a text. Never raises."""
    found: list[FoundObject] = []
    outside: list[str] = []
    at = 0
    while (start := _OPENING.search(text, at)) is not None:
        outside.append(text[at : start.start()])
        found.append(_object_at(text, start.start()))
        at = found[-1].end
    outside.append(text[at:])
    return Objects(found, has_prose=bool(without_fences("".join(outside))))


def without_fences(text: str) -> str:
    """The text without code fences and surrounding white space."""
    return _FENCE.sub("", text).strip()


def _object_at(text: str, start: int) -> FoundObject:
    strict = strict_object(text, start)
    if strict.value is not None:
        return FoundObject(strict.value, strict.end)
    reader = _RepairParser(text, start)
    value = reader.object(0)
    return FoundObject(value, reader.at, reader.is_repaired, reader.is_truncated)


def strict_object(text: str, start: int) -> StrictResult:
    """Strictly parses the object that begins with the { at `start`; only raw line breaks in texts are allowed."""
    try:
        value, end = _DECODER.raw_decode(text, start)
    except json.JSONDecodeError as error:
        return StrictResult(None, error.pos)
    except (ValueError, RecursionError):  # e.g. a number with thousands of digits, or absurd nesting
        return StrictResult(None, len(text))
    return StrictResult(None, end) if _is_deep(value) else StrictResult(value, end)


def _is_deep(value: Any) -> bool:
    """Whether lists and objects are nested deeper than `MAX_DEPTH`."""
    level = [value]
    for _ in range(MAX_DEPTH):
        parts = [part for outer in level if isinstance(outer, list) for part in outer]
        level = [part[1] if isinstance(part, tuple) else part for part in parts]
    return any(isinstance(part, list) for part in level)


class _RepairParser:
    """Reads values at `at`, and moves `at` past them. Every step goes forward."""

    def __init__(self, text: str, at: int) -> None:
        self.text = text
        self.at = at
        self.is_repaired = self.is_truncated = False
        self._open_arrays = 0

    def object(self, depth: int) -> Pairs:
        """Reads an object from its { on."""
        self.at += 1
        pairs: list[tuple[str, Any]] = []
        while (sign := self._next_sign()) not in ("", "}"):
            if sign == "]":
                self.is_repaired = True
                if self._open_arrays:
                    return Pairs(pairs)  # its } is missing
                self.at += 1
            elif sign == ",":
                self._comma(bool(pairs), "}")
            else:
                pairs.append(self._pair(sign, depth))
                self._note(self._next_sign() not in (",", "}", ""))
        self._close(sign)
        return Pairs(pairs)

    def _pair(self, sign: str, depth: int) -> tuple[str, Any]:
        key = self._key(sign)
        if self._next_sign() not in (":", "="):
            self.is_repaired = True
            return (key, None) if key else ("", self.value(depth))
        self._note(self.text[self.at] == "=")
        self.at += 2 if self.text.startswith("=>", self.at) else 1
        return key, self.value(depth)

    def _key(self, sign: str) -> str:
        if sign in QUOTES:
            return self._string(sign, _KEY)
        self.is_repaired = True
        match = _BARE_KEY.match(self.text, self.at)
        if match is None:
            return ""  # a value or a colon without a key
        self.at = match.end()
        return match.group()

    def array(self, depth: int) -> list[Any]:
        """Reads an array from its [ on."""
        self.at += 1
        self._open_arrays += 1
        values: list[Any] = []
        while (sign := self._next_sign()) not in ("", "]"):
            if sign == "}":
                self.is_repaired = True  # its ] is missing
                break
            if sign == ",":
                self._comma(bool(values), "]")
            else:
                start = self.at
                values.append(self.value(depth, in_array=True))
                if self._next_sign() == ":" and sign in QUOTES:
                    self.at = start  # a key: its ] is missing
                    values.pop()
                    self.is_repaired = True
                    break
                self._note(self._next_sign() not in (",", "]", ""))
        else:
            self._close(sign)
        self._open_arrays -= 1
        return values

    def _comma(self, behind_value: bool, closing: str) -> None:
        self.at += 1
        self._note(not behind_value or self._next_sign() in (",", closing))

    def _note(self, is_wrong: bool) -> None:
        """Records a repair. (`|=` with a call on its right would lose what the call records.)"""
        self.is_repaired = self.is_repaired or is_wrong

    def _close(self, sign: str) -> None:
        self.is_truncated |= not sign
        self.at += len(sign)

    def value(self, depth: int, in_array: bool = False) -> Any:
        """Reads the next value: a text, a list, `Pairs`; None for null and if there is none."""
        sign = self._next_sign()
        if sign in ("{", "["):
            if depth < MAX_DEPTH:
                return self.object(depth + 1) if sign == "{" else self.array(depth + 1)
            self.at, self.is_truncated = len(self.text), True  # absurdly deep
            return None
        if sign in QUOTES:
            return self._string(sign, _ITEM if in_array else _VALUE)
        if sign == ":":
            self.at += 1
            self.is_repaired = True
            return None
        return self._bare()

    def _bare(self) -> str | None:
        """Reads a number or a word without quotation marks."""
        match = _BARE_VALUE.match(self.text, self.at)
        word = match.group().strip() if match else ""
        self.at += len(match.group()) if match else 0
        if self.at >= len(self.text):
            self.is_truncated = True
            return CutText(word)
        self._note(not _LITERAL.fullmatch(word))
        return None if word in ("", "null", "None", "undefined") else word

    def _string(self, quote: str, role: str) -> str:
        """Reads a text; quotation marks that cannot end it count as part of it."""
        self._note(quote != '"')
        self.at += 1
        pieces: list[str] = []
        while self.at < len(self.text):
            match = _PLAIN[quote].match(self.text, self.at)
            piece = match.group() if match else ""
            pieces.append(piece)
            self.at += len(piece)
            sign = self.text[self.at : self.at + 1]
            if sign == "\\":
                pieces.append(self._escape())
            elif sign and self._ends(role):
                self.at += 1
                return "".join(pieces)
            elif sign:
                self.at += 1
                self.is_repaired = True
                pieces.append(sign)
        self.is_truncated = True
        return CutText("".join(pieces))

    def _escape(self) -> str:
        """Reads an escape sequence."""
        sign = self.text[self.at + 1 : self.at + 2]
        self.at += 2
        if sign != "u":
            self._note(sign not in _ESCAPES)
            return _ESCAPES.get(sign, sign)
        high = self._code()
        if 0xD800 <= high < 0xDC00 and self.text.startswith("\\u", self.at):
            back = self.at
            self.at += 2
            low = self._code()
            if 0xDC00 <= low < 0xE000:
                return chr(0x10000 + (high - 0xD800) * 0x400 + low - 0xDC00)
            self.at = back
        return chr(high) if high >= 0 else ""

    def _code(self) -> int:
        """Reads four hexadecimal digits; -1 if they are missing."""
        match = _HEX.match(self.text, self.at)
        if match is None:
            self.is_repaired = True
            return -1
        self.at = match.end()
        return int(match.group(), 16)

    def _ends(self, role: str) -> bool:
        """Whether the quotation mark at `at` ends its text, judging by what follows."""
        behind = self._blanks(self.at + 1)
        sign = self.text[behind : behind + 1]
        if sign == "" or sign in (":=" if role == _KEY else "}]"):
            return True
        if sign == ":" and role == _ITEM:
            after = self._blanks(behind + 1)
            return self.text[after : after + 1] in ("", "{", "[", *QUOTES)
        if sign == ",":
            after = self._blanks(behind + 1)
            starts = self.text[after : after + 1]
            return starts in ("", *"{[]}/#", *QUOTES) or _NEXT_KEY.match(self.text, after) is not None
        if sign in QUOTES:
            return behind > self.at + 1  # the comma is missing
        return self.text.startswith(("//", "/*", "#"), behind)

    def _blanks(self, at: int) -> int:
        match = _BLANKS.match(self.text, at)
        return match.end() if match else at

    def _next_sign(self) -> str:
        """Skips white space and comments. Returns the next character; "" at the end of the text."""
        while True:
            self.at = self._blanks(self.at)
            comment = next((opening for opening in _COMMENTS if self.text.startswith(opening, self.at)), None)
            if comment is None:
                return self.text[self.at : self.at + 1]
            self.is_repaired = True
            end = self.text.find(_COMMENTS[comment], self.at + len(comment))
            self.at = len(self.text) if end < 0 else end + len(_COMMENTS[comment])


_COMMENTS = {"//": "\n", "/*": "*/", "#": "\n"}
_DECODER = json.JSONDecoder(strict=False, object_pairs_hook=Pairs)
