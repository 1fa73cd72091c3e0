"""Orders as people and language models write them.

A text is turned into tokens in the engine's spelling (`tokens_of`), the tokens into a `Reading` (`read_order`), and the
reading is compared with the legal orders of a position (`meant_by`). docs/reference/orders.md lists what is accepted.

A clear order that is not legal is never changed into another one, and a text with two orders is never read as one.

Orders in the exact form, as in records and lists of legal orders, need no board: `order_parts`, `unit_of`,
`province_of`.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

from welfare_env.board.board import Board
from welfare_env.checks import quoted
from welfare_env.errors import OrderSyntaxError, did_you_mean

FORMS = (
    "Forms: 'A PAR H', 'A PAR - BUR', 'A LON - BEL VIA', 'A PAR S A MAR - BUR', 'A PAR S F BRE', "
    "'F ENG C A LON - BEL', 'A PAR R BUR', 'A PAR D', 'A PAR B', 'WAIVE', 'GIVE FRANCE'"
)
LONGEST_ORDER = 200  # characters of an order, including numbering and remarks

_NUMBERING = re.compile(r"^\s*(?:[-*•]+\s|\d{1,3}[.):]\s|[A-Z][.):](?=\s*(?:A|F|ARMY|FLEET)\b))\s*", re.IGNORECASE)
_COMMENT = re.compile(r"(?<=\S)\s*(?:#|//).*", re.DOTALL)
# Dashes, except the long one, and arrows.
_DASHES = re.compile("[\u00bb\u2010-\u2013\u203a\u2190-\u21ff\u2212\u2794-\u27be\u27f0-\u27ff]|[-=~]*>|--+")
_COMMAND = re.compile(r"\(\s*([SCHRDBM-]|VIA|HOLDS?|SUPPORTS?|CONVOYS?|(?:VIA|BY) CONVOY)\s*\)")
_DOUBTED_WAY = re.compile(r"\b(?:NO|NOT|WITHOUT|NEVER|OR|DON T)\b.*\b(?:CONVOY\w*|C|VIA|LAND|SEA)\b")
_BY_LAND = re.compile(r"[(,]?\s*\b(?:BY|VIA|OVER)\s*LAND\b(?:\s*\))?")
COAST_NAME = re.compile(r"\(?\b([NSEW])(?:ORTH|OUTH|AST|EST)(?:ERN)?[ -]+COAST\b\)?")
_COAST_OF = re.compile(r"/?\b([NSEW]C) OF (?:THE )?([A-Z0-9]{3})\b")
_COAST = re.compile(r"\b([A-Z0-9]{3})[ /().,-]*\b([NSEW])\.?C\b\.?\)?")
_SHORT_COAST = re.compile(r"\b([A-Z0-9]{3})/([NSEW])\b(?!C)")
_PARENTHESES = re.compile(r"(-|\b[A-Z]+|)\s*\(([^()]*)\)")
_QUOTES = re.compile("['\u2019]S\\b|[*_`'\"\u2018-\u201f\\[\\]{}<]+")
_GAPS = re.compile(r"[ ._-]+")  # in names: spellings vary
_MARKS = re.compile(r"[.,:;!?#|()]+")
_TOKEN = re.compile("[-\u2014]|[^\\s\u2014-]+")
END = "#"  # replaces a mark that may end the order; a remark may follow
LONG_DASH = "\u2014"  # a move, or the beginning of a remark
_STRENGTH = ("-", LONG_DASH, END)
_ROW = re.compile("[-\u2014#](?: [-\u2014#])+")  # of several marks the strongest one counts: ", to" begins a remark

_WORDS = {
    word: short
    for short, words in {
        "A": "ARMY ARMIES AMY",
        "F": "FLEET FLEETS FLT",
        "H": "HOLD HOLDS HOLDING HLD STAND STANDS STAY STAYS REMAIN REMAINS",
        "S": "SUPPORT SUPPORTS SUPPORTING SUP",
        "C": "CONVOY CONVOYS CONVOYING CVY TRANSPORT TRANSPORTS",
        "-": "M MTO MOVE MOVES MOVING TO INTO ATTACK ATTACKS ATTACKING GO GOES ADVANCE ADVANCES ENTER ENTERS",
        "R": "RETREAT RETREATS RETREATING RTO",
        "D": "DISBAND DISBANDS DISBANDED DISBANDING REMOVE REMOVES REMOVED REMOVING DESTROY DESTROYS DESTROYED DSB",
        "B": "BUILD BUILDS BUILDING BLD",
        "VIA": "BY THROUGH THRU CTO",
        "WAIVE": "WAIVES WAIVED PASS PASSES",
        "GIVE": "GIVES",
        END: "BECAUSE SINCE ORDER FOR",
        "": "THE IN AT UNIT OF ON AN IS POSITION PUT ITS SEA CONVOYED",
    }.items()
    for word in words.split()
}
_COMMANDS = ("H", "-", "S", "C", "R", "D", "B")
_LEADING = {"H", "B", "D", "R", "-"}  # commands that may come before their unit: "BUILD A PAR"
_NO_REMARK = {"OR", "IF", "UNLESS", "NOT", "THEN", "AND", "ELSE", "OTHERWISE", "EXCEPT"}  # these words change the order
_GIFT_WORDS = {"GIVE", "-", "1", "A", "ONE", "POINT", "WELFARE", "WP"}


class OrderParts(NamedTuple):
    """The parts of an order in the exact form; missing parts are "".

    Attributes:
        unit: the ordered or built unit, "F BRE".
        command: "H", "-", "S", "C", "R", "D" or "B".
        other: the supported or convoyed unit.
        dest: the destination of the move or retreat, or of the supported or convoyed move.
        is_convoyed: whether it is a move "VIA" convoy.
    """

    unit: str
    command: str
    other: str
    dest: str
    is_convoyed: bool

    @property
    def province(self) -> str:
        """The province of the ordered unit."""
        return province_of(self.unit)


def order_parts(order: str) -> OrderParts | None:
    """The parts of an order in the exact form ("F BRE S A PAR - PIC"); None if it has no unit (WAIVE, GIVE)."""
    words = order.split()
    if len(words) < 3 or words[2] not in _COMMANDS:
        return None
    unit, command, rest = " ".join(words[:2]), words[2], words[3:]
    is_convoyed = words[-1] == "VIA"
    if command in ("S", "C"):
        return OrderParts(unit, command, " ".join(rest[:2]), "".join(rest[3:4]), is_convoyed)
    return OrderParts(unit, command, "", "".join(rest[:1]), is_convoyed)


def unit_of(order: str) -> str:
    """The unit of an order in the exact form: "A PAR" of "A PAR - BUR"."""
    return " ".join(order.split()[:2])


def province_of(place: str) -> str:
    """STP of "F STP/SC", "STP/SC" or "STP"."""
    return place.rpartition(" ")[2].partition("/")[0]


@dataclass(frozen=True)
class Reading:
    """An order as written; omitted parts are "".

    Attributes:
        command: "H", "-", "S" (hold), "S-" (move), "C", "R", "D", "B", or "WAIVE" and "GIVE", which have no unit.
        unit, place: type and location of the ordered unit. GIVE: the place is the receiving power.
        other, other_place: type and location of the supported or convoyed unit.
        dest: the destination.
        via: "VIA" for a move by convoy, "LAND" for one by land.
        is_loose: the support names only a place ("A PAR S BUR"): of the unit there or of a move there.
    """

    command: str
    unit: str = ""
    place: str = ""
    other: str = ""
    other_place: str = ""
    dest: str = ""
    via: str = ""
    is_loose: bool = False

    def allows(self, legal: Reading) -> bool:
        """Whether this reading is compatible with a legal order. A retreat may be written as a move."""
        return (
            (self.command == legal.command or (self.command, legal.command) == ("-", "R"))
            and self.unit in ("", legal.unit)
            and self.other in ("", legal.other)
            and _same(self.place, legal.place, is_free=self.command != "B")
            and _same(self.other_place, legal.other_place)
            and _same(self.dest, legal.dest, is_free=(legal.other or legal.unit) == "A")
            and self.via in ("", legal.via)
        )


def _same(said: str, legal: str, is_free: bool = False) -> bool:
    """Whether a written place matches the legal one: equal, without its coast, or with an irrelevant coast.

    The coast is irrelevant for the ordered unit (DATC 6.B.10) and for the destination of an army (6.B.12).
    """
    return said in (legal, legal[:3]) or (is_free and said[:3] == legal[:3])


def meant_by(reading: Reading, legal: Iterable[str], board: Board) -> list[str]:
    """The legal orders that a reading may mean: none, one, or several if it is ambiguous.

    Where an army may move by land and by convoy, it is the order without VIA unless the text says VIA.
    """
    meant = {order: found for order in legal if reading.allows(found := _read_legal(order, board))}
    if len(meant) > 1:  # prefer an exact match
        said = reading.command, reading.other_place, reading.dest
        exact = {order: it for order, it in meant.items() if (it.command, it.other_place, it.dest) == said}
        meant = exact or meant
    return [order for order, found in meant.items() if found.via != "VIA"] or list(meant)


def own_convoys(reading: Reading, move: str, legal: Iterable[str]) -> list[str]:
    """The orders of the same power that would make a convoy of a move that the text wants by land."""
    return [order for order in legal if reading.via == "LAND" and order.endswith(f" C {move}")]


def near_misses(reading: Reading, legal: Iterable[str], board: Board) -> list[str]:
    """The legal orders that a reading would mean if it named other coasts."""
    bare = replace(reading, place=reading.place[:3], other_place=reading.other_place[:3], dest=reading.dest[:3])
    return [order for order in legal if bare.allows(_read_legal(order, board))] if bare != reading else []


@functools.lru_cache(maxsize=20_000)
def _read_legal(order: str, board: Board) -> Reading:
    """The reading of a legal order; these can always be read."""
    reading = _read(order.split(), board)
    if reading is None:
        raise OrderSyntaxError(f"{order!r} is not an order")
    return replace(reading, via="VIA" if order.endswith(" VIA") else "LAND")


@functools.lru_cache(maxsize=32)
def _names(board: Board) -> tuple[re.Pattern[str], dict[str, str]]:
    """A pattern of all names of provinces and powers, longest first, and a dict name -> meaning."""
    shorts = {power[:3]: power for power in board.powers if sum(power[:3] == other[:3] for other in board.powers) == 1}
    codes = {
        name: code
        for name, code in {**shorts, **board.names}.items()
        if name not in board.location_index and name not in board.power_index and name not in _WORDS
    }
    longest_first = sorted(codes, key=lambda name: (-len(name), name))
    choices = [r"(?:[ ._]*|-)".join(map(re.escape, name.split())) for name in longest_first]
    found = re.compile(rf"(?<![A-Z])(?:{'|'.join(choices) or '(?!)'})(?![A-Z])")
    return found, {_GAPS.sub("", name): code for name, code in codes.items()}


def tokens_of(text: str, board: Board) -> list[str]:
    """The tokens of an order in the engine's spelling, with `END` wherever a remark may begin."""
    plain = COAST_NAME.sub(r"/\1C", _plain(text))
    pattern, codes = _names(board)
    plain = pattern.sub(lambda match: codes[_GAPS.sub("", match.group())], plain)
    plain = _SHORT_COAST.sub(r"\1/\2C", _COAST.sub(r"\1/\2C", _COAST_OF.sub(r"\2/\1", plain)))
    plain = _MARKS.sub(f" {END} ", _PARENTHESES.sub(lambda found: _opened(found[1], found[2], board), plain))
    words = [_word(word, board) for word in _TOKEN.findall(plain)]
    powers = board.power_index if "GIVE" not in words else {}
    words = [word for word in words if word and word not in powers]
    words = [word for at, word in enumerate(words) if not _is_before_unit(words[at : at + 5], board)]
    words = _from_first(words, board)
    return _ROW.sub(lambda row: max(row.group().split(), key=_STRENGTH.index), " ".join(words)).split()


