"""The text of a `.map` file before the `diplomacy` package reads it: expands includes and reports malformed lines.

The package trusts its files: malformed lines raise Python's own errors, a place name of four letters is read as a coast
of another place, any file may be included, and a file that is too large takes hours. Here each line is compared with
the known forms, so that a fault is reported with its line number.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from welfare_env.errors import MapFormatError, did_you_mean

MOST_PLACES = 400  # the largest installed map has 298
MOST_WORDS = 200  # per line
MOST_DIGITS = 4  # of a year or a number of centers
PLACE = re.compile(r"[A-Za-z][A-Za-z0-9]{2}(/[NSEWnsew][Cc])?")
POWER = re.compile(r"[A-Z][A-Z0-9_'-]{0,39}")
PEOPLE = re.compile(r"\([A-Z0-9_+' -]{0,39}(:[A-Z]?)?\)")
INCLUDES = ("USE", "USES", "MAP")
TERRAIN = ("WATER", "LAND", "COAST", "PORT", "SHUT", "AMEND")
OF_POWERS = ("OWNS", "CENTERS", "INHABITS", "HOME", "HOMES", "DROP")  # followed by places
BY_NAME = ("UNITS", "DUMMY", "DUMMIES", "UNPLAYED", "RULE", "RULES")  # followed by words


def expanded(name: str, text: str, installed: Callable[[str], str | None]) -> str:
    """A map's text with its MAP and USE lines replaced by the installed maps that they include.

    Args:
        installed: name -> the text of the installed map, or None.

    Raises:
        MapFormatError: the text includes something that is not an installed map, or the same map twice.
    """
    return "\n".join(_lines(name, text, installed, {name}))


def _lines(name: str, text: str, installed: Callable[[str], str | None], seen: set[str]) -> Iterator[str]:
    for number, line in enumerate(text.split("\n"), 1):
        words = line.split()
        if not words or words[0].upper() not in INCLUDES:
            yield line
            continue
        for included in words[1:]:
            found = installed(included.removesuffix(".map"))
            if found is None or included in seen:
                why = "is included twice" if included in seen else "is not an installed map: only those can be included"
                raise MapFormatError(f"map {name!r} has faults:\n- line {number}: {included!r:.80} {why}")
            seen.add(included)
            yield from _lines(included, found, installed, seen)


def line_faults(text: str) -> list[str]:
    """The faults in the lines of a map, each with its line number."""
    faults: list[str] = []
    places = 0
    for number, line in enumerate(text.split("\n"), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        places += words[0].upper() in TERRAIN
        if places > MOST_PLACES:
            return [f"line {number}: more than {MOST_PLACES} places"]
        if fault := _fault(line, words):
            faults.append(f"line {number}: {fault}")
    return faults


def _fault(line: str, words: list[str]) -> str:
    """The fault in a line; "" if there is none."""
    first, rest = words[0].upper(), words[1:]
    if len(words) > MOST_WORDS:
        return f"has more than {MOST_WORDS} words"
    if first == "VICTORY":
        return "" if rest and all(map(_is_number, rest)) else "VICTORY takes a number of centers"
    if first == "BEGIN":
        is_phase = len(rest) == 3 and _is_number(rest[1])
        return "" if is_phase else "BEGIN takes a season, a year and a type of phase, as in BEGIN SPRING 1901 MOVEMENT"
    if first in BY_NAME:
        return "" if all(POWER.fullmatch(word.upper().rstrip(",")) for word in rest) else f"{first} takes names"
    if "=" in line:
        return _name_fault(line)
    if first in OF_POWERS:
        return _place_fault([word.lstrip("-") for word in rest])
    if first in ("A", "F"):
        return _place_fault(rest) if len(rest) == 1 else f"a unit has one place, as in {first} PAR"
    return _terrain_fault(first, words) if first in TERRAIN else _power_fault(words)


def _is_number(word: str) -> bool:
    return word.isascii() and word.isdecimal() and len(word) <= MOST_DIGITS


def _name_fault(line: str) -> str:
    name, _, codes = line.partition("=")
    if not name.strip() or not codes.split() or "=" in codes or "->" in name:
        return "give a name as in Paris = par"
    return _place_fault(codes.split()[:1])


def _place_fault(places: list[str]) -> str:
    wrong = [place for place in places if not PLACE.fullmatch(place)]
    form = "three letters or digits, with /NC and the like for a coast"
    return f"{wrong[0]!r:.40} is not a place: give {form}" if wrong else ""


def _terrain_fault(first: str, words: list[str]) -> str:
    if words[0] != first:
        return f"write {first} in capitals"
    if len(words) < 2 or (len(words) > 2 and words[2].upper() != "ABUTS"):
        return f"{first} takes a place and its neighbors, as in LAND PAR ABUTS BUR GAS"
    if first == "AMEND" and len(words) == 2:
        return "AMEND takes neighbors to add or, with a minus, to remove"
    return _place_fault([words[1], *(word.removeprefix("-") for word in words[3:])])


def _power_fault(words: list[str]) -> str:
    """A power and its homes: AUSTRIA (AUSTRIAN) BUD TRI VIE."""
    power, rest = words[0].upper(), words[1:]
    if "ABUTS" in map(str.upper, rest):
        return f"unknown keyword {words[0]!r:.40}{did_you_mean(power, TERRAIN)}: before ABUTS give {', '.join(TERRAIN)}"
    if not POWER.fullmatch(power):
        return f"{words[0]!r:.40} is not a valid name for a power: letters, digits, - and _"
    if rest and rest[0].startswith("("):
        if not PEOPLE.fullmatch(rest[0].upper()):
            return f"{rest[0]!r:.40} is not a valid name for the people of {power}"
        del rest[0]
    return _place_fault([place.lstrip("-") for place in rest])


# The package's errors about a map as a whole: error number -> our wording, with {} in place of the package's names.
WHOLE_FAULTS = {
    0: "has fewer than two powers",
    1: "{} has a name, but no line with its kind: LAND, COAST, WATER, PORT or SHUT",
    2: "the places {} are neighbors twice",
    3: "{} has no name: give one, as in Paris = par",
    4: "{} borders {}, but not the other way round",
    5: "{} has the home {}, which is not a place",
    6: "{} owns {}, which is not a place",
    7: "{} begins with the unit {}, which cannot stand there",
    8: "{} has more than one owner, or is listed twice",
    9: "begins in {!r}: a game begins with SPRING <year> MOVEMENT",
    17: "{} has more than one arrow",
    18: "{} is not a valid code for a place: it is a keyword of orders",
    19: "{} is not a valid name for a place: it is a keyword of orders",
    20: "the name {} has two meanings",
    21: "the alias {} has two meanings",
    22: "{} comes before any power: {}",
    23: "INHABITS comes before any power: {}",
    24: "{} comes before any power: {}",
    25: "UNITS comes before any power",
    26: "a unit comes before any power",
    28: "DUMMIES takes a list of powers",
    29: "DUMMY comes before any power",
    32: "AMEND changes {}, which is not a place yet",
    34: "UNPLAYED comes before any power",
    37: "{} is not a power, so it cannot be removed",
    41: "{} is not a valid name for a power: it is a keyword of orders",
    42: "{} is not a valid name for a power: one or three letters are read as an order or a place",
    44: "{} has coasts that border {}, so it has to border it, too",
}


def plain_fault(number: int, template: str, message: str) -> str:
    """A fault found by the package, in our wording.

    Args:
        number, template: of the package's error; the template has "%s" in place of names.
        message: the template with the names filled in.
    """
    match = re.fullmatch(re.escape(template).replace("%s", "(.*)"), message, re.DOTALL)
    if number not in WHOLE_FAULTS or match is None:
        return message.lower()
    return WHOLE_FAULTS[number].format(*(match.groups() or ("",)))
