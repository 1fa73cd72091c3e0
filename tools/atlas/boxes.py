"""Boxes around units and labels of a drawing, to check that none lies on another."""

from __future__ import annotations

from typing import NamedTuple

from welfare_env.render.places import DISLODGED, UNIT, DrawnProvince, Point
from welfare_env.render.words import text_width

ASCENT, DESCENT = 0.78, 0.22  # height of a label's box above and below the baseline, relative to the font size


class Box(NamedTuple):
    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: Box) -> bool:
        return (
            self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom
        )


def unit_box(middle: Point, dislodged: bool = False) -> Box:
    """The box of a unit with this center."""
    half, (x, y) = UNIT / 2 * (DISLODGED if dislodged else 1), middle
    return Box(x - half, y - half, x + half, y + half)


def label_box(province: DrawnProvince) -> Box:
    """The box of a province's label, without the supply center mark."""
    (x, y), size = province.label, province.label_size
    half = text_width(province.text, size) / 2
    return Box(x - half, y - ASCENT * size, x + half, y + DESCENT * size)
