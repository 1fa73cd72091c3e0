"""JSON schemas of replies, which allow only orders that are legal together; whether a reply matches one; grammars.

Units (or home centers) are the keys of an object, so each gets one order. If not all keys of a Winter may build or
disband, the possible sets are alternatives; builds and disbands exclude each other unless the rules allow both.
Points to give are split into gifts that never exceed them.

Only what OpenAI and Anthropic document is used: objects with all their properties, `enum` and `anyOf`. OpenAI refuses
an `anyOf` of objects with the same first key, so the sets of all keys but one begin with different ones (PAR MAR, BRE
PAR, MAR BRE), and larger choices stand under a key that names the set: {"PAR, MAR": {"PAR": ..., "MAR": ...}}.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from agents.lm.reading.objects import Object
from welfare_env.engine import ADJUSTMENTS, MOVEMENT

if TYPE_CHECKING:
    from welfare_env.game.view import View

MAX_ENUM_ORDERS = 900
"""Orders in a schema: OpenAI accepts 1,000 values in all enums together, including words of messages."""

MANY_ORDERS = 10_000
"""Orders in a schema for servers without such a limit. Choices of a Winter could be millions."""

LONGEST_ENUM = 15_000
"""Characters of the orders of one unit: OpenAI's limit of an enum."""

NOTHING = "WAIVE"
"""In Winter, in place of an order."""

_GIFTS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")

_TEXT = r"""
text ::= "\"" char* "\""
char ::= [^"\\\x00-\x1F\x7F] | "\\" (["\\/bfnrt] | "u" ([0-9a-ce-fA-CE-F] hex | [dD] [0-7]) hex hex)
hex ::= [0-9a-fA-F]
"""
"""A JSON string without half surrogate pairs, which are not characters."""

Schema = dict[str, Any]
OrderSet = Mapping[str, Sequence[str] | Mapping[str, Sequence[str]]]
"""Key -> the orders that may be given there; or the name of a set -> its keys."""


