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
    *("random", "dumbbot", "exploiter:nice=dove,attack=dumbbot", "marshal", "noisy:of=dove", "punisher:t=1"),
    *("pact:years=1", "plan:budget=1", "campaign:plan=no-home", "import:agents.DovePolicy", "mix:dove=1/2,hold=1/2"),
    *("language model", "scripted"),
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
class TestBoardPolicies:
    @pytest.mark.parametrize("info", [{}, None, "all infos", {"view": "x"}])
    def test_without_a_view_they_say_where_it_is(self, spec, info, board_infos):
        policy, power = made(spec), next(iter(board_infos))
        policy.reset(power, 0)
        with pytest.raises(ActionError, match=r"act\(observation, info\): info is .*info\['view'\]"):
            policy.act(None, board_infos if info == "all infos" else info)

    def test_before_reset_they_ask_for_it(self, spec, board_infos):
        power, info = next(iter(board_infos.items()))
        with pytest.raises(ActionError, match=rf"before reset: call reset\(agent='{power}'"):
            made(spec).act(None, info)

    def test_in_modal_combat_they_name_its_players(self, spec, modal_turn, board_infos):
        if spec == "language model":
            return  # it plays there
        policy = made(spec)
        policy.reset(next(iter(board_infos)), 0)
        with pytest.raises(ActionError, match="plays the board game; modal_env has players of its own"):
            policy.act(*modal_turn)


@pytest.mark.parametrize("spec", sorted(MODAL.values()))
class TestModalPolicies:
    @pytest.mark.parametrize("turn", [(None, {}), (None, None), ("observation", {}), (None, "info")])
    def test_without_a_turn_they_name_the_environment(self, spec, turn, modal_turn):
        policy = agents.make(spec)
        policy.reset("player_0", 0)
        given = dict(zip(("observation", "info"), modal_turn, strict=True))
        with pytest.raises(ActionError, match=r"plays modal combat: give .* modal_env\.make\(\)"):
            policy.act(*(given.get(part, part) if isinstance(part, str) else part for part in turn))

    def test_before_reset_they_ask_for_it(self, spec, modal_turn):
        with pytest.raises(ActionError, match=r"before reset: call reset\(agent, seed\)"):
            agents.make(spec).act(*modal_turn)


def test_a_subclass_that_forgets_its_base_is_told(board_infos):
    class Forgetful(agents.DovePolicy):
        def reset(self, agent, seed=0):
            self.agent = agent

    policy, (power, info) = Forgetful(), next(iter(board_infos.items()))
    policy.reset(power, 0)
    with pytest.raises(ActionError, match=r"calls super\(\)\.reset"):
        policy.act(None, info)
