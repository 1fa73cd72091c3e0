"""Translates between the nodes of a search, in which the deviator has a seat of its own, and positions on the board."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from agents.toy_boards.kernels import CORES, MAX_PROVINCES, POWERS, PROVINCES
from agents.toy_boards.shape import NOBODY, Clique
from agents.toy_boards.symmetry_kernels import new_place, relabelling
from evaluation.exact import graph_kernels as g
from evaluation.exact.punisher_search import PunisherSearch, no_retreats, opening
from welfare_env.engine import State


def path_of(clique: Clique, excluded: int, years: int, t: int) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Everybody's orders in the phases of the paper's path pi_t with moves or disbands; `excluded` gets no core."""
    year = clique.board.first_year
    leaves = [clique.piece[clique.cores + who] for who in range(clique.powers)]
    cores = [clique.piece[clique.home(who)] for who in range(clique.powers)]
    enter = tuple(f"{leaves[who]} - {cores[who][2:]}" for who in range(clique.powers) if who != excluded)
    stands = [leaves[who] if who == excluded else cores[who] for who in range(clique.powers)]
    return (f"S{year}M", enter), (f"W{year + t - 1}A", tuple(f"{piece} D" for piece in stands))


class Naming:
    """The names of a search's powers and places on the board, for a deviator of the kind that it was made for."""

    def __init__(self, search: PunisherSearch, deviator: int) -> None:
        self.search, self.clique, shape = search, search.clique, search.table.shape.copy()
        shape[-1] = deviator
        seat = np.zeros(MAX_PROVINCES, np.int64)
        relabelling(shape, *opening(self.clique), *no_retreats(), seat)
        self._node_power, self._node_place = seat[: shape[POWERS]], self._places(shape, seat)
        self._power, self._place = np.argsort(self._node_power), np.argsort(self._node_place)
        self._cores = int(shape[CORES])

    def _places(self, shape: np.ndarray, seat: np.ndarray) -> np.ndarray:
        return np.array([new_place(shape, seat, place) for place in range(shape[PROVINCES])])

    def row(self, node: int) -> np.ndarray:
        """A node as in `Certificate.rows`."""
        code, owner, unit, lost, options = g.position(self.search.table, node)
        parts = self._renamed((owner, unit, lost, options), self._power, self._place)
        return np.concatenate([[g.PHASE_OF[code]], *parts]).astype(np.int64)

    def node(self, state: State, grow: Callable[[], None]) -> int:
        """The node of a position of the engine."""
        rows = (*self.clique.rows(state), *self.clique.lost_rows(state))
        parts = self._renamed(rows, self._node_power, self._node_place)
        arrays = [*np.full((3, MAX_PROVINCES), NOBODY, np.int8), np.zeros(MAX_PROVINCES, np.int64)]
        for array, part in zip(arrays, parts, strict=True):
            array[: len(part)] = part
        while (found := int(g.insert(self.search.table, state.phase, *arrays))) < 0:
            grow()
        return found

    def _renamed(
        self, rows: tuple[np.ndarray, ...], power: np.ndarray, place: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Owners, units, dislodged units and retreats with other names; `place` has each place's new number."""
        back, powers, cores = np.argsort(place), np.append(power, NOBODY), self._cores
        owner, unit, lost = (powers[each[: len(place)]][back] for each in (rows[0], rows[1], self._widened(rows[2])))
        bits = rows[3][:cores, None] >> np.arange(len(place)) & 1
        return owner, unit, lost[:cores], (bits << place).sum(axis=1)[back[:cores]]

    def _widened(self, lost: np.ndarray) -> np.ndarray:
        found = np.full(len(self._place), NOBODY)
        found[: self._cores] = lost[: self._cores]
        return found

    def orders(self, node: int, order: np.ndarray) -> np.ndarray:
        """Joint orders at a node, as in `Certificate.orders`."""
        phase = g.PHASE_OF[self.search.table.keys[node, 0] & 15]
        if phase in (g.SPRING, g.FALL):
            return self.clique.relabelled(order, self._node_place, self._place).astype(np.int64)
        found = order[self._node_place].astype(np.int64)
        if phase == g.WINTER:
            return np.where(found >= g.DISBAND_HERE, found, NOBODY)
        return np.where(found >= 0, self._place[found], NOBODY)
