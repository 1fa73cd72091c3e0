"""Welfare points, Winters and press (Mukobi et al. 2023, section 2.2), sentence by sentence."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from welfare_env import Game, PressError, Rules, load_board

Position = Callable[..., Game]  # the fixtures of conftest.py that make a game in some position
RIVALS = {"GERMANY": ["BER", "KIE", "MUN"]}  # a second power, so that the package sees a game and not a solitaire


class TestWelfarePoints:
    def test_a_winter_gains_centers_less_units(self, winter: Position) -> None:
        units = {"FRANCE": ["A PAR"], "ITALY": ["A ROM"]}  # Italy owns nothing
        game = winter(units, {"FRANCE": ["PAR", "MAR", "BRE"], **RIVALS}, welfare={"FRANCE": 7})
        game.advance()
        assert game.welfare == dict.fromkeys(game.powers, 0) | {"FRANCE": 9, "GERMANY": 3}

    def test_the_gain_counts_after_builds_and_disbands(self, winter: Position) -> None:
        centers = {"FRANCE": ["PAR", "MAR", "BRE"], "GERMANY": ["BER", "KIE", "MUN"]}
        game = winter({"FRANCE": ["A PAR"], "GERMANY": ["A BER", "A MUN"]}, centers)
        game.submit("FRANCE", ["F BRE B"])
        game.submit("GERMANY", ["A BER D", "A MUN D"])
        game.advance()
        assert (game.welfare["FRANCE"], game.welfare["GERMANY"]) == (1, 3)


class TestWinter:
    def test_any_unit_may_be_disbanded(self, winter: Position) -> None:
        units = ("A PAR", "F MAO", "A BEL")
        game = winter({"FRANCE": units}, {"FRANCE": ["PAR", "MAR", "BRE"], **RIVALS})
        for number in range(4):
            for chosen in itertools.combinations(units, number):
                game.submit("FRANCE", [f"{unit} D" for unit in chosen])
        game.submit("FRANCE", [f"{unit} D" for unit in units])
        game.advance()
        assert game.units["FRANCE"] == ()

    def test_forced_removals_are_the_packages(self, winter: Position, scatter: Callable[..., Any]) -> None:
        upstream = pytest.importorskip("diplomacy").Game()
        board, rng = load_board(), np.random.default_rng(5)
        for _ in range(8):
            units, centers = scatter(board, rng, 34)
            upstream.clear_units()
            upstream.clear_centers()
            upstream.set_current_phase("W1901A")
            for power in board.powers:
                upstream.set_units(power, units[power])
                upstream.set_centers(power, centers[power])
            upstream.process()
            game = winter(units, centers)
            game.advance()
            expected = {power: tuple(upstream.get_units(power)) for power in board.powers}
            assert game.units == expected, f"units {units}, centers {centers}"


@pytest.mark.parametrize(
    ("map_name", "years", "games"),
    [
        pytest.param("pure", 3, 40, id="pure"),
        pytest.param("standard", 2, 5, id="standard"),
        pytest.param("standard", 10, 60, id="standard, long", marks=pytest.mark.slow),
    ],
)
def test_in_every_winter_of_random_games_the_gain_is_centers_less_units(
    engine: str, map_name: str, years: int, games: int, play_on: Callable[..., Game]
) -> None:
    for seed in range(games if engine != "reference" else games // 5):
        game = play_on(Game(map_name, Rules(years=years), engine), np.random.default_rng(seed))
        phases = game.record()["phases"]
        winters = 0
        for before, after in itertools.pairwise(phases):
            for power in game.powers:
                units, centers = after["state"]["units"][power], before["state"]["centers"][power]
                gain = after["state"]["welfare"][power] - before["state"]["welfare"][power]
                is_winter = before["name"][0] == "W"
                assert gain == (len(centers) - len(units) if is_winter else 0), (
                    f"game {seed}, {before['name']}, {power}"
                )
                assert gain >= 0
                assert not is_winter or len(units) <= len(centers), f"game {seed}, {before['name']}, {power}"
            winters += before["name"][0] == "W"
        assert winters == years


class TestPress:
    """Game keeps messages; who speaks when is the environments' business (test_aec.py, test_parallel.py)."""

    @pytest.mark.parametrize("rules", [Rules(message_rounds=0), Rules(press=None)])
    def test_no_rounds_is_no_press(self, rules: Rules) -> None:
        assert not rules.has_press
        with pytest.raises(PressError, match="press"):
            Game(rules=rules).send("FRANCE", "GLOBAL", "Hello")

    def test_none_in_retreat_phases(self, dislodging: Position) -> None:
        game = dislodging()
        with pytest.raises(PressError, match="S1901R"):
            game.send("FRANCE", "GLOBAL", "Hello")