def _plain(text: str) -> str:
    """A text in upper case, without accents, invisible characters, numbering and comments; arrows as "-"."""
    shown = "".join(one for one in unicodedata.normalize("NFKD", text) if unicodedata.category(one) not in ("Mn", "Cf"))
    plain = _COMMAND.sub(r" \1 ", _DASHES.sub("-", _COMMENT.sub("", _NUMBERING.sub("", shown)).upper()))
    return " ".join(_QUOTES.sub(" ", _BY_LAND.sub(" LAND ", plain)).split())


def _opened(before: str, inside: str, board: Board) -> str:
    """Parentheses and the word before them: "A (PAR" and "A PAR (to BUR" are parts of an order, others are remarks."""
    words = [word for word in (_word(word, board) for word in _TOKEN.findall(inside)) if word not in ("", "A", "F")]
    is_way = any(one in ("-", "VIA") and place in board.location_index for one, place in pairwise(words))
    is_way |= _DOUBTED_WAY.search(inside) is not None  # "(no convoy)" is no remark
    return f"{before} {inside} " if is_way or _word(before, board) in ("A", "F", "S", "C", "-") else f"{before} "


def _is_before_unit(words: list[str], board: Board) -> bool:
    """Whether the first word is an article ("a fleet"), or short for a power whose unit follows ("ENG: A LON")."""
    first, *rest = words
    if first == "A" and rest[:1] in (["A"], ["F"]):
        return True
    unit = [word for word in rest if word != END and word not in _LEADING][:2]
    is_unit = len(unit) == 2 and unit[0] in ("A", "F") and unit[1] in board.location_index
    return is_unit and any(power[:3] == first for power in board.powers)


