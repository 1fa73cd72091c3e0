"""The files of a training in Diplomacy: the state to resume from, and two checkpoints to play with, last and best.

An additional network also has two: its last iterate, and its iterate at the learner's best. Before the first held-out
report the last counts as the best.

The state holds the weights of both, so that missing or damaged checkpoints can be rewritten.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from ray.rllib.core import DEFAULT_MODULE_ID
from ray.rllib.core.learner import Learner

from agents.rl import checkpoint
from agents.rl.checkpoint import Checkpoint, CheckpointError
from agents.rl.network import BoardNetwork
from training import state
from training.board.config import TrainConfig
from training.board.runner import Play
from training.board.sampling import Weights
from training.board.training_key import identity
from training.run_folder import STATE
from welfare_env.board.loading import load_board

CHECKPOINT, BEST = "checkpoint", "best"
ALSO = f"{BEST}-also"  # prefix in the state: additional networks' weights at the learner's best iterate
_REPORT = f"{BEST}/report"  # key in the state: held-out value and iteration of the best iterate


@dataclass(frozen=True)
class Best:
    """The iterate with the highest held-out report."""

    value: float
    iteration: int
    weights: Weights
    also: Mapping[str, Weights] = field(default_factory=dict)  # of additional networks, by name


@dataclass(frozen=True)
class Standing:
    """The state of a training after some iterations, apart from the learner."""

    iteration: int = 0
    league: list[Weights] = field(default_factory=list)
    best: Best | None = None


class Keeper:
    """Saves a training in its folder, and restores it.

    Args:
        origin: how the training was started, a note for readers of the checkpoint.
    """

    def __init__(self, learner: Learner, play: Play, config: TrainConfig, origin: Mapping[str, Any]) -> None:
        self._learner, self._play, self._config, self._origin = learner, play, config, origin
        self._folder, self._identity = config.folder, identity(play, config)

    def restore(self) -> Standing | None:
        """Load the saved state into the learner and return the rest; None if nothing is saved yet.

        Raises:
            TrainingError: the folder holds another training, more iterations than the config, or a damaged state.
        """
        most = self._config.iterations
        done, others = state.load(self._folder, *self._trained(), self._identity, most, also=self._also())
        if not (self._folder / STATE).exists():
            return None
        standing = _standing(done, others)
        self._write_checkpoints(standing)
        return standing

    def save(self, standing: Standing) -> None:
        """Write the checkpoints, then the state.

        Raises:
            TrainingError, CheckpointError: a file cannot be written.
        """
        self._write_checkpoints(standing)
        others = _others(standing)
        state.save(self._folder, *self._trained(), standing.iteration, self._identity, others, also=self._also())

    def _trained(self, name: str = DEFAULT_MODULE_ID) -> tuple[BoardNetwork, Any]:
        """A network and its optimizer."""
        return network_of(self._learner, name), self._learner.get_optimizer(name)

    def _also(self) -> dict[str, tuple[BoardNetwork, Any]]:
        """The additional networks with their optimizers, by name."""
        return {name: self._trained(name) for name in self._play.lineup.also}

    def _write_checkpoints(self, standing: Standing) -> None:
        """Write the checkpoints that are missing, damaged or out of date."""
        rewards = self._play.lineup.also
        whose: dict[str, dict[str, Any]] = {
            name: {"learner": name, "reward": str(reward)} for name, reward in rewards.items()
        }
        now = {"iterations": standing.iteration}
        _write(self._folder / CHECKPOINT, self._checkpoint(weights(self._learner), now))
        for name in rewards:
            _write(self._folder / name, self._checkpoint(weights(self._learner, name), now | whose[name]))
        best = standing.best
        about = now if best is None else {"iterations": best.iteration, "held_out": best.value}
        _write(self._folder / BEST, self._checkpoint(best.weights if best else weights(self._learner), about))
        for name in rewards:
            given = best.also[name] if best else weights(self._learner, name)
            _write(self._folder / f"{BEST}-{name}", self._checkpoint(given, about | whose[name]))

    def _checkpoint(self, given: Weights, about: Mapping[str, Any]) -> Checkpoint:
        play, board = self._play, load_board(self._play.map_name)
        origin = {**about, "seed": play.seed, "git": checkpoint.git_revision(), **self._origin}
        words = checkpoint.vocabulary(board)
        return Checkpoint(given, play.size, board.name, play.rules, words, origin, greedy=play.lineup.is_fixed)


def _write(folder: Path, wanted: Checkpoint) -> None:
    try:
        there = checkpoint.load(folder)
    except CheckpointError:
        there = None
    if there is None or there.origin.get("iterations") != wanted.origin["iterations"] or not _same(there, wanted):
        checkpoint.save(folder, wanted)


def _same(one: Checkpoint, other: Checkpoint) -> bool:
    if one.weights.keys() != other.weights.keys() or replace(one, **_IGNORED) != replace(other, **_IGNORED):
        return False
    return all(np.array_equal(one.weights[name], other.weights[name]) for name in one.weights)


_IGNORED: dict[str, Any] = {"weights": {}, "origin": {}, "digest": ""}


def _others(standing: Standing) -> dict[str, torch.Tensor]:
    """The league and the best iterate as tensors by name."""
    tensors = {
        f"{number}/{name}": torch.from_numpy(value)
        for number, past in enumerate(standing.league)
        for name, value in past.items()
    }
    if (best := standing.best) is not None:
        # Copies: the best iterate may also be in the league, and safetensors refuses tensors that share memory.
        tensors |= {f"{BEST}/weights/{name}": torch.tensor(value) for name, value in best.weights.items()}
        for whose, given in best.also.items():
            tensors |= {f"{ALSO}/{whose}/{name}": torch.from_numpy(value) for name, value in given.items()}
        tensors[_REPORT] = torch.tensor([best.value, best.iteration], dtype=torch.float64)
    return tensors


def _standing(iteration: int, others: Mapping[str, torch.Tensor]) -> Standing:
    """The inverse of `_others`."""
    parts: dict[str, Weights] = {}
    also: dict[str, Weights] = {}
    for key, value in others.items():
        if key.startswith(f"{ALSO}/"):
            _, whose, name = key.split("/", 2)
            also.setdefault(whose, {})[name] = value.numpy()
        elif key != _REPORT:
            owner, _, name = key.removeprefix(f"{BEST}/").partition("/")
            parts.setdefault(owner, {})[name] = value.numpy()
    best = None
    if _REPORT in others:
        value, best_iteration = others[_REPORT].tolist()
        best = Best(value, int(best_iteration), parts.pop("weights"), also)
    return Standing(iteration, [parts[number] for number in sorted(parts, key=int)], best)


def network_of(learner: Learner, name: str = DEFAULT_MODULE_ID) -> BoardNetwork:
    """A network of RLlib's learner."""
    module: Any = learner.module[name].unwrapped()
    return module.network


def weights(learner: Learner, name: str = DEFAULT_MODULE_ID) -> Weights:
    """Copies of a network's weights."""
    return {key: value.detach().numpy().copy() for key, value in network_of(learner, name).state_dict().items()}
