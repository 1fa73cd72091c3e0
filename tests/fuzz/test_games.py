"""Odd orders, positions, saved games, maps and calls of environments."""

import functools
import json
import os
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import strategies as st

import welfare_env
from tests.fuzz.hunting import damaged, encoded, hunt, mangled, nasty, odd, words
from welfare_env import Game, Rules, load_board
from welfare_env.board import loading, map_file
from welfare_env.board.toy_boards import toy_map
from welfare_env.errors import (
    ActionError,
    GameOverError,
    MapFormatError,
    OrderError,
    PressError,
    RecordError,
    RulesError,
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


# Saved games


@functools.cache
def played() -> Game:
    game = Game("pure", Rules(years=1, message_rounds=1, transfers=True))
    game.send("FRANCE", "GERMANY", "Munich is yours.")
    game.submit("FRANCE", ["A PAR - BER", "A PAR - MOS"], strict=False)
    while not game.is_done:
        game.advance()
    return game


TEXT = json.dumps(played().record())
FILE = f"odd-{os.getpid()}"


@hunt(damaged(TEXT.encode()) | mangled(TEXT).map(encoded), RecordError)
def test_damaged_saves(content: bytes) -> None:
    """What can be loaded is the game that was saved."""
    Path(FILE).write_bytes(content)
    assert Game.load(FILE).record() == played().record()


# Maps and pictures

MAP_WORDS = [
    *("LAND", "COAST", "WATER", "PORT", "SHUT", "AMEND", "ABUTS", "UNOWNED", "DROP", "OWNS", "CENTERS", "HOME"),
    *(
        "INHABITS",
        "UNITS",
        "DUMMY",
        "ALL",
        "EXCEPT",
        "RULE",
        "VICTORY",
        "BEGIN",
        "MAP",
        "USE",
        "pure",
        "AAA",
        "BBB",
        "#",
    ),
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
    record, drawing, refused = (
        game.history[-1],
        drawing_of(game.board),
        {power: [(text, title)] for power, text in texts},
    )
    layers = orders_layer(drawing, game.powers, record.orders, record.results)
    check_svg(f"<svg>{layers}{marks_layer(drawing, record.orders, record.results, refused=refused)}</svg>")
    check_svg(board_svg(drawing, game.powers, {}, {}, title=title, notes=dict(texts)))


def check_svg(svg: str) -> None:
    """A small picture of known elements, without a number that is none."""
    for element in ElementTree.fromstring(svg.encode()).iter():  # noqa: S314 - what we have just made
        assert element.tag.rpartition("}")[2] in {
            "svg",
            "g",
            "path",
            "pattern",
            "rect",
            "circle",
            "text",
            "title",
            "use",
        }
        assert not any(re.search(r"nan|inf\b|[<>]", value) for value in element.attrib.values())
    assert len(svg) < 300_000


# Environments

PRESS, VARIANTS = [None, "tokens", "text"], ["welfare", "standard"]
STEP = (ActionError, GameOverError, OrderError, PressError, RulesError)


MAKERS = ["make", "parallel_env"]


@functools.cache
def environment(maker: str, press: str | None, strict: bool) -> Any:
    rules = Rules(years=2, press=press, message_rounds=2)
    return getattr(welfare_env, maker)("clique:4", rules, strict=strict, render_mode="ansi")


environments = st.builds(environment, st.sampled_from(MAKERS), st.sampled_from(PRESS), st.booleans())
ORDERS = st.sampled_from(["A AAA H", "A AAA D", "A BBB - AAA", "WAIVE"])
chosen_orders = st.lists(mangled(ORDERS, 1) | odd, max_size=3) | st.integers(-2, 300) | odd
messages = st.dictionaries(
    st.sampled_from(["PLAYERA", "GLOBAL", "MEDIATOR", "", "X"]), st.just("Peace.") | odd, max_size=2
)
action = chosen_orders | st.fixed_dictionaries(
    {"orders": chosen_orders, "messages": messages | odd}, optional={"order": odd}
)
agent = st.sampled_from(["PLAYERA", "PLAYERB"]) | odd
actions = action | st.dictionaries(st.sampled_from(["PLAYERA", "PLAYERB", "X"]), action, max_size=2)
CALLS = st.one_of(
    *[st.tuples(st.just("step"), actions)] * 4,
    *[st.tuples(st.just(name), agent) for name in ("observe", "action_space", "observation_space")],
    st.tuples(st.just("reset"), odd | st.just(1), st.none() | odd | st.dictionaries(st.just("game"), odd)),
    st.sampled_from([("last",), ("state",), ("render",)]),
)


def shown(env: Any) -> tuple[Any, ...]:
    """All that a refused call may not change."""
    game, bare = env.unwrapped.game, env.unwrapped
    values = [getattr(bare, name, None) for name in ("_turns", "_round", "_cycles", "agents", "_refused", "rewards")]
    written = [game.orders(power) for power in game.powers]
    return game.position, written, game.messages, game.pending_void, len(game.history), [str(value) for value in values]


@hunt(st.tuples(environments, st.integers(0, 3), st.lists(CALLS, min_size=1, max_size=4)))
def test_calls(given: Any) -> None:
    env, phases, calls = given
    env.reset(seed=1)
    game = env.unwrapped.game.branch()
    for _ in range(phases):
        game.advance()
    env.reset(seed=1, options={"game": game})
    for name, *arguments in calls:
        if hasattr(env, name):
            before = shown(env)
            try:
                getattr(env, name)(*arguments)
            except STEP:
                assert shown(env) == before, f"{name} was refused, and something has changed"


@functools.cache
def many(variant: str) -> Any:
    return welfare_env.vector_env(3, "clique:4", years=1, variant=variant, threads=2)


choices = st.lists(st.integers(-2, 9), max_size=80).map(np.array) | st.integers(-2, 9) | odd
MANY_CALLS = st.one_of(
    st.tuples(st.just("fill"), st.integers(-2, 9)),
    st.tuples(st.just("step"), choices),
    st.tuples(st.just("observe"), choices, choices, st.none() | odd),
    st.tuples(st.just("reset"), odd),
)


@hunt(st.tuples(st.sampled_from(VARIANTS), st.lists(MANY_CALLS, min_size=1, max_size=4)))
def test_calls_of_many_games(given: Any) -> None:
    games = many(given[0])
    games.reset(0)
    for name, *arguments in given[1]:
        if name == "fill":
            name, arguments = "step", [np.full(len(games.legal), arguments[0])]
        before = games.rows.copy(), games.legal.orders.copy()
        try:
            getattr(games, name)(*arguments)
        except (ActionError, RulesError):
            assert all(map(np.array_equal, before, (games.rows, games.legal.orders))), f"{name} changed something"
    for array in (games.rows, games.final, games.legal.orders):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 10**6
