"""The replies that a schema allows, as a grammar: for servers and libraries that enforce one of these.

`Grammar(schema)` has the same language in three notations: `gbnf` (llama.cpp, vLLM, xgrammar), `lark` (llguidance) and
`regex`. A reply is written as `json.dumps` writes it, its properties in the schema's sequence.

>>> from agents.lm.reading.grammar import Grammar
>>> Grammar({"enum": ["A PAR H", "A PAR - BUR"]}).gbnf().splitlines()[0]
'root ::= "\\"A PAR H\\"" | "\\"A PAR - BUR\\""'
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

_TEXT = "text"
_TEXT_REGEX = r'"(?:[^"\\\x00-\x1f\x7f]|\\(?:["\\/bfnrt]|u(?:[0-9a-ce-fA-CE-F][0-9a-fA-F]|[dD][0-7])[0-9a-fA-F]{2}))*"'
_TEXT_GBNF = r"""
text ::= "\"" char* "\""
char ::= [^"\\\x00-\x1F\x7F] | "\\" (["\\/bfnrt] | "u" ([0-9a-ce-fA-CE-F] hex | [dD] [0-7]) hex hex)
hex ::= [0-9a-fA-F]
"""
"""A JSON string without half surrogate pairs, which are not characters."""

_MOST_DRAWN = 3  # items of a list whose length is open


@dataclass(frozen=True)
class _Join:
    """Pieces one after the other; `_TEXT` is any JSON string."""

    pieces: tuple[Any, ...]


@dataclass(frozen=True)
class _Choice:
    """One of the pieces."""

    pieces: tuple[Any, ...]


@dataclass(frozen=True)
class _Many:
    """A list of any number of the piece, in brackets."""

    piece: Any


@dataclass(frozen=True)
class _Literal:
    text: str


class Grammar:
    """The language of a schema.

    Args:
        schema: of `agents.lm.reading.parsing.reply_schema`, or another one of objects with all their properties,
            ``enum``, ``anyOf``, lists and texts.

    Raises:
        ValueError: the schema has something else.
    """

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._root = _read(schema)

    def gbnf(self) -> str:
        """In GGML's notation, from llama.cpp."""
        return f"root ::= {_written(self._root, '::=')}{_TEXT_GBNF}"

    def lark(self) -> str:
        """In the notation of Lark, as llguidance reads it."""
        return f"start: {_written(self._root, ':')}\n{_TEXT.upper()}: /{_TEXT_REGEX.replace('/', chr(92) + '/')}/\n"

    def regex(self) -> str:
        """As a regular expression, which matches a whole reply."""
        return _regex(self._root)

    def draw(self, rng: np.random.Generator, texts: Sequence[str]) -> str:
        """A random reply.

        Args:
            rng: draws among the possibilities.
            texts: strings to use where the schema allows any string.
        """
        return _drawn(self._root, rng, texts)


def _read(schema: Mapping[str, Any]) -> Any:
    if "anyOf" in schema:
        return _Choice(tuple(_read(each) for each in schema["anyOf"]))
    if "enum" in schema:
        return _Choice(tuple(_Literal(json.dumps(value)) for value in schema["enum"]))
    if schema.get("type") == "string":
        return _TEXT
    if schema.get("type") == "array":
        return _Many(_read(schema["items"]))
    if schema.get("type") != "object" or list(schema["properties"]) != list(schema["required"]):
        raise ValueError(f"{json.dumps(schema)[:200]}: give objects with all properties, enum, anyOf, lists and texts")
    pieces: list[Any] = []
    for name, inner in schema["properties"].items():
        pieces += [_Literal(f"{', ' if pieces else '{'}{json.dumps(name)}: "), _read(inner)]
    return _Join((*pieces, _Literal("}" if pieces else "{}")))


def _written(node: Any, sign: str) -> str:
    """In GBNF or Lark, which write sequences, choices and repetitions alike."""
    if node == _TEXT:
        return _TEXT if sign == "::=" else _TEXT.upper()
    if isinstance(node, _Literal):
        return json.dumps(node.text)
    if isinstance(node, _Many):
        item = _grouped(node.piece, sign)
        return f'"[" ({item} (", " {item})*)? "]"'
    if isinstance(node, _Choice):
        return " | ".join(_written(piece, sign) for piece in node.pieces)
    return " ".join(_grouped(piece, sign) for piece in node.pieces)


def _grouped(node: Any, sign: str) -> str:
    text = _written(node, sign)
    return f"({text})" if isinstance(node, _Choice | _Join) else text


def _regex(node: Any) -> str:
    if node == _TEXT:
        return _TEXT_REGEX
    if isinstance(node, _Literal):
        return re.escape(node.text)
    if isinstance(node, _Many):
        item = _regex(node.piece)
        return rf"\[(?:{item}(?:, {item})*)?\]"
    if isinstance(node, _Choice):
        return f"(?:{'|'.join(map(_regex, node.pieces))})"
    return "".join(map(_regex, node.pieces))


def _drawn(node: Any, rng: np.random.Generator, texts: Sequence[str]) -> str:
    if node == _TEXT:
        return json.dumps(texts[int(rng.integers(len(texts)))])
    if isinstance(node, _Literal):
        return node.text
    if isinstance(node, _Many):
        return f"[{', '.join(_drawn(node.piece, rng, texts) for _ in range(rng.integers(_MOST_DRAWN + 1)))}]"
    if isinstance(node, _Choice):
        return _drawn(node.pieces[rng.integers(len(node.pieces))], rng, texts)
    return "".join(_drawn(piece, rng, texts) for piece in node.pieces)
