"""DumbBot: its values, its orders, and that it wins against weak play."""

import numpy as np
import pytest

import welfare_env
from agents.scripted.dumbbot import choose
from agents.scripted.dumbbot_values import _proximity, valuate
from tests.playing import orders_at
from welfare_env.board.loading import load_board


@pytest.mark.parametrize(("power", "variant"), [("FRANCE", "welfare"), ("TURKEY", "standard")])
def test_beats_random(power, variant, seat):
    """One attacker among six random players, ten years, two games."""
    tables = [seat("dumbbot", "random", power, seed=seed, variant=variant).finish() for seed in (0, 1)]
    assert np.mean([len(table.game.centers[power]) for table in tables]) >= 12


def test_large_neighbors_are_worth_more():
    """Of two equal enemies next door the larger one's center draws more."""
    units = {"FRANCE": ["A BUR"]}
    centers = {"FRANCE": ["PAR"], "GERMANY": ["MUN"], "ITALY": ["MAR", "ROM", "NAP", "VEN", "TUN"]}
    values = valuate(welfare_env.Game.from_position("F1902M", units=units, centers=centers).view("FRANCE"))
    assert values.of("A BUR", "MAR") > values.of("A BUR", "MUN") > values.of("A BUR", "PAR")


def test_values_fall_with_distance():
    units = {"FRANCE": ["A PAR"]}
    values = valuate(welfare_env.Game.from_position("F1902M", units=units, centers={"FRANCE": ["PAR"]}).view("FRANCE"))
    assert values.of("A PAR", "SEV") > values.of("A PAR", "UKR") > values.of("A PAR", "SYR")


@pytest.mark.parametrize("season", ["S", "F", "W"])
def test_sums_are_exact(season):
    """Whatever adds them up, and in whichever sequence: no two values are equal on one machine and not on another."""
    board = load_board("standard")
    near = _proximity(board, season)
    largest = 700 * (34**2 + 4 * 34 + 16) * np.isin(board.piece_province, board.center_province)
    assert (near == np.rint(near)).all()
    assert (largest @ near).max() < 2**53


def test_rivals_are_counted_in_and_around_a_province():
    units = {"FRANCE": ["A PAR"], "GERMANY": ["A MUN", "A RUH"], "ITALY": ["A TYR"]}
    values = valuate(welfare_env.Game.from_position("F1902M", units=units, centers={}).view("FRANCE"))
    assert [values.threat(province) for province in ("MUN", "BUR", "BOH", "SPA")] == [2, 2, 1, 0]


def test_attacks_with_support():
    """One German holds Munich: one of the two armies goes there and the other supports it."""
    units = {"FRANCE": ["A BUR", "A RUH"], "GERMANY": ["A MUN"]}
    centers = {"FRANCE": ["PAR", "MAR", "BRE"], "GERMANY": ["MUN"]}
    taken = ["A BUR - MUN", "A RUH S A BUR - MUN"], ["A BUR S A RUH - MUN", "A RUH - MUN"]
    seen = [orders_at("dumbbot", seed=seed, phase="F1905M", units=units, centers=centers) for seed in range(20)]
    assert sum(orders in taken for orders in seen) >= 10


def test_units_that_stay_lend_support():
    """Venice is worth keeping; its army helps the one that goes from Tuscany against Piedmont."""
    units, centers = {"FRANCE": ["A TUS", "A VEN"], "ITALY": ["A PIE"]}, {"FRANCE": welfare_env.load_board().centers}
    assert orders_at("dumbbot", phase="F1905M", units=units, centers=centers) == ["A TUS - PIE", "A VEN S A TUS - PIE"]


def test_builds_all_it_may_and_disbands_only_what_it_must():
    centers = {"FRANCE": ["PAR", "MAR", "BRE", "SPA"]}
    built = orders_at("dumbbot", phase="W1901A", units={"FRANCE": ["A SPA"]}, centers=centers)
    assert {order[2:5] for order in built} == {"PAR", "MAR", "BRE"}
    assert {order[-1] for order in built} == {"B"}
    full = {"FRANCE": ["A SPA", "A PAR", "A BUR", "A PIC"]}
    assert orders_at("dumbbot", phase="W1901A", units=full, centers=centers) == []
    assert len(orders_at("dumbbot", phase="W1901A", units=full, centers={"FRANCE": ["PAR"]})) == 3


def test_retreats_rather_than_disbands():
    position = {"units": {"ITALY": ["A BUR"]}, "centers": {"FRANCE": ["PAR"]}}
    orders = orders_at("dumbbot", phase="S1902R", dislodged={"FRANCE": {"A BUR": ["GAS", "RUH"]}}, **position)
    assert orders in (["A BUR R GAS"], ["A BUR R RUH"])
    assert orders_at("dumbbot", phase="S1902R", dislodged={"FRANCE": {"A BUR": []}}, **position) in ([], ["A BUR D"])


def test_choice_is_between_near_equals():
    rng = np.random.default_rng(0)
    counts = np.bincount([choose(rng, [70.0, 100.0, 100.0]) for _ in range(1000)], minlength=3)
    assert counts[0] == 0
    assert counts[1] == pytest.approx(500, abs=60)
