"""PPO for the board: it learns, it repeats itself, its parts and its rewards are what they should be."""

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
import welfare_env
from evaluation.exact import exploitability
from evaluation.exact.best_responses import best_response
from tests.training.small import SMALL, local_runner, same, weights_of
from training.board.algorithm import play_of
from training.board.learner import PPOLearner
from training.board.modules import ENTROPY, ROW_DECISION, ROW_SLOT, ROW_WORD
from training.board.ppo import _grown, train
from training.board.rewards import Reward, holdings
from training.board.sampling import HELD_OUT, HeldOut
from training.board.seats import LEARNER, Lineup, read_coalitions
from training.board.tape import ADVANTAGES, VALUE_TARGETS
from training.errors import TrainingError
from welfare_env.engine import layout_of

OTHERS = {"PLAYERB": "prosocial", "PLAYERC": "prosocial"}


def config_of(folder, iterations=3, **changes):
    return replace(SMALL, out=Path(folder), iterations=iterations, horizon=iterations, **changes)


@pytest.mark.slow
def test_a_best_response_to_prosocial_is_found(tmp_path):
    """Of the exact gain (evaluation.exact) in four years on three cores it finds most, and never more than that."""
    options = {"years": 4, "lr": 1e-2, "entropy": 0.05, "games": 64, "width": 16, "coalition": "PLAYERA"}
    config = config_of(tmp_path, 45, **options)
    path = train(config)
    found = exploitability("clique:3", {**OTHERS, "PLAYERA": f"rl:{path}"}, 4, powers=[]).points["PLAYERA"]
    wanted = best_response("clique:3", "prosocial", "PLAYERA", years=4)
    nice = exploitability("clique:3", "prosocial", 4, powers=[]).points["PLAYERA"]
    assert 0.6 * wanted.gain <= found - nice <= wanted.gain + 1e-6


@pytest.mark.parametrize(
    ("words", "gained", "entropy"),
    [({}, (1.2 - 2 - 0.8) / 3, 2), ({ROW_WORD: torch.tensor([False, False, True])}, (1.2 - 2) / 2 - 0.8, 1.5 + 3)],
)
def test_the_loss_is_ppos_with_a_bonus_for_entropy(words, gained, entropy):
    """Three orders, in two decisions: of too high a gain the clipped one counts, of too great a loss the plain one. If
    the last is a word, it counts as much as both orders."""
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
        **words,
    }
    learner = SimpleNamespace(
        metrics=SimpleNamespace(log_dict=lambda *given, **named: None),
        entropy_coeff_schedulers_per_module={"it": SimpleNamespace(get_current_value=lambda: 0.5)},
    )
    config = SimpleNamespace(clip_param=0.2, vf_loss_coeff=0.25)
    loss = PPOLearner.compute_loss_for_module(learner, module_id="it", config=config, batch=batch, fwd_out=out)
    assert loss.item() == pytest.approx(-gained + 0.25 * 4 / 2 - 0.5 * entropy)


def test_held_out_games_are_not_those_of_the_training():
    config = replace(SMALL, held_out_games=3)
    asked = [HeldOut(replace(play_of(config), seed=seed), config)._runner.play for seed in (0, 0, 1)]
    assert asked[0].seed == asked[1].seed != asked[2].seed
    assert asked[0].num_games == 3
    streams = (np.random.SeedSequence([0, number]) for number in range(8) if number != HELD_OUT)
    assert asked[0].seed not in {0, 1, *(int(stream.generate_state(1)[0]) for stream in streams)}


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


