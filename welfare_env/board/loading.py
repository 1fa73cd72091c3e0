"""Reading maps: the `diplomacy` package reads and checks the file, and its tables are turned into a `Board`.

Only this file and `welfare_env.engine.reference` need the package, which is under the AGPL-3.0.
"""

from __future__ import annotations

import copyreg
import functools
import hashlib
import importlib.util
import os
import sys
import tempfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any

import numpy as np

from welfare_env import checks
from welfare_env.board import cache as boardcache
from welfare_env.board.board import Board
from welfare_env.board.convoys import convoy_routes
from welfare_env.board.map_text import expanded, line_faults, plain_fault
from welfare_env.board.order_text import place_names
from welfare_env.board.toy_boards import SHAPES, is_toy, toy_map
from welfare_env.checks import quoted
from welfare_env.errors import MapFormatError, UnknownMapError, did_you_mean

SEQUENCE = ["NEWYEAR", "SPRING MOVEMENT", "SPRING RETREATS", "FALL MOVEMENT", "FALL RETREATS", "WINTER ADJUSTMENTS"]
SUPPORTED_RULES = {"BUILD_ANY"}
RESERVED_NAMES = {"GLOBAL", "MEDIATOR"}  # recipients of messages
KINDS = {"LAND": "land", "COAST": "coast", "WATER": "sea", "PORT": "port"}
FAR = 99999  # distance if no home can be reached
LARGEST_FILE = 2**18  # bytes of a .map file; the largest installed one has a tenth of this
MOST_FAULTS = 20  # faults listed in an error


def load_board(name: str | Board = "standard") -> Board:
    """The board of a map: the name of a map of the `diplomacy` package, a toy board, or the path of a `.map` file.

    A `Board` is returned unchanged. The same content gives the same object. Boards are cached in the user's cache
    folder (`welfare_env.board.cache`); loading a large map for the first time takes up to a minute.

    Raises:
        UnknownMapError: neither a known name nor a file.
        MapFormatError: the file has faults, or its phases are not Spring, Fall, Winter.
    """
    return name if isinstance(name, Board) else _load_board(name, _map_text(name))


def reload_board(name: str, digest: str) -> Board:
    """The board of a map, checked to have this digest (`Board.digest`).

    Raises:
        UnknownMapError: neither a known name nor a file.
        MapFormatError: the file has changed since, or has faults.
    """
    board = load_board(name)
    if board.digest != digest:
        raise MapFormatError(f"map {name!r} has changed: its digest was {digest[:16]}..., now {board.digest[:16]}...")
    return board


def _as_reload(board: Board) -> tuple[Any, ...]:
    return reload_board, (board.name, board.digest)


copyreg.pickle(Board, _as_reload)  # boards are pickled by name, not by content


def map_digest(name: str) -> str:
    """SHA-256 of the map file at this path; "" for maps given by name.

    Raises:
        UnknownMapError: neither a known name nor a file.
    """
    return _digest(name, _map_text(name))


def map_names() -> tuple[str, ...]:
    """Names of all installed maps, without toy boards (see `welfare_env.board.toy_boards`)."""
    return tuple(_installed())


@functools.cache
def _installed() -> dict[str, Path]:
    """Name -> file of every installed map."""
    package = importlib.util.find_spec("diplomacy")  # only located: importing it is slow
    folders = package.submodule_search_locations if package else None
    if not folders:
        raise ModuleNotFoundError("the diplomacy package, which contains the maps, is not installed")
    return {path.stem: path for path in sorted(Path(folders[0], "maps").glob("*.map"))}


def is_known(name: str) -> bool:
    """Whether this is the name of an installed map or a toy board."""
    return is_toy(name) or name in _installed()


def load_source(board: Board) -> Any:
    """The map object of the `diplomacy` package, used for adjacencies and convoy routes.

    Raises:
        UnknownMapError, MapFormatError: as `reload_board` does.
    """
    reload_board(board.name, board.digest)
    return _load_source(board.name, _map_text(board.name))


