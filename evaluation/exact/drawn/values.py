"""A deviator's gain from the paper's path against jointly randomizing punishers: certificates and tables.

>>> from evaluation.exact import certify_threats, check_drawn
>>> found = certify_threats("clique:3", t=1, deviator="PLAYERA", years=3)
>>> found.path_value, found.at_least, found.at_most
(6, Fraction(7, 1), Fraction(7, 1))
>>> check_drawn(found.certificate) == len(found.certificate)
True
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from agents.runtime.table_files import Row
from agents.scripted.punisher import excluded
from agents.toy_boards.shape import Clique, clique_of
from evaluation.checks import EvaluationError, board_of, check_whole
from evaluation.exact import graph_kernels as g
from evaluation.exact.cells.files import check_cell, check_seconds, read_cell_file
from evaluation.exact.cells.theorems import roles
from evaluation.exact.clique_proofs import path_of
from evaluation.exact.drawn.certificates import DrawnCertificate
from evaluation.exact.drawn.checking import check_drawn
from evaluation.exact.drawn.proofs import PathThreats
from evaluation.exact.drawn.threats import ThreatSearch, kind_of
from welfare_env.checks import quoted

FRACTION = re.compile(r"\d{1,12}(/[1-9]\d{0,11})?", re.ASCII)


@dataclass(frozen=True, repr=False)
class ThreatValue:
    """A deviator's points against a path if the others minimize them after its first deviation.

    The others randomize jointly, so no punishers, randomizing or not, can hold it below `at_least`.

    Attributes:
        map_name, years, deviator: the game, and the power that deviates.
        path_value: its points if it does not deviate.
        certificate: proof that it gets between `at_least` and `at_most`; see `check_drawn`.
        states: positions in the search so far.
    """

    map_name: str
    years: int
    deviator: str
    path_value: int
    certificate: DrawnCertificate
    states: int

    @property
    def at_least(self) -> Fraction:
        return self.certificate.bounds[0]

    @property
    def at_most(self) -> Fraction:
        return self.certificate.bounds[1]

    def __repr__(self) -> str:
        low, high = float(self.at_least - self.path_value), float(self.at_most - self.path_value)
        return f"<ThreatValue: {self.deviator} gains {low:.6g} to {high:.6g} in {self.years} years on {self.map_name}>"


def certify_threats(
    map_name: str, t: int, deviator: str, years: int, shared: str | None = None, threats: ThreatSearch | None = None
) -> ThreatValue:
    """A deviator's points against the paper's path pi_t and the best punishers, who may randomize jointly.

    Args:
        map_name: clique:n or shared-clique:n, n from 2 to 7.
        t: the year in whose Winter all disband.
        deviator: a power. years: length of the game, up to 10.
        shared: who gets the shared core; see `agents.PunisherPolicy`.
        threats: a search of this board and kind of deviator to continue, of games of any length; None: a new one.

    Raises:
        EvaluationError, UnknownMapError, UnknownPowerError: invalid input of this kind.
    """
    board = board_of(map_name)
    clique, number = clique_of(board), board.power_index[board.check_power(deviator)]
    check_whole("years", years, 1, g.MOST_YEARS)
    check_whole("t", t, 1, years)
    try:
        outside = excluded(clique, shared)
    except ValueError as error:
        raise EvaluationError(str(error)) from error
    search = ThreatSearch(clique, number) if threats is None else _fitting(threats, clique, number)
    found = PathThreats(search, number, years, tuple(path_of(clique, outside, years, years - t)))
    found.solve()
    states = int(search.search.table.numbers[g.NODES])
    return ThreatValue(
        map_name=board.name,
        years=years,
        deviator=deviator,
        path_value=found.path_value,
        certificate=found.certificate(),
        states=states,
    )


def _fitting(threats: ThreatSearch, clique: Clique, deviator: int) -> ThreatSearch:
    """The search, if it is of this board and kind of deviator. Raises EvaluationError if not."""
    name, board = clique.board.powers[deviator], clique.board.name
    if not isinstance(threats, ThreatSearch):
        raise EvaluationError(f"threats={quoted(threats)}: give a ThreatSearch of {name} on {board}, or None")
    own = threats.search
    if (
        own.clique.board.name != board
        or threats.is_pair
        or kind_of(own.clique, (own.deviator,)) != kind_of(clique, (deviator,))
    ):
        who = " and ".join(own.clique.board.powers[each] for each in (own.deviator, own.partner) if each >= 0)
        raise EvaluationError(f"threats: a search of {who} on {own.clique.board.name}, not of {name} on {board}")
    return threats


@dataclass(frozen=True, repr=False)
class ThreatCell:
    """A kind of deviator's gain in a game of T years with disarmament in year 1.

    Attributes:
        map_name, years, role, deviator: see `evaluation.exact.cells.theorems.Cell`.
        path_value: its points on the path.
        at_least, at_most: bounds on its gain, as texts of fractions; the certificate was checked.
        positions: in the certificate. states: positions in the search so far.
        seconds: CPU seconds of the search and the certificate for this cell alone.
        check_seconds: CPU seconds of the checker.
    """

    map_name: str
    years: int
    role: str
    deviator: str
    path_value: int
    at_least: str
    at_most: str
    positions: int
    states: int
    seconds: float
    check_seconds: float

    @property
    def name(self) -> tuple[str, str, int]:
        """The cell's unique key."""
        return self.map_name, self.role, self.years

    @property
    def gain(self) -> str:
        """The gain as a fraction; as an interval if it is not exact."""
        if self.at_least == self.at_most:
            return self.at_least
        return f"{float(Fraction(self.at_least)):.5f} to {float(Fraction(self.at_most)):.5f}"

    def row(self) -> Row:
        """A row of the table "threats" of `evaluation.columns`."""
        row: Row = {"map": self.map_name, **{name: value for name, value in asdict(self).items() if name != "map_name"}}
        return row | {"at_least": float(Fraction(self.at_least)), "at_most": float(Fraction(self.at_most))}


