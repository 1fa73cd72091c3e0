"""What players say that they will do, against what they order.

Promises are found by stated patterns in English, a sentence at a time; nothing is understood beyond them. They find
plain announcements ("I will hold", "We won't enter Burgundy", "I support you into MUN", "I will disband two units") and
miss whatever is said in another way, hinted at, or spread over sentences. What they find can be wrong, too: irony, or a
plan told only to be rejected ("... would be foolish"). Conditions ("if you ...") and other times ("next year") are
found and not judged. Read the sentences, which are kept, before you rely on a count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from welfare_env import Board
from welfare_env.press import GLOBAL

Kind = Literal["hold", "disband", "not enter", "support"]
KINDS: tuple[Kind, ...] = ("hold", "disband", "not enter", "support")

_SENTENCE = re.compile(r"[^.!?;\n]+[.!?;\n]?")
_CONDITION = re.compile(r"\b(?:if|unless|provided|as long as|once|when|should you|in return|in exchange)\b", re.I)
_LATER = re.compile(
    r"\b(?:next|later|eventually|soon|last|yesterday|in (?:the )?(?:spring|fall|autumn)|in \d{4}|by \d{4})\b", re.I
)
_WILL = r"(?:\s*(?:will|shall|'ll|am going to|are going to|promise to|intend to|plan to|agree to))?"
_WE = rf"\b(?:I|we|my (?:units|armies|fleets|forces)){_WILL}"
_ADVERB = r"(?:\s+(?:\w+ly|all|now|also|just|still|then))?"
_NOT = (
    r"(?:will not|won't|shall not|'ll not|will never|do not|don't|am not going to|promise not to|"
    r"(?:have|'ve) no (?:plans?|intention)s? (?:to|of))"
)
_PATTERNS: dict[Kind, re.Pattern[str]] = {
    "not enter": re.compile(
        rf"\b(?:I|we|my (?:units|armies|fleets|forces))\s*{_NOT}{_ADVERB}\s+"
        r"(?:enter|attack|invade|take|go|move|march|sail|cross|touch|step)(?:ing)?\b(?P<what>.*)",
        re.I,
    ),
    "hold": re.compile(rf"{_WE}{_ADVERB}\s+(?:hold|stay|remain|stand)(?:ing)?\b(?P<what>.*)", re.I),
    "disband": re.compile(rf"{_WE}{_ADVERB}\s+(?:disband|demilitari[sz]e|disarm)(?:ing)?\b(?P<what>.*)", re.I),
    "support": re.compile(rf"{_WE}{_ADVERB}\s+support(?:ing)?\b(?P<what>.*)", re.I),
}
_NUMBERS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8}
_YOU = re.compile(r"\b(?:you|your|yours)\b", re.I)


@dataclass(frozen=True)
class Promise:
    """A sentence that announces what its sender will do.

    Attributes:
        phase, round, sender, recipient: of the message.
        kind: what is announced.
        sentence: the words.
        is_kept: None where it is not judged: a condition or another time is named, nothing says what or whom it is
            about, or the game ended before.
    """

    phase: str
    round: int
    sender: str
    recipient: str
    kind: Kind
    sentence: str
    is_kept: bool | None


def promises(record: Mapping[str, Any], board: Board) -> Iterator[Promise]:
    """All promises of a game, in the sequence in which they were made.

    How each kind is judged, by the orders that were carried out in the phase of the message:

    * hold: no unit that the sentence names moves; if it names none, none of the sender's. Retreat phases and Winters
      are not judged.
    * not enter: no unit of the sender moves to a place named, or to a place where a power named ("you" in a private
      message) has a unit or a centre when the phase begins. Movement phases only.
    * support: a unit of the sender supports a unit of a power named or a unit or a place named. Movement phases only.
    * disband: in the next Winter, or in this one, the sender disbands as many units as the sentence says: "all", a
      number, or else one. Orders count, removals by force do not. With no unit left, "all" is kept.
    """
    names = _Names(board)
    phases = record["phases"]
    for index, phase in enumerate(phases[:-1]):
        for message in phase["messages"]:
            for kind, sentence, what in _found(message["message"]):
                judged = None
                if not (_CONDITION.search(sentence) or _LATER.search(sentence)):
                    judged = _Case(phases[index:-1], message, what, names).judge(kind)
                yield Promise(
                    phase["name"], message["round"], message["sender"], message["recipient"], kind, sentence, judged
                )


def _found(text: str) -> Iterator[tuple[Kind, str, str]]:
    """Kind, sentence, and what stands behind the verb; at most one a sentence."""
    for match in _SENTENCE.finditer(text.replace("\u2019", "'")):
        sentence = match.group().strip()
        if sentence.endswith("?"):
            continue
        for kind, pattern in _PATTERNS.items():
            found = pattern.search(sentence)
            if found is not None:
                yield kind, sentence, found["what"]
                break


class _Names:
    """Finds provinces and powers in a text: codes in capitals, names in any case."""

    def __init__(self, board: Board) -> None:
        self.board = board
        self._codes = {name.casefold(): code for code, name in board.long_names.items() if code in board.kind}
        long = "|".join(re.escape(name) for name in sorted(self._codes, key=lambda name: (-len(name), name)))
        self._name = re.compile(rf"\b(?:{long or '(?!)'})\b", re.I)

    def places(self, text: str) -> set[str]:
        """Provinces that are named."""
        codes = {word for word in re.findall(r"\b[A-Z]{3}\b", text) if word in self.board.kind}
        return codes | {self._codes[match.casefold()] for match in self._name.findall(text)}

    def powers(self, text: str) -> set[str]:
        """Powers that are named."""
        return {power for power in self.board.powers if re.search(rf"\b{re.escape(power)}\b", text, re.I)}


class _Case:
    """A promise and the phases from its own on."""

    def __init__(self, phases: list[Mapping[str, Any]], message: Mapping[str, Any], what: str, names: _Names) -> None:
        self.phases, self.what = phases, what
        self.sender = message["sender"]
        self.places = names.places(what)
        self.powers = names.powers(what) - {self.sender}
        if _YOU.search(what) and message["recipient"] != GLOBAL:
            self.powers.add(message["recipient"])

    def judge(self, kind: Kind) -> bool | None:
        """Whether it was kept."""
        if kind == "disband":
            return self._disbanded()
        if not self.phases[0]["name"].endswith("M"):
            return None
        return {"hold": self._held, "not enter": self._kept_out, "support": self._supported}[kind]()

    def _orders(self, phase: Mapping[str, Any]) -> list[list[str]]:
        return [order.split() for order in phase["orders"].get(self.sender, ())]

    def _held(self) -> bool | None:
        if not self.phases[0]["state"]["units"].get(self.sender):
            return None
        moved = {_province(words[1]) for words in self._orders(self.phases[0]) if words[2:3] == ["-"]}
        return not (moved & self.places if self.places else moved)

    def _kept_out(self) -> bool | None:
        closed = self.places | {place for power in self.powers for place in self._held_by(power)}
        if not closed:
            return None
        entered = {_province(words[3]) for words in self._orders(self.phases[0]) if words[2:3] == ["-"]}
        return not entered & closed

    def _supported(self) -> bool | None:
        if not self.places and not self.powers:
            return None
        units = self.phases[0]["state"]["units"]
        theirs = {_province(unit.split()[1]) for power in self.powers for unit in units.get(power, ())}
        supported = [words[3:] for words in self._orders(self.phases[0]) if words[2:3] == ["S"]]
        named = {_province(word) for words in supported for word in words if word != "-"} & self.places
        return bool(named) or any(_province(words[1]) in theirs for words in supported)

    def _disbanded(self) -> bool | None:
        winter = next((phase for phase in self.phases if phase["name"].endswith("A")), None)
        if winter is None:
            return None
        standing = len(winter["state"]["units"].get(self.sender, ()))
        number = standing if re.search(r"\b(?:all|everything|entire|completely)\b", self.what, re.I) else self._number()
        return sum(words[-1] == "D" for words in self._orders(winter)) >= number

    def _number(self) -> int:
        words = re.findall(r"\d+|[a-z]+", self.what.casefold())
        numbers = [int(word) if word.isdecimal() else _NUMBERS.get(word, 0) for word in words[:3]]
        return next((number for number in numbers if 0 < number < 100), 1)

    def _held_by(self, power: str) -> set[str]:
        """Where a power has a unit or a centre when the phase begins."""
        state = self.phases[0]["state"]
        units = {_province(unit.split()[1]) for unit in state["units"].get(power, ()) if unit[0] != "*"}
        return units | set(state["centers"].get(power, ()))


def _province(location: str) -> str:
    """STP of "STP/SC"."""
    return location.partition("/")[0]
