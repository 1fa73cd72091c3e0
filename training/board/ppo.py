"""Proximal policy optimisation, from beginning to end: `train`.

An iteration plays `num_games` whole games, improves the network on them, writes down how it went, and now and then
saves. Everything an iteration does follows from the weights, the seed and the iteration's number; so a training that
was interrupted goes on from its last save and ends with the same weights as one that was not (with any fixed number of
workers).
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core import COMPONENT_RL_MODULE, DEFAULT_MODULE_ID
from ray.rllib.core.learner import Learner
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModuleSpec
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.env.single_agent_episode import SingleAgentEpisode
from ray.rllib.utils.metrics import NUM_ENV_STEPS_SAMPLED_LIFETIME

from agents.rl import checkpoint
from agents.rl.checkpoint import Checkpoint
from agents.rl.inputs import Reader
from agents.rl.network import BoardNetwork
from training import run_folder as state
from training.board.imitation import imitate, watch
from training.board.learner import Collate, PPOLearner
from training.board.modules import BoardModule, model_config, spaces
from training.board.runner import BatchedEnvRunner, GameResult, Play
from training.board.seats import LEAGUE
from training.errors import MOST_GAMES, MOST_SEED, TrainingError, check_number, check_whole
from welfare_env.board.loading import load_board

CHECKPOINT = "checkpoint"
MOST, MOST_WIDTH, MOST_LAYERS = 1_000_000, 1024, 64
Weights = dict[str, np.ndarray]


@dataclass(frozen=True)
class Options:
    """How to train.

    Attributes:
        play: what is played (`training.board.runner.Play`).
        folder: where the training is kept: checkpoint, state, TensorBoard files.
        iterations: in all.
        lr: Adam's step size at the beginning; it falls linearly to a tenth.
        entropy: weight of the entropy at the beginning; it falls linearly to a tenth.
        epochs, minibatch: passes over a sample's decisions, and decisions in a step.
        save_every: iterations between saves.
        league_every: iterations between past selves that enter the league; 0 for none.
        league_size: most past selves; beyond it, every other one is dropped.
        workers: Ray processes that play; 0 plays in this process, without Ray.
        ray_address: of a running cluster, for the workers; by default a small one is begun on this machine.
        start: a checkpoint to begin with.
        imitate: a scripted policy to imitate before the first iteration, and imitate_games: on how many of its games.
        curriculum: lengths of games in years; the iterations are shared out among them and the games' own length.
        origin: how this was started, for the checkpoint's reader.
    """

    play: Play
    folder: Path
    iterations: int = 100
    lr: float = 1e-3
    entropy: float = 0.02
    clip: float = 0.2
    gamma: float = 1.0
    lambda_: float = 0.95
    epochs: int = 3
    minibatch: int = 512
    save_every: int = 10
    league_every: int = 0
    league_size: int = 16
    workers: int = 0
    ray_address: str | None = None
    start: Path | None = None
    imitate: str | None = None
    imitate_games: int = 200
    curriculum: tuple[int, ...] = ()
    origin: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Progress:
    """After an iteration: its number from 1, what is logged, and the games it played."""

    iteration: int
    logged: Mapping[str, float]
    games: tuple[GameResult, ...]


WarmStart = Callable[[str, str, int, int], None]  # stage, unit, how many of it are done, of how many


def train(
    options: Options,
    on_progress: Callable[[Progress], None] = lambda progress: None,
    on_warm_start: WarmStart = lambda stage, unit, done, total: None,
) -> Path:
    """Train, or go on with a training that was interrupted.

    Args:
        on_progress: called after every iteration. A KeyboardInterrupt from it saves, and is raised again.
        on_warm_start: called in the course of an imitation, before anything is saved.

    Returns:
        The folder of the checkpoint, for ``agents.make("rl:PATH")``.

    Raises:
        TrainingError: the folder holds another training. CheckpointError: `start` does not fit.
    """
    check(options)
    torch.set_num_threads(1)
    learner = make_config(options).build_learner(spaces=_spaces(options.play))
    done, league = _begin(learner, options, on_warm_start)
    state.read_log(options.folder, done)
    with _runners(options) as runners, state.logging_to(options.folder, done) as log:
        for iteration in range(done, options.iterations):
            began = time.perf_counter()
            _set_schedules(learner, iteration)
            episodes, games = runners.sample(learner, iteration, league, years_at(options, iteration))
            sampled = time.perf_counter()
            told = learner.update(episodes=[*episodes], num_epochs=options.epochs, minibatch_size=options.minibatch)
            if options.league_every and (iteration + 1) % options.league_every == 0:
                league = _grown(league, weights(learner), options.league_size)
            timing = {"time/sample": sampled - began, "time/learn": time.perf_counter() - sampled}
            progress = Progress(iteration + 1, describe(games) | _learned(told) | timing, tuple(games))
            log({"iteration": progress.iteration, **progress.logged})
            if progress.iteration % options.save_every == 0 or progress.iteration == options.iterations:
                _save(learner, options, progress.iteration, league)
            try:
                on_progress(progress)
            except KeyboardInterrupt:
                _save(learner, options, progress.iteration, league)
                raise
    return options.folder / CHECKPOINT


def check(options: Options) -> None:
    """Whether options make sense.

    Raises:
        TrainingError: they do not; the message says which, and what would be right.
    """
    play = options.play
    for name in ("iterations", "epochs", "minibatch", "save_every", "league_size", "imitate_games"):
        check_whole(name, getattr(options, name), 1, MOST)
    check_whole("games", play.num_games, 1, MOST_GAMES)
    check_whole("seed", play.seed, 0, MOST_SEED)
    check_whole("width", play.size.width, 1, MOST_WIDTH)
    check_whole("layers", play.size.layers, 1, MOST_LAYERS)
    check_whole("league_every", options.league_every, 0, MOST)
    for name, most in (("lr", 1e3), ("entropy", 1e3), ("clip", 1), ("gamma", 1), ("lambda_", 1)):
        check_number(name, getattr(options, name), most)
    for opponent, share in zip(play.lineup.opponents, play.lineup.shares, strict=True):
        check_number(f"the share of opponent {opponent!r:.80}", share, 1e9)
    if not any(play.lineup.shares):
        raise TrainingError("opponents: give one of them a share above 0")
    check_whole("workers", options.workers, 0, MOST)
    if not 0 <= options.workers <= options.play.num_games:
        raise TrainingError(
            f"workers={options.workers}: give at most one for each of the {options.play.num_games} games"
        )
    if options.ray_address is not None and not options.workers:
        raise TrainingError("ray_address without workers: say how many processes of the cluster play (--workers)")
    if LEAGUE in options.play.lineup.opponents and not options.league_every:
        raise TrainingError("opponent 'league' without league_every: say how often a past self enters the league")


def make_config(options: Options) -> PPOConfig:
    """RLlib's configuration of a training; ``make_config(options).build_algo()`` is RLlib's own PPO on our runner."""
    play = options.play
    board = load_board(play.map_name)
    spec = RLModuleSpec(BoardModule, model_config=model_config(board, play.rules, play.size, play.seed))
    falling = [[0, 1.0], [max(1, options.iterations), 0.1]]  # iterations, share
    entropy: Any = [[at, share * options.entropy] for at, share in falling]
    return (
        PPOConfig()
        .environment(env=None, env_config=play.to_dict(), disable_env_checking=True)
        .env_runners(env_runner_cls=BatchedEnvRunner, num_env_runners=options.workers)
        .learners(
            learner_connector=lambda *spaces: Collate(*spaces[:2]),
            add_default_connectors_to_learner_pipeline=False,
            learner_class=PPOLearner,
        )
        .multi_agent(policies={DEFAULT_MODULE_ID}, policy_mapping_fn=lambda *args, **kwargs: DEFAULT_MODULE_ID)
        .rl_module(rl_module_spec=MultiRLModuleSpec(rl_module_specs={DEFAULT_MODULE_ID: spec}))
        .training(
            lr=[[at, share * options.lr] for at, share in falling],
            entropy_coeff=entropy,
            gamma=options.gamma,
            lambda_=options.lambda_,
            clip_param=options.clip,
            vf_loss_coeff=0.5,
            use_kl_loss=False,
            grad_clip=1.0,
            num_epochs=options.epochs,
            minibatch_size=options.minibatch,
        )
        .debugging(seed=play.seed)
    )


def _spaces(play: Play) -> dict[str, Any]:
    return {DEFAULT_MODULE_ID: spaces(Reader(load_board(play.map_name), play.rules))}


def years_at(options: Options, iteration: int) -> int:
    """The length of an iteration's games."""
    stages = (*options.curriculum, options.play.rules.years)
    return stages[min(iteration * len(stages) // max(1, options.iterations), len(stages) - 1)]


def _set_schedules(learner: Learner, iteration: int) -> None:
    """The step size and the weight of the entropy in this iteration."""
    learner.after_gradient_based_update(timesteps={NUM_ENV_STEPS_SAMPLED_LIFETIME: iteration})


def network_of(learner: Learner) -> BoardNetwork:
    """The network that a learner trains."""
    module: Any = learner.module[DEFAULT_MODULE_ID].unwrapped()
    return module.network


def weights(learner: Learner) -> Weights:
    """The network's weights: copies."""
    return {name: value.detach().numpy().copy() for name, value in network_of(learner).state_dict().items()}


def _grown(league: list[Weights], newest: Weights, most: int) -> list[Weights]:
    """The league with one more past self; where there are too many, every other one goes, but the newest stays."""
    grown = [*league, newest]
    return grown if len(grown) <= most else grown[(len(grown) - 1) % 2 :: 2]


# Playing, here or in Ray's processes.


class _Runners:
    """Plays an iteration's games; `actors` are Ray's handles, or there is one runner in this process."""

    def __init__(self, options: Options, ray: Any = None) -> None:
        count = max(1, options.workers)
        games = [options.play.num_games // count + (number < options.play.num_games % count) for number in range(count)]
        configs = [make_config(replace(options, play=replace(options.play, num_games=each))) for each in games]
        self._ray = ray
        if ray is None:
            self._runner = BatchedEnvRunner(config=configs[0], worker_index=0)
        else:
            actor = ray.remote(num_cpus=1)(BatchedEnvRunner)
            self._actors = [actor.remote(config=each, worker_index=1 + at) for at, each in enumerate(configs)]

    def sample(
        self, learner: Learner, iteration: int, league: list[Weights], years: int
    ) -> tuple[list[SingleAgentEpisode], list[GameResult]]:
        """The episodes and the results of an iteration's games, played with the learner's weights."""
        sent = learner.get_state(components=COMPONENT_RL_MODULE)
        sent |= {"samples": iteration, "league": league, "years": years}
        if self._ray is None:
            return _play(self._runner, sent)
        shared = self._ray.put(sent)
        asked = [actor.apply.remote(_play, shared) for actor in self._actors]
        parts = self._ray.get(asked)
        episodes = [episode for played, _ in parts for episode in played]
        return episodes, [game for _, games in parts for game in games]


def _play(runner: BatchedEnvRunner, sent: Any) -> tuple[list[SingleAgentEpisode], list[GameResult]]:
    runner.set_state(sent)
    episodes = runner.sample()
    runner.get_metrics()
    return episodes, runner.take_results()


@contextmanager
def _runners(options: Options) -> Iterator[_Runners]:
    if not options.workers:
        yield _Runners(options)
        return
    import ray

    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    here: dict[str, Any] = {"num_cpus": max(1, options.workers), "object_store_memory": 200_000_000}
    ray.init(
        address=options.ray_address,
        include_dashboard=False,
        log_to_driver=False,
        **({} if options.ray_address else here),
    )
    try:
        yield _Runners(options, ray)
    finally:
        ray.shutdown()


# What is logged.


def describe(games: Sequence[GameResult]) -> dict[str, float]:
    """An iteration's games in numbers: means over the learning seats, in all and against each kind of opponent."""
    told: dict[str, list[float]] = {}
    for game in games:
        for power in game.learners:
            for name, value in (
                ("return", game.returns[power]),
                ("points", game.points[power]),
                ("centers", game.centers[power]),
            ):
                told.setdefault(f"play/{name}", []).append(value)
            told.setdefault(f"against/{game.opponent}", []).append(game.returns[power])
        told.setdefault("play/phases", []).append(game.phases)
    return {name: float(np.mean(values)) for name, values in told.items()}


def _learned(told: Mapping[str, Any]) -> dict[str, float]:
    """What the learner says of its last step (`training.board.learner.PPOLearner`)."""
    names = ("policy_loss", "value_loss", "explained", "entropy", "word_entropy", "moved", "kl")
    mine = told[DEFAULT_MODULE_ID]
    return {f"learn/{name}": float(mine[name]) for name in names if name in mine}


# Saving and going on.


def _begin(learner: Learner, options: Options, told: WarmStart) -> tuple[int, list[Weights]]:
    """Iterations that are done, and the league; the learner has what was saved, or the weights to start with."""
    network, play = network_of(learner), options.play
    optimiser: Any = learner.get_optimizer(DEFAULT_MODULE_ID)
    done, others = state.load(options.folder, network, optimiser, _identity(options), options.iterations)
    if (options.folder / state.STATE).exists():
        return done, _split(others)
    if options.start is not None:
        checkpoint.load(options.start).warm_start(network, load_board(play.map_name), play.rules)
    if options.imitate is not None:
        reader = Reader(load_board(play.map_name), play.rules)
        lesson = watch(
            play, options.imitate, options.imitate_games, partial(told, f"watching {options.imitate}", "years")
        )
        on_step = partial(told, f"imitating {options.imitate}", "steps")
        imitate(network, reader, lesson, play.seed, minibatch=options.minibatch, on_progress=on_step)
        _save(learner, options, 0, [])
    return 0, []


def _save(learner: Learner, options: Options, iteration: int, league: list[Weights]) -> None:
    """The checkpoint to play with, then the state to go on from."""
    board, play = load_board(options.play.map_name), options.play
    origin = {"iterations": iteration, "seed": play.seed, "git": checkpoint.git_revision(), **(options.origin or {})}
    checkpoint.save(
        options.folder / CHECKPOINT,
        Checkpoint(
            weights(learner),
            play.size,
            board.name,
            play.rules,
            checkpoint.vocabulary(board),
            origin,
            greedy=play.lineup.is_fixed,
        ),
    )
    others = {
        f"{number}/{name}": torch.from_numpy(value)
        for number, past in enumerate(league)
        for name, value in past.items()
    }
    optimiser: Any = learner.get_optimizer(DEFAULT_MODULE_ID)
    state.save(options.folder, network_of(learner), optimiser, iteration, _identity(options), others)


def _split(others: Mapping[str, torch.Tensor]) -> list[Weights]:
    """The league as `_save` wrote it."""
    league: dict[int, Weights] = {}
    for key, value in others.items():
        number, _, name = key.partition("/")
        league.setdefault(int(number), {})[name] = value.numpy()
    return [league[number] for number in sorted(league)]


def _identity(options: Options) -> str:
    """What must be the same for a training to go on: all but where it runs."""
    play, lineup = options.play, options.play.lineup
    values = {
        "map": play.map_name,
        "rules": play.rules.to_dict(),
        "size": play.size.to_dict(),
        "coalitions": lineup.coalitions,
        "opponents": dict(zip(lineup.opponents, lineup.shares, strict=True)),
        "reward": str(play.reward),
        "games": play.num_games,
        "seed": play.seed,
        "start": str(options.start) if options.start else None,
        "imitate": [options.imitate, options.imitate_games] if options.imitate else None,
        "curriculum": options.curriculum,
    }
    names = ("iterations", "lr", "entropy", "clip", "gamma", "lambda_", "epochs", "minibatch", "league_every")
    values |= {name: getattr(options, name) for name in names}
    values |= {"save_every": options.save_every, "league_size": options.league_size, "workers": options.workers}
    return json.dumps(values, sort_keys=True)
