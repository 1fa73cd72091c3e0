"""A game as one self-contained HTML page, without any network access.

Content from the game is stored as escaped JSON and displayed as text nodes, never as markup. A content security policy
allows only the page's own script and style, by their SHA-256.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from html import escape
from importlib import resources
from typing import Any

from welfare_env.board.board import Board
from welfare_env.render.drawing import drawing_of
from welfare_env.render.legend import order_samples
from welfare_env.render.marks import LETTER_BASE, SHAPES
from welfare_env.render.orders import PHRASES, class_of, marks_layer, orders_layer, read_orders
from welfare_env.render.palette import RESULTS, ink_on, power_colors, power_letters, power_names
from welfare_env.render.places import Drawing
from welfare_env.render.replay.annotations import NO_ANNOTATIONS, Annotations
from welfare_env.render.replay.data import page_data
from welfare_env.render.replay.events import Phase
from welfare_env.render.svg import board_svg

SCRIPTS = (
    *("dom", "game", "timeline", "view", "board", "result", "panels", "messages", "charts", "picture", "main"),
)  # concatenated in this order


def replay_page(
    record: Mapping[str, Any],
    board: Board,
    annotations: Annotations = NO_ANNOTATIONS,
    *,
    at_end: bool = False,
    live: bool = False,
) -> str:
    """The page of a game.

    Args:
        record: from `Game.record`.
        board: the game's board.
        annotations: additional content.
        at_end: whether the page starts at the last phase instead of the first.
        live: whether the game is still running: while the last phase is displayed, the page updates itself.
    """
    style, script = _style(), _script()
    data, looks = page_data(record, annotations), drawn_data(record, board)
    data |= {"places": looks["places"], "drawing": looks["drawing"], "at_end": at_end, "live": live}
    for part in ("powers", "phases"):
        data[part] = [one | drawn for one, drawn in zip(data[part], looks[part], strict=True)]
    parts = {
        "policy": _policy(style, script),
        "title": escape(data["title"]),
        "style": style,
        "board": _last_board(record, drawing_of(board)),
        "data": as_json(data),
        "script": script,
    }
    page = _filled(_file("page.html"), parts)
    return page.encode("utf-8", "replace").decode()  # halves of surrogate pairs, outside the JSON


def framed(page: str, height: int = 620) -> str:
    """The page in an iframe, for another page such as a notebook."""
    frame = f'width="100%" height="{height}" style="border: 0" title="Replay"'
    return f'<iframe srcdoc="{escape(page, quote=True)}" {frame}></iframe>'


def as_json(data: object) -> str:
    """JSON as valid UTF-8 that cannot close the surrounding HTML element."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return re.sub("[<>&\u2028\u2029\ud800-\udfff]", lambda sign: f"\\u{ord(sign[0]):04x}", text)


def drawn_data(record: Mapping[str, Any], board: Board) -> dict[str, Any]:
    """The data for drawing: places of units, shapes, colors, and every phase's orders as SVG."""
    drawing, powers = drawing_of(board), list(record["phases"][0]["state"]["units"])
    return {
        "places": {name: province.long_name for name, province in drawing.provinces.items()},
        "drawing": {
            "places": _places(drawing),
            "dislodged": {name: province.dislodged for name, province in drawing.provinces.items()},
            "shapes": SHAPES,
            "bases": LETTER_BASE,
            "results": _results(),
            "legend": _legend(record),
        },
        "powers": _signs(powers),
        "phases": [
            {
                "influence": phase["state"]["influence"],
                "drawn": _drawn_orders(drawing, powers, phase),
            }
            for phase in record["phases"]
        ],
    }


def _results() -> list[dict[str, str]]:
    """The results of orders, in order of precedence."""
    return [
        {"word": word, "told": phrase, "class": class_of(word), "color": RESULTS[class_of(word)]}
        for word, phrase in PHRASES.items()
    ]


def _legend(record: Mapping[str, Any]) -> list[list[str]]:
    """A sample, around (0, 0), of each mark of the game's orders, and its meaning."""
    read = [order for phase in record["phases"] for order in read_orders(phase["orders"], phase["results"])]
    results = (words for phase in record["phases"] for words in phase["results"].values())
    return [[sample((0, 0)), phrase] for sample, phrase in order_samples(read, results)]


def _drawn_orders(drawing: Drawing, powers: Sequence[str], phase: Phase) -> str:
    """Two groups of orders and marks: those under the units, and those above."""
    ordered = phase["orders"], phase["results"], phase["state"]["retreats"]
    refused = {power: [(each["order"], each["reason"]) for each in void] for power, void in phase["void"].items()}
    return orders_layer(drawing, powers, *ordered) + marks_layer(drawing, *ordered, refused)


def _signs(powers: Sequence[str]) -> list[dict[str, str]]:
    """Each power's color, display name, and the letter on its units with the letter's color."""
    colors, letters, names = power_colors(powers), power_letters(powers), power_names(powers)
    return [
        {"color": colors[power], "ink": ink_on(colors[power]), "letter": letters[power], "said": names[power]}
        for power in powers
    ]


def _places(drawing: Drawing) -> dict[str, Any]:
    """Location (provinces and coasts) -> center of a unit there."""
    provinces = {name: province.unit for name, province in drawing.provinces.items()}
    return provinces | {place: spot for each in drawing.provinces.values() for place, spot in each.coasts.items()}


def _last_board(record: Mapping[str, Any], drawing: Drawing) -> str:
    """The map of the last position, for browsers without JavaScript."""
    state = record["phases"][-1]["state"]
    units = {power: [unit for unit in units if unit[0] != "*"] for power, units in state["units"].items()}
    shown = {"influence": state["influence"], "dislodged": state["retreats"]}
    return board_svg(drawing, list(units), units, state["centers"], **shown)


def _policy(style: str, script: str) -> str:
    return (
        f"default-src 'none'; script-src {_source(script)}; style-src {_source(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _source(text: str) -> str:
    """The hash of a text for a content security policy."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@functools.cache
def _file(name: str) -> str:
    return resources.files("welfare_env.render.replay").joinpath(f"static/{name}").read_text("utf-8")


@functools.cache
def _style() -> str:
    return _file("page.css")


@functools.cache
def _script() -> str:
    """All scripts as one, without global variables."""
    return '"use strict";(() => {\n' + "\n".join(_file(f"{name}.js") for name in SCRIPTS) + "})();\n"


def _filled(template: str, parts: Mapping[str, str]) -> str:
    """Fill a template; placeholders within inserted parts are not replaced."""
    pieces = template.split("{")
    return pieces[0] + "".join(_part(piece, parts) for piece in pieces[1:])


def _part(piece: str, parts: Mapping[str, str]) -> str:
    name, _, rest = piece.partition("}")
    return parts[name] + rest
