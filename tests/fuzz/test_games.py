"""Odd orders, maps and pictures."""

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from hypothesis import strategies as st

from tests.fuzz.hunting import hunt, mangled, nasty, words
from welfare_env import Game, Rules, load_board
from welfare_env.board import loading, map_file
from welfare_env.board.toy_boards import toy_map
from welfare_env.errors import (
    MapFormatError,
    OrderError,
)
from welfare_env.render.drawing import drawing_of
from welfare_env.render.orders import marks_layer, orders_layer
from welfare_env.render.phase import phase_svg
from welfare_env.render.svg import board_svg

# Orders

UNITS = {"FRANCE": ["A PAR", "F MAO", "A LON", "F SPA/SC", "F ENG"], "RUSSIA": ["F STP/SC", "A NWY", "F SKA"]}
CENTERS = {"FRANCE": ["PAR", "BRE", "MAR"], "RUSSIA": ["STP", "MOS"]}
DISLODGED = {"FRANCE": {"A GAS": ["PAR", "BUR"], "F WES": ["SPA/SC", "TUN"]}}
GAMES = [
    Game.from_position("S1901M", UNITS, CENTERS),
    Game.from_position("W1901A", {"RUSSIA": ["A NWY"]}, CENTERS, welfare={"FRANCE": 2}, rules=Rules(transfers=True)),
    Game.from_position("F1901R", {}, CENTERS, dislodged=DISLODGED),
    Game("colonial", Rules(years=1)),
]
LEGAL = [
    [(power, order) for power in game.powers for orders in game.legal_orders(power).values() for order in orders]
    for game in GAMES
]
NAMES = {code: name for game in GAMES for code, name in game.board.long_names.items()}
NAMES |= {"-": "moves to", "S": "supports", "C": "convoys", "H": "holds position", "VIA": "via convoy"}
REMARKS = ["", "", " # west", " — to block Germany", " (or not)", "; A PAR H", " because I can", "."]
WORDS = [*"AFSCHRBD", "PAR", "BUR", "VIA", "SPA/SC", "Paris", "holds", "WAIVE", "GIVE", "FRANCE", "(north coast)", "->"]


@st.composite
def orders(draw: Any) -> tuple[int, str, str]:
    """A game, a power, and an order in some spelling."""
    number = draw(st.integers(0, len(GAMES) - 1))
    power, order = draw(st.sampled_from(LEGAL[number]))
    spelled = " ".join(NAMES.get(word, word) if draw(st.booleans()) else word for word in order.split())
    return (
        number,
        power,
        draw(mangled(st.sampled_from([order, spelled + draw(st.sampled_from(REMARKS))])) | words(WORDS)),
    )


@hunt(orders(), OrderError)
def test_orders(given: tuple[int, str, str]) -> None:
    """What is taken is legal, and means the same to the reader of language models; a refusal changes nothing."""
    number, power, text = given
    game = GAMES[number]
    before = game.orders(power), game.units
    try:
        game.submit(power, [text])
    except OrderError:
        assert (game.orders(power), game.units) == before
        raise
    (order,) = game.orders(power)
    game.submit(power, [])
    if order != "WAIVE" and not order.startswith("GIVE"):
        assert order in {legal for listed in game.legal_orders(power).values() for legal in listed}
        sheet = game.view(power).order_sheet()
        sheet.add(text)
        assert [game.board.orders.texts[number] for number in sheet.numbers] == [order]


# Maps and pictures

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


@hunt(st.tuples(st.lists(orders(), min_size=1, max_size=8), mangled(nasty)))
def test_pictures(given: Any) -> None:
    several, title = given
    number = several[0][0]
    texts = [(power, text) for game, power, text in several if game == number]
    game = GAMES[number].branch()
    for power, text in texts:
        game.submit(power, [text], strict=False)
    game.advance()
    check_svg(phase_svg(game))
    record, drawing = game.history[-1], drawing_of(game.board)
    refused = {power: [(text, title)] for power, text in texts}
    layers = orders_layer(drawing, game.powers, record.orders, record.results)
    check_svg(f"<svg>{layers}{marks_layer(drawing, record.orders, record.results, refused=refused)}</svg>")
    check_svg(board_svg(drawing, game.powers, {}, {}, title=title, notes=dict(texts)))


ELEMENTS = {"svg", "g", "path", "pattern", "rect", "circle", "text", "title", "use"}


def check_svg(svg: str) -> None:
    """A small picture of known elements, without a number that is none."""
    for element in ElementTree.fromstring(svg.encode()).iter():  # noqa: S314 - what we have just made
        assert element.tag.rpartition("}")[2] in ELEMENTS
        assert not any(re.search(r"nan|inf\b|[<>]", value) for value in element.attrib.values())
    assert len(svg) < 300_000
