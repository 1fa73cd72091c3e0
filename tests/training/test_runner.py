"""The runner: what it records is what was played, and the learning signal is what the definitions say."""

import numpy as np
import pytest
from ray.rllib.core.columns import Columns

from agents import HoldPolicy
from agents.rl.network import Size
from tests.training import small
from training.board.opponents import Scripted
from training.board.rewards import Reward
from training.board.runner import Play
from training.board.seats import Lineup
from training.board.tape import ADVANTAGES, POSITION, VALUE_TARGETS, shuffled
from training.errors import TrainingError
from welfare_env.rules import Rules

SINGLES = ((0,), (1,), (2,))


def runner_of(opponents=("learner",), coalitions=SINGLES, reward="own", games=6, seed=0, variant="welfare", years=3):
    play = Play(
        "clique:3",
        Rules(press=None, variant=variant, years=years),
        Lineup(coalitions, opponents, (1.0,) * len(opponents)),
        Size(8, 1),
        Reward.parse(reward),
        num_games=games,
        seed=seed,
    )
    return small.local_runner(play)


@pytest.mark.parametrize("variant", ["welfare", "standard"])
def test_rewards_of_episodes_are_the_points_of_games(variant):
    runner = runner_of(variant=variant)
    episodes = runner.sample()
    results = runner.take_results()
    assert len(results) == 6
    assert len(episodes) == 18  # everybody decided at least once
    start = 0 if variant == "welfare" else 1  # centers gained
    wanted = [points - start for result in results for points in result.points]
    assert [sum(episode.rewards.data) for episode in episodes] == wanted  # in the sequence of first decisions
    assert all(episode.is_terminated for episode in episodes)


def test_each_opponent_has_a_seed_of_its_own(monkeypatch):
    """Or policies that draw with `default_rng(seed)` would draw the same numbers in all seats."""
    runner, seen, begin = runner_of(("hold",)), [], Scripted.begin

    def noted(self, games, powers, seeds):
        seen.extend(seeds.tolist())
        begin(self, games, powers, seeds)

    monkeypatch.setattr(Scripted, "begin", noted)
    runner.sample()
    assert len(set(seen)) == len(seen) == 12  # two in each of six games


def test_one_seed_one_sample():
    def played(seed, samples=0):
        runner = runner_of(("random", "learner", "prosocial"), seed=seed)
        runner.samples = samples
        return [episode.actions.data.tolist() for episode in runner.sample()], runner.take_results()

    assert played(0) == played(0)
    assert played(0) != played(1)
    assert played(0) != played(0, samples=1)


def test_opponents_moves_are_not_sent():
    for coalitions, seats in ((SINGLES, [0, 0, 1, 1, 2, 2]), (((1,),), [1] * 6)):
        runner = runner_of(("prosocial",), coalitions=coalitions)
        assert sorted(episode.observations.data[0][-1] for episode in runner.sample()) == seats
        assert len(runner.take_results()) == 6


def test_a_profile_by_itself_is_not_learned_from():
    runner = runner_of(("prosocial",), coalitions=((),), games=2)
    assert runner.sample() == []
    assert [result.points for result in runner.take_results()] == [(6.0, 6.0, 6.0)] * 2


def test_advantages_are_gaes():
    """Against the definition: a sum of discounted temporal differences (Schulman et al. 2016, equation 16)."""
    runner = runner_of(games=4)
    config = runner.config
    for episode in runner.sample():
        rewards = np.array(episode.rewards.data) * runner.play.reward_scale
        values = episode.extra_model_outputs[Columns.VF_PREDS].data
        later = np.append(values[1:], 0)
        differences = rewards + config.gamma * later - values
        wanted = [
            sum((config.gamma * config.lambda_) ** k * differences[t + k] for k in range(len(rewards) - t))
            for t in range(len(rewards))
        ]
        assert episode.extra_model_outputs[ADVANTAGES].data == pytest.approx(np.array(wanted), abs=1e-5)
        targets = episode.extra_model_outputs[VALUE_TARGETS].data
        assert targets == pytest.approx(np.array(wanted) + values, abs=1e-5)


