"""Stub models with different behavior, for trying out tables that compare models.

Their replies are composed of the legal orders in the schema, or of the units in the prompt; the same question always
gets the same reply.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from agents.lm.models.protocol import Reply, Request, Usage
from agents.lm.reading.order_schema import NOTHING
from agents.lm.stub.replies import stub_reply, tokens

Answer = Callable[[str, Mapping[str, Any] | None], str]

_UNITS = re.compile(r"^Your units: (.+)\.$", re.MULTILINE)
_PEACE = "I will hold all my units this phase."
_LIES = ("I will not enter any of your centers.", _PEACE)


def pacifist(prompt: str, schema: Mapping[str, Any] | None) -> str:
    """Promises to hold, holds, and disbands everything in Winter."""
    orders = {key: _first(each, " D") or _first(each, " H") for key, each in _choices(prompt, schema, " D").items()}
    return _said(prompt, schema, orders, (_PEACE,))


def raider(prompt: str, schema: Mapping[str, Any] | None) -> str:
    """Promises peace, moves wherever it can, and builds as many units as it may."""
    rng, orders = _rng(prompt), {}
    for key, each in _choices(prompt, schema, " B").items():
        moves = [order for order in each if " - " in order and " S " not in order and " C " not in order]
        orders[key] = moves[int(rng.integers(len(moves)))] if moves else _first(each, " B")
    return _said(prompt, schema, orders, _LIES)


def babbler(prompt: str, schema: Mapping[str, Any] | None) -> str:
    """Like a weak model: half of its replies are prose, and half of the orders in the others are illegal."""
    rng = _rng(prompt)
    if schema is not None and rng.integers(2):
        return "As a large language model I would move my armies to the west, and hope for the best."
    choices = _choices(prompt, schema, " D")
    orders = {key: each[0] if rng.integers(2) else "A ATLANTIS - MOON" for key, each in choices.items()}
    return _said(prompt, schema, orders, ("Hello!", "What do you think?"))


CHARACTERS: dict[str, Answer] = {"stub": stub_reply, "pacifist": pacifist, "raider": raider, "babbler": babbler}
"""Name -> the function from a prompt and a schema to the reply."""


def answered(name: str, request: Request) -> Reply:
    """The reply of a character, with tokens counted as the stub server counts them; it costs nothing."""
    text = CHARACTERS[name](request.prompt, request.schema)
    return Reply(text, Usage(tokens(request.prompt), 0, tokens(text), 0.0), model=f"scripted/{name}")


def _rng(prompt: str) -> np.random.Generator:
    return np.random.default_rng(int.from_bytes(hashlib.sha256(prompt.encode(errors="surrogatepass")).digest()[:8]))


def _choices(prompt: str, schema: Mapping[str, Any] | None, wanted: str) -> dict[str, list[str]]:
    """Unit or place -> its legal orders, from the schema's alternative with most orders that end in `wanted`.

    If the schema lists no orders: hold, for the units in the prompt.
    """
    if schema is not None and "orders" not in schema.get("properties", {}):
        return {}
    orders = {} if schema is None else schema["properties"]["orders"]
    sets = [each["properties"] for each in orders.get("anyOf", [orders]) if "properties" in each]
    found = [{key: _texts(part) for key, part in each.items()} for each in sets]
    if found:
        return max(found, key=lambda each: sum(bool(_first(texts, wanted)) for texts in each.values()))
    units = _UNITS.search(prompt)
    return {unit: [f"{unit} H"] for unit in units[1].split(", ")} if units else {}


def _texts(schema: Mapping[str, Any]) -> list[str]:
    """The texts that a part of a schema allows."""
    return [text for part in schema.get("anyOf", [schema]) for text in part.get("enum", [])]


def _first(orders: Sequence[str], ending: str) -> str:
    return next((order for order in orders if order.endswith(ending)), "")


def _said(prompt: str, schema: Mapping[str, Any] | None, orders: Mapping[str, str], texts: Sequence[str]) -> str:
    """The reply of `stub_reply` with other orders and messages; summaries are left as they are."""
    text = stub_reply(prompt, schema)
    reply = json.loads(text) if text.startswith("{") else {}
    said = texts[int(_rng(prompt).integers(len(texts)))]
    if isinstance(reply.get("orders"), dict):
        reply["orders"] = {key: order or NOTHING for key, order in orders.items()}
    elif "orders" in reply:
        reply["orders"] = [order for order in orders.values() if order]
    to = (schema or {}).get("properties", {}).get("messages", {}).get("properties") or {"GLOBAL": {}}
    if "messages" in reply and not any("enum" in each for each in to.values()):
        reply["messages"] = dict.fromkeys(to, "") | {"GLOBAL": said}
    return json.dumps(reply) if reply else text
