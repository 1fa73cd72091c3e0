"""Arguments of the wrong kind to a game: a named error that is short, and nothing has changed."""

import itertools
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from welfare_env import (
    Game,
    OrderError,
    PositionError,
    PressError,
    Rules,
    UnknownPowerError,
    WelfareEnvError,
    YearError,
)

ODD = [
    *(None, True, 0, -1, 10**30, 1.5, float("nan"), "", "x", "x" * 10**6, b"FRANCE", [], {}, (), set(), [None], [[]]),
    *({"a": 1}, {1: 2}, object(), np.zeros(3), np.int64(3), np.float32(2), np.array(["FRANCE"]), np.array("FRANCE")),
    *(np.array([1, 2], dtype=object), lambda: None, 1j, range(5), "FRANCE\0", "\ud800"),
]
DOORS: dict[str, Callable[[Game, Any], object]] = {
    "submit, power": lambda game, odd: game.submit(odd, ["A PAR H"]),
    "submit, orders": lambda game, odd: game.submit("FRANCE", odd),
    "submit, an order": lambda game, odd: game.submit("FRANCE", ["A PAR H", odd]),
    "check_orders": lambda game, odd: game.check_orders("FRANCE", odd),
    "send, sender": lambda game, odd: game.send(odd, "GERMANY", "hi"),
    "send, recipient": lambda game, odd: game.send("FRANCE", odd, "hi"),
    "send, text": lambda game, odd: game.send("FRANCE", "GERMANY", odd),
    "send, round": lambda game, odd: game.send("FRANCE", "GERMANY", "hi", odd),
    "legal_orders": lambda game, odd: game.legal_orders(odd),
    "orders": lambda game, odd: game.orders(odd),
    "view": lambda game, odd: game.view(odd),
    "after_year": lambda game, odd: game.after_year(odd),
    "save": lambda game, odd: game.save(None if isinstance(odd, str) else odd),
    "load": lambda game, odd: Game.load(odd),
    "Game, map_name": lambda game, odd: Game(odd),
    "Game, rules": lambda game, odd: Game(rules=odd if odd is not None else 5),
    "Game, engine": lambda game, odd: Game(engine=odd),
    "from_position, phase": lambda game, odd: Game.from_position(odd, {}, {}),
    "from_position, units": lambda game, odd: Game.from_position("S1901M", odd, {}),
    "from_position, units of a power": lambda game, odd: Game.from_position("S1901M", {"FRANCE": odd}, {}),
    "from_position, a unit": lambda game, odd: Game.from_position("S1901M", {"FRANCE": [odd]}, {}),
    "from_position, centers": lambda game, odd: Game.from_position("S1901M", {}, odd),
    "from_position, centers of a power": lambda game, odd: Game.from_position("S1901M", {}, {"FRANCE": odd}),
    "from_position, dislodged": lambda game, odd: Game.from_position("S1901R", {}, {}, dislodged=odd),
    "from_position, retreats": lambda game, odd: Game.from_position("S1901R", {}, {}, {"FRANCE": {"A PAR": odd}}),
    "from_position, welfare": lambda game, odd: Game.from_position("S1901M", {}, {}, welfare=odd),
    "from_position, points": lambda game, odd: Game.from_position("S1901M", {}, {}, welfare={"FRANCE": odd}),
}
# What is a value of its own: an empty list of orders, no units ...
FINE: dict[str, Callable[[Any], bool]] = {
    "submit, orders": lambda odd: isinstance(odd, (list, tuple)) and not len(odd),
    "check_orders": lambda odd: isinstance(odd, (list, tuple)) and not len(odd),
    "send, text": lambda odd: isinstance(odd, str) and odd in ("x", "FRANCE\0"),
    "from_position, units": lambda odd: isinstance(odd, dict) and not odd,
    "from_position, units of a power": lambda odd: isinstance(odd, (list, tuple)) and not len(odd),
    "from_position, centers": lambda odd: isinstance(odd, dict) and not odd,
    "from_position, centers of a power": lambda odd: isinstance(odd, (list, tuple)) and not len(odd),
    "from_position, retreats": lambda odd: isinstance(odd, (list, tuple)) and not len(odd),
    "from_position, welfare": lambda odd: odd is None or (isinstance(odd, dict) and not odd),
    "from_position, points": lambda odd: type(odd) is int and abs(odd) < 5,
}


