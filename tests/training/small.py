"""A small training, and what the tests read of a training's folder."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file

from training import TrainConfig

SMALL = TrainConfig(
    against="prosocial", map_name="clique:3", years=2, games=6, iterations=3, horizon=3, epochs=3, minibatch=64,
    width=4, layers=1, save_every=2, held_out_every=0,
)  # fmt: skip


DEFAULT = TrainConfig()


def local_runner(play: Any, config: TrainConfig = DEFAULT) -> Any:
    """A runner of a `Play`, in this process."""
    from training.board.algorithm import make_config
    from training.board.runner import BatchedEnvRunner

    return BatchedEnvRunner(config=make_config(play, config), worker_index=0)


def learner_of(config: TrainConfig) -> Any:
    """A learner of a config, and the `Play` it learns from."""
    from training.board.algorithm import make_config, play_of, spaces_of

    play = play_of(config)
    return make_config(play, config).build_learner(spaces=spaces_of(play)), play


Weights = dict[str, np.ndarray]


def weights_of(folder: Path, name: str = "checkpoint") -> Weights:
    """Of a checkpoint of a training."""
    return load_file(folder / name / "weights.safetensors")


def same(one: Weights, other: Weights) -> bool:
    return one.keys() == other.keys() and all(np.array_equal(one[name], other[name]) for name in one)


def logged(folder: Path) -> list[dict[str, Any]]:
    """The log without what it took in time."""
    lines = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    return [{name: value for name, value in line.items() if not name.startswith("time/")} for line in lines]


def stop_after(iteration: int, error: type[BaseException]) -> Callable[[Any], None]:
    """For `on_progress`: as if interrupted (KeyboardInterrupt) or killed (another error)."""

    def stop(progress: Any) -> None:
        if progress.iteration == iteration:
            raise error

    return stop
