"""Exploitability in modal_env, against what the exact game says."""

import json

import pytest

import agents
import evaluation
import modal_env
from evaluation.experiments import programs

GOOD = "mix:CooperateBot=1/10,FairBot=17/20,PrudentBot=1/20"


@pytest.mark.parametrize(
    ("program", "epsilon", "actions"),
    [
        ("CooperateBot", "1/100", "library"),
        ("DefectBot", "1/10", "formula"),
        ("FairBot", "2/5", "tokens"),
        ("PrudentBot", "1/10", "library"),
    ],
)
def test_pure_profiles_are_as_exploitable_as_the_game_says(program, epsilon, actions):
    environment = modal_env.make(epsilon=epsilon, actions=actions)
    found = evaluation.exploitability(f"program:{program}", 2, environment=environment)
    game = modal_env.ProgramGame(modal_env.POST, epsilon)
    exact = modal_env.exploitability(game, modal_env.LIBRARY[program])
    assert found.value.value == pytest.approx(float(exact))
    assert (found.value.low, found.value.high) == (found.value.value, found.value.value)
    assert found.best == ("player_0",)


@pytest.fixture
def played(monkeypatch):
    """Everything is played, also what could be computed."""
    monkeypatch.setattr(programs, "_shares", lambda spec, setting: agents.make(spec) and None)


@pytest.mark.parametrize(
    ("cost", "spec"), [("depth", GOOD), ("size", "mix:DefectBot=9/10,FairBot=1/10"), ("worlds", GOOD)]
)
def test_mixes_are_computed_exactly(cost, spec):
    environment = modal_env.make(epsilon="1/10", cost=cost)
    found = evaluation.exploitability(spec, environment=environment)
    assert found.exact
    shares = {program.name: share for program, share in agents.make(spec).shares}
    exact = modal_env.exploitability(modal_env.ProgramGame(modal_env.POST, "1/10", cost), shares)
    assert found.value.value == pytest.approx(float(exact), abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("players", [2, 4])
@pytest.mark.parametrize("coalitions", ["singles", "pairs"])
def test_games_tend_to_what_is_computed(monkeypatch, players, coalitions):
    environment = modal_env.make(epsilon="1/10", players=players, rounds=60)
    options = {"environment": environment, "coalitions": coalitions, "deviator": "mix:DefectBot=1/2,FairBot=1/2"}
    exact = evaluation.exploitability(GOOD, 1, **options).gains[0].members
    monkeypatch.setattr(programs, "_shares", lambda spec, setting: None)
    sampled = evaluation.exploitability(GOOD, 40, **options).gains[0].members
    for player, member in sampled.items():
        assert abs(member.value - exact[player].value) < 4 * (member.high - member.low) / 4
        assert member.high - member.low < 0.2


def test_coalitions_of_a_population():
    environment = modal_env.make(epsilon=0.1, players=4, rounds=3)
    found = evaluation.exploitability("program:FairBot", 2, environment=environment, coalitions="pairs")
    assert len(found.gains) == 6
    assert found.value.value == pytest.approx(0.1)
    mine = evaluation.exploitability("program:FairBot", 2, environment=environment, coalitions=["player_2"])
    assert mine.best == ("player_2",)


def test_a_given_deviator_and_the_report():
    told = []
    found = evaluation.exploitability(
        "program:FairBot", 3, environment=modal_env.make(), deviator="program:DefectBot", report=told.append
    )
    assert found.gains[0].gain.value == pytest.approx(1 - 1.99)
    assert found.value.value == 0  # who loses may keep to the profile
    assert sum(told) == 9
    assert json.loads(json.dumps(found.to_dict()))["deviator"] == "program:DefectBot"


def test_the_same_seed_gives_the_same(played):
    def value(seed):
        environment = modal_env.make(rounds=3)
        return evaluation.exploitability(
            GOOD, 5, environment=environment, deviator=f"best-reply:to=({GOOD})", seed=seed
        ).to_dict()

    assert value(1) == value(1)
    assert value(1) != value(2)