@pytest.mark.parametrize("door", DOORS)
def test_odd_arguments(door: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests) -> None:
    monkeypatch.chdir(tmp_path)
    for odd in ODD:
        if door in FINE and FINE[door](odd):
            continue
        with subtests.test(ascii(odd)[:20]):
            game = Game()
            before = json.dumps(game.record())
            with pytest.raises(WelfareEnvError) as error:
                DOORS[door](game, odd)
            assert len(str(error.value)) < 3000
            assert json.dumps(game.record()) == before


def test_endless_orders() -> None:
    with pytest.raises(OrderError, match="more than 1000 orders"):
        Game().submit("FRANCE", itertools.repeat("A PAR H"))


@pytest.mark.parametrize("orders", [{"A PAR H"}, frozenset({"A PAR H"}), {"A PAR - BUR": 1}])
def test_orders_without_a_sequence(orders: Any) -> None:
    with pytest.raises(OrderError, match="list of strings"):
        Game().submit("FRANCE", orders)


def test_orders_in_an_array_are_as_good_as_in_a_list(tmp_path: Any) -> None:
    game = Game()
    game.submit("FRANCE", np.array(["A PAR - BUR", "A MAR H"]))
    assert game.orders("FRANCE") == ("A PAR - BUR", "A MAR H")
    game.save(tmp_path / "game.json")


def test_an_array_is_no_sender_though_numpy_compares_it_with_names() -> None:
    game = Game()
    for sender, recipient in ((np.array(["FRANCE"]), "GERMANY"), ("FRANCE", np.array(["GERMANY"]))):
        with pytest.raises(PressError):
            game.send(sender, recipient, "hi")
    assert game.messages == ()


def test_void_orders_and_reasons_can_always_be_saved(tmp_path: Any) -> None:
    game = Game()
    game.add_void("FRANCE", np.array([1]), "\ud800" * 20_000)  # type: ignore[arg-type]
    game.save(tmp_path / "game.json")
    assert Game.load(tmp_path / "game.json").record() == game.record()


class TestAfterAYear:
    def play(self, rules: Rules) -> Game:
        game = Game(rules=rules)
        while not game.is_done:
            if game.phase == "F1901M":
                game.submit("FRANCE", ["A MAR - SPA"])
            if game.phase == "W1902A" and rules.is_welfare:
                game.submit("FRANCE", ["A PAR D"])
            game.advance()
        return game

    def test_points_units_and_centers_when_the_year_was_over(self) -> None:
        game = self.play(Rules(years=3))
        assert [game.after_year(year).welfare["FRANCE"] for year in (1901, 1902, 1903)] == [1, 3, 5]
        assert "SPA" in game.after_year(1901).centers["FRANCE"]
        assert "A PAR" in game.after_year(1901).units["FRANCE"]
        assert "A PAR" not in game.after_year(1902).units["FRANCE"]
        assert game.after_year(1903) is game.position
        assert game.after_year(1903).scores == game.scores

    def test_a_year_of_the_standard_game_may_have_no_winter(self) -> None:
        game = Game(rules=Rules("standard", years=3))
        while not game.is_done:
            game.advance()
        assert [record.phase for record in game.history] == [f"{s}190{y}M" for y in (1, 2, 3) for s in "SF"]
        assert game.after_year(1902).phase == "S1903M"
        assert game.after_year(1903).phase == "COMPLETED"

    def test_what_a_phase_led_to(self) -> None:
        game = self.play(Rules(years=2))
        for record, following in itertools.pairwise(game.history):
            assert record.after is following.position
            assert record.seen_by("FRANCE").after is record.after
        assert game.history[-1].after.welfare == game.welfare

    @pytest.mark.parametrize("year", [1900, 1902, 0, -1, "1901", None, 1901.5, np.array([1, 2]), [1901]], ids=repr)
    def test_years_that_are_not_over(self, year: Any) -> None:
        game = Game(rules=Rules(years=3))
        with pytest.raises(YearError, match="no year is over"):
            game.after_year(1901)
        while game.phase != "F1902M":
            game.advance()
        with pytest.raises(YearError, match="from 1901 to 1901"):
            game.after_year(year)
        assert game.after_year(1901).phase == "S1902M"

    def test_a_game_from_a_position(self) -> None:
        game = Game.from_position("W1905A", {}, {"FRANCE": ["PAR"]}, welfare={"FRANCE": 4})
        game.advance()
        assert game.after_year(1905).welfare["FRANCE"] == 5
        with pytest.raises(PositionError):
            Game.from_position("W1905A", {}, {"FRANCE": ["PAR"]}, welfare=np.zeros(7))  # type: ignore[arg-type]
        with pytest.raises(UnknownPowerError):
            Game.from_position("W1905A", {"ROME": []}, {})
