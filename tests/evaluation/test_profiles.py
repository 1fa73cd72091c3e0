"""Evaluations of mixed profiles: who sits where in each game, payoffs by policy, and gains by leaving them."""

from typing import Any

import pytest

import evaluation
from agents import DovePolicy
from agents.specs import ProfileError
from evaluation import GameStore
from welfare_env import Rules

QUICK = Rules(years=2, press=None)
POWERS = ("AUSTRIA", "ENGLAND", "FRANCE", "GERMANY", "ITALY", "RUSSIA", "TURKEY")


def test_seats_go_round_and_payoffs_are_told_by_policy() -> None:
    result = evaluation.self_play("3*dove + 4*hold", 7, rules=QUICK)
    for power in POWERS:
        assert sorted(seats[power] for seats in result.seats) == ["dove"] * 3 + ["hold"] * 4
    dove, hold = result.welfare_by_policy["dove"], result.welfare_by_policy["hold"]
    for game, measures in enumerate(result.measures):
        mine = [points for power, points in measures.welfare_per_year.items() if result.seats[game][power] == "dove"]
        assert dove.per_game[game] == pytest.approx(sum(mine) / 3)
    assert dove.value != hold.value
    assert result.to_dict()["welfare_by_policy"].keys() == {"dove", "hold"}
    assert "welfare_by_policy" not in evaluation.self_play("hold", 1, rules=QUICK).to_dict()


def test_a_mapping_a_text_and_objects_are_one_profile(tmp_path: Any) -> None:
    with GameStore(tmp_path / "games.sqlite") as store:
        common: dict[str, Any] = {"rules": QUICK, "store": store, "seats": "fixed"}
        by_text = evaluation.self_play("1*dove + 6*hold", 2, **common)
        by_name = evaluation.self_play(dict.fromkeys(POWERS, "hold") | {"AUSTRIA": "dove"}, 2, **common)
        assert by_text.records == by_name.records
        assert store.count() == 2
        own = evaluation.self_play(dict.fromkeys(POWERS, "hold") | {"AUSTRIA": DovePolicy()}, 2, **common)
        assert store.count() == 2  # an instance has no name
    assert [game.scores for game in own.measures] == [game.scores for game in by_text.measures]


def test_the_default_deviator_exploits_the_policy_in_whose_seat_it_sits() -> None:
    result = evaluation.exploitability(
        "FRANCE*dove + 6*hold", 1, coalitions=["FRANCE", "ITALY"], rules=QUICK, seats="fixed"
    )
    assert result.deviator == "exploiter:nice=(POLICY),attack=dumbbot"
    assert result.profile == "FRANCE*dove + 6*hold"
    for power, nice in (("FRANCE", "dove"), ("ITALY", "hold")):
        alone = evaluation.self_play(
            {each: "dove" if each == "FRANCE" else "hold" for each in POWERS}
            | {power: f"exploiter:nice={nice},attack=dumbbot"},
            1,
            rules=QUICK,
        )
        assert result.deviating[(power,)][0].welfare_per_year == alone.measures[0].welfare_per_year


def test_baseline_and_deviation_have_the_same_seats() -> None:
    """Nothing changes where the deviator's policy sits anyway: each power plays it in two of six games."""
    options: Any = {"deviator": "dove", "coalitions": "all-singles", "map_name": "clique:3", "rules": QUICK}
    result = evaluation.exploitability("1*dove + 2*random", 6, **options)
    for gain in result.gains:
        assert gain.gain.per_game.count(0) >= 2
        assert len(gain.gain.per_game) == 6


def test_what_does_not_fit_is_told_before_any_game() -> None:
    for door in (evaluation.self_play, evaluation.exploitability):
        with pytest.raises(ProfileError, match="seats for 8"):
            door("4*dove + 4*hold")
        with pytest.raises(TypeError, match=r"did you mean .simultaneous"):
            door("dove", simultaneousy=True)
