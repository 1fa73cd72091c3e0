"""The rules (Mukobi et al. 2023, sections 2 and 3, appendix A), sentence by sentence.

The engines are compared with each other in tests/engine/test_equivalence.py, and with the `diplomacy` package in
test_reference.py.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.playing import ordered
from tests.welfare_env.positions import dislodging, play_on, winter
from welfare_env import Game, IllegalOrderError, PressError, Rules, RulesError, load_board, make, parallel_env

STANDARD = Rules(variant="standard")
RIVALS = {"GERMANY": ["BER", "KIE", "MUN"]}  # a second power, so that the package sees a game and not a solitaire


@pytest.mark.parametrize(
    ("map_name", "years", "games"),
    [
        pytest.param("pure", 3, 40, id="pure"),
        pytest.param("standard", 2, 5, id="standard"),
    ],
)
def test_in_every_winter_of_random_games_the_gain_is_centers_less_units(engine, map_name, years, games) -> None:
    for seed in range(games if engine != "reference" else games // 5):
        history = play_on(Game(map_name, Rules(years=years), engine), np.random.default_rng(seed)).history
        for record in history:
            for power, centers in record.centers.items():
                gain = record.after.welfare[power] - record.welfare[power]
                spare = len(centers) - len(record.after.units[power])
                assert gain == (spare if record.phase[0] == "W" else 0) >= 0, f"game {seed}, {record.phase}, {power}"
        assert sum(record.phase[0] == "W" for record in history) == years


class TestPress:
    """Game keeps messages; who speaks when is the environments' business (test_aec.py, test_parallel.py)."""

    @pytest.mark.parametrize("rules", [Rules(message_rounds=0), Rules(press=None)])
    def test_no_rounds_is_no_press(self, rules: Rules) -> None:
        assert not rules.has_press
        with pytest.raises(PressError, match="press"):
            Game(rules=rules).send("FRANCE", "GLOBAL", "Hello")

    def test_none_in_retreat_phases(self) -> None:
        game = dislodging()
        with pytest.raises(PressError, match="S1901R"):
            game.send("FRANCE", "GLOBAL", "Hello")


class TestStandardGame:
    """What the comparison with the `diplomacy` package (test_reference.py) does not see."""

    def test_standard_allows_no_more_disbands_than_needed(self) -> None:
        units = {"FRANCE": ["A PAR", "A MAR", "A BUR"], "GERMANY": ["A BER"]}
        game = winter(units, {"FRANCE": ["PAR", "MAR"], **RIVALS}, STANDARD)
        with pytest.raises(IllegalOrderError, match="A MAR D"):
            game.submit("FRANCE", ["A PAR D", "A MAR D"])
        ordered(game, {"FRANCE": ["A PAR D", "A MAR D"]}, strict=False)
        assert game.units["FRANCE"] == ("A MAR", "A BUR")


def taking_spain(number: int, rules: Rules) -> Game:
    """Austria, the first power, has just taken its `number`-th center in Fall 1905."""
    others = [center for center in load_board().centers if center != "SPA"]
    centers = {"AUSTRIA": others[: number - 1], "TURKEY": others[number - 1 :]}
    game = Game.from_position("F1905M", {"AUSTRIA": ["A MAR"]}, centers, rules=rules)
    return ordered(game, {"AUSTRIA": ["A MAR - SPA"]})


class TestEndOfTheGame:
    def test_standard_ends_with_the_eighteenth_center_and_not_before_and_welfare_never_by_centers(self) -> None:
        game, earlier = taking_spain(18, STANDARD), taking_spain(17, STANDARD)
        assert (game.is_done, game.phase, game.winner) == (True, "COMPLETED", "AUSTRIA")
        assert {power: score for power, score in game.scores.items() if score} == {"AUSTRIA": 1.0}
        for other in (earlier, taking_spain(18, Rules())):
            assert (other.is_done, other.winner) == (False, None)

    def test_a_leader_that_takes_no_center_does_not_win(self, engine: str) -> None:
        centers = {"AUSTRIA": load_board().centers[:20], "TURKEY": load_board().centers[20:]}
        game = Game.from_position("F1905M", {"AUSTRIA": ["A BUR"]}, centers, rules=STANDARD, engine=engine)
        game.advance()
        assert (game.is_done, game.winner) == (False, None)

    @pytest.mark.parametrize(("second", "winner"), [("A MUN - BUR", None), ("A MUN H", "FRANCE")])
    def test_nobody_wins_while_two_have_as_many(self, tmp_path: Path, second: str, winner: str | None) -> None:
        """Both reach the two centers of a victory in the same Fall, or only one."""
        (tmp_path / "few.map").write_text(
            "VICTORY 2\nBEGIN SPRING 1901 MOVEMENT\nFRANCE (FRENCH) PAR\nA PAR\nGERMANY (GERMAN) MUN\nA MUN\n"
            "UNOWNED SPA BUR\nParis = par\nMunich = mun\nSpain = spa\nBurgundy = bur\n"
            "LAND PAR ABUTS SPA\nLAND SPA ABUTS PAR\nLAND MUN ABUTS BUR\nLAND BUR ABUTS MUN\n"
        )
        game = Game(str(tmp_path / "few.map"), STANDARD)
        ordered(ordered(game, {"FRANCE": ["A PAR - SPA"], "GERMANY": [second]}), {})
        assert game.winner == winner


