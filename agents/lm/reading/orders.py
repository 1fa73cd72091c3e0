"""Orders as language models write them, matched with the legal orders of a phase.

What is understood besides the exact form: any case and spacing; "->" and "to"; holds, supports, moves, convoys,
retreats, builds and disbands as words; provinces by name; "STP (south coast)"; a missing type of unit, a missing coast
where only one is possible, a missing VIA; a convoy with its way ("A LON - NTH - BEL"). What is clear but not legal is
never changed into something else.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from welfare_env.board import Board
from welfare_env.engine import ADJUSTMENTS

if TYPE_CHECKING:
    from welfare_env.view import View

LONGEST = 200  # characters of an order with everything that is written around it

_DASHES = re.compile("[\u2010-\u2015\u2212\u2192\u21d2\u2794]")  # dashes, minus, arrows
_ARROW = re.compile(r"[-=]+>|--+")
_COAST_NAME = re.compile(r"\(?\b([NSEW])(?:ORTH|OUTH|AST|EST)(?:ERN)?[ -]+COAST\b\)?")
_COAST = re.compile(r"\b([A-Z]{3})[ /(-]*\b([NSEW])C\b\)?")
_SHORT_COAST = re.compile(r"\b([A-Z]{3})/([NSEW])\b(?!C)")
_REMARK = re.compile(r"\([^()]*\)")
_NUMBERING = re.compile(r"^\s*(?:[-*•]+|\d{1,3}[.):])\s+")
_SIGNS = re.compile("[.,:;!*`'\"\u2018-\u201f\\[\\]{}]+")
_TOKEN = re.compile(r"-|[^\s-]+")
_WORDS = {
    **dict.fromkeys(("HOLD", "HOLDS", "STAND", "STANDS"), "H"),
    **dict.fromkeys(("SUPPORT", "SUPPORTS"), "S"),
    **dict.fromkeys(("CONVOY", "CONVOYS"), "C"),
    **dict.fromkeys(("MOVE", "MOVES", "TO", "ATTACK", "ATTACKS"), "-"),
    **dict.fromkeys(("RETREAT", "RETREATS"), "R"),
    **dict.fromkeys(("DISBAND", "DISBANDS", "REMOVE", "REMOVES"), "D"),
    **dict.fromkeys(("BUILD", "BUILDS"), "B"),
    "ARMY": "A",
    "FLEET": "F",
    **dict.fromkeys(("THE", "IN", "AT", "FROM", "UNIT"), ""),
}
_LEADING = {"H", "B", "D", "R", "-"}  # commands that may come before their unit: "BUILD A PAR"


class OrderFault(ValueError):
    """An order that cannot be used.

    Attributes:
        kind: one of `agents.lm.reading.fields.ORDER_LOSSES`.
    """

    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(reason)
        self.kind = kind


@dataclass(frozen=True)
class Reading:
    """An order as it was written; "" is what was left out.

    Attributes:
        command: "H", "-", "S" (hold), "S-" (move), "C", "R", "D" or "B".
        unit, place: type and location of the unit that is ordered.
        other, other_place: of the unit that is supported or convoyed.
        dest: where somebody goes.
        via: "VIA" for a move by convoy, "?" where it may be one.
    """

    command: str
    unit: str
    place: str
    other: str = ""
    other_place: str = ""
    dest: str = ""
    via: str = ""

    def allows(self, legal: Reading) -> bool:
        """Whether a legal order is one that this may mean."""
        return (
            self.command == legal.command
            and self.unit in ("", legal.unit)
            and self.other in ("", legal.other)
            and all(
                mine in (theirs, theirs[:3])
                for mine, theirs in (
                    (self.place, legal.place),
                    (self.other_place, legal.other_place),
                    (self.dest, legal.dest),
                )
            )
            and (self.via != "VIA" or legal.via == "VIA")
        )


@functools.lru_cache(maxsize=32)
def _names(board: Board) -> tuple[re.Pattern[str], dict[str, str]]:
    """What finds the names of provinces, the longest first, and their codes."""
    codes: dict[str, str] = {}
    for code, long_name in board.long_names.items():
        for name in (_plain(long_name), _plain(long_name.replace("-", " "))):
            if name and name not in board.location_index:
                codes.setdefault(name, code)
    longest_first = sorted(codes, key=lambda name: (-len(name), name))
    return re.compile(rf"(?<![A-Z])(?:{'|'.join(map(re.escape, longest_first)) or '(?!)'})(?![A-Z])"), codes


def _plain(text: str) -> str:
    """Upper case, no signs, single blanks."""
    return " ".join(_SIGNS.sub(" ", text.upper()).split())


def tokens_of(text: str, board: Board) -> list[str]:
    """The words of an order in the engine's spelling."""
    plain = _ARROW.sub("-", _DASHES.sub("-", _NUMBERING.sub("", text).upper()))
    plain = _COAST_NAME.sub(r"/\1C", plain)
    pattern, codes = _names(board)
    plain = pattern.sub(lambda match: codes[match.group()], _plain(plain))
    plain = _SHORT_COAST.sub(r"\1/\2C", _COAST.sub(r"\1/\2C", plain))
    plain = _REMARK.sub(" ", plain)
    words = [_WORDS.get(word, word) for word in _TOKEN.findall(plain)]
    powers = board.power_index if "GIVE" not in words else {}
    return [word for word in words if word and word not in powers]


