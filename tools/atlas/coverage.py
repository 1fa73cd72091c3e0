"""Turns pieces into faces that fit exactly, without gaps, overlaps or slivers, and smooths their borders."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import shapely
from shapely import STRtree
from shapely.geometry import LineString, MultiLineString, Polygon
from shapely.geometry.base import BaseGeometry
from shapely.ops import linemerge, polygonize

from tools.atlas.partition import LAKE, OPEN_WATER, SMALLEST_ISLAND, STRAIT, Piece, outlines, polygons
from tools.atlas.projection import FRAME
from tools.atlas.sources import IMPASSABLE

GRID = 0.02  # points are snapped to this grid
SLIVER = 2.0  # faces up to this area go to any neighbor
STRAY = 25.0  # minimum area of a separate part of a strait or of impassable land
COAST_DETAIL, LAND_DETAIL, CURVE_DETAIL = 1.25, 2.2, 0.25  # tolerances of line simplification
SEA_DETAIL = (60.0, 40.0, 25.0, 15.0, 7.0)  # tolerances; the first that keeps the line at sea is used

Faces = dict[str, BaseGeometry]  # label -> its area


def is_land(label: str, seas: Sequence[str]) -> bool:
    return not label.endswith(STRAIT) and label not in seas


def exact_faces(pieces: Sequence[Piece]) -> list[Piece]:
    """The labeled faces into which the outlines of all pieces divide the frame."""
    lines = MultiLineString([line for piece in pieces for line in outlines(piece.area)] + [FRAME.exterior])
    net = shapely.union_all(shapely.set_precision(lines, GRID), grid_size=GRID)
    tree = STRtree([piece.area for piece in pieces])
    return [Piece(_label_at(face, pieces, tree), face) for face in polygonize(getattr(net, "geoms", [net]))]


def _label_at(face: Polygon, pieces: Sequence[Piece], tree: STRtree) -> str:
    point = face.representative_point()
    inside = [i for i in tree.query(point) if pieces[i].area.covers(point)]
    return pieces[inside[0] if inside else int(tree.nearest(point))].label


def merged(faces: Sequence[Piece]) -> Faces:
    parts = defaultdict(list)
    for face in faces:
        parts[face.label].append(face.area)
    return {label: shapely.union_all(areas) for label, areas in parts.items()}


def without_strays(faces: list[Piece], seas: Sequence[str]) -> list[Piece]:
    """Give slivers and stray parts of provinces to the neighbor with the longest common border."""
    for _ in range(6):
        areas = merged(faces)
        parts = [Piece(label, part) for label, area in areas.items() for part in polygons(area)]
        tree = STRtree([part.area for part in parts])
        new = {i: to for i in range(len(parts)) if (to := _taker(i, parts, tree, areas, seas))}
        if not new:
            break
        faces = [Piece(_moved(face, parts, tree, new), face.area) for face in faces]
    return faces


def _moved(face: Piece, parts: Sequence[Piece], tree: STRtree, new: Mapping[int, str]) -> str:
    point = face.area.representative_point()
    return next((new[i] for i in tree.query(point) if i in new and parts[i].area.covers(point)), face.label)


def _taker(number: int, parts: Sequence[Piece], tree: STRtree, areas: Faces, seas: Sequence[str]) -> str | None:
    """The label that takes over a part; None if it stays."""
    label, area = parts[number]
    nobodys = label in (IMPASSABLE, OPEN_WATER, LAKE)
    if not nobodys and area.area == max(part.area for part in polygons(areas[label])):
        return None
    if ((label != LAKE and nobodys) or label.endswith(STRAIT) or label + STRAIT in areas) and area.area > STRAY:
        return None
    common = {i: area.boundary.intersection(parts[i].area.boundary).length for i in tree.query(area) if i != number}
    land = is_land(label, seas)
    on_land = [length for i, length in common.items() if is_land(parts[i].label, seas) and length >= 0.5]
    if label != LAKE and land and not on_land and area.area >= 0.6 * SMALLEST_ISLAND:
        return None  # an island
    fitting = [i for i in common if is_land(parts[i].label, seas) == land or area.area < SLIVER]
    best = max(fitting, key=lambda i: common[i], default=None)
    return None if best is None or not common[best] else parts[best].label


def smoothed(faces: Faces, seas: Sequence[str]) -> Faces:
    """The faces with simpler coasts and rounded inner borders, all points rounded to 0.1."""
    simple = shapely.coverage_simplify(np.array(list(faces.values()), dtype=object), COAST_DETAIL)
    coarse: Faces = dict(zip(faces, simple, strict=True))
    rounded = [LineString(np.round(np.array(arc.coords), 1)) for arc in _arcs(coarse, seas)]
    net = shapely.union_all([arc for arc in rounded if arc.length > 0])
    return _labeled(polygonize(getattr(net, "geoms", [net])), coarse)


def _arcs(faces: Faces, seas: Sequence[str]) -> Iterator[LineString]:
    """Every line between two faces, each once."""
    net = linemerge(shapely.union_all([area.boundary for area in faces.values()]))
    parts = [Piece(label, part) for label, area in faces.items() for part in polygons(area)]
    tree = STRtree([part.area for part in parts])
    for arc in net.geoms:
        half = arc.interpolate(0.5, normalized=True)
        sides = {parts[i].label for i in tree.query(half.buffer(0.05)) if parts[i].area.distance(half) < 0.02}
        lands = {is_land(label, seas) for label in sides}
        if len(sides) != 2 or len(lands) != 1 or arc.is_ring:
            yield arc
        elif True in lands:
            yield _rounded(arc, LAND_DETAIL)
        else:
            yield _at_sea(arc, shapely.union_all([faces[label] for label in sides]).buffer(0.3))


def _at_sea(arc: LineString, water: BaseGeometry) -> LineString:
    """A smooth line that stays within the two seas."""
    lines = [_rounded(arc, detail) for detail in SEA_DETAIL]
    return next((line for line in lines if water.covers(line)), lines[-1])


def _rounded(arc: LineString, detail: float) -> LineString:
    return LineString(_corners_cut(np.array(arc.simplify(detail).coords))).simplify(CURVE_DETAIL)


def _corners_cut(points: np.ndarray, rounds: int = 3) -> np.ndarray:
    """Chaikin's algorithm: replace every corner by points at a quarter of its two sides; the ends stay."""
    for _ in range(rounds):
        if len(points) < 3:
            break
        near, far = points[:-1] * 0.75 + points[1:] * 0.25, points[:-1] * 0.25 + points[1:] * 0.75
        points = np.vstack([points[:1], np.stack([near, far], 1).reshape(-1, 2)[1:-1], points[-1:]])
    return points


def _labeled(faces: Iterator[Polygon], known: Faces) -> Faces:
    """Faces with the labels of the known faces with the largest overlap."""
    parts = [Piece(label, part) for label, area in known.items() for part in polygons(area)]
    tree = STRtree([part.area for part in parts])
    found = []
    for face in faces:
        overlaps = [(face.intersection(parts[i].area).area, parts[i].label) for i in tree.query(face)]
        found.append(Piece(max(overlaps)[1], face))
    return merged(found)
