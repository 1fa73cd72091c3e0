"""A checkpoint as a player, in every environment."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import torch

import agents
import evaluation
import welfare_env
from agents.rl import checkpoint
from agents.rl.checkpoint import Checkpoint, CheckpointError
from agents.rl.network import BoardNetwork, Size
from evaluation.play.games import GameSpec
from welfare_env.rules import Rules


@pytest.fixture(scope="module")
def spec(tmp_path_factory):
    """A random network for the standard map."""
    board = welfare_env.load_board("standard")
    torch.manual_seed(3)
    net = BoardNetwork(board, Size(8, 1))
    with torch.no_grad():
        net.score.weight *= 20
    weights = {name: value.numpy() for name, value in net.state_dict().items()}
    folder = tmp_path_factory.mktemp("rl")
    checkpoint.save(
        folder, Checkpoint(weights, net.size, "standard", Rules(press=None), checkpoint.vocabulary(board), {})
    )
    return f"rl:{folder}"


def play_aec(spec, seed=0, **options):
    env = welfare_env.make(strict=True, years=2, **options)
    env.reset(seed=seed)
    policies = {agent: agents.make(spec) for agent in env.agents}
    for agent, policy in policies.items():
        policy.reset(agent, seed=seed)
    for agent in env.agent_iter():
        observation, _, terminated, truncated, info = env.last()
        env.step(None if terminated or truncated else policies[agent].act(observation, info))
    return env.unwrapped.game


def play_parallel(spec, seed=0, **options):
    env = welfare_env.parallel_env(strict=True, years=2, **options)
    observations, infos = env.reset(seed=seed)
    policies = {agent: agents.make(spec) for agent in env.agents}
    for agent, policy in policies.items():
        policy.reset(agent, seed=seed)
    while env.agents:
        actions = {agent: policies[agent].act(observations[agent], infos[agent]) for agent in env.agents}
        observations, _, _, _, infos = env.step(actions)
    return env.game


def moves(game):
    return [record.orders for record in game.history]


def test_it_gives_legal_orders_and_the_same_game_in_every_environment(spec):
    game = play_aec(spec, press=None)
    assert game.is_done
    assert moves(game) == moves(play_parallel(spec, press=None))
    assert moves(game) == moves(play_aec(spec, press="text", message_rounds=1))
    assert moves(game) == moves(play_parallel(spec, press="text", message_rounds=1))
    assert moves(game) != moves(play_aec(spec, seed=1, press=None))


def test_greedy_needs_no_chance(spec):
    one, other = (play_aec(f"{spec},greedy=yes", seed=seed, press=None) for seed in (0, 1))
    assert moves(one) == moves(other)


def test_it_plays_as_its_checkpoint_says_where_nobody_says_how(spec, tmp_path):
    assert agents.make(spec).greedy is False
    checkpoint.save(tmp_path, replace(checkpoint.load(spec.removeprefix("rl:")), greedy=True))
    assert agents.make(f"rl:{tmp_path}").greedy is True
    assert agents.make(f"rl:{tmp_path},greedy=no").greedy is False
    assert agents.make(f"{spec},greedy=yes").greedy is True
    usual, greedy, drawn = (
        moves(play_aec(text, press=None))
        for text in (f"rl:{tmp_path}", f"{spec},greedy=yes", f"rl:{tmp_path},greedy=no")
    )
    assert usual == greedy
    assert drawn == moves(play_aec(spec, press=None))
    assert usual != drawn


def test_how_it_plays_is_part_of_the_key_of_stored_games(spec, tmp_path):
    path = tmp_path / "c"
    given = checkpoint.load(spec.removeprefix("rl:"))
    keys = set()
    for greedy, text in ((True, f"rl:{path}"), (False, f"rl:{path}"), (False, f"rl:{path},greedy=yes")):
        checkpoint.save(path, replace(given, greedy=greedy))
        players = tuple((power, text) for power in welfare_env.load_board("standard").powers)
        keys.add(json.dumps(GameSpec(players, 0, Rules(press=None), "standard", "fast").to_dict()))
    assert len(keys) == 3


def test_it_is_the_attack_of_an_exploiter(spec):
    game = play_aec(f"exploiter:nice=prosocial,attack={spec}", press=None)
    assert game.is_done


def test_it_can_be_evaluated(spec):
    one = evaluation.self_play(spec, games=2, seed=0, rules=Rules(press=None, years=1))
    other = evaluation.self_play(spec, games=2, seed=0, rules=Rules(press=None, years=1))
    assert one.root_nash_welfare == other.root_nash_welfare


def test_another_game_is_refused_when_it_is_asked(spec):
    with pytest.raises(CheckpointError, match=r"it cannot play the standard one"):
        play_aec(spec, press=None, variant="standard")


@pytest.mark.parametrize("text", ["rl:", "rl:/nowhere", "rl:x,greedy=perhaps", "rl:x,slow=yes"])
def test_bad_specs(text):
    with pytest.raises(welfare_env.UnknownAgentError):
        agents.make(text)