def test_decisions_in_a_position_stay_together_when_shuffled():
    episodes = runner_of(games=3).sample()
    states = np.concatenate([episode.observations.data[:-1, :-1] for episode in episodes])
    positions = np.concatenate([episode.extra_model_outputs[POSITION].data for episode in episodes])
    order = shuffled(np.random.default_rng(0), positions)
    assert sorted(order.tolist()) == list(range(len(positions)))
    changes = np.flatnonzero(np.diff(positions[order]))
    assert len(changes) + 1 == len(set(positions.tolist())) < len(positions)
    assert all((states[positions == number] == states[positions == number][0]).all() for number in set(positions))
    assert np.array_equal(order, shuffled(np.random.default_rng(0), positions))
    assert not np.array_equal(order, shuffled(np.random.default_rng(1), positions))


def test_a_sample_is_made_of_pieces():
    """In whatever sequence they are played; positions of different pieces have different numbers."""
    whole, parts = runner_of(games=20), runner_of(games=20)
    episodes = whole.sample()
    assert parts.play.pieces == [10, 10]
    pieces = [parts.sample_piece(number, number) for number in (1, 0)]
    again = [episode for piece in reversed(pieces) for episode in piece]
    assert [episode.actions.data.tolist() for episode in again] == [each.actions.data.tolist() for each in episodes]
    assert [episode.id_ for episode in again] == [episode.id_ for episode in episodes]
    one, other = ({number for each in piece for number in each.extra_model_outputs[POSITION].data} for piece in pieces)
    assert not one & other


def test_a_league_plays_past_selves():
    runner = runner_of(("league",), games=4)
    other = {name: value.numpy() + 1 for name, value in runner.networks["learner"].state_dict().items()}
    runner.set_state({"league": [other]})
    runner.sample()
    frozen = runner._opponents[0].network.state_dict()
    assert all(np.array_equal(frozen[name].numpy(), value) for name, value in other.items())


def test_a_policy_that_needs_arrays_is_refused(monkeypatch):
    monkeypatch.setattr(HoldPolicy, "act", lambda self, observation, info: 5)
    with pytest.raises(TrainingError):
        runner_of(("hold",)).sample()


def test_lineups():
    rng = np.random.default_rng(0)
    lineup = Lineup(SINGLES, ("random", "learner"), (1.0, 3.0))
    seats, coalition, _ = lineup.seats(rng, 400, ("A", "B", "C"))
    learning = (seats == -1).sum(axis=1)
    assert set(learning.tolist()) == {1, 3}
    assert 0.68 < (learning == 3).mean() < 0.82
    assert all(seats[game, coalition[game]] == -1 for game in range(400))
    assert np.abs(np.bincount(coalition) - 400 / 3).max() < 1


def test_opponents_can_be_profiles():
    lineup = Lineup(SINGLES, ("2*random + 1*hold", "PLAYERB*hold + 2*random"), (1.0, 1.0))
    assert lineup.players == ("random", "hold")
    seats, coalition, drawn = lineup.seats(np.random.default_rng(0), 600, ("PLAYERA", "PLAYERB", "PLAYERC"))
    assert all(seats[game, coalition[game]] == -1 for game in range(600))
    others = seats[seats >= 0].reshape(600, 2)
    assert set(map(tuple, np.sort(others[drawn == 0]).tolist())) == {(0, 0), (0, 1)}
    assert 0.25 < (others[drawn == 0] == 1).mean() < 0.42  # one seat in three holds, whichever the learner has
    holding = (seats[(drawn == 0) & (coalition == 0)] == 1)[:, 1:].mean(axis=0)
    assert (holding > 0.2).all()  # either of the others: the profile rotates
    named = seats[(drawn == 1) & (coalition != 1)]
    assert (named[:, 1] == 1).all()
    runner = runner_of(("2*random + 1*hold",))
    runner.sample()
    assert {result.opponent for result in runner.take_results()} == {"2*random + 1*hold"}
