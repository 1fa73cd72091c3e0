"""Coordinates of a board's drawing: areas, labels, units, centers. Plain values; only paths are in SVG syntax.

Lengths are in the units of the drawing's view box, y pointing down.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

Point = tuple[float, float]

KINDS = {"land": "land", "coast": "coast", "port": "coast", "sea": "water"}
UNIT = 36.0  # width and height of the box around a unit
DISLODGED = 0.8  # size of a dislodged unit relative to other units


@dataclass(frozen=True)
class DrawnProvince:
    """One province on a drawing.

    Attributes:
        name, long_name: "PAR", "Paris".
        kind: "land", "coast" or "water".
        area: SVG path data of its area.
        strait: SVG path data of water that belongs to it, drawn in the color of water; "" for most.
        text: text of its label.
        label: center of the label's baseline.
        label_size: font size of the label.
        unit: center of a unit's box.
        dislodged: center of the box of a dislodged unit that has not retreated yet.
        center: center of its supply center mark, if it has one.
        coasts: location -> center of the box of a fleet at this coast ("STP/NC"), for provinces with named coasts.
        middle: center of its disc, in graph drawings.
    """

    name: str
    long_name: str
    kind: str
    area: str
    strait: str
    text: str
    label: Point
    label_size: float
    unit: Point
    dislodged: Point
    center: Point | None
    coasts: Mapping[str, Point]
    middle: Point | None = None


@dataclass(frozen=True)
class Edge:
    """A line between two provinces, in graph drawings.

    Attributes:
        a, b: the provinces.
        start, end: end points of the line.
        kind: "land" if armies can pass, "water" if only fleets can.
    """

    a: str
    b: str
    start: Point
    end: Point
    kind: str


@dataclass(frozen=True)
class Drawing:
    """The drawing of a board.

    Attributes:
        name: the board's name.
        width, height: size of the view box, whose corner is (0, 0).
        provinces: name -> province, sorted by name.
        edges: lines between provinces; only in graph drawings.
        impassable: SVG path data of impassable land.
        shores: SVG path data of all land, roughly.
        land_borders, sea_borders: SVG path data of the borders between land provinces, and between water provinces.
        disc: radius of a province's disc in graph drawings, else 0.
    """

    name: str
    width: float
    height: float
    provinces: Mapping[str, DrawnProvince]
    edges: tuple[Edge, ...] = ()
    impassable: str = ""
    shores: str = ""
    land_borders: str = ""
    sea_borders: str = ""
    disc: float = 0

    def place(self, location: str) -> Point:
        """The center of the box of a unit at this location ("PAR", "STP/NC")."""
        province = self.provinces[location[:3]]
        return province.coasts.get(location, province.unit)

    @property
    def clear(self) -> float:
        """Distance from a unit, or from the center of a disc, at which order lines begin and end."""
        return 0.95 * self.disc or UNIT / 2 + 3

    def end(self, location: str, dislodged: bool = False) -> Point:
        """The end point of an order's line; in graph drawings the center of the disc, so that lines avoid labels."""
        province = self.provinces[location[:3]]
        if province.middle:
            return province.middle
        return province.dislodged if dislodged else self.place(location)
