"""Promises in messages, compared with the sender's orders.

`evaluation.messages.sentences` finds announcements by English patterns; this module judges them by the sender's later
orders. Matches can be wrong, for example for irony or rejected plans. Sentences with conditions ("if you") or other
times ("next year") are found but not judged. Check the sentences (`Promise.sentence`) before relying on a count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from evaluation.messages.sentences import KINDS, Announcement, Kind, SentenceParser
from welfare_env import Board
from welfare_env.board.order_text import OrderParts, order_parts, province_of
from welfare_env.game.press import GLOBAL

__all__ = ["KINDS", "Kind", "Promise", "promises"]

_NUMBERS = {
    **{"a": 1, "an": 1, "one": 1, "another": 1, "both": 2, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6},
    **{"seven": 7, "eight": 8},
}
_YOU = re.compile(r"\b(?:you|your|yours)\b", re.I)
_SEASONS = {"S": "spring", "F": "fall", "W": "winter"}  # by the first letter of a phase


@dataclass(frozen=True)
class Promise:
    """A sentence that announces a future action of its sender.

    Attributes:
        phase, round, sender, recipient: from the message.
        kind: the announced action.
        sentence: the text of the sentence.
        is_kept: whether the promise was kept; None if not judged: it has a condition or another time, its object is
            unclear, or the game ended before.
    """

    phase: str
    round: int
    sender: str
    recipient: str
    kind: Kind
    sentence: str
    is_kept: bool | None


@lru_cache(maxsize=8)
def _parser(board: Board) -> SentenceParser:
    return SentenceParser(board)


def promises(record: Mapping[str, Any], board: Board) -> Iterator[Promise]:
    """All promises of a game, in chronological order.

    A promise is judged by the legal orders of its phase, and kept if:

    * hold: none of the sender's units in the named provinces moves; without named provinces, none of its units moves.
      Movement phases only; not judged if the sender has no unit there.
    * not enter: none of the sender's units moves to a named province, or to a province where a named power ("you" in a
      private message) has a unit or a center at the start of the phase. Movement phases only.
    * support: a unit of the sender supports a unit of a named power, or a unit or move in a named province. Movement
      phases only.
    * disband: in the Winter of the same year, the sender disbands as many units as announced: "all", a number, or
      otherwise one. Only orders count, not forced removals. If the sender has no units left, "all" is kept.
    """
    parser = _parser(board)
    phases = record["phases"]
    for index, phase in enumerate(phases[:-1]):
        for message in phase["messages"]:
            for said in parser.find(message["message"]):
                case = _Case(phases[index:-1], message, said, parser)
                yield Promise(
                    phase["name"],
                    message["round"],
                    message["sender"],
                    message["recipient"],
                    said.kind,
                    said.sentence,
                    case.judge() if _is_due(said, phase["name"]) else None,
                )


def _is_due(said: Announcement, phase: str) -> bool:
    """Whether an announcement is unconditional and for this phase (for disbanding: for this year's Winter)."""
    year, is_disbanding = phase[1:5], said.kind == "disband"
    seasons = {"fall" if word == "autumn" else word for word in _words(said.sentence)} & set(_SEASONS.values())
    phases = set(re.findall(r"\b[SFW]\d{4}[MRA]\b", said.sentence))
    return (
        not said.is_open
        and seasons <= {"winter" if is_disbanding else _SEASONS[phase[0]]}
        and phases <= {phase, f"W{year}A" if is_disbanding else phase}
        and set(re.findall(r"\d{4}", said.sentence)) <= {year}
    )


def _words(text: str) -> list[str]:
    return re.findall(r"\d+|[a-z]+", text.casefold())


class _Case:
    """A promise, with its phase and all later phases."""

    def __init__(
        self, phases: list[Mapping[str, Any]], message: Mapping[str, Any], said: Announcement, parser: SentenceParser
    ) -> None:
        self.phases, self.kind, self.what = phases, said.kind, said.what
        self.sender = message["sender"]
        self.places = parser.places(self.what)
        self.powers = parser.powers(self.what) - {self.sender}
        if _YOU.search(self.what) and message["recipient"] != GLOBAL:
            self.powers |= {message["recipient"]}

    def judge(self) -> bool | None:
        """Whether the promise was kept; None if it cannot be judged."""
        if self.kind == "disband":
            return self._disbanded()
        if not self.phases[0]["name"].endswith("M"):
            return None
        return {"hold": self._held, "not enter": self._kept_out, "support": self._supported}[self.kind]()

    def _orders(self, phase: Mapping[str, Any], command: str) -> list[OrderParts]:
        orders = map(order_parts, phase["orders"].get(self.sender, ()))
        return [parts for parts in orders if parts and parts.command == command]

    def _held(self) -> bool | None:
        standing = {province_of(unit) for unit in self.phases[0]["state"]["units"].get(self.sender, ())}
        meant = standing & self.places if self.places else standing
        if not meant:
            return None
        return not meant & {move.province for move in self._orders(self.phases[0], "-")}

    def _kept_out(self) -> bool | None:
        closed = self.places | {place for power in self.powers for place in self._held_by(power)}
        if not closed:
            return None
        entered = {province_of(move.dest) for move in self._orders(self.phases[0], "-")}
        return not entered & closed

    def _supported(self) -> bool | None:
        if not self.places and not self.powers:
            return None
        units = self.phases[0]["state"]["units"]
        theirs = {province_of(unit) for power in self.powers for unit in units.get(power, ())}
        supports = self._orders(self.phases[0], "S")
        supported = {province_of(support.other) for support in supports}
        named = supported | {province_of(support.dest) for support in supports}
        return bool(named & self.places or supported & theirs)

    def _disbanded(self) -> bool | None:
        name = f"W{self.phases[0]['name'][1:5]}A"
        winter = next((phase for phase in self.phases if phase["name"] == name), None)
        if winter is None:
            return None
        standing = len(winter["state"]["units"].get(self.sender, ()))
        number = standing if re.search(r"\b(?:all|everything|entire|completely)\b", self.what, re.I) else self._number()
        return len(self._orders(winter, "D")) >= number

    def _number(self) -> int:
        numbers = [int(word) if word.isdecimal() else _NUMBERS.get(word, 0) for word in _words(self.what)[:3]]
        return next((number for number in numbers if 0 < number < 100), 1)

    def _held_by(self, power: str) -> set[str]:
        """Provinces in which a power has a unit or a center at the start of the phase."""
        state = self.phases[0]["state"]
        units = {province_of(unit) for unit in state["units"].get(power, ()) if unit[0] != "*"}
        return units | set(state["centers"].get(power, ()))
