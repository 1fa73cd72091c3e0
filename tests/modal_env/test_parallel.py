"""The parallel environment: the same game as the AEC environment, all at once."""

import numpy as np
import pytest

import modal_env
from modal_env.errors import FormulaError
from modal_env.logic.library import LIBRARY, CooperateBot, FairBot
from tests.modal_env.conftest import chosen

TEXTS = ("[]X(me)", "true", "nonsense", "coin")


def run_parallel(env, seed):
    """Masked random actions to the end; returns what everybody did, step by step, and the history."""
    observations, infos = env.reset(seed=seed)
    told = []
    rng = np.random.default_rng(seed)
    while env.agents:
        actions = {agent: chosen(rng, observations[agent], TEXTS) for agent in env.agents}
        told.append(actions)
        observations, _, _, _, infos = env.step(actions)
    return told, infos["player_0"]["history"], observations


@pytest.mark.parametrize("actions", ["library", "formula", "tokens"])
def test_same_programs_and_same_seed_are_the_same_game_there_and_here(actions):
    options = {"actions": actions, "agents": LIBRARY.values(), "rounds": 5, "players": 4}
    told, history, observations = run_parallel(modal_env.parallel_env(**options), seed=3)
    env = modal_env.make(**options)
    env.reset(seed=3)
    left = {agent: iter([step[agent] for step in told]) for agent in env.possible_agents}
    for agent in env.agent_iter():
        _, _, terminated, _, _ = env.last()
        if terminated:
            env.step(None)
            continue
        action = next(left[agent])
        while actions == "tokens" and action == 0:  # who waits there has no turn here
            action = next(left[agent])
        env.step(action)
    assert env.unwrapped.contest.history == history
    for agent in env.possible_agents:
        assert np.array_equal(env.observe(agent)["observation"], observations[agent]["observation"])


def test_who_has_come_to_an_end_waits():
    env = modal_env.parallel_env(actions="tokens", rounds=2)
    observations, _ = env.reset()
    texts = env.contest.mode.vocabulary.texts
    observations, rewards, *_ = env.step({"player_0": texts.index("true"), "player_1": texts.index("[]")})
    assert np.flatnonzero(observations["player_0"]["action_mask"]).tolist() == [0]
    assert rewards == {"player_0": 0.0, "player_1": 0.0}
    _, rewards, *_, infos = env.step({"player_0": texts.index("false"), "player_1": texts.index("X(me)")})
    assert rewards == {"player_0": 2.0, "player_1": 1.99}
    assert "has ended" in infos["player_0"]["refused"][0]
    assert infos["player_0"]["history"][0].programs == (CooperateBot, FairBot)


def test_an_error_of_one_player_leaves_the_others_as_they_were():
    env = modal_env.parallel_env(actions="tokens", strict=True)
    env.reset()
    texts = env.contest.mode.vocabulary.texts
    with pytest.raises(FormulaError, match="not allowed here"):
        env.step({"player_0": texts.index("true"), "player_1": texts.index("X(me)")})
    assert all(turn.program is None for turn in env.contest.turns)
    _, rewards, *_ = env.step({"player_0": texts.index("true"), "player_1": texts.index("true")})
    assert rewards == {"player_0": 2.0, "player_1": 2.0}
