"""`act` without what it needs: an error that says what to give, from every player of the registry."""

import pytest

import agents
import modal_env
import welfare_env
from agents.lm.models.scripted import ScriptedModel
from agents.lm.player.policy import LMPolicy
from welfare_env.errors import ActionError

MODAL = {"program": "program:FairBot", "mix": "mix:FairBot=1", "best-reply": "best-reply:to=program:FairBot"}
BOARD = [
    *("random", "exploiter:nice=dove,attack=dumbbot", "marshal", "noisy:of=dove", "pact:years=1", "plan:budget=1"),
    *("mix:dove=1/2,hold=1/2", "language model", "scripted"),
]


def made(spec):
    """A policy by its spec, or one that has no spec."""
    if spec == "language model":
        return LMPolicy(ScriptedModel([]))
    if spec == "scripted":
        return agents.ScriptedPolicy()
    return agents.make(spec)


@pytest.fixture(scope="module")
def board_infos():
    env = welfare_env.parallel_env("clique:3", press=None, years=2)
    return env.reset(seed=0)[1]


@pytest.fixture
def modal_turn():
    env = modal_env.make()
    env.reset(seed=0)
    observation, *_, info = env.last()
    return observation, info


@pytest.mark.parametrize("spec", BOARD)
def test_policies_of_the_board_say_what_they_need(spec, modal_turn, board_infos):
    policy, (power, info) = made(spec), next(iter(board_infos.items()))
    with pytest.raises(ActionError, match=rf"reset\(agent='{power}'"):
        policy.act(None, info)
    policy.reset(power, 0)
    for without in ({}, None, board_infos, {"view": "x"}):
        with pytest.raises(ActionError, match=r"info\['view'\]"):
            policy.act(None, without)
    if spec != "language model":  # it plays there
        with pytest.raises(ActionError, match="modal_env"):
            policy.act(*modal_turn)


@pytest.mark.parametrize("spec", sorted(MODAL.values()))
def test_policies_of_modal_combat_say_what_they_need(spec, modal_turn):
    policy, (observation, info) = agents.make(spec), modal_turn
    with pytest.raises(ActionError, match="reset"):
        policy.act(observation, info)
    policy.reset("player_0", 0)
    for turn in ((None, {}), (None, None), (observation, {}), (None, info)):
        with pytest.raises(ActionError, match=r"modal_env\.make\(\)"):
            policy.act(*turn)


def test_a_subclass_that_forgets_its_base_is_told(board_infos):
    class Forgetful(agents.DovePolicy):
        def reset(self, agent, seed=0):
            self.agent = agent

    policy, (power, info) = Forgetful(), next(iter(board_infos.items()))
    policy.reset(power, 0)
    with pytest.raises(ActionError, match=r"calls super\(\)\.reset"):
        policy.act(None, info)
