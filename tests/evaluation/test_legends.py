"""Columns and legends that tables have only if they say something there."""

from __future__ import annotations

from typing import Any

import pytest

import evaluation
from evaluation.experiments.red_team import RedTeamResult
from evaluation.report.page import caveats
from evaluation.tables.attack_tables import coalition_tables, red_team_table
from evaluation.tables.game_tables import press
from welfare_env import Rules

TOY: dict[str, Any] = {"games": 2, "map_name": "clique:3", "rules": Rules(years=1, press=None)}


@pytest.fixture(scope="module")
def gains() -> dict[str, evaluation.ExploitabilityResult]:
    return {
        name: evaluation.exploitability("hold", deviator="dove", coalitions=[coalition], **TOY)
        for name, coalition in {"alone": ["PLAYERA"], "two": ["PLAYERA", "PLAYERB"]}.items()
    }


def heads(table: Any) -> list[str]:
    return [str(column.header) for column in table.columns]


def test_only_coalitions_of_several_have_columns_for_members(gains: dict[str, Any]) -> None:
    several = {"each member", "together"}
    assert not several & {*heads(coalition_tables(gains["alone"])[0])}
    assert several <= {*heads(coalition_tables(gains["two"])[0])}


def test_a_red_team_explains_the_kinds_that_it_shows() -> None:
    options = TOY | {"coalitions": ["PLAYERA"], "deviator": ["dove", "prosocial"]}
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