def read_threats(path: Path) -> list[ThreatCell]:
    """The cells of a file, in sequence; an empty list if there is no file.

    Raises:
        EvaluationError: the file is unreadable, or a line is not a cell or has the key of an earlier one.
    """
    return read_cell_file(path, _checked_cell)


def _checked_cell(given: dict[str, Any]) -> ThreatCell:
    """A cell of the fields of a line. Raises EvaluationError or UnknownMapError if one is wrong."""
    check_cell(ThreatCell, given, roles, g.MOST_YEARS)
    for name in ("seconds", "check_seconds"):
        check_seconds(name, given[name])
    least, most = (_checked_fraction(name, given[name]) for name in ("at_least", "at_most"))
    if least > most:
        raise EvaluationError(f"at_least={least}: it is more than at_most={most}")
    return ThreatCell(**given)


def _checked_fraction(name: str, text: object) -> Fraction:
    if not isinstance(text, str) or not FRACTION.fullmatch(text):
        raise EvaluationError(f"{name}={quoted(text)}: give the text of a fraction, such as '1/2'")
    return Fraction(text)


def fill_threats(path: Path, map_name: str, years: int, report: Callable[[str], None] = lambda text: None) -> None:
    """Compute and check the cells of a board that are missing in a file, and append each to the file.

    Args:
        path: the file. map_name: clique:n or shared-clique:n. report: progress callback.
        years: the longest game, up to 10.

    Raises:
        EvaluationError, UnknownMapError: invalid input of this kind, not a file of threat values, or a position has too
            many joint orders.
    """
    check_whole("years", years, 1, g.MOST_YEARS)
    done = {cell.name for cell in read_threats(path)}
    for role, deviator in roles(map_name).items():
        wanted = [length for length in range(1, years + 1) if (map_name, role, length) not in done]
        if not wanted:
            continue
        board = board_of(map_name)
        threats = ThreatSearch(clique_of(board), board.power_index[deviator])
        threats.report = report
        for length in wanted:
            cell = _cell(map_name, length, role, deviator, threats)
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(cell)) + "\n")
            report(f"{map_name} {role}: T={length}, t=1: gain {cell.gain}")


def _cell(map_name: str, years: int, role: str, deviator: str, threats: ThreatSearch) -> ThreatCell:
    start = time.process_time()
    found = certify_threats(map_name, 1, deviator, years, threats=threats)
    solved = time.process_time()
    check_drawn(found.certificate)
    return ThreatCell(
        map_name=map_name,
        years=years,
        role=role,
        deviator=deviator,
        path_value=found.path_value,
        at_least=str(found.at_least - found.path_value),
        at_most=str(found.at_most - found.path_value),
        positions=len(found.certificate),
        states=found.states,
        seconds=round(solved - start, 2),
        check_seconds=round(time.process_time() - solved, 2),
    )