def read(tokens: Sequence[str], board: Board) -> Reading | None:
    """What the words say; None if they make no order."""
    rest = list(tokens)
    if len(rest) > 1 and rest[0] in _LEADING:
        command = rest.pop(0)
        at = 2 if rest[0] in ("A", "F") else 1
        if command in "HBD":
            rest.append(command)
        elif rest[at : at + 1] == ["-"] and command == "R":
            rest[at] = "R"
    unit, place = _take_unit(rest, board)
    if not place or not rest:
        return None
    command = rest.pop(0)
    if command in "HDB" and len(command) == 1 and not rest:
        return Reading(command, unit, place)
    if command in ("-", "R"):
        return _read_way(command, unit, place, rest, board)
    return _read_help(command, unit, place, rest, board) if command in ("S", "C") else None


def _take_unit(rest: list[str], board: Board) -> tuple[str, str]:
    """Takes the unit that comes first off the words: its type and place; "" where they are not there."""
    unit = rest.pop(0) if rest and rest[0] in ("A", "F") else ""
    place = rest.pop(0) if rest and rest[0] in board.location_index else ""
    return unit, place


def _read_way(command: str, unit: str, place: str, rest: list[str], board: Board) -> Reading | None:
    """Behind "A LON -" or "A LON R"."""
    by_convoy = "VIA" in rest or rest[-1:] == ["C"]
    stops = [word for word in rest if word not in ("-", "VIA", "C")]
    if not stops or any(stop not in board.location_index for stop in stops) or (command == "R" and len(stops) > 1):
        return None
    via = "VIA" if by_convoy or len(stops) > 1 else "?"
    return Reading(command, unit, place, dest=stops[-1], via=via if command == "-" else "")


def _read_help(command: str, unit: str, place: str, rest: list[str], board: Board) -> Reading | None:
    """Behind "F ENG S" or "F ENG C"."""
    other, other_place = _take_unit(rest, board)
    if not other_place:
        return None
    if rest in ([], ["H"]) and command == "S":
        return Reading("S", unit, place, other, other_place)
    stops = [word for word in rest if word not in ("-", "VIA", "C")]
    if rest[:1] != ["-"] or not stops or any(stop not in board.location_index for stop in stops):
        return None
    return Reading("S-" if command == "S" else "C", unit, place, other, other_place, stops[-1])


@functools.lru_cache(maxsize=20_000)
def _read_legal(order: str, board: Board) -> Reading:
    """A legal order, which is always understood."""
    reading = read(order.split(), board)
    if reading is None:
        raise OrderFault("order syntax", f"{order!r} is no order")
    return replace(reading, via="VIA" if order.endswith(" VIA") else "")


class OrderBook:
    """The legal orders of a view, and how to find the one that a text means."""

    def __init__(self, view: View) -> None:
        self.view = view
        self.board = view.board
        self.legal = view.legal_orders
        self._keys = {name.split()[-1][:3]: name for name in self.legal}  # province -> what can be ordered there

    def is_order(self, text: str) -> bool:
        """Whether the text is understood as an order, legal or not."""
        return len(text) <= LONGEST and read(tokens_of(text, self.board), self.board) is not None

    def is_unit(self, text: str) -> bool:
        """Whether the text is a unit or a place."""
        rest = tokens_of(text, self.board) if len(text) <= LONGEST else []
        return bool(_take_unit(rest, self.board)[1]) and not rest

    def find(self, text: str) -> tuple[str, str]:
        """What is ordered, and the legal order: ("A PAR", "A PAR - BUR").

        Raises:
            OrderFault: there is none, or it is not clear which.
        """
        reading = self._reading(text)
        key = self._keys.get(reading.place[:3])
        if key is None:
            raise self._foreign(reading)
        meant = [order for order in self.legal[key] if reading.allows(_read_legal(order, self.board))]
        if len(meant) > 1:
            meant = _exact(reading, meant, self.board)
        if len(meant) == 1:
            return key, meant[0]
        if meant:
            raise OrderFault("order unclear", f"it may mean {' or '.join(meant[:4])}")
        raise self._not_legal(reading, key)

    def _reading(self, text: str) -> Reading:
        if len(text) > LONGEST:
            raise OrderFault("order syntax", f"{len(text)} characters are too many for an order")
        reading = read(tokens_of(text, self.board), self.board)
        if reading is None:
            raise OrderFault("order syntax", "it is not understood")
        return reading

    def _foreign(self, reading: Reading) -> OrderFault:
        """Why nothing can be ordered at this place."""
        where = reading.place[:3]
        for power, units in self.view.units.items():
            if power != self.view.power and any(unit[2:5] == where for unit in units):
                return OrderFault("order of others", f"the unit in {where} belongs to {power}")
        return OrderFault("order not legal", f"there is nothing to order in {where} in {self.view.phase}")

    def _not_legal(self, reading: Reading, key: str) -> OrderFault:
        bare = replace(reading, place=reading.place[:3], other_place=reading.other_place[:3], dest=reading.dest[:3])
        others = [order for order in self.legal[key] if bare.allows(_read_legal(order, self.board))]
        if others and bare != reading:
            return OrderFault("order coast", f"wrong coast; legal is {' or '.join(others[:4])}")
        return OrderFault("order not legal", f"not legal for {key} in {self.view.phase}")

    def gifts(self, text: str) -> list[str]:
        """The orders of "GIVE FRANCE", "GIVE 3 FRANCE" or "GIVE FRANCE 3"; no more than the power has points.

        Raises:
            OrderFault: nothing can be given, or not to that power.
        """
        view, words = self.view, tokens_of(text[:LONGEST], self.board)
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


def _exact(reading: Reading, meant: list[str], board: Board) -> list[str]:
    """Of several legal orders the one that says the same in all places, if there is one; a step before a convoy."""
    said = reading.other_place, reading.dest
    legal = {order: _read_legal(order, board) for order in meant}
    found = [order for order in meant if (legal[order].other_place, legal[order].dest) == said] or meant
    return [order for order in found if not order.endswith(" VIA")] if len(found) > 1 else found
