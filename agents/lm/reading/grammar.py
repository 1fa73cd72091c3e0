"""The replies that a schema allows, as a grammar in GGML's notation: for servers that enforce grammars, not schemas.

A reply is written as `json.dumps` writes it, its properties in the schema's sequence.

>>> from agents.lm.reading.grammar import gbnf
>>> gbnf({"enum": ["A PAR H", "A PAR - BUR"]}).splitlines()[0]
'root ::= "\\"A PAR H\\"" | "\\"A PAR - BUR\\""'
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

_TEXT = r"""
text ::= "\"" char* "\""
char ::= [^"\\\x00-\x1F\x7F] | "\\" (["\\/bfnrt] | "u" ([0-9a-ce-fA-CE-F] hex | [dD] [0-7]) hex hex)
hex ::= [0-9a-fA-F]
"""
"""A JSON string without half surrogate pairs, which are not characters."""


def gbnf(schema: Mapping[str, Any]) -> str:
    """The grammar of a schema of `agents.lm.reading.parsing.reply_schema`, or one like it.

    Raises:
        ValueError: the schema has something else than objects of all their properties, ``enum``, ``anyOf``, lists and
            texts.
    """
    return f"root ::= {_choices(schema)}{_TEXT}"


def _choices(schema: Mapping[str, Any]) -> str:
    """What a schema allows: alternatives, or one sequence."""
    if "anyOf" in schema:
        return " | ".join(map(_choices, schema["anyOf"]))
    if "enum" in schema:
        return " | ".join(json.dumps(json.dumps(value)) for value in schema["enum"])
    if schema.get("type") == "string":
        return "text"
    if schema.get("type") == "array":
        return f'"[" (({_choices(schema["items"])}) (", " ({_choices(schema["items"])}))*)? "]"'
    if schema.get("type") != "object" or list(schema["properties"]) != list(schema["required"]):
        raise ValueError(f"{json.dumps(schema)[:200]}: give objects with all properties, enum, anyOf, lists and texts")
    pieces = [
        f"{json.dumps(f'{json.dumps(name)}: ')} ({_choices(inner)})" for name, inner in schema["properties"].items()
    ]
    return " ".join(('"{"', ' ", " '.join(pieces), '"}"'))
