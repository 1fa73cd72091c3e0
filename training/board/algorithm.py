"""A training as RLlib sees it: `make_config`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModuleSpec
from ray.rllib.core.rl_module.rl_module import RLModuleSpec

from agents.rl.inputs import InputEncoder
from agents.rl.network import Size
from training.board.config import TrainConfig
from training.board.learner import Collate, PPOLearner
from training.board.modules import BoardModule, model_config, spaces
from training.board.rewards import Reward
from training.board.runner import BatchedEnvRunner, Play
from training.board.seats import LEARNER
from welfare_env.board.loading import load_board

ALSO = 7  # random stream for the initial weights of additional networks; other streams: `training.board.sampling`
FALLS_TO = 0.1  # lr and entropy at the horizon, relative to the start


class WholeGames(PPOConfig):
    """PPO's configuration for `BatchedEnvRunner`: an iteration is one sample, however many steps its games have."""

    @property
    def total_train_batch_size(self) -> int:
        return 1


def play_of(config: TrainConfig) -> Play:
    """The games of a config.

    Raises:
        UnknownMapError, MapFormatError: no such map.
        TrainingError: seats that the map does not have.
    """
    return Play(
        config.map_name,
        config.rules,
        config.lineup,
        Size(config.width, config.layers),
        Reward.parse(config.reward),
        num_games=config.games,
        seed=config.seed,
    )


def make_config(play: Play, config: TrainConfig) -> PPOConfig:
    """RLlib's configuration of a training; ``make_config(play, config).build_algo()`` is RLlib's PPO on our runner."""
    board = load_board(play.map_name)
    specs = {
        name: RLModuleSpec(
            BoardModule, model_config=model_config(board, play.rules, play.size, seed, config.sees_points)
        )
        for name, seed in _seeds(play)
    }
    falling = [[0, 1.0], [config.horizon, FALLS_TO]]  # iterations, share; constant afterwards
    entropy: Any = [[at, share * config.entropy] for at, share in falling]
    return (
        WholeGames()
        .environment(env=None, env_config=play.to_dict(), disable_env_checking=True)
        .env_runners(env_runner_cls=BatchedEnvRunner, num_env_runners=config.workers)
        .learners(
            learner_connector=lambda *spaces: Collate(*spaces[:2]),
            add_default_connectors_to_learner_pipeline=False,
            learner_class=PPOLearner,
        )
        .multi_agent(policies=tuple(specs), policy_mapping_fn=lambda *args, **kwargs: LEARNER)
        .rl_module(rl_module_spec=MultiRLModuleSpec(rl_module_specs=specs))
        .training(
            lr=[[at, share * config.lr] for at, share in falling],
            entropy_coeff=entropy,
            gamma=config.gamma,
            lambda_=config.lambda_,
            clip_param=config.clip,
            vf_loss_coeff=0.5,
            use_kl_loss=False,
            grad_clip=1.0,
            num_epochs=config.epochs,
            minibatch_size=config.minibatch,
            train_batch_size_per_learner=config.minibatch,  # no effect, but RLlib checks that it is no smaller
            shuffle_batch_per_epoch=False,  # `Collate` shuffles
        )
        .debugging(seed=play.seed)
    )


def _seeds(play: Play) -> Iterator[tuple[str, int]]:
    """The networks, with the seeds of their initial weights."""
    yield LEARNER, play.seed
    for number, name in enumerate(play.lineup.also):
        yield name, int(np.random.SeedSequence([play.seed, ALSO, number]).generate_state(1)[0])


def spaces_of(play: Play) -> dict[str, Any]:
    """For ``build_learner(spaces=...)``."""
    return dict.fromkeys(play.networks, spaces(InputEncoder(load_board(play.map_name), play.rules)))