def _from_first(words: list[str], board: Board) -> list[str]:
    """ "- BUR FROM A PAR" as "A PAR - BUR"."""
    at = words.index("FROM") if "FROM" in words else 0
    before = words[: max(at - 1, 0)]
    if not at or words[at - 1] not in board.location_index or before[-1:] in (["A"], ["F"]):
        return [word for word in words if word != "FROM"]
    end = at + (3 if words[at + 1 : at + 2] in (["A"], ["F"]) else 2)
    return [*(before[:-1] if before[-1:] == ["-"] else before), *words[at + 1 : end], "-", words[at - 1], *words[end:]]


def _word(word: str, board: Board) -> str:
    """A word in the engine's spelling; names of the map take precedence."""
    if word in board.location_index or word in board.power_index:
        return word
    if len(word) == 5 and (coast := f"{word[:3]}/{word[3:]}") in board.location_index:
        return coast
    return board.names.get(word, word) if "/" in word else _WORDS.get(word, word)


def read_order(text: str, board: Board) -> Reading | None:
    """Read a text; None if it is not exactly one order."""
    if len(text) > LONGEST_ORDER:
        return None
    words = tokens_of(text, board)
    marks = [at for at, word in enumerate(words) if at and word in _STRENGTH]
    for end in [len(words), *reversed(marks)]:
        reading = _read([word for word in words[:end] if word != END], board)
        if reading is not None:
            return reading if end == len(words) or _is_remark(words[end], words[end + 1 :], board) else None
    return None


