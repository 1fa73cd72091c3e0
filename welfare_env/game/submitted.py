"""The orders that a power submits for a phase, as texts: read, and checked one by one and together."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from welfare_env.board.order_text import (
    Reading,
    meant_by,
    namesakes,
    near_misses,
    own_convoys,
    province_of,
    read_checked,
    read_order,
)
from welfare_env.board.orders import BUILD, DISBAND, GIVE, WAIVE
from welfare_env.checks import is_list, quoted
from welfare_env.engine import ADJUSTMENTS
from welfare_env.errors import IllegalOrderError, OrderError, OrderSyntaxError
from welfare_env.game.history import Void
from welfare_env.game.position import Position

MOST_ORDERS = 1000  # per power and phase
LONGEST_REASON = 10_000  # characters of the reason why an order was refused


def read_orders(
    position: Position, power: str, orders: Iterable[str], strict: bool
) -> tuple[tuple[int, ...], tuple[Void, ...]]:
    """The numbers of a power's orders, and those that are refused (see `Game.submit`).

    Raises:
        OrderSyntaxError, IllegalOrderError: `strict`, and an order is malformed or illegal.
    """
    texts = _listed(power, orders)
    accepted = OrderSheet(position, power)
    if accepted.are_mixed(texts):
        reason = f"{power} both builds and disbands in {position.phase}: {quoted(texts)}. Do one or the other"
        if strict:
            raise IllegalOrderError(reason)
        return (), tuple(refused(text, reason) for text in texts)
    void = []
    for text in texts:
        try:
            accepted.add(text)
        except OrderError as error:
            if strict:
                raise
            void.append(refused(text, str(error)))
    return tuple(accepted.numbers), tuple(void)


def refused(order: object, reason: object) -> Void:
    """An order that was refused, as given, shortened for the record."""
    return Void(_shorten(order, 200), _shorten(reason, LONGEST_REASON))


class OrderSheet:
    """The orders of one power that have been accepted so far; `View.order_sheet` makes an empty one.

    Args:
        is_lenient: a support may name just a place ("MAR S PAR"), if only one order can be meant.

    Attributes:
        numbers: the accepted orders, as numbers of `Board.orders`.
        slots: the units and centers that have an order.
    """

    def __init__(self, position: Position, power: str, is_lenient: bool = False) -> None:
        self.position, self.board, self.power, self.is_lenient = position, position.board, power, is_lenient
        self.number = position.board.power_index[power]
        self.is_winter = position.state.phase_type == ADJUSTMENTS
        self.numbers: list[int] = []
        self.slots: set[int] = set()

    def are_mixed(self, texts: list[str]) -> bool:
        """Whether a Winter list both builds and disbands although the rules forbid it."""
        if self.position.engine.rules.build_and_disband or not self.is_winter or len(texts) < 2:
            return False
        kinds = set()
        for text in texts:
            with contextlib.suppress(OrderError):
                kinds.add(read_checked(text, self.board).command)
        return {"B", "D"} <= kinds

    def add(self, text: str) -> None:
        """Accept an order in addition to the others.

        Raises:
            OrderSyntaxError, IllegalOrderError: not an order, an illegal or ambiguous one, or one too many.
        """
        number = self._meant(text)
        kind, slot = int(self.board.orders.kind[number]), self.position.slot_of(self.number, number)
        if kind == GIVE:
            self._check_gift(text, number)
        elif slot in self.slots:
            name = self.position.slot_name(slot)
            raise IllegalOrderError(f"{text!r}: {self.power} has already ordered {name}", "second order")
        elif self.is_winter and kind != WAIVE and kind not in self._open_kinds():
            is_mixed = not self.position.engine.rules.build_and_disband and self._has(BUILD + DISBAND - kind)
            limit = self.position.winter_limit(self.power, kind)
            raise IllegalOrderError(f"{text!r}: {limit}", "builds and disbands" if is_mixed else "too many")
        self.numbers.append(number)
        self.slots |= set() if slot is None else {slot}

    def _has(self, kind: int) -> bool:
        return bool((self.board.orders.kind[self.numbers] == kind).any())

    def _open_kinds(self) -> set[int]:
        return self.position.open_kinds(self.number, self.numbers)

    def _meant(self, text: str) -> int:
        """The number of the legal order that a text means."""
        index = self.board.orders.index
        known = index.get(text) if isinstance(text, str) else None
        if known is not None and self.position.slot_of(self.number, known) is not None:
            return known
        reading = read_order(text, self.board) if self.is_lenient else read_checked(text, self.board)
        if reading is None:
            raise OrderSyntaxError(f"{text!r:.80}: it is not understood, or too long")
        if reading.command == "GIVE":
            return index[f"GIVE {reading.place}"]
        if reading.command == "WAIVE" and self.is_winter:
            return WAIVE
        options = self.position.legal_orders(self.power)
        here = [order for name, orders in options.items() if _is_at(name, reading.place) for order in orders]
        meant = meant_by(reading, here, self.board)
        if not meant:
            reason, kind = self._why_illegal(reading, options)
            kind = "order coast" if near_misses(reading, here, self.board) else kind
            raise IllegalOrderError(f"{text!r}{reason}{namesakes(text, self.board)}", kind)
        if len(meant) > 1:
            told = f"{text!r} is ambiguous in {self.position.phase}: it may mean {_some(meant)}"
            raise IllegalOrderError(told, "order unclear")
        if convoys := own_convoys(reading, meant[0], itertools.chain(*options.values())):
            told = f"{text!r}: write {meant[0]!r}; it is by land unless you order {' or '.join(convoys)}"
            raise IllegalOrderError(told, "order unclear")
        return index[meant[0]]

    def _check_gift(self, text: str, number: int) -> None:
        if not self.position.engine.rules.transfers or not self.is_winter:
            raise IllegalOrderError(f"{text!r}: points are given in Winter, under Rules(transfers=True)")
        if self.board.orders.dest[number] == self.number:
            raise IllegalOrderError(f"{text!r}: {self.power} cannot give to itself")
        if GIVE not in self._open_kinds():
            points = self.position.welfare[self.power]
            raise IllegalOrderError(f"{text!r}: {self.power} owns {points} welfare points", "too many")

    def _why_illegal(self, reading: Reading, options: Mapping[str, Sequence[str]]) -> tuple[str, str]:
        """Why a well-formed order is illegal, and which orders are legal; and the kind of error."""
        phase, where = self.position.phase, reading.place
        for name, legal in options.items():
            if _is_at(name, where):
                return f" is not legal in {phase}. Legal for {name}: {_some(legal)}", "order not legal"
        for other, units in self.position.units.items():
            unit = next((unit for unit in units if _is_at(unit, where) and reading.unit in ("", unit[0])), None)
            if unit and other != self.power:
                return f": {unit} belongs to {other}, not to {self.power}", "order of others"
        orders = _some(tuple(options)) or "nothing"
        return f": {self.power} cannot order that in {phase}. It can order: {orders}", "order not legal"


def _is_at(name: str, place: str) -> bool:
    """Whether a unit or center is in the province of a place."""
    return province_of(name) == place[:3]


def _listed(power: str, orders: Any) -> list[Any]:
    """Check that orders are a sequence, and return them as a list."""
    if not is_list(orders):
        raise IllegalOrderError(f"orders of {power} are {quoted(orders)}: give a list of strings")
    texts = list(itertools.islice(orders, MOST_ORDERS + 1))
    if len(texts) > MOST_ORDERS:
        raise IllegalOrderError(f"{power} has more than {MOST_ORDERS} orders: give one per unit")
    return texts


def _shorten(text: object, most: int) -> str:
    given = text if isinstance(text, str) else quoted(text)
    return given[:most].encode("utf-8", "backslashreplace").decode()[:most]


def _some(options: Sequence[str], most: int = 12) -> str:
    more = f" ... ({len(options)} in all)" if len(options) > most else ""
    return ", ".join(options[:most]) + more
