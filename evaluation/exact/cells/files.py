"""Files of cells: results of exact computations, one JSON object per line. They are read as untrusted input."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Hashable
from dataclasses import fields
from pathlib import Path
from typing import Any, Protocol, TypeVar

from agents.runtime.files import read_file, reason, shown
from evaluation.checks import EvaluationError, check_whole
from welfare_env import WelfareEnvError
from welfare_env.checks import choice, quoted

MOST = 10**12  # of any count in a cell


class NamedCell(Protocol):
    """A result with a unique key."""

    @property
    def name(self) -> Hashable: ...


Cell = TypeVar("Cell", bound=NamedCell)


def read_cell_file(path: Path, make: Callable[[dict[str, Any]], Cell]) -> list[Cell]:
    """The cells of a file, in sequence; an empty list if there is no file.

    Args:
        make: makes a cell of its fields; raises a `WelfareEnvError` if a field is wrong.

    Raises:
        EvaluationError: the file is unreadable, or a line is not a cell or has the key of an earlier one; the message
            names the file, the line and the fault.
    """
    try:
        lines = read_file(path).splitlines()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise EvaluationError(f"{shown(path)}: no file of cells: {reason(error)}") from error
    found: dict[Hashable, tuple[int, Cell]] = {}
    for number, line in enumerate(lines, 1):
        try:
            cell = make(_parsed(line))
        except (WelfareEnvError, ValueError, RecursionError) as error:
            raise EvaluationError(f"{shown(path)}, line {number}: no cell: {str(error)[:400]}") from error
        first, _ = found.setdefault(cell.name, (number, cell))
        if first != number:
            raise EvaluationError(
                f"{shown(path)}, line {number}: the cell of line {first} again: delete one of the two"
            )
    return [cell for _, cell in found.values()]


def _parsed(line: bytes) -> dict[str, Any]:
    """The fields of a line. Raises ValueError or RecursionError if it is not a JSON object with unique names."""
    found = json.loads(line.decode("utf-8"), object_pairs_hook=_with_unique_names)
    if not isinstance(found, dict):
        raise ValueError(f"{quoted(found)}: give a JSON object")
    return found


def _with_unique_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a field occurs twice")
    return found


def check_cell(kind: type, given: dict[str, Any], roles_of: Callable[[str], dict[str, str]], most_years: int) -> None:
    """Check the names of a cell's fields, and the fields that all kinds of cells have.

    Args:
        kind: the dataclass. given: its fields. roles_of: the roles of a board; role -> power.

    Raises:
        EvaluationError, UnknownMapError: a field is missing, unknown or wrong.
    """
    names = [field.name for field in fields(kind)]
    for name in (*names, *given):
        if name not in given:
            raise EvaluationError(f"{name}: missing")
        if name not in names:
            raise EvaluationError(f"{quoted(name)}: unknown field; the fields are {', '.join(names)}")
    known = roles_of(given["map_name"])
    choice("role", given["role"], known, error=EvaluationError)
    choice("deviator", given["deviator"], [known[given["role"]]], error=EvaluationError)
    check_whole("years", given["years"], 1, most_years)
    for name in ("path_value", "positions", "states"):
        check_whole(name, given[name], 0, MOST)


def check_seconds(name: str, value: object) -> None:
    """Check a number of seconds.

    Raises:
        EvaluationError: not a finite number of 0 or more.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise EvaluationError(f"{name}={quoted(value)}: give seconds, a number of 0 or more")