def is_unit(text: str, board: Board) -> bool:
    """Whether a text is just a unit or a place."""
    rest = tokens_of(text, board) if len(text) <= LONGEST_ORDER else []
    return bool(_take_unit(rest, board)[1]) and not rest


def _is_remark(mark: str, words: list[str], board: Board) -> bool:
    """Whether the words after an order are only a remark: without a place, an order or a condition."""
    said = [word for word in words if word not in _STRENGTH]
    if not said:
        return mark == END
    is_place = said[0] in board.location_index or (mark == "-" and said[1:] == [] and len(said[0]) <= 3)
    if is_place or said[0] in _NO_REMARK:
        return False
    return all(_read(part.split(), board) is None for part in " ".join(words).split(END))


def _read(words: Sequence[str], board: Board) -> Reading | None:
    """Read the words; None if they are not an order."""
    rest = ["-" if word == LONG_DASH else word for word in words]
    if rest in (["WAIVE"], ["WAIVE", "B"], ["B", "WAIVE"]):
        return Reading("WAIVE")
    if "GIVE" in rest:
        return _read_gift(rest, board)
    _order_first(rest)
    unit, place = _take_unit(rest, board)
    if not place or not rest:
        return None
    if rest[0] == "-" and len(rest) > 1 and rest[1] in _COMMANDS and rest[1] != "-":
        del rest[0]  # "A PAR - HOLD"
    command = rest[0]
    if command in ("H", "D", "B") and (len(rest) == 1 or (command == "H" and rest[1:] == [place])):
        return Reading(command, unit, place)
    if command == "B" and not unit and len(rest) == 2 and rest[1] in ("A", "F"):
        return Reading("B", rest[1], place)  # "Paris builds an army"
    if command in ("S", "C"):
        return _read_help(command, unit, place, rest[1:], board)
    if command in ("-", "R", "VIA"):
        return _read_way(command, unit, place, rest[command != "VIA" :], board)
    return _read_way("-", unit, place, rest, board)


