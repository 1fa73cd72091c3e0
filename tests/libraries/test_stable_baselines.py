"""One seat as a gymnasium environment, for Stable-Baselines3 and its masked PPO."""

import gymnasium
import pytest
from stable_baselines3.common.env_checker import check_env

import agents.seat_env  # noqa: F401 (registers the environment)
from tests.examples import example

pytestmark = pytest.mark.tools


def make():
    return gymnasium.make("WelfareDiplomacySeat-v0", map_name="clique:3", others="random", years=1)


def test_a_seat_of_modal_combat(capsys):
    modal = example("modal_sb3")
    check_env(modal.Writer("FairBot", "1/10"))
    modal.main(steps=1024)
    told = capsys.readouterr().out
    assert "tokens  paid" in told
    assert "best reply: true, paid 2.000" in told


def test_a_masked_ppo_takes_it(capsys):
    """The example's learner, the same twice; docs/training-own-algorithm.md says what it reaches in minutes."""
    ppo = example("sb3_maskable_ppo")
    env = make()
    model = ppo.learned(env, 512, seed=0)
    told = capsys.readouterr().out
    ppo.learned(make(), 512, seed=0)
    assert capsys.readouterr().out == told
    assert "512 steps  points" in told
    action, _ = model.predict(env.reset(seed=0)[0], action_masks=env.unwrapped.action_masks())
    assert env.unwrapped.action_masks()[env.unwrapped._menus.firsts + action].all()
