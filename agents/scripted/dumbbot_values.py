"""The value of every place on the board to a power, by David Norman's DumbBot heuristic (see `scripted.dumbbot`)."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from welfare_env.board.board import Board
    from welfare_env.game.view import View

Names = tuple[tuple[str, ...], ...]  # of units or centers, power by power
NEIGHBORS = 5  # the published divisor: a place has about five neighbors
STEPS = 9  # over which a value spreads
UNIT = NEIGHBORS**STEPS  # values are multiples of 1 / UNIT


@dataclass(frozen=True)
class Weights:
    """The weights of one season.

    The numbers are DumbBot's. The only difference is in Winter: DumbBot adds a little for centers in danger, which is
    too small to matter and is left out here.

    Attributes:
        attack: weight of a foreign center's value.
        defense: weight of an own center's value.
        proximity: weights of the value that reaches a place in 0, 1, 2 ... steps.
        strength: weight of each own unit that can move into the province.
        competition: weight of each unit of the strongest rival that can move into the province.
    """

    attack: float
    defense: float
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
        board: the board, whose `pieces` (army or fleet at a location, "A PAR") and `provinces` give the sequences.
        pieces: the value of each piece.
        rivals: for each province, the units of the strongest rival in or next to it.
    """

    board: Board
    pieces: Sequence[float]
    rivals: Sequence[int]

    def of(self, unit: str, location: str) -> float:
        """The value of `location` to a unit of the same type as `unit`."""
        return self.pieces[self.board.piece_index[f"{unit[0]} {location}"]]

    def threat(self, province: str) -> int:
        """Units of the strongest rival in or next to the province."""
        return self.rivals[self.board.province_index[province]]


def valuate(view: View, spared: frozenset[str] = frozenset()) -> Valuation:
    """Values for the view's power in the view's season.

    Args:
        spared: powers that are not enemies: their centers are worth nothing, and their units are not rivals.
    """
    board, own = view.board, view.board.power_index[view.power]
    units = tuple(() if power in spared else placed for power, placed in view.units.items())
    worthless = tuple(sorted(board.power_index[power] for power in spared))
    pieces, rivals = _valuations(board, view.season, units, tuple(view.centers.values()), worthless)
    return Valuation(board, pieces[own].tolist(), rivals[own].tolist())


@functools.lru_cache(maxsize=64)
def _valuations(
    board: Board, season: str, units: Names, centers: Names, worthless: tuple[int, ...]
) -> tuple[np.ndarray, np.ndarray]:
    """The valuations of all powers at once: float64 [powers, pieces], int64 [powers, provinces].

    Args:
        units, centers: of each power.
        worthless: the powers whose centers are worth nothing.
    """
    weights = WEIGHTS[season]
    near, standing = _presence(board, units)
    sizes = np.array([_size(len(owned)) for owned in centers])
    menaces, competition, rivals = _strongest_other(np.where(near > 0, sizes[:, None], 0), near, near + standing)
    values = _center_values(board, sizes, menaces, centers, weights)
    values[:, [board.province_index[center] for power in worthless for center in centers[power]]] = 0
    worth = values[:, board.piece_province]
    place = weights.strength * near - weights.competition * competition
    pieces = worth @ _proximity(board, season) / UNIT + place[:, board.piece_province]
    return pieces, rivals.astype(np.int64)


def _presence(board: Board, units: Names) -> tuple[np.ndarray, np.ndarray]:
    """How many units of each power can step into a province, and 1 where one stands: float64 [powers, provinces]."""
    numbers = [board.piece_index[unit] for own in units for unit in own]
    owners = _owners(units)
    near, standing = np.zeros((2, len(units), len(board.provinces)))
    np.add.at(near, owners, _graph(board)[1][numbers])
    standing[owners, board.piece_province[numbers]] = 1
    return near, standing


def _owners(names: Names) -> list[int]:
    """The power of every name."""
    return [power for power, own in enumerate(names) for _ in own]


def _strongest_other(*counts: np.ndarray) -> np.ndarray:
    """For each power the largest count of any other one: [counts, powers, provinces] from [powers, provinces] each."""
    together = np.array(counts)
    ranked = np.sort(together, axis=1)
    first, second = ranked[:, -1:], ranked[:, -2:-1]
    return np.where(together == first, second, first)


def _center_values(
    board: Board, sizes: np.ndarray, menaces: np.ndarray, centers: Names, weights: Weights
) -> np.ndarray:
    """The values of centers: a foreign one by its owner's size, an own one by its largest neighbor's.

    Args:
        sizes: of each power.
        menaces: [powers, provinces] the size of the largest other power that can step there.

    Returns:
        float64 [powers, provinces].
    """
    owned, owners = [board.province_index[center] for own in centers for center in own], _owners(centers)
    values = np.zeros(menaces.shape)
    values[:, board.center_province] = weights.attack * _size(0)
    values[:, owned] = weights.attack * sizes[owners]
    values[owners, owned] = weights.defense * menaces[owners, owned]
    return values


def _size(centers: int) -> int:
    """The size that the heuristic assigns to a power with so many centers."""
    return centers**2 + 4 * centers + 16


@functools.lru_cache(maxsize=32)
def _graph(board: Board) -> tuple[np.ndarray, np.ndarray]:
    """float64 [pieces, pieces]: 1 for a place and its neighbors; float64 [pieces, provinces]: 1 for a step."""
    spread = np.eye(len(board.pieces))
    reach = np.zeros((len(board.pieces), len(board.provinces)))
    for number, piece in enumerate(board.pieces):
        steps = [board.piece_index[f"{piece[0]} {location}"] for location in board.moves[piece]]
        spread[number, steps] = 1
        reach[number, board.piece_province[steps]] = 1
    return spread, reach


@functools.lru_cache(maxsize=96)
def _proximity(board: Board, season: str) -> np.ndarray:
    """float64 [pieces, pieces]: how much of the value of a piece's place reaches another piece, in parts of 1 / `UNIT`.

    All entries and their sums are whole numbers, so that equal values compare equal in any sequence of summation.
    """
    spread = _graph(board)[0].T
    total, step = np.zeros(spread.shape), UNIT * np.eye(len(spread))
    for weight in WEIGHTS[season].proximity:
        total += weight * step
        step = step @ spread / NEIGHBORS
    return total
