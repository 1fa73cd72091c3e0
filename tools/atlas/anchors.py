"""Placement of units, labels and centers: within their province if possible, and never overlapping."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import shapely
from shapely.geometry.base import BaseGeometry
from shapely.ops import nearest_points

from tools.atlas.boxes import ASCENT, DESCENT, Box, unit_box
from tools.atlas.coverage import Faces
from tools.atlas.partition import polygons
from tools.atlas.projection import HEIGHT, WIDTH, spot
from welfare_env.render.places import DISLODGED, UNIT, Point
from welfare_env.render.words import text_width

SIZES = (24.0, 23.0, 22.0, 21.0, 20.0)  # font sizes of labels, best first
SMALLER = 0.12  # cost of each step to a smaller label
SIDES = {"below": 0.0, "above": 0.05, "right": 0.1, "left": 0.1}  # side of a label -> cost
GAP = 4.0  # between a unit and its label
MARK = 14.0  # width of a center's mark with the gap to the label
RAISED = 0.37  # height of a center's mark above the baseline, relative to the font size
DOT = 6.5  # half the size of a center mark's box
BREATH = 4.0  # preferred clear space around boxes
EDGE = 4.0  # distance from the frame
OUTSIDE_UNIT, OUTSIDE_LABEL, CRAMPED, FAR = 6.0, 5.0, 1.5, 0.6  # costs at full violation
RING = tuple(itertools.product(np.linspace(0, 2 * math.pi, 24, endpoint=False), (33.5, 36, 39, 44, 49, 56, 64)))


class Site(NamedTuple):
    """A province with the items to place in it."""

    name: str
    text: str
    has_center: bool
    area: BaseGeometry


class Room:
    """Computes the share of boxes inside an area, with cumulative sums over a unit grid."""

    def __init__(self, area: BaseGeometry) -> None:
        left, top, right, bottom = area.bounds
        self.left, self.top = math.floor(left) - 60, math.floor(top) - 60
        x = np.arange(self.left, math.ceil(right) + 60) + 0.5
        y = np.arange(self.top, math.ceil(bottom) + 60) + 0.5
        shapely.prepare(area)
        inside = shapely.contains_xy(area, *np.meshgrid(x, y))
        self.sums = np.zeros((len(y) + 1, len(x) + 1))
        self.sums[1:, 1:] = inside.cumsum(0).cumsum(1)

    def covered(self, left: np.ndarray, top: np.ndarray, right: np.ndarray, bottom: np.ndarray) -> np.ndarray:
        """The share of each box inside the area, float [boxes]."""
        rows, columns = (n - 1 for n in self.sums.shape)
        l, r = (np.clip(np.rint(v - self.left).astype(int), 0, columns) for v in (left, right))  # noqa: E741
        t, b = (np.clip(np.rint(v - self.top).astype(int), 0, rows) for v in (top, bottom))
        count = self.sums[b, r] - self.sums[t, r] - self.sums[b, l] + self.sums[t, l]
        return count / np.maximum((r - l) * (b - t), 1)


@dataclass
class Placed:
    """The boxes placed so far."""

    units: list[Box] = field(default_factory=list)
    labels: list[Box] = field(default_factory=list)


def place_all(sites: Sequence[Site], coasts: Mapping[str, Point], seas: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Province -> its anchors. Provinces with the least room are placed first."""
    placed = Placed([unit_box(point) for point in coasts.values()])
    anchors = {}
    for site in sorted(sites, key=lambda site: (site.area.area, site.name)):
        anchors[site.name] = _placed(site, placed) | {"sea": site.name in seas}
    for site in sorted(sites, key=lambda site: (site.area.area, site.name)):
        anchors[site.name]["dislodged"] = _beside(anchors[site.name]["unit"], site.area, placed)
    for site in sorted(sites, key=lambda site: (site.area.area, site.name)):
        if not site.has_center:
            anchors[site.name]["center"] = _free_mark(site, anchors[site.name], placed)
    return anchors


def sites_of(faces: Faces, texts: Mapping[str, str], centers: Sequence[str]) -> list[Site]:
    """The largest part of each province."""
    parts = {name: max(polygons(faces[name]), key=lambda part: part.area) for name in texts}
    return [Site(name, text, name in centers, parts[name]) for name, text in texts.items()]


def coast_places(faces: Faces, hints: Mapping[str, Sequence[float]]) -> dict[str, Point]:
    """Location of a fleet at a named coast: inside its province, as close to the hint as its box allows."""
    places = {}
    for coast, hint in hints.items():
        area = max(polygons(faces[coast[:3]]), key=lambda part: part.area).buffer(-UNIT / 2 - 1)
        near = nearest_points(area, spot(hint))[0]
        places[coast] = (round(near.x, 1), round(near.y, 1))
    return places


def _placed(site: Site, placed: Placed) -> dict[str, Any]:
    """The placement of a unit and its label with the lowest cost."""
    room, xy = Room(site.area), _candidates(site.area)
    ways = [(_cost(site, room, xy, side, size, placed), side, size) for size in SIZES for side in SIDES]
    cost, side, size = min(ways, key=lambda way: way[0].min())
    x, y = (float(v) for v in xy[:, cost.argmin()].round(1))
    unit, label = unit_box((x, y)), _label(site, x, y, side, size)
    placed.units.append(unit)
    placed.labels.append(label)
    return _rounded_anchors(site, (x, y), label, size)


