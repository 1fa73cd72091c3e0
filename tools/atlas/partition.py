"""Divides land and water among the provinces, as pieces with a province's name or another label."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import shapely
from shapely import STRtree
from shapely.geometry import LineString, MultiPoint, Polygon, box
from shapely.geometry.base import BaseGeometry

from tools.atlas.projection import FRAME, HEIGHT, WIDTH, project, projected, spot
from tools.atlas.sources import IMPASSABLE, Ring, Sources

OPEN_WATER, LAKE = "~", "?"  # labels of water without province; lakes become part of the surrounding land
STRAIT = "~"  # suffix of a province's name: water that belongs to it
CLIP = box(-42, 16, 75, 83)  # degrees
SMALLEST_ISLAND = 220.0  # area on the drawing
SMALLEST_WATER = 150.0  # minimum area of inner water on the drawing
FJORD = 1.1  # inlets narrower than twice this are filled
LEFT_OUT = {"Greenland"}


class Piece(NamedTuple):
    label: str
    area: Polygon


def polygons(shape: BaseGeometry) -> list[Polygon]:
    return [part for part in getattr(shape, "geoms", [shape]) if part.geom_type == "Polygon" and part.area > 1e-9]


def partition(countries: Mapping[str, Sequence[Sequence[Ring]]], sources: Sources, seas: Sequence[str]) -> list[Piece]:
    """Disjoint pieces that fill the frame."""
    pieces = list(_land(countries, sources))
    pieces += _straits(sources, shapely.union_all([piece.area for piece in pieces]).buffer(0))
    water = FRAME.difference(shapely.union_all([piece.area for piece in pieces]))
    return pieces + list(_water(water, sources, seas))


def _land(countries: Mapping[str, Sequence[Sequence[Ring]]], sources: Sources) -> Iterator[Piece]:
    islands = [(spot(point), owner) for owner, points in sources.islands.items() for point in points]
    parts = [Piece(name, area) for name, shapes in countries.items() for area in _on_paper(shapes)]
    tree = STRtree([part.area for part in parts])
    cells = {name: _cells(sources, claims) for name, claims in sources.claims.items()}
    for part in parts:
        if part.label in LEFT_OUT:
            continue
        owner = next((owner for point, owner in islands if part.area.contains(point)), None)
        if owner is not None:
            yield Piece(IMPASSABLE if owner == "impassable" else owner, part.area)
        elif part.area.area >= SMALLEST_ISLAND or _joins_another(part, parts, tree):
            yield from _shared_out(_without_fjords(part, parts, tree), cells.get(part.label, {IMPASSABLE: FRAME}))


def _on_paper(shapes: Sequence[Sequence[Ring]]) -> Iterator[Polygon]:
    for rings in shapes:
        if len(rings[0]) < 4:
            continue
        for part in polygons(shapely.make_valid(Polygon(rings[0], rings[1:])).intersection(CLIP)):
            outline = projected([np.array(ring.coords) for ring in (part.exterior, *part.interiors)])
            yield from polygons(shapely.make_valid(outline).intersection(FRAME))


def _cells(sources: Sources, provinces: Sequence[str]) -> dict[str, BaseGeometry]:
    """Province -> the part of the drawing closest to its seeds (Voronoi cells)."""
    if len(provinces) == 1:
        return {provinces[0]: FRAME}
    owners = [name for name in provinces for _ in sources.seeds[name]]
    points = MultiPoint([xy for name in provinces for xy in project(sources.seeds[name])])
    reach = box(-WIDTH, -HEIGHT, 2 * WIDTH, 2 * HEIGHT)
    cells = shapely.voronoi_polygons(points, extend_to=reach, ordered=True)
    owned = defaultdict(list)
    for owner, cell in zip(owners, cells.geoms, strict=True):
        owned[owner].append(cell)
    return {owner: shapely.union_all(parts) for owner, parts in owned.items()}


def _shared_out(area: BaseGeometry, cells: Mapping[str, BaseGeometry]) -> Iterator[Piece]:
    for owner, cell in cells.items():
        yield from (Piece(owner, part) for part in polygons(area.intersection(cell)))


def _joins_another(part: Piece, parts: Sequence[Piece], tree: STRtree) -> bool:
    """Whether a part borders another country, so that it is not an island."""
    others = (parts[i] for i in tree.query(part.area))
    return any(o.label != part.label and o.area.intersection(part.area).length > 0 for o in others)


def _without_fjords(part: Piece, parts: Sequence[Piece], tree: STRtree) -> Polygon:
    """Fill narrow inlets, without covering other land, and drop lakes."""
    closed = part.area.buffer(FJORD).buffer(-FJORD)
    for i in tree.query(closed):
        if parts[i] is not part:
            closed = closed.difference(parts[i].area)
    return max(polygons(closed.union(part.area).buffer(0)), key=lambda area: area.area)


def _straits(sources: Sources, land: BaseGeometry) -> Iterator[Piece]:
    for owner, outline in sources.straits.items():
        water = Polygon(project(outline)).difference(land)
        yield from (Piece(owner + STRAIT, part) for part in polygons(water))


def _water(water: BaseGeometry, sources: Sources, seas: Sequence[str]) -> Iterator[Piece]:
    seeds = MultiPoint([xy for name in seas for xy in project(sources.seeds[name])])
    cells = _cells(sources, seas)
    for part in polygons(water):
        if part.intersects(seeds):
            yield from _shared_out(part, cells)
        else:  # the Caspian and the Red Sea, lakes
            yield Piece(OPEN_WATER if part.area > SMALLEST_WATER else LAKE, part)


def outlines(area: BaseGeometry) -> list[LineString]:
    edge = area.boundary
    return list(getattr(edge, "geoms", [edge]))
