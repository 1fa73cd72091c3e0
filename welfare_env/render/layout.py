"""Boards without a drawing of their own, laid out as graphs: a disc for each province, a line for each border.

The discs go where their distances on paper come closest to the numbers of steps between them (stress majorization:
Gansner, Koren and North, "Graph Drawing by Stress Majorization", 2004). Toy boards look like the paper's figure 2: the
cores on a circle, every leaf outside its core.
"""

from __future__ import annotations

import math
from types import MappingProxyType

import numpy as np
from scipy.sparse.csgraph import shortest_path

from welfare_env.board.board import Board
from welfare_env.board.toy_boards import is_toy
from welfare_env.render.curves import circle
from welfare_env.render.places import KINDS, Drawing, DrawnProvince, Edge, Point

RADIUS = 34.0  # of a disc
SPACING = 104.0  # between the middles of neighbours
MARGIN = 50.0
ROUNDS = 120  # of stress majorization


def graph_drawing(board: Board) -> Drawing:
    """The drawing of a board as a graph. The same board gives the same drawing."""
    edges = _edges(board)
    spots = _toy_spots(board, edges) if is_toy(board.name) else _stress_spots(board, edges)
    spots = spots - spots.min(0) + MARGIN
    width, height = (spots.max(0) + MARGIN).round(1).tolist()
    provinces = {name: _disc(board, name, tuple(spots[i].round(1).tolist())) for i, name in enumerate(board.provinces)}
    return Drawing(board.name, width, height, MappingProxyType(provinces), edges)


def _edges(board: Board) -> tuple[Edge, ...]:
    """Every pair of provinces between which a unit can step."""
    kinds: dict[tuple[str, str], str] = {}
    for piece, places in sorted(board.moves.items()):  # armies come first
        for place in places:
            a, b = sorted((piece[2:5], place[:3]))
            kinds.setdefault((a, b), "land" if piece[0] == "A" else "water")
    return tuple(Edge(a, b, kind) for (a, b), kind in sorted(kinds.items()))


def _steps(board: Board, edges: tuple[Edge, ...]) -> np.ndarray:
    """Steps between provinces, float [provinces, provinces]; parts that do not touch are set a little apart."""
    index = {name: i for i, name in enumerate(board.provinces)}
    joined = np.zeros((len(index), len(index)))
    for edge in edges:
        joined[index[edge.a], index[edge.b]] = 1
    steps = shortest_path(joined, directed=False, unweighted=True)
    steps[np.isinf(steps)] = steps[np.isfinite(steps)].max() + 1
    return steps


def _stress_spots(board: Board, edges: tuple[Edge, ...]) -> np.ndarray:
    """Spots of least stress, float [provinces, 2]."""
    steps = _steps(board, edges) * SPACING
    spots = _first_spots(steps)
    weights = 1 / (steps + np.eye(len(steps))) ** 2
    np.fill_diagonal(weights, 0)
    laplacian = np.diag(weights.sum(1)) - weights
    inverse = np.linalg.pinv(laplacian)
    for _ in range(ROUNDS):
        apart = np.hypot(*(spots[:, None] - spots).transpose(2, 0, 1)) + np.eye(len(steps))
        pull = -weights * steps / apart
        np.fill_diagonal(pull, -pull.sum(1))
        spots = inverse @ (pull @ spots)
    return spots


def _first_spots(steps: np.ndarray) -> np.ndarray:
    """Classical scaling: the two directions that explain most of the squared distances."""
    n = len(steps)
    centred = np.eye(n) - 1 / n
    values, vectors = np.linalg.eigh(-centred @ steps**2 @ centred / 2)
    vectors *= np.sign(vectors[np.abs(vectors).argmax(0), np.arange(n)])
    return vectors[:, -2:] * np.sqrt(np.maximum(values[-2:], 1))


def _toy_spots(board: Board, edges: tuple[Edge, ...]) -> np.ndarray:
    """Cores on a circle, each leaf (or the two that share a core) straight outside."""
    cores = [name for name in board.provinces if name in board.centers and name[0] == "C"]
    radius = SPACING / (2 * math.sin(math.pi / len(cores))) if len(cores) > 2 else SPACING / 2
    spots = np.zeros((len(board.provinces), 2))
    index = {name: i for i, name in enumerate(board.provinces)}
    for number, core in enumerate(cores):
        turn = 2 * math.pi * number / len(cores) - math.pi / 2
        leaves = [e.b if e.a == core else e.a for e in edges if core in (e.a, e.b) and not {e.a, e.b} <= set(cores)]
        spots[index[core]] = radius * math.cos(turn), radius * math.sin(turn)
        for place, leaf in enumerate(leaves):
            angle = turn + (place - (len(leaves) - 1) / 2) * SPACING / (radius + SPACING)
            spots[index[leaf]] = (radius + SPACING) * math.cos(angle), (radius + SPACING) * math.sin(angle)
    return spots


def _disc(board: Board, name: str, spot: Point) -> DrawnProvince:
    x, y = spot
    kind = KINDS[board.kind[name]]
    coasts = [place for place in board.locations if place[:3] == name and "/" in place]
    return DrawnProvince(
        name=name,
        long_name=board.long_names[name],
        kind=kind,
        area=circle(spot, RADIUS),
        strait="",
        text=name if kind == "water" else name.title(),
        label=(x, round(y + 22, 1)),
        label_size=12,
        unit=(x, round(y - 3, 1)),
        dislodged=(round(x + 18, 1), round(y - 14, 1)),
        center=(round(x - 19, 1), round(y + 17, 1)) if name in board.centers else None,
        coasts={place: (round(x - 8 + 16 * i, 1), round(y - 8, 1)) for i, place in enumerate(coasts)},
    )
