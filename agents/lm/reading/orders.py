"""Orders as language models write them: in lists, objects and texts, however nested.

The texts of single orders are read and checked by the game itself (`welfare_env.game.submitted`; its notations are in
docs/reference/orders.md); besides, several points may be given at once ("GIVE 3 FRANCE"). A clear but illegal order is
never changed into another one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import repeat
from typing import TYPE_CHECKING, Any

from agents.lm.reading.fields import texts_of
from agents.lm.reading.issues import ParseIssue, note
from agents.lm.reading.objects import CutText, Object, folded
from welfare_env.board.order_text import LONGEST_ORDER, is_unit, read_order, tokens_of
from welfare_env.errors import IllegalOrderError, OrderSyntaxError

if TYPE_CHECKING:
    from welfare_env.board.board import Board
    from welfare_env.game.view import View

MAX_ORDERS = 500  # texts per reply
LONGEST_NAME = 200  # characters of a key: a recipient, several, or a unit
GIVE = "GIVE"

_BETWEEN_ORDERS = re.compile(r"[\n\r;,]+")
_IN_PARENTHESES = re.compile(r"\([^()]*\)")  # a remark: "(to take it, maybe)"
_REMARKS = frozenset(
    {"reason", "reasoning", "reasons", "rationale", "why", "comment", "comments", "explanation", "note", "notes"}
    | {"remark", "purpose", "intent", "justification", "thought", "thoughts", "analysis", "priority", "confidence"}
)
"""Keys beside an order or a message that are neither."""


def read_orders(value: Any, view: View, issues: list[ParseIssue]) -> list[str]:
    """The orders under a reply's key "orders": canonical, and legal together."""
    texts = _texts(without_remarks(value, issues), view, issues)
    sheet = view.order_sheet() if view.power in view.powers else None
    for number, text in enumerate(texts):
        if number == MAX_ORDERS:
            note(issues, "too many", text, f"no more than {MAX_ORDERS} texts are read")
            break
        try:
            for order in _single_orders(text, view.board):
                if sheet is None:
                    raise IllegalOrderError(f"{view.power} has nothing to order")
                sheet.add(order)
        except OrderSyntaxError:
            note(issues, "order syntax", text, "it is not understood, or too long")
        except IllegalOrderError as error:
            note(issues, error.kind, text, str(error).removeprefix(repr(text)).lstrip(": "))
    return [view.board.orders.texts[number] for number in sheet.numbers] if sheet else []


def _single_orders(text: str, board: Board) -> Iterable[str]:
    """A text as single orders: one for each point given, none if nothing is ordered."""
    words = text.upper().split()
    if words[-1:] in ([], ["WAIVE"]):
        return ()
    if GIVE in words:
        tokens = tokens_of(text[:LONGEST_ORDER], board)
        powers = [word for word in tokens if word in board.power_index]
        counts = [int(word) for word in tokens if word.isdecimal() and word.isascii()]
        if len(powers) == 1 and len(counts) <= 1:
            return repeat(f"{GIVE} {powers[0]}", min(MAX_ORDERS, *counts or [1]))
    return (text,)


def without_remarks(value: Any, issues: list[ParseIssue]) -> Any:
    """A value without what a model notes for itself beside its orders or messages."""
    if isinstance(value, list):
        return [without_remarks(part, issues) for part in value]
    if not isinstance(value, Object):
        return value
    for key, part in value.items():
        if folded(key) in _REMARKS:
            note(issues, "unused", f"{key}: {part}")
    return Object((key, without_remarks(part, issues)) for key, part in value.items() if folded(key) not in _REMARKS)


def _texts(value: Any, view: View, issues: list[ParseIssue], key: str = "", is_item: bool = False) -> Iterator[str]:
    """The texts of single orders in a text, a list, or an object: one order, or with units or powers as its keys.

    Args:
        key: the key of the value, usually a unit.
        is_item: whether the value is an item of a list.
    """
    board = view.board
    if isinstance(value, list):
        for part in value:
            yield from _texts(part, view, issues, key, is_item=True)
    elif isinstance(value, Object):
        is_one = is_item or is_unit(key, board) or key.strip().upper() == GIVE
        if value.by_key.get("unit") is not None or (is_one and _is_one_order(value, view)):
            yield from _one_order(value, key, board, issues)
        else:
            for name, part in value.items():
                yield from _keyed(name, part, view, issues)
    elif value is not None:
        text = _IN_PARENTHESES.sub(lambda remark: _BETWEEN_ORDERS.sub(" ", remark[0]), str(value))
        pieces = _BETWEEN_ORDERS.split(text)
        if isinstance(value, CutText) and pieces[-1].strip():
            note(issues, "order syntax", pieces.pop(), "cut off")
        yield from (_complete(key, piece, board) for piece in pieces if piece.strip())


def _keyed(key: str, value: Any, view: View, issues: list[ParseIssue]) -> Iterator[str]:
    """The texts under a unit's or a power's name."""
    name = key.strip().upper()
    if len(key) > LONGEST_NAME:
        note(issues, "field", key, "no unit")
    elif name == view.power:
        yield from _texts(value, view, issues)
    elif name in view.powers:
        note(issues, "order of others", key, f"orders for {name}")
    elif name == GIVE and isinstance(value, Object) and any(_is_power(power, view) for power in value):
        for power, points in value.items():
            yield from _texts(points if isinstance(points, CutText) else f"{GIVE} {points} {power}", view, issues)
    else:
        yield from _texts(value, view, issues, key)


def _one_order(parts: Object, key: str, board: Board, issues: list[ParseIssue]) -> Iterator[str]:
    """One order, such as {"unit": "A PAR", "order": "A PAR - BUR"}: one of the parts, or all together."""
    unit = key if is_unit(key, board) else " ".join(texts_of(parts.by_key.get("unit")))
    texts = list(texts_of(parts))
    if any(isinstance(text, CutText) for text in texts):
        note(issues, "order syntax", " ".join(texts), "cut off")
    elif not is_unit(unit, board):
        yield from [text for text in texts if _is_order(text, board)] or [_complete(key, " ".join(texts), board)]
    else:
        place = _place_of(unit, board)
        own = [text for text in texts if _is_order(text, board) and _place_of(text, board) == place]
        # a support's target may be an order, too, but of another unit
        rest = texts_of([part for key, part in parts.by_key.items() if key != "unit"])
        others = [text for text in rest if _place_of(text, board) != place or not is_unit(text, board)]
        yield own[0] if own else " ".join([unit, *others])


def _complete(key: str, text: str, board: Board) -> str:
    """An order with its unit, or a gift with its command, if the text is only the rest."""
    is_whole = not key.strip() or _is_order(text, board) or GIVE in text.upper().split()
    return text if is_whole else f"{key} {text}"


def _is_one_order(value: Object, view: View) -> bool:
    """Whether an object is one order: no units or powers as keys, and at most one such object in it."""
    inner = [part for part in value.values() if isinstance(part, list | dict)]
    is_one = len(inner) <= 1 and all(isinstance(part, Object) and _is_one_order(part, view) for part in inner)
    return is_one and not any(_is_power(key, view) or is_unit(key, view.board) for key in value)


def _is_power(key: str, view: View) -> bool:
    return key.strip().upper() in view.powers


def _is_order(text: str, board: Board) -> bool:
    """Whether the text can be read as an order, legal or not."""
    return text in board.orders.index or read_order(text, board) is not None


def _place_of(text: str, board: Board) -> str:
    """The province of the unit that an order is for, or of a unit or a place; "" for other texts."""
    reading = read_order(text, board) or read_order(f"{text} H", board)
    return reading.place[:3] if reading else ""
