"""The value of every place on the board to a power, by David Norman's DumbBot heuristic (see `scripted.dumbbot`)."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from welfare_env.board.board import Board
    from welfare_env.game.view import View

Names = tuple[tuple[str, ...], ...]  # of units or centres, power by power
NEIGHBOURS = 5  # the published divisor: a place has about five neighbours


@dataclass(frozen=True)
class Weights:
    """The weights of one season.

    The numbers are DumbBot's. The only difference is in Winter: DumbBot adds a little for centres in danger, which is
    too small to matter and is left out here.

    Attributes:
        attack: weight of a foreign centre's value.
        defence: weight of an own centre's value.
        proximity: weights of the value that reaches a place in 0, 1, 2 ... steps.
        strength: weight of each own unit that can move into the province.
        competition: weight of each unit of the strongest rival that can move into the province.
    """

    attack: float
    defence: float
    proximity: tuple[float, ...]
    strength: float
    competition: float


WEIGHTS = {
    "S": Weights(700, 300, (100, 1000, 30, 10, 6, 5, 4, 3, 2, 1), 1000, 1000),
    "F": Weights(600, 400, (1000, 100, 30, 10, 6, 5, 4, 3, 2, 1), 1000, 1000),
    "W": Weights(600, 400, (1000, 100, 30, 10, 6, 5, 4, 3, 2, 1), 0, 0),
}


@dataclass(frozen=True, eq=False)
class Valuation:
    """The board as one power sees it.

    Attributes:
        pieces: army or fleet at a location ("A PAR") -> the value of its standing there.
        rivals: province -> how many units the strongest rival has in or next to it.
    """

    pieces: Mapping[str, float]
    rivals: Mapping[str, int]

    def of(self, unit: str, location: str) -> float:
        """The value of `location` to a unit of the same type as `unit`."""
        return self.pieces[f"{unit[0]} {location}"]

    def threat(self, province: str) -> int:
        """Units of the strongest rival in or next to the province."""
        return self.rivals[province]


def valuate(view: View) -> Valuation:
    """Values for the view's power in the view's season."""
    board, own = view.board, view.board.power_index[view.power]
    pieces, rivals = _valuations(board, view.season, tuple(view.units.values()), tuple(view.centers.values()))
    return Valuation(
        dict(zip(board.pieces, pieces[own].tolist(), strict=True)),
        dict(zip(board.provinces, rivals[own].tolist(), strict=True)),
    )


@functools.lru_cache(maxsize=64)
def _valuations(board: Board, season: str, units: Names, centers: Names) -> tuple[np.ndarray, np.ndarray]:
    """The valuations of all powers at once: float64 [powers, pieces], int64 [powers, provinces].

    Args:
        units, centers: of each power.
    """
    weights = WEIGHTS[season]
    near, standing = _presence(board, units)
    worth = _center_values(board, near, centers, weights)[:, board.piece_province]
    place = weights.strength * near - weights.competition * _strongest_other(near)
    pieces = worth @ _proximity(board, season) + place[:, board.piece_province]
    return pieces, _strongest_other(near + standing).astype(np.int64)


def _presence(board: Board, units: Names) -> tuple[np.ndarray, np.ndarray]:
    """How many units of each power can step into a province, and 1 where one stands: float64 [powers, provinces]."""
    reach = _graph(board)[1]
    near, standing = np.zeros((2, len(units), len(board.provinces)))
    for power, own in enumerate(units):
        numbers = [board.piece_index[unit] for unit in own]
        near[power] = reach[numbers].sum(axis=0)
        standing[power, board.piece_province[numbers]] = 1
    return near, standing


def _strongest_other(counts: np.ndarray) -> np.ndarray:
    """For each power the largest count of any other one: [powers, provinces] from [powers, provinces]."""
    *_, second, first = np.sort(counts, axis=0)
    return np.where(counts == first, second, first)


def _center_values(board: Board, near: np.ndarray, centers: Names, weights: Weights) -> np.ndarray:
    """A foreign centre counts by its owner's size, an own one by its largest neighbour's.

    Returns:
        float64 [powers, provinces].
    """
    sizes = np.array([_size(len(owned)) for owned in centers])
    places = dict(zip(board.centers, board.center_province.tolist(), strict=True))
    values = np.zeros(near.shape)
    values[:, board.center_province] = weights.attack * _size(0)
    menaces = _strongest_other(np.where(near > 0, sizes[:, None], 0))
    for power, owned in enumerate(centers):
        here = [places[center] for center in owned]
        values[:, here] = weights.attack * sizes[power]
        values[power, here] = weights.defence * menaces[power, here]
    return values


def _size(centers: int) -> int:
    """The size that the heuristic assigns to a power with so many centres."""
    return centers**2 + 4 * centers + 16


@functools.lru_cache(maxsize=32)
def _graph(board: Board) -> tuple[np.ndarray, np.ndarray]:
    """float64 [pieces, pieces]: the averaging over a place and its neighbours; [pieces, provinces]: 1 for a step."""
    spread = np.eye(len(board.pieces))
    reach = np.zeros((len(board.pieces), len(board.provinces)))
    for number, piece in enumerate(board.pieces):
        steps = [board.piece_index[f"{piece[0]} {location}"] for location in board.moves[piece]]
        spread[number, steps] = 1
        reach[number, board.piece_province[steps]] = 1
    return spread / NEIGHBOURS, reach


@functools.lru_cache(maxsize=96)
def _proximity(board: Board, season: str) -> np.ndarray:
    """float64 [pieces, pieces]: how much of the value of a piece's place reaches another piece."""
    spread = _graph(board)[0].T
    total, step = np.zeros(spread.shape), np.eye(len(spread))
    for weight in WEIGHTS[season].proximity:
        total += weight * step
        step = step @ spread
    return total
