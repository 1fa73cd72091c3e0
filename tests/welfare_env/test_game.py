"""A game by hand: what is refused, with which words, and that a refusal changes nothing."""

import itertools
import json
import re
from typing import Any

import pytest

from tests.playing import ended
from tests.welfare_env.positions import dislodging
from welfare_env import Game, GameOverError, PressError, Rules, UnknownPowerError
from welfare_env.errors import IllegalOrderError, OrderError, OrderSyntaxError, PositionError

# error -> orders that give it; many more texts that are no orders are in test_reading
BAD_ORDERS: dict[type[OrderError], tuple[str, ...]] = {
    OrderSyntaxError: (
        *("", "attack everybody", "A PAR H; A MAR H", "\x00", "\ud800", "A XYZ H", "F PAR H", "GIVE NOBODY"),
    ),
    IllegalOrderError: (
        *("A PAR - MOS", "A PAR - BUR VIA", "A PAR S A PAR", "A PAR R BUR", "A PAR C A MAR - SPA", "A PAR D"),
        *("F SPA H", "F BRE - SPA/SC", "A MUN - BUR", "A BUR H", "WAIVE", "GIVE GERMANY", "F BRE H"),
    ),
}
PAIRS = [(order, error) for error, orders in BAD_ORDERS.items() for order in orders]


def all_units(game: Game) -> list[str]:
    return [unit for units in game.units.values() for unit in units]


def frozen(game: Game) -> str:
    """All that is known of a game, pending orders and messages included."""
    return json.dumps(game.record())


@pytest.fixture
def started() -> Game:
    """A game with something pending, so that a refusal could spoil it."""
    game = Game()
    game.submit("FRANCE", ["A PAR - BUR", "A MAR - MOS"], strict=False)
    game.send("FRANCE", "GERMANY", "Burgundy is for my defense only.")
    return game


@pytest.fixture
def in_winter() -> Game:
    """France may build one unit; Germany may build three and has none."""
    units = {"FRANCE": ["A PAR", "A SPA"]}
    centers = {"FRANCE": ["PAR", "MAR", "BRE"], "GERMANY": ["BER", "KIE", "MUN"]}
    return Game.from_position("W1901A", units, centers)


WRONG_POSITIONS: list[tuple[dict[str, Any], type[Exception]]] = [
    *(({"phase": phase}, PositionError) for phase in ("S1900M", "W1901M", f"S{'1' * 5000}M", None)),
    *(({"units": units}, PositionError) for units in (["A PAR"], {"FRANCE": "A PAR"}, {"FRANCE": [5]})),
    *(({"units": {"FRANCE": [unit]}}, PositionError) for unit in ("F PAR", "F SPA", "A XYZ", "*A PAR")),
    ({"units": {"FRANCE": ["A SPA"], "ITALY": ["F SPA/NC"]}}, PositionError),
    ({"units": {"NOBODY": ["A PAR"]}}, UnknownPowerError),
    ({"centers": {"FRANCE": ["BUR"]}}, PositionError),
    ({"centers": {"FRANCE": ["PAR"], "ITALY": ["PAR"]}}, PositionError),
    *(({"welfare": {"FRANCE": points}}, PositionError) for points in ("1", True, 2**31 - 1)),
    ({"dislodged": {"FRANCE": {"A BUR": ["PAR"]}}}, PositionError),  # not a retreat phase
    *(
        ({"phase": "S1901R", "dislodged": {"FRANCE": waiting}}, PositionError)
        for waiting in (["A BUR"], {"A BUR": None}, {"A BUR": ["LON"]}, {"A BUR": ["BEL", "BEL"]}, {"F BUR": []})
    ),
]


class TestFromPosition:
    def test_faults_are_named(self) -> None:
        right = {"phase": "S1901M", "units": {"FRANCE": ["A PAR"]}, "centers": {"FRANCE": ["PAR"]}}
        for changed, error in WRONG_POSITIONS:
            with pytest.raises(error):
                Game.from_position(**right | changed)

    def test_it_goes_on_from_there(self) -> None:
        game = Game.from_position("W1909A", {}, {"FRANCE": ["PAR"]}, welfare={"FRANCE": 7})
        phases = []
        while not game.is_done:
            game.advance()
            phases.append(game.phase)
        assert (phases, game.welfare["FRANCE"]) == (["S1910M", "F1910M", "W1910A", "COMPLETED"], 9)
        assert game.record()["welfare_env"]["years_played"] == 2
        for record, following in itertools.pairwise(game.history):
            assert record.after is following.position is record.seen_by("FRANCE").after
        assert game.history[-1].after.welfare == game.welfare


