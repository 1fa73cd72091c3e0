"""Bounding boxes of units and labels, to place them without overlap."""

from __future__ import annotations

from typing import NamedTuple

from welfare_env.render.places import DISLODGED, UNIT, DrawnProvince, Point

# Widths of characters in DejaVu Sans, a wide font, in thousandths of the font size. Others count as M.
WIDTHS = dict(zip("ABCDEFGHIJKLM", (684, 686, 698, 770, 632, 575, 775, 752, 295, 295, 656, 557, 863), strict=True))
WIDTHS |= zip("NOPQRSTUVWXYZ", (748, 787, 603, 787, 695, 635, 611, 732, 684, 989, 685, 611, 685), strict=True)
WIDTHS |= zip("abcdefghijklm", (613, 635, 550, 635, 615, 352, 635, 634, 278, 278, 579, 278, 974), strict=True)
WIDTHS |= zip("nopqrstuvwxyz", (634, 612, 635, 635, 411, 521, 392, 634, 592, 818, 592, 592, 525), strict=True)

ASCENT, DESCENT = 0.78, 0.22  # of a label's box above and below the baseline, of the font size


class Box(NamedTuple):
    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: Box) -> bool:
        return (
            self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom
        )


def text_width(text: str, size: float) -> float:
    return sum(WIDTHS.get(letter, WIDTHS["M"]) for letter in text) * size / 1000


def unit_box(middle: Point, dislodged: bool = False) -> Box:
    """The box of a unit at this place."""
    half, (x, y) = UNIT / 2 * (DISLODGED if dislodged else 1), middle
    return Box(x - half, y - half, x + half, y + half)


def label_box(province: DrawnProvince) -> Box:
    """The box of a province's label, without the supply center mark."""
    (x, y), size = province.label, province.label_size
    half = text_width(province.text, size) / 2
    return Box(x - half, y - ASCENT * size, x + half, y + DESCENT * size)
