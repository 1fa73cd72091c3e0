"""The attack written by hand, and the picture of the deterrents."""

from pathlib import Path

import pytest

from evaluation import Estimate
from research.deterrence import hand_over
from research.deterrence.landings import attacks
from research.deterrence.rules import Line, frontier
from research.deterrence.three_homes import board_text
from welfare_env import Game


def test_marshals_do_not_let_one_keep_what_another_stole() -> None:
    points = hand_over.play(hand_over.ORDERS, seed=0)
    assert points["FRANCE"] + points["GERMANY"] < 100  # in peace they have 50 each


def test_all_roles_and_victims_land() -> None:
    assert len(set(attacks())) == 252
    assert attacks()[0].deviator.startswith("campaign:plan=landing,victim=")


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
