"""The profile of a point of the frontier: a path and randomized punishments, from a file of `FrontierPoint.save`.

The file has one `evaluation.exact.DrawnCertificate` per deviating power. For each listed position and years left it has
a mix of joint orders, from which all others draw jointly.
"""

from __future__ import annotations

import functools
import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from agents.runtime.files import parse_json
from agents.toy_boards.archives import DAMAGE, content
from agents.toy_boards.listed_orders import Listing, Orders, by_giver, position_key
from agents.toy_boards.punishing import punishing_orders
from agents.toy_boards.shape import clique_of
from welfare_env import Board, Game, Rules, load_board
from welfare_env.engine import State, layout_of
from welfare_env.errors import WelfareEnvError

if TYPE_CHECKING:
    from welfare_env.game.history import PhaseRecord
    from welfare_env.game.position import Position

FORMAT = "welfare-env frontier point 1"
OTHERS = 0  # value of `plan_sides` for the punishers' plans
ROWS, PLANS = ("rows", "years_left", "uppers"), ("plan_rows", "plan_sides", "weights", "orders")
Mix = list[tuple[int, Orders]]  # weight, orders of all punishers


class DrawnOrders:
    """The path of a point of the frontier, and the mixes against a deviator. Never changes; copies share it.

    Args:
        path: a file of `evaluation.exact.FrontierPoint.save`, for errors.
        data: its content.

    Raises:
        ValueError: not a point of the frontier.

    Attributes:
        board, years: the game.
    """

    def __init__(self, path: Path, data: bytes) -> None:
        try:
            with np.load(io.BytesIO(data), allow_pickle=False) as file:
                header = parse_json(str(file["told"]))
                if header["format"] != FORMAT:
                    raise ValueError("it is of another format")
                if header.get("sight", 0) != 0:
                    raise ValueError("its players notice a deviation late; this policy notices it at once")
                if any("+" in each["deviator"] for each in header["certificates"]):
                    raise ValueError("it has certificates of pairs; this policy punishes single powers only")
                self.board, self.years = load_board(header["map_name"]), int(header["years"])
                deviators = [self.board.power_index[each["deviator"]] for each in header["certificates"]]
                self._mixes = {who: _Mixes(self.board, who, file, number) for number, who in enumerate(deviators)}
            if sorted(self._mixes) != list(range(len(self.board.powers))):
                raise ValueError("there is not one certificate for each power")
            self._path, self._points = _played(self.board, self.years, dict(header["path"]))
        except (*DAMAGE, WelfareEnvError) as error:
            raise ValueError(
                f"point={str(path)!r:.200}: no point of the frontier of a toy board ({error!r:.100})"
            ) from error

    def __deepcopy__(self, memo: dict[int, object]) -> DrawnOrders:
        return self

    def has(self, position: Position) -> bool:
        """Whether a position is on the path."""
        known = self._path.get(position.phase)
        return known is not None and known[0] == self._key(position.state)

    def path_orders(self, phase: str) -> Orders:
        """Everybody's orders on the path in a phase."""
        return self._path[phase][1]

    def path_points(self) -> dict[str, int]:
        """Each power's points on the path."""
        return dict(self._points)

    def left_by(self, history: Iterable[PhaseRecord]) -> str | None:
        """The first power to leave the path; None if no power has.

        It is a power whose orders differ from the path's in the phase in which the game left the path. If there are
        several, the first in the board's order.
        """
        for record in history:
            if self.has(record.position) and not record.after.state.done and not self.has(record.after):
                for power in self.board.powers:
                    given = record.orders.get(power, ())
                    if _without_holds(given) != _without_holds(self.path_orders(record.phase).get(power, ())):
                        return power
        return None

    def mix(self, state: State, deviator: str) -> Mix:
        """The mix of all others: joint orders with weights, in a fixed sequence.

        In unlisted positions, the orders of `agents.toy_boards.punishing`.
        """
        years_left, number = self.years - state.year, self.board.power_index[deviator]
        found = self._mixes[number].find(state, years_left)
        return found or [(1, punishing_orders(self.board, state, deviator))]

    def _key(self, state: State) -> bytes:
        return position_key(self._mixes[0].clique, state, self.years - state.year)


class _Mixes(Listing):
    """The others' mixes of one certificate."""

    def __init__(self, board: Board, deviator: int, file: Mapping[str, np.ndarray], number: int) -> None:
        super().__init__(board, deviator)
        arrays = {name: file[f"{name}_{number}"] for name in (*ROWS, *PLANS)}
        _check(board, arrays)
        rows, left, uppers, plan_rows, sides, weights, orders = (arrays[name] for name in (*ROWS, *PLANS))
        texts, layout = board.orders.texts, layout_of(board)
        mixes: dict[int, list[tuple[int, list[str]]]] = {}
        for plan in np.flatnonzero(sides == OTHERS).tolist():
            given = [texts[order] for order in orders[plan].tolist() if order >= 0]
            mixes.setdefault(int(plan_rows[plan]), []).append((int(weights[plan]), given))
        self._listed = {
            position_key(self.clique, State(layout, rows[row].astype(np.int32)), int(left[row])): mix
            for row, mix in mixes.items()
            if uppers[row] >= 0
        }

    def find(self, state: State, years_left: int) -> Mix | None:
        """The mix of a position; None if it is not listed, where the proof holds for any orders."""
        for names in self.renamings(self.deviator):
            if (found := self._listed.get(position_key(self.clique, state, years_left, names))) is not None:
                return [(weight, self.renamed(texts, names, state)) for weight, texts in found]
        return None


def _check(board: Board, arrays: Mapping[str, np.ndarray]) -> None:
    """Raise ValueError if array sizes do not match or a number is out of range."""
    size = layout_of(board).size
    if arrays["rows"].ndim != 2 or arrays["rows"].shape[1] != size or arrays["orders"].ndim != 2:
        raise ValueError(f"rows and orders must be tables, rows of {size} numbers each")
    for names in (ROWS, PLANS):
        if len({len(arrays[name]) for name in names}) != 1 or any(arrays[name].dtype.kind != "i" for name in names):
            raise ValueError(f"{', '.join(names)} must be arrays of whole numbers of the same length")
    for name, low, end in (
        ("orders", -1, len(board.orders.texts)),
        ("plan_rows", 0, len(arrays["rows"])),
        ("weights", 1, 2**31),
        ("years_left", 1, 256),
    ):
        if arrays[name].size and not low <= arrays[name].min() <= arrays[name].max() < end:
            raise ValueError(f"{name} are not all from {low} to {end - 1}")


def _played(
    board: Board, years: int, path: Mapping[str, Sequence[str]]
) -> tuple[dict[str, tuple[bytes, Orders]], dict[str, int]]:
    """The path by phase, as position key and orders; and everybody's points."""
    game, clique = Game(board.name, Rules(press=None, years=years)), clique_of(board)
    found: dict[str, tuple[bytes, Orders]] = {}
    while not game.is_done:
        state = game.position.state
        given = by_giver(board, path.get(game.phase, ()), state)
        found[game.phase] = (position_key(clique, state, years - state.year), given)
        for power, orders in given.items():
            game.submit(power, orders)
        game.advance()
    return found, dict(game.welfare)


def _without_holds(orders: Iterable[str]) -> set[str]:
    return {order for order in orders if not order.endswith(" H")}


def drawn_orders(path: Path) -> DrawnOrders:
    """The orders of a file, cached by its content; errors as `DrawnOrders`, or the file cannot be read."""
    return _drawn_orders(path, content(path, "point"))


_drawn_orders = functools.lru_cache(maxsize=8)(DrawnOrders)
