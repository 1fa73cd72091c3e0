"""Pictures: of games with orders that were refused, of boards of damaged map files, and in pixels."""

from __future__ import annotations

import itertools
import math
import os
import re
from xml.etree import ElementTree

import numpy as np

from benchmarks.hostile.doors import Broken, Door
from benchmarks.hostile.parts.maps import FOLDER, _map
from benchmarks.hostile.parts.orders import GAMES, _order
from benchmarks.hostile.text import NASTY, junk, mangled, pick
from welfare_env import load_board
from welfare_env.board import loading as mapfile
from welfare_env.errors import MapFormatError, PictureError
from welfare_env.render.drawing import drawing_of
from welfare_env.render.layout import RADIUS
from welfare_env.render.phase import phase_svg
from welfare_env.render.pixels import pixels
from welfare_env.render.svg import board_svg

SMALL = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><path d="M0 0h9v9z"/><text y="9">Par</text></svg>'


def _orders(rng: np.random.Generator) -> tuple[int, list[tuple[str, str]], str]:
    """A game, powers with orders, and a title."""
    texts = [_order(rng) for _ in range(int(rng.integers(1, 12)))]
    number = texts[0][0]
    drawing_of(GAMES[number].board)  # the first time, a large board takes a second to lay out
    return number, [(power, text) for game, power, text in texts if game == number], mangled(rng, pick(rng, NASTY))


def _draw_game(given: tuple[int, list[tuple[str, str]], str]) -> None:
    """The picture is XML of numbers, and small."""
    number, texts, title = given
    game = GAMES[number].branch()
    for power, text in texts:
        game.submit(power, [text], strict=False)
    game.advance()
    _check(phase_svg(game, -1))
    refused = {power: [(text, title)] for power, text in texts}
    _check(board_svg(drawing_of(game.board), game.powers, {}, {}, refused=refused, title=title, notes=dict(texts)))


def _check(svg: str) -> None:
    root = ElementTree.fromstring(svg.encode())  # noqa: S314 - what we have just made
    for element in root.iter():
        name = element.tag.rpartition("}")[2]
        if name not in {"svg", "g", "path", "rect", "circle", "text", "title", "use"}:
            raise Broken(f"an element {name}")
        if any(re.search(r"nan|inf\b|[<>]", value) for value in element.attrib.values()):
            raise Broken(f"attributes {element.attrib}")
    if len(svg) > 300_000:
        raise Broken(f"{len(svg)} bytes")


def _draw_map(text: str) -> None:
    """A map that can be loaded has a drawing without discs on each other."""
    path = FOLDER / f"picture-{os.getpid()}.map"
    path.write_text(text, encoding="utf-8", errors="replace")
    try:
        board = load_board(str(path))
        drawing = drawing_of(board)
        _check(board_svg(drawing, board.powers, board.start_units, board.start_centers, title=str(path)))
        spots = [province.unit for province in drawing.provinces.values()]
        if any(math.dist(a, b) < 2 * RADIUS for a, b in itertools.combinations(spots, 2)):
            raise Broken("discs lie on each other")
    finally:
        mapfile._load_source.cache_clear()
        mapfile._load_board.cache_clear()


def _picture(rng: np.random.Generator) -> tuple[str, object]:
    return mangled(rng, SMALL), (int(rng.integers(-2, 200)) if rng.random() < 0.8 else junk(rng))


def _draw_pixels(given: tuple[str, object]) -> None:
    svg, width = given
    picture = pixels(svg, width)  # type: ignore[arg-type]
    if picture.shape[1] != width or picture.shape[2] != 3:
        raise Broken(f"{picture.shape} for a width of {width}")


DOORS = [
    Door("a game as SVG", _orders, _draw_game, (), 4_000),
    Door("a map file as SVG", _map, _draw_map, (MapFormatError,), 4_000),
    Door("pixels", _picture, _draw_pixels, (PictureError,), 20_000),
]