def _rounded_anchors(site: Site, unit: Point, label: Box, size: float) -> dict[str, Any]:
    mark = MARK if site.has_center else 0
    center = {"center": (round(label.left + 6, 1), round(label.bottom - (DESCENT + RAISED) * size, 1))}
    middle = round((label.left + mark + label.right) / 2, 1)
    return {
        "unit": unit,
        "label": (middle, round(label.bottom - DESCENT * size, 1)),
        "label_size": size,
        **(center if site.has_center else {}),
    }


def _candidates(area: BaseGeometry) -> np.ndarray:
    """Candidate places for a unit, float [2, places]."""
    left, top, right, bottom = area.bounds
    step = max(1.0, math.sqrt(area.area) / 60)
    half = UNIT / 2 + EDGE
    x = np.arange(max(left, half), min(right, WIDTH - half), step)
    y = np.arange(max(top, half), min(bottom, HEIGHT - half), step)
    return np.array(np.meshgrid(x, y)).reshape(2, -1)


def _cost(site: Site, room: Room, xy: np.ndarray, side: str, size: float, placed: Placed) -> np.ndarray:
    """The cost of a unit at each candidate with its label on this side; infinite where it overlaps other boxes."""
    x, y = xy
    unit = np.array([x - UNIT / 2, y - UNIT / 2, x + UNIT / 2, y + UNIT / 2])
    label = np.array(np.broadcast_arrays(*_label(site, x, y, side, size)))
    both = np.array([*np.minimum(unit, label)[:2], *np.maximum(unit, label)[2:]])
    airy = both + np.array([[-BREATH], [-BREATH], [BREATH], [BREATH]])
    heart = shapely.maximum_inscribed_circle(site.area, tolerance=0.5).coords[0]
    far = np.hypot((both[0] + both[2]) / 2 - heart[0], (both[1] + both[3]) / 2 - heart[1]) / math.sqrt(site.area.area)
    cost = OUTSIDE_UNIT * (1 - room.covered(*unit)) + OUTSIDE_LABEL * (1 - room.covered(*label))
    cost += CRAMPED * (1 - room.covered(*airy)) + FAR * far + SIDES[side] + SMALLER * (SIZES[0] - size)
    blocked = _hits(unit, placed.units + placed.labels) | _hits(label, placed.units + placed.labels) | _leaves(label)
    return np.where(blocked, np.inf, cost)


def _label(site: Site, x: Any, y: Any, side: str, size: float) -> Box:
    """The box of a label, including its center's mark, next to a unit."""
    width, height = text_width(site.text, size) + MARK * site.has_center, (ASCENT + DESCENT) * size
    across, down = UNIT / 2 + GAP + width / 2, UNIT / 2 + GAP + height / 2
    x = x + {"right": across, "left": -across}.get(side, 0)
    y = y + {"below": down, "above": -down}.get(side, 0)
    return Box(x - width / 2, y - height / 2, x + width / 2, y + height / 2)


def _hits(boxes: np.ndarray, taken: Sequence[Box]) -> np.ndarray:
    """Which of the boxes, float [4, boxes], are within distance 1 of a taken box."""
    left, top, right, bottom = boxes
    hit = np.zeros(boxes.shape[1], bool)
    for other in taken:
        beside = (left > other.right + 1) | (right < other.left - 1)
        hit |= ~(beside | (top > other.bottom + 1) | (bottom < other.top - 1))
    return hit


def _leaves(boxes: np.ndarray) -> np.ndarray:
    """Which of the boxes are too close to the frame."""
    return (boxes[0] < EDGE) | (boxes[1] < EDGE) | (boxes[2] > WIDTH - EDGE) | (boxes[3] > HEIGHT - EDGE)


def _free_mark(site: Site, anchor: Mapping[str, Any], placed: Placed) -> Point:
    """Place of the center mark, for boards on which the province is a center: as close to its label as possible."""
    (x, y), size = anchor["label"], anchor["label_size"]
    half, down = text_width(site.text, size) / 2 + MARK - 6, y - RAISED * size
    around = [_around((x, down), turn, length) for turn, length in RING]
    spots = np.array([(x - half, down), (x + half, down), *around]).T.round(1)
    boxes = np.array([spots[0] - DOT, spots[1] - DOT, spots[0] + DOT, spots[1] + DOT])
    free = ~(_hits(boxes, placed.units + placed.labels) | _leaves(boxes))
    best = spots[:, int(free.argmax())]
    place = (float(best[0]), float(best[1]))
    placed.labels.append(Box(place[0] - DOT, place[1] - DOT, place[0] + DOT, place[1] + DOT))
    return place


def _around(spot: Point, turn: float, length: float) -> Point:
    return spot[0] + length * math.cos(turn), spot[1] + length * math.sin(turn)


def _beside(unit: Point, area: BaseGeometry, placed: Placed) -> Point:
    """Place of a dislodged unit: close to the unit's place, clear of all units and, if possible, of labels."""
    spots = np.array([_around(unit, turn, r) for turn, r in RING]).T.round(1)
    half = UNIT * DISLODGED / 2
    boxes = np.array([spots[0] - half, spots[1] - half, spots[0] + half, spots[1] + half])
    far = np.hypot(spots[0] - unit[0], spots[1] - unit[1]) / UNIT
    cost = 1 - Room(area).covered(*boxes) + 3.0 * _hits(boxes, placed.labels) + far
    cost[_hits(boxes, placed.units) | _leaves(boxes)] = np.inf
    best = spots[:, int(cost.argmin())]
    place = (float(best[0]), float(best[1]))
    placed.units.append(unit_box(place, dislodged=True))
    return place
