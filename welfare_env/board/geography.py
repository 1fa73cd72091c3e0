"""The names and tables of a map file; a `Board` adds the orders.

A *province* is what a unit occupies ("STP"), a *location* also names the coast ("STP/SC"), a *piece* is a unit type at
a location where it may stand ("F STP/SC"). In the engines all three are indices into the tuples of `Geography`.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType

import numpy as np


@dataclass(frozen=True, eq=False)
class Geography:
    """Names and tables of one map.

    Attributes:
        name: the map's name or the path of its file.
        digest: SHA-256 of the map file's content; "" for maps given by name.
        powers: in the map's order; arrays use a power's index here.
        provinces: three-letter names without coasts, sorted.
        locations: provinces and coasts ("STP", "STP/NC", "STP/SC"), sorted.
        pieces: every (type, location) that can stand on the board, sorted ("A STP", "F STP/NC").
        centers: provinces that are supply centers, in the map's order.
        kind: province -> "land", "coast", "sea" or "port".
        homes: power -> its home centers.
        start_units, start_centers: power -> the opening position, in the map's order.
        moves: piece -> locations it can step to without a convoy, sorted.
        supports: piece -> locations it can lend support into, sorted.
        convoys: (province, fleet provinces, provinces reached) for every minimal set of seas that can carry an army,
            in the package's order, small sets first.
        long_names: province -> its full name.
        names: alternative names accepted in orders -> their meaning: locations by name and by the aliases of the map
            file ("GULF OF LYON", "GOL"), powers by adjective ("FRENCH"). Upper case, single spaces.
        build_anywhere: whether a power may build in every empty center it owns, not only in its home centers.
        first_year: the year of the first Spring.
        victory: number of centers that wins the standard game.
        piece_type: int8 [pieces], 0 army, 1 fleet.
        piece_province, piece_location: int16 [pieces], indices into `provinces` and `locations`.
        location_province: int16 [locations].
        center_province: int16 [centers].
        province_center: int16 [provinces], -1 where there is no center.
        home_power: int8 [centers], -1 for a center that is no power's home.
        home_distance: int32 [powers, pieces], steps to the nearest home; determines forced removals.
    """

    name: str
    digest: str
    powers: tuple[str, ...]
    provinces: tuple[str, ...]
    locations: tuple[str, ...]
    pieces: tuple[str, ...]
    centers: tuple[str, ...]
    kind: Mapping[str, str]
    homes: Mapping[str, tuple[str, ...]]
    start_units: Mapping[str, tuple[str, ...]]
    start_centers: Mapping[str, tuple[str, ...]]
    moves: Mapping[str, tuple[str, ...]]
    supports: Mapping[str, tuple[str, ...]]
    convoys: tuple[tuple[str, frozenset[str], frozenset[str]], ...]
    long_names: Mapping[str, str]
    names: Mapping[str, str]
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

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray):
                value.setflags(write=False)

    @functools.cached_property
    def piece_index(self) -> Mapping[str, int]:
        """Piece -> its index in `pieces`."""
        return MappingProxyType({piece: index for index, piece in enumerate(self.pieces)})

    @functools.cached_property
    def location_index(self) -> Mapping[str, int]:
        """Location -> its index in `locations`."""
        return MappingProxyType({location: index for index, location in enumerate(self.locations)})

    @functools.cached_property
    def province_index(self) -> Mapping[str, int]:
        """Province -> its index in `provinces`."""
        return MappingProxyType({province: index for index, province in enumerate(self.provinces)})

    @functools.cached_property
    def center_index(self) -> Mapping[str, int]:
        """Center -> its index in `centers`."""
        return MappingProxyType({center: index for index, center in enumerate(self.centers)})

    @functools.cached_property
    def power_index(self) -> Mapping[str, int]:
        """Power -> its index in `powers`."""
        return MappingProxyType({power: index for index, power in enumerate(self.powers)})
