"""Standard Diplomacy, and the end of a game (Mukobi et al. 2023, section 2.1), sentence by sentence."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from welfare_env import Game, GameOverError, IllegalOrderError, Rules

Position = Callable[..., Game]  # the fixtures of conftest.py that make a game in some position
STANDARD = Rules(variant="standard")
RIVALS = {"GERMANY": ["BER", "KIE", "MUN"]}  # a second power, so that the package sees a game and not a solitaire


class TestStandardGame:
    """Standard Diplomacy, on which Welfare Diplomacy is built."""

    def test_a_year_is_spring_fall_and_winter(self) -> None:
        game = Game(rules=Rules(years=2))
        phases = []
        while not game.is_done:
            phases.append(game.phase)
            game.advance()
        assert phases == ["S1901M", "F1901M", "W1901A", "S1902M", "F1902M", "W1902A"]
        assert game.phase == "COMPLETED"

    def test_dislodged_units_retreat_at_once_or_disband(self, dislodging: Position) -> None:
        game, other = dislodging(), dislodging()
        assert game.phase == "S1901R"
        assert list(game.dislodged["GERMANY"]) == ["A BUR"]
        assert sorted(game.dislodged["GERMANY"]["A BUR"]) == ["BEL", "GAS", "MUN", "PIC", "RUH"]
        assert game.units["GERMANY"] == ()
        game.submit("GERMANY", ["A BUR R RUH"])
        game.advance()
        assert (game.units["GERMANY"], game.dislodged["GERMANY"]) == (("A RUH",), {})
        other.advance()
        assert (other.units["GERMANY"], other.history[-1].results["A BUR"]) == ((), ["disband"])

    def test_a_center_is_captured_after_fall_and_not_in_spring(self) -> None:
        game = Game.from_position("S1901M", {"FRANCE": ["A MAR"]}, {"FRANCE": ["MAR"]})
        for order in ("A MAR - SPA", "A SPA - POR"):
            game.submit("FRANCE", [order])
            game.advance()
        assert (game.phase, game.centers["FRANCE"]) == ("W1901A", ("MAR", "POR"))

    def test_a_center_is_captured_by_a_retreat_in_fall(self, dislodging: Position) -> None:
        game = dislodging("F1901M")
        assert set(game.centers["GERMANY"]) == {"BER", "MUN"}
        game.submit("GERMANY", ["A BUR R BEL"])
        game.advance()
        assert set(game.centers["GERMANY"]) == {"BEL", "BER", "MUN"}

    def test_standard_skips_a_winter_in_which_nobody_adjusts(self) -> None:
        game = Game(rules=STANDARD)
        game.advance()
        game.advance()
        assert game.phase == "S1902M"

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

    def test_standard_allows_no_voluntary_disband(self, winter: Position) -> None:
        game = winter({"FRANCE": ["A PAR"]}, {"FRANCE": ["PAR", "MAR"], **RIVALS}, STANDARD)
        with pytest.raises(IllegalOrderError, match="A PAR"):
            game.submit("FRANCE", ["A PAR D"])


class TestEndOfTheGame:
    def test_standard_ends_with_the_eighteenth_center_and_not_before(self, taking_spain: Position) -> None:
        game, earlier = taking_spain(18, STANDARD), taking_spain(17, STANDARD)
        assert (game.is_done, game.phase, game.winner) == (True, "COMPLETED", "FRANCE")
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

    def test_welfare_never_ends_by_centers(self, taking_spain: Position) -> None:
        game = taking_spain(18, Rules())
        assert (game.is_done, game.winner, game.phase) == (False, None, "W1905A")

    @pytest.mark.parametrize(("variant", "years"), [("welfare", 1), ("standard", 3)])
    def test_the_game_ends_after_the_given_years(self, variant: str, years: int) -> None:
        game = Game(rules=Rules(years=years, variant=variant))
        while not game.is_done:
            game.advance()
        assert game.history[-1].position.year == 1900 + years
        assert game.position.year == 1900 + years
        with pytest.raises(GameOverError):
            game.advance()

    def test_there_is_no_winner_and_the_score_is_the_points(self, winter: Position) -> None:
        game = winter({"FRANCE": ["A PAR"]}, {"FRANCE": ["PAR", "MAR", "BRE"], **RIVALS}, Rules(years=1))
        game.advance()
        assert (game.is_done, game.winner) == (True, None)
        assert {power: score for power, score in game.scores.items() if score} == {"FRANCE": 2.0, "GERMANY": 3.0}
