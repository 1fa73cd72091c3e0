"""Stub models of different character, which show what a table of models tells apart.

Their replies are made up from the legal orders in the schema, or from the units in the prompt; the same question always
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
from agents.lm.stub.replies import stub_reply
from agents.lm.stub.wire import CHARACTERS_A_TOKEN

Answer = Callable[[str, Mapping[str, Any] | None], str]

_UNITS = re.compile(r"^Your units: (.+)\.$", re.MULTILINE)
_PEACE = "I will hold all my units this phase."
_LIES = ("I will not enter any of your centers.", _PEACE)


def pacifist(prompt: str, schema: Mapping[str, Any] | None) -> str:
    """Promises to hold, holds, and disbands everything in Winter."""
    orders = [_first(each, " D") or _first(each, " H") for each in _choices(prompt, schema)]
    return _said(prompt, schema, [order for order in orders if order], (_PEACE,))


def raider(prompt: str, schema: Mapping[str, Any] | None) -> str:
    """Promises peace, moves wherever it can, and builds as many units as it may."""
    rng = _rng(prompt)
    orders = []
    for each in _choices(prompt, schema):
        moves = [order for order in each if " - " in order and " S " not in order and " C " not in order]
        orders.append(moves[rng.integers(len(moves))] if moves else _first(each, " B"))
    return _said(prompt, schema, [order for order in orders if order], _LIES)


def babbler(prompt: str, schema: Mapping[str, Any] | None) -> str:
    """Half of its replies are prose, and of the others half of the orders are illegal, as of a weak model."""
    rng = _rng(prompt)
    if schema is not None and rng.integers(2):
        return "As a large language model I would move my armies to the west, and hope for the best."
    orders = [each[0] if rng.integers(2) else "A ATLANTIS - MOON" for each in _choices(prompt, schema)]
    return _said(prompt, schema, orders, ("Hello!", "What do you think?"))


CHARACTERS: dict[str, Answer] = {"stub": stub_reply, "pacifist": pacifist, "raider": raider, "babbler": babbler}
"""Name -> what makes the replies to a prompt and a schema."""


def answered(name: str, request: Request) -> Reply:
    """The reply of a character, with tokens counted as the stub server counts them; it costs nothing."""
    text = CHARACTERS[name](request.prompt, request.schema)
    asked, told = (-(-len(each) // CHARACTERS_A_TOKEN) for each in (request.prompt, text))
    return Reply(text, Usage(asked, 0, told, 0.0), model=f"scripted/{name}")


def _rng(prompt: str) -> np.random.Generator:
    return np.random.default_rng(int.from_bytes(hashlib.sha256(prompt.encode(errors="surrogatepass")).digest()[:8]))


def _choices(prompt: str, schema: Mapping[str, Any] | None) -> list[list[str]]:
    """The legal orders of each unit or place; without them in the schema, to hold with the units of the prompt."""
    orders = (schema or {}).get("properties", {}).get("orders", {})
    found = [each["enum"] for each in _enumerations(orders)]
    if found:
        return found
    units = _UNITS.search(prompt)
    return [[f"{unit} H"] for unit in units[1].split(", ")] if units else []


def _enumerations(schema: Any) -> list[Mapping[str, Any]]:
    """The parts of a schema that list texts, wherever they stand."""
    if isinstance(schema, list):
        return [each for part in schema for each in _enumerations(part)]
    if not isinstance(schema, Mapping):
        return []
    own = [schema] if "enum" in schema else []
    return own + [each for part in schema.values() for each in _enumerations(part)]


def _first(orders: Sequence[str], ending: str) -> str:
    return next((order for order in orders if order.endswith(ending)), "")


def _said(prompt: str, schema: Mapping[str, Any] | None, orders: list[str], texts: Sequence[str]) -> str:
    """A reply in the form that is asked for; a summary as `stub_reply` writes it."""
    properties = (schema or {}).get("properties")
    if properties is None and "json" not in prompt.lower():
        return stub_reply(prompt)
    if properties is not None and "orders" not in properties and "messages" not in properties:
        return stub_reply(prompt, schema)
    said = texts[int(_rng(prompt).integers(len(texts)))]
    reply: dict[str, Any] = json.loads(stub_reply(prompt, schema))
    to = (properties or {}).get("messages", {}).get("properties") or {"GLOBAL": {}}
    is_free = not any("enum" in each for each in to.values())
    own: dict[str, Any] = {"orders": orders}
    own |= {"messages": dict.fromkeys(to, "") | {"GLOBAL": said}} if is_free else {}
    return json.dumps(reply | {name: value for name, value in own.items() if properties is None or name in properties})
