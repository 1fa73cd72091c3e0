"""What an attack costs the others."""

import math
from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import evaluation
from evaluation.measures.costs import gini, prosocial_level
from welfare_env import Rules, load_board

QUICK = Rules(years=4, press=None)


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=12))
@example([0.0, 0.0])
def test_gini_is_the_mean_difference_over_twice_the_mean(values: Sequence[float]) -> None:
    if sum(values) <= 1e-9:
        assert sum(values) or math.isnan(gini(values))
        return
    differences = sum(abs(a - b) for a in values for b in values) / len(values) ** 2
    assert gini(values) == pytest.approx(differences / (2 * sum(values) / len(values)), abs=1e-9)


def test_the_bound_is_what_prosocial_attains() -> None:
    assert prosocial_level(load_board()) == pytest.approx((5**6 * 4) ** (1 / 7))
    result = evaluation.self_play("prosocial", 1, rules=QUICK)
    assert result.root_nash_welfare.value == pytest.approx(prosocial_level(load_board()))


def test_against_the_numbers_of_the_games() -> None:
    result = evaluation.exploitability("dove", 2, coalitions=[["FRANCE", "ENGLAND"]], rules=QUICK)
    found, members = result.costs, result.best
    assert set(members) == {"FRANCE", "ENGLAND"}
    for game, (before, after) in enumerate(zip(result.baseline, result.deviating[members], strict=True)):
        own, usual = after.welfare_per_year, before.welfare_per_year
        others = [power for power in own if power not in members]
        assert found.inside.per_game[game] == pytest.approx((own["FRANCE"] + own["ENGLAND"]) / 2)
        assert found.outside.per_game[game] == pytest.approx(sum(own[power] for power in others) / 5)
        assert found.price.per_game[game] == pytest.approx(sum(usual[power] - own[power] for power in others) / 5)
        nash = math.prod(own.values()) ** (1 / len(own))
        assert found.prosocial_share.per_game[game] == pytest.approx(nash / prosocial_level(load_board()))
        assert found.waste.per_game[game] == pytest.approx(sum(usual.values()) - sum(own.values()))
    assert list(found.gain_by_year) == [1901, 1902, 1903, 1904]
    gained = sum(each.value for each in found.gain_by_year.values()) / 4
    gains = result.gains[0].members
    assert gained == pytest.approx(sum(gain.value for gain in gains.values()) / 2)
    assert found.members_units_by_year[1904].value == pytest.approx(
        sum(game.units[power] for game in result.deviating[members] for power in members) / 4
    )
    assert result.to_dict()["costs"]["price"] == found.price.to_dict()


def test_there_is_no_gini_of_negative_amounts() -> None:
    assert math.isnan(gini([-1.0, 3.0]))
