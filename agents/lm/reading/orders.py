"""Orders as language models write them, matched with the legal orders of a phase.

It accepts everything that `welfare_env.Game` accepts (`welfare_env.board.order_text`), and in addition a support of
just a place ("MAR S PAR") and several points given at once ("GIVE 3 FRANCE"). A clear but illegal order is never
changed into another one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from welfare_env.board.order_text import (
    LONGEST_ORDER,
    Reading,
    is_unit,
    meant_by,
    near_misses,
    province_of,
    read_order,
    tokens_of,
)
from welfare_env.engine import ADJUSTMENTS

if TYPE_CHECKING:
    from welfare_env.game.view import View


class OrderFault(ValueError):
    """An order that cannot be used.

    Attributes:
        kind: one of `agents.lm.reading.fields.ORDER_LOSSES`.
    """

    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(reason)
        self.kind = kind


class OrderBook:
    """The legal orders of a view, and a search for the one that a text means."""

    def __init__(self, view: View) -> None:
        self.view = view
        self.board = view.board
        self.legal = view.legal_orders
        self._keys = {province_of(name): name for name in self.legal}  # province -> what can be ordered
        self._exact = {order: key for key, orders in self.legal.items() for order in orders}  # for speed

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
        reading = self._reading(text)
        key = self._keys.get(reading.place[:3])
        if key is None:
            raise self._foreign(reading)
        meant = meant_by(reading, self.legal[key], self.board)
        if len(meant) == 1:
            return key, meant[0]
        if meant:
            raise OrderFault("order unclear", f"it may mean {' or '.join(meant[:4])}")
        raise self._not_legal(reading, key)

    def _reading(self, text: str) -> Reading:
        if len(text) > LONGEST_ORDER:
            raise OrderFault("order syntax", f"{len(text)} characters are too many for an order")
        reading = read_order(text, self.board)
        if reading is None:
            raise OrderFault("order syntax", "it is not understood")
        return reading

    def _foreign(self, reading: Reading) -> OrderFault:
        """The fault for a place where nothing can be ordered."""
        where = reading.place[:3]
        for power, units in self.view.units.items():
            if power != self.view.power and any(unit[2:5] == where for unit in units):
                return OrderFault("order of others", f"the unit in {where} belongs to {power}")
        return OrderFault("order not legal", f"there is nothing to order in {where} in {self.view.phase}")

    def _not_legal(self, reading: Reading, key: str) -> OrderFault:
        others = near_misses(reading, self.legal[key], self.board)
        if others:
            return OrderFault("order coast", f"wrong coast; legal is {' or '.join(others[:4])}")
        return OrderFault("order not legal", f"not legal for {key} in {self.view.phase}")

    def gifts(self, text: str) -> list[str]:
        """The orders of "GIVE FRANCE", "GIVE 3 FRANCE" or "GIVE FRANCE 3"; at most as many as the power has points.

        Raises:
            OrderFault: nothing can be given, or not to that power.
        """
        view, words = self.view, tokens_of(text[:LONGEST_ORDER], self.board)
        powers = [word for word in words if word in self.board.power_index]
        counts = [int(word) for word in words if word.isdecimal() and word.isascii() and len(word) < 7]
        if not view.rules.transfers or view.phase_type != ADJUSTMENTS or view.power not in view.welfare:
            raise OrderFault("order not legal", "no points can be given now")
        if len(powers) != 1 or len(counts) > 1:
            raise OrderFault("order syntax", "it is not understood; write GIVE and the name of one power")
        if powers[0] == view.power:
            raise OrderFault("order not legal", "nobody can give to itself")
        number = counts[0] if counts else 1
        return [f"GIVE {powers[0]}"] * min(number, view.welfare[view.power] + 1)
