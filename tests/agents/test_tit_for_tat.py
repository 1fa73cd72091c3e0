"""Tit-for-tat: disarms first, and then answers its neighbors."""

import pytest

import evaluation
import welfare_env
from tests.playing import seated

RULES = welfare_env.Rules(press=None, years=5)
FRANCE = ["BRE", "MAR", "PAR", "POR", "SPA"]


def orders(power="FRANCE", rules=RULES, **position):
    policy = seated("tit-for-tat", power)
    return policy.orders(welfare_env.Game.from_position(rules=rules, **position).view(power))


def winter(phase, french, neighbors, rules=RULES, centers=FRANCE):
    """What France orders in a Winter in which it has some units and its neighbors have others."""
    owned = {"FRANCE": centers, "GERMANY": ["BER", "KIE", "MUN", "HOL"], "TURKEY": ["ANK", "CON", "SMY", "BUL"]}
    return orders(phase=phase, units={"FRANCE": french, **neighbors}, centers=owned, rules=rules)


def test_with_itself_it_shares_all_there_is_and_nobody_is_armed():
    result = evaluation.self_play("tit-for-tat", games=1, rules=welfare_env.Rules(press=None))
    assert result.root_nash_welfare.value == pytest.approx(4.843, abs=1e-3)


@pytest.mark.parametrize("phase", ["W1901A", "W1905A"])
def test_it_begins_disarmed_and_ends_disarmed_whatever_others_do(phase):
    german = {"GERMANY": ["A BER", "A KIE", "A MUN"]}
    assert sorted(winter(phase, ["A PAR", "F POR"], german)) == ["A PAR D", "F POR D"]


@pytest.mark.parametrize(
    ("french", "german", "wanted"),
    [
        ([], [], []),
        ([], ["A RUH", "A MUN"], ["A BRE B", "A MAR B"]),
        (["A PAR"], ["A RUH"], []),
        (["A BUR", "A PAR"], ["A RUH"], ["A PAR D"]),
    ],
)
def test_it_keeps_as_many_units_as_its_strongest_neighbor(french, german, wanted):
    assert winter("W1903A", french, {"GERMANY": german}) == wanted


def test_powers_that_are_far_away_are_no_neighbors():
    assert winter("W1903A", [], {"TURKEY": ["A CON", "F ANK", "A SMY"]}) == []
    assert winter("W1903A", [], {"TURKEY": ["F WES", "F ANK", "A SMY"]}) == ["A BRE B", "A MAR B", "A PAR B"]


def test_its_centers_bound_its_arms():
    assert winter("W1903A", [], {"GERMANY": ["A RUH", "A MUN"]}, centers=["PAR"]) == ["A PAR B"]
    assert winter("W1903A", ["A BUR", "A PAR"], {"GERMANY": ["A RUH", "A MUN"]}, centers=["PAR"]) == ["A PAR D"]
    standard = welfare_env.Rules("standard", press=None, years=5)
    assert winter("W1903A", ["A BUR", "A PAR"], {}, rules=standard) == []


def test_it_takes_back_what_it_lost_and_nothing_else():
    """Marseilles is its own by the fair partition; Munich and Holland are not, though free to enter."""
    found = orders(
        phase="S1903M",
        units={"FRANCE": ["A BUR", "A GAS", "A BEL", "A PIC"], "GERMANY": ["A MAR"]},
        centers={"FRANCE": ["PAR", "BRE", "SPA"], "GERMANY": ["MUN", "MAR", "HOL"]},
    )
    assert sorted(found) == ["A BEL - BUR", "A BUR - MAR", "A GAS S A BUR - MAR", "A PIC S A BEL - BUR"]


def test_it_stays_where_it_has_taken_a_center_back():
    """Which is its own again in Fall; the other unit goes for the next one."""
    found = orders(
        phase="F1903M",
        units={"FRANCE": ["A MAR", "A GAS"]},
        centers={"FRANCE": ["PAR", "BRE"], "GERMANY": ["MUN", "MAR", "SPA"]},
    )
    assert sorted(found) == ["A GAS - SPA", "A MAR H"]
