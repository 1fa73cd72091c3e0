"""What results say besides their numbers: unbalanced seats, deviators that are missing, legends of tables."""

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import evaluation
from agents import ScriptedPolicy
from evaluation.cli.commands import app
from evaluation.experiment_files.description import parse_experiment
from evaluation.experiments import deviators
from evaluation.experiments.red_team import RedTeamResult
from evaluation.report.page import caveats, report_page
from evaluation.tables.attack_tables import coalition_tables, red_team_table
from evaluation.tables.cross_play_tables import player_table
from evaluation.tables.game_tables import press
from welfare_env import Rules

TOY = {"map_name": "clique:3", "rules": Rules(years=1, message_rounds=0)}
UNEQUAL = "policies do not play all seats equally often"
MIXED = 'title = "T"\nprofiles = ["4*dove + 3*hold"]\ngames = 1\n[rules]\npress = "none"\nyears = 1\n'


@pytest.mark.parametrize(
    ("profile", "number", "seats", "is_unequal"),
    [
        ("2*dove + 1*hold", 2, "rotated", True),
        ("2*dove + 1*hold", 3, "rotated", False),
        ("2*dove + 1*hold", 2, "drawn", False),
        ("PLAYERA*dove + 1*dove + 1*hold", 1, "rotated", True),
    ],
)
def test_seats_that_are_not_balanced(profile: object, number: int, seats: str, is_unequal: bool) -> None:
    result = evaluation.self_play(profile, number, seats=seats, **TOY)
    assert any(UNEQUAL in note for note in result.notes) is is_unequal
    assert result.to_dict()["notes"] == list(result.notes)


def test_the_table_and_the_page_say_so(tmp_path: Path) -> None:
    options = ["--years", "1", "--message-rounds", "0", "--map", "clique:3", "--workers", "1", "--games", "2"]
    words = ["self-play", "2*dove + 1*hold", *options, "--store", str(tmp_path / "games.sqlite")]
    assert UNEQUAL in " ".join(CliRunner().invoke(app, words).stdout.split())
    assert UNEQUAL in report_page(evaluation.experiment(parse_experiment(MIXED, "mixed")).to_dict())


def test_what_the_portfolio_is_without(monkeypatch: pytest.MonkeyPatch) -> None:
    options = TOY | {"coalitions": ["PLAYERA"]}
    monkeypatch.setattr(deviators, "find_spec", lambda name: None)
    result = evaluation.exploitability("hold", 1, deviator="portfolio", **options)
    (note,) = result.notes
    assert "the portfolio lacks rl:best-response: it needs the extra rl" in note
    assert evaluation.exploitability("hold", 1, deviator="dumbbot", **options).notes == ()


def test_what_does_not_fit_is_told_too() -> None:
    pytest.importorskip("torch")
    (note,) = evaluation.exploitability("hold", 1, deviator=["portfolio"], coalitions=["PLAYERA"], **TOY).notes
    assert "was trained for another map or other rules" in note


class Faulty(ScriptedPolicy):
    """Its second order in each movement phase is for no unit of this board."""

    def orders(self, view):
        return (
            [f"{view.units[view.power][0]} H", "A PAR H"] if view.phase_type == "M" and view.units[view.power] else []
        )


@pytest.mark.slow
def test_illegal_orders_are_told_wherever_the_policy_plays() -> None:
    """Alone, as the attacked, as the attacker, and in a mix; nobody else is blamed."""
    alone = evaluation.self_play(Faulty, 1, **TOY)
    (note,) = alone.notes
    assert "6 of 12 orders of " in note
    assert "Faulty were illegal and ignored; the first: PLAYERA in S1901M: " in note
    assert "A PAR H" in note
    attacked = evaluation.exploitability("hold", 1, deviator=Faulty, coalitions=["PLAYERB"], **TOY)
    assert "2 of 4 orders of " in attacked.notes[-1]
    red = evaluation.red_team(Faulty, "quick", games=1, **TOY)
    assert any("Faulty were illegal" in note for note in red.found.notes)
    assert "PLAYERA in S1901M" in red_team_table(red).caption.plain
    mixed = evaluation.cross_play(["hold", Faulty], 3, **TOY)
    assert len(mixed.notes) == len(mixed.to_dict()["notes"]) == 1
    assert "illegal" in player_table(mixed).caption.plain


