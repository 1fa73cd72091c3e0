"""Standard Diplomacy, and the end of a game (Mukobi et al. 2023, section 2.1), sentence by sentence."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from welfare_env import Game, IllegalOrderError, Rules, load_board

Position = Callable[..., Game]  # the fixtures of conftest.py that make a game in some position
STANDARD = Rules(variant="standard")
RIVALS = {"GERMANY": ["BER", "KIE", "MUN"]}  # a second power, so that the package sees a game and not a solitaire


class TestStandardGame:
    """What the comparison with the `diplomacy` package (test_reference.py) does not see."""

    def test_standard_never_gives_welfare_points(self, play_on: Callable[..., Game]) -> None:
        game = play_on(Game("pure", Rules(variant="standard", years=3)), np.random.default_rng(0))
        assert set(game.welfare.values()) == {0}

    def test_standard_allows_no_more_disbands_than_needed(self, winter: Position) -> None:
        units = {"FRANCE": ["A PAR", "A MAR", "A BUR"], "GERMANY": ["A BER"]}
        game = winter(units, {"FRANCE": ["PAR", "MAR"], **RIVALS}, STANDARD)
        with pytest.raises(IllegalOrderError, match="A MAR D"):
            game.submit("FRANCE", ["A PAR D", "A MAR D"])
        game.submit("FRANCE", ["A PAR D", "A MAR D"], strict=False)
        game.advance()
        assert game.units["FRANCE"] == ("A MAR", "A BUR")


def taking_spain(number: int, rules: Rules) -> Game:
    """Austria, the first power, has just taken its `number`-th center in Fall 1905."""
    others = [center for center in load_board().centers if center != "SPA"]
    centers = {"AUSTRIA": others[: number - 1], "TURKEY": others[number - 1 :]}
    game = Game.from_position("F1905M", {"AUSTRIA": ["A MAR"]}, centers, rules=rules)
    game.submit("AUSTRIA", ["A MAR - SPA"])
    game.advance()
    return game


class TestEndOfTheGame:
    def test_standard_ends_with_the_eighteenth_center_and_not_before(self) -> None:
        game, earlier = taking_spain(18, STANDARD), taking_spain(17, STANDARD)
        assert (game.is_done, game.phase, game.winner) == (True, "COMPLETED", "AUSTRIA")
        assert {power: score for power, score in game.scores.items() if score} == {"AUSTRIA": 1.0}
        assert (earlier.is_done, earlier.winner) == (False, None)

    @pytest.mark.parametrize(("second", "winner"), [("A MUN - BUR", None), ("A MUN H", "FRANCE")])
    def test_nobody_wins_while_two_have_as_many(self, tmp_path: Path, second: str, winner: str | None) -> None:
        """Both reach the two centers of a victory in the same Fall, or only one."""
        (tmp_path / "few.map").write_text(
            "VICTORY 2\nBEGIN SPRING 1901 MOVEMENT\nFRANCE (FRENCH) PAR\nA PAR\nGERMANY (GERMAN) MUN\nA MUN\n"
            "UNOWNED SPA BUR\nParis = par\nMunich = mun\nSpain = spa\nBurgundy = bur\n"
            "LAND PAR ABUTS SPA\nLAND SPA ABUTS PAR\nLAND MUN ABUTS BUR\nLAND BUR ABUTS MUN\n"
        )
        game = Game(str(tmp_path / "few.map"), STANDARD)
        for orders in ({"FRANCE": ["A PAR - SPA"], "GERMANY": [second]}, {}):
            for power, given in orders.items():
                game.submit(power, given, strict=False)
            game.advance()
        assert game.winner == winner

    def test_welfare_never_ends_by_centers(self) -> None:
        game = taking_spain(18, Rules())
        assert (game.is_done, game.winner, game.phase) == (False, None, "W1905A")
