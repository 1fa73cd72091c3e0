"""Punishers' orders in the positions of a certificate, from a file of `Certificate.save`.

A certificate of `evaluation.exact` lists positions with years left, and the others' orders against one deviator. By
symmetry, renamed orders serve against every deviator of the same kind.
"""

from __future__ import annotations

import functools
import io
from collections.abc import Iterable, Iterator
from itertools import permutations
from pathlib import Path
from typing import Protocol

import numpy as np

from agents.runtime.files import parse_json
from agents.toy_boards.archives import DAMAGE, content
from agents.toy_boards.shape import NOBODY, Clique, clique_of
from welfare_env import Board, load_board
from welfare_env.engine import PHASE, State, layout_of
from welfare_env.errors import WelfareEnvError

FORMAT = "welfare-env certificate 2"
Orders = dict[str, list[str]]  # power -> orders


class OfGame(Protocol):
    """Orders read from a file for one board and length of game."""

    board: Board
    years: int


class Listing:
    """Translates between the names in a list of positions with one deviator, and the names in a game.

    Args:
        board: a toy board. deviator: its number in the list.
    """

    def __init__(self, board: Board, deviator: int) -> None:
        self.board, self.clique, self.deviator = board, clique_of(board), deviator

    def renamings(self, deviator: int) -> Iterator[np.ndarray]:
        """New numbers of the powers that map a deviator to the listed one and preserve adjacency."""
        clique = self.clique
        sharers = {0, clique.cores} if clique.is_shared else set()
        for names in permutations(range(clique.powers)):
            if names[deviator] == self.deviator and all(
                (who in sharers) == (new in sharers) for who, new in enumerate(names)
            ):
                yield np.array(names)

    def renamed(self, texts: Iterable[str], names: np.ndarray, state: State) -> Orders:
        """Listed orders translated to the names of a position."""
        clique, back = self.clique, np.argsort(_places(self.clique, names))
        words = {clique.piece[new][2:]: clique.piece[old][2:] for new, old in enumerate(back)}
        return by_giver(self.board, [" ".join(words.get(word, word) for word in text.split()) for text in texts], state)


class ListedOrders(Listing):
    """The orders of a certificate, looked up under any renaming. Never changes; copies share it.

    Args:
        path: a file of `evaluation.exact.Certificate.save`, for errors.
        data: its content.

    Raises:
        ValueError: not a certificate, or not of a toy board and one deviator.
    """

    def __init__(self, path: Path, data: bytes) -> None:
        try:
            with np.load(io.BytesIO(data), allow_pickle=False) as file:
                header = parse_json(str(file["told"]))
                rows, years, given = file["rows"], file["years_left"], file["orders"]
            if header["format"] != FORMAT or len(header["deviators"]) != 1:
                raise ValueError("it is of another format, or of a coalition")
            board, self.years = load_board(header["map_name"]), int(header["years"])
            super().__init__(board, board.power_index[header["deviators"][0]])
            layout, texts = layout_of(self.board), self.board.orders.texts
            self._orders = {
                position_key(self.clique, State(layout, row.astype(np.int32)), int(left)): [
                    texts[n] for n in orders if n >= 0
                ]
                for row, left, orders in zip(rows, years, given.tolist(), strict=True)
            }
        except (*DAMAGE, WelfareEnvError) as error:
            raise ValueError(
                f"certificate={str(path)!r:.200}: no certificate of a toy board ({error!r:.100})"
            ) from error

    def __deepcopy__(self, memo: dict[int, object]) -> ListedOrders:
        return self

    def orders(self, state: State, years_left: int, deviator: int) -> Orders | None:
        """The others' orders; None if the position is not listed, where the proof holds for any orders."""
        for names in self.renamings(deviator):
            if (found := self._orders.get(position_key(self.clique, state, years_left, names))) is not None:
                return self.renamed(found, names, state)
        return None


def by_giver(board: Board, texts: Iterable[str], state: State) -> Orders:
    """Power -> its orders: by the owner of the unit or dislodged unit, or of the home of a build."""
    units = state.dislodged if len(state.dislodged) else state.units
    owners = {f"A {homes[0]}": power for power, homes in board.homes.items()}
    owners |= {board.pieces[piece]: board.powers[power] for power, piece in units.tolist()}
    found: Orders = {}
    for text in texts:
        found.setdefault(owners[" ".join(text.split()[:2])], []).append(text)
    return found


def _places(clique: Clique, names: np.ndarray) -> np.ndarray:
    """New numbers of the provinces when the powers get new numbers."""
    cores = [0 if clique.is_shared and core == 0 else names[core] for core in range(clique.cores)]
    return np.array([*cores, *(clique.cores + names)])


def position_key(clique: Clique, state: State, years_left: int, names: np.ndarray | None = None) -> bytes:
    """A key for a position and its years left, with the powers renumbered by `names` if given."""
    owner, unit = clique.rows(state)
    lost, options = clique.lost_rows(state)
    if names is not None:
        back, seats = np.argsort(_places(clique, names)), np.array([*names, NOBODY])
        owner, unit = seats[owner][back].astype(np.int8), seats[unit][back].astype(np.int8)
        lost = seats[lost][back[: clique.cores]].astype(np.int8)
        new = _places(clique, names)
        moved = [sum(1 << int(new[p]) for p in range(len(new)) if bits >> p & 1) for bits in options.tolist()]
        options = np.array(moved, np.int64)[back[: clique.cores]]
    return (
        bytes([int(state.row[PHASE]), years_left])
        + owner.tobytes()
        + unit.tobytes()
        + lost.tobytes()
        + options.tobytes()
    )


def listed_orders(path: Path) -> ListedOrders:
    """The orders of a file, cached by its content; errors as `ListedOrders`, or the file cannot be read."""
    return _listed_orders(path, content(path, "certificate"))


_listed_orders = functools.lru_cache(maxsize=8)(ListedOrders)


def check_board(listed: OfGame, board: Board, years: int) -> None:
    """Check that a certificate or a point of the frontier is of this game.

    Raises:
        ValueError: another board or number of years.
    """
    if (listed.board.name, listed.years) != (board.name, years):
        raise ValueError(
            f"certificate: of a game of {listed.years} years on {listed.board.name}, not of {years} on {board.name}"
        )