@pytest.mark.parametrize(("retreats", "gain"), [(["A BUR R RUH"], 2 - 1), ([], 2)])
def test_points_are_gained_in_a_retreat_phase(retreats: list[str], gain: int) -> None:
    """The authors' program added the points then, too. A unit that disbands in it counts no more."""
    game = dislodging(rules=Rules(retreat_welfare=True))
    assert (game.phase, set(game.welfare.values())) == ("S1901R", {0})
    ordered(game, {"GERMANY": retreats})
    assert (game.welfare["FRANCE"], game.welfare["GERMANY"]) == (3 - 2, gain)


class TestBuildAndDisband:
    """The authors' program executes a Winter list that both builds and disbands."""

    RULES = Rules(years=2, build_and_disband=True)
    BOTH = ("A BUR D", "A PAR B", "F BRE B")

    @staticmethod
    def winter(rules: Rules) -> Game:
        owned = {"FRANCE": ["PAR", "BRE", "MAR", "SPA"], "ENGLAND": ["LON"]}
        return Game.from_position("W1901A", {"FRANCE": ["A BUR", "A MUN"]}, owned, rules=rules)

    def test_both_are_executed_and_disbands_make_no_room_for_builds(self) -> None:
        game = self.winter(self.RULES)
        with pytest.raises(IllegalOrderError, match="A MAR B"):
            game.submit("FRANCE", [*self.BOTH, "A MAR B"])
        assert game.submit("FRANCE", self.BOTH) == ()
        game.advance()
        assert sorted(game.units["FRANCE"]) == ["A MUN", "A PAR", "F BRE"]
        assert game.welfare["FRANCE"] == 4 - 3

    def test_both_may_be_said_one_order_at_a_time(self) -> None:
        """The action mask of the AEC environment keeps the other kind open."""
        env = make(rules=replace(self.RULES, press=None))
        env.reset(options={"game": self.winter(replace(self.RULES, press=None))})
        index = env.unwrapped.board.orders.index
        while env.agent_selection != "FRANCE":
            env.step(0)
        for order in self.BOTH:
            assert env.observe("FRANCE")["action_mask"][index[order]]
            env.step(index[order])
        assert env.unwrapped.game.orders("FRANCE") == self.BOTH

    def test_choices_of_both_kinds_stand_in_the_parallel_environment(self) -> None:
        rules = replace(self.RULES, press=None)
        env = parallel_env(rules=rules)
        seen, _ = env.reset(options={"game": self.winter(rules)})
        choices = {agent: np.zeros(len(seen[agent]["legal"]), np.int64) for agent in env.agents}
        choices["FRANCE"][:4] = 1  # both units go; two of the three homes build
        _, _, _, _, infos = env.step(choices)
        assert len(infos["FRANCE"]["view"].units["FRANCE"]) == 2
        assert infos["FRANCE"]["refused"] == ()

    def test_rules_without_it_are_written_as_before(self) -> None:
        """Files of earlier versions keep their digests."""
        assert "build_and_disband" not in Rules().to_dict()
        assert Rules.from_dict(self.RULES.to_dict()) == self.RULES


def test_the_published_rules_are_three_options_besides_others() -> None:
    """Those of the program behind the paper's figures."""
    assert Rules.published() == Rules(retreat_welfare=True, build_and_disband=True, adjudication="package")
    rules = Rules.published(years=5, press=None, retreat_welfare=False)
    assert rules == Rules(years=5, press=None, build_and_disband=True, adjudication="package")
    for wrong in ({"years": 0}, {"variant": "standard"}):
        with pytest.raises(RulesError, match=next(iter(wrong))):
            Rules.published(**wrong)


