"""Curves between places on a drawing, as SVG path data."""

from __future__ import annotations

import math
from dataclasses import dataclass

from welfare_env.render.places import Point

BOW = 0.09  # the bulge to the left, relative to the length, so that curves from A to B and from B to A differ
HEAD = 15.0  # length of an arrow's head


@dataclass(frozen=True)
class Curve:
    """A cubic Bezier curve.

    Attributes:
        points: the start, two control points, and the end.
    """

    points: tuple[Point, Point, Point, Point]

    @property
    def path(self) -> str:
        """SVG path data."""
        return f"M{_coordinates(self.points[0])}C" + " ".join(map(_coordinates, self.points[1:]))

    def at(self, t: float) -> Point:
        """The point of the curve at t, 0 to 1."""
        weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3)
        x, y = (sum(w * v for w, v in zip(weights, axis, strict=True)) for axis in zip(*self.points, strict=True))
        return x, y

    def trimmed(self, start: float, end: float) -> Curve:
        """The curve shortened by these lengths at its start and end."""
        first = towards(self.points[0], self.points[1], start)
        last = towards(self.points[-1], self.points[-2], end)
        return Curve((first, self.points[1], self.points[2], last))

    @property
    def head(self) -> str:
        """SVG path data of an arrow's head whose tip is the end of the curve."""
        (x, y), (u, v) = self.points[-1], self._end
        base, half = (x - HEAD * u, y - HEAD * v), HEAD / 2
        left, right = (base[0] - half * v, base[1] + half * u), (base[0] + half * v, base[1] - half * u)
        return f"M{_coordinates((x, y))}L{_coordinates(left)}L{_coordinates(right)}z"

    @property
    def bar(self) -> str:
        """SVG path data of a bar across the end of the curve."""
        (x, y), (u, v) = self.points[-1], self._end
        return f"M{_coordinates((x - 11 * v, y + 11 * u))}L{_coordinates((x + 11 * v, y - 11 * u))}"

    @property
    def _end(self) -> Point:
        """The direction of the curve at its end."""
        return direction(self.points[-2], self.points[-1])


def bowed(start: Point, end: Point) -> Curve:
    """A bent curve: a quadratic one, written as a cubic one."""
    (x, y), (a, b) = start, end
    pull = (x + a) / 2 + 2 * BOW * (b - y), (y + b) / 2 - 2 * BOW * (a - x)
    return Curve((start, _between(start, pull, 2 / 3), _between(end, pull, 2 / 3), end))


def straight(start: Point, end: Point) -> Curve:
    return Curve((start, _between(start, end, 1 / 3), _between(start, end, 2 / 3), end))


def _between(a: Point, b: Point, share: float) -> Point:
    return a[0] + share * (b[0] - a[0]), a[1] + share * (b[1] - a[1])


def towards(start: Point, end: Point, length: float) -> Point:
    """The point at this distance from `start` towards `end`, at most nine tenths of the way."""
    u, v = direction(start, end)
    length = min(length, 0.9 * math.dist(start, end))
    return start[0] + length * u, start[1] + length * v


def direction(start: Point, end: Point) -> Point:
    """The unit vector from one point to another; to the right if they are equal."""
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


def _coordinates(point: Point) -> str:
    return f"{point[0]:.1f} {point[1]:.1f}"
