"""Orders as language models write them, matched with the legal orders of a phase.

An order is read by the game's own reader of notations (`welfare_env.board.order_text`, docs/reference/orders.md); in
addition a support may name just a place ("MAR S PAR"), and several points may be given at once ("GIVE 3 FRANCE"). A
clear but illegal order is never changed into another one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from agents.lm.reading.fields import texts_of
from agents.lm.reading.issues import ParseIssue, note
from agents.lm.reading.objects import CutText, Object, folded
from welfare_env.board.order_text import (
    LONGEST_ORDER,
    Reading,
    is_unit,
    meant_by,
    near_misses,
    own_convoys,
    province_of,
    read_order,
    tokens_of,
)
from welfare_env.engine import ADJUSTMENTS

if TYPE_CHECKING:
    from welfare_env.game.view import View

MAX_ORDERS = 500  # texts per reply
LONGEST_NAME = 200  # characters of a key: a recipient, several, or a unit
GIVE = "GIVE"

_BETWEEN_ORDERS = re.compile(r"[\n\r;,]+")
_IN_PARENTHESES = re.compile(r"\([^()]*\)")
_REMARKS = frozenset(
    {"reason", "reasoning", "reasons", "rationale", "why", "comment", "comments", "explanation", "note", "notes"}
    | {"remark", "purpose", "intent", "justification", "thought", "thoughts", "analysis", "priority", "confidence"}
)
"""Keys beside an order or a message that are neither."""


class OrderFault(ValueError):
    """An order that cannot be used.

    Attributes:
        kind: one of `agents.lm.reading.issues.ORDER_ISSUES`.
    """

    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(reason)
        self.kind = kind


class OrderBook:
    """The legal orders of a view, and a search for the one that a text means."""

    def __init__(self, view: View) -> None:
        self.view, self.board = view, view.board
        self._keys = {province_of(name): name for name in view.legal_orders}  # province -> what can be ordered
        self._exact = {order: key for key, orders in view.legal_orders.items() for order in orders}  # for speed

    def is_order(self, text: str) -> bool:
        """Whether the text can be read as an order, legal or not."""
        return text in self._exact or read_order(text, self.board) is not None

    def is_unit(self, text: str) -> bool:
        """Whether the text is a unit or a place."""
        return is_unit(text, self.board)

    def place_of(self, text: str) -> str:
        """The province of the unit that an order is for, or of a unit or a place; "" for other texts."""
        reading = read_order(text, self.board) or read_order(f"{text} H", self.board)
        return reading.place[:3] if reading else ""

    def find(self, text: str) -> tuple[str, str]:
        """The unit, and the legal order that a text means: ("A PAR", "A PAR - BUR").

        Raises:
            OrderFault: no legal order fits the text, or several do.
        """
        if text in self._exact:
            return self._exact[text], text
        reading = read_order(text, self.board)
        if reading is None:
            raise OrderFault("order syntax", f"it is not understood, or has more than {LONGEST_ORDER} characters")
        key = self._keys.get(reading.place[:3])
        if key is None:
            raise self._foreign(reading)
        legal = self.view.legal_orders[key]
        meant = meant_by(reading, legal, self.board)
        if len(meant) > 1:
            raise OrderFault("order unclear", f"it may mean {' or '.join(meant[:4])}")
        if meant and (convoys := own_convoys(reading, meant[0], self._exact)):
            raise OrderFault("order unclear", f"{meant[0]} is by land unless you order {' or '.join(convoys[:4])}")
        if meant:
            return key, meant[0]
        if others := near_misses(reading, legal, self.board):
            raise OrderFault("order coast", f"wrong coast; legal is {' or '.join(others[:4])}")
        raise OrderFault("order not legal", f"not legal for {key} in {self.view.phase}")

    def _foreign(self, reading: Reading) -> OrderFault:
        """The fault for a place where nothing can be ordered."""
        where = reading.place[:3]
        for power, units in self.view.units.items():
            if power != self.view.power and any(unit[2:5] == where for unit in units):
                return OrderFault("order of others", f"the unit in {where} belongs to {power}")
        return OrderFault("order not legal", f"there is nothing to order in {where} in {self.view.phase}")

    def gift(self, text: str) -> tuple[str, int]:
        """The power and the points of "GIVE FRANCE", "GIVE 3 FRANCE" or "GIVE FRANCE 3".

        Raises:
            OrderFault: nothing can be given, or not to that power.
        """
        view, words = self.view, tokens_of(text[:LONGEST_ORDER], self.board)
        powers = [word for word in words if word in self.board.power_index]
        counts = [int(word) for word in words if word.isdecimal() and word.isascii()]
        if not view.rules.transfers or view.phase_type != ADJUSTMENTS or view.power not in view.welfare:
            raise OrderFault("order not legal", "no points can be given now")
        if len(powers) != 1 or len(counts) > 1:
            raise OrderFault("order syntax", "it is not understood; write GIVE and the name of one power")
        if powers[0] == view.power:
            raise OrderFault("order not legal", "nobody can give to itself")
        return powers[0], counts[0] if counts else 1


def read_orders(value: Any, view: View, issues: list[ParseIssue]) -> list[str]:
    """The orders under a reply's key "orders": canonical, and legal together."""
    orders = _Orders(view, issues)
    for number, text in enumerate(orders.texts(without_remarks(value, issues))):
        if number == MAX_ORDERS:
            note(issues, "too many", text, f"no more than {MAX_ORDERS} texts are read")
            break
        try:
            orders.take(text)
        except OrderFault as fault:
            note(issues, fault.kind, text, str(fault))
    return orders.found


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


