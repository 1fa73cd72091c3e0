"""Files that an earlier version wrote (commit c285e00): saved games and checkpoints load, stores open and list."""

import shutil
from pathlib import Path

import pytest

import agents
import welfare_env
from evaluation.play.store import GameStore

EARLIER = Path(__file__).resolve().parent / "data" / "earlier"


def test_a_saved_game_loads():
    game = welfare_env.Game.load(EARLIER / "game.json")
    assert game.is_done
    assert game.rules == welfare_env.Rules(years=2)


def test_a_store_opens_and_lists(tmp_path):
    shutil.copy(EARLIER / "games.sqlite", tmp_path)
    with GameStore(tmp_path / "games.sqlite") as store:
        games = store.games()
    assert len(games) == 3


def test_a_checkpoint_plays():
    pytest.importorskip("torch")
    policy = agents.make(f"rl:{EARLIER / 'checkpoint'}")
    env = welfare_env.make(map_name="clique:3", press=None, years=2)
    env.reset(seed=0)
    power = env.agent_selection
    policy.reset(agent=power, seed=0)
    observation, _, _, _, info = env.last()
    env.step(policy.act(observation, info))
