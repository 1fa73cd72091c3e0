"""Checks a certificate before its positions are played: value types and ranges, and canonical positions.

Positions go to compiled code that does not check them. They are compared by keys that ignore year, end of the game and
winner, so rows must not set these, and each position must have exactly one row.
"""

from __future__ import annotations

import numpy as np

from agents.toy_boards.shape import clique_of
from evaluation.checks import board_of
from evaluation.exact.certificates import ARRAYS, Certificate, CertificateError
from welfare_env import Board
from welfare_env.checks import is_whole, quoted
from welfare_env.engine import (
    DISLODGED,
    DONE,
    HEAD,
    PHASE,
    PHASE_TYPES,
    RETREATS,
    UNITS,
    WINNER,
    WINTER,
    YEAR,
    Layout,
    layout_of,
)
from welfare_env.errors import MapFormatError, UnknownMapError, UnknownPowerError

MOST_YEARS, MOST_POINTS = 100, 30_000


def check_header(certificate: Certificate) -> None:
    """Check the types and ranges of map, years, deviators, values and path.

    Raises:
        CertificateError: a field is wrong.
    """
    deviators = certificate.deviators
    if not isinstance(deviators, tuple) or not deviators or len(set(map(str, deviators))) < len(deviators):
        raise CertificateError(f"deviators={quoted(deviators)}: give a tuple of powers, each once")
    if type(certificate.is_symmetric) is not bool:
        raise CertificateError(f"is_symmetric={quoted(certificate.is_symmetric)}: give True or False")
    _check_names(certificate)
    for name, low, high in (("years", 1, MOST_YEARS), ("value", 0, MOST_POINTS), ("path_value", 0, MOST_POINTS)):
        value = getattr(certificate, name)
        if not is_whole(value) or not low <= value <= high:
            raise CertificateError(f"{name}={quoted(value)}: give a whole number from {low} to {high}")
    if not isinstance(certificate.path, tuple) or not all(map(_is_phase, certificate.path)):
        raise CertificateError(
            f"path={quoted(certificate.path)}: give a tuple of pairs: a phase, and a tuple of orders"
        )


def _check_names(certificate: Certificate) -> None:
    """Check that the board exists, is symmetric if the certificate says so, and has the deviators."""
    try:
        board = board_of(certificate.map_name)
        if certificate.is_symmetric:
            clique_of(board)
    except (UnknownMapError, MapFormatError) as error:
        raise CertificateError(f"map_name: {error}") from error
    try:
        for power in certificate.deviators:
            board.check_power(power)
    except UnknownPowerError as error:
        raise CertificateError(f"deviators: {error}") from error


def _is_phase(pair: object) -> bool:
    if not isinstance(pair, tuple) or len(pair) != 2:
        return False
    phase, orders = pair
    return isinstance(phase, str) and isinstance(orders, tuple) and all(isinstance(text, str) for text in orders)


def check_rows(certificate: Certificate) -> None:
    """Check that the arrays fit each other and the board, and that all positions are canonical.

    Raises:
        CertificateError: an array or position is wrong; the message names it and the fault.
    """
    board, arrays = board_of(certificate.map_name), {name: getattr(certificate, name) for name in ARRAYS}
    layout = layout_of(board)
    for name, (_, dimensions) in ARRAYS.items():
        array = arrays[name]
        if not isinstance(array, np.ndarray) or array.ndim != dimensions or array.dtype.kind not in "iu":
            raise CertificateError(f"{name}: give an array of whole numbers with {dimensions} dimensions")
        if len(array) != len(arrays["rows"]):
            raise CertificateError(f"{name}: {len(array)} entries for {len(arrays['rows'])} rows")
    if arrays["rows"].shape[1] != layout.size:
        raise CertificateError(f"rows: {arrays['rows'].shape[1]} numbers each; map {board.name} has {layout.size}")
    for name, low, high in (
        ("years_left", 1, certificate.years),
        ("claims", 0, MOST_POINTS),
        ("orders", -1, len(board.orders) - 1),
    ):
        wrong = np.argwhere((arrays[name] < low) | (arrays[name] > high))
        if len(wrong):
            place, value = int(wrong[0][0]), arrays[name][tuple(wrong[0])]
            raise CertificateError(f"position {place}: {name} has {value}: give numbers from {low} to {high}")
    for number, row in enumerate(arrays["rows"]):
        if fault := _fault(board, layout, row):
            raise CertificateError(f"position {number} is not canonical: {fault}")


