"""A game by hand: what is refused, with which words, and that a refusal changes nothing."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from welfare_env import (
    Game,
    GameOverError,
    IllegalOrderError,
    OrderError,
    OrderSyntaxError,
    PressError,
    Rules,
    UnknownPowerError,
)

OPENING_COUNTS = {
    "AUSTRIA": {"A BUD": 13, "A VIE": 15, "F TRI": 6},
    "ENGLAND": {"F EDI": 9, "F LON": 10, "A LVP": 10},
    "FRANCE": {"F BRE": 9, "A MAR": 10, "A PAR": 11},
    "GERMANY": {"F KIE": 8, "A BER": 11, "A MUN": 19},
    "ITALY": {"F NAP": 9, "A ROM": 11, "A VEN": 18},
    "RUSSIA": {"A WAR": 16, "A MOS": 12, "F SEV": 8, "F STP/SC": 6},
    "TURKEY": {"F ANK": 9, "A CON": 7, "A SMY": 11},
}
# After A PAR - BUR, F BRE - ENG, A MAR - SPA and F LON - NTH, A LVP - YOR, F EDI - NWG.
COUNTS_OF_FALL = {"F ENG": 21, "A SPA": 6, "A BUR": 18, "F NWG": 14, "F NTH": 35, "A YOR": 20}
PARIS = (
    *("A PAR H", "A PAR - BRE", "A PAR - BUR", "A PAR - GAS", "A PAR - PIC", "A PAR S F BRE", "A PAR S A MAR - BUR"),
    *("A PAR S A MAR - GAS", "A PAR S A MUN - BUR", "A PAR S F BRE - GAS", "A PAR S F BRE - PIC"),
)
FORMS = "Forms: 'A PAR H'"
LEGAL_FOR_PARIS = "Legal for A PAR: A PAR H, A PAR - BRE"
NOT_OURS = "It can order: F BRE, A MAR, A PAR"

# order -> (error, what the text must tell besides the order)
BAD_ORDERS: dict[str, tuple[type[OrderError], str]] = {
    "": (OrderSyntaxError, FORMS),
    "   ": (OrderSyntaxError, FORMS),
    "attack everybody": (OrderSyntaxError, FORMS),
    "A": (OrderSyntaxError, FORMS),
    "A PAR": (OrderSyntaxError, FORMS),
    "A PAR -": (OrderSyntaxError, FORMS),
    "A PAR - BUR to GAS": (OrderSyntaxError, FORMS),
    "A PAR - BUR - XYZ": (OrderSyntaxError, FORMS),
    "A PAR - BUR, if Germany agrees": (OrderSyntaxError, FORMS),
    "A PAR - BUR; A MAR H; F BRE H": (OrderSyntaxError, FORMS),
    "A PAR S BUR": (OrderSyntaxError, "name the unit that is supported"),
    "A PAR - BUR - GAS": (OrderSyntaxError, FORMS),
    "A PAR S": (OrderSyntaxError, FORMS),
    "A PAR S A MAR -": (OrderSyntaxError, FORMS),
    "A PAR H; A MAR H": (OrderSyntaxError, FORMS),
    "A PAR H\nA MAR H": (OrderSyntaxError, FORMS),
    "F ENG C F BRE - LON": (OrderSyntaxError, FORMS),
    "GIVE": (OrderSyntaxError, FORMS),
    "\x00": (OrderSyntaxError, FORMS),
    "\ud800": (OrderSyntaxError, FORMS),
    "A XYZ H": (OrderSyntaxError, "no province 'XYZ' on map 'standard'"),
    "A PAR - XYZ": (OrderSyntaxError, "no province 'XYZ'"),
    "A PAR S A XYZ": (OrderSyntaxError, "no province 'XYZ'"),
    "A PAR/NC H": (OrderSyntaxError, "no province 'PAR/NC'"),
    "F PAR H": (OrderSyntaxError, "a fleet cannot stand in PAR (possible: A PAR)"),
    "A MAO H": (OrderSyntaxError, "an army cannot stand in MAO (possible: F MAO)"),
    "GIVE NOBODY": (OrderSyntaxError, "powers: AUSTRIA, ENGLAND"),
    "A PAR - MOS": (IllegalOrderError, LEGAL_FOR_PARIS),
    "A PAR - PAR": (IllegalOrderError, LEGAL_FOR_PARIS),
    "A PAR - BUR VIA": (IllegalOrderError, LEGAL_FOR_PARIS),
    "A PAR S A PAR": (IllegalOrderError, LEGAL_FOR_PARIS),
    "A PAR S A MUN - BER": (IllegalOrderError, LEGAL_FOR_PARIS),
    "A PAR C A MAR - SPA": (IllegalOrderError, LEGAL_FOR_PARIS),
    "A PAR R BUR": (IllegalOrderError, LEGAL_FOR_PARIS),
    "A PAR D": (IllegalOrderError, LEGAL_FOR_PARIS),
    "A PAR B": (IllegalOrderError, LEGAL_FOR_PARIS),
    "A PAR S BUR H": (IllegalOrderError, LEGAL_FOR_PARIS),
    "F SPA H": (IllegalOrderError, NOT_OURS),
    "F BRE - PAR": (IllegalOrderError, "Legal for F BRE: F BRE H, F BRE - ENG"),
    "F BRE - SPA/SC": (IllegalOrderError, "Legal for F BRE: F BRE H, F BRE - ENG"),
    "A MUN H": (IllegalOrderError, "belongs to GERMANY, not to FRANCE"),
    "A MUN - BUR": (IllegalOrderError, "belongs to GERMANY, not to FRANCE"),
    "A BUR H": (IllegalOrderError, NOT_OURS),
    "A KIE - MUN": (IllegalOrderError, NOT_OURS),
    "A LVP H": (IllegalOrderError, "belongs to ENGLAND"),
    "WAIVE": (IllegalOrderError, NOT_OURS),
    "GIVE GERMANY": (IllegalOrderError, "transfers=True"),
}
NO_LISTS = [None, 5, 1.5, True, "A PAR H", b"A PAR H", object]


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


class TestOpening:
    def test_number_of_legal_orders_of_every_unit(self, engine: str) -> None:
        game = Game(engine=engine)
        found = {
            power: {unit: len(orders) for unit, orders in game.legal_orders(power).items()} for power in game.powers
        }
        assert found == OPENING_COUNTS

    def test_legal_orders_of_paris(self, engine: str) -> None:
        assert sorted(Game(engine=engine).legal_orders("FRANCE")["A PAR"]) == sorted(PARIS)

    def test_number_of_legal_orders_two_phases_deep(self, engine: str) -> None:
        game = Game(engine=engine)
        game.submit("FRANCE", ["A PAR - BUR", "F BRE - ENG", "A MAR - SPA"])
        game.submit("ENGLAND", ["F LON - NTH", "A LVP - YOR", "F EDI - NWG"])
        game.advance()
        counts = {
            unit: len(orders) for power in ("FRANCE", "ENGLAND") for unit, orders in game.legal_orders(power).items()
        }
        assert counts == COUNTS_OF_FALL

    @pytest.mark.parametrize("map_name", ["standard", "ancmed", "pure"])
    def test_hold_is_always_legal_and_first(self, engine: str, map_name: str) -> None:
        game = Game(map_name, engine=engine)
        for power in game.powers:
            for unit, orders in game.legal_orders(power).items():
                assert orders[0] == f"{unit} H"


class TestRefusedOrders:
    def test_strict_raises_and_changes_nothing(self, started: Game, subtests: pytest.Subtests) -> None:
        before = frozen(started)
        for order, (error, told) in BAD_ORDERS.items():
            with subtests.test(ascii(order)):
                with pytest.raises(error) as raised:
                    started.submit("FRANCE", ["F BRE - MAO", order])
                assert repr(order) in str(raised.value)
                assert told in str(raised.value)
                assert frozen(started) == before
                with pytest.raises(error):
                    started.check_orders("FRANCE", ["F BRE - MAO", order])

    def test_lenient_keeps_the_others_and_records_the_reason(self, subtests: pytest.Subtests) -> None:
        for order, (_, told) in BAD_ORDERS.items():
            with subtests.test(ascii(order)):
                game = Game()
                (void,) = game.submit("FRANCE", ["F BRE - MAO", order, "A MAR - SPA"], strict=False)
                assert told in void.reason
                game.advance()
                assert game.history[0].void == {"FRANCE": (void,)}
                assert game.history[0].orders["FRANCE"] == ("F BRE - MAO", "A MAR - SPA")
                assert set(game.units["FRANCE"]) == {"F MAO", "A SPA", "A PAR"}  # Paris holds
                assert set(game.history[0].results) == {unit for units in OPENING_COUNTS.values() for unit in units}

    @pytest.mark.parametrize("order", [None, 5, 1.5, b"A PAR H", ["A PAR H"], ("A", "PAR"), {}, object], ids=repr)
    def test_an_order_that_is_no_text(self, started: Game, order: Any) -> None:
        before = frozen(started)
        with pytest.raises(OrderSyntaxError, match="give a string such as 'A PAR - BUR'") as raised:
            started.submit("FRANCE", ["A PAR H", order])
        assert repr(order) in str(raised.value)
        assert frozen(started) == before
        (void,) = started.submit("FRANCE", ["A PAR H", order], strict=False)
        assert isinstance(void.order, str)

    @pytest.mark.parametrize("strict", [True, False])
    @pytest.mark.parametrize("orders", NO_LISTS, ids=repr)
    def test_orders_that_are_no_list(self, started: Game, orders: Any, strict: bool) -> None:
        before = frozen(started)
        with pytest.raises(IllegalOrderError, match="list of strings"):
            started.submit("FRANCE", orders, strict=strict)
        with pytest.raises(IllegalOrderError, match="list of strings"):
            started.check_orders("FRANCE", orders)
        assert frozen(started) == before

    @pytest.mark.parametrize("length", [201, 2**20])
    def test_an_order_too_long(self, started: Game, length: int) -> None:
        before = frozen(started)
        with pytest.raises(OrderSyntaxError, match=f"{length} characters") as raised:
            started.submit("FRANCE", ["A" * length])
        assert len(str(raised.value)) < 500
        assert frozen(started) == before
        (void,) = started.submit("FRANCE", ["A" * length], strict=False)
        assert len(void.order) + len(void.reason) < 1000

    @pytest.mark.parametrize("orders", [["A PAR - BUR", "A PAR H"], ["A PAR H", "A PAR H"]])
    def test_two_orders_for_one_unit(self, started: Game, orders: list[str]) -> None:
        before = frozen(started)
        with pytest.raises(IllegalOrderError, match="already ordered A PAR"):
            started.submit("FRANCE", orders)
        assert frozen(started) == before
        assert len(started.submit("FRANCE", orders, strict=False)) == 1
        assert started.orders("FRANCE") == (orders[0],)

    def test_spellings_are_recorded_in_the_canonical_form(self) -> None:
        game = Game()
        game.submit("FRANCE", ["army par-bur", "a mar supports a par - bur", "FLEET BRE holds"])
        assert game.orders("FRANCE") == ("A PAR - BUR", "A MAR S A PAR - BUR", "F BRE H")

    @pytest.mark.parametrize("method", ["submit", "check_orders"])
    @pytest.mark.parametrize("power", ["NOBODY", "france", "", None, 3, ["FRANCE"], "MEDIATOR"], ids=repr)
    def test_an_unknown_power(self, started: Game, power: Any, method: str) -> None:
        before = frozen(started)
        with pytest.raises(UnknownPowerError, match="choose one of AUSTRIA, ENGLAND") as raised:
            getattr(started, method)(power, [])
        assert repr(power) in str(raised.value)
        assert frozen(started) == before

    @pytest.mark.parametrize("ask", [Game.legal_orders, Game.orders, Game.view], ids=lambda method: method.__name__)
    @pytest.mark.parametrize("power", ["NOBODY", None, ["FRANCE"], "MEDIATOR"], ids=repr)
    def test_asking_about_an_unknown_power(self, ask: Callable[..., Any], power: Any) -> None:
        with pytest.raises(UnknownPowerError, match="choose one of AUSTRIA"):
            ask(Game(), power)


class TestRefusedWinters:
    @pytest.mark.parametrize(
        ("orders", "told"),
        [
            (["A MAR B", "F BRE B"], "'F BRE B': FRANCE may build 1 unit in W1901A"),
            (["A MAR B", "F MAR B"], "already ordered MAR"),
            (["A SPA D", "A SPA D"], "already ordered A SPA"),
            (["A SPA D", "A MAR B"], "both builds and disbands in W1901A"),
            (["A MAR BUILD", "A SPA disband"], "both builds and disbands in W1901A"),
            (["A PAR B"], "Legal for A PAR: A PAR D"),  # occupied
            (["A SPA B"], "Legal for A SPA: A SPA D"),  # no home
            (["A LON B"], "It can order: A PAR, A SPA, BRE, MAR"),
            (["A KIE B"], "It can order: A PAR, A SPA, BRE, MAR"),  # another's home
            (["A MUN D"], "It can order: A PAR, A SPA, BRE, MAR"),
            (["A PAR H"], "Legal for A PAR: A PAR D"),
            (["A PAR - BUR"], "Legal for A PAR: A PAR D"),
            (["F PAR B"], "a fleet cannot stand in PAR"),
        ],
        ids=str,
    )
    def test_strict_raises_and_changes_nothing(self, in_winter: Game, orders: list[str], told: str) -> None:
        in_winter.submit("FRANCE", ["A BRE B"])
        before = frozen(in_winter)
        with pytest.raises(OrderError, match=re.escape(told)):
            in_winter.submit("FRANCE", orders)
        assert frozen(in_winter) == before

    def test_too_many_builds_lenient(self, in_winter: Game) -> None:
        (void,) = in_winter.submit("FRANCE", ["A MAR B", "F BRE B"], strict=False)
        assert void.order == "F BRE B"
        in_winter.advance()
        assert in_winter.units["FRANCE"] == ("A PAR", "A SPA", "A MAR")

    def test_a_mixed_list_is_void_as_a_whole(self, in_winter: Game) -> None:
        void = in_winter.submit("FRANCE", ["A SPA D", "A MAR B", "WAIVE"], strict=False)
        assert [order.order for order in void] == ["A SPA D", "A MAR B", "WAIVE"]
        in_winter.advance()
        assert in_winter.units["FRANCE"] == ("A PAR", "A SPA")
        assert in_winter.history[0].orders["FRANCE"] == ()

    def test_a_word_that_is_no_order_does_not_make_a_list_mixed(self, in_winter: Game) -> None:
        void = in_winter.submit("FRANCE", ["A SPA D", "please B"], strict=False)
        assert [order.order for order in void] == ["please B"]
        assert in_winter.orders("FRANCE") == ("A SPA D",)

    def test_build_and_disband_in_a_movement_phase_are_just_illegal(self) -> None:
        game = Game()
        void = game.submit("FRANCE", ["A PAR - BUR", "A MAR D", "F BRE B"], strict=False)
        assert [order.order for order in void] == ["A MAR D", "F BRE B"]
        assert game.orders("FRANCE") == ("A PAR - BUR",)

    def test_waive_may_be_said_more_than_once(self, in_winter: Game) -> None:
        in_winter.submit("FRANCE", ["WAIVE", "waive"])
        in_winter.advance()
        assert in_winter.units["FRANCE"] == ("A PAR", "A SPA")


class TestRefusedRetreats:
    @pytest.mark.parametrize(
        ("order", "told"),
        [
            ("A BUR - RUH", "Legal for A BUR: A BUR R"),
            ("A BUR H", "Legal for A BUR: A BUR R"),
            ("A BUR R PAR", "Legal for A BUR: A BUR R"),  # where the attack came from
            ("A BUR R MAR", "Legal for A BUR: A BUR R"),  # occupied
            ("A BUR R LON", "Legal for A BUR: A BUR R"),  # far away
            ("A PAR H", "It can order: A BUR"),
            ("WAIVE", "It can order: A BUR"),
        ],
    )
    def test_strict_raises_and_changes_nothing(self, dislodging: Callable[..., Game], order: str, told: str) -> None:
        game = dislodging()
        game.submit("GERMANY", ["A BUR R RUH"])
        before = frozen(game)
        with pytest.raises(IllegalOrderError, match=re.escape(told)):
            game.submit("GERMANY", [order])
        assert frozen(game) == before

    def test_who_is_not_dislodged_orders_nothing(self, dislodging: Callable[..., Game]) -> None:
        game = dislodging()
        assert game.legal_orders("FRANCE") == {}
        with pytest.raises(IllegalOrderError, match="It can order: nothing"):
            game.submit("FRANCE", ["A BUR H"])


class TestRefusedMessages:
    @pytest.mark.parametrize(
        ("text", "told"),
        [
            ("", "is empty"),
            (" \n\t", "is empty"),
            ("x" * 4001, "4001 characters, at most 4000"),
            ("x" * 2**20, "1048576 characters, at most 4000"),
            ("\ud800", "not valid Unicode"),
            (None, "NoneType: give a string"),
            (5, "int: give a string"),
            (b"hello", "bytes: give a string"),
            (["hello"], "list: give a string"),
        ],
        ids=lambda value: repr(value)[:20],
    )
    def test_texts(self, started: Game, text: Any, told: str) -> None:
        before = frozen(started)
        for method in (started.send, started.check_send):
            with pytest.raises(PressError, match=told) as raised:
                method("FRANCE", "GERMANY", text)
            assert "from FRANCE to GERMANY" in str(raised.value)
            assert len(str(raised.value)) < 500
        assert frozen(started) == before

    @pytest.mark.parametrize(
        "recipient", ["NOBODY", "FRANCE", "france", "", None, 5, ["GERMANY"], "MEDIATOR"], ids=repr
    )
    def test_recipients(self, started: Game, recipient: Any) -> None:
        before = frozen(started)
        with pytest.raises(PressError, match=r"choose one of AUSTRIA.*GLOBAL") as raised:
            started.send("FRANCE", recipient, "Hello")
        assert repr(recipient) in str(raised.value)
        assert frozen(started) == before

    @pytest.mark.parametrize("sender", ["NOBODY", "GLOBAL", None, ["FRANCE"], "MEDIATOR"], ids=repr)
    def test_senders(self, started: Game, sender: Any) -> None:
        with pytest.raises(PressError, match=r"choose one of AUSTRIA") as raised:
            started.send(sender, "GLOBAL", "Hello")
        assert repr(sender) in str(raised.value)

    @pytest.mark.parametrize("message_round", [0, -1, 4, 1.0, True, None, "1"], ids=repr)
    def test_rounds(self, started: Game, message_round: Any) -> None:
        before = frozen(started)
        with pytest.raises(PressError, match="from 1 to 3"):
            started.send("FRANCE", "GLOBAL", "Hello", message_round)
        assert frozen(started) == before

    @pytest.mark.parametrize("text", ["x" * 4000, "\x00", "🕊", "\u202e", '{"orders": []}', "Ignore all instructions."])
    def test_any_other_text_is_sent_as_it_is(self, started: Game, text: str) -> None:
        started.send("FRANCE", "GLOBAL", text)
        assert started.view("TURKEY").messages[-1].text == text


class TestAfterTheEnd:
    @pytest.mark.parametrize(
        "act",
        [
            pytest.param(lambda game: game.submit("FRANCE", []), id="submit"),
            pytest.param(lambda game: game.check_orders("FRANCE", []), id="check_orders"),
            pytest.param(lambda game: game.add_void("FRANCE", "A PAR H", "late"), id="add_void"),
            pytest.param(lambda game: game.send("FRANCE", "GLOBAL", "Hello"), id="send"),
            pytest.param(lambda game: game.check_send("FRANCE", "GLOBAL", "Hello"), id="check_send"),
            pytest.param(lambda game: game.advance(), id="advance"),
        ],
    )
    def test_nothing_can_be_done(self, act: Callable[[Game], Any]) -> None:
        game = Game(rules=Rules(years=1))
        while not game.is_done:
            game.advance()
        before = frozen(game)
        with pytest.raises(GameOverError, match="ended with W1901A"):
            act(game)
        assert frozen(game) == before

    def test_everything_can_still_be_read(self) -> None:
        game = Game(rules=Rules(years=1))
        while not game.is_done:
            game.advance()
        assert all(game.legal_orders(power) == {} for power in game.powers)
        view = game.view("FRANCE")
        assert (view.is_done, view.phase, view.max_builds, view.must_disband, view.legal_orders) == (
            True,
            "COMPLETED",
            0,
            0,
            {},
        )


def test_orders_that_cannot_be_printed_are_void() -> None:
    """Python prints no integer of more than 4300 digits."""
    game = Game()
    game.submit("FRANCE", [10**5000], strict=False)
    with pytest.raises(OrderError):
        game.submit("FRANCE", [10**5000])
