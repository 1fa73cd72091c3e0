"""A board: the names and tables of a map, read once and shared by every game on it.

A *province* is what a unit occupies ("STP"), a *location* also tells the coast ("STP/SC"), a *piece* is a type of unit
at a location where it can stand ("F STP/SC"). Inside the engines all three are indices into the tuples kept here.
"""

from __future__ import annotations

import contextlib
import functools
import io
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from welfare_env.errors import MapFormatError, UnknownMapError, UnknownPowerError
from welfare_env.toy import SHAPES, is_toy, toy_map

if TYPE_CHECKING:
    from welfare_env.orders import OrderTable

SEQUENCE = ["NEWYEAR", "SPRING MOVEMENT", "SPRING RETREATS", "FALL MOVEMENT", "FALL RETREATS", "WINTER ADJUSTMENTS"]
SUPPORTED_RULES = {"BUILD_ANY"}
FAR = 99999  # steps to home where there is no way
KINDS = {"LAND": "land", "COAST": "coast", "WATER": "sea", "PORT": "port"}


@dataclass(frozen=True, eq=False)
class Board:
    """Names and tables of one map.

    Attributes:
        name: the map's name, or the path of its file.
        powers: in the map's order; a power's index is its number in every array.
        provinces: three-letter names without coasts, sorted.
        locations: provinces and coasts ("STP", "STP/NC", "STP/SC"), sorted.
        pieces: every (type, location) that can stand on the board, sorted ("A STP", "F STP/NC").
        centers: provinces that are supply centres, in the map's order.
        kind: province -> "land", "coast", "sea" or "port".
        homes: power -> its home centres.
        start_units, start_centers: power -> the opening position, in the map's order.
        moves: piece -> locations it can step to without a convoy, sorted.
        supports: piece -> locations it can lend support into, sorted.
        convoys: (province, fleet provinces, provinces reached) for every set of seas that carries an army, in the
            package's sequence, the smallest sets first.
        long_names: province -> its name in words.
        build_anywhere: whether units may be built in every empty centre of their power, not only in its homes.
        first_year: the year of the first Spring.
        victory: centres that win the standard game.
        piece_type: int8 [pieces], 0 army, 1 fleet.
        piece_province, piece_location: int16 [pieces], indices into `provinces` and `locations`.
        location_province: int16 [locations].
        center_province: int16 [centers].
        province_center: int16 [provinces], -1 where there is no centre.
        home_power: int8 [centers], -1 where a centre is nobody's home.
        home_distance: int32 [powers, pieces], steps to the nearest home; decides who is removed by force.
    """

    name: str
    powers: tuple[str, ...]
    provinces: tuple[str, ...]
    locations: tuple[str, ...]
    pieces: tuple[str, ...]
    centers: tuple[str, ...]
    kind: dict[str, str]
    homes: dict[str, tuple[str, ...]]
    start_units: dict[str, tuple[str, ...]]
    start_centers: dict[str, tuple[str, ...]]
    moves: dict[str, tuple[str, ...]]
    supports: dict[str, tuple[str, ...]]
    convoys: tuple[tuple[str, frozenset[str], frozenset[str]], ...]
    long_names: dict[str, str]
    build_anywhere: bool
    first_year: int
    victory: int
    piece_type: np.ndarray
    piece_province: np.ndarray
    piece_location: np.ndarray
    location_province: np.ndarray
    center_province: np.ndarray
    province_center: np.ndarray
    home_power: np.ndarray
    home_distance: np.ndarray

    @functools.cached_property
    def orders(self) -> OrderTable:
        """The board's order vocabulary: every order that can ever be legal on it."""
        from welfare_env.orders import build_orders

        return build_orders(self)

    @functools.cached_property
    def piece_index(self) -> dict[str, int]:
        return {piece: index for index, piece in enumerate(self.pieces)}

    @functools.cached_property
    def location_index(self) -> dict[str, int]:
        return {location: index for index, location in enumerate(self.locations)}

    @functools.cached_property
    def center_index(self) -> dict[str, int]:
        return {center: index for index, center in enumerate(self.centers)}

    @functools.cached_property
    def power_index(self) -> dict[str, int]:
        return {power: index for index, power in enumerate(self.powers)}

    def check_power(self, power: object) -> str:
        """The power's name.

        Raises:
            UnknownPowerError: the board has no such power.
        """
        if isinstance(power, str) and power in self.power_index:
            return power
        raise UnknownPowerError(f"unknown power {power!r} on map {self.name!r}: choose one of {', '.join(self.powers)}")

    def adjacent(self, province: str) -> tuple[str, ...]:
        """Provinces that an army or a fleet standing in `province` can step to."""
        return self._adjacent[province]

    @functools.cached_property
    def _adjacent(self) -> dict[str, tuple[str, ...]]:
        reached: dict[str, set[str]] = {province: set() for province in self.provinces}
        for piece, locations in self.moves.items():
            reached[piece[2:5]].update(location[:3] for location in locations)
        return {province: tuple(sorted(neighbours)) for province, neighbours in reached.items()}

    def __deepcopy__(self, memo: dict) -> Board:
        return self  # frozen: copies of a game share it

    def __reduce__(self) -> tuple:
        return load_board, (self.name,)

    def __repr__(self) -> str:
        return f"<Board {self.name}: {len(self.powers)} powers, {len(self.provinces)} provinces>"