class TestRefusedOrders:
    def test_strict_raises_and_changes_nothing(self, started: Game) -> None:
        before = frozen(started)
        for order, error in PAIRS:
            for method in (started.submit, started.check_orders):
                with pytest.raises(error) as raised:
                    method("FRANCE", ["F BRE - MAO", order])
                assert repr(order) in str(raised.value)
        assert frozen(started) == before

    def test_lenient_keeps_the_others_and_records_the_reason(self) -> None:
        game = Game()
        for order, _ in PAIRS:
            (void,) = game.submit("FRANCE", ["F BRE - MAO", order, "A MAR - SPA"], strict=False)
            assert repr(order) in void.reason
        game.advance()
        assert game.history[0].void == {"FRANCE": (void,)}
        assert game.history[0].orders["FRANCE"] == ("F BRE - MAO", "A MAR - SPA")
        assert set(game.units["FRANCE"]) == {"F MAO", "A SPA", "A PAR"}  # Paris holds
        assert set(game.history[0].results) == set(all_units(Game()))
        assert f"  FRANCE: A MAR - SPA\n  FRANCE: {void.order!r} refused" in str(game)
        assert repr(game) == "<Game on standard in F1901M>"

    def test_an_unknown_power(self) -> None:
        game = Game()
        for power in ("NOBODY", "france", "MEDIATOR"):
            for ask in (game.submit, game.check_orders):
                with pytest.raises(UnknownPowerError):
                    ask(power, [])
            for look in (game.legal_orders, game.orders, game.view):
                with pytest.raises(UnknownPowerError):
                    look(power)


class TestRefusedWinters:
    def test_strict_raises_and_changes_nothing(self, in_winter: Game) -> None:
        in_winter.submit("FRANCE", ["A BRE B"])
        before = frozen(in_winter)
        for orders, told in (
            (["A MAR B", "F BRE B"], "1 unit"),
            (["A MAR B", "F MAR B"], "MAR"),
            (["A SPA D", "A SPA D"], "A SPA"),
            (["A SPA disband", "A MAR BUILD"], "both"),
            (["A PAR B"], "A PAR D"),  # occupied
            (["A SPA B"], "A SPA D"),  # no home
            (["A KIE B"], "A PAR, A SPA, BRE, MAR"),  # another's home
            (["A PAR - BUR"], "A PAR D"),
        ):
            with pytest.raises(OrderError, match=re.escape(told)):
                in_winter.submit("FRANCE", orders)
        assert frozen(in_winter) == before

    @pytest.mark.parametrize(
        ("given", "void", "left"),
        [
            (["A MAR B", "F BRE B"], ["F BRE B"], ("A PAR", "A SPA", "A MAR")),
            (["A SPA D", "A MAR B", "WAIVE"], ["A SPA D", "A MAR B", "WAIVE"], ("A PAR", "A SPA")),
            (["A SPA D", "please B"], ["please B"], ("A PAR",)),
        ],
        ids=["too many builds", "a mixed list is void as a whole", "what is no order does not make it mixed"],
    )
    def test_lenient(self, in_winter: Game, given: list[str], void: list[str], left: tuple[str, ...]) -> None:
        assert [each.order for each in in_winter.submit("FRANCE", given, strict=False)] == void
        in_winter.advance()
        assert in_winter.units["FRANCE"] == left
        assert set(in_winter.history[0].orders["FRANCE"]) == set(given) - set(void)


def test_a_wrong_retreat_raises_and_changes_nothing() -> None:
    game = dislodging()
    game.submit("GERMANY", ["A BUR R RUH"])
    before = frozen(game)
    for order in ("A BUR - PAR", "A BUR H", "A BUR R PAR", "A BUR R MAR", "A BUR R LON", "A PAR H", "WAIVE"):
        with pytest.raises(IllegalOrderError, match="A BUR"):  # R PAR: where the attack came from
            game.submit("GERMANY", [order])
    assert frozen(game) == before


WRONG_MESSAGES: list[dict[str, Any]] = [
    *({"text": text} for text in ("", " \n\t", "x" * 4001, "\ud800", None, b"hello")),
    *({"recipient": recipient} for recipient in ("NOBODY", "FRANCE", None, ["ITALY"], "MEDIATOR")),
    *({"sender": sender} for sender in ("GLOBAL", None, "MEDIATOR")),
    *({"message_round": number} for number in (0, 4, 1.0, True, None)),
]


def test_no_wrong_message_is_sent(started: Game) -> None:
    before = frozen(started)
    right = {"sender": "FRANCE", "recipient": "GERMANY", "text": "Hello", "message_round": 1}
    for wrong in WRONG_MESSAGES:
        for method in (started.send, started.check_send):
            with pytest.raises(PressError) as raised:
                method(**right | wrong)
            assert len(str(raised.value)) < 500
    assert frozen(started) == before


def test_after_the_end_a_game_can_be_read_and_nothing_else() -> None:
    game = ended(Game(rules=Rules(years=1)))
    before = frozen(game)
    for act in (
        lambda: game.submit("FRANCE", []),
        lambda: game.check_orders("FRANCE", []),
        lambda: game.add_void("FRANCE", "A PAR H", "late"),
        lambda: game.send("FRANCE", "GLOBAL", "Hello"),
        lambda: game.check_send("FRANCE", "GLOBAL", "Hello"),
        game.advance,
    ):
        with pytest.raises(GameOverError, match="W1901A"):
            act()
    assert frozen(game) == before
    assert all(game.legal_orders(power) == {} for power in game.powers)
    view = game.view("FRANCE")
    assert (view.is_done, view.phase, view.max_builds, view.must_disband) == (True, "COMPLETED", 0, 0)


def test_text_arrives_as_it_was_sent():
    game, text = Game(), "\x00🕊\u202e \n  two  " + "x" * 3980
    game.send("FRANCE", "GLOBAL", text)
    assert game.view("TURKEY").messages[-1].text == text
