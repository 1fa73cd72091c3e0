"""The files of a training in Diplomacy: the state to resume from, and for each network two players, last and best.

*Best* is the iterate at the learner's highest held-out report; before the first report, the last one. The state holds
the weights of both, so that missing or damaged players can be rewritten.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from ray.rllib.core.learner import Learner
from torch import Tensor

from agents.rl import checkpoint
from agents.rl.checkpoint import Checkpoint
from agents.rl.network import BoardNetwork
from training import state
from training.board.config import TrainConfig
from training.board.runner import Play
from training.board.sampling import Weights
from training.board.seats import LEARNER
from welfare_env.board.loading import load_board

CHECKPOINT, BEST = "checkpoint", "best"


@dataclass(frozen=True)
class Best:
    """The iterate with the highest held-out report: the report, and each network's weights."""

    value: float
    iteration: int
    weights: Mapping[str, Weights]


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
        self._trained = {name: (network_of(learner, name), learner.get_optimizer(name)) for name in play.networks}
        self._identity = config.identity()

    def restore(self) -> Standing | None:
        """Load the saved state into the learner and return the rest; None if nothing is saved yet.

        Raises:
            TrainingError: the folder holds another training, more iterations than the config, or a damaged state.
        """
        found = state.load(self._config.folder, self._trained, self._identity, self._config.iterations)
        if found is None:
            return None
        standing = self._standing(*found)
        self._write_players(standing)
        return standing

    def save(self, standing: Standing) -> None:
        """Write the players, then the state.

        Raises:
            TrainingError, CheckpointError: a file cannot be written.
        """
        self._write_players(standing)
        others: dict[str, Any] = {"league": dict(enumerate(standing.league))}
        if (best := standing.best) is not None:
            others |= {"best": best.weights, "report": np.array([best.value, best.iteration], np.float64)}
        state.save(self._config.folder, self._trained, standing.iteration, self._identity, others)

    def _standing(self, iteration: int, others: state.Tree) -> Standing:
        """The inverse of `save`."""
        past, best = others.get("league", {}), None
        league = [_arrays(past[number]) for number in sorted(past, key=int)]
        if "report" in others:
            value, at = others["report"].tolist()
            best = Best(value, int(at), {whose: _arrays(weights) for whose, weights in others["best"].items()})
        return Standing(iteration, league, best)

    def _write_players(self, standing: Standing) -> None:
        now = all_weights(self._learner, self._play)
        best = standing.best or Best(0.0, standing.iteration, now)
        report = {} if standing.best is None else {"held_out": best.value}
        for name, reward in {LEARNER: self._play.reward, **self._play.lineup.also}.items():
            whose: dict[str, Any] = {} if name == LEARNER else {"learner": name, "reward": str(reward)}
            last, top = (CHECKPOINT, BEST) if name == LEARNER else (name, f"{BEST}-{name}")
            self._write(last, now[name], {"iterations": standing.iteration, **whose})
            self._write(top, best.weights[name], {"iterations": best.iteration, **report, **whose})

    def _write(self, folder: str, weights: Weights, about: Mapping[str, Any]) -> None:
        play, board = self._play, load_board(self._play.map_name)
        origin = {**about, "seed": play.seed, "git": checkpoint.git_revision(), **self._origin}
        words, greedy = checkpoint.vocabulary(board), play.lineup.is_fixed
        player = Checkpoint(weights, play.size, board.name, play.rules, words, origin, greedy=greedy)
        checkpoint.save(self._config.folder / folder, player)


def network_of(learner: Learner, name: str = LEARNER) -> BoardNetwork:
    """A network of RLlib's learner."""
    module: Any = learner.module[name].unwrapped()
    return module.network


def all_weights(learner: Learner, play: Play) -> dict[str, Weights]:
    """Copies of each network's weights."""
    return {name: _arrays(network_of(learner, name).state_dict()) for name in play.networks}


def _arrays(weights: Mapping[str, Tensor]) -> Weights:
    """Copies of weights, as arrays."""
    return {name: value.detach().cpu().numpy().copy() for name, value in weights.items()}