def _read_gift(words: list[str], board: Board) -> Reading | None:
    """ "GIVE FRANCE", with any filler words."""
    powers = [word for word in words if word in board.power_index]
    known = all(word in _GIFT_WORDS or word in board.power_index for word in words)
    return Reading("GIVE", place=powers[0]) if len(powers) == 1 and known else None


def _order_first(rest: list[str]) -> None:
    """Move a command that precedes its unit to after the unit."""
    if len(rest) < 2 or rest[0] not in _LEADING:
        return
    command = rest.pop(0)
    at = 2 if rest[0] in ("A", "F") else 1
    if command in ("H", "B", "D"):
        rest.append(command)
    elif rest[at : at + 1] == ["-"] and command == "R":
        rest[at] = "R"


def _take_unit(rest: list[str], board: Board) -> tuple[str, str]:
    """Pop the leading unit off the words: its type and place, each "" if missing."""
    unit = rest.pop(0) if rest and rest[0] in ("A", "F") else ""
    place = rest.pop(0) if rest and rest[0] in board.location_index else ""
    return unit, place


def _read_way(command: str, unit: str, place: str, rest: list[str], board: Board) -> Reading | None:
    """Read what follows "A LON -" or "A LON R"."""
    via = "LAND" if rest[-1:] == ["LAND"] else "VIA" if "VIA" in rest or rest[-1:] == ["C"] else ""
    rest = rest[:-1] if via == "LAND" else rest
    at = rest.index("VIA") if "VIA" in rest else len(rest)
    stops, seas = _places(rest[:at], board), _places(rest[at + 1 :], board)
    if not stops:  # "A LON VIA NTH - BEL"
        stops, seas = seas, []
    if not stops or seas is None or (command == "R" and (len(stops) > 1 or via == "VIA")):
        return None
    seas = [*stops[:-1], *seas]
    if any(board.kind.get(sea) not in ("sea", "port") for sea in seas) or (via == "LAND" and (seas or at < len(rest))):
        return None
    return Reading("R" if command == "R" else "-", unit, place, dest=stops[-1], via="VIA" if seas else via)


