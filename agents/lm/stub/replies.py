"""Invented replies that look legal: they follow the schema, or else repeat orders from the prompt.

The same prompt and schema always get the same reply. `CHARACTERS` differ in behavior, for trying out tables that
compare models.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from agents.lm.models.protocol import Reply, Request, Usage
from agents.lm.reading.schemas import NOTHING

SENTENCES = (
    "I propose that we keep the peace and disband together this winter.",
    "I will hold all my units this phase.",
    "My armies stay at home; I hope that yours do, too.",
    "I will not enter any of your centers.",
    "Let us demilitarize: more welfare points for all of us.",
)
CHARACTERS_A_TOKEN = 4

Schema = Mapping[str, Any] | None

_PLACE = r"[A-Z]{3}(?:/[A-Z]{2})?"
_ACTION = rf"- {_PLACE}(?: VIA)?|R {_PLACE}|S [AF] {_PLACE}(?: - [A-Z]{{3}})?|[HBD]"
_ORDER = re.compile(rf"\b([AF] {_PLACE}) (?:{_ACTION})(?!\w)")
_UNITS = re.compile(r"^Your units: (.+)\.$", re.MULTILINE)
_MOST_ITEMS = 2  # of lists whose length the schema does not fix
_PEACE = "I will hold all my units this phase."
_LIES = ("I will not enter any of your centers.", _PEACE)


def stub_reply(prompt: str, schema: Schema = None) -> str:
    """The text of a reply.

    Args:
        prompt: the whole prompt. If it mentions JSON and there is no schema, the reply has "reasoning", "orders" and
            "messages"; otherwise the reply is a sentence.
        schema: JSON schema of the reply.

    Raises:
        ValueError: the schema is invalid, or nothing satisfies it.
    """
    rng = _rng(prompt, json.dumps(schema))
    if schema is not None:
        try:
            return json.dumps(instance(schema, rng))
        except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
            raise ValueError(f"Invalid schema: {type(error).__name__}: {error}") from error
    if "json" not in prompt.lower():
        return str(_one_of(SENTENCES, rng))
    said = _one_of(SENTENCES, rng)
    found: dict[str, list[str]] = {}
    for match in _ORDER.finditer(prompt):
        found.setdefault(match[1], []).append(match[0])
    orders = [_one_of(texts, rng) for texts in found.values()]
    return json.dumps({"reasoning": said, "orders": orders, "messages": {"GLOBAL": said}})


def tokens(text: str) -> int:
    """The tokens of a text, as the stubs count them."""
    return -(-len(text) // CHARACTERS_A_TOKEN)


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


def _rng(prompt: str, more: str = "") -> np.random.Generator:
    seed = hashlib.sha256(prompt.encode(errors="surrogatepass") + more.encode("ascii")).digest()
    return np.random.default_rng(int.from_bytes(seed[:8], "big"))


def _one_of(values: Any, rng: np.random.Generator) -> Any:
    return values[rng.integers(len(values))]


def pacifist(prompt: str, schema: Schema) -> str:
    """Promises to hold, holds, and disbands everything in Winter."""
    orders = {key: _first(each, " D") or _first(each, " H") for key, each in _choices(prompt, schema, " D").items()}
    return _said(prompt, schema, orders, (_PEACE,))


def raider(prompt: str, schema: Schema) -> str:
    """Promises peace, moves wherever it can, and builds as many units as it may."""
    rng, orders = _rng(prompt), {}
    for key, each in _choices(prompt, schema, " B").items():
        moves = [order for order in each if " - " in order and " S " not in order and " C " not in order]
        orders[key] = _one_of(moves, rng) if moves else _first(each, " B")
    return _said(prompt, schema, orders, _LIES)


def babbler(prompt: str, schema: Schema) -> str:
    """Like a weak model: half of its replies are prose, and half of the orders in the others are illegal."""
    rng = _rng(prompt)
    if schema is not None and rng.integers(2):
        return "As a large language model I would move my armies to the west, and hope for the best."
    choices = _choices(prompt, schema, " D")
    orders = {key: each[0] if rng.integers(2) else "A ATLANTIS - MOON" for key, each in choices.items()}
    return _said(prompt, schema, orders, ("Hello!", "What do you think?"))


CHARACTERS: dict[str, Callable[[str, Schema], str]] = {
    "stub": stub_reply,
    "pacifist": pacifist,
    "raider": raider,
    "babbler": babbler,
}
"""Name -> the function from a prompt and a schema to the reply."""


def answered(name: str, request: Request) -> Reply:
    """The reply of a character, with tokens counted as the stub server counts them; it costs nothing."""
    text = CHARACTERS[name](request.prompt, request.schema)
    return Reply(text, Usage(tokens(request.prompt), 0, tokens(text), 0.0), model=f"scripted/{name}")


def _choices(prompt: str, schema: Schema, wanted: str) -> dict[str, list[str]]:
    """Unit or place -> its legal orders, from the schema's alternative with most orders that end in `wanted`.

    If the schema lists no orders: hold, for the units in the prompt.
    """
    known = (schema or {"properties": {"orders": {}}})["properties"]
    if "orders" not in known:
        return {}
    sets = [each["properties"] for each in known["orders"].get("anyOf", [known["orders"]]) if "properties" in each]
    found = [{key: part.get("enum", []) for key, part in each.items()} for each in sets]
    if found:
        return max(found, key=lambda each: sum(bool(_first(texts, wanted)) for texts in each.values()))
    units = _UNITS.search(prompt)
    return {unit: [f"{unit} H"] for unit in units[1].split(", ")} if units else {}


def _first(orders: list[str], ending: str) -> str:
    return next((order for order in orders if order.endswith(ending)), "")


def _said(prompt: str, schema: Schema, orders: Mapping[str, str], texts: tuple[str, ...]) -> str:
    """The reply of `stub_reply` with other orders and messages; summaries are left as they are."""
    text = stub_reply(prompt, schema)
    reply = json.loads(text) if text.startswith("{") else {}
    if isinstance(reply.get("orders"), dict):
        reply["orders"] = {key: order or NOTHING for key, order in orders.items()}
    elif "orders" in reply:
        reply["orders"] = [order for order in orders.values() if order]
    to = (schema or {}).get("properties", {}).get("messages", {}).get("properties") or {"GLOBAL": {}}
    if "messages" in reply and not any("enum" in each for each in to.values()):
        reply["messages"] = dict.fromkeys(to, "") | {"GLOBAL": _one_of(texts, _rng(prompt))}
    return json.dumps(reply) if reply else text
