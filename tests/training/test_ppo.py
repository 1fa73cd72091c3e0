"""PPO for the board: it learns, it repeats itself, its parts are what they should be, and its checkpoints play."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from ray.rllib.core.columns import Columns

import agents
import evaluation
from evaluation.exact import exploitability
from evaluation.exact.best_responses import best_response
from tests.training.small import SMALL, same, weights_of
from training.board.algorithm import make_config, play_of
from training.board.learner import PPOLearner
from training.board.modules import ENTROPY, ROW_DECISION, ROW_SLOT
from training.board.ppo import _grown, train
from training.board.runner import BatchedEnvRunner
from training.board.sampling import HELD_OUT, HeldOut
from training.board.seats import LEARNER, Lineup, read_coalitions
from training.board.tape import ADVANTAGES, VALUE_TARGETS
from training.errors import TrainingError

OTHERS = {"PLAYERB": "prosocial", "PLAYERC": "prosocial"}


def config_of(folder, iterations=3, **changes):
    return replace(SMALL, out=Path(folder), iterations=iterations, horizon=iterations, **changes)


@pytest.mark.slow
def test_a_best_response_to_prosocial_is_found(tmp_path):
    """Of the exact gain (evaluation.exact) in four years on three cores it finds most, and never more than that."""
    options = {"years": 4, "lr": 5e-3, "entropy": 0.05, "games": 64, "width": 16, "coalition": "PLAYERA"}
    config = config_of(tmp_path, 90, **options)
    path = train(config)
    found = exploitability("clique:3", {**OTHERS, "PLAYERA": f"rl:{path}"}, 4, powers=[]).points["PLAYERA"]
    wanted = best_response("clique:3", "prosocial", "PLAYERA", years=4)
    nice = exploitability("clique:3", "prosocial", 4, powers=[]).points["PLAYERA"]
    assert 0.6 * wanted.gain <= found - nice <= wanted.gain + 1e-6


def stream_of(seed, number):
    return int(np.random.SeedSequence([seed, number]).generate_state(1)[0])


def test_the_loss_is_ppos_with_a_bonus_for_entropy():
    """Three orders, in two decisions: of too high a gain the clipped one counts, of too great a loss the plain one."""
    ratio = torch.tensor([2.0, 2.0, 0.5])
    batch = {
        Columns.ACTION_LOGP: torch.zeros(2, 2),
        ADVANTAGES: torch.tensor([1.0, -1.0]),
        VALUE_TARGETS: torch.tensor([3.0, 0.0]),
    }
    out = {
        ROW_DECISION: torch.tensor([0, 1, 1]),
        ROW_SLOT: torch.tensor([0, 0, 1]),
        Columns.ACTION_LOGP: ratio.log(),
        Columns.VF_PREDS: torch.tensor([1.0, 0.0]),
        ENTROPY: torch.tensor([1.0, 2.0, 3.0]),
    }
    learner = SimpleNamespace(
        metrics=SimpleNamespace(log_dict=lambda *given, **named: None),
        entropy_coeff_schedulers_per_module={"it": SimpleNamespace(get_current_value=lambda: 0.5)},
    )
    config = SimpleNamespace(clip_param=0.2, vf_loss_coeff=0.25)
    loss = PPOLearner.compute_loss_for_module(learner, module_id="it", config=config, batch=batch, fwd_out=out)
    assert loss.item() == pytest.approx(-(1.2 - 2 - 0.8) / 3 + 0.25 * 4 / 2 - 0.5 * 2)


def test_held_out_games_are_not_those_of_the_training():
    asked = []

    def configured(play):
        asked.append(play)
        return make_config(play, SMALL)

    for seed in (0, 0, 1):
        HeldOut(replace(play_of(SMALL), seed=seed), 3, configured)
    assert asked[0].seed == asked[1].seed != asked[2].seed
    assert asked[0].num_games == 3
    assert asked[0].seed not in {0, 1, *(stream_of(0, number) for number in range(8) if number != HELD_OUT)}


@pytest.mark.slow
def test_the_same_seed_gives_the_same_weights(tmp_path, finished, capfd):
    """Whether or not there are reports. Nothing is printed."""
    train(replace(SMALL, out=tmp_path))
    assert capfd.readouterr() == ("", "")
    assert same(weights_of(tmp_path), weights_of(finished(0)))
    assert not same(weights_of(tmp_path), weights_of(finished(1)))


def test_a_start_from_a_checkpoint(tmp_path, finished):
    train(config_of(tmp_path, 2, start=finished() / "checkpoint", lr=1e-9))
    one, two = weights_of(finished()), weights_of(tmp_path)
    assert all(np.allclose(one[name], two[name], rtol=0, atol=1e-7) for name in one)


def test_the_learner_reads_what_the_player_saw(tmp_path):
    config = config_of(tmp_path, years=6)
    runner = BatchedEnvRunner(config=make_config(play_of(config), config), worker_index=0)
    episodes = runner.sample()
    batch = {
        Columns.OBS: np.concatenate([episode.observations.data[:-1] for episode in episodes]),
        Columns.ACTIONS: np.concatenate([episode.actions.data for episode in episodes]),
    }
    judged = runner.module[LEARNER].unwrapped()._forward_train(batch)
    stored = {
        name: np.concatenate([episode.extra_model_outputs[name].data for episode in episodes])
        for name in (Columns.ACTION_LOGP, Columns.VF_PREDS)
    }
    logp = stored[Columns.ACTION_LOGP][judged[ROW_DECISION], judged[ROW_SLOT]]
    assert np.allclose(judged[Columns.ACTION_LOGP].detach().numpy(), logp, atol=1e-4)
    assert np.allclose(judged[Columns.VF_PREDS].detach().numpy(), stored[Columns.VF_PREDS], atol=1e-5)


def test_the_league_keeps_its_newest_and_is_never_too_large():
    for most in (1, 2, 3, 16):
        league = []
        for number in range(40):
            league = _grown(league, {"number": number}, most)
            assert league[-1] == {"number": number}
            assert len(league) <= most
            assert [self["number"] for self in league] == sorted(self["number"] for self in league)


def test_a_checkpoint_is_an_opponent(tmp_path, finished):
    for number, spec in enumerate(("rl:{}", "rl:{},greedy=no")):
        config = config_of(tmp_path / str(number), 1, against=(spec.format(finished() / "checkpoint"),))
        runner = BatchedEnvRunner(config=make_config(play_of(config), config), worker_index=0)
        assert runner._opponents[0].greedy is (number == 0)
        train(config)


def test_a_checkpoint_plays_as_it_was_trained(tmp_path, finished):
    """It takes its most probable orders if nobody of those it learned against learns."""
    assert agents.make(f"rl:{finished() / 'checkpoint'}").greedy
    for number, opponents in enumerate((("learner",), ("prosocial", "league"))):
        path = train(config_of(tmp_path / str(number), 1, against=opponents, league_every=1))
        assert not agents.make(f"rl:{path}").greedy
    about = json.loads((path / "checkpoint.json").read_text())
    assert about["map"] == "clique:3"
    assert about["origin"]["iterations"] == 1
    assert len(about["origin"]["git"]) >= 7


@pytest.mark.slow
def test_imitation_gets_to_play_like_its_model(tmp_path):
    config = config_of(tmp_path, 1, imitate="prosocial", imitate_games=300, lr=1e-9, map_name="clique:4")
    path = train(config)
    found = evaluation.exploitability(
        "prosocial", 1, deviator=f"rl:{path}", coalitions=["PLAYERA"], map_name="clique:4", rules=config.rules
    )
    assert found.best_gain.gain.value == 0  # prosocial uses no chance, so its imitation earns what it earns


def test_bad_coalitions():
    for text in ("", "FRANCE,FRANCE", "PARIS", "A,B,C", "triples"):
        with pytest.raises(TrainingError, match="give singles, pairs, or some of A, B, C"):
            read_coalitions(text, ("A", "B", "C"))


def test_coalitions():
    assert read_coalitions("singles", ("A", "B", "C")) == ((0,), (1,), (2,))
    assert read_coalitions(" b,A", ("A", "B", "C")) == ((1, 0),)
    assert read_coalitions("pairs", ("A", "B", "C")) == ((0, 1), (0, 2), (1, 2))
    assert len(read_coalitions("triples", tuple("ABCDEFG"))) == 35


@pytest.mark.parametrize(
    ("opponents", "shares", "told"),
    [
        (("hold",), (float("nan"),), "the share of opponent 'hold'=nan"),
        (("hold",), (-1.0,), "the share of opponent 'hold'=-1"),
        (("hold", "dove"), (0.0, 0.0), "share above 0"),
    ],
)
def test_odd_shares_are_refused(opponents, shares, told):
    with pytest.raises(TrainingError, match=told):
        Lineup(((0,),), opponents, shares)
