"""Whether a reply matches its schema."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from agents.lm.reading.objects import Object


def obeys(text: str, schema: Mapping[str, Any]) -> bool:
    """Whether a text is JSON that matches a schema of `reply_schema`, with only white space around it.

    Properties may come in any sequence, but each only once.
    """
    try:
        value = json.loads(text, object_pairs_hook=Object)
    except (ValueError, RecursionError):
        return False
    return _allows(schema, value)


def _allows(schema: Mapping[str, Any], value: Any) -> bool:
    """Whether a schema allows a value; unknown keywords of schemas allow everything."""
    kind, inner = schema.get("type"), schema.get("properties")
    if "anyOf" in schema:
        return any(_allows(each, value) for each in schema["anyOf"])
    if "enum" in schema:
        return value in schema["enum"]
    if kind == "array":
        return isinstance(value, list) and all(_allows(schema.get("items", {}), each) for each in value)
    if kind == "object" and inner is not None:
        is_whole = isinstance(value, Object) and not value.is_doubled and value.keys() == inner.keys()
        return is_whole and all(_allows(inner[key], each) for key, each in value.items())
    return kind != "string" or isinstance(value, str)
