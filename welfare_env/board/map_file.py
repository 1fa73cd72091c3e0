"""Reading `.map` files: the `diplomacy` package parses and checks them, and its tables are turned into a board's.

The package trusts its files: it includes any file that one names, and reads a place of four letters as a coast of
another place. So includes are replaced first, by installed maps only, and places are checked.
"""

from __future__ import annotations

import functools
import hashlib
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from welfare_env.board.board import Board
from welfare_env.board.convoys import convoy_routes
from welfare_env.board.maps import check_unchanged, is_known, map_text
from welfare_env.board.order_text import COAST_NAME
from welfare_env.board.toy_boards import is_toy
from welfare_env.errors import MapFormatError

SEQUENCE = ["NEWYEAR", "SPRING MOVEMENT", "SPRING RETREATS", "FALL MOVEMENT", "FALL RETREATS", "WINTER ADJUSTMENTS"]
RESERVED_NAMES = {"GLOBAL", "MEDIATOR"}  # recipients of messages
KINDS = {"LAND": "land", "COAST": "coast", "WATER": "sea", "PORT": "port"}
FAR = 99999  # distance if no home can be reached
MOST_FAULTS = 20  # faults listed in an error
PLACE = re.compile(r"-?[A-Za-z][A-Za-z0-9]{2}(/[NSEWnsew][Cc])?")
FAULTS = (AssertionError, AttributeError, IndexError, KeyError, TypeError, ValueError)  # of lines that do not fit


def read_map(name: str, text: str) -> dict[str, Any]:
    """The values of the fields of a map's `Board`.

    Raises:
        MapFormatError: the text has faults, or uses something that the engines do not support.
    """
    try:
        return _fields(name, _read_source(name, text), text)
    except FAULTS as error:
        if isinstance(error, MapFormatError):
            raise
        raise _map_error(name, [f"its lines are inconsistent ({type(error).__name__}: {error})"]) from error


def load_source(board: Board) -> Any:
    """The map object of the `diplomacy` package, used for adjacencies and convoy routes.

    Raises:
        UnknownMapError, MapFormatError: there is no such map any more, or it has changed.
    """
    check_unchanged(board.name, board.digest)
    return _read_source(board.name, map_text(board.name))


def expanded(name: str, text: str) -> str:
    """A map's text with its MAP and USE lines replaced by the installed maps that they include.

    Raises:
        MapFormatError: the text includes something that is not an installed map, or the same map twice.
    """
    return "\n".join(_lines(name, text, {name}))


def _lines(name: str, text: str, seen: set[str]) -> Iterator[str]:
    for number, line in enumerate(text.split("\n"), 1):
        words = line.split()
        if not words or words[0].upper() not in ("MAP", "USE", "USES"):
            yield line
            continue
        for included in (word.removesuffix(".map") for word in words[1:]):
            if included in seen or is_toy(included) or not is_known(included):
                why = "is included twice" if included in seen else "is not an installed map: only those can be included"
                raise _map_error(name, [f"line {number}: {included!r:.40} {why}"])
            seen.add(included)
            yield from _lines(included, map_text(included), seen)


def _misplaced(text: str) -> Iterator[str]:
    """The words that stand for places and cannot be any."""
    for number, line in enumerate(text.split("\n"), 1):
        words = line.split()
        if words and words[0] in (*KINDS, "SHUT", "AMEND"):
            for word in [*words[1:2], *words[3:]]:
                if not PLACE.fullmatch(word):
                    yield f"line {number}: {word!r:.40} is not a place: give three letters, with /NC for a coast"


