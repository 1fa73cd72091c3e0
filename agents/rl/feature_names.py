"""The names of a network's inputs (`agents.rl.inputs`), along each axis of each array.

>>> import welfare_env
>>> from agents.rl.feature_names import feature_names
>>> from agents.rl.inputs import InputEncoder
>>> reader = InputEncoder(welfare_env.load_board("clique:3"), welfare_env.Rules(press=None))
>>> provinces, columns = feature_names(reader)["boards"]
>>> columns[:4]
('unit of self', 'unit of power +1', 'unit of power +2', 'fleet')
"""

from __future__ import annotations

from agents.rl.inputs import InputEncoder
from welfare_env.board.board import Board
from welfare_env.engine import layout_of
from welfare_env.envs.feature_names import board_columns, message_columns, message_rows, seats

CANDIDATE = (
    "an own unit goes to the destination",
    "an own unit stays at the destination",
    "own help is given to this order",
    "helps what was ordered",
    "helps what was ordered otherwise",
)
"""Features of `agents.rl.inputs.coordinate`: how a candidate fits the orders of earlier rows."""
PLACES = ("kind", "province ordered", "destination", "province helped")
"""Columns of `agents.rl.inputs.order_places`."""

Axes = tuple[tuple[str, ...], ...]


def feature_names(reader: InputEncoder, observer: str | None = None) -> dict[str, Axes]:
    """Array -> the names along each of its last axes.

    Args:
        reader: the encoder of the map and the rules.
        observer: the deciding power; without one the powers are "self", "power +1", ...

    Returns:
        "boards": provinces and columns (`Inputs.boards`); columns of welfare are always 0 if the reader hides points.
        "heard": players and columns of words (`Inputs.heard`), if there are message rounds of words.
        "candidates": features of a candidate (`coordinate`). "places": of an order (`order_places`).
        "packed": numbers of a packed observation (`InputEncoder.pack`): the engine's state, words, round and power.

    Raises:
        UnknownPowerError: no such power.
    """
    board, names = reader.board, seats(reader.board, observer)
    found: dict[str, Axes] = {"boards": (board.provinces, board_columns(board, observer))}
    words: tuple[str, ...] = ()
    if reader.message_rounds:
        rows, columns = message_rows(board, reader.rules, observer)[: len(names)], message_columns(reader.rules)
        found["heard"] = (rows, columns)
        words = (*(f"{row}: {column}" for row in rows for column in columns), "message round")
    packed = (*state_names(board), *words, "power")
    return found | {"candidates": (CANDIDATE,), "places": (PLACES,), "packed": (packed,)}


def state_names(board: Board) -> tuple[str, ...]:
    """The numbers of an engine's state (`welfare_env.engine.Layout`), which is the same for all observers."""
    layout = layout_of(board)
    names = ["phase", "year", "units", "dislodged units", "winner", "done", "unused 1", "unused 2"]
    for what in ("power", "piece"):
        names += [f"unit {number}: {what}" for number in range(layout.most_units)]
    for what in ("power", "piece", "retreats"):
        names += [f"dislodged {number}: {what}" for number in range(layout.most_dislodged)]
    retreats = range(layout.most_options)
    names += [f"dislodged {unit}: retreat {place}" for unit in range(layout.most_dislodged) for place in retreats]
    names += [f"owner of {center}" for center in board.centers]
    names += [f"welfare of {power}" for power in board.powers]
    return (*names, *(f"influence in {province}" for province in board.provinces))
