"""Promises in messages, compared with the sender's orders.

`evaluation.messages.sentences` finds announcements by English patterns; this module judges them by the sender's later
orders. Matches can be wrong, for example for irony or rejected plans. Sentences with conditions ("if you") or other
times ("next year") are found but not judged. Check the sentences (`Promise.sentence`) before relying on a count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from evaluation.messages.sentences import KINDS, Announcement, Kind, SentenceParser
from welfare_env import Board
from welfare_env.board.order_text import OrderParts, order_parts, province_of
from welfare_env.game.press import GLOBAL

__all__ = ["KINDS", "Kind", "Promise", "promises"]

_NUMBERS = {"a": 1, "an": 1, "one": 1, "another": 1, "both": 2, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
_NUMBERS |= {"seven": 7, "eight": 8}
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


_parser = lru_cache(maxsize=8)(SentenceParser)


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
    phases = record["phases"]
    for index, phase in enumerate(phases[:-1]):
        for sent in phase["messages"]:
            sender, recipient = sent["sender"], sent["recipient"]
            for said in _parser(board).find(sent["message"]):
                is_kept = (
                    _judged(said, phases[index:-1], sender, recipient, _parser(board))
                    if _is_due(said, phase["name"])
                    else None
                )
                yield Promise(phase["name"], sent["round"], sender, recipient, said.kind, said.sentence, is_kept)


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


def _judged(
    said: Announcement, phases: Sequence[Mapping[str, Any]], sender: str, recipient: str, parser: SentenceParser
) -> bool | None:
    """Whether a promise of the first of these phases was kept; None if it cannot be judged."""
    now = phases[0]
    if said.kind == "disband":
        return _disbanded(said.what, phases, sender)
    if not now["name"].endswith("M"):
        return None
    units = {power: {province_of(unit) for unit in units} for power, units in now["state"]["units"].items()}
    places, powers = parser.places(said.what), parser.powers(said.what) - {sender}
    if re.search(r"\b(?:you|your|yours)\b", said.what, re.I) and recipient != GLOBAL:
        powers |= {recipient}
    moves, supports = _orders(now, sender, "-"), _orders(now, sender, "S")
    if said.kind == "hold":
        meant = units.get(sender, set()) & places if places else units.get(sender, set())
        return not meant & {move.province for move in moves} if meant else None
    if said.kind == "not enter":
        standing = {
            province_of(unit) for power in powers for unit in now["state"]["units"].get(power, ()) if unit[0] != "*"
        }
        closed = places | standing | {place for power in powers for place in now["state"]["centers"].get(power, ())}
        return not closed & {province_of(move.dest) for move in moves} if closed else None
    if not places and not powers:
        return None
    theirs = {place for power in powers for place in units.get(power, ())}
    supported = {province_of(support.other) for support in supports}
    return bool((supported | {province_of(support.dest) for support in supports}) & places or supported & theirs)


def _orders(phase: Mapping[str, Any], power: str, command: str) -> list[OrderParts]:
    orders = map(order_parts, phase["orders"].get(power, ()))
    return [parts for parts in orders if parts and parts.command == command]


def _disbanded(what: str, phases: Sequence[Mapping[str, Any]], sender: str) -> bool | None:
    """Whether the sender disbands as many units as announced in the Winter of this year."""
    winter = next((phase for phase in phases if phase["name"] == f"W{phases[0]['name'][1:5]}A"), None)
    if winter is None:
        return None
    numbers = (int(word) if word.isdecimal() else _NUMBERS.get(word, 0) for word in _words(what)[:3])
    number = next((number for number in numbers if 0 < number < 100), 1)
    if re.search(r"\b(?:all|everything|entire|completely)\b", what, re.I):
        number = len(winter["state"]["units"].get(sender, ()))
    return len(_orders(winter, sender, "D")) >= number