@functools.lru_cache(maxsize=32)
def _read_source(name: str, text: str) -> Any:
    """The package's map object, with convoy routes from our own search."""
    whole = expanded(name, text)
    if faults := list(_misplaced(whole)):
        raise _map_error(name, faults)
    with tempfile.TemporaryDirectory() as folder:  # the package reads only files, and looks up known names elsewhere
        path = Path(folder, f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.map")
        path.write_text(whole, encoding="utf-8")
        source = import_package().Map(str(path), use_cache=False)
    if faults := [*(error.message.lower() for error in source.error), *_unsupported(source)]:
        raise _map_error(name, faults)
    locations = [location.upper() for location in source.locs]
    kind = {location: KINDS.get(source.area_type(location), "") for location in locations}
    near = {place: [other.upper() for other in source.abut_list(place, incl_no_coast=True)] for place in locations}
    source.convoy_paths = {length: [] for length in range(1, len(locations) + 1)}
    for start, fleets, reached in convoy_routes(kind, near):
        source.convoy_paths[len(fleets)].append((start, set(fleets), set(reached)))
    return source


def import_package() -> ModuleType:
    """The `diplomacy` package, imported without unpickling the convoy routes in the user's home.

    Normally it unpickles them on import. We compute convoy routes ourselves; for other users of its maps in this
    process it reads its files when it first needs routes.
    """
    if "diplomacy" not in sys.modules:
        name = "diplomacy.utils.convoy_paths"
        stand_in = ModuleType(name)
        vars(stand_in).update(
            get_convoy_paths_cache=dict, add_to_cache=lambda map_name: import_module(name).add_to_cache(map_name)
        )
        sys.modules[name] = stand_in
        try:
            import_module("diplomacy")
        finally:
            del sys.modules[name]
    return sys.modules["diplomacy"]


def _map_error(name: str, faults: list[str]) -> MapFormatError:
    listed = list(dict.fromkeys(faults))[:MOST_FAULTS]
    return MapFormatError(f"map {name!r} has faults:\n" + "\n".join(f"- {fault:.300}" for fault in listed))


def _unsupported(source: Any) -> Iterator[str]:
    """Features of a map that the package supports and we do not."""
    if source.seq != SEQUENCE:
        yield f"has the phases {source.seq}: only {SEQUENCE} are supported"
    if not re.fullmatch("SPRING [0-9]{1,4} MOVEMENT", source.phase):
        yield f"begins in {source.phase!r}: a game begins with SPRING <year> MOVEMENT"
    if reserved := sorted(RESERVED_NAMES & set(source.powers)):
        yield f"has powers named {reserved}: those are recipients of messages"
    if unknown := sorted(set(source.rules) - {"BUILD_ANY"}):
        yield f"asks for the rules {unknown}: only BUILD_ANY is supported"
    kinds: dict[str, str] = {}
    for place in source.locs:
        province, kind = place.upper()[:3], source.area_type(place)
        if kinds.setdefault(province, kind) != kind:
            yield f"{province} is {kinds[province]} and {kind}: a province has one kind"
        if place not in source.loc_abut and kind in KINDS:
            yield f"{place} borders nothing: give its neighbors, as in LAND PAR ABUTS BUR GAS"
    for center in source.scs:
        if kinds.get(center) not in KINDS:
            yield f"the center {center} is not a province that can be entered"


def _fields(name: str, source: Any, text: str) -> dict[str, Any]:
    kind = _province_kinds(source)
    provinces, powers, centers = list(kind), list(source.powers), list(source.scs)
    locations = sorted({location.upper() for location in source.locs if location.upper()[:3] in kind})
    pieces = [f"{unit} {location}" for unit in "AF" for location in locations]
    pieces = [piece for piece in pieces if source.is_valid_unit(piece)]
    homes = {power: source.homes.get(power, ()) for power in powers}
    center_province = np.array([provinces.index(center) for center in centers], np.int16)
    province_center = np.full(len(provinces), -1, np.int16)
    province_center[center_province] = np.arange(len(centers))
    owner_of_home = {home: index for index, power in enumerate(powers) for home in homes[power]}
    victory = source.victory[0] if source.victory else len(centers) // 2 + 1
    return {
        "name": name,
        "digest": "" if is_known(name) else hashlib.sha256(text.encode()).hexdigest(),
        "powers": powers,
        "provinces": provinces,
        "locations": locations,
        "pieces": pieces,
        "centers": centers,
        "kind": kind,
        "homes": homes,
        "start_units": {power: source.units.get(power, ()) for power in powers},
        "start_centers": {power: source.centers.get(power, ()) for power in powers},
        "moves": _reach(source, locations, pieces, "-"),
        "supports": _reach(source, locations, pieces, "S"),
        "convoys": [row for length in sorted(source.convoy_paths) for row in source.convoy_paths[length]],
        "long_names": _long_names(source, kind),
        "names": _names(source, expanded(name, text), locations),
        "build_anywhere": "BUILD_ANY" in source.rules,
        "first_year": int(source.phase.split()[1]),
        "victory": int(victory),
        "piece_type": np.array([piece[0] == "F" for piece in pieces], np.int8),
        "piece_province": np.array([provinces.index(piece[2:5]) for piece in pieces], np.int16),
        "piece_location": np.array([locations.index(piece[2:]) for piece in pieces], np.int16),
        "location_province": np.array([provinces.index(location[:3]) for location in locations], np.int16),
        "center_province": center_province,
        "province_center": province_center,
        "home_power": np.array([owner_of_home.get(center, -1) for center in centers], np.int8),
        "home_distance": _home_distance(source, pieces, homes),
    }


def _province_kinds(source: Any) -> dict[str, str]:
    """Kind of every passable province, sorted by name."""
    types = {location.upper()[:3]: source.area_type(location) for location in source.locs}
    return {province: KINDS[types[province]] for province in sorted(types) if types[province] in KINDS}


def _reach(source: Any, locations: list[str], pieces: list[str], order: str) -> dict[str, list[str]]:
    """Locations that each piece can move to ("-") or lend support into ("S")."""
    found = {}
    for piece in pieces:
        near = sorted(set(source.dest_with_coasts[piece[2:]]).intersection(locations))
        found[piece] = [place for place in near if source.abuts(piece[0], piece[2:], order, place)]
    return found


def _home_distance(source: Any, pieces: list[str], homes: dict[str, list[str]]) -> np.ndarray:
    """Steps from each piece to the nearest home, as the package counts them: int32 [powers, pieces].

    Armies may also cross seas (DATC 4.D.8, choice d); fleets use fleet moves.
    """
    distance = np.full((len(homes), len(pieces)), FAR, np.int32)
    for column, piece in enumerate(pieces):
        for location, steps in _steps_from(source, piece).items():
            for row, owned in enumerate(homes.values()):
                if location[:3] in owned:
                    distance[row, column] = min(distance[row, column], steps)
    return distance


def _steps_from(source: Any, piece: str) -> dict[str, int]:
    steps, edge = {piece[2:]: 0}, [piece[2:]]
    for here in edge:
        for place in source.abut_list(here, incl_no_coast=True):
            there = place.upper()
            if there not in steps and (piece[0] == "A" or source.abuts("F", here, "-", there)):
                steps[there] = steps[here] + 1
                edge.append(there)
    return steps


def _long_names(source: Any, kind: dict[str, str]) -> dict[str, str]:
    names = {short.upper(): long for long, short in reversed(list(source.loc_name.items()))}
    return {province: names.get(province, province).title() for province in kind}


def _names(source: Any, text: str, locations: list[str]) -> dict[str, str]:
    """See `Board.names`."""
    people = {
        word.upper().replace("+", " "): power for power, word in source.own_word.items() if power in source.powers
    }
    return people | _place_names(text, locations)


def _place_names(text: str, locations: Iterable[str]) -> dict[str, str]:
    """Name or alias in a map file -> location."""
    known, names = set(locations), dict[str, str]()
    for line in text.upper().splitlines():
        name, is_name, codes = line.partition("=")
        if is_name and not line.lstrip().startswith("#") and codes.split():
            code, *aliases = codes.split()
            for alias in (name, *(other.replace("+", " ") for other in aliases if not other.endswith("?"))):
                plain = _plain_name(alias)
                names.setdefault(plain, code)
                if " " in (short := plain.removesuffix(" SEA").removesuffix(" OCEAN")):
                    names.setdefault(short, code)  # the North Atlantic
    return {name: code for name, code in names.items() if name and code in known and name not in known}


def _plain_name(text: str) -> str:
    """A name in upper case with single spaces, its coast as "/NC"."""
    plain = COAST_NAME.sub(r"/\1C", text)
    plain = re.sub(r"[^\w/]+", " ", re.sub(r"\(([NSEW]C)\)", r"/\1", plain))
    return " ".join(plain.replace(" /", "/").split())
