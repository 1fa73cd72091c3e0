"""Options of the rules (Mukobi et al. 2023, sections 2.2 and 3, appendix A), sentence by sentence.

The engines are compared under the same options in tests/engine/test_equivalence.py.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from welfare_env import (
    Game,
    IllegalOrderError,
    Rules,
    RulesError,
    make,
    parallel_env,
)

Position = Callable[..., Game]  # the fixtures of conftest.py that make a game in some position
STANDARD = Rules(variant="standard")
RIVALS = {"GERMANY": ["BER", "KIE", "MUN"]}  # a second power, so that the package sees a game and not a solitaire


class TestRetreatWelfare:
    """The authors' program added the points at the end of every retreat phase, too."""

    @pytest.mark.parametrize(("retreats", "gain"), [(["A BUR R RUH"], 2 - 1), ([], 2)])
    def test_points_are_gained_in_a_retreat_phase(self, dislodging: Position, retreats: list[str], gain: int) -> None:
        """A unit that disbands in it counts no more."""
        game = dislodging(rules=Rules(retreat_welfare=True))
        assert (game.phase, set(game.welfare.values())) == ("S1901R", {0})
        game.submit("GERMANY", retreats)
        game.advance()
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


class TestPublished:
    """The rules of the program behind the paper's figures."""

    def test_they_are_three_options_besides_others(self) -> None:
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

    def given(self, winter: Position, orders: list[str], **more: Any) -> Game:
        """France owns five points and gives."""
        game = winter({}, {}, self.RULES, welfare={"FRANCE": 5})
        game.submit("FRANCE", orders, **more)
        game.advance()
        return game

    def test_an_order_gives_one_point(self, winter: Position) -> None:
        game = self.given(winter, ["GIVE GERMANY", "GIVE ITALY", "GIVE GERMANY"])
        assert {power: points for power, points in game.welfare.items() if points} == {
            "FRANCE": 2,
            "GERMANY": 2,
            "ITALY": 1,
        }

    def test_nobody_gives_more_than_it_owns(self, winter: Position) -> None:
        with pytest.raises(IllegalOrderError, match="5"):
            self.given(winter, ["GIVE GERMANY"] * 6)
        game = self.given(winter, ["GIVE GERMANY"] * 6, strict=False)
        assert (game.welfare["FRANCE"], game.welfare["GERMANY"]) == (0, 5)

    def test_nobody_gives_to_itself_or_before_winter(self, winter: Position) -> None:
        with pytest.raises(IllegalOrderError, match="FRANCE"):
            self.given(winter, ["GIVE FRANCE"])
        game = Game.from_position("F1901M", {}, {}, welfare={"FRANCE": 3}, rules=self.RULES)
        with pytest.raises(IllegalOrderError, match="GIVE GERMANY"):
            game.submit("FRANCE", ["GIVE GERMANY"])


class TestOvermilitarise:
    RULES = Rules(overmilitarise=True)

    def test_units_may_exceed_centers_and_the_difference_is_subtracted(self, winter: Position) -> None:
        units = {"FRANCE": ["A PAR", "A BEL", "A RUH"]}
        game = winter(units, {"FRANCE": ["PAR"], **RIVALS}, self.RULES)
        game.advance()
        assert game.units["FRANCE"] == ("A PAR", "A BEL", "A RUH")
        assert game.welfare["FRANCE"] == -2


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

    def test_rules_survive_the_way_through_a_dict(self) -> None:
        for rules in (Rules(), STANDARD, Rules(years=2, progressive=(0, 3), transfers=True), Rules(mediator=True)):
            assert Rules.from_dict(rules.to_dict()) == rules
