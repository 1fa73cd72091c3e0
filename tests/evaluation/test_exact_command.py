"""The command ``exact``: the values of the library, and refusals by name."""

import csv
import json
from pathlib import Path

import pytest

from evaluation.exact import best_response, exploitability
from tests.evaluation.conftest import call


def test_gains_of_each_power_and_the_best_line_of_play(tmp_path: Path) -> None:
    board = ["--map", "shared-clique:3", "--years", "3"]  # there the powers' gains differ
    found = json.loads(call("exact", "prosocial", *board, "--json", "--csv", str(tmp_path / "gains.csv")))
    for each in found["coalitions"]:
        (power,) = each["coalition"]
        meant = best_response("shared-clique:3", "prosocial", power, 3)
        assert (each["value"], each["profile_value"], each["gain"]) == (meant.value, meant.profile_value, meant.gain)
        assert (each["gain_per_year"], each["positions"]) == (each["gain"] / 3, meant.positions)
        assert [(phase, tuple(orders)) for phase, orders in each["line"]] == list(meant.orders)
    best = max(found["coalitions"], key=lambda each: each["gain"])
    assert found["best"] == best["coalition"]
    rows = list(csv.DictReader((tmp_path / "gains.csv").open()))
    assert [(row["coalition"], float(row["gain"])) for row in rows] == [
        (each["coalition"][0], each["gain"]) for each in found["coalitions"]
    ]
    text = call("exact", "prosocial", *board, "--coalitions", *best["coalition"])
    assert f"{best['coalition'][0]} gains most: {best['gain']:g} in the whole game" in text
    assert all(order in text for _, orders in best["line"] for order in orders)


def test_mixes_and_coalitions() -> None:
    mix, board = "mix:prosocial=1/2,hold=1/2", ("--map", "clique:3", "--years", "2", "--json")
    (alone,) = json.loads(call("exact", mix, *board, "--coalitions", "PLAYERB"))["coalitions"]
    meant = exploitability("clique:3", mix, 2, powers=["PLAYERB"]).responses["PLAYERB"]
    assert (alone["value"], alone["profile_value"], alone["line"]) == (meant.value, meant.profile_value, None)
    (both,) = json.loads(call("exact", "prosocial", *board, "--coalitions", "PLAYERC+PLAYERA"))["coalitions"]
    joint = best_response("clique:3", "prosocial", ("PLAYERA", "PLAYERC"), 2)
    assert (both["coalition"], both["gain"]) == (["PLAYERA", "PLAYERC"], joint.gain)


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ("prosocial --map standard", "map 'standard': it has convoys"),
        ("random --map clique:3 --years 1", "asked twice in S1901M"),
        ("program:FairBot --map clique:3", "modal tournament"),
        ("lm:scripted/stub --map clique:3", "lm:scripted/stub asks a language model"),
        ("2*hold --map clique:3", "seats for 2: give 3"),
        ("hold --years 101", "--years 101"),
    ],
)
def test_what_has_no_exact_value_is_refused_by_name(arguments: str, fault: str) -> None:
    assert fault in " ".join(call("exact", *arguments.split(), code=2).split())
