"""The drawing as JSON: path data of areas and lines, and anchors, with a line for each province."""

from __future__ import annotations

import itertools
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import shapely
from shapely.geometry import LineString
from shapely.geometry.base import BaseGeometry
from shapely.ops import linemerge

from tools.atlas.coverage import Faces, is_land
from tools.atlas.partition import OPEN_WATER, STRAIT, outlines, polygons
from tools.atlas.projection import HEIGHT, WIDTH
from tools.atlas.sources import IMPASSABLE

Spot = tuple[float, float]
SHORE_DETAIL = 2.5  # tolerance of the shore's simplification
ABOUT = {
    "title": "The standard board of Diplomacy",
    "license": "CC0-1.0",
    "source": "Natural Earth 4.1 (public domain), by way of world-atlas 2.0.2; made by python -m tools.atlas",
}


def drawing_data(faces: Faces, anchors: Mapping[str, Mapping[str, Any]], coasts: Mapping[str, Spot]) -> dict[str, Any]:
    """The data for `welfare_env.render.drawing`."""
    seas = [name for name, anchor in anchors.items() if anchor["sea"]]
    provinces = {}
    for name, anchor in sorted(anchors.items()):
        strait = {"strait": area_path(faces[name + STRAIT])} if name + STRAIT in faces else {}
        places = {key: value for key, value in anchor.items() if key != "sea"}
        provinces[name] = {"area": area_path(faces[name]), **strait, **places}
    land, sea = border_lines(faces, seas)
    return {
        **ABOUT,
        "width": WIDTH,
        "height": HEIGHT,
        "provinces": provinces,
        "coasts": dict(sorted(coasts.items())),
        "impassable": area_path(faces[IMPASSABLE]),
        "open_water": area_path(faces[OPEN_WATER]),
        "shores": area_path(shores(faces, seas)),
        "land_borders": line_path(land),
        "sea_borders": line_path(sea),
    }


def as_json(data: Mapping[str, Any]) -> str:
    """JSON with a separate line for every top-level value and every province."""
    provinces = ",\n".join(f"  {json.dumps(name)}: {_short(value)}" for name, value in data["provinces"].items())
    lines = [
        f" {json.dumps(key)}: " + (f"{{\n{provinces}\n }}" if key == "provinces" else _short(value))
        for key, value in data.items()
    ]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _short(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def shores(faces: Faces, seas: Sequence[str]) -> BaseGeometry:
    """A rough outline of all land, for the light line along its coasts."""
    dry = [area for label, area in faces.items() if label != OPEN_WATER and label not in seas]
    rough = shapely.union_all(dry).simplify(SHORE_DETAIL)
    return shapely.set_precision(rough, 0.1)


def border_lines(faces: Faces, seas: Sequence[str]) -> tuple[list[LineString], list[LineString]]:
    """The borders between two land provinces (or a province and impassable land), and between two seas."""
    sides: dict[tuple[Spot, Spot], set[str]] = defaultdict(set)
    for label, area in faces.items():
        for ring in (line for part in polygons(area) for line in outlines(part)):
            points = [(x, y) for x, y in ring.coords]
            for a, b in itertools.pairwise(points):
                sides[min(a, b), max(a, b)].add(label)
    land, sea = [], []
    for segment, labels in sides.items():
        owners = {label.removesuffix(STRAIT) for label in labels} - {""}
        lands = {is_land(label, seas) or label.endswith(STRAIT) for label in labels}
        if len(owners) == 2 and lands == {True}:
            land.append(LineString(segment))
        elif len(owners) == 2 and lands == {False}:
            sea.append(LineString(segment))
    return _joined(land), _joined(sea)


def _joined(segments: Iterable[LineString]) -> list[LineString]:
    whole = linemerge(list(segments))
    return list(getattr(whole, "geoms", [whole]))


def area_path(area: BaseGeometry) -> str:
    """SVG path data of an area's outlines, with relative coordinates."""
    rings = [ring for part in polygons(shapely.normalize(area)) for ring in (part.exterior, *part.interiors)]
    return "".join(_steps(list(ring.coords)[:-1]) + "z" for ring in rings)


def line_path(lines: Iterable[LineString]) -> str:
    return "".join(_steps(list(line.coords)) for line in lines)


def _steps(points: Sequence[Sequence[float]]) -> str:
    """Compact relative path data such as "M10 20l1.5-2 .3 4", rounded to tenths."""
    tenths = [(round(10 * x), round(10 * y)) for x, y in points]
    text = f"M{tenths[0][0] / 10:g} {tenths[0][1] / 10:g}l"
    for (x, y), (u, v) in itertools.pairwise(tenths):
        for step in (u - x, v - y):
            number = _short_number(step)
            text += number if text[-1] == "l" or number[0] == "-" else " " + number
    return text


def _short_number(tenths: int) -> str:
    return f"{tenths / 10:g}".replace("0.", ".") if 0 < abs(tenths) < 10 else f"{tenths / 10:g}"