class TestProgressive:
    def test_a_years_gain_is_multiplied_by_its_weight(self) -> None:
        rules = Rules(years=3, progressive=(1, 5, 0))
        game = Game.from_position("W1901A", {}, {"FRANCE": ["PAR", "MAR"]}, rules=rules)
        points = []
        while not game.is_done:
            game.advance()
            points.append(game.welfare["FRANCE"])
        assert points == [2, 2, 2, 12, 12, 12, 12]

    @pytest.mark.parametrize("weights", [(1, 2), (1, -1, 1), "123"])
    def test_weights_are_one_whole_number_a_year(self, weights: object) -> None:
        with pytest.raises(RulesError, match="progressive"):
            Rules(years=3, progressive=weights)


class TestTransfers:
    RULES = Rules(transfers=True)

    def given(self, orders: list[str], **more: Any) -> Game:
        """France owns five points and gives."""
        game = winter({}, {}, self.RULES, welfare={"FRANCE": 5})
        return ordered(game, {"FRANCE": orders}, **more)

    def test_an_order_gives_one_point(self) -> None:
        game = self.given(["GIVE GERMANY", "GIVE ITALY", "GIVE GERMANY"])
        assert game.welfare == dict.fromkeys(game.powers, 0) | {"FRANCE": 2, "GERMANY": 2, "ITALY": 1}

    def test_nobody_gives_more_than_it_owns(self) -> None:
        with pytest.raises(IllegalOrderError, match="5"):
            self.given(["GIVE GERMANY"] * 6)
        game = self.given(["GIVE GERMANY"] * 6, strict=False)
        assert (game.welfare["FRANCE"], game.welfare["GERMANY"]) == (0, 5)

    def test_nobody_gives_to_itself_or_before_winter(self) -> None:
        with pytest.raises(IllegalOrderError, match="FRANCE"):
            self.given(["GIVE FRANCE"])
        game = Game.from_position("F1901M", {}, {}, welfare={"FRANCE": 3}, rules=self.RULES)
        with pytest.raises(IllegalOrderError, match="GIVE GERMANY"):
            game.submit("FRANCE", ["GIVE GERMANY"])


def test_units_may_exceed_centers_and_the_difference_is_subtracted() -> None:
    units = {"FRANCE": ["A PAR", "A BEL", "A RUH"]}
    game = ordered(winter(units, {"FRANCE": ["PAR"], **RIVALS}, Rules(overmilitarise=True)), {})
    assert (game.units["FRANCE"], game.welfare["FRANCE"]) == (("A PAR", "A BEL", "A RUH"), -2)


@pytest.mark.parametrize(
    ("scoring", "expected"),
    [
        ("sum-of-squares", {"FRANCE": 9 / 14, "GERMANY": 1 / 14, "ITALY": 4 / 14}),
        ("draw-size", dict.fromkeys(("FRANCE", "GERMANY", "ITALY"), 1 / 3)),
        ("concave", {"FRANCE": 3**0.5, "GERMANY": 1, "ITALY": 2**0.5}),
    ],
)
def test_scores(scoring: str, expected: dict[str, float]) -> None:
    centers = {"FRANCE": ["PAR", "MAR", "BRE"], "GERMANY": ["BER"], "ITALY": ["ROM", "NAP"]}
    game = Game.from_position("S1905M", {}, centers, rules=Rules("standard", scoring=scoring))
    assert {power: score for power, score in game.scores.items() if score} == pytest.approx(expected)


class TestRules:
    @pytest.mark.parametrize(
        "wrong",
        [
            *({"variant": "other"}, {"years": True}, {"years": 10**9}, {"transfers": 1}, {"scoring": "draw-size"}),
            *({"press": None, "mediator": True}, {"variant": "standard", "transfers": True}),
        ],
        ids=str,
    )
    def test_wrong_options_are_refused_by_name(self, wrong: dict) -> None:
        with pytest.raises(RulesError) as error:
            Rules(**wrong)
        assert list(wrong)[-1] in str(error.value)

    def test_rules_are_frozen_and_hashable(self) -> None:
        with pytest.raises(AttributeError):
            Rules().years = 3
        assert hash(Rules(years=2, progressive=[1, 2])) == hash(Rules(years=2, progressive=(1, 2)))
        assert Rules(years=np.int64(2), progressive=[np.int64(1)] * 2) == Rules(years=2, progressive=(1, 1))
