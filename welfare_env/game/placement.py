"""Positions given as strings, checked and turned into a state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from welfare_env.board.board import Board
from welfare_env.checks import quoted
from welfare_env.engine import PHASE_TYPES, RETREATS, Engine, State, layout_of
from welfare_env.errors import PositionError
from welfare_env.game.position import parse_phase

WELFARE_LIMIT = 10**9  # well within int32


def position_state(
    engine: Engine,
    phase: str,
    units: Mapping[str, Sequence[str]],
    centers: Mapping[str, Sequence[str]],
    dislodged: Mapping[str, Mapping[str, Sequence[str]]],
    welfare: Mapping[str, int],
) -> State:
    """The state of a position given as strings (see `Game.from_position`).

    Raises:
        PositionError, UnknownPowerError: the position is impossible; the message says what is possible.
    """
    board = engine.board
    number, year = parse_phase(phase, board, engine.rules.years)
    for power, names in [*_by_power(board, "units", units), *_by_power(board, "centers", centers)]:
        _check_names(f"units and centers of {power}", names)
    for power, waiting in _by_power(board, "dislodged", dislodged):
        for places in _mapping(f"dislodged of {power}", waiting).values():
            _check_names(f"retreats of {power}", places)
    if bool(any(dislodged.values())) != (PHASE_TYPES[number] == RETREATS):
        raise PositionError(f"phase {phase}: give dislodged units in retreat phases, and only there")
    standing, waiting = _rows(board, units, "units"), _rows(board, dislodged, "dislodged units")
    most = layout_of(board).most_dislodged
    if len(waiting) > most:
        raise PositionError(
            f"{len(waiting)} dislodged units: map {board.name!r} can have {most}, each with a dislodger"
        )
    influence = np.full(len(board.provinces), -1, np.int8)
    influence[board.piece_province[standing[:, 1]]] = standing[:, 0]
    return State.pack(
        layout_of(board),
        phase=number,
        year=year,
        units=standing,
        dislodged=waiting,
        retreats=_options(board, dislodged, standing if engine.rules.adjudication == "rulebook" else standing[:0]),
        owners=_owners(board, centers),
        welfare=_welfare(board, welfare),
        influence=influence,
    )


def _mapping(what: str, given: Any) -> Mapping[Any, Any]:
    if not isinstance(given, Mapping):
        raise PositionError(f"{what} is {quoted(given)}: give a dict")
    return given


def _by_power(board: Board, what: str, given: Any) -> list[tuple[str, Any]]:
    return [(board.check_power(power), value) for power, value in _mapping(what, given).items()]


def _check_names(what: str, names: object) -> None:
    if not isinstance(names, (list, tuple)) or not all(isinstance(name, str) for name in names):
        raise PositionError(f"{what} are {quoted(names)}: give a list of strings")


def _rows(board: Board, units: Mapping[str, Iterable[str]], what: str) -> np.ndarray:
    """int16 [units, 2], power and piece; at most one unit in a province."""
    rows: list[tuple[int, int]] = []
    seen: dict[str, str] = {}
    for power in board.powers:
        for unit in units.get(power, ()):
            if unit not in board.piece_index:
                options = [piece for piece in board.pieces if str(unit)[2:5] == piece[2:5]]
                right = f"; possible: {', '.join(options)}" if options else ""
                raise PositionError(f"{what} of {power}: {quoted(unit)} cannot stand on map {board.name!r}{right}")
            if unit[2:5] in seen:
                raise PositionError(f"{what}: {seen[unit[2:5]]} and {unit} ({power}) are in one province")
            seen[unit[2:5]] = f"{unit} ({power})"
            rows.append((board.power_index[power], board.piece_index[unit]))
    return np.array(rows, np.int16).reshape(-1, 2)


def _options(board: Board, dislodged: Mapping[str, Mapping[str, Sequence[str]]], standing: np.ndarray) -> np.ndarray:
    """int16 [dislodged, options], padded with -1; none of them occupied by a unit of `standing`."""
    occupied = {board.provinces[province] for province in board.piece_province[standing[:, 1]]}
    named = [(unit, places) for power in board.powers for unit, places in dislodged.get(power, {}).items()]
    padded = np.full((len(named), max((len(places) for _, places in named), default=0)), -1, np.int16)
    for row, (unit, places) in zip(padded, named, strict=True):
        if len(set(places)) < len(places) or not set(places) <= set(board.moves[unit]):
            near = ", ".join(board.moves[unit])
            raise PositionError(f"retreats of {unit} are {quoted(places)}: name some of {near}, each once")
        if taken := [place for place in places if place[:3] in occupied]:
            raise PositionError(f"retreats of {unit} are {quoted(places)}: {', '.join(taken)} is occupied")
        row[: len(places)] = [board.location_index[place] for place in places]
    return padded


def _owners(board: Board, centers: Mapping[str, Sequence[str]]) -> np.ndarray:
    owners = np.full(len(board.centers), -1, np.int8)
    for power, owned in centers.items():
        for center in owned:
            if center not in board.center_index:
                raise PositionError(
                    f"centers of {power}: {quoted(center)} is not a supply center of map {board.name!r}"
                )
            number = board.center_index[center]
            if owners[number] not in (-1, board.power_index[power]):
                raise PositionError(f"center {center} has two owners: {board.powers[owners[number]]} and {power}")
            owners[number] = board.power_index[power]
    return owners


def _welfare(board: Board, welfare: Mapping[str, int]) -> np.ndarray:
    points = np.zeros(len(board.powers), np.int32)
    for power, value in _by_power(board, "welfare", welfare):
        if isinstance(value, bool) or not isinstance(value, int) or abs(value) > WELFARE_LIMIT:
            raise PositionError(f"welfare of {power} is {quoted(value)}: give a whole number up to {WELFARE_LIMIT}")
        points[board.power_index[power]] = value
    return points