def _fault(board: Board, at: Layout, row: np.ndarray) -> str:
    """A description of what is wrong with a row; "" if it is canonical."""
    head = {"YEAR": (YEAR, 0), "DONE": (DONE, 0), "WINNER": (WINNER, -1)}
    for name, (place, wanted) in head.items():
        if row[place] != wanted:
            return f"{name} is {row[place]}, not {wanted}"
    units, gone = int(row[UNITS]), int(row[DISLODGED])
    if not 0 <= row[PHASE] <= WINTER:
        return f"there is no phase {row[PHASE]}"
    if not 0 <= units <= at.most_units or not 0 <= gone <= at.most_dislodged:
        return f"it has {units} units and {gone} dislodged units"
    if (gone > 0) != (PHASE_TYPES[row[PHASE]] == RETREATS):
        return f"{gone} dislodged units in phase {row[PHASE]}"
    if row[DONE + 1 : HEAD].any() or row[at.welfare :].any():
        return "points or influence are not 0"
    owners = row[at.owner : at.welfare]
    if owners.min() < -1 or owners.max() >= len(board.powers):
        return f"owners {owners.tolist()}"
    return (
        _pairs_fault(board, row[at.power : at.piece], row[at.piece : at.lost_power], units, "units")
        or _pairs_fault(
            board, row[at.lost_power : at.lost_piece], row[at.lost_piece : at.lost_options], gone, "dislodged units"
        )
        or _retreats_fault(board, at, row, gone)
    )


def _pairs_fault(board: Board, powers: np.ndarray, pieces: np.ndarray, count: int, what: str) -> str:
    """A fault unless powers and pieces are sorted, in distinct provinces, and padded with zeros; else ""."""
    if powers[count:].any() or pieces[count:].any():
        return f"entries after the last of {count} {what}"
    powers, pieces = powers[:count], pieces[:count]
    if not count:
        return ""
    if powers.min() < 0 or powers.max() >= len(board.powers) or pieces.min() < 0 or pieces.max() >= len(board.pieces):
        return f"{what} {powers.tolist()} {pieces.tolist()}"
    pairs = list(zip(powers.tolist(), pieces.tolist(), strict=True))
    if pairs != sorted(pairs) or len(set(board.piece_province[pieces].tolist())) < count:
        return f"{what} {pairs} are not sorted, or two are in one province"
    return ""


def _retreats_fault(board: Board, at: Layout, row: np.ndarray, gone: int) -> str:
    """A fault unless each dislodged unit's retreats are neighbors, sorted, and padded with zeros; else ""."""
    counts = row[at.lost_options : at.lost_option]
    places = row[at.lost_option : at.owner].reshape(at.most_dislodged, at.most_options)
    if counts[gone:].any() or places[gone:].any():
        return "retreats of units that are not dislodged"
    for number, (count, options) in enumerate(zip(counts[:gone].tolist(), places[:gone], strict=True)):
        near = {board.location_index[place] for place in board.moves[board.pieces[row[at.lost_piece + number]]]}
        listed = options[: max(0, count)].tolist()
        if not 0 <= count <= at.most_options or listed != sorted(set(listed)) or not near.issuperset(listed):
            return f"retreats {listed} are not sorted, or not adjacent"
        if options[count:].any():
            return f"entries after the last of {count} retreats"
    return ""