def _places(words: list[str], board: Board) -> list[str] | None:
    """The places among the words; None if any other word is not a filler."""
    places = [word for word in words if word not in ("-", "C", "F")]
    return places if all(place in board.location_index for place in places) else None


def _read_help(command: str, unit: str, place: str, rest: list[str], board: Board) -> Reading | None:
    """Read what follows "F ENG S" or "F ENG C"."""
    words = [word for word in rest if word not in ("VIA", "C") and (command == "C" or word != "LAND")]
    is_hold = False
    while words[:1] in (["-"], ["H"]):  # "supports the move of A PAR to BUR", "support hold to A PAR"
        is_hold |= words.pop(0) == "H"
    other, other_place = _take_unit(words, board)
    if not other_place or (command == "C" and (other == "F" or is_hold)):
        return None
    if words in ([], ["H"], ["-", "H"]) and command == "S":
        return Reading("S", unit, place, other, other_place, is_loose=not (other or words or is_hold))
    stops = _places(words, board)
    if not stops or is_hold or any(board.kind.get(sea) not in ("sea", "port") for sea in stops[:-1]):
        return None
    return Reading("S-" if command == "S" else "C", unit, place, other, other_place, stops[-1])


def read_checked(text: object, board: Board) -> Reading:
    """Read an order, and check that its units and places exist on the board.

    Raises:
        OrderSyntaxError: not a string, not an order, an unknown place or power, a unit in a place where its type
            cannot stand, or an ambiguous support.
    """
    if not isinstance(text, str):
        raise OrderSyntaxError(f"order {quoted(text)}: give a string such as 'A PAR - BUR'")
    if len(text) > LONGEST_ORDER:
        raise OrderSyntaxError(f"order {text[:40]!r}... has {len(text)} characters: the longest has {LONGEST_ORDER}")
    reading = read_order(text, board)
    if reading is None:
        raise OrderSyntaxError(f"order {text!r} {_why_not(text, board)}")
    for unit, place in ((reading.unit, reading.place), (reading.other, reading.other_place)):
        here = [piece for piece in board.pieces if piece[2:5] == place[:3]]
        if unit and all(piece[0] != unit for piece in here):
            what = f"{'an army' if unit == 'A' else 'a fleet'} cannot stand in {place} (possible: {', '.join(here)})"
            raise OrderSyntaxError(f"order {text!r}: {what} on map {board.name!r}")
    if reading.is_loose:
        raise OrderSyntaxError(
            f"order {text!r}: name the unit that is supported, and where it moves, as in 'A PAR S A MAR - BUR'"
        )
    return reading


def _why_not(text: str, board: Board) -> str:
    """Why a text is not an order."""
    words = [word for word in tokens_of(text, board) if word != END]
    spelt = {*_WORDS.values(), *_STRENGTH, "VIA", "GIVE"}
    stand_ins = {board.locations[0]: "province", board.powers[0]: "power"}
    for at, word in enumerate(words):
        if word in spelt or word in board.location_index or word in board.power_index:
            continue
        for stand_in, what in stand_ins.items():
            if _read([*words[:at], stand_in, *words[at + 1 :]], board) is not None:
                known = f"; powers: {', '.join(board.powers)}" if what == "power" else f" on map {board.name!r}"
                hint = namesakes(word, board) or did_you_mean(word, board.names)
                return f"is not understood: there is no {what} {word!r}{known}{hint}"
    return f"is not understood. {FORMS}"


def namesakes(text: str, board: Board) -> str:
    """A note on words of a text that begin the names of several provinces ("LIV": Liverpool, Livonia); or ""."""
    notes = ""
    for word in dict.fromkeys([*_names(board)[0].findall(_plain(text)), text]):
        fitting = [f"{place} ({name})" for place, name in board.long_names.items() if name.upper().startswith(word)]
        notes += f"; {word!r} may be {' or '.join(fitting)}" if len(fitting) > 1 else ""
    return notes
