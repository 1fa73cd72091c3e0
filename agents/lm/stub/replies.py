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
_MOST_AT_ALL = 1000
_DEEPEST = 20  # levels of a schema, which may contain itself


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
            return json.dumps(Instance(schema, rng).make(schema))
        except (KeyError, TypeError, AttributeError, IndexError, RecursionError) as error:
            raise ValueError(f"Invalid schema: {type(error).__name__}: {error}") from error
    if "json" not in prompt.lower():
        return SENTENCES[rng.integers(len(SENTENCES))]
    said = SENTENCES[rng.integers(len(SENTENCES))]
    return json.dumps({"reasoning": said, "orders": _orders(prompt, rng), "messages": {"GLOBAL": said}})


def _orders(prompt: str, rng: np.random.Generator) -> list[str]:
    """One order for each unit with orders in the prompt."""
    found: dict[str, list[str]] = {}
    for match in _ORDER.finditer(prompt):
        found.setdefault(match[1], []).append(match[0])
    return [orders[rng.integers(len(orders))] for orders in found.values()]


class Instance:
    """Makes values that satisfy a JSON schema of the keywords allowed in structured output.

    Args:
        root: the whole schema, for references into it.
        rng: generator that picks among the allowed values.
    """

    def __init__(self, root: Mapping[str, Any], rng: np.random.Generator) -> None:
        self._root, self._rng = root, rng

    def make(self, schema: Mapping[str, Any], depth: int = 0) -> Any:
        """A value for `schema`, which is nested `depth` levels deep."""
        if "$ref" in schema:
            return self.make(self._referred(schema["$ref"]), depth + 1)
        if "const" in schema:
            return schema["const"]
        for word in ("enum", "anyOf", "oneOf"):
            if word in schema:
                chosen = self._one_of(schema[word])
                return chosen if word == "enum" else self.make(chosen, depth + 1)
        kind = schema.get("type", "object" if "properties" in schema else "string")
        return self._of_kind(self._one_of(kind) if isinstance(kind, list) else kind, schema, depth)

    def _of_kind(self, kind: str, schema: Mapping[str, Any], depth: int) -> Any:
        if kind == "object":
            properties = schema.get("properties", {})
            return {name: self.make(inner, depth + 1) for name, inner in properties.items()}
        if kind == "array":
            return self._array(schema, depth)
        if kind == "string":
            return self._one_of(SENTENCES)[: schema.get("maxLength")]
        return {"boolean": False, "null": None}.get(kind, schema.get("minimum", 0))

    def _array(self, schema: Mapping[str, Any], depth: int) -> list[Any]:
        least = min(schema.get("minItems", 0), _MOST_AT_ALL)
        most = min(schema.get("maxItems", max(least, _MOST_ITEMS)), max(least, _MOST_ITEMS))
        size = least if depth > _DEEPEST else int(self._rng.integers(least, most + 1))
        return [self.make(schema.get("items", {}), depth + 1) for _ in range(size)]

    def _one_of(self, values: Any) -> Any:
        return values[self._rng.integers(len(values))]

    def _referred(self, reference: str) -> Mapping[str, Any]:
        found: Any = self._root
        for step in reference.removeprefix("#").strip("/").split("/"):
            found = found[step] if step else found
        return found