@pytest.mark.parametrize("press", ["none", "tokens"])
def test_the_learner_reads_what_the_player_saw(tmp_path, press):
    config = config_of(tmp_path, years=6, press=press)
    runner = local_runner(play_of(config), config)
    episodes = runner.sample()
    batch = {
        Columns.OBS: np.concatenate([episode.observations.data[:-1] for episode in episodes]),
        Columns.ACTIONS: np.concatenate([episode.actions.data for episode in episodes]),
    }
    judged = runner.module[LEARNER].unwrapped()._forward_train(batch)
    logps, values = (
        np.concatenate([episode.extra_model_outputs[name].data for episode in episodes])
        for name in (Columns.ACTION_LOGP, Columns.VF_PREDS)
    )
    logp = logps[judged[ROW_DECISION], judged[ROW_SLOT]]
    assert np.allclose(judged[Columns.ACTION_LOGP].detach().numpy(), logp, atol=1e-4)
    assert np.allclose(judged[Columns.VF_PREDS].detach().numpy(), values, atol=1e-5)


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
        runner = local_runner(play_of(config), config)
        assert runner._opponents[0].greedy is (number == 0)
        runner.sample()


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
    config = config_of(tmp_path, 1, imitate="prosocial", imitate_games=150, lr=1e-9, map_name="clique:4")
    path = train(config)
    found = evaluation.exploitability(
        "prosocial", 1, deviator=f"rl:{path}", coalitions=["PLAYERA"], map_name="clique:4", rules=config.rules
    )
    assert found.best_gain.gain.value == 0  # prosocial uses no chance, so its imitation earns what it earns


def test_coalitions():
    assert read_coalitions("singles", tuple("ABC")) == ((0,), (1,), (2,))
    assert read_coalitions(" b,A", tuple("ABC")) == ((1, 0),)
    assert read_coalitions("pairs", tuple("ABC")) == ((0, 1), (0, 2), (1, 2))
    assert len(read_coalitions("triples", tuple("ABCDEFG"))) == 35
    for wrong in ("", "A,A", "PARIS", "A,B,C", "triples"):
        with pytest.raises(TrainingError):
            read_coalitions(wrong, tuple("ABC"))


@pytest.mark.parametrize(("opponents", "shares"), [(("hold",), (float("nan"),)), (("hold", "dove"), (0.0, 0.0))])
def test_odd_shares_are_refused(opponents, shares):
    with pytest.raises(TrainingError, match="share"):
        Lineup(((0,),), opponents, shares)


def played(variant, seed=0):
    """Phases of random games: (env, states before, after, what the environment paid)."""
    env = welfare_env.vector_env(4, "clique:3", variant=variant, years=3)
    env.reset(seed)
    for _ in range(12):
        before = env.rows.copy()
        paid, done = env.step(env.sample())
        yield env, before, np.where(done[:, None], env.final, env.rows), paid


def test_own_is_the_change_of_centers_in_the_standard_game():
    for env, before, after, _ in played("standard"):
        owners = [layout_of(env.board).owner + index for index in range(len(env.board.centers))]
        wanted = [[(after[g, owners] == p).sum() - (before[g, owners] == p).sum() for p in range(3)] for g in range(4)]
        assert Reward().pay(env.board, env.rules, before, after).tolist() == wanted


@pytest.mark.parametrize("variant", ["welfare", "standard"])
def test_scores_add_up_to_the_final_score(variant):
    total = np.zeros((4, 3))
    for env, before, after, _ in played(variant):
        total += Reward("score").pay(env.board, env.rules, before, after)
        if after[0, 5]:  # done
            break
    if variant == "welfare":
        assert np.allclose(total, holdings(env.board, env.rules, after))
    assert np.isfinite(total).all()


def test_own_is_what_welfare_environments_pay_social_their_mean_and_inequity_fehr_and_schmidts():
    rewards = Reward(), Reward("social"), Reward.parse("inequity:0.8,0.3")
    for env, before, after, paid in played("welfare"):
        own, social, found = (reward.pay(env.board, env.rules, before, after) for reward in rewards)
        assert np.array_equal(own, paid)
        assert np.allclose(social, own.mean(axis=1, keepdims=True))
        for game in range(4):
            for me in range(3):
                x, others = own[game, me], [own[game, other] for other in range(3) if other != me]
                envy = sum(max(other - x, 0) for other in others) / 2
                guilt = sum(max(x - other, 0) for other in others) / 2
                assert found[game, me] == pytest.approx(x - 0.8 * envy - 0.3 * guilt, abs=1e-5)


def test_a_reward_is_written_as_it_is_read():
    assert [str(Reward.parse(text)) for text in ("social", "inequity:0.5,0.2")] == ["social", "inequity:0.5,0.2"]
    for wrong in ("mine", "own:1", "inequity:1", "inequity:-1,0", "inequity:nan,0", "inequity:0,1e4", "inequity:1e4,0"):
        with pytest.raises(TrainingError):
            Reward.parse(wrong)
