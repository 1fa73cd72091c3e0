"""Keys of positions on toy boards: positions that differ only in players' names have the same key.

The checker of certificates uses these keys; they share no code with the search. Every key comes from an automorphism of
the board, so positions with equal keys are equal up to names.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

import numpy as np

from welfare_env import Board
from welfare_env.engine import State, layout_of

Key = bytes


class Renamings:
    """Computes keys that are equal for positions that differ only in the names of the other powers.

    Args:
        fixed: powers that keep their names. is_symmetric: whether the others may be renamed.
    """

    def __init__(self, board: Board, fixed: list[int], is_symmetric: bool) -> None:
        self._board, self._layout = board, layout_of(board)
        powers = range(len(board.powers))
        maps = list(automorphisms(board, fixed)) if is_symmetric else [tuple(powers)]
        self._powers = np.array([(*names, -1) for names in maps])
        self._places = np.array([places_of(board, names) for names in maps])  # new place of each province
        self._from = np.argsort(self._places, axis=1)
        self._named = np.argsort(self._powers[:, :-1], axis=1)  # the power that gets each name
        self._home = [board.provinces.index(board.homes[power][0]) for power in board.powers] if is_symmetric else []
        self._core = [board.provinces.index(board.moves[f"A {board.provinces[home]}"][0]) for home in self._home]
        self._known: dict[bytes, Key] = {}

    def key(self, row: np.ndarray) -> Key:
        """The key of a position, int32 [state size]; it ignores year and points."""
        text = row.astype(np.int16).tobytes()
        if text not in self._known:
            self._known[text] = self._new_key(State(self._layout, row))
        return self._known[text]

    def _new_key(self, state: State) -> Key:
        board, provinces = self._board, len(self._board.provinces)
        owner, unit, lost = np.full((3, provinces), -1)
        owner[board.center_province] = state.owners
        units, gone = state.units, state.dislodged
        unit[board.piece_province[units[:, 1]]] = units[:, 0]
        lost[board.piece_province[gone[:, 1]]] = gone[:, 0]
        chosen = self._candidates(owner, unit, lost)
        powers, source = self._powers[chosen], self._from[chosen]
        parts = [np.take_along_axis(powers[:, part], source, 1) for part in (owner, unit, lost)]
        if len(gone):
            open_to = np.zeros((provinces, provinces), np.int64)
            for piece, places in zip(gone[:, 1], state.retreats, strict=True):
                open_to[board.piece_province[piece], board.location_province[places[places >= 0]]] = 1
            parts.append(np.array([open_to[each][:, each].ravel() for each in source]))
        names = np.concatenate(parts, axis=1).astype(np.int8)
        least = names[np.lexsort(names.T[::-1])[0]]
        return bytes([int(state.phase)]) + least.tobytes()

    def _candidates(self, owner: np.ndarray, unit: np.ndarray, lost: np.ndarray) -> np.ndarray:
        """The renamings to try, those that sort the players by the state of their homes: bool [renamings]."""
        if len(self._powers) == 1:
            return np.ones(1, bool)
        signs = []
        for power, (home, core) in enumerate(zip(self._home, self._core, strict=True)):
            here = [owner[home], unit[home], owner[core], unit[core], lost[core]]
            code = (owner == power).sum() * 16 + (unit == power).sum()
            for who in here:
                code = 3 * code + (0 if who < 0 else 1 if who == power else 2)
            signs.append(code)
        sorted_signs = np.array(signs)[self._named]
        steps = np.maximum.accumulate(sorted_signs, axis=1).sum(axis=1) - sorted_signs.sum(axis=1)
        return np.asarray(steps == steps.min())


def automorphisms(board: Board, fixed: list[int]) -> Iterator[tuple[int, ...]]:
    """Renamings of the powers that keep `fixed` powers and preserve adjacency."""
    powers = range(len(board.powers))
    pairs = {frozenset((piece[2:], place)) for piece, places in board.moves.items() for place in places}
    for names in permutations(powers):
        if all(names[power] == power for power in fixed):
            places = places_of(board, names)
            new = {place: board.provinces[places[number]] for number, place in enumerate(board.provinces)}
            if {frozenset(new[place] for place in pair) for pair in pairs} == pairs:
                yield names


def places_of(board: Board, names: tuple[int, ...]) -> list[int]:
    """The new number of each province when the powers are renamed: homes follow owners, cores follow homes."""
    new: dict[str, str] = {}
    for power, renamed in enumerate(names):
        home, other = (board.homes[board.powers[each]][0] for each in (power, renamed))
        new[home] = other
        new.setdefault(board.moves[f"A {home}"][0], board.moves[f"A {other}"][0])
    return [board.provinces.index(new[place]) for place in board.provinces]