def _map_text(name: str) -> str:
    """The text of a map.

    Raises:
        UnknownMapError: neither a known name nor a file.
        MapFormatError: the file is too large or is not text.
    """
    if not isinstance(name, str) or not name:
        given = checks.quoted(name)
        raise UnknownMapError(f"map name {given}: give a name such as 'standard', or the path of a .map file")
    if is_toy(name):
        return toy_map(name)
    if name in _installed():
        return _installed_text(name)
    path = Path(name)
    if path.suffix == ".map" and not os.path.exists(name):
        raise UnknownMapError(f"unknown map {quoted(name)}: no such file")
    if path.suffix != ".map" or "\0" in name or not _is_file(path):
        known = [*map_names(), *(f"{shape}:N" for shape in SHAPES)]
        given = f"{quoted(name)}{did_you_mean(name, known)}"
        raise UnknownMapError(f"unknown map {given}: give the path of a .map file or one of {', '.join(known)}")
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
        if len(content) > LARGEST_FILE:
            raise MapFormatError(f"map {name!r} has more than {LARGEST_FILE} bytes: no map is that large")
        return content.decode()
    except (OSError, UnicodeDecodeError) as error:
        raise MapFormatError(f"map {name!r} cannot be read: {error}") from error


def _is_file(path: Path) -> bool:
    """Whether the path is a regular file; False for impossible paths."""
    try:
        return path.is_file()
    except OSError:  # e.g. a name that is too long
        return False


@functools.cache
def _installed_text(name: str) -> str:
    """The text of an installed map; cached, as installed maps do not change."""
    return _installed()[name].read_text(encoding="utf-8")


def _digest(name: str, text: str) -> str:
    return "" if is_known(name) else hashlib.sha256(text.encode()).hexdigest()