def object_schema(properties: dict[str, Any]) -> Schema:
    """The schema of an object that has all of these properties and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def order_schema(view: View, most: int = MAX_ENUM_ORDERS, gives: bool = True, seed: int | None = None) -> Schema:
    """The schema of a view's orders: an object with a key for each unit or place, as `neutral_orders` has them.

    If it would list more than `most` orders, all keys accept any text; for ``most=0`` it is a list of any texts.

    Args:
        gives: whether points may be given, where the rules allow it.
        seed: draws the sequence of units and places; None for the game's own. Servers enforce the sequence, too, and it
            matters to what is chosen (docs/language-models.md).
    """
    if not most:
        return {"type": "array", "items": {"type": "string"}}
    gifts, sets, left = _gifts(view) if gives else {}, list[OrderSet](), most
    for each in _order_sets(view, seed):
        sets.append({**each, **gifts})
        left -= _size(sets[-1])
        if left < 0:
            break
    if left < 0 or any(sum(map(len, orders)) > LONGEST_ENUM for orders in view.legal_orders.values()):
        return object_schema({key: {"type": "string"} for key in (*_shuffled(view, seed), *gifts)})
    found = [_set_schema(each) for each in sets]
    return found[0] if len(found) == 1 else {"anyOf": found}


def _set_schema(orders: OrderSet) -> Schema:
    """The schema of one order for each key of a set."""
    return object_schema(
        {
            key: _set_schema(each) if isinstance(each, Mapping) else {"type": "string", "enum": list(each)}
            for key, each in orders.items()
        }
    )


def _size(orders: OrderSet) -> int:
    """How many orders a set lists."""
    return sum(_size(each) if isinstance(each, Mapping) else len(each) for each in orders.values())


def neutral_orders(view: View, gives: bool = True, seed: int | None = None) -> dict[str, Any]:
    """Orders that change as little as possible, in the form of `order_schema`: units hold, dislodged ones disband, and
    in Winter everything is waived.
    """
    keys = {**next(_order_sets(view, seed)), **(_gifts(view) if gives else {})}
    if view.phase_type == ADJUSTMENTS:
        return {
            key: dict.fromkeys(each, NOTHING) if isinstance(each, Mapping) else NOTHING for key, each in keys.items()
        }
    return {unit: f"{unit} {'H' if view.phase_type == MOVEMENT else 'D'}" for unit in keys}


def _shuffled(view: View, seed: int | None) -> Mapping[str, Sequence[str]]:
    """The legal orders, their keys in a sequence drawn for this phase of a game."""
    if seed is None:
        return view.legal_orders
    keys = list(view.legal_orders)
    return {keys[number]: view.legal_orders[keys[number]] for number in _drawn(seed, view.phase, view.power, len(keys))}


@lru_cache(1000)
def _drawn(seed: int, phase: str, power: str, number: int) -> list[int]:
    """A random sequence for a phase of a game; cached, since each question needs it several times."""
    sequence: list[int] = np.random.default_rng([seed, *phase.encode(), *power.encode()]).permutation(number).tolist()
    return sequence


def _order_sets(view: View, seed: int | None) -> Iterator[OrderSet]:
    """The sets of orders that may be given together, key by key: one set, or in Winter several with different first
    keys. (Only one of builds and disbands is ever a choice of several sets, so a union of both has them, too.)
    """
    legal = _shuffled(view, seed)
    if view.phase_type != ADJUSTMENTS:
        yield legal
        return
    builds = {key: orders for key, orders in legal.items() if orders[0].endswith(" B")}
    disbands = {key: orders for key, orders in legal.items() if key not in builds}
    must = None if view.rules.is_welfare else view.must_disband
    if view.rules.build_and_disband:
        yield from ({**one, **other} for one in _some(builds, view.max_builds) for other in _some(disbands, must))
        return
    sets = filter(None, itertools.chain(_some(builds, view.max_builds), _some(disbands, must)))
    yield next(sets, {})
    yield from sets


def _some(legal: Mapping[str, Sequence[str]], most: int | None) -> Iterator[OrderSet]:
    """The sets of `most` keys, each with its orders or none of them; None for all keys."""
    keys, size = list(legal), len(legal) if most is None else min(most, len(legal))
    chosen: Iterable[Sequence[str]] = itertools.combinations(keys, size)
    if 0 < size == len(keys) - 1:
        chosen = [keys[left_out + 1 :] + keys[:left_out] for left_out in reversed(range(len(keys)))]
    for each in chosen:
        orders = {key: (*legal[key], NOTHING) for key in each}
        yield {", ".join(each): orders} if has_names(size, len(keys)) else orders


def has_names(size: int, number: int) -> bool:
    """Whether the sets of so many of a number of keys stand under keys that name them."""
    return 1 < size < number - 1


def gift_sizes(view: View) -> dict[str, int]:
    """Sizes of gifts, together at most the player's points: each is half of the rest, so any total can be given."""
    left = view.points_to_give
    sizes: list[int] = []
    while left and len(sizes) < len(_GIFTS):
        sizes.append((left + 1) // 2)
        left -= sizes[-1]
    return dict(zip(_GIFTS, sizes, strict=False))


def _gifts(view: View) -> dict[str, Sequence[str]]:
    """The gifts of points that may be ordered."""
    return {
        name: [*(f"GIVE {size} {power}" for power in view.powers if power != view.power), NOTHING]
        for name, size in gift_sizes(view).items()
    }


def obeys(text: str, schema: Mapping[str, Any]) -> bool:
    """Whether a text is JSON that matches a schema, with only white space around it.

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


def gbnf(schema: Mapping[str, Any]) -> str:
    """The replies that a schema allows, as a grammar in GGML's notation: for servers that enforce grammars.

    A reply is written as `json.dumps` writes it, its properties in the schema's sequence.

    Raises:
        ValueError: the schema has something else than objects of all their properties, ``enum``, ``anyOf``, lists and
            texts.

    >>> gbnf({"enum": ["A PAR H", "A PAR - BUR"]}).splitlines()[0]
    'root ::= "\\\\"A PAR H\\\\"" | "\\\\"A PAR - BUR\\\\""'
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
