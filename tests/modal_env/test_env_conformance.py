"""The conformance tests that PettingZoo ships, over every kind of action, numbers of players and rounds."""

import functools
import types

import pettingzoo
import pytest
from pettingzoo.test import api_test, max_cycles_test, parallel_api_test, parallel_seed_test, render_test, seed_test
from pettingzoo.utils.conversions import aec_to_parallel

import modal_env
from modal_env.logic.library import LIBRARY

# PettingZoo recommends by warning that observations be images or numbers without a mask.
pytestmark = pytest.mark.filterwarnings("ignore")
OPTIONS = [
    pytest.param({"actions": actions, "rounds": rounds, "players": players}, id=f"{actions}-{rounds}-{players}")
    for actions in ("library", "formula", "tokens")
    for rounds, players in ((1, 2), (5, 2), (3, 6))
]
EVERYBODY = [
    pytest.param({"actions": actions, "agents": LIBRARY.values(), "rounds": 3, "cost": cost}, id=f"{actions}-{cost}")
    for actions, cost in (("library", "worlds"), ("formula", "opponent"), ("tokens", "sum"))
]


@pytest.mark.parametrize("options", OPTIONS + EVERYBODY)
def test_all_that_pettingzoo_checks(options):
    make, parallel = (functools.partial(each, **options) for each in (modal_env.make, modal_env.parallel_env))
    api_test(make(), num_cycles=100)
    parallel_api_test(parallel(), num_cycles=100)
    seed_test(make, num_cycles=50)
    parallel_seed_test(parallel, num_cycles=50)
    render_test(make, custom_tests={"ansi": lambda text: "player_0" in text or "nobody" in text})


@pytest.mark.parametrize("actions", ["library", "formula"])
def test_rounds_are_cycles(actions):
    """A game has as many cycles as rounds; tokens take as many as the formulas are long."""

    def of_rounds(make):
        return lambda max_cycles: make(actions=actions, rounds=max_cycles)

    max_cycles_test(
        types.SimpleNamespace(env=of_rounds(modal_env.make), parallel_env=of_rounds(modal_env.parallel_env))
    )


@pytest.mark.parametrize("actions", ["library", "formula"])
def test_conversion_of_pettingzoo(actions):
    parallel_api_test(aec_to_parallel(modal_env.make(actions=actions, rounds=3, players=4)), num_cycles=10)
    assert not modal_env.make(actions="tokens").metadata["is_parallelizable"]


def test_registered_with_pettingzoo():
    aec = pettingzoo.make("aec", "ModalCombat-v0", actions="tokens", agents=["FairBot", "JustBot"])
    parallel = pettingzoo.make("parallel", "ModalCombat-v0", players=4)
    assert aec.action_space("player_0").n == 14
    assert parallel.possible_agents == ["player_0", "player_1", "player_2", "player_3"]
