"""The drawing of a board.

The standard board has a drawing of its own (`atlas/standard.json`, CC0); every other board is laid out as a graph.
"""

from __future__ import annotations

import functools
import json
from importlib import resources
from types import MappingProxyType
from typing import Any

from welfare_env.board.board import Board
from welfare_env.board.loading import load_board
from welfare_env.render.layout import graph_drawing
from welfare_env.render.places import KINDS, Drawing, DrawnProvince


@functools.lru_cache(maxsize=16)
def drawing_of(board: Board) -> Drawing:
    """The drawing of a board: a stored one for its provinces and borders, if any, else a layout of its graph."""
    return _atlas_drawing(board, _atlas()) if _has_standard_borders(board) else graph_drawing(board)


def _has_standard_borders(board: Board) -> bool:
    """Boards that differ from the standard board only in powers, units or centers use its drawing."""
    return board.moves == load_board("standard").moves


@functools.cache
def _atlas() -> dict[str, Any]:
    return json.loads(resources.files("welfare_env.render").joinpath("atlas/standard.json").read_text("utf-8"))


def _atlas_drawing(board: Board, data: dict[str, Any]) -> Drawing:
    provinces = {name: _province(board, name, data) for name in board.provinces}
    lines = {key: data[key] for key in ("impassable", "shores", "land_borders", "sea_borders")}
    return Drawing(board.name, data["width"], data["height"], MappingProxyType(provinces), **lines)


def _province(board: Board, name: str, data: dict[str, Any]) -> DrawnProvince:
    drawn, kind = data["provinces"][name], KINDS[board.kind[name]]
    return DrawnProvince(
        name=name,
        long_name=board.long_names[name],
        kind=kind,
        area=drawn["area"],
        strait=drawn.get("strait", ""),
        text=name if kind == "water" else name.title(),
        label=tuple(drawn["label"]),
        label_size=drawn["label_size"],
        unit=tuple(drawn["unit"]),
        dislodged=tuple(drawn["dislodged"]),
        center=tuple(drawn["center"]) if name in board.centers else None,
        coasts={place: tuple(spot) for place, spot in data["coasts"].items() if place[:3] == name},
    )
