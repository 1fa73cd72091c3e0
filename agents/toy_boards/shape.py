"""A toy board in the form of the kernels: numbered provinces, positions as two rows, orders as numbers and text."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from welfare_env import Board
from welfare_env.engine import State
from welfare_env.errors import UnknownMapError

MAX_CORES = 7
NOBODY = -1  # no owner, no unit
SUPPORT = 16  # orders of this number or higher are supports


@dataclass(frozen=True, eq=False)
class Clique:
    """The shape of clique:n or shared-clique:n.

    Attributes:
        board: the board.
        cores, powers: their numbers; there are cores + powers provinces.
        province: int64 [provinces], the board's number of each province here: first the cores, then each power's leaf.
        ours: int64 [provinces], the inverse of `province`.
        piece: the unit in each province, as text ("A CAX").
    """

    board: Board
    cores: int
    powers: int
    province: np.ndarray
    ours: np.ndarray
    piece: tuple[str, ...]

    @property
    def is_shared(self) -> bool:
        """Whether the first and the last power share a core."""
        return self.powers > self.cores

    def home(self, power: int) -> int:
        """The core next to a power's leaf."""
        return power if power < self.cores else 0

    def rows(self, state: State) -> tuple[np.ndarray, np.ndarray]:
        """Owner and unit of each province: int8 [provinces] twice."""
        owner, unit = np.full((2, self.cores + self.powers), NOBODY, np.int8)
        owner[self.ours[self.board.center_province]] = state.owners
        units = state.units
        unit[self.ours[self.board.piece_province[units[:, 1]]]] = units[:, 0]
        return owner, unit

    def lost_rows(self, state: State) -> tuple[np.ndarray, np.ndarray]:
        """The power of each core's dislodged unit, int8 [cores], and its possible retreats as bits, int64 [cores]."""
        lost, options = np.full(self.cores, NOBODY, np.int8), np.zeros(self.cores, np.int64)
        for (power, piece), places in zip(state.dislodged.tolist(), state.retreats.tolist(), strict=True):
            core = self.ours[self.board.piece_province[piece]]
            lost[core] = power
            for place in places:
                if place >= 0:
                    options[core] |= 1 << int(self.ours[self.board.location_province[place]])
        return lost, options

    def relabelled(self, order: np.ndarray, new: np.ndarray, old: np.ndarray) -> np.ndarray:
        """Translate orders of a relabeled position back: int16 [provinces].

        Args:
            order: orders in the new numbering. new: each place's new number. old: the inverse.
        """
        found = np.full(len(new), NOBODY, np.int16)
        for place in range(len(new)):
            given = int(order[new[place]])
            if given >= SUPPORT:
                source, target = (given - SUPPORT) >> 4, given & 15
                found[place] = SUPPORT + 16 * old[source] + old[target]
            elif given >= 0:
                found[place] = old[given]
        return found

    def order_text(self, place: int, order: int) -> str:
        """The text of an order to the unit in a place."""
        if order == place:
            return f"{self.piece[place]} H"
        if order < SUPPORT:
            return f"{self.piece[place]} - {self.piece[order][2:]}"
        source, target = (order - SUPPORT) >> 4, order & 15
        move = "" if source == target else f" - {self.piece[target][2:]}"
        return f"{self.piece[place]} S {self.piece[source]}{move}"


@functools.lru_cache(maxsize=32)
def clique_of(board: Board) -> Clique:
    """The shape of a toy board.

    Raises:
        UnknownMapError: not a toy board, or more than seven cores.
    """
    kind, _, size = board.name.partition(":")
    if kind not in ("clique", "shared-clique") or int(size) > MAX_CORES:
        raise UnknownMapError(
            f"map {board.name!r:.80}: punishers play on clique:n and shared-clique:n, n from 2 to {MAX_CORES}"
        )
    homes = [board.homes[power][0] for power in board.powers]
    cores = [board.moves[f"A {home}"][0] for home in homes[: int(size)]]
    names = [*cores, *homes]
    province = np.array([board.provinces.index(name) for name in names])
    return Clique(board, int(size), len(homes), province, np.argsort(province), tuple(f"A {name}" for name in names))