@functools.lru_cache(maxsize=32)
def _load_source(name: str, text: str) -> Any:
    """The package's map object for a checked text, with convoy routes from our own search."""
    whole = expanded(name, text, lambda other: _installed_text(other) if other in _installed() else None)
    if faults := line_faults(whole):
        raise _map_error(name, faults)
    with tempfile.TemporaryDirectory() as folder:  # the package reads only files, and looks up known names elsewhere
        path = Path(folder, f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.map")
        path.write_text(whole, encoding="utf-8")
        source = _read_map(name, str(path))
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


def _read_map(name: str, path: str) -> Any:
    package = import_package()
    from diplomacy.utils import errors

    try:
        source = package.Map(path, use_cache=False)
    except (AssertionError, AttributeError, IndexError, KeyError, TypeError, UnicodeDecodeError, ValueError) as error:
        fault = f"its lines are inconsistent ({type(error).__name__}: {error})"
        raise _map_error(name, [fault]) from error
    templates = {found.code: found.message for found in vars(errors).values() if isinstance(found, errors.MapError)}
    found = [
        plain_fault(fault.code - errors.MAP_ERROR_OFFSET, templates[fault.code], fault.message)
        for fault in source.error
    ]
    if faults := [*found, *_unsupported(source)]:
        raise _map_error(name, list(dict.fromkeys(faults)))
    return source


def _map_error(name: str, faults: list[str]) -> MapFormatError:
    listed = faults[:MOST_FAULTS] + [f"and {len(faults) - MOST_FAULTS} more"] * (len(faults) > MOST_FAULTS)
    return MapFormatError(f"map {name!r} has faults:\n" + "\n".join(f"- {fault}" for fault in listed))


def _unsupported(source: Any) -> Iterator[str]:
    """Features of a map that the package supports and we do not."""
    if source.seq != SEQUENCE:
        yield f"has the phases {source.seq}: only {SEQUENCE} are supported"
    if not (source.phase.startswith("SPRING ") and source.phase.endswith(" MOVEMENT")):
        yield f"begins in {source.phase!r}: a game begins with SPRING <year> MOVEMENT"
    if reserved := sorted(RESERVED_NAMES & set(source.powers)):
        yield f"has powers named {reserved}: those are recipients of messages"
    yield from _unsupported_places(source)
    if unknown := sorted(set(source.rules) - SUPPORTED_RULES):
        yield f"asks for the rules {unknown}: only {sorted(SUPPORTED_RULES)} are supported"


def _unsupported_places(source: Any) -> Iterator[str]:
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


@functools.lru_cache(maxsize=32)
def _load_board(name: str, text: str) -> Board:
    board = boardcache.load(name, text)
    if board is None:
        board = _read_board(name, text)
        boardcache.keep(board, text)
    return board


def _read_board(name: str, text: str) -> Board:
    source = _load_source(name, text)
    whole = expanded(name, text, lambda other: _installed_text(other) if other in _installed() else None)
    return _build_board(name, _digest(name, text), source, whole)


def _build_board(name: str, digest: str, source: Any, text: str) -> Board:
    kind = _province_kinds(source)
    provinces = tuple(sorted(kind))
    locations = tuple(sorted({location.upper() for location in source.locs if location.upper()[:3] in kind}))
    pieces = tuple(
        f"{unit_type} {location}"
        for unit_type in "AF"
        for location in locations
        if source.is_valid_unit(f"{unit_type} {location}")
    )
    powers = tuple(source.powers)
    centers = tuple(source.scs)
    homes = {power: tuple(source.homes.get(power, ())) for power in powers}
    province_index = {province: index for index, province in enumerate(provinces)}
    location_index = {location: index for index, location in enumerate(locations)}
    center_province = np.array([province_index[center] for center in centers], np.int16)
    province_center = np.full(len(provinces), -1, np.int16)
    province_center[center_province] = np.arange(len(centers))
    owner_of_home = {home: index for index, power in enumerate(powers) for home in homes[power]}
    victory = source.victory[0] if source.victory else len(centers) // 2 + 1
    return Board(
        name=name,
        digest=digest,
        powers=powers,
        provinces=provinces,
        locations=locations,
        pieces=pieces,
        centers=centers,
        kind=MappingProxyType(kind),
        homes=MappingProxyType(homes),
        start_units=MappingProxyType({power: tuple(source.units.get(power, ())) for power in powers}),
        start_centers=MappingProxyType({power: tuple(source.centers.get(power, ())) for power in powers}),
        moves=MappingProxyType(_reach(source, locations, pieces, "-")),
        supports=MappingProxyType(_reach(source, locations, pieces, "S")),
        convoys=_convoys(source),
        long_names=MappingProxyType(_long_names(source, kind)),
        names=MappingProxyType(_names(source, text, locations)),
        build_anywhere="BUILD_ANY" in source.rules,
        first_year=int(source.phase.split()[1]),
        victory=int(victory),
        piece_type=np.array([piece[0] == "F" for piece in pieces], np.int8),
        piece_province=np.array([province_index[piece[2:5]] for piece in pieces], np.int16),
        piece_location=np.array([location_index[piece[2:]] for piece in pieces], np.int16),
        location_province=np.array([province_index[location[:3]] for location in locations], np.int16),
        center_province=center_province,
        province_center=province_center,
        home_power=np.array([owner_of_home.get(center, -1) for center in centers], np.int8),
        home_distance=_home_distance(source, pieces, homes),
    )


def _province_kinds(source: Any) -> dict[str, str]:
    """Kind of every passable province, sorted by name."""
    types = {location.upper()[:3]: source.area_type(location) for location in source.locs}
    return {province: KINDS[types[province]] for province in sorted(types) if types[province] in KINDS}


def _reach(source: Any, locations: tuple[str, ...], pieces: tuple[str, ...], order: str) -> dict[str, tuple[str, ...]]:
    """Locations that each piece can move to ("-") or lend support into ("S")."""
    known = set(locations)
    return {
        piece: tuple(
            destination
            for destination in sorted(set(source.dest_with_coasts[piece[2:]]) & known)
            if source.abuts(piece[0], piece[2:], order, destination)
        )
        for piece in pieces
    }


def _convoys(source: Any) -> tuple[tuple[str, frozenset[str], frozenset[str]], ...]:
    rows = [row for length in sorted(source.convoy_paths) for row in source.convoy_paths[length]]
    return tuple((start, frozenset(fleets), frozenset(reached)) for start, fleets, reached in rows)


def _home_distance(source: Any, pieces: tuple[str, ...], homes: dict[str, tuple[str, ...]]) -> np.ndarray:
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


def _names(source: Any, text: str, locations: tuple[str, ...]) -> dict[str, str]:
    """See `Board.names`."""
    people = {
        word.upper().replace("+", " "): power for power, word in source.own_word.items() if power in source.powers
    }
    return people | place_names(text, locations)
