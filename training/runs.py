"""Training from Python: `train`, `resume` and `make_config`. These load torch and Ray when called."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from training.board.config import TrainConfig
from training.config import Config
from training.errors import TrainingError
from training.modal.config import ModalConfig
from training.population.config import PopulationConfig
from training.run_folder import read_config
from welfare_env.checks import quoted

if TYPE_CHECKING:
    from ray.rllib.algorithms.ppo import PPOConfig

    from training.modal.trainer import ModalResult
    from training.population.psro import Step

KINDS: dict[str, type[Config]] = {"board": TrainConfig, "modal": ModalConfig, "population": PopulationConfig}
AnyConfig = TrainConfig | ModalConfig | PopulationConfig


@overload
def train(config: TrainConfig, on_progress: Callable[[Any], None] = ...) -> Path: ...


@overload
def train(config: ModalConfig, on_progress: Callable[[Any], None] = ...) -> ModalResult: ...


@overload
def train(config: PopulationConfig, on_progress: Callable[[Any], None] = ...) -> list[Step]: ...


def train(
    config: AnyConfig, on_progress: Callable[[Any], None] = lambda progress: None
) -> Path | ModalResult | list[Step]:
    """Train, resume an interrupted training, or extend a finished one.

    Args:
        on_progress: called after every iteration with its number, `iteration`, and the `logged` metrics. If it raises
            KeyboardInterrupt, the training is saved first.

    Returns:
        In Diplomacy the folder of the last checkpoint, for ``agents.make("rl:PATH")``, next to the best one in
        ``best``; in modal_env the result; of a population its steps.

    Raises:
        TrainingError: the folder holds another training, or the weights are no longer finite.
        CheckpointError: a checkpoint cannot be read, or does not fit.
        UnknownAgentError, UnknownMapError: no such policy or map.
        ModalError: an invalid setting or opponent of modal_env.
    """
    if isinstance(config, ModalConfig):
        from training.modal.trainer import train_modal

        return train_modal(config, on_progress)
    if isinstance(config, PopulationConfig):
        from training.population.psro import train_population

        return train_population(config, lambda step, progress: on_progress(progress))
    if not isinstance(config, TrainConfig):
        raise TrainingError(f"config {config!r:.80}: give a training.TrainConfig, ModalConfig or PopulationConfig")
    from training.board import ppo

    return ppo.train(config, on_progress)


def make_config(config: TrainConfig) -> PPOConfig:
    """RLlib's configuration of a training: ``make_config(config).build_algo()`` is RLlib's own loop on our runner.

    With ``workers=0`` and one network its iterations are those of `train`, up to rounding; with workers each of them
    plays `games` games. Checkpoints and held-out reports are RLlib's. For a custom loss give a subclass of
    `training.board.learner.PPOLearner` to ``.learners(learner_class=...)``.

    Raises:
        UnknownMapError, MapFormatError: no such map.
        TrainingError: seats that the map does not have, or an option of which only `train` takes care.
    """
    from training.board import algorithm

    only = {"league_share": 0, "imitate": None, "start": None}
    if odd := [name for name, without in only.items() if getattr(config, name) != without]:
        raise TrainingError(f"{', '.join(odd)}: RLlib's own loop has no such thing: use training.train(config)")

    return algorithm.make_config(algorithm.play_of(config), config)


def export(source: Any, folder: str | Path, module: str | None = None, *, env: Any = None) -> Path:
    """Write a network as a player: ``agents.make("rl:FOLDER")`` plays it without Ray, and without a pickle.

    Args:
        source: an RLlib algorithm; the folder of its checkpoint, which is a pickle, and trusted; or, with `env`, a
            module or network. Networks are `training.LegalOrdersModule`, and multilayer perceptrons on the vectors of
            ``flat=True``: RLlib's ActionMaskingTorchRLModule, or a `torch.nn.Sequential` of linear layers with the same
            activation between any two.
        module: the id of the module; may be left out if there is only one.
        env: the environment of a bare network: one of ours, or wrapped.

    Returns:
        The folder.

    Raises:
        TrainingError: no such checkpoint or module, another environment, or a network of another kind.
        CheckpointError: the folder cannot be written.
    """
    from training.exporting import written

    return written(source, folder, module, env)


def resume(
    folder: str | Path, iterations: int | None = None, on_progress: Callable[[Any], None] = lambda progress: None
) -> Path | ModalResult | list[Step]:
    """Resume or extend a training from its folder, with its original config.

    Args:
        iterations: new total, to extend the training. For a population: its steps.

    Returns:
        As `train`.

    Raises:
        TrainingError: there is no training in the folder. Others as `train`.
    """
    return train(config_of(folder, iterations), on_progress)


def config_of(folder: str | Path, iterations: int | None = None) -> AnyConfig:
    """The config of the training in a folder, with `iterations` (for a population: steps) replaced if given.

    Raises:
        TrainingError: the config is missing or damaged.
    """
    if not isinstance(folder, str | os.PathLike):
        raise TrainingError(f"folder={quoted(folder)}: give the folder of a training")
    kind, values = read_config(Path(folder))
    if kind not in KINDS:
        raise TrainingError(f"{folder}: config.json of an unknown kind, {kind!r:.80}")
    config: Any = KINDS[kind](**values | {"out": Path(folder)})
    if iterations is None:
        return config
    return replace(config, **{"steps" if kind == "population" else "iterations": iterations})
