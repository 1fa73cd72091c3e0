"""What a power sees: all that it may, nothing hidden, as it was at that moment, and nothing it could change."""

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from tests.welfare_env.positions import play_on
from welfare_env import Board, Game, PhaseRecord, Rules, View
from welfare_env.game.position import Position


def public(value: object) -> list[str]:
    return [name for name in dir(value) if not name.startswith("_") and not callable(getattr(value, name))]


def flat(value: Any) -> Any:
    """A value taken apart into plain comparable parts, through every public attribute."""
    if isinstance(value, Board):
        return value.name
    if isinstance(value, (View, PhaseRecord, Position)):
        return {name: flat(getattr(value, name)) for name in public(value) if name != "engine"}
    if is_dataclass(value):
        return {field.name: flat(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {key: flat(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [flat(item) for item in value]
    return value.tolist() if isinstance(value, np.ndarray) else value


@pytest.fixture
def played() -> Game:
    """Some phases of random play with messages, in the middle of a phase."""
    game = Game(rules=Rules(years=3))
    for number in range(4):
        if not game.phase.endswith("R"):
            game.send("FRANCE", "GLOBAL", f"for all {number}")
            game.send("FRANCE", "GERMANY", f"for Germany {number}")
        play_on(game, np.random.default_rng(number), phases=1)
    game.submit("ITALY", ["no order"], strict=False)
    game.advance()
    game.send("TURKEY", "GLOBAL", "now")
    return game


class TestContents:
    def test_it_tells_what_the_game_tells(self, played: Game) -> None:
        for power in played.powers:
            view = played.view(power, "messages", 2)
            assert (view.power, view.powers, view.asked, view.message_round) == (power, played.powers, "messages", 2)
            for name in ("phase", "year", "is_done", "units", "dislodged", "centers", "welfare", "board", "rules"):
                assert getattr(view, name) == getattr(played, name), name
            assert view.legal_orders == played.legal_orders(power)

    def test_winter_limits(self) -> None:
        units = {"FRANCE": ["A BEL"], "GERMANY": ["A BER", "A MUN", "A PRU"], "ITALY": ["A ROM"]}
        centers = {"FRANCE": ["PAR", "MAR", "BRE", "SPA"], "GERMANY": ["BER"], "ITALY": ["ROM"]}
        game = Game.from_position("W1901A", units, centers)
        limits = {power: (game.view(power).max_builds, game.view(power).must_disband) for power in units}
        assert limits == {"FRANCE": (3, 0), "GERMANY": (0, 2), "ITALY": (0, 0)}
        saved = game.record()["phases"][-1]["state"]["builds"]  # as the package's files: negative are units to remove
        assert {power: saved[power]["count"] for power in units} == {"FRANCE": 3, "GERMANY": -2, "ITALY": 0}
        assert [sorted(saved[power]["homes"]) for power in units] == [["BRE", "MAR", "PAR"], [], []]

    def test_encoded_actions(self) -> None:
        view = Game().view("FRANCE")
        assert view.encode_orders(("A PAR H",)) == {"orders": ["A PAR H"], "messages": {}}
        assert view.encode_messages([("GERMANY", "a"), ("ITALY", "b"), ("GERMANY", "c")]) == {
            "orders": [],
            "messages": {"GERMANY": "a\nc", "ITALY": "b"},
        }
        assert Game(rules=Rules(press=None)).view("FRANCE").encode_orders(["A PAR H"]) == ["A PAR H"]


def test_two_views_of_one_moment_are_equal_and_later_moves_do_not_change_them(played: Game) -> None:
    touched, untouched = played.view("FRANCE"), played.view("FRANCE")
    assert touched == untouched != played.view("GERMANY")
    assert Game().view("FRANCE") != Game.from_position("S1901M", {}, {}).view("FRANCE")
    before = flat(touched)
    played.send("GERMANY", "FRANCE", "too late")
    played.submit("FRANCE", [])
    played.advance()
    assert played.view("FRANCE") != touched
    play_on(played, np.random.default_rng(9))
    assert flat(touched) == before
    assert flat(untouched) == before  # it was read for the first time only now


def test_views_differ_by_question_messages_orders_and_history_but_not_by_what_others_write_to_each_other() -> None:
    game = Game()
    seen = [game.view("FRANCE"), game.view("FRANCE", "messages", 1), game.view("FRANCE", "messages", 2)]
    game.send("GERMANY", "FRANCE", "Peace?")
    seen.append(game.view("FRANCE"))
    game.submit("FRANCE", ["A PAR - BUR"])
    seen.append(game.view("FRANCE"))
    game.send("GERMANY", "ITALY", "Not a word to France.")
    assert game.view("FRANCE") == seen[-1]
    held = Game.from_position("S1901M", {"FRANCE": ["A PAR"]}, {"ITALY": ["ROM"]})
    held.advance()
    seen += [held.view("FRANCE"), Game.from_position("F1901M", held.units, held.centers).view("FRANCE")]
    assert not [pair for pair in combinations(seen, 2) if pair[0] == pair[1]]


def spoil(value: Any) -> None:
    """Tries to change whatever a policy could get hold of."""
    if isinstance(value, (Mapping, tuple, list)):
        for item in value.values() if isinstance(value, Mapping) else value:
            spoil(item)
        if isinstance(value, (dict, list)):
            value.clear()
    elif isinstance(value, (PhaseRecord, Position)):
        for name in public(value):
            if name not in ("engine", "board"):
                spoil(getattr(value, name))
    elif isinstance(value, np.ndarray):
        with pytest.raises(ValueError, match="read-only"):
            value[...] = 0
    elif is_dataclass(value) and not isinstance(value, Board):
        for field in fields(value):
            spoil(getattr(value, field.name))


def test_spoiling_what_is_handed_out_changes_nothing(played: Game, subtests: pytest.Subtests) -> None:
    before, seen = json.dumps(played.record()), flat(played.view("FRANCE"))
    views = [("view", name) for name in public(played.view("FRANCE"))]
    for kind, name in (*views, *(("game", name) for name in public(played)), ("game", "record")):
        with subtests.test(f"{kind}: {name}"):
            value = getattr(played.view("FRANCE") if kind == "view" else played, name)
            spoil(value() if name == "record" else value)
            assert json.dumps(played.record()) == before
            assert flat(played.view("FRANCE")) == seen


def with_secrets(secret: bool) -> Game:
    """A game of which England sees the same, whether or not others have secrets."""
    game = Game(rules=Rules(years=2))
    if secret:
        game.send("FRANCE", "GERMANY", "SECRET")
        game.submit("FRANCE", ["A PAR - SECRET"], strict=False)
    game.send("FRANCE", "GLOBAL", "open")
    game.send("FRANCE", "ENGLAND", "for England")
    game.send("ENGLAND", "FRANCE", "from England")
    game.submit("ENGLAND", ["F LON - ENG", "A LVP - ENGLANDS OWN"], strict=False)
    game.advance()
    if secret:
        game.send("GERMANY", "FRANCE", "SECRET", 2)
        game.submit("FRANCE", ["A PAR - BUR", "A MAR - SECRET"], strict=False)
        game.submit("RUSSIA", ["A MOS - UKR"])
        game.add_void("TURKEY", "SECRET", "SECRET")
    game.send("ITALY", "GLOBAL", "hello", 2)
    return game


class TestSecrets:
    def test_no_attribute_depends_on_secrets(self, subtests: pytest.Subtests) -> None:
        views = [with_secrets(secret).view("ENGLAND", "messages", 2) for secret in (True, False)]
        for name in public(views[0]):
            with subtests.test(name):
                told, expected = (flat(getattr(view, name)) for view in views)
                assert told == expected

    def test_the_secrets_are_there_for_those_who_share_them(self) -> None:
        view = with_secrets(True).view("GERMANY")
        texts = [message.text for message in view.messages] + [message.text for message in view.history[0].messages]
        assert texts == ["SECRET", "hello", "SECRET", "open"]

    def test_ones_own_refused_orders_are_seen(self) -> None:
        (record,) = with_secrets(True).view("ENGLAND").history
        assert [void.order for void in record.void["ENGLAND"]] == ["A LVP - ENGLANDS OWN"]
        assert list(record.void) == ["ENGLAND"]

    def test_the_mediator_sees_what_all_see(self) -> None:
        """And what is sent to it, or by it, which others do not see."""
        game = Game(rules=Rules(mediator=True))
        game.send("FRANCE", "GERMANY", "SECRET")
        game.send("FRANCE", "GLOBAL", "open")
        game.send("MEDIATOR", "FRANCE", "Disarm, please.")
        game.send("FRANCE", "MEDIATOR", "Why?")
        assert [message.text for message in game.view("MEDIATOR").messages] == ["open", "Disarm, please.", "Why?"]
        assert [message.text for message in game.view("ITALY").messages] == ["open"]
