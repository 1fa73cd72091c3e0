"""Exploitability in modal_env, against what the exact game says."""

import json
from fractions import Fraction

import pytest

import evaluation
import modal_env
from evaluation import EvaluationError

GOOD = "mix:CooperateBot=1/10,FairBot=17/20,PrudentBot=1/20"


@pytest.mark.parametrize("program", [agent.name for agent in modal_env.POST])
@pytest.mark.parametrize("epsilon", ["1/100", "1/10", "2/5"])
@pytest.mark.parametrize("actions", ["library", "formula", "tokens"])
def test_pure_profiles_are_as_exploitable_as_the_game_says(program, epsilon, actions):
    environment = modal_env.make(epsilon=epsilon, actions=actions)
    found = evaluation.exploitability(f"program:{program}", 2, environment=environment)
    game = modal_env.Game(modal_env.POST, epsilon)
    exact = modal_env.exploitability(game, modal_env.LIBRARY[program])
    assert found.value.value == pytest.approx(float(exact))
    assert (found.value.low, found.value.high) == (found.value.value, found.value.value)
    assert found.best == ("player_0",)


def test_the_interval_of_a_mix_holds_the_exact_value():
    exact = modal_env.exploitability(
        modal_env.Game(modal_env.POST, "1/10"), [Fraction(1, 10), 0, Fraction(17, 20), Fraction(1, 20)]
    )
    assert exact == 0
    found = evaluation.exploitability(GOOD, 100, environment=modal_env.make(epsilon=0.1, rounds=5))
    assert found.value.low <= exact <= found.value.high


def test_coalitions_of_a_population():
    environment = modal_env.make(epsilon=0.1, players=4, rounds=3)
    found = evaluation.exploitability("program:FairBot", 2, environment=environment, coalitions="pairs")
    assert len(found.estimate.coalitions) == 6
    assert found.value.value == pytest.approx(0.1)
    mine = evaluation.exploitability("program:FairBot", 2, environment=environment, coalitions=["player_2"])
    assert mine.best == ("player_2",)


def test_a_given_deviator_and_the_report():
    told = []
    found = evaluation.exploitability(
        "program:FairBot", 3, environment=modal_env.make(), deviator="program:DefectBot", report=told.append
    )
    assert found.value.value == pytest.approx(1 - 1.99)
    assert sum(told) == 9
    assert json.loads(json.dumps(found.to_dict()))["deviator"] == "program:DefectBot"


def test_the_same_seed_gives_the_same():
    def value(seed):
        return evaluation.exploitability(GOOD, 5, environment=modal_env.make(rounds=3), seed=seed).to_dict()

    assert value(1) == value(1)
    assert value(1) != value(2)


@pytest.mark.parametrize(
    "options",
    [
        {"environment": "modal"},
        {"rules": object()},
        {"map_name": "ancmed"},
        {"workers": 2},
        {"games": 0},
        {"seed": -1},
        {"coalitions": "triples"},
        {"coalitions": []},
        {"coalitions": ["FRANCE"]},
        {"coalitions": [("player_0", "player_0")]},
        {"coalitions": 3},
    ],
    ids=repr,
)
def test_bad_options_are_told(options):
    with pytest.raises(EvaluationError):
        evaluation.exploitability("program:FairBot", **({"environment": modal_env.make()} | options))