class _Orders:
    """Collects orders, text by text.

    Attributes:
        found: the orders that count.
    """

    def __init__(self, view: View, issues: list[ParseIssue]) -> None:
        self.view, self.issues, self.book = view, issues, OrderBook(view)
        self.found: list[str] = []
        self._ordered: set[str] = set()
        self._winter: Counter[str] = Counter()  # "B", "D" or "GIVE" -> orders

    def texts(self, value: Any, key: str = "", is_item: bool = False) -> Iterator[str]:
        """The texts of single orders in a text, a list, or an object: one order, or with units or powers as its keys.

        Args:
            key: the key of the value, usually a unit.
            is_item: whether the value is an item of a list.
        """
        if isinstance(value, list):
            for part in value:
                yield from self.texts(part, key, is_item=True)
        elif isinstance(value, Object):
            is_one = is_item or self.book.is_unit(key) or key.strip().upper() == GIVE
            if value.value_of("unit") is not None or (is_one and self._is_one_order(value)):
                yield from self._one_order(_innermost(value), key)
            else:
                for name, part in value.items():
                    yield from self._keyed(name, part)
        elif value is not None:
            pieces = _BETWEEN_ORDERS.split(_IN_PARENTHESES.sub(_without_signs, str(value)))
            if isinstance(value, CutText) and pieces[-1].strip():
                note(self.issues, "order syntax", pieces.pop(), "cut off")
            yield from (self._complete(key, piece) for piece in pieces if piece.strip())

    def _complete(self, key: str, text: str) -> str:
        """An order with its unit, or a gift with its command, if the text is only the rest."""
        is_whole = not key.strip() or self.book.is_order(text) or GIVE in text.upper().split()
        return text if is_whole else f"{key} {text}"

    def _is_one_order(self, value: Object) -> bool:
        """Whether an object is one order: no units or powers as keys, and not several objects or lists in it."""
        inner = [part for part in value.values() if isinstance(part, list | dict)]
        is_one = len(inner) <= 1 and all(isinstance(part, Object) and self._is_one_order(part) for part in inner)
        return is_one and not any(self._is_power(key) or self.book.is_unit(key) for key in value)

    def _is_power(self, key: str) -> bool:
        return key.strip().upper() in self.view.powers

    def _keyed(self, key: str, value: Any) -> Iterator[str]:
        """The texts under a unit's or a power's name."""
        name = key.strip().upper()
        if len(key) > LONGEST_NAME:
            note(self.issues, "field", key, "no unit")
        elif name == self.view.power:
            yield from self.texts(value)
        elif self._is_power(key):
            note(self.issues, "order of others", key, f"orders for {name}")
        elif name == GIVE and isinstance(value, Object) and any(map(self._is_power, value)):
            for power, points in value.items():
                yield from self.texts(points if isinstance(points, CutText) else f"{GIVE} {points} {power}")
        else:
            yield from self.texts(value, key)

    def _one_order(self, parts: Object, key: str) -> Iterator[str]:
        """One order, such as {"unit": "A PAR", "order": "A PAR - BUR"}: one of the parts, or all together."""
        unit = key if self.book.is_unit(key) else " ".join(texts_of(parts.value_of("unit")))
        texts = list(texts_of(parts))
        orders = [text for text in texts if self.book.is_order(text)]
        if any(isinstance(text, CutText) for text in texts):
            note(self.issues, "order syntax", " ".join(texts), "cut off")
        elif not self.book.is_unit(unit):
            yield from orders or [self._complete(key, " ".join(texts))]
        else:
            place = self.book.place_of(unit)
            own = [text for text in orders if self.book.place_of(text) == place]
            # a support's target may be an order, too, but of another unit
            rest = texts_of([part for name, part in parts.items() if folded(name) != "unit"])
            others = [text for text in rest if self.book.place_of(text) != place or not self.book.is_unit(text)]
            yield own[0] if own else " ".join([unit, *others])

    def take(self, text: str) -> None:
        """Adds the order of a text.

        Raises:
            OrderFault: the order cannot be used.
        """
        words = text.upper().split()
        if words[-1:] in ([], ["WAIVE"]):
            return
        if GIVE in words:
            power, points = self.book.gift(text)
            given = min(points, self.view.welfare[self.view.power] - self._winter[GIVE])
            self.found += [f"{GIVE} {power}"] * given
            self._winter[GIVE] += given
            if points > given:
                raise OrderFault("too many", f"{points} points, and only {given} can still be given")
            return
        key, order = self.book.find(text)
        if key in self._ordered:
            raise OrderFault("second order", f"{key} has an order already")
        if self.view.phase_type == ADJUSTMENTS:
            self._check_room(order[-1])
        self._ordered.add(key)
        self.found.append(order)

    def _check_room(self, command: str) -> None:
        """Checks that the Winter allows one more build or disband, and counts it.

        Raises:
            OrderFault: the order is not allowed.
        """
        view = self.view
        if self._winter["D" if command == "B" else "B"] and not view.rules.build_and_disband:
            raise OrderFault("builds and disbands", "a Winter list cannot have both; its first order decides")
        disbands = len(view.legal_orders) if view.rules.is_welfare else view.must_disband
        room = view.max_builds if command == "B" else disbands
        if self._winter[command] >= room:
            raise OrderFault("too many", f"{room} are allowed in {view.phase}")
        self._winter[command] += 1


def _without_signs(match: re.Match[str]) -> str:
    """A remark without the separators of orders: "(to take it, maybe)"."""
    return _BETWEEN_ORDERS.sub(" ", match.group())


def _innermost(parts: Object) -> Object:
    """The object in another one that names the unit, as in a tool call; the outer one if there is none."""
    inner = (_innermost(part) for part in parts.values() if isinstance(part, Object))
    return next((part for part in inner if part.value_of("unit") is not None), parts)
