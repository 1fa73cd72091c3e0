"""Curves between places on a drawing, as SVG path data."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from welfare_env.render.places import Point

BOW = 0.09  # how far a curve swings out to its left, of its length: A to B and B to A lie apart
HEAD = 9.0  # length of an arrow's head


@dataclass(frozen=True)
class Curve:
    """A curve through points; between the first and the last, the points only pull it.

    Attributes:
        points: at least three.
    """

    points: tuple[Point, ...]

    @property
    def path(self) -> str:
        """SVG path data: quadratic curves that meet halfway between the points."""
        first, *pulls, last = self.points
        knots = [middle(a, b) for a, b in itertools.pairwise(pulls)] + [last]
        turns = "".join(f"Q{_told(pull)} {_told(knot)}" for pull, knot in zip(pulls, knots, strict=True))
        return f"M{_told(first)}{turns}"

    @property
    def halfway(self) -> Point:
        """A point near the middle of the curve."""
        if len(self.points) == 3:
            (a, b), (c, d), (e, f) = self.points
            return (a + 2 * c + e) / 4, (b + 2 * d + f) / 4
        half = len(self.points) // 2
        return self.points[half] if len(self.points) % 2 else middle(self.points[half - 1], self.points[half])

    def trimmed(self, start: float, end: float) -> Curve:
        """The curve without this much of its ends."""
        first = towards(self.points[0], self.points[1], start)
        last = towards(self.points[-1], self.points[-2], end)
        return Curve((first, *self.points[1:-1], last))

    @property
    def head(self) -> str:
        """SVG path data of an arrow's head whose tip is the end of the curve."""
        (x, y), back = self.points[-1], self.points[-2]
        u, v = direction(back, (x, y))
        base = x - HEAD * u, y - HEAD * v
        left, right = (
            (base[0] - 0.5 * HEAD * v, base[1] + 0.5 * HEAD * u),
            (base[0] + 0.5 * HEAD * v, base[1] - 0.5 * HEAD * u),
        )
        return f"M{_told((x, y))}L{_told(left)}L{_told(right)}z"

    @property
    def bar(self) -> str:
        """SVG path data of a bar across the end of the curve."""
        (x, y), back = self.points[-1], self.points[-2]
        u, v = direction(back, (x, y))
        return f"M{_told((x - 7 * v, y + 7 * u))}L{_told((x + 7 * v, y - 7 * u))}"


def bowed(start: Point, end: Point) -> Curve:
    """A slightly bent curve."""
    (x, y), (a, b) = start, end
    pull = (x + a) / 2 + 2 * BOW * (b - y), (y + b) / 2 - 2 * BOW * (a - x)
    return Curve((start, pull, end))


def straight(start: Point, end: Point) -> Curve:
    return Curve((start, middle(start, end), end))


def through(places: Sequence[Point]) -> Curve:
    """A curve close past these places, at least three."""
    pulls = []
    for before, (x, y), after in zip(places, places[1:], places[2:], strict=False):
        u, v = middle(before, after)
        pulls.append((1.5 * x - 0.5 * u, 1.5 * y - 0.5 * v))
    return Curve((places[0], *pulls, places[-1]))


def middle(a: Point, b: Point) -> Point:
    return (a[0] + b[0]) / 2, (a[1] + b[1]) / 2


def towards(start: Point, end: Point, length: float) -> Point:
    """The point so far from `start` on the way to `end`, and never beyond nine tenths of it."""
    u, v = direction(start, end)
    length = min(length, 0.9 * math.dist(start, end))
    return start[0] + length * u, start[1] + length * v


def direction(start: Point, end: Point) -> Point:
    """The unit vector from one point to another; to the right where they are one."""
    x, y = end[0] - start[0], end[1] - start[1]
    length = math.hypot(x, y)
    return (x / length, y / length) if length else (1.0, 0.0)


def circle(spot: Point, radius: float) -> str:
    """SVG path data of a circle."""
    half = f"a{radius:g} {radius:g} 0 1 1"
    return f"M{spot[0] - radius:.1f} {spot[1]:.1f}{half} {2 * radius:g} 0{half} {-2 * radius:g} 0z"


def cross(spot: Point, size: float) -> str:
    """SVG path data of a cross."""
    x, y = spot
    return f"M{x - size:.1f} {y - size:.1f}l{2 * size:g} {2 * size:g}m0 {-2 * size:g}l{-2 * size:g} {2 * size:g}"


def _told(point: Point) -> str:
    return f"{point[0]:.1f} {point[1]:.1f}"
