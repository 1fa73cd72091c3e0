"""The drawing of a board.

The standard board has its own map (`atlas/standard.json`, CC0); every other board is drawn as a graph, with a disc for
each province and a line for each border. Discs are placed by classical scaling, so that their distances approximate
the numbers of steps between them, and then pushed apart until none touch. Toy boards look like the paper's figure 2:
the cores on a circle, every leaf outside its core.
"""

from __future__ import annotations

import functools
import json
import math
from importlib import resources
from types import MappingProxyType
from typing import Any

import numpy as np
from scipy.sparse.csgraph import shortest_path
from scipy.spatial.distance import cdist

from welfare_env.board.board import Board
from welfare_env.board.loading import load_board
from welfare_env.board.toy_boards import is_toy
from welfare_env.render.curves import circle
from welfare_env.render.places import KINDS, Drawing, DrawnProvince, Edge, Point
from welfare_env.render.words import text_width


@functools.lru_cache(maxsize=16)
def drawing_of(board: Board) -> Drawing:
    """The drawing of a board: the standard map if provinces and borders match, else a layout of its graph."""
    return _atlas_drawing(board, _atlas()) if _has_standard_borders(board) else graph_drawing(board)


def _has_standard_borders(board: Board) -> bool:
    """Whether a board differs from the standard board only in powers, units or centers, and so can use its map."""
    return board.moves == load_board("standard").moves


@functools.cache
def _atlas() -> dict[str, Any]:
    return json.loads(resources.files("welfare_env.render").joinpath("atlas/standard.json").read_text("utf-8"))


def _atlas_drawing(board: Board, data: dict[str, Any]) -> Drawing:
    provinces = {name: _province(board, name, data) for name in board.provinces}
    lines = {key: data[key] for key in ("impassable", "shores", "land_borders", "sea_borders")}
    return Drawing(board.name, data["width"], data["height"], MappingProxyType(provinces), **lines)


def _province(board: Board, name: str, data: dict[str, Any]) -> DrawnProvince:
    drawn, kind = data["provinces"][name], KINDS[board.kind[name]]
    return DrawnProvince(
        name=name,
        long_name=board.long_names[name],
        kind=kind,
        area=drawn["area"],
        strait=drawn.get("strait", ""),
        text=name if kind == "water" else name.title(),
        label=tuple(drawn["label"]),
        label_size=drawn["label_size"],
        unit=tuple(drawn["unit"]),
        dislodged=tuple(drawn["dislodged"]),
        center=tuple(drawn["center"]) if name in board.centers else None,
        coasts={place: tuple(spot) for place, spot in data["coasts"].items() if place[:3] == name},
    )


Borders = dict[tuple[str, str], str]  # pair of provinces -> "land" if armies can pass, else "water"

RADIUS = 56.0  # of a disc
SPACING = 185.0  # target distance between the centers of neighboring discs
CLOSEST = 144.0  # minimum distance between the centers of any two discs
MARGIN = 72.0  # from disc centers to the frame
PUSHES = 300  # rounds of pushing discs apart
LABEL_SIZE = 24.0
RAISED = 12.0  # height of units above the center of the disc


def graph_drawing(board: Board) -> Drawing:
    """The drawing of a board as a graph. The same board gives the same drawing."""
    borders = _borders(board)
    spots = _toy_spots(board, borders) if is_toy(board.name) else _apart(_scaled(_steps(board, borders) * SPACING))
    spots = (spots - spots.min(0) + MARGIN).round(1)
    width, height = (spots.max(0) + MARGIN).round(1).tolist()
    middles = {name: (x, y) for name, (x, y) in zip(board.provinces, spots.tolist(), strict=True)}
    provinces = {name: _disc(board, name, spot) for name, spot in middles.items()}
    edges = tuple(Edge(a, b, middles[a], middles[b], kind) for (a, b), kind in borders.items())
    return Drawing(board.name, width, height, MappingProxyType(provinces), edges, disc=RADIUS)


