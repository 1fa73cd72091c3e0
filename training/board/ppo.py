"""The complete training loop of proximal policy optimization: `train`.

An iteration plays `games` whole games, updates each network on its own decisions, and writes the log; some iterations
also play held-out games, or save. An iteration depends only on the weights, the seed and its number. So a training that
was interrupted, or extended, ends with the same weights as an uninterrupted one (for a fixed number of workers).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core import DEFAULT_MODULE_ID
from ray.rllib.core.learner import Learner
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModuleSpec
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.env.single_agent_episode import SingleAgentEpisode

from agents.rl import checkpoint
from agents.rl.inputs import InputEncoder
from agents.rl.network import Size
from training.board.config import TrainConfig
from training.board.imitation import imitate, watch
from training.board.learner import Collate, PPOLearner, by_network
from training.board.modules import BoardModule, model_config, spaces
from training.board.rewards import Reward
from training.board.runner import BatchedEnvRunner, GameResult, Play
from training.board.sampling import HeldOut, Weights, sampling
from training.board.saving import CHECKPOINT, Best, Keeper, Standing, network_of, weights
from training.board.seats import LEAGUE
from training.errors import TrainingError
from training.rllib import quiet
from training.run_folder import logging_to, read_log, write_config
from welfare_env.board.loading import load_board

ALSO = 7  # random stream for the initial weights of additional networks; other streams: `training.board.sampling`
FALLS_TO = 0.1  # lr and entropy at the horizon, relative to the start


@dataclass(frozen=True)
class Progress:
    """An iteration: its number from 1, logged metrics, and games."""

    iteration: int
    logged: Mapping[str, float]
    games: tuple[GameResult, ...] = field(repr=False)


class WholeGames(PPOConfig):
    """PPO's configuration for `BatchedEnvRunner`: an iteration is one sample, however many steps its games have."""

    @property
    def total_train_batch_size(self) -> int:
        return 1


WarmStart = Callable[[str, str, int, int], None]  # stage, unit, units done, all units


@quiet()
def train(
    config: TrainConfig,
    on_progress: Callable[[Progress], None] = lambda progress: None,
    on_warm_start: WarmStart = lambda stage, unit, done, total: None,
    origin: Mapping[str, Any] | None = None,
    play: Play | None = None,
) -> Path:
    """Train, resume an interrupted training, or extend a finished one.

    Args:
        on_progress: called after every iteration. If it raises KeyboardInterrupt, the training is saved first.
        on_warm_start: called during imitation, before anything is saved.
        origin: how the training was started, a note for readers of the checkpoint.
        play: overrides the config's games, for custom rewards and lineups. Resume such a training by the same call, not
            by `training.resume`.

    Returns:
        The folder of the last checkpoint, for ``agents.make("rl:PATH")``. The best iterate by held-out reports is next
        to it, in ``best`` (without reports: also the last). Additional networks are in folders with their names (the
        last iterate) and in ``best-NAME`` (at the iteration of the learner's best iterate).

    Raises:
        TrainingError: the folder holds another training, or the weights are no longer finite.
        CheckpointError: `start` or an opponent cannot be read, or does not fit.
    """
    torch.set_num_threads(1)
    games, folder = play or play_of(config), config.folder
    configure = partial(make_config, config=config)
    learner: Any = configure(games).build_learner(spaces=_spaces(games))
    keeper = Keeper(learner, games, config, origin or {})
    standing = keeper.restore()
    write_config(folder, "board", config.to_dict())
    if standing is None:
        standing = Standing()
        if _warm_start(learner, games, config, on_warm_start):
            keeper.save(standing)
    read_log(folder, standing.iteration)
    held_out = HeldOut(games, config.held_out_games, configure) if config.held_out_every else None
    with (
        sampling(games, configure, config.workers, config.ray_address) as sampler,
        logging_to(folder, standing.iteration) as log,
    ):
        for iteration in range(standing.iteration, config.iterations):
            began = time.perf_counter()
            episodes, played = sampler.sample(learner, iteration, standing.league, years_at(config, iteration))
            sampled = time.perf_counter()
            figures = _improve(learner, config, iteration, episodes)
            timing = {"time/sample": sampled - began, "time/learn": time.perf_counter() - sampled}
            standing, report = _next(learner, config, games, standing, held_out)
            progress = Progress(iteration + 1, describe(played) | figures | report | timing, tuple(played))
            log({"iteration": progress.iteration, **progress.logged})
            if progress.iteration % config.save_every == 0 or progress.iteration == config.iterations:
                keeper.save(standing)
            try:
                on_progress(progress)
            except KeyboardInterrupt:
                keeper.save(standing)
                raise
    return folder / CHECKPOINT