def load_board(name: str = "standard") -> Board:
    """The board of a map: a map of the `diplomacy` package by name, a toy board, or the path of a `.map` file.

    Raises:
        UnknownMapError: neither a known name nor a file.
        MapFormatError: the file has faults, or a sequence of phases that is not Spring, Fall, Winter.
    """
    if not isinstance(name, str) or not name:
        raise UnknownMapError(f"map name {name!r}: give a name such as 'standard', or the path of a .map file")
    return _load_board(name)


@functools.lru_cache(maxsize=32)
def _load_board(name: str) -> Board:
    source = load_source(name)
    if source.seq != SEQUENCE:
        raise MapFormatError(f"map {name!r} plays {source.seq}: only {SEQUENCE} is supported")
    if not source.phase.startswith("SPRING "):
        raise MapFormatError(f"map {name!r} begins in {source.phase!r}: a game begins with SPRING <year> MOVEMENT")
    reserved = sorted({"GLOBAL", "MEDIATOR"} & set(source.powers))
    if reserved:
        raise MapFormatError(f"map {name!r} has powers named {reserved}: those are recipients of messages")
    unknown = sorted(set(source.rules) - SUPPORTED_RULES)
    if unknown:
        raise MapFormatError(f"map {name!r} asks for the rules {unknown}: only {sorted(SUPPORTED_RULES)} are supported")
    return _build_board(name, source)


def map_names() -> list[str]:
    """Names of all maps that are installed; toy boards come besides (see `welfare_env.toy`)."""
    import diplomacy

    return sorted(path.stem for path in (Path(diplomacy.__file__).parent / "maps").glob("*.map"))


@functools.lru_cache(maxsize=32)
def load_source(name: str) -> Any:
    """The `diplomacy` package's own reading of a map, which finds and checks adjacencies and convoy paths.

    Raises:
        UnknownMapError, MapFormatError: as `load_board` does.
    """
    if is_toy(name):
        return _read_toy(name)
    if name not in map_names() and not (name.endswith(".map") and os.path.isfile(name)):
        known = ", ".join([*map_names(), *(f"{shape}:N" for shape in SHAPES)])
        raise UnknownMapError(f"unknown map {name!r}: give the path of a .map file or one of {known}")
    return _read_map(name, name)


def _read_toy(name: str) -> Any:
    from diplomacy.engine.map import CONVOYS_PATH_CACHE

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"{name.replace(':', '-')}.map")
        path.write_text(toy_map(name), encoding="utf-8")
        CONVOYS_PATH_CACHE[
            str(path)
        ] = {}  # no seas: spares the package its search, and a cache file in the home folder
        return _read_map(name, str(path))


def _read_map(name: str, where: str) -> Any:
    from diplomacy import Map

    try:
        # The package prints a progress bar while it searches the convoy paths of a large map.
        with contextlib.redirect_stdout(io.StringIO()):
            source = Map(where)
    except (AssertionError, AttributeError, IndexError, KeyError, TypeError, UnicodeDecodeError, ValueError) as error:
        raise MapFormatError(f"map {name!r} cannot be read: {type(error).__name__}: {error}") from error
    if source.error:
        raise MapFormatError(f"map {name!r} has faults:\n" + "\n".join(f"- {fault}" for fault in source.error))
    return source


def _build_board(name: str, source: Any) -> Board:
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
        powers=powers,
        provinces=provinces,
        locations=locations,
        pieces=pieces,
        centers=centers,
        kind=kind,
        homes=homes,
        start_units={power: tuple(source.units.get(power, ())) for power in powers},
        start_centers={power: tuple(source.centers.get(power, ())) for power in powers},
        moves=_reach(source, locations, pieces, "-"),
        supports=_reach(source, locations, pieces, "S"),
        convoys=_convoys(source),
        long_names=_long_names(source, kind),
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