def _borders(board: Board) -> Borders:
    """Every pair of provinces between which a unit can move, in alphabetical order."""
    kinds: dict[tuple[str, str], str] = {}
    for piece, places in sorted(board.moves.items()):  # armies come first
        for place in places:
            a, b = sorted((piece[2:5], place[:3]))
            kinds.setdefault((a, b), "land" if piece[0] == "A" else "water")
    return dict(sorted(kinds.items()))


def _steps(board: Board, borders: Borders) -> np.ndarray:
    """Steps between provinces, float [provinces, provinces]; disconnected parts get the largest distance."""
    index = {name: i for i, name in enumerate(board.provinces)}
    joined = np.zeros((len(index), len(index)))
    for a, b in borders:
        joined[index[a], index[b]] = 1
    steps = shortest_path(joined, directed=False, unweighted=True)
    steps[np.isinf(steps)] = steps[np.isfinite(steps)].max() + 1
    return steps


def _scaled(wanted: np.ndarray) -> np.ndarray:
    """Positions with about these distances, wider than high: classical scaling. No two are the same."""
    n = len(wanted)
    centered = np.eye(n) - 1 / n
    values, vectors = np.linalg.eigh(-centered @ wanted**2 @ centered / 2)
    vectors *= np.sign(vectors[np.abs(vectors).argmax(0), np.arange(n)])
    turn = 2 * np.pi * np.arange(n) / n
    return vectors[:, :-3:-1] * np.sqrt(np.maximum(values[:-3:-1], 1)) + np.c_[np.cos(turn), np.sin(turn)]


def _apart(spots: np.ndarray) -> np.ndarray:
    """Push close discs apart; if some are still too close at the end, enlarge the drawing."""
    eye = np.eye(len(spots))
    for _ in range(PUSHES):
        distances = cdist(spots, spots) + eye * 2 * CLOSEST
        if distances.min() >= CLOSEST:
            return spots
        push = 0.4 * np.maximum(1.02 * CLOSEST / np.maximum(distances, 1e-6) - 1, 0)
        spots = spots + push.sum(1)[:, None] * spots - push @ spots
    return spots * max(1.0, CLOSEST / (cdist(spots, spots) + eye * 2 * CLOSEST).min())


def _toy_spots(board: Board, borders: Borders) -> np.ndarray:
    """Cores on a circle, each leaf (or the two that share a core) directly outside; float [provinces, 2]."""
    index = {name: i for i, name in enumerate(board.provinces)}
    cores = [name for name in board.provinces if name[0] == "C"]
    radius = SPACING / (2 * math.sin(math.pi / len(cores)))
    outside = radius + SPACING
    start = math.pi if len(cores) == 2 else -math.pi / 2
    spots = np.zeros((len(index), 2))
    for number, core in enumerate(cores):
        turn = start + 2 * math.pi * number / len(cores)
        leaves = [b for a, b in borders if a == core and b not in cores]
        spots[index[core]] = radius * math.cos(turn), radius * math.sin(turn)
        for place, leaf in enumerate(leaves):
            angle = turn + (place - (len(leaves) - 1) / 2) * 1.1 * CLOSEST / outside
            spots[index[leaf]] = outside * math.cos(angle), outside * math.sin(angle)
    return spots


def _disc(board: Board, name: str, spot: Point) -> DrawnProvince:
    x, y = spot
    kind = KINDS[board.kind[name]]
    text = name if kind == "water" else name.title()
    mark = 16 if name in board.centers else 0
    coasts = [place for place in board.locations if place.startswith(name + "/")]
    left = x - (text_width(text, LABEL_SIZE) + mark) / 2
    return DrawnProvince(
        name=name,
        long_name=board.long_names[name],
        kind=kind,
        area=circle(spot, RADIUS),
        strait="",
        text=text,
        label=(round(x + mark / 2, 1), round(y + 35, 1)),
        label_size=LABEL_SIZE,
        unit=(x, round(y - RAISED, 1)),
        dislodged=(round(x + 34, 1), round(y - RAISED - 4, 1)),
        center=(round(left + 6, 1), round(y + 26.5, 1)) if mark else None,
        coasts={place: (round(x - 15 + 30 * i, 1), round(y - RAISED, 1)) for i, place in enumerate(coasts)},
        middle=spot,
    )
