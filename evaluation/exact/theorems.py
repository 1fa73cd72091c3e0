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

import numpy as np

from agents.runtime.files import reason
from agents.runtime.table_files import Row
from evaluation.checks import EvaluationError, board_of
from evaluation.exact.certify import punishers_search
from evaluation.exact.checking import Checker
from evaluation.exact.clique_proofs import Line, Proof
from evaluation.exact.graph_kernels import NODES
from welfare_env import Rules
from welfare_env.engine import State
from welfare_env.engine.engines import make_engine

VERSION = "0217f3fe5aa24753"  # of the punishers; must change when their orders change (a test checks this)


@dataclass(frozen=True, repr=False)
class Cell:
    """One deviator's gain in one game.

    Attributes:
        map_name, years, t: the game, and the year in whose Winter all disband.
        role: see `roles`. On shared-clique:n the "sharer" gets the shared core.
        deviator: the power.
        punishers: "stated", "ranked" or "best"; see `certify_punishers`.
        path_value, value: the deviator's points of the whole game on the path, and at most.
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
    """The distinct kinds of deviator on a toy board: role -> one power of this role."""
    powers = board_of(map_name).powers
    if not map_name.startswith("shared-"):
        return {"player": powers[0]}
    return {"sharer": powers[0], "excluded": powers[-1], "other": powers[1]}


def read_cells(path: Path) -> list[Cell]:
    """The cells of a file, in sequence; an empty list if there is no file.

    Raises:
        EvaluationError: the file is unreadable or has a line that is not a cell.
    """
    if not path.exists():
        return []
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise EvaluationError(f"{path}: no file of cells: {reason(error)}") from error
    found = []
    for number, text in enumerate(lines, 1):
        try:
            fields = json.loads(text)
            line = tuple(
                (phase, {who: tuple(texts) for who, texts in orders.items()}) for phase, orders in fields["line"]
            )
            found.append(Cell(**{"version": "", **fields, "line": line}))
        except (ValueError, TypeError, KeyError) as error:
            raise EvaluationError(f"{path}, line {number}: no cell of a table of theorems") from error
    return found


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
        years: the longest game, up to 8.
        most_checked: verify certificates up to this many years; None: all.
        report: progress callback.

    Raises:
        EvaluationError: not a file of cells, or its cells of this board are of another version of the punishers.
    """
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
                *(map_name, length, t, role, deviator, punishers, proof.path_value, proof.value),
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
        EvaluationError: the game is over after a phase other than Winter.
    """
    board = board_of(map_name)
    played = make_engine(engine, board, Rules(press=None, years=years))
    state = played.initial()
    yield state
    for phase, orders in line:
        numbers = [[board.orders.index[text] for text in orders.get(power, ())] for power in board.powers]
        state, _ = played.step(state, [np.array(given, np.int32) for given in numbers])
        yield state
        if state.done and phase[0] != "W":
            raise EvaluationError(f"the line ends in {phase}")
