"""Orders as people and language models write them: one table, read by the game and by the reader of language models."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.lm.reading.parsing import parse
from tests.fuzz.hunting import mangled, odd
from welfare_env import Game, OrderError, OrderSyntaxError, Rules


def standing(phase: str = "S1901M", **more: Any) -> Game:
    """Units for which there is every kind of order, on every kind of place."""
    france = ["A PAR", "A MAR", "F BRE", "F GAS", "A PIC", "F WES", "F SPA/SC", "A TYR", "F NWG", "F BOT", "A RUM"]
    england = ["A LON", "A EDI", "A NWY", "F NTH", "F SKA", "F ENG", "F MAO", "F HEL", "F STP/SC", "A LVP", "F IRI"]
    return Game.from_position(phase, {"FRANCE": france, "ENGLAND": england, "GERMANY": ["A MUN"]}, {}, **more)


def winter() -> Game:
    centers = {"FRANCE": ["PAR", "MAR", "BRE"], "RUSSIA": ["STP", "MOS"], "ENGLAND": ["LON", "EDI"]}
    rules = Rules(transfers=True)
    return Game.from_position("W1901A", {"ENGLAND": ["A LON"]}, centers, welfare={"FRANCE": 2}, rules=rules)


def retreats() -> Game:
    dislodged = {"FRANCE": {"A GAS": ["PAR", "BUR"], "F WES": ["SPA/SC", "TUN"]}}
    return Game.from_position("F1905R", {"ENGLAND": ["A SER"]}, {}, dislodged=dislodged)


GAMES = {"movement": standing(), "winter": winter(), "retreats": retreats()}
PAGE = (Path(__file__).parents[1] / "data" / "notations.md").read_text(encoding="utf-8")
UNDERSTOOD, REFUSALS = PAGE.split("## What is refused")
CELL = re.compile(r"`([^`]+)`")
ROWS = [
    (CELL.findall(order)[0], way)
    for order, ways in re.findall(r"^\|[^|]*\| (`[^|]+`) \| (`[^|]+`) \|$", UNDERSTOOD, re.MULTILINE)
    for way in CELL.findall(order + ways)
]
ROWS += [("A PAR - BUR", way) for way in ("\tA PAR\n- BUR\r\n", "`A PAR - BUR`", "A\xa0PAR - BUR\u200b")]
REFUSED = [
    (text, error, CELL.findall(reason))
    for text, error, reason in re.findall(r"^\| `([^`]+)` \| `(\w+Error)` \| (.*) \|$", REFUSALS, re.MULTILINE)
]


def whose(meant: str) -> tuple[Game, str]:
    """The game and the power that can give an order."""
    if meant == "WAIVE" or meant.startswith("GIVE"):
        return GAMES["winter"], "FRANCE"
    owners = ((game, power) for game in GAMES.values() for power in game.powers)
    return next((game, power) for game, power in owners if meant in sum(game.legal_orders(power).values(), ()))


def test_the_game_and_the_reader_of_language_models_understand(subtests: pytest.Subtests) -> None:
    for meant, way in ROWS:
        with subtests.test(way):
            game, power = whose(meant)
            if meant != "WAIVE" and not re.search("[,;\r\n]", way):  # which part orders in a reply
                assert parse(json.dumps({"orders": [way]}), game.view(power)).orders == [meant]
            game.check_orders(power, [way])
            assert game.submit(power, [way]) == ()
            assert game.orders(power) == (meant,)


@pytest.mark.parametrize(("text", "error", "named"), REFUSED)
def test_what_is_refused_and_with_which_names(text: str, error: str, named: list[str]) -> None:
    messages = []
    for game in GAMES.values():
        for power in game.powers:
            with pytest.raises(OrderError) as caught:
                game.submit(power, [text])
            assert type(caught.value).__name__ == error
            messages.append(str(caught.value))
            if error == "IllegalOrderError":
                assert parse(json.dumps({"orders": [text]}), game.view(power)).orders == []
    assert any(all(value in message for value in named) for message in messages)


NO_ORDERS = [
    *("", "A - BUR", "A PAR - BUR BUR", "X PAR H", "A PAR S", "A PAR - BUR or GAS", "A PAR H and A MAR H"),
    *("A PAR H\nA MAR H", "don't move A PAR to BUR", "A PAR H\x00", "A PAR/NC H", "F ENG C F LON - BEL"),
    *("A LON - BEL VIA PAR", "GIVE", "GIVE FRANCE ITALY", "do not give France a point", "A XYZ H"),
]


def test_what_is_no_order_or_more_than_one() -> None:
    for text in NO_ORDERS:
        for game in GAMES.values():
            with pytest.raises(OrderSyntaxError) as error:
                game.submit("FRANCE", [text])
            assert repr(text) in str(error.value)


LEGAL = [
    (game, power, order)
    for game in GAMES.values()
    for power in game.powers
    for orders in game.legal_orders(power).values()
    for order in orders
]


@settings(max_examples=40)
@given(st.sampled_from(LEGAL).flatmap(lambda each: st.tuples(st.just(each), mangled(each[2]) | odd | st.text())))
def test_anything_is_an_order_error_or_an_order_that_means_the_same_everywhere(case: Any) -> None:
    """A refusal changes nothing."""
    (game, power, _), text = case
    before = game.orders(power), game.units
    try:
        game.submit(power, [text])
    except OrderError:
        assert (game.orders(power), game.units) == before
        return
    (order,) = game.orders(power)
    game.submit(power, [])
    if order != "WAIVE" and not order.startswith("GIVE"):
        assert order in sum(game.legal_orders(power).values(), ())
        sheet = game.view(power).order_sheet()
        sheet.add(text)
        assert [game.board.orders.texts[number] for number in sheet.numbers] == [order]
