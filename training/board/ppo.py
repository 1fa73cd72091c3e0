"""The complete training loop of proximal policy optimization: `train`.

An iteration plays `games` whole games, updates each network on its own decisions, and writes the log; some iterations
also play held-out games, or save. An iteration depends only on the weights, the seed and its number. So a training that
was interrupted, or extended, ends with the same weights as an uninterrupted one, with any number of workers.

Learner, loss, schedules and the runner's interface are RLlib's. The loop is not: RLlib's algorithm starts Ray, gives
every process its own seed, loses the games of a process that dies, and saves pickles.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from ray.rllib.env.single_agent_episode import SingleAgentEpisode

from agents.rl import checkpoint
from agents.rl.checkpoint import Checkpoint
from agents.rl.inputs import InputEncoder
from agents.rl.network import one_thread
from training.board.algorithm import make_config, play_of, spaces_of
from training.board.config import TrainConfig
from training.board.imitation import imitate, watch
from training.board.learner import PPOLearner, by_network
from training.board.runner import GameResult, Play
from training.board.sampling import HeldOut, Weights, mean_return, sampling, state_of
from training.board.saving import CHECKPOINT, Best, Keeper, Standing, all_weights, network_of
from training.board.seats import LEAGUE, LEARNER
from training.rllib import quiet
from training.run_folder import CONFIG, logging_to, read_log, saved_iterations, write_json
from training.state import check_finite
from welfare_env.board.loading import load_board


@dataclass(frozen=True)
class Progress:
    """An iteration: its number from 1, logged metrics, and games."""

    iteration: int
    logged: Mapping[str, float]
    games: tuple[GameResult, ...] = field(repr=False)


WarmStart = Callable[[str, str, int, int], None]  # stage, unit, units done, all units


@quiet()
@one_thread()
def train(
    config: TrainConfig,
    on_progress: Callable[[Progress], None] = lambda progress: None,
    on_warm_start: WarmStart = lambda stage, unit, done, total: None,
    origin: Mapping[str, Any] = {},
) -> Path:
    """Train, resume an interrupted training, or extend a finished one.

    Args:
        on_progress: called after every iteration. If it raises KeyboardInterrupt, the training is saved first.
        on_warm_start: called during imitation, before anything is saved.
        origin: how the training was started, a note for readers of the checkpoint.

    Returns:
        The folder of the last checkpoint, for ``agents.make("rl:PATH")``. The best iterate by held-out reports is next
        to it, in ``best`` (without reports: also the last). Additional networks are in folders with their names (the
        last iterate) and in ``best-NAME`` (at the iteration of the learner's best iterate).

    Raises:
        TrainingError: the folder holds another training, or the weights are no longer finite.
        CheckpointError: `start` or an opponent cannot be read, or does not fit.
    """
    games, folder = play_of(config), config.folder
    learner: Any = make_config(games, config).build_learner(spaces=spaces_of(games))
    keeper = Keeper(learner, games, config, origin)
    is_new = saved_iterations(folder) is None
    start = checkpoint.load(config.start) if is_new and config.start else None
    standing = keeper.restore()
    write_json(folder / CONFIG, {"kind": "board", **config.to_dict()})
    if standing is None:
        standing = Standing()
        if _warm_start(learner, games, config, start, on_warm_start):
            keeper.save(standing)
    read_log(folder, standing.iteration)
    held_out = HeldOut(games, config) if config.held_out_every else None
    with (
        sampling(games, config) as sample,
        logging_to(folder, standing.iteration) as log,
    ):
        for iteration in range(standing.iteration, config.iterations):
            began = time.perf_counter()
            episodes, played = sample(state_of(learner, iteration, standing.league))
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
    """Update each network on its episodes, and return the metrics to log (`training.board.learner.PPOLearner`).

    Networks are updated one after the other: in a joint update RLlib gives all networks the same number of minibatches,
    so that a network with few decisions would use them for more than `epochs` epochs.
    """
    logged: dict[str, float] = {}
    for name, mine in by_network(episodes).items():
        learner.begin_iteration(iteration)
        found = learner.update(episodes=mine, num_epochs=config.epochs, minibatch_size=config.minibatch)[name]
        metrics = ("policy_loss", "value_loss", "explained", "entropy", "word_entropy", "moved", "kl")
        logged |= {f"learn/{_of(name)}{metric}": float(found[metric]) for metric in metrics if metric in found}
    return logged


def _next(
    learner: PPOLearner, config: TrainConfig, play: Play, standing: Standing, held_out: HeldOut | None
) -> tuple[Standing, dict[str, float]]:
    """The standing after an iteration (league and best iterate updated), and its held-out report, if one is due.

    Raises:
        TrainingError: the weights are no longer finite.
    """
    iteration, now = standing.iteration + 1, all_weights(learner, play)
    check_finite((network_of(learner, name) for name in play.networks), iteration, config.lr)
    league, best, report = standing.league, standing.best, {}
    if LEAGUE in play.lineup.opponents and iteration % config.league_every == 0:
        league = _grown(league, now[LEARNER], config.league_size)
    if held_out is not None and iteration % config.held_out_every == 0:
        began = time.perf_counter()
        value = held_out.report(learner, league)
        best = Best(value, iteration, now) if best is None or value > best.value else best
        report = {"held-out/return": value, "held-out/best": best.value, "time/held-out": time.perf_counter() - began}
    return Standing(iteration, league, best), report


def _grown(league: list[Weights], newest: Weights, most: int) -> list[Weights]:
    """The league with a further past self; beyond the maximum size every other one is dropped, but not the newest."""
    grown = [*league, newest]
    return grown if len(grown) <= most else grown[(len(grown) - 1) % 2 :: 2]


def describe(games: Sequence[GameResult]) -> dict[str, float]:
    """Metrics of an iteration's games: means over each network's seats, and over the learner's against each opponent.

    Metrics of an additional network contain its name: ``play/NAME/return``.
    """
    found: dict[str, float] = {}
    for name in (LEARNER, *games[0].also):
        if any(game.seats(name) for game in games):
            found[f"play/{_of(name)}return"] = mean_return(games, name)
            for what in ("points", "centers"):
                values = [getattr(game, what)[power] for game in games for power in game.seats(name)]
                found[f"play/{_of(name)}{what}"] = float(np.mean(values))
    for opponent in dict.fromkeys(game.opponent for game in games if game.learners):
        found[f"against/{opponent}"] = mean_return([game for game in games if game.opponent == opponent])
    return found | {"play/phases": float(np.mean([game.phases for game in games]))}


def _of(network: str) -> str:
    return "" if network == LEARNER else f"{network}/"


def _warm_start(
    learner: PPOLearner, play: Play, config: TrainConfig, start: Checkpoint | None, on_warm_start: WarmStart
) -> bool:
    """Set the learner's initial weights; returns whether it imitated a policy.

    Raises:
        CheckpointError: `start` does not fit.
    """
    network, board = network_of(learner), load_board(play.map_name)
    if start is not None:
        start.warm_start(network, board, play.rules)
        if not config.sees_points:
            network.forget_points()
    if config.imitate is None:
        return False
    watched = partial(on_warm_start, f"watching {config.imitate}", "games")
    lesson = watch(play, config.imitate, config.imitate_games, watched)
    reader = InputEncoder(board, play.rules, config.sees_points)
    told = partial(on_warm_start, f"imitating {config.imitate}", "steps")
    imitate(network, reader, lesson, play.seed, minibatch=config.minibatch, on_progress=told)
    return True