def test_legal_orders_and_orders_that_fail_are_none() -> None:
    """A move that is bounced is legal; so is giving no order."""
    for policy in ("random", "hold", "dumbbot", "marshal", "noisy:of=prosocial,error=0.5"):
        assert evaluation.self_play(policy, 2, **TOY).notes == ()


class Broken(ScriptedPolicy):
    def orders(self, view):
        raise IndexError("out of reach")


@pytest.mark.parametrize(("message_rounds", "simultaneous"), [(0, False), (1, True)])
def test_an_error_in_a_player_tells_whose_it_is(message_rounds: int, simultaneous: bool) -> None:
    with pytest.raises(IndexError, match="out of reach") as caught:
        evaluation.self_play(
            {"PLAYERA": "hold", "PLAYERB": Broken, "PLAYERC": "hold"},
            1,
            map_name="clique:3",
            rules=Rules(years=1, message_rounds=message_rounds),
            simultaneous=simultaneous,
        )
    assert caught.value.__notes__ == ["(Broken as PLAYERB in S1901M)"]


TWO_GAMES: dict[str, Any] = {"games": 2, "map_name": "clique:3", "rules": Rules(years=1, press=None)}


@pytest.fixture(scope="module")
def gains() -> dict[str, evaluation.ExploitabilityResult]:
    return {
        name: evaluation.exploitability("hold", deviator="dove", coalitions=[coalition], **TWO_GAMES)
        for name, coalition in {"alone": ["PLAYERA"], "two": ["PLAYERA", "PLAYERB"]}.items()
    }


def heads(table: Any) -> list[str]:
    return [str(column.header) for column in table.columns]


def test_only_coalitions_of_several_have_columns_for_members(gains: dict[str, Any]) -> None:
    several = {"each member", "together"}
    assert not several & {*heads(coalition_tables(gains["alone"])[0])}
    assert several <= {*heads(coalition_tables(gains["two"])[0])}


def test_a_red_team_explains_the_kinds_that_it_shows() -> None:
    options = TWO_GAMES | {"coalitions": ["PLAYERA"], "deviator": ["dove", "prosocial"]}
    found = evaluation.exploitability("hold", **options)

    def told(dove: str) -> str:
        return str(red_team_table(RedTeamResult("quick", found, {"dove": dove, "prosocial": "portfolio"}, {})).caption)

    assert "powers: number of attackers" in told("raid")
    assert [word in told("raid") for word in ("contender:", "pact:")] == [False, False]
    assert [word in told("pact") for word in ("contender:", "pact:")] == [False, True]
    assert [word in told("portfolio") for word in ("contender:", "pact:")] == [True, False]  # one of two is the best


@pytest.mark.parametrize(
    ("values", "told", "left_out"),
    [
        ({"kept_promises": [0.5, 0.5]}, ["Promises are found"], ["Tokens"]),
        ({"tokens_per_game": [9, 9]}, ["Tokens and prices"], ["Promises"]),
        ({}, [], ["Promises", "Tokens"]),
    ],
)
def test_a_page_explains_the_measures_that_it_has(
    values: dict[str, list[float]], told: list[str], left_out: list[str]
) -> None:
    measures = {"root_nash_welfare": [1.0, 2.0]} | values
    point = {"low": None, "high": None, "n": 2, "per_game": []}
    conditions = [
        {
            "profile": f"policy {number}",
            "coalitions": "",
            "swept": {},
            "cells": [],
            "measures": {name: point | {"value": each[number]} for name, each in measures.items()},
        }
        for number in range(2)
    ]
    words = " ".join(caveats({"conditions": conditions, "measure": ["self-play"], "games": 2}))
    assert all(sentence in words for sentence in told)
    assert not any(sentence in words for sentence in left_out)


def test_one_round_is_no_rounds() -> None:
    assert [press(Rules(message_rounds=each)) for each in (1, 2)] == ["1 message round", "2 message rounds"]
    assert press(Rules(press="tokens", message_rounds=1)) == "1 message round of tokens"
