"""Training in Ray's processes, and by RLlib's own algorithm."""

import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

ray = pytest.importorskip("ray")
pytest.importorskip("torch")

from agents.rl import checkpoint  # noqa: E402
from agents.rl.network import Size  # noqa: E402
from training.board.ppo import Options, Progress, make_config, train  # noqa: E402
from training.board.runner import Play  # noqa: E402
from training.board.seats import LEARNER, Lineup  # noqa: E402
from welfare_env.rules import Rules  # noqa: E402

pytestmark = pytest.mark.slow  # Ray takes its time to start


def options(folder: Path, workers: int = 0) -> Options:
    """Two iterations of four games of two years on three powers, all of which learn."""
    rules = Rules(press=None, variant="welfare", years=2)
    play = Play("clique:3", rules, Lineup(((),), (LEARNER,), (1.0,)), Size(8, 1), num_games=4)
    return Options(play, folder, iterations=2, epochs=1, minibatch=32, workers=workers)


@pytest.fixture
def small_ray() -> Iterator[None]:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    ray.init(
        num_cpus=1,
        include_dashboard=False,
        log_to_driver=False,
        logging_level=logging.ERROR,
        object_store_memory=100_000_000,
    )
    yield
    ray.shutdown()


def test_training_with_a_worker(tmp_path):
    seen: list[Progress] = []
    folder = train(options(tmp_path, workers=1), seen.append)
    assert not ray.is_initialized()
    assert [told.iteration for told in seen] == [1, 2]
    assert all(len(told.games) == 4 for told in seen)
    assert checkpoint.load(folder).origin["iterations"] == 2


def test_rllibs_own_algorithm_trains_with_the_runner_and_the_learner(tmp_path, small_ray):
    algorithm = make_config(options(tmp_path)).build_algo()
    network = algorithm.get_module().unwrapped().network
    before = {name: value.clone() for name, value in network.state_dict().items()}
    told = algorithm.train()
    after = algorithm.get_module().unwrapped().network.state_dict()
    assert told["env_runners"]["num_episodes"] >= 4
    assert told["num_env_steps_sampled_lifetime"] > 0
    assert any((after[name] != value).any() for name, value in before.items())
    algorithm.stop()
