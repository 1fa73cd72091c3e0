"""Curves between places on a drawing, as SVG path data."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from welfare_env.render.places import UNIT, Point

# Possible bulges to the left, relative to the length, best first. So curves from A to B and from B to A differ.
BOWS = (0.09, 0.02, 0.16, 0.23, 0.3)
CLEAR = UNIT / 2 + 4  # distance of a curve from the centers of units that it passes
HEAD = 15.0  # length of an arrow's head


@dataclass(frozen=True)
class Curve:
    """One or more cubic Bezier curves, end to end.

    Attributes:
        points: the start, and for each curve its two control points and its end.
    """

    points: tuple[Point, ...]

    @property
    def path(self) -> str:
        """SVG path data."""
        return f"M{_coordinates(self.points[0])}C" + " ".join(map(_coordinates, self.points[1:]))

    @property
    def halfway(self) -> Point:
        """The middle of the middle curve, or the joint of the two middle curves."""
        pieces = self._pieces
        half = len(pieces) // 2
        return _at(pieces[half], 0.5) if len(pieces) % 2 else pieces[half][0]

    @property
    def samples(self) -> list[Point]:
        """Points along the curve, without its start."""
        return [_at(piece, step / 16) for piece in self._pieces for step in range(1, 17)]

    @property
    def _pieces(self) -> list[tuple[Point, ...]]:
        return [self.points[i : i + 4] for i in range(0, len(self.points) - 1, 3)]

    def trimmed(self, start: float, end: float) -> Curve:
        """The curve shortened by these lengths at its start and end."""
        first = towards(self.points[0], self.points[1], start)
        last = towards(self.points[-1], self.points[-2], end)
        return Curve((first, *self.points[1:-1], last))

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


def bowed(start: Point, end: Point, others: Sequence[Point] = (), clear: float = CLEAR) -> Curve:
    """A bent curve that keeps clear of other places as far as possible."""
    curves = [_bent(start, end, bow) for bow in BOWS]
    room = [min((math.dist(a, b) for a in curve.samples for b in others), default=clear) for curve in curves]
    return max(zip(room, curves, strict=True), key=lambda pair: min(pair[0], clear))[1]


def _bent(start: Point, end: Point, bow: float) -> Curve:
    """A quadratic curve, written as a cubic one."""
    (x, y), (a, b) = start, end
    pull = (x + a) / 2 + 2 * bow * (b - y), (y + b) / 2 - 2 * bow * (a - x)
    return Curve((start, _between(start, pull, 2 / 3), _between(end, pull, 2 / 3), end))


def straight(start: Point, end: Point) -> Curve:
    return Curve((start, _between(start, end, 1 / 3), _between(start, end, 2 / 3), end))


def through(places: Sequence[Point], clear: float = CLEAR) -> Curve:
    """A smooth Catmull-Rom curve from the first place to the last, passing next to those in between."""
    inner = [_beside(*three, clear) for three in zip(places, places[1:], places[2:], strict=False)]
    knots = [places[0], *inner, places[-1]]
    around = [knots[0], *knots, knots[-1]]  # each knot with its neighbors; the ends are repeated
    ways = [((c[0] - a[0]) / 6, (c[1] - a[1]) / 6) for a, c in zip(around, around[2:], strict=False)]
    points = [knots[0]]
    for (a, u), (b, v) in itertools.pairwise(zip(knots, ways, strict=True)):
        points += [(a[0] + u[0], a[1] + u[1]), (b[0] - v[0], b[1] - v[1]), b]
    return Curve(tuple(points))


def _beside(before: Point, place: Point, after: Point, clear: float) -> Point:
    """A point just clear of a place, on the side of the straight line; to the left if the place lies on the line."""
    u, v = direction(before, after)
    side = (place[0] - before[0]) * v - (place[1] - before[1]) * u  # how far the place lies to the left of the line
    away = -clear if side > 0 else clear
    return place[0] + away * v, place[1] - away * u


def _at(piece: Sequence[Point], t: float) -> Point:
    """The point of a cubic Bezier curve at t, 0 to 1."""
    weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3)
    x, y = (sum(w * v for w, v in zip(weights, axis, strict=True)) for axis in zip(*piece, strict=True))
    return x, y


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
