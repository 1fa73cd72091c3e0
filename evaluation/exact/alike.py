"""Players who are alike: on toy boards, positions that differ only in who of them is who are worth the same.

That holds if the others treat alike those who are alike: in a position with other names they order the same under
these names, or what comes to the same, since the position does not change if some are exchanged. It is checked in every
position that is looked at, with other names each time.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from itertools import permutations, product

import numpy as np

from agents.cliques.shape import NOBODY, Clique, clique_of
from evaluation.exact.alike_kernels import relabel_rows
from welfare_env import Board
from welfare_env.engine import State, layout_of
from welfare_env.errors import UnknownMapError

Orders = Mapping[int, frozenset[int]]  # power -> order numbers


class NotAlikeError(Exception):
    """Some policy does not treat alike players alike."""


class Naming:
    """A way to exchange the names of players, with their homes and cores.

    Args:
        seat: power -> the power whose name it gets.
    """

    def __init__(self, clique: Clique, seat: tuple[int, ...]) -> None:
        self._board, self.seat = clique.board, seat
        board, names = clique.board, [piece.split()[-1] for piece in clique.piece]
        new = [*(clique.home(seat[core]) for core in range(clique.cores)), *(clique.cores + power for power in seat)]
        self._text = {name: names[place] for name, place in zip(names, new, strict=True)}
        self._piece = np.array([board.piece_index[self._renamed_text(piece)] for piece in board.pieces])
        self._location = np.array([board.location_index[self._text[name]] for name in board.locations])
        self._center = np.array([board.centers.index(self._text[name]) for name in board.centers])
        self._order: dict[int, int] = {}

    def state(self, state: State) -> State:
        """The position under the other names."""
        seat = np.array([*self.seat, NOBODY])
        units, lost, retreats = state.units, state.dislodged, state.retreats
        owners = np.empty_like(state.owners)
        owners[self._center] = seat[state.owners]
        units = np.stack([seat[units[:, 0]], self._piece[units[:, 1]]], axis=1)
        lost = np.stack([seat[lost[:, 0]], self._piece[lost[:, 1]]], axis=1)
        retreats = np.where(retreats >= 0, self._location[retreats], retreats)
        units = units[np.argsort(units[:, 0], kind="stable")]
        first = np.argsort(lost[:, 0], kind="stable")
        return state.replaced(units=units, dislodged=lost[first], retreats=retreats[first], owners=owners)

    def orders(self, orders: Orders) -> dict[int, frozenset[int]]:
        """Orders under the other names."""
        return {self.seat[power]: frozenset(map(self._renamed, given)) for power, given in orders.items()}

    def _renamed(self, order: int) -> int:
        if order not in self._order:
            table = self._board.orders
            self._order[order] = table.index[self._renamed_text(table.texts[order])]
        return self._order[order]

    def _renamed_text(self, text: str) -> str:
        return " ".join(self._text.get(word, word) for word in text.split())


class Alike:
    """The players of a toy board other than the deviator, who are alike.

    Raises:
        UnknownMapError: another board.
    """

    def __init__(self, board: Board, deviator: int) -> None:
        self._clique = clique = clique_of(board)
        layout = layout_of(board)
        self._shape = np.array([clique.cores, clique.powers, clique.cores + clique.powers, deviator])
        self._at = np.array(
            [
                *(layout.power, layout.piece, layout.lost_power, layout.lost_piece),
                *(layout.lost_options, layout.lost_option, layout.most_options, layout.owner),
            ]
        )
        pieces = [board.piece_index[piece] for piece in clique.piece]
        provinces = (board.piece_province, board.center_province, board.location_province)
        of_piece, of_center, of_location = (clique.ours[province] for province in provinces)
        self._maps = np.array([of_piece, pieces, of_center, of_location], np.int64)
        sharers = {0, clique.powers - 1} if clique.is_shared else set()
        others = [power for power in range(clique.powers) if power != deviator]
        self._namings: dict[tuple[int, ...], Naming] = {}  # at most 120
        self._groups = [[power for power in others if (power in sharers) == shared] for shared in (True, False)]

    @staticmethod
    def of(board: Board, deviator: int) -> Alike | None:
        """The players who are alike on a board; None if it is no toy board."""
        try:
            return Alike(board, deviator)
        except UnknownMapError:
            return None

    def relabel(self, rows: np.ndarray) -> None:
        """Give positions that differ in names the same names, in place: int32 [n, state size].

        Some that differ only in names may stay different.
        """
        relabel_rows(rows, self._shape, self._at, self._maps)

    def naming(self, state: State) -> Naming:
        """Other names for the players of a position; which ones, follows from the position."""
        rng = np.random.default_rng(zlib.crc32(state.row.tobytes()))
        seat = list(range(self._clique.powers))
        for group in self._groups:
            for power, new in zip(group, rng.permutation(group).tolist(), strict=True):
                seat[power] = new
        return self._naming(tuple(seat))

    def check(self, state: State, orders: Orders, naming: Naming, others: Orders) -> None:
        """Check that the orders in a position, and those in the same position under other names, come to the same.

        Raises:
            NotAlikeError: they do not.
        """
        renamed = naming.orders(orders)
        if renamed == others:
            return
        there = naming.state(state)
        if not any(again.orders(renamed) == others for again in self._keeping(there)):
            raise NotAlikeError

    def _keeping(self, state: State) -> Iterator[Naming]:
        """The ways to exchange names that change nothing in a position."""
        for exchanged in product(*map(permutations, self._groups)):
            seat = list(range(self._clique.powers))
            for group, names in zip(self._groups, exchanged, strict=True):
                for power, new in zip(group, names, strict=True):
                    seat[power] = new
            naming = self._naming(tuple(seat))
            if _parts(naming.state(state)) == _parts(state):
                yield naming

    def _naming(self, seat: tuple[int, ...]) -> Naming:
        if seat not in self._namings:
            self._namings[seat] = Naming(self._clique, seat)
        return self._namings[seat]


def _parts(state: State) -> tuple[object, ...]:
    """What there is in a position, in no order."""
    lost = zip(state.dislodged.tolist(), state.retreats.tolist(), strict=True)
    units, owners = state.units.tolist(), state.owners.tolist()
    return sorted(units), owners, sorted((who, sorted(places)) for who, places in lost)
