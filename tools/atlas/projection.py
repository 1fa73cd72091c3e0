"""From longitude and latitude to the drawing: a map projection, then enlargements of crowded regions.

Lambert's azimuthal equal-area projection, six smooth lenses, and a stretch of each axis. Every step is one-to-one and
continuous, so it preserves adjacency.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from shapely.geometry import Point, Polygon, box

EARTH = 6371.0  # km
CENTER = (14.0, 50.0)
FRAME_KM = (-2400.0, -2200.0, 2440.0, 2600.0)  # left, bottom, right, top
WIDTH = 1200.0  # of the drawing
STRETCH_X = (-50.0, 1100.0, 0.95)  # center and width in km, and the increase of the scale there
STRETCH_Y = (-330.0, 1100.0, 1.0)
LENSES = (  # longitude, latitude, radius in km, gain; one-to-one for gains below 2.2
    (-3.4, 55.0, 520, 0.75),  # Britain
    (4.8, 50.9, 320, 0.28),  # the Low Countries
    (10.3, 55.8, 260, 0.30),  # Denmark
    (15.2, 40.8, 340, 0.45),  # Italy
    (22.0, 41.5, 480, 0.12),  # the Balkans
    (29.2, 40.5, 260, 0.25),  # the Straits
)


def project(points: Sequence[Sequence[float]] | np.ndarray) -> np.ndarray:
    """Longitudes and latitudes -> places on the drawing, float [points, 2]."""
    degrees = np.asarray(points, float).reshape(-1, 2)
    x, y = _equal_area(degrees[:, 0], degrees[:, 1])
    for lon, lat, reach, gain in LENSES:
        cx, cy = _equal_area(np.array([lon]), np.array([lat]))
        pull = gain * np.exp(-((x - cx) ** 2 + (y - cy) ** 2) / reach**2)
        x, y = x + (x - cx) * pull, y + (y - cy) * pull
    return np.c_[np.interp(x, *_X) * SCALE, HEIGHT - np.interp(y, *_Y) * SCALE]


def spot(point: Sequence[float]) -> Point:
    return Point(project([point])[0])


def projected(rings: Sequence[np.ndarray]) -> Polygon:
    return Polygon(project(rings[0]), [project(ring) for ring in rings[1:]])


def _equal_area(lon: np.ndarray, lat: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    turn, lat, lat0 = np.radians(lon - CENTER[0]), np.radians(lat), math.radians(CENTER[1])
    cosine = math.sin(lat0) * np.sin(lat) + math.cos(lat0) * np.cos(lat) * np.cos(turn)
    scale = EARTH * np.sqrt(2 / (1 + cosine))
    north = math.cos(lat0) * np.sin(lat) - math.sin(lat0) * np.cos(lat) * np.cos(turn)
    return scale * np.cos(lat) * np.sin(turn), scale * north


def _stretched(low: float, middle: float, reach: float, gain: float) -> tuple[np.ndarray, np.ndarray]:
    """Kilometers, and their stretched coordinates with scale 1 + gain at `middle`; 0 at `low`."""
    km = np.linspace(low - 6000, low + 11000, 40001)
    density = 1 + gain * np.exp(-(((km - middle) / reach) ** 2))
    where = np.concatenate([[0], np.cumsum((density[1:] + density[:-1]) / 2 * np.diff(km))])
    return km, where - np.interp(low, km, where)


_X = _stretched(FRAME_KM[0], *STRETCH_X)
_Y = _stretched(FRAME_KM[1], *STRETCH_Y)
SCALE = WIDTH / float(np.interp(FRAME_KM[2], *_X))
HEIGHT = float(round(SCALE * np.interp(FRAME_KM[3], *_Y)))
FRAME = box(0, 0, WIDTH, HEIGHT)
