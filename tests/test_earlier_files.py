"""Files that version 0.1.0 wrote: saves, stores, checkpoints and trainings. From 0.1.0 on, later versions read them.

``python tests/test_earlier_files.py`` writes them anew: only until 0.1.0 is released. Later formats get files of their
own beside these.
"""

import shutil
from pathlib import Path

import pytest

import agents
import evaluation
import welfare_env
from evaluation.play.store import GameStore

FILES = Path(__file__).resolve().parent / "data" / "version-0.1.0"
RULES = welfare_env.Rules(years=2, press="text", message_rounds=1)
BOARD = "clique:3"


def write():
    """Writes them anew."""
    import training
    from training.modal import ModalConfig

    shutil.rmtree(FILES, ignore_errors=True)
    FILES.mkdir()
    with GameStore(FILES / "games.sqlite") as store:
        evaluation.self_play("dove", 3, rules=RULES, map_name=BOARD, store=store)
        welfare_env.Game.from_record(store.record(store.keys()[0])).save(FILES / "game.json")
    small = {"games": 2, "iterations": 1, "width": 4, "layers": 1, "map_name": BOARD, "years": 1}
    training.train(training.TrainConfig(**small, out=FILES / "training"))
    training.train(ModalConfig("program:FairBot", games=8, iterations=2, out=FILES / "modal-training"))
    for folder in FILES.rglob("tensorboard"):
        shutil.rmtree(folder)


def test_a_saved_game_loads():
    game = welfare_env.Game.load(FILES / "game.json")
    assert game.is_done
    assert game.rules == RULES
    assert any(record.messages for record in game.history)


def test_games_of_a_store_are_read(tmp_path):
    shutil.copy(FILES / "games.sqlite", tmp_path)
    with GameStore(tmp_path / "games.sqlite") as store:
        assert [game.specification["players"]["PLAYERA"] for game in store.games()] == ["dove"] * 3
        assert all(welfare_env.Game.from_record(store.record(game.key)).is_done for game in store.games())


def test_a_checkpoint_plays():
    pytest.importorskip("torch")
    policy = agents.make(f"rl:{FILES / 'training' / 'checkpoint'}")
    env = welfare_env.make(map_name=BOARD, press=None, years=2)
    env.reset(seed=0)
    policy.reset(agent=env.agent_selection, seed=0)
    observation, _, _, _, info = env.last()
    env.step(policy.act(observation, info))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["training", "modal-training"])
def test_a_training_is_resumed(tmp_path, name):
    training = pytest.importorskip("training")
    pytest.importorskip("ray")
    shutil.copytree(FILES / name, tmp_path / name)
    training.resume(tmp_path / name, iterations=3)
    assert len((tmp_path / name / "log.jsonl").read_text().splitlines()) == 3


if __name__ == "__main__":
    write()
