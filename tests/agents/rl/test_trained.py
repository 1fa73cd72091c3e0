"""The checkpoints that come with the package: small, whole, and as good as the docs say (with few games)."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import numpy as np
import pytest

import agents
import evaluation
import welfare_env
from agents.rl import TRAINED, checkpoint
from agents.rl.inputs import InputEncoder
from training.board.rewards import Reward
from training.board.runner import Play
from training.board.sampling import play_games
from training.board.seats import LEARNER, Lineup
from welfare_env import Rules


@pytest.mark.parametrize("name", ["attacker", "best-response"])
def test_they_are_small_and_say_where_they_come_from(name):
    files = sorted((TRAINED / name).iterdir())
    assert [file.name for file in files] == ["checkpoint.json", "weights.safetensors"]
    assert sum(file.stat().st_size for file in files) < 5_000_000
    origin = checkpoint.load(name).origin
    assert origin["command"].startswith("python -m training ")
    policy = agents.make(f"rl:{name}")
    assert policy.path == name
    assert policy.greedy  # as the docs measure them


@pytest.mark.parametrize(("name", "wanted"), [("attacker", "81ff2d2cd5f5708f"), ("best-response", "5278af0eeb08ec5d")])
def test_they_play_as_they_did_when_they_were_made(name, wanted):
    """Most probable and drawn orders in some positions. The digest is that of the first version's network."""
    given = checkpoint.load(name)
    assert given.architecture == "board-by-power"
    env = welfare_env.vector_env(
        6, given.map_name, replace(given.rules, adjudication="package")
    )  # the rulings when it was made
    network, reader = given.network_for(env.board, given.rules), InputEncoder(env.board, given.rules)
    env.reset(1)
    digest, rng = hashlib.sha256(), np.random.default_rng(0)
    for _ in range(18):
        seats = np.unique(np.stack([env.legal.games, env.legal.powers], axis=1), axis=0).astype(np.int64)
        inputs = reader.select(env.rows, env.legal, seats[:, 0], seats[:, 1])
        for chances in (np.full(inputs.num_rows, -1.0), rng.random(inputs.num_rows)):
            digest.update(network.answer(inputs, chances)[0].astype("<i8").tobytes())
        env.step(env.sample())
    assert digest.hexdigest()[:16] == wanted


@pytest.mark.slow
def test_the_attacker_beats_random_and_holds_its_own_against_dumbbot():
    given = checkpoint.load("attacker")
    for opponent, games, least in (("random", 3, 14), ("dumbbot", 3, 34 / 7)):
        lineup = Lineup(tuple((seat,) for seat in range(7)), (opponent,), (1.0,))
        play = Play(given.map_name, given.rules, lineup, given.size, Reward(), num_games=7 * games)
        results = play_games(play, {LEARNER: given})
        centers = [result.centers[result.coalition[0]] for result in results]
        assert sum(centers) / len(centers) > least


@pytest.mark.slow
def test_the_attacker_plays_in_games_as_it_does_where_it_is_measured():
    """A game of agents, and the same one of the runner that the table of the docs is made with."""
    given = checkpoint.load("attacker")
    play = Play(given.map_name, given.rules, Lineup(((2,),), ("hold",), (1.0,)), given.size, num_games=1)
    measured = play_games(play, {LEARNER: given})[0].centers
    env = welfare_env.parallel_env(rules=given.rules)
    observations, infos = env.reset(seed=5)
    players = {power: agents.make("rl:attacker" if power == "FRANCE" else "hold") for power in env.agents}
    for power, player in players.items():
        player.reset(power, seed=5)
    while env.agents:
        observations, _, _, _, infos = env.step(
            {power: players[power].act(observations[power], infos[power]) for power in env.agents}
        )
    assert [len(env.game.centers[power]) for power in env.possible_agents] == list(measured)


@pytest.mark.slow
def test_the_best_response_gains_more_than_the_scripted_exploiter():
    found = evaluation.exploitability(
        "prosocial", 2, deviator="rl:best-response", coalitions=["ITALY"], rules=Rules(press=None)
    )
    assert found.best_gain.gain.value > 5.0  # the scripted exploiter: 4.72 [4.30, 5.00], the best of the paper's seats
