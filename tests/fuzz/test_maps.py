"""Odd maps."""

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from hypothesis import strategies as st

from tests.fuzz.hunting import hunt, mangled, nasty
from welfare_env import Game, Rules, load_board
from welfare_env.board import loading, map_file
from welfare_env.board.toy_boards import toy_map
from welfare_env.errors import MapFormatError
from welfare_env.render.drawing import drawing_of
from welfare_env.render.svg import board_svg

MAP_WORDS = [
    *("LAND", "COAST", "WATER", "PORT", "SHUT", "AMEND", "ABUTS", "UNOWNED", "DROP", "OWNS", "CENTERS", "HOME", "USE"),
    *("INHABITS", "UNITS", "DUMMY", "ALL", "EXCEPT", "RULE", "VICTORY", "BEGIN", "MAP", "pure", "AAA", "BBB", "#"),
]


@st.composite
def maps(draw: Any) -> str:
    """A toy board's file with a few words changed."""
    lines = toy_map("clique:3").split("\n")
    for _ in range(draw(st.integers(1, 3))):
        row = draw(st.integers(0, len(lines) - 1))
        parts = lines[row].split(" ")
        place = draw(st.integers(0, len(parts) - 1))
        parts[place : place + draw(st.integers(0, 1))] = draw(st.lists(st.sampled_from(MAP_WORDS) | nasty, max_size=2))
        lines[row] = " ".join(parts)
    return "\n".join(lines)


@hunt(maps() | mangled(toy_map("clique:3")), MapFormatError, slow=10)
def test_maps(text: str) -> None:
    """What can be loaded can be played by both engines and drawn."""
    path = Path.cwd() / "odd.map"
    path.write_text(text, encoding="utf-8", errors="replace")
    try:
        for engine in ("fast", "reference"):
            game = Game(str(path), Rules(years=1), engine=engine)
            while not game.is_done:
                for power in game.powers:
                    last = [choices[-1] for choices in game.legal_orders(power).values()]
                    game.submit(power, [] if game.phase.endswith("A") else last)
                game.advance()
        board = load_board(str(path))
        check_svg(board_svg(drawing_of(board), board.powers, board.start_units, board.start_centers, title=str(path)))
    finally:
        map_file._read_source.cache_clear()
        loading._load_board.cache_clear()


ELEMENTS = {"svg", "g", "path", "pattern", "rect", "circle", "text", "title", "use"}


def check_svg(svg: str) -> None:
    """A small picture of known elements, without a number that is none."""
    for element in ElementTree.fromstring(svg.encode()).iter():  # noqa: S314 - what we have just made
        assert element.tag.rpartition("}")[2] in ELEMENTS
        assert not any(re.search(r"nan|inf\b|[<>]", value) for value in element.attrib.values())
    assert len(svg) < 300_000
