"""The value of every place on the board to a power, by David Norman's DumbBot heuristic (see `scripted.dumbbot`)."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from welfare_env.board.board import Board
    from welfare_env.game.view import View

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
        pieces: float64 [pieces], the value of an army or fleet standing there, by the board's piece numbers.
        rivals: int64 [provinces], how many units the strongest rival has in or next to each province.
    """

    board: Board
    pieces: np.ndarray
    rivals: np.ndarray

    def of(self, unit: str, location: str) -> float:
        """The value of `location` to a unit of the same type as `unit`."""
        return float(self.pieces[self.board.piece_index[f"{unit[0]} {location}"]])

    def threat(self, province: str) -> int:
        """Units of the strongest rival in or next to the province."""
        return int(self.rivals[self.board.provinces.index(province)])


def valuate(view: View) -> Valuation:
    """Values for the view's power in the view's season."""
    board, weights = view.board, WEIGHTS[view.season]
    spread, reach = _graph(board)
    near = {power: reach[_numbers(board, units)].sum(axis=0) for power, units in view.units.items()}
    others = [power for power in view.powers if power != view.power]
    base = _center_values(view, near, weights)[board.piece_province]
    pieces = np.zeros(len(board.pieces))
    for weight in weights.proximity:
        pieces += weight * base
        base = spread @ base
    competition = np.max([near[power] for power in others], axis=0)
    pieces += (weights.strength * near[view.power] - weights.competition * competition)[board.piece_province]
    standing = [near[power] + _standing(board, view.units[power]) for power in others]
    return Valuation(board, pieces, np.max(standing, axis=0).astype(np.int64))


def _center_values(view: View, near: dict[str, np.ndarray], weights: Weights) -> np.ndarray:
    """float64 [provinces]: a foreign centre counts by its owner's size, an own one by its largest neighbour's."""
    size = {power: _size(len(centers)) for power, centers in view.centers.items()}
    owner = {center: power for power, centers in view.centers.items() for center in centers}
    values = np.zeros(len(view.board.provinces))
    for center, place in zip(view.board.centers, view.board.center_province.tolist(), strict=True):
        if owner.get(center) == view.power:
            menaces = [size[power] for power in view.powers if power != view.power and near[power][place]]
            values[place] = weights.defence * max(menaces, default=0)
        else:
            values[place] = weights.attack * size.get(owner.get(center, ""), _size(0))
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
        steps = _numbers(board, (f"{piece[0]} {location}" for location in board.moves[piece]))
        spread[number, steps] = 1
        reach[number, board.piece_province[steps]] = 1
    return spread / NEIGHBOURS, reach


def _standing(board: Board, units: Iterable[str]) -> np.ndarray:
    """float64 [provinces]: 1 where one of the units stands."""
    places = np.zeros(len(board.provinces))
    places[board.piece_province[_numbers(board, units)]] = 1
    return places


def _numbers(board: Board, units: Iterable[str]) -> list[int]:
    return [board.piece_index[unit] for unit in units]
