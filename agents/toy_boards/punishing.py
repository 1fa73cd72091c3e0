"""The punishing policy against a deviator on clique:n and shared-clique:n: orders as text, from the position alone.

It looks one movement phase ahead: of the sensible joint orders, it takes those that minimize the score of the
deviator's best reply (`agents.toy_boards.punishing_kernels` has the score). In Winter the punishers build at home
whenever they may, and disband only what they must; dislodged units retreat to their own leaf, else to another leaf,
else to a core. The policy is deterministic and symmetric: it relabels the position first
(`agents.toy_boards.symmetry_kernels`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from agents.toy_boards.kernels import MAX_PROVINCES
from agents.toy_boards.punishing_kernels import punishing_moves, punishing_retreats, punishing_winter
from agents.toy_boards.shape import NOBODY, Clique, clique_of
from agents.toy_boards.symmetry_kernels import new_place, relabel, relabel_lost, relabelling
from welfare_env import Board
from welfare_env.engine import FALL_MOVES, MOVEMENT, PHASE_TYPES, RETREATS, State

Orders = dict[str, list[str]]  # power -> orders


def punishing_orders(board: Board, state: State, deviator: str) -> Orders:
    """The others' punishing orders: power -> orders, all legal.

    They depend on units, centers and phase only, not on the year or the history.

    Args:
        board: clique:n or shared-clique:n, n from 2 to 7.
        state: a position of a game that is not over.
        deviator: the power to punish.

    Raises:
        UnknownMapError: another board. UnknownPowerError: not a power of the board.
    """
    clique = clique_of(board)
    number = board.power_index[board.check_power(deviator)]
    owner, unit = clique.rows(state)
    lost, options = clique.lost_rows(state)
    position = tuple(array.tobytes() for array in (owner, unit, lost, options))
    return {power: list(orders) for power, orders in _orders(clique, number, state.phase, *position).items()}


@functools.lru_cache(maxsize=20_000)
def _orders(
    clique: Clique, deviator: int, phase: int, owner: bytes, unit: bytes, lost: bytes, options: bytes
) -> dict[str, tuple[str, ...]]:
    given = _Relabelled(
        clique,
        deviator,
        np.frombuffer(owner, np.int8).copy(),
        np.frombuffer(unit, np.int8).copy(),
        np.frombuffer(lost, np.int8).copy(),
        np.frombuffer(options, np.int64).copy(),
    )
    kind = PHASE_TYPES[phase]
    if kind == MOVEMENT:
        found = given.moves(phase == FALL_MOVES)
    else:
        found = given.retreats() if kind == RETREATS else given.winter()
    return {power: tuple(orders) for power, orders in found.items()}


class _Relabelled:
    """A relabeled position, and the translation of its orders back to the original names."""

    def __init__(
        self, clique: Clique, deviator: int, owner: np.ndarray, unit: np.ndarray, lost: np.ndarray, options: np.ndarray
    ) -> None:
        self.clique, self.deviator, self.unit, self.lost = clique, deviator, unit, lost
        provinces = clique.cores + clique.powers
        shape = np.array([clique.cores, clique.powers, provinces, deviator])
        seat = np.zeros(MAX_PROVINCES, np.int64)
        front = relabelling(shape, owner, unit, lost, options, seat)
        self.new_owner, self.new_unit, self.new_lost = np.full((3, MAX_PROVINCES), NOBODY, np.int8)
        self.new_options = np.zeros(MAX_PROVINCES, np.int64)
        relabel(shape, seat, owner, unit, self.new_owner, self.new_unit)
        relabel_lost(shape, seat, lost, options, self.new_lost, self.new_options)
        self.shape = np.array([clique.cores, clique.powers, provinces, front])
        self.new = np.array([new_place(shape, seat, p) for p in range(provinces)])
        self.old = np.argsort(self.new)

    def moves(self, is_fall: bool) -> Orders:
        best = np.full(len(self.new), NOBODY, np.int16)
        punishing_moves(self.shape, self.new_owner, self.new_unit, is_fall, best)
        order = self.clique.relabelled(best, self.new, self.old)
        return self._by_power(self.unit, lambda place: self.clique.order_text(place, order[place]))

    def retreats(self) -> Orders:
        to = np.full(MAX_PROVINCES, NOBODY, np.int16)
        punishing_retreats(self.shape, self.new_lost, self.new_options, to)

        def text(place: int) -> str:
            chosen = to[self.new[place]]
            piece = self.clique.piece[place]
            return f"{piece} D" if chosen == NOBODY else f"{piece} R {self.clique.piece[self.old[chosen]][2:]}"

        return self._by_power(self.lost, text)

    def winter(self) -> Orders:
        gone, built = punishing_winter(self.shape, self.new_owner, self.new_unit)
        found: Orders = {power: [] for power in self._others()}
        for place, new in enumerate(self.new.tolist()):
            if gone >> new & 1:
                found[self._name(self.unit[place])].append(f"{self.clique.piece[place]} D")
            if built >> new & 1:
                found[self._name(place - self.clique.cores)].append(f"{self.clique.piece[place]} B")
        return found

    def _by_power(self, units: np.ndarray, text: Callable[[int], str]) -> Orders:
        found: Orders = {power: [] for power in self._others()}
        for place, power in enumerate(units.tolist()):
            if power not in (NOBODY, self.deviator):
                found[self._name(power)].append(text(place))
        return found

    def _others(self) -> list[str]:
        return [power for number, power in enumerate(self.clique.board.powers) if number != self.deviator]

    def _name(self, power: int) -> str:
        return self.clique.board.powers[power]
