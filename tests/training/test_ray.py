"""Training in Ray's processes, and by RLlib's own algorithm."""

import copy
import logging
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import ray
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from typer.testing import CliRunner

import evaluation
import training
from agents.rl import checkpoint
from tests.training.small import logged
from training.board.algorithm import make_config, play_of
from training.board.config import TrainConfig
from training.board.ppo import train
from training.board.seats import LEARNER
from training.cli.commands import app
from welfare_env import Rules

pytestmark = pytest.mark.slow  # Ray takes its time to start


SEVERAL = {"also": ("cooperators=social",), "against": ("cooperators", "1*cooperators + 2*learner")}


def config_of(folder: Path, workers: int = 0, **changes: Any) -> TrainConfig:
    """Two iterations of four games of two years on three powers, all of which learn."""
    return TrainConfig(
        map_name="clique:3", years=2, games=4, iterations=2, epochs=1, minibatch=32, width=8, layers=1, workers=workers,
        out=folder, **changes,
    )  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def no_ray_of_before() -> None:
    """Tests of other files may have left theirs open."""
    ray.shutdown()


@pytest.fixture(scope="module")
def small_ray(no_ray_of_before: None) -> Iterator[None]:
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


def test_workers_change_nothing(tmp_path):
    """With two of them, one of which is killed after the first iteration; another number resumes, too."""
    plain = replace(config_of(tmp_path / "plain", **SEVERAL), games=18, iterations=3)  # two pieces
    train(plain)
    parts = replace(plain, workers=2, out=tmp_path / "parts")
    train(replace(parts, iterations=2), lambda progress: kill_a_worker() if progress.iteration == 1 else None)
    assert not ray.is_initialized()
    train(replace(parts, workers=0))
    for path in (tmp_path / "plain").glob("*/weights.safetensors"):
        assert path.read_bytes() == (tmp_path / "parts" / path.parent.name / path.name).read_bytes()
    assert logged(tmp_path / "plain") == logged(tmp_path / "parts")


def kill_a_worker():
    """A process of Ray that has a runner."""
    import psutil

    workers = [one for one in psutil.Process().children(recursive=True) if "ray::Runner" in " ".join(one.cmdline())]
    workers[0].kill()


def test_rllibs_own_algorithm_trains_with_the_runner_and_the_learner(tmp_path, small_ray):
    config = config_of(tmp_path, **SEVERAL)
    algorithm = make_config(play_of(config), config).build_algo()
    names = [LEARNER, *config.rewards]
    before = [weights_of(algorithm, name) for name in names]
    told = algorithm.train()
    assert told["env_runners"]["num_episodes"] >= 4
    assert told["num_env_steps_sampled_lifetime"] > 0
    for name, weights in zip(names, before, strict=True):
        after = weights_of(algorithm, name)
        assert any((after[key] != value).any() for key, value in weights.items())
    folder = training.export(algorithm, tmp_path / "player", module=LEARNER)
    algorithm.stop()
    assert evaluation.self_play(f"rl:{folder}", games=1, map_name="clique:3", rules=Rules(years=1, press=None))


def test_rllibs_checkpoint_becomes_a_player(tmp_path, small_ray, monkeypatch):
    """The algorithm itself, its checkpoint by the command without Ray, and what a damaged one says."""
    training.register()  # `ray.shutdown` forgets names
    config = (
        PPOConfig()
        .environment("welfare_env", env_config={"map_name": "clique:3", "years": 1})
        .env_runners(num_env_runners=0)
        .multi_agent(policies={"one", "two"}, policy_mapping_fn=lambda *_, **__: "one")
        .rl_module(rl_module_spec=RLModuleSpec(training.LegalOrdersModule))
    )
    algorithm = config.build_algo()
    algorithm.save_to_path(str(tmp_path / "checkpoint"))
    with pytest.raises(training.TrainingError, match="one, two"):
        training.export(algorithm, tmp_path / "player")
    training.export(algorithm, tmp_path / "player", module="one")
    algorithm.stop()
    ray.shutdown()
    command = ["export", str(tmp_path / "checkpoint"), str(tmp_path / "again"), "--module", "one"]
    done = CliRunner().invoke(app, command)
    assert (done.exit_code, ray.is_initialized()) == (0, False), done.stderr
    one, other = ((tmp_path / name / "weights.safetensors").read_bytes() for name in ("player", "again"))
    assert one == other
    assert evaluation.self_play(f"rl:{tmp_path / 'again'}", games=1, map_name="clique:3", rules=Rules(years=1))
    (tmp_path / "checkpoint" / "class_and_ctor_args.pkl").write_bytes(b"no pickle")
    with pytest.raises(training.TrainingError):
        training.export(tmp_path / "checkpoint", tmp_path / "player", module="one")


def test_rllibs_own_loop_ends_with_the_weights_of_train(tmp_path, small_ray):
    """Up to rounding; also with step size and entropy weight that fall from one iteration to the next."""
    config = config_of(tmp_path, horizon=2, held_out_every=0)
    algorithm = training.make_config(replace(config, iterations=3)).build_algo()
    for _ in range(3):
        told = algorithm.train()
    algorithm.stop()
    assert told["env_runners"]["num_episodes"] == config.games
    ours = checkpoint.load(train(replace(config, iterations=3))).weights
    for name, weight in weights_of(algorithm, LEARNER).items():
        np.testing.assert_allclose(weight.numpy(), ours[name], rtol=0, atol=1e-6)


@pytest.mark.parametrize("only", [{"league_share": 0.5}, {"imitate": "hold"}])
def test_what_rllibs_own_loop_cannot_do_is_refused(tmp_path, only):
    with pytest.raises(training.TrainingError, match=next(iter(only))):
        training.make_config(config_of(tmp_path, **only))


def weights_of(algorithm: Any, name: str) -> dict[str, Any]:
    return copy.deepcopy(algorithm.get_module(name).unwrapped().network.state_dict())
