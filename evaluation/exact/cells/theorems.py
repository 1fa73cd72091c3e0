"""Tests the paper's theorems: the gain of each kind of deviator in each game, saved to a file of cells.

A cell is a board, a deviator, T years and disarmament in year t. Cells of the same board and deviator share a search,
so further cells are cheap. Rerunning continues a file: its cells are not recomputed.
"""

from __future__ import annotations

import functools
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from agents.runtime.table_files import Row
from agents.toy_boards.shape import clique_of
from evaluation.checks import EvaluationError, board_of, check_whole
from evaluation.exact.cells.files import MOST, check_cell, check_seconds, read_cell_file
from evaluation.exact.certify import PUNISHERS, punishers_search
from evaluation.exact.checking import Checker
from evaluation.exact.clique_proofs import Line, Proof
from evaluation.exact.graph_kernels import MOST_YEARS, NODES
from welfare_env import Board, Rules
from welfare_env.checks import choice, quoted
from welfare_env.engine import State
from welfare_env.engine.engines import make_engine
from welfare_env.game.position import Position

VERSION = "0217f3fe5aa24753"  # of the punishers; must change when their orders change (a test checks this)


@dataclass(frozen=True, repr=False)
class Cell:
    """One deviator's gain in one game.

    Attributes:
        map_name, years, t: the game, and the year in whose Winter all disband.
        role: see `roles`. On shared-clique:n the "sharer" gets the shared core.
        deviator: the power.
        punishers: "stated", "ranked" or "best"; see `certify_punishers`.
        path_value, value: the deviator's points of the whole game: on the path, and with its best deviation.
        positions: in the certificate; 0 if none was made. checked: whether the checker accepted the certificate.
        states: positions in the search so far. seconds: CPU seconds of the search for this cell alone.
        line: a game in which the deviator gets `value`, for cells with a gain and t = 1; else empty.
        version: of the punishers, `VERSION`.
    """

    map_name: str
    years: int
    t: int
    role: str
    deviator: str
    punishers: str
    path_value: int
    value: int
    positions: int = 0
    checked: bool = False
    states: int = 0
    seconds: float = 0.0
    line: Line = ()
    version: str = VERSION

    @property
    def gain(self) -> int:
        return self.value - self.path_value

    @property
    def disarmed(self) -> int:
        """Years of the path after the Winter in which all disband, T - t."""
        return self.years - self.t

    def __repr__(self) -> str:
        return f"<Cell: {self.role} on {self.map_name}, T={self.years}, t={self.t}, {self.punishers}: gain {self.gain}>"

    def row(self) -> Row:
        """A row of the table "theorems" of `evaluation.columns`."""
        return {
            "map": self.map_name,
            **{name: getattr(self, name) for name in ("years", "t", "role", "deviator", "punishers")},
            "profile_value": self.path_value,
            **{name: getattr(self, name) for name in ("value", "gain", "positions", "checked", "states", "seconds")},
            "version": self.version,
        }

    @property
    def name(self) -> tuple[str, str, str, int, int]:
        """The cell's unique key."""
        return self.map_name, self.role, self.punishers, self.years, self.t


def roles(map_name: str) -> dict[str, str]:
    """The distinct kinds of deviator on a toy board: role -> one power of this role.

    Raises:
        UnknownMapError: not clique:n or shared-clique:n with n from 2 to 7.
    """
    clique = clique_of(board_of(map_name))
    powers = clique.board.powers
    if not clique.is_shared:
        return {"player": powers[0]}
    return {"sharer": powers[0], "excluded": powers[-1], "other": powers[1]}


def read_cells(path: Path) -> list[Cell]:
    """The cells of a file, in sequence; an empty list if there is no file. Cells without a version have "".

    Raises:
        EvaluationError: the file is unreadable, or a line is not a cell or has the key of an earlier one.
    """
    return read_cell_file(path, _checked_cell)


def _checked_cell(given: dict[str, Any]) -> Cell:
    """A cell of the fields of a line. Raises EvaluationError or UnknownMapError if one is wrong."""
    given = {"version": "", **given}
    check_cell(Cell, given, roles, MOST_YEARS)
    check_whole("t", given["t"], 1, given["years"])
    check_whole("value", given["value"], given["path_value"], MOST)
    choice("punishers", given["punishers"], PUNISHERS, error=EvaluationError)
    choice("checked", given["checked"], (False, True), error=EvaluationError)
    check_seconds("seconds", given["seconds"])
    if not isinstance(given["version"], str):
        raise EvaluationError(f"version={quoted(given['version'])}: give a text")
    return Cell(**given | {"line": _checked_line(board_of(given["map_name"]), given["line"])})


