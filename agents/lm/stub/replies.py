"""Invented replies that look legal: they follow the schema, or else repeat orders from the prompt.

The same prompt and schema always get the same reply.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

SENTENCES = (
    "I propose that we keep the peace and disband together this winter.",
    "I will hold all my units this phase.",
    "My armies stay at home; I hope that yours do, too.",
    "I will not enter any of your centers.",
    "Let us demilitarize: more welfare points for all of us.",
)

_PLACE = r"[A-Z]{3}(?:/[A-Z]{2})?"
_ACTION = rf"- {_PLACE}(?: VIA)?|R {_PLACE}|S [AF] {_PLACE}(?: - [A-Z]{{3}})?|[HBD]"
_ORDER = re.compile(rf"\b([AF] {_PLACE}) (?:{_ACTION})(?!\w)")
_MOST_ITEMS = 2  # of lists whose length the schema does not fix

CHARACTERS_A_TOKEN = 4


def stub_reply(prompt: str, schema: Mapping[str, Any] | None = None) -> str:
    """The text of a reply.

    Args:
        prompt: the whole prompt. If it mentions JSON and there is no schema, the reply has "reasoning", "orders" and
            "messages"; otherwise the reply is a sentence.
        schema: JSON schema of the reply.

    Raises:
        ValueError: the schema is invalid, or nothing satisfies it.
    """
    seed = hashlib.sha256(prompt.encode(errors="surrogatepass") + json.dumps(schema).encode("ascii")).digest()
    rng = np.random.default_rng(int.from_bytes(seed[:8], "big"))
    if schema is not None:
        try:
            return json.dumps(instance(schema, rng))
        except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
            raise ValueError(f"Invalid schema: {type(error).__name__}: {error}") from error
    if "json" not in prompt.lower():
        return SENTENCES[rng.integers(len(SENTENCES))]
    said = SENTENCES[rng.integers(len(SENTENCES))]
    return json.dumps({"reasoning": said, "orders": _orders(prompt, rng), "messages": {"GLOBAL": said}})


def tokens(text: str) -> int:
    """The tokens of a text, as the stubs count them."""
    return -(-len(text) // CHARACTERS_A_TOKEN)


def _orders(prompt: str, rng: np.random.Generator) -> list[str]:
    """One order for each unit with orders in the prompt."""
    found: dict[str, list[str]] = {}
    for match in _ORDER.finditer(prompt):
        found.setdefault(match[1], []).append(match[0])
    return [orders[rng.integers(len(orders))] for orders in found.values()]


def instance(schema: Mapping[str, Any], rng: np.random.Generator) -> Any:
    """A value that satisfies a JSON schema of the keywords that our schemas have, and a few more.

    Args:
        schema: the schema.
        rng: generator that picks among the allowed values.
    """
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return _one_of(schema["enum"], rng)
    if "anyOf" in schema:
        return instance(_one_of(schema["anyOf"], rng), rng)
    kind = schema.get("type", "object" if "properties" in schema else "string")
    if kind == "object":
        return {name: instance(inner, rng) for name, inner in schema.get("properties", {}).items()}
    if kind == "array":
        least = schema.get("minItems", 0)
        most = max(least, min(schema.get("maxItems", _MOST_ITEMS), _MOST_ITEMS))
        return [instance(schema.get("items", {}), rng) for _ in range(int(rng.integers(least, most + 1)))]
    if kind == "string":
        return _one_of(SENTENCES, rng)[: schema.get("maxLength")]
    return {"boolean": False, "null": None}.get(kind, schema.get("minimum", 0))


def _one_of(values: Any, rng: np.random.Generator) -> Any:
    return values[rng.integers(len(values))]