def _improve(
    learner: PPOLearner, config: TrainConfig, iteration: int, episodes: Sequence[SingleAgentEpisode]
) -> dict[str, float]:
    """Update each network on its episodes, and return the metrics to log.

    Networks are updated one after the other: in a joint update RLlib gives all networks the same number of minibatches,
    so that a network with few decisions would use them for more than `epochs` epochs.
    """
    logged: dict[str, float] = {}
    for module_id, mine in by_network(episodes).items():
        learner.begin_iteration(iteration)
        figures = learner.update(episodes=mine, num_epochs=config.epochs, minibatch_size=config.minibatch)
        logged |= _learned(figures[module_id], "" if module_id == DEFAULT_MODULE_ID else f"{module_id}/")
    return logged


def _next(
    learner: Learner, config: TrainConfig, play: Play, standing: Standing, held_out: HeldOut | None
) -> tuple[Standing, dict[str, float]]:
    """The standing after an iteration (league and best iterate updated), and its held-out report, if one is due.

    Raises:
        TrainingError: the weights are no longer finite.
    """
    iteration, now = standing.iteration + 1, weights(learner)
    also = {name: weights(learner, name) for name in play.lineup.also}
    if not all(np.isfinite(value).all() for each in (now, *also.values()) for value in each.values()):
        raise TrainingError(
            f"iteration {iteration}: the weights are no longer finite numbers: give a smaller lr than {config.lr:g}"
        )
    league, best, report = standing.league, standing.best, {}
    if LEAGUE in play.lineup.opponents and iteration % config.league_every == 0:
        league = _grown(league, now, config.league_size)
    if held_out is not None and iteration % config.held_out_every == 0:
        began = time.perf_counter()
        value = held_out.report(learner, league)
        best = Best(value, iteration, now, also) if best is None or value > best.value else best
        report = {"held-out/return": value, "held-out/best": best.value, "time/held-out": time.perf_counter() - began}
    return Standing(iteration, league, best), report


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
    seeds = {DEFAULT_MODULE_ID: play.seed} | {
        name: int(np.random.SeedSequence([play.seed, ALSO, number]).generate_state(1)[0])
        for number, name in enumerate(play.lineup.also)
    }
    specs = {
        name: RLModuleSpec(
            BoardModule, model_config=model_config(board, play.rules, play.size, seed, config.sees_points)
        )
        for name, seed in seeds.items()
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
        .multi_agent(policies=tuple(specs), policy_mapping_fn=lambda *args, **kwargs: DEFAULT_MODULE_ID)
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


def _spaces(play: Play) -> dict[str, Any]:
    return dict.fromkeys(
        (DEFAULT_MODULE_ID, *play.lineup.also), spaces(InputEncoder(load_board(play.map_name), play.rules))
    )


def years_at(config: TrainConfig, iteration: int) -> int:
    """The length of an iteration's games."""
    return config.stages[min(iteration * len(config.stages) // config.horizon, len(config.stages) - 1)]


def _grown(league: list[Weights], newest: Weights, most: int) -> list[Weights]:
    """The league with a further past self; beyond the maximum size every other one is dropped, but not the newest."""
    grown = [*league, newest]
    return grown if len(grown) <= most else grown[(len(grown) - 1) % 2 :: 2]


# The log.


def describe(games: Sequence[GameResult]) -> dict[str, float]:
    """Metrics of an iteration's games: means over the learning seats, overall and against each opponent.

    Metrics of an additional network contain its name: ``play/NAME/return``.
    """
    seen: dict[str, list[float]] = {}
    for game in games:
        for whose, seats in (("", game.learners), *((f"{name}/", seats) for name, seats in game.also.items())):
            for power in seats:
                seen.setdefault(f"play/{whose}return", []).append(game.returns[power])
                seen.setdefault(f"play/{whose}points", []).append(game.points[power])
                seen.setdefault(f"play/{whose}centers", []).append(game.centers[power])
        for power in game.learners:
            seen.setdefault(f"against/{game.opponent}", []).append(game.returns[power])
        seen.setdefault("play/phases", []).append(game.phases)
    return {name: float(np.mean(values)) for name, values in seen.items()}


def _learned(metrics: Mapping[str, Any], whose: str) -> dict[str, float]:
    """A network's metrics (`training.board.learner.PPOLearner`)."""
    names = ("policy_loss", "value_loss", "explained", "entropy", "word_entropy", "moved", "kl")
    return {f"learn/{whose}{name}": float(metrics[name]) for name in names if name in metrics}


def _warm_start(learner: Learner, play: Play, config: TrainConfig, on_warm_start: WarmStart) -> bool:
    """Set the learner's initial weights; returns whether it imitated a policy.

    Raises:
        CheckpointError: `start` cannot be read, or does not fit.
    """
    network, board = network_of(learner), load_board(play.map_name)
    if config.start is not None:
        checkpoint.load(config.start).warm_start(network, board, play.rules)
        if not config.sees_points:
            network.forget_points()
    if config.imitate is None:
        return False
    watched, learned = (partial(on_warm_start, f"{stage} {config.imitate}") for stage in ("watching", "imitating"))
    lesson = watch(play, config.imitate, config.imitate_games, partial(watched, "years"))
    reader, on_step = InputEncoder(board, play.rules, config.sees_points), partial(learned, "steps")
    imitate(network, reader, lesson, play.seed, minibatch=config.minibatch, on_progress=on_step)
    return True
