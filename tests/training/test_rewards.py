"""Rewards, against the points that the environments pay and against their definitions."""

from __future__ import annotations

import numpy as np
import pytest

import welfare_env
from training.board.rewards import Reward, holdings
from training.errors import TrainingError
from welfare_env.engine import layout_of


def played(variant, seed=0):
    """Phases of random games: (env, states before, after, what the environment paid)."""
    env = welfare_env.vector_env(4, "clique:3", variant=variant, years=3)
    env.reset(seed)
    for _ in range(12):
        before = env.rows.copy()
        paid, done = env.step(env.sample())
        yield env, before, np.where(done[:, None], env.final, env.rows), paid


def test_own_is_what_welfare_environments_pay():
    for env, before, after, paid in played("welfare"):
        assert np.array_equal(Reward().pay(env.board, env.rules, before, after), paid)


def test_own_is_the_change_of_centers_in_the_standard_game():
    for env, before, after, _ in played("standard"):
        owners = [layout_of(env.board).owner + index for index in range(len(env.board.centers))]
        wanted = [[(after[g, owners] == p).sum() - (before[g, owners] == p).sum() for p in range(3)] for g in range(4)]
        assert Reward().pay(env.board, env.rules, before, after).tolist() == wanted


@pytest.mark.parametrize("variant", ["welfare", "standard"])
def test_scores_add_up_to_the_final_score(variant):
    total = None
    for env, before, after, _ in played(variant):
        paid = Reward("score").pay(env.board, env.rules, before, after)
        total = paid if total is None else total + paid
        if after[0, 5]:  # done
            break
    first = Reward("score").pay(env.board, env.rules, np.zeros_like(after), after) if variant == "welfare" else None
    if first is not None:
        assert np.allclose(total, holdings(env.board, env.rules, after))
    else:
        assert np.isfinite(total).all()


def test_social_is_the_mean_for_all():
    for env, before, after, _ in played("welfare"):
        own, social = (reward.pay(env.board, env.rules, before, after) for reward in (Reward(), Reward("social")))
        assert np.allclose(social, own.mean(axis=1, keepdims=True))


def test_inequity_is_fehr_and_schmidts():
    reward = Reward.parse("inequity:0.8,0.3")
    for env, before, after, _ in played("welfare"):
        own = Reward().pay(env.board, env.rules, before, after)
        found = reward.pay(env.board, env.rules, before, after)
        for game in range(4):
            for me in range(3):
                x, others = own[game, me], [own[game, other] for other in range(3) if other != me]
                envy = sum(max(other - x, 0) for other in others) / 2
                guilt = sum(max(x - other, 0) for other in others) / 2
                assert found[game, me] == pytest.approx(x - 0.8 * envy - 0.3 * guilt, abs=1e-5)


@pytest.mark.parametrize("text", ["social", "inequity:0.5,0.2"])
def test_a_reward_is_written_as_it_is_read(text):
    assert str(Reward.parse(text)) == text


@pytest.mark.parametrize("text", ["mine", "own:1", "inequity:1", "inequity:-1,0", "inequity:nan,0", "inequity:0,1e4"])
def test_bad_rewards_are_refused(text):
    with pytest.raises(TrainingError, match="give own, score, social, or inequity:A,B"):
        Reward.parse(text)