def _checked_line(board: Board, given: Any) -> Line:
    """A line of play from JSON: a list of pairs, a phase and power -> orders. Raises EvaluationError if it is not."""
    form = "give a list of pairs: a phase, and power -> orders"
    if not isinstance(given, list):
        raise EvaluationError(f"line={quoted(given)}: {form}")
    for pair in given:
        if (
            not isinstance(pair, list)
            or len(pair) != 2
            or not isinstance(pair[0], str)
            or not isinstance(pair[1], dict)
        ):
            raise EvaluationError(f"line: {quoted(pair)}: {form}")
        for power, orders in pair[1].items():
            choice(f"line: {pair[0]:.40}: power", power, board.powers, error=EvaluationError)
            if not isinstance(orders, list):
                raise EvaluationError(f"line: {pair[0]:.40}: {power}: {quoted(orders)}: give a list of orders")
            for text in orders:
                if not isinstance(text, str) or text not in board.orders.index:
                    raise EvaluationError(f"line: {pair[0]:.40}: {quoted(text)}: no order of this board")
    return tuple((phase, {who: tuple(texts) for who, texts in orders.items()}) for phase, orders in given)


def fill(
    path: Path,
    map_name: str,
    years: int,
    punishers: str = "stated",
    most_checked: int | None = None,
    report: Callable[[str], None] = lambda text: None,
) -> None:
    """Compute the cells of a board that are missing in a file, shorter games first, and append each to the file.

    Args:
        path: the file.
        map_name, punishers: see `Cell`.
        years: the longest game, up to 10.
        most_checked: verify certificates up to this many years; None: all.
        report: progress callback.

    Raises:
        EvaluationError, UnknownMapError: invalid input of this kind, not a file of cells, or a file whose cells of this
            board are of another version of the punishers.
    """
    check_whole("years", years, 1, MOST_YEARS)
    if most_checked is not None:
        check_whole("most_checked", most_checked, 0, MOST)
    earlier = [cell for cell in read_cells(path) if (cell.map_name, cell.punishers) == (map_name, punishers)]
    if any(cell.version != VERSION for cell in earlier):
        raise EvaluationError(f"{path}: its cells of {map_name} are of another version: give another file")
    done = {cell.name for cell in earlier}
    for role, deviator in roles(map_name).items():
        wanted = [(length, t) for length in range(1, years + 1) for t in range(length, 0, -1)]
        wanted = [each for each in wanted if (map_name, role, punishers, *each) not in done]
        if not wanted:
            continue
        search = punishers_search(map_name, deviator, None, punishers)
        search.report = functools.partial(_report_size, report, f"{map_name} {role}")
        checker = Checker(map_name, (deviator,), is_symmetric=True)
        for length, t in wanted:
            start = time.process_time()
            proof = Proof(search, length, length - t)
            cell = Cell(
                map_name=map_name,
                years=length,
                t=t,
                role=role,
                deviator=deviator,
                punishers=punishers,
                path_value=proof.path_value,
                value=proof.value,
                states=int(search.table.numbers[NODES]),
                seconds=round(time.process_time() - start, 2),
            )
            if cell.gain and t == 1:
                cell = replace(cell, line=_replayed_line(cell, proof))
            if most_checked is None or length <= most_checked:
                cell = replace(cell, positions=checker.check(proof.certificate()), checked=True)
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(cell)) + "\n")
            report(f"{map_name} {role}: T={length}, t={t}: gain {cell.gain}")


def _report_size(report: Callable[[str], None], what: str, nodes: int) -> None:
    report(f"{what}: {nodes:,} positions")


def _replayed_line(cell: Cell, proof: Proof) -> Line:
    """A game in which the deviator gets the cell's value, verified on the reference engine."""
    line = proof.line()
    paid = payoffs(cell.map_name, cell.years, line, "reference")[cell.deviator]
    if paid != cell.value:
        raise EvaluationError(f"{cell.name}: the line pays {paid}, not {cell.value}: internal error; please report it")
    return line


def payoffs(map_name: str, years: int, line: Line, engine: str) -> dict[str, int]:
    """Everybody's points at the end of a line of play, by the given engine."""
    board = board_of(map_name)
    *_, state = states(map_name, years, line, engine)
    return dict(zip(board.powers, state.welfare.tolist(), strict=True))


def states(map_name: str, years: int, line: Line, engine: str = "fast") -> Iterator[State]:
    """The positions of a line of play, from the opening to the end.

    Raises:
        EvaluationError: an order is illegal, a phase is not the game's next one, or the game is over before the line.
    """
    board = board_of(map_name)
    played = make_engine(engine, board, Rules(press=None, years=years))
    state = played.initial()
    yield state
    for phase, orders in line:
        position = Position(played, state)
        if state.done or phase != position.phase:
            due = "the game is over" if state.done else f"the next phase is {position.phase}"
            raise EvaluationError(f"line: {phase!r:.40}: {due}")
        state, _ = played.step(state, [_order_numbers(position, who, orders.get(who, ())) for who in board.powers])
        yield state


def _order_numbers(position: Position, power: str, texts: tuple[str, ...]) -> np.ndarray:
    """Order numbers of a power's orders, int32. Raises EvaluationError if one is illegal."""
    found = [position.board.orders.index.get(text, -1) for text in texts]
    for text, order in zip(texts, found, strict=True):
        if position.slot_of(position.board.power_index[power], order) is None:
            raise EvaluationError(f"line: {position.phase}: {text!r:.60} is illegal for {power}")
    return np.array(found, np.int32)
