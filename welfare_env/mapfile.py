"""Reading maps: the `diplomacy` package reads and checks the file, and its tables are turned into a `Board`.

Besides `welfare_env.reference` this is the only place that needs the package, which is under the AGPL-3.0.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.util
import io
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from welfare_env import boardcache
from welfare_env.board import Board
from welfare_env.errors import MapFormatError, UnknownMapError, did_you_mean
from welfare_env.toy import SHAPES, is_toy, toy_map

SEQUENCE = ["NEWYEAR", "SPRING MOVEMENT", "SPRING RETREATS", "FALL MOVEMENT", "FALL RETREATS", "WINTER ADJUSTMENTS"]
SUPPORTED_RULES = {"BUILD_ANY"}
RESERVED_NAMES = {"GLOBAL", "MEDIATOR"}  # recipients of messages
KINDS = {"LAND": "land", "COAST": "coast", "WATER": "sea", "PORT": "port"}
FAR = 99999  # steps to home where there is no way
LARGEST_FILE = 2**20  # bytes of a .map file


def load_board(name: str = "standard") -> Board:
    """The board of a map: a map of the `diplomacy` package by name, a toy board, or the path of a `.map` file.

    The same content gives the same object. The convoy routes of a large map are searched once, which can take minutes;
    the package shows a bar on stderr and keeps them in the user's cache folder.

    Raises:
        UnknownMapError: neither a known name nor a file.
        MapFormatError: the file has faults, or a sequence of phases that is not Spring, Fall, Winter.
    """
    return _load_board(name, _map_text(name))


def reload_board(name: str, digest: str) -> Board:
    """The board of a map whose file is known to have had this digest (`Board.digest`).

    Raises:
        UnknownMapError: neither a known name nor a file.
        MapFormatError: the file has changed since, or has faults.
    """
    board = load_board(name)
    if board.digest != digest:
        raise MapFormatError(f"map {name!r} has changed: its digest was {digest[:16]}..., now {board.digest[:16]}...")
    return board


def map_digest(name: str) -> str:
    """What is in the map file of this path, as SHA-256; "" for maps known by name.

    Raises:
        UnknownMapError: neither a known name nor a file.
    """
    return _digest(name, _map_text(name))


def map_names() -> tuple[str, ...]:
    """Names of all maps that are installed; toy boards come besides (see `welfare_env.toy`)."""
    return tuple(_installed())


@functools.cache
def _installed() -> dict[str, Path]:
    """Name -> file of every map that is installed."""
    package = importlib.util.find_spec("diplomacy")  # where it is; importing it takes a while
    folders = package.submodule_search_locations if package else None
    if not folders:
        raise ModuleNotFoundError("the diplomacy package, which brings the maps, is not installed")
    return {path.stem: path for path in sorted(Path(folders[0], "maps").glob("*.map"))}


def is_known(name: str) -> bool:
    """Whether a map is known by its name: installed, or a toy board."""
    return is_toy(name) or name in _installed()


def load_source(name: str) -> Any:
    """The `diplomacy` package's own reading of a map, which finds and checks adjacencies and convoy routes.

    Raises:
        UnknownMapError, MapFormatError: as `load_board` does.
    """
    return _load_source(name, _map_text(name))


def _map_text(name: str) -> str:
    """The text of a map.

    Raises:
        UnknownMapError: neither a known name nor a file.
        MapFormatError: too large, or no text.
    """
    if not isinstance(name, str) or not name:
        raise UnknownMapError(f"map name {name!r}: give a name such as 'standard', or the path of a .map file")
    if is_toy(name):
        return toy_map(name)
    if name in _installed():
        return _installed_text(name)
    path = Path(name)
    if path.suffix != ".map" or "\0" in name or not path.is_file():
        known = [*map_names(), *(f"{shape}:N" for shape in SHAPES)]
        hint = did_you_mean(name, known)
        raise UnknownMapError(f"unknown map {name!r}{hint}: give the path of a .map file or one of {', '.join(known)}")
    if path.stat().st_size > LARGEST_FILE:
        raise MapFormatError(f"map {name!r} has more than {LARGEST_FILE} bytes: no map is that large")
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise MapFormatError(f"map {name!r} cannot be read: {error}") from error


@functools.cache
def _installed_text(name: str) -> str:
    """The text of an installed map; boards are asked for again and again, and these do not change."""
    return _installed()[name].read_text(encoding="utf-8")


def _digest(name: str, text: str) -> str:
    return "" if is_known(name) else hashlib.sha256(text.encode()).hexdigest()


@functools.lru_cache(maxsize=32)
def _load_source(name: str, text: str) -> Any:
    if name in _installed():
        return _read_map(name, name)
    from diplomacy.engine.map import CONVOYS_PATH_CACHE

    # The package keeps maps by name, so a file gets a name of its own content.
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.map")
        path.write_text(text, encoding="utf-8")
        if is_toy(name):
            CONVOYS_PATH_CACHE[str(path)] = {}  # no seas: spares the package its search and a cache file
        return _read_map(name, str(path))


def _read_map(name: str, where: str) -> Any:
    from diplomacy import Map

    try:
        with contextlib.redirect_stdout(io.StringIO()):  # the package prints what it is about to do
            source = Map(where)
    except (AssertionError, AttributeError, IndexError, KeyError, TypeError, UnicodeDecodeError, ValueError) as error:
        raise MapFormatError(f"map {name!r} cannot be read: {type(error).__name__}: {error}") from error
    if faults := [*source.error, *_unsupported(source)]:
        raise MapFormatError(f"map {name!r} has faults:\n" + "\n".join(f"- {fault}" for fault in faults))
    return source


def _unsupported(source: Any) -> Iterator[str]:
    """What the package would play and we would not."""
    if source.seq != SEQUENCE:
        yield f"plays {source.seq}: only {SEQUENCE} is supported"
    if not (source.phase.startswith("SPRING ") and source.phase.endswith(" MOVEMENT")):
        yield f"begins in {source.phase!r}: a game begins with SPRING <year> MOVEMENT"
    if reserved := sorted(RESERVED_NAMES & set(source.powers)):
        yield f"has powers named {reserved}: those are recipients of messages"
    if unknown := sorted(set(source.rules) - SUPPORTED_RULES):
        yield f"asks for the rules {unknown}: only {sorted(SUPPORTED_RULES)} are supported"


@functools.lru_cache(maxsize=32)
def _load_board(name: str, text: str) -> Board:
    board = boardcache.load(name, text)
    if board is None:
        board = _read_board(name, text)
        boardcache.keep(board, text)
    return board


def _read_board(name: str, text: str) -> Board:
    return _build_board(name, _digest(name, text), _load_source(name, text))


def _build_board(name: str, digest: str, source: Any) -> Board:
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
    """Kind of every province that can be entered, sorted by name; impassable ones are left out."""
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

    Armies also walk over seas (DATC 4.D.8, choice d); fleets move as fleets do.
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
