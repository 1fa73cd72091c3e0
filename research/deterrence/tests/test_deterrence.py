"""The record of written attacks, and the picture of the deterrents."""

from pathlib import Path

import pytest

import evaluation
from evaluation import Estimate
from research.deterrence import attacks, landings, record
from research.deterrence.rules import Line, frontier
from research.deterrence.three_homes import board_text
from welfare_env import Game, Rules

GAINS = {  # from marshals: least and most, of each member in the order of its courses
    "france_lands_late": [(0.05, 0.35)],
    "russia_refills": [(-9, -0.5)],
    "germany_robbed_by_russia": [(0.5, 0.7), (-9, -1)],
    "germany_keeps_england": [(-9, -1), (1, 1.5)],
    "italy_is_paid": [(-2.6, -2.4), (1.2, 1.4), (1.4, 1.6)],
    "italy_is_taken_over": [(1.6, 1.8), (-2.6, -2.4), (1.8, 2)],
    "london_is_the_fine": [(-1.2, -1), (0.6, 0.8), (0.5, 0.7)],
    "nobody_can_build": [(2.9, 3.1), (4.6, 4.8), (2.9, 3.1)],
    "russia_spites": [(0, 0)],
}


@pytest.mark.parametrize("name", GAINS)
def test_the_record_of_marshals(name: str) -> None:
    """Attacks that are mended stay so; the best known attack, by three together, is found again."""
    gain = record.attack("marshal", name, 2, 500, {}).best_gain
    for (low, high), member in zip(GAINS[name], attacks.members(name), strict=True):
        assert low <= gain.members[member].value <= high
    assert gain.total.value <= 10.71


def test_two_powers_take_homes_first() -> None:
    found = evaluation.exploitability(
        "marshal",
        2,
        deviator="import:research.deterrence.knockout.Knockout",
        coalitions=[("FRANCE", "RUSSIA")],
        coordinated=True,
        rules=Rules(press=None),
        seed=9100,
    )
    gain = found.best_gain
    assert gain.total.value > 7
    assert all(member.value > 2 for member in gain.members.values())


def test_every_attack_robs_the_prosocial_or_costs_somebody() -> None:
    for name in attacks.names():
        found = record.attack("prosocial", name, 1, 0, {})
        assert found.best_gain.total.value > 0 or name == "russia_spites"


def test_all_roles_and_victims_land() -> None:
    assert len(set(landings.attacks())) == 252
    assert landings.attacks()[0].deviator.startswith("campaign:plan=landing,victim=")


def test_a_board_with_three_homes(tmp_path: Path) -> None:
    (tmp_path / "homes.map").write_text(board_text(4, 3))
    game = Game(map_name=str(tmp_path / "homes.map"))
    assert game.units["PLAYERA"] == ("A HA1", "A HA2", "A HA3")
    assert {"A HA1 - HA2", "A HA1 - CAX"} <= set(game.legal_orders("PLAYERA")["A HA1"])


def test_deterrents_beside_published_models() -> None:
    pytest.importorskip("matplotlib")
    four, eight = (Estimate(value, value - 1, value + 1, 20, ()) for value in (4.0, 8.0))
    figure = frontier([Line("dove", four, four, eight, "x", (), {"hold": (four, "ITALY")})])
    names = ["our policies", "language models, as published by the paper's authors"]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == names
